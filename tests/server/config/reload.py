"""SIGHUP: which settings are taken over, what the log says about the rest, and that readers do not notice."""

import json
import os
import re
import signal
import threading

from gateway import CLOSING, OPENING, PROGRAM, WAIT, Server, Worker, running, token, until
from harness import case, cases, check, contains, equal
from settings import AGENT, SERVER, TOPS, another, words


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def write(s, text):
    with open(s.config, "w") as f:
        f.write(text)


def logged(s):
    with open(s.err_path, "rb") as f:
        rows = [json.loads(line) for line in f if b'"event":"reload"' in line]
    for row in rows:
        check(TIME.fullmatch(row.pop("time")), "every line says when")
    return rows


def reload(s, text):
    """Writes the file, sends the signal, and waits for the line about it."""
    n = len(logged(s))
    write(s, text)
    os.kill(s.process.pid, signal.SIGHUP)
    return until("the reload is logged", lambda: logged(s)[n:])[0]


def serving(text, *flags):
    """A server with this text as its file."""
    s = Server(*flags, agents={}, start=False)
    write(s, text)
    s.start()
    return s


BASE = "agents:\n  pull: {pull: true}\n"


@case
def limits_of_requests():
    with serving(BASE) as s:
        check(s.get("/v1/jobs", headers={"Host": "other.example"}).status in (400, 403, 421))
        line = reload(s, "hosts: [other.example]\norigins: [https://app.example]\nmax_body: 2K\n" + BASE)
        equal(line, {"event": "reload", "taken": ["hosts", "origins", "max_body"], "needs_restart": []})
        equal(s.get("/v1/jobs", headers={"Host": "other.example"}).status, 200)
        answer = s.get("/v1/jobs", headers={"Origin": "https://app.example"})
        equal(answer.headers.get("access-control-allow-origin"), "https://app.example")
        line = reload(s, BASE)
        equal(sorted(line["taken"]), ["hosts", "max_body", "origins"])
        check(s.get("/v1/jobs", headers={"Host": "other.example"}).status in (400, 403, 421))
        check("access-control-allow-origin" not in s.get("/v1/jobs", headers={"Origin": "https://app.example"}).headers)


@case
def the_size_of_bodies():
    with serving(BASE) as s:
        body = b'{"x": "' + b"y" * 5000 + b'"}'
        path = "/v1/jobs/nope/cancel"
        equal(s.post(path, body).status, 404)
        reload(s, "max_body: 1K\n" + BASE)
        equal(s.post(path, body).status, 413)
        job = b'{"agent":"pull","input":"%s"}' % (b"y" * 5000)
        equal(s.post("/v1/jobs", job).status, 202)
        line = reload(s, "max_input: 1K\nmax_batch: 1K\nbody_min_rate: 2K\n" + BASE)
        equal(sorted(line["taken"]), ["body_min_rate", "max_batch", "max_body", "max_input"])
        equal(s.post("/v1/jobs", job).status, 413)
        equal(s.post(path, body).status, 404)


@case
def keep_alives_of_streams_that_are_open():
    with serving("keep_alive: 1h\n" + BASE) as s:
        s.submit(job_id="j")
        Worker(s).lease().send(*OPENING)
        with s.stream("j", "agent") as stream:
            stream.until_event("agent.spawned")
            reload(s, "keep_alive: 100ms\n" + BASE)
            stream.until("a comment comes", lambda st: any("keep-alive" in c for c in st.comments))


@case
def the_access_log():
    with serving("access_log: json\n" + BASE) as s:
        s.get("/v1/jobs?first")
        reload(s, "access_log: off\n" + BASE)
        s.get("/v1/dialects")
        reload(s, "access_log: text\n" + BASE)
        s.get("/v1/jobs/third")
        until("it is logged", lambda: b"/v1/jobs/third" in open(s.err_path, "rb").read())
        with open(s.err_path, "rb") as f:
            text = f.read()
        check(b"/v1/dialects" not in text, text)
        check(not any(row.startswith(b"{") and b"third" in row for row in text.splitlines()), text)


