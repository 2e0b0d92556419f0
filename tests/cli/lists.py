"""jobs, show, state, report, agents, cancel, delete and submit --wait, against a real server."""

import json
import os
import signal
import subprocess
import tempfile

from gateway import CLOSING, OPENING, PROGRAM, PULL, WAIT, Server, Worker, fixed_port, interrupt, play, running, token, until
from harness import case, cases, check, contains, equal


def run(s, *args, want=0, env=None):
    p = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=60, env={**os.environ, "SPOOLWIRE_URL": s.url, **(env or {})})
    equal(p.returncode, want, f"{args}: {p.stdout[-300:]} {p.stderr[-500:]}")
    return p.stdout.decode(), p.stderr.decode()


def rows(text):
    return [json.loads(row) for row in text.splitlines()]


BAD = {"command": ["sh", "-c", "echo broken >&2; exit 1"]}


@case
def jobs_with_filters():
    with Server(agents={"pull": PULL, "bad": BAD}) as s:
        done = play(s)
        s.submit("bad", job_id="b1")
        until("it fails", lambda: s.state("b1") == "failed")
        for i in range(3):
            s.submit(job_id=f"q{i}")
        out, err = run(s, "jobs")
        equal(err, "")
        head, *lines = out.splitlines()
        equal(head.split(), ["JOB", "AGENT", "STATE", "AGE", "TOOK", "EVENTS"])
        equal([row.split()[0] for row in lines], ["q2", "q1", "q0", "b1", done])
        contains(lines[3], "failed", "broken")
        listed = rows(run(s, "jobs", "--json")[0])
        whole = [s.job(id) for id in ("q2", "q1", "q0", "b1", done)]
        # A list has all of a job but what can be large.
        equal(listed, [{k: v for k, v in job.items() if k not in ("output", "details")} for job in whole])
        equal(run(s, "jobs", "--ids", "--state", "queued")[0].split(), ["q2", "q1", "q0"])
        equal(run(s, "jobs", "--ids", "--agent", "bad")[0].split(), ["b1"])
        equal(run(s, "jobs", "--ids", "--since", "1d")[0].split(), ["q2", "q1", "q0", "b1", done])
        equal(run(s, "jobs", "--ids", "--since", "0")[0].split(), [])
        out, err = run(s, "jobs", "--limit", "2")
        equal([row.split()[0] for row in out.splitlines()[1:]], ["q2", "q1"])
        contains(err, "there are more")
        _, err = run(s, "jobs", "--state", "happy", want=3)
        contains(err, "state must be queued, running")
        for bad in (["--limit", "0"], ["--limit", "x"], ["--since", "yesterday"], ["--color", "red"], ["extra"]):
            run(s, "jobs", *bad, want=2)


@case
def jobs_beyond_one_page():
    with Server(agents={"pull": PULL}) as s:
        for i in range(1203):
            s.submit(job_id=f"j{i}")
        want = [f"j{i}" for i in reversed(range(1203))]
        equal(run(s, "jobs", "--all", "--ids")[0].split(), want)
        equal([row["job_id"] for row in rows(run(s, "jobs", "--limit", "1101", "--json")[0])], want[:1101])


@case
def text_from_outside_does_nothing_to_the_terminal():
    evil = "\x1b[31mred\x07\x9b2J\u202eback"
    agents = {"bad": {"command": ["sh", "-c", "printf '\\033[31mred\\007\\302\\2332J\\342\\200\\256back' >&2; exit 1"]}}
    with Server(agents=agents) as s:
        s.submit("bad", job_id="b")
        until("it fails", lambda: s.state("b") == "failed")
        check("\x1b" in s.job("b")["error"] or "red" in s.job("b")["error"], s.job("b"))
        for args in (["jobs"], ["show", "b"], ["jobs", "--color", "always"]):
            out, _ = run(s, *args)
            contains(out, "red", "back")
            for bad in evil:
                if not bad.isprintable():
                    check(bad not in out.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "")
                          .replace("\x1b[31mfailed", ""), (args, out))