@case
def an_agent_that_comes_and_changes():
    with serving(BASE) as s:
        equal(s.post("/v1/jobs", {"agent": "late", "input": {}}).status // 100, 4)
        line = reload(s, BASE + "  late: {pull: true, description: new here}\n")
        equal(line, {"event": "reload", "taken": ["agents.late"], "needs_restart": []})
        s.submit("late", job_id="l")
        lease = Worker(s, "late").lease()
        equal(lease.job, "l")
        lease.send(*OPENING)
        contains(json.dumps(s.get("/v1/jobs/async/agents").json), "new here")
        line = reload(s, BASE + "  late: {pull: true, description: old by now, lease: 2m, public: false}\n")
        equal(sorted(line["taken"]), ["agents.late.description", "agents.late.lease", "agents.late.public"])
        check("late" not in json.dumps(s.get("/v1/jobs/async/agents").json))
        lease.send(token("x"), *CLOSING)
        equal(lease.finish(), "succeeded")


@case
def jobs_that_wait_stay_in_their_queue():
    with serving(BASE) as s:
        for i in range(5):
            s.submit(job_id=f"j{i}")
        for n in range(3):
            reload(s, BASE + "".join(f"  a{i}: {{pull: true}}\n" for i in range(n + 1)))
        s.submit(job_id="j5")
        for i in range(6):
            equal(Worker(s).lease().job, f"j{i}")


@case
def a_lease_that_waits_gets_its_job():
    with serving(BASE) as s:
        got = []
        waiting = threading.Thread(target=lambda: got.append(Worker(s).lease(wait=20)))
        waiting.start()
        reload(s, "expiry: 2h\n" + BASE + "  b: {pull: true}\n")
        s.submit(job_id="j")
        waiting.join(WAIT)
        equal(got[0].job, "j")


@case
def a_job_whose_agent_was_missing_finds_it():
    with serving(BASE + "  gone: {pull: true}\n") as s:
        s.submit("gone", job_id="g")
        write(s, BASE)
        s.restart(s.terminate)
        equal(s.state("g"), "queued")
        reload(s, BASE + "  gone: {pull: true}\n")
        equal(Worker(s, "gone").lease().job, "g")


@case
def settings_of_a_graph():
    with serving(BASE) as s:
        line = reload(s, "agents:\n  pull: {pull: true, worker_nodes: [other]}\n")
        equal(line["taken"], ["agents.pull.worker_nodes"])
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING, *CLOSING)
        lease.finish()
        types = [f.json["type"] for f in s.read("j", "agent")]
        check("agent.spawned" not in types, types)


@case
def what_needs_a_restart_is_said_each_time():
    exec_agent = "  run: {command: [sh, -c, 'exit 0'], concurrency: 2}\n"
    with serving(BASE + exec_agent) as s:
        text = ("durability: relaxed\nloops: 3\nkeep_alive: 20s\nagents:\n  run: {command: [sh, -c, 'exit 1'], concurrency: 3, "
                "attempts: 3}\n  more: {command: ['true']}\n")
        for taken in (["keep_alive", "agents.run.attempts"], []):
            line = reload(s, text)
            equal(line["taken"], taken)
            equal(sorted(line["needs_restart"]), ["agents.more", "agents.pull", "agents.run.command", "agents.run.concurrency",
                                                  "durability", "loops"])
        s.submit("run", job_id="r")
        until("the old command runs", lambda: s.state("r") == "succeeded")
        s.submit("pull", job_id="p")
        equal(Worker(s).lease().job, "p")
        equal(s.post("/v1/jobs", {"agent": "more", "input": {}}).status // 100, 4)
        line = reload(s, BASE + exec_agent)
        equal((sorted(line["taken"]), line["needs_restart"]), (["agents.run.attempts", "keep_alive"], []))


@case
def a_bad_file_changes_nothing():
    with serving("max_body: 64K\n" + BASE) as s:
        line = reload(s, "max_body: lots\n" + BASE)
        contains(line["error"], "'max_body' at line 1 must be a size")
        line = reload(s, "max_boddy: 1K\n" + BASE)
        contains(line["error"], "did you mean 'max_body'?")
        equal(s.post("/v1/jobs/nope/cancel", b"x" * 5000).status, 404)
        equal(reload(s, "max_body: 64K\n" + BASE), {"event": "reload", "taken": [], "needs_restart": []})


@case
def flags_still_win():
    with serving(BASE, "--max-body", "2K") as s:
        equal(reload(s, "max_body: 1M\n" + BASE)["taken"], [])
        equal(s.post("/v1/jobs/nope/cancel", b"x" * 5000).status, 413)


@case
def many_reloads_under_load():
    """Readers and writers at work while the settings change under them."""
    with serving(BASE) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with running(PROGRAM, "tail", "j", "--url", s.url) as p:
            for i in range(40):
                write(s, f"keep_alive: {1 + i % 7}s\nmax_body: {1 + i}M\nhosts: [h{i}.example]\nagents:\n"
                         f"  pull: {{pull: true, lease: {60 + i}s}}\n" + "".join(f"  x{k}: {{pull: true}}\n" for k in range(i % 5)))
                s.process.send_signal(signal.SIGHUP)
                lease.send(token(f"t{i} "))
            lease.send(*CLOSING)
            equal(lease.finish(), "succeeded")
            equal(p.wait(WAIT), 0)
            text = "".join(json.loads(row).get("token", "") for row in p.stdout.read().decode().splitlines())
            equal(text, "".join(f"t{i} " for i in range(40)))


def told(option, of):
    """Sets one option by a reload; the log's line."""
    text, _ = another(option)
    with serving(BASE + "  mine: {command: [sh]}\n") as s:
        if of == "server":
            value = json.dumps(text) if option["type"] in ("text", "address", "list") else text
            return reload(s, f"{option['name']}: {value}\n" + BASE + "  mine: {command: [sh]}\n")
        group, dot, name = option["name"].rpartition(".")
        value = {"list": json.dumps(words(option)), "pairs": "{KEY: value}"}.get(option["type"], text)
        worker = "" if option["name"] in ("command", "channel", "http.url", "arq.function", "dask.scheduler") else "command: [sh], "
        pair = f"{group}: {{{name}: {value}}}" if dot else f"{name}: {value}"
        if option["name"] == "dask.scheduler":
            pair += ", graph: a:b"
        if group == "pool" and name != "size":
            pair = f"{group}: {{size: 0, {name}: {value}}}"
        return reload(s, BASE + f"  mine: {{{worker}{pair}}}\n" + TOPS.get(option["name"], ""))


# Flags of every test's server, which win; and some that go together.
OTHERS = ("listen", "data", "store", "shutdown_window", "tls_cert", "tls_key", "redis_publish", "redis_subscribe",
          "arq_queue", "store_read_url")


@cases([o for o in SERVER if o["in_file"] and o["name"] not in OTHERS], name=lambda o: o["name"])
def the_table_tells_the_truth(option):
    line = told(option, "server")
    want = {"taken": [option["name"]], "needs_restart": []} if option["reloads"] else \
        {"taken": [], "needs_restart": [option["name"]]}
    if option["name"] == "demo":
        want["needs_restart"] += ["agents.demo"]
    equal(line, {"event": "reload", **want})


@cases([o for o in AGENT if o["name"] != "pull"], name=lambda o: o["name"])
def the_table_tells_the_truth_of_agents(option):
    line = told(option, "agent")
    name = "agents.mine." + option["name"]
    check(name in (line.get("taken") if option["reloads"] else line.get("needs_restart")), line)