@case
def colours_when_wanted():
    with Server(agents={"pull": PULL}) as s:
        play(s)
        check("\x1b" not in run(s, "jobs")[0])
        contains(run(s, "jobs", "--color", "always")[0], "\x1b[32msucceeded\x1b[0m")
        check("\x1b" not in run(s, "jobs", "--color", "never")[0])


@case
def agents_are_listed():
    agents = {"pull": {"pull": True, "description": "comes for jobs"}, "hidden": {"pull": True, "public": False}}
    with Server(agents=agents) as s:
        equal(run(s, "agents")[0].splitlines()[0].split(), ["AGENT", "KIND", "QUEUED", "LEASED", "ERROR", "DESCRIPTION"])
        contains(run(s, "agents")[0], "comes for jobs", "demo")
        s.submit("pull")
        for worker in ("one", "two"):
            s.post("/v1/worker/agents/pull/state", {"worker": worker, "error": "import error: No module named 'graphs'"})
        line = next(line for line in run(s, "agents")[0].splitlines() if line.startswith("pull"))
        equal(line.split()[1:4], ["pull", "1", "0"])
        contains(line, "2 workers, import error: No module named 'graphs'")
        equal(sorted(run(s, "agents", "--names")[0].split()), ["demo", "pull"])
        equal(sorted(a["agent"] for a in rows(run(s, "agents", "--json")[0])), ["demo", "pull"])


@case
def state_and_report():
    with Server() as s:
        s.submit("demo", job_id="j", input={"speed": 0})
        until("it ends", lambda: s.state("j") == "succeeded")
        out, _ = run(s, "state", "j")
        contains(out, "TOOL", "grep_repo", "completed", "MADE", "/report.md", "sources: 3 found, 2 cited")
        equal(json.loads(run(s, "state", "j", "--json")[0]), s.get("/v1/jobs/async/job/j/state").json)
        report = s.get("/v1/jobs/async/job/j/report").json["report"]
        equal(run(s, "report", "j")[0], report)
        check(report.endswith("\n"))
        equal(json.loads(run(s, "report", "j", "--json")[0])["report"], report)
        _, err = run(s, "report", "nope", want=3)
        contains(err, "Job not found: nope")


@case
def no_report_yet():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        out, err = run(s, "report", "j", want=1)
        equal(out, "")
        contains(err, "the job j has no report")
        equal(json.loads(run(s, "report", "j", "--json")[0])["has_report"], False)
        contains(run(s, "state", "j")[0], "sources: 0 found")


@case
def cancel_and_delete_several():
    with Server(agents={"pull": PULL}) as s:
        for id in ("a", "b", "c"):
            s.submit(job_id=id)
        out, _ = run(s, "cancel", "a", "b", "--json")
        equal([job["state"] for job in rows(out)], ["cancelled", "cancelled"])
        out, err = run(s, "delete", "a", "nope", "b", "--json", want=3)
        equal(rows(out), [{"job_id": "a", "deleted": True}, {"job_id": "b", "deleted": True}])
        contains(err, "Job not found: nope")
        equal(run(s, "jobs", "--ids")[0].split(), ["c"])


# --- submit --wait -----------------------------------------------------------------------------


@case
def waiting_writes_what_the_job_made():
    with Server(agents={"bad": BAD}) as s:
        out, err = run(s, "submit", "demo", "--input", '{"speed":0}', "--job-id", "j", "--wait")
        equal((out, err), (s.get("/v1/jobs/async/job/j/report").json["report"], "job j\n"))
        job = json.loads(run(s, "submit", "demo", "--input", '{"speed":0}', "--wait", "--json")[0])
        equal(job["state"], "succeeded")
        check(job["report"] and job["output"], job)
        out, err = run(s, "submit", "bad", "--wait", want=1)
        equal(out, "")
        contains(err, "the job failed", "broken")
        equal(json.loads(run(s, "submit", "bad", "--wait", "--json", want=1)[0])["state"], "failed")


@case
def waiting_has_a_limit():
    with Server(agents={"pull": PULL}) as s:
        out, err = run(s, "submit", "pull", "--job-id", "j", "--wait", "--timeout", "300ms", want=5)
        equal(out, "")
        contains(err, "has not ended in time")
        equal(s.state("j"), "queued")
        for bad in (["--timeout", "1s"], ["--wait", "--follow"], ["--wait", "--timeout", "soon"]):
            run(s, "submit", "pull", *bad, want=2)
        equal(len(rows(run(s, "jobs", "--json")[0])), 1)


@case
def waiting_tells_about_a_question_and_a_cancel():
    with Server(agents={"pull": PULL}) as s:
        with running(PROGRAM, "submit", "pull", "--job-id", "q", "--wait", "--timeout", "8s", "--url", s.url) as p:
            lease = Worker(s).lease()
            lease.send(*OPENING, interrupt())
            lease.finish("interrupted")
            equal(p.wait(WAIT), 5)
            contains(p.stderr.read().decode(), "the job waits for an answer", "has not ended in time")
        with running(PROGRAM, "submit", "pull", "--job-id", "j", "--wait", "--url", s.url) as p:
            lease = Worker(s).lease()
            lease.send(*OPENING, interrupt())
            lease.finish("interrupted")
            equal(s.state("j"), "waiting")
            run(s, "cancel", "j")
            equal(p.wait(WAIT), 1)
            contains(p.stderr.read().decode(), "the job cancelled")


@cases(["kill", "terminate"])
def waiting_survives_a_restart(how):
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        with running(PROGRAM, "submit", "pull", "--job-id", "j", "--wait", "--url", s.url) as p:
            equal(p.stderr.readline(), b"job j\n", "it has the answer, and waits")
            lease = Worker(s).lease()
            lease.send(*OPENING, token("one"))
            s.restart(getattr(s, how))
            lease.send(*CLOSING)
            lease.finish()
            equal(p.wait(WAIT), 0, p)
            equal(json.loads(p.stdout.read()), {"ok": True})


@case
def ctrl_c_while_waiting_leaves_the_job():
    with Server(agents={"pull": PULL}) as s:
        with running(PROGRAM, "submit", "pull", "--job-id", "j", "--wait", "--url", s.url) as p:
            until("it is submitted", lambda: s.get("/v1/jobs/j").status == 200)
            p.send_signal(signal.SIGINT)
            equal(p.wait(WAIT), -signal.SIGINT)
        equal(s.state("j"), "queued")


@case
def a_ticket_is_started_with_the_kit_of_the_program():
    """The kit is unpacked; its exit statuses are those of the command."""
    with Server(agents={"pull": {"pull": True}}) as s, tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, "agents.py"), "w") as f:
            f.write("async def work(job):\n    return job.input\n")
        env = {**os.environ, "XDG_CACHE_HOME": os.path.join(home, "cache"), "SPOOLWIRE_URL": s.url}

        def ticket(graph):
            return subprocess.run([PROGRAM, "ticket", "--agent", f"pull={graph}"], cwd=home, env=env, timeout=120,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        equal(ticket("agents.py:work").returncode, 75)
        job = s.submit("pull", "hello")
        broken = ticket("agents.py:nothing")
        equal(broken.returncode, 1)
        contains(broken.stderr, "has no 'nothing'")
        equal({a["agent"]: a["broken_workers"] for a in s.get("/v1/agents").json["agents"]}, {"demo": 0, "pull": 1})
        equal(ticket("agents.py:work").returncode, 0)
        equal(s.job(job)["output"], "hello")
        unpacked = [os.path.basename(folder) for folder, _, _ in os.walk(env["XDG_CACHE_HOME"])]
        check("spoolwire" in unpacked and "python" in unpacked, unpacked)
