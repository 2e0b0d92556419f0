"""Leases cannot be guessed, and nobody can use the lease of another owner."""

import json
import re
import sqlite3

from callers import Caller, Locked, id_of, same_but_for
from database import database
from gateway import PULL, STORY, Server, Stream, Worker, until
from harness import case, cases, check, equal, sqlite_only

FORM = re.compile(r"(\d+)\.(\d+)\.([0-9a-f]{32})")
AX = {"ax": PULL, "pull": PULL}

# An exec agent that says its lease as it begins, and then waits to be cancelled.
TELLTALE = {"command": ["python3", "-c", """if True:
    import json, sys, time
    order = json.loads(sys.stdin.readline())
    print(json.dumps({"type": "llm.chunk", "id": "m", "data": {"chunk": order["lease"]}}), flush=True)
    time.sleep(600)
"""], "grace": "1s"}

# Every request that shows a lease: method, path, body.
SHOWN = [
    ("POST", "/v1/worker/jobs/{job}/events?lease={lease}", b'{"type":"x"}\n'),
    ("POST", "/v1/worker/jobs/{job}/heartbeat?lease={lease}", b""),
    ("POST", "/v1/worker/jobs/{job}/finish?lease={lease}", b'{"status":"success","output":"forged"}'),
    ("POST", "/v1/worker/jobs/{job}/return?lease={lease}", b""),
    ("POST", "/v1/worker/threads/{job}/checkpoints?job={job}&lease={lease}",
     b'{"ns":"","id":"1","checkpoint":{"type":"t","data":""},"metadata":{},"versions":{},"blobs":{}}'),
    ("POST", "/v1/worker/threads/{job}/writes?job={job}&lease={lease}", b'{"id":"1","task":"t","writes":[]}'),
    ("POST", "/v1/worker/threads/{job}/state?job={job}&lease={lease}", b'{"id":"1","state":{"values":{}}}'),
    ("DELETE", "/v1/worker/threads/{job}/checkpoints?job={job}&lease={lease}", b""),
    ("PUT", "/store/items?job={job}&lease={lease}", b'{"namespace":["n"],"key":"k","value":{"forged":1}}'),
    ("DELETE", "/store/items?job={job}&lease={lease}", b'{"namespace":["n"],"key":"k"}'),
    ("GET", "/store/items?namespace=n&key=k&refresh_ttl=true&job={job}&lease={lease}", None),
    ("GET", "/store/items?namespace=n&key=k&job={job}&lease={lease}", None),
    ("POST", "/store/items/search?job={job}&lease={lease}", b'{"namespace_prefix":[]}'),
    ("POST", "/store/namespaces?job={job}&lease={lease}", b"{}"),
    ("POST", "/v1/worker/threads/{job}/checkpoints/get?job={job}&lease={lease}", b"{}"),
    ("POST", "/v1/worker/threads/{job}/checkpoints/list?job={job}&lease={lease}", b"{}"),
]


def show(caller, what, job, lease):
    method, path, body = what
    return caller.request(method, path.replace("{job}", job).replace("{lease}", lease), body)


def nothing_gets_through(caller, job, lease):
    """The answers are those for a job that does not exist."""
    absent = "z" * len(job)
    for what in SHOWN:
        a = show(caller, what, job, lease)
        equal(a.status, 404, f"{what[:2]}: {a!r}")
        same_but_for(a, show(caller, what, absent, lease), {absent: job})


def lease_of_process(s, id):
    """The lease of a job, as its process has reported it."""
    with Stream(s, f"/v1/jobs/{id}/events?dialect=raw", headers=s.admin.own) as st:
        st.until("the process has told its lease", lambda st: any(FORM.search(f.data) for f in st.frames))
        return next(FORM.search(f.data)[0] for f in st.frames if FORM.search(f.data))


@case
def a_lease_has_a_secret():
    with Locked() as s:
        worker = s.caller("worker")
        for id in ("j1", "j2"):
            s.admin.submit(job_id=id)
        one, two = Worker(worker).lease(request_id="r1"), Worker(worker).lease()
        macs = {FORM.fullmatch(x.token)[3] for x in (one, two)}
        equal(len(macs), 2, "each has its own")
        again = Worker(worker).lease(request_id="r1")
        equal((again.job, again.token), (one.job, one.token), "asked for again, it is the same")
        one.hand_back()
        next_one = Worker(worker).lease()
        equal(next_one.job, "j1")
        check(FORM.fullmatch(next_one.token)[3] not in macs)
        s.restart()
        equal(next_one.beat(), {"cancel": False})
        equal(two.finish(), "succeeded")


@case
def a_lease_is_not_guessed():
    """Sequential numbers are no lease, nor is a lease of one's own with the numbers of another."""
    with Locked(agents={**AX, "e": TELLTALE}) as s:
        owner, crew, thief = s.caller("client"), s.caller("worker", "--agents", "pull"), s.caller("worker", "--agents", "ax")
        owner.submit(job_id="victim")
        owner.submit("e", job_id="running")
        owner.submit("ax", job_id="own")
        held = Worker(crew).lease()
        owner.until_state("running", "running")
        own = Worker(thief, "ax").lease()
        mac = FORM.fullmatch(own.token)[3]
        for job in ("victim", "running"):
            for key in range(1, 4):
                for guess in (f"{key}.1", f"{key}.1.{mac}", f"{key}.1.{'0' * 32}", own.token):
                    nothing_gets_through(thief, job, guess)
                    nothing_gets_through(s.admin, job, guess)
        equal(owner.get("/store/items?namespace=n&key=k").json, None)
        equal((owner.state("victim"), owner.state("running")), ("running", "running"))
        equal(held.finish(), "succeeded")
        equal(own.finish(), "succeeded")


@case
def without_a_token_a_lease_is_not_guessed_either():
    with Server(agents={"pull": PULL, "e": TELLTALE}) as s:
        s.submit("e", job_id="j")
        s.until_state("j", "running")
        nothing_gets_through(s, "j", "1.1")
        nothing_gets_through(s, "j", f"1.1.{'0' * 32}")
        equal(s.state("j"), "running")


@case
def the_leases_of_the_server_are_nobody_elses():
    with Locked(agents={"e": TELLTALE}) as s:
        owner = s.caller("client")
        owner.submit("e", job_id="j")
        lease = lease_of_process(s, "j")
        for caller in (s.caller("worker"), s.caller("worker", "--agents", "e"), s.admin,
                       s.caller("client,worker", "--owner", id_of(owner.token))):
            nothing_gets_through(caller, "j", lease)
        equal(owner.state("j"), "running")


@case
def a_lease_of_another_owner_is_worth_nothing():
    with Locked() as s:
        crew, other = s.caller("worker", "--owner", "crew"), s.caller("worker", "--owner", "other")
        s.admin.submit(job_id="j")
        held = Worker(crew).lease()
        nothing_gets_through(other, "j", held.token)
        held.send(*STORY)
        # Another token of the same owner may go on with it.
        held.worker.server = s.caller("worker", "--owner", "crew")
        equal(held.finish(), "succeeded")
        nothing_gets_through(other, "j", held.token)


@case
def a_lease_of_another_agent_is_worth_nothing():
    with Locked(agents=AX) as s:
        both = s.caller("worker", "--owner", "crew")
        ax = s.caller("worker", "--owner", "crew", "--agents", "ax")
        s.admin.submit(job_id="j")
        held = Worker(both).lease()
        nothing_gets_through(ax, "j", held.token)
        held.hand_back()
        equal(Worker(both).lease().job, "j")
        nothing_gets_through(ax, "j", held.token)
        equal(show(both, SHOWN[0], "j", held.token).status, 409)


@case
def a_lease_that_is_no_longer_current_is_refused():
    with Locked() as s:
        crew = s.caller("worker")
        s.admin.submit(job_id="j")
        first = Worker(crew).lease()
        first.hand_back()
        for what in SHOWN:
            equal(show(crew, what, "j", first.token).status, 409, what)
        # It was given, whoever has the job now.
        second = Worker(s.caller("worker")).lease()
        for what in SHOWN:
            equal(show(crew, what, "j", first.token).status, 409, what)
        equal(second.finish(), "succeeded")
        for what in SHOWN:
            equal(show(crew, what, "j", first.token).status, 409, what)
        # For another job it was never given.
        s.admin.submit(job_id="k")
        Worker(s.caller("worker")).lease()
        nothing_gets_through(crew, "k", first.token)


@cases(SHOWN[-5:-2], name=lambda what: what[1].partition("?")[0])
def items_of_a_job_are_read_by_its_holder(what):
    with Locked() as s:
        owner, crew = s.caller("client"), s.caller("worker")
        for caller, value in ((owner, "the owner's"), (crew, "the worker's")):
            equal(caller.request("PUT", "/store/items", {"namespace": ["n"], "key": "k", "value": {"v": value}}).status, 204)
        owner.submit(job_id="j")
        method, path, body = what
        without = path.partition("&lease")[0].replace("{job}", "j")
        equal(crew.request(method, without, body).status, 422, "a job is named with its lease")
        nothing_gets_through(crew, "j", "1.1")
        held = Worker(crew).lease()
        a = show(crew, what, "j", held.token)
        equal(a.status, 200)
        check(b"the worker's" not in a.body, a)
        equal(b"the owner's" in a.body, "namespaces" not in path)
        nothing_gets_through(s.caller("worker"), "j", held.token)
        equal(held.finish(), "succeeded")
        equal(show(crew, what, "j", held.token).status, 409)


@case
def a_request_id_is_its_tokens_own():
    with Locked() as s:
        callers = [s.caller("worker", "--owner", "crew"), s.caller("worker", "--owner", "crew"), s.caller("worker"), s.admin]
        for i, caller in enumerate(callers):
            s.admin.submit(job_id=f"j{i}")
        leases = [Worker(c).lease(request_id="arq:pull:0") for c in callers]
        equal([x.job for x in leases], ["j0", "j1", "j2", "j3"])
        for c, lease in zip(callers, leases):
            equal(Worker(c).lease(request_id="arq:pull:0").token, lease.token)
        # The server's own names are never a caller's.
        equal(database(s).column("jobs", "request_id"), [f"{id_of(c.token)}:arq:pull:0" for c in callers])


def downgrade(path, holder):
    """The file as the version before leases were signed would have left it."""
    db = sqlite3.connect(path)
    db.executescript("ALTER TABLE jobs DROP COLUMN unsigned_attempt; DROP TABLE suspects; DROP TABLE clock;"
                     "DROP TABLE webhooks; DROP TABLE crons; DROP TRIGGER item_vectors_go; DROP TABLE item_vectors;"
                     "DROP TRIGGER channels_large_go; DROP TRIGGER channels_large_change; DROP TRIGGER states_large_go;"
                     "DROP INDEX channels_large; DROP INDEX states_large; DROP TABLE large_values;"
                     "ALTER TABLE channels DROP COLUMN large; ALTER TABLE run_states DROP COLUMN large;"
                     "DELETE FROM secrets WHERE name = 'lease'; PRAGMA user_version = 14;")
    db.execute("UPDATE jobs SET holder = ?, request_id = 'r' WHERE state = 'running' AND agent = 'pull'", (holder,))
    db.commit()
    db.close()


@case
@sqlite_only("a schema that PostgreSQL never had")
def processes_of_the_version_before_are_lost_at_no_cost():
    """Also when it was killed, and could hand nothing back."""
    with Server(agents={"e": dict(TELLTALE, attempts=1)}) as s:
        s.submit("e", job_id="j")
        s.until_state("j", "running")
        s.kill()
        downgrade(s.data, None)
        s.start()
        until("its second attempt runs", lambda: (s.job("j")["attempt"], s.state("j")) == (2, "running")
              or equal(s.job("j")["error"], None))
        s.restart(s.kill)
        s.until_state("j", "failed")  # the next loss is an ordinary one


@cases(["locked", "open"])
@sqlite_only("a schema that PostgreSQL never had")
def leases_of_the_version_before_are_lost_at_no_cost(how):
    make = Locked if how == "locked" else Server
    with make(agents={"pull": dict(PULL, attempts=1)}) as s:
        asks, works = (s.admin, s.caller("worker", "--owner", "crew")) if how == "locked" else (s, s)
        asks.submit(job_id="j")
        asks.submit(job_id="waits")
        lease = Worker(works).lease()
        lease.send(*STORY[:2])
        old = lease.token.rpartition(".")[0]
        s.terminate()
        downgrade(s.data, "crew" if how == "locked" else None)
        s.start()
        until("it is queued again", lambda: asks.state("j") == "queued")
        for what in SHOWN:
            equal(show(works, what, "j", old).status, 409, what)
        nothing_gets_through(works, "waits", "2.1")
        if how == "locked":
            nothing_gets_through(s.caller("worker"), "j", old)
        # The budget of one attempt is still there.
        again = {x.job: x for x in (Worker(works).lease(request_id="r"), Worker(works).lease())}
        equal(sorted(again), ["j", "waits"])
        equal(asks.job("j")["attempt"], 2)
        equal(show(works, SHOWN[0], "j", old).status, 409)
        equal(again["j"].finish(), "succeeded")


READS = [("POST", "/v1/worker/threads/{thread}/checkpoints/get", b"{}"),
         ("POST", "/v1/worker/threads/{thread}/checkpoints/list", b"{}")]


@cases(READS, name=lambda what: what[1].rpartition("/")[2])
def checkpoints_are_read_by_the_holder_of_their_thread(what):
    method, path, body = what
    with Locked() as s:
        crew, other = s.caller("worker"), s.caller("worker")
        for id in ("mine", "hers"):
            s.admin.submit(job_id=id)
        mine, hers = Worker(other).lease(), Worker(crew).lease()
        for held, caller in ((mine, other), (hers, crew)):
            equal(show(caller, SHOWN[4], held.job, held.token).status, 200)

        def read(caller, thread, query=""):
            return caller.request(method, path.replace("{thread}", thread) + query, body)
        fence = f"?job=mine&lease={mine.token}"
        equal(read(other, "mine").status, 422)
        a = read(other, "mine", fence)
        equal(a.status, 200)
        check(b'"id":"1"' in a.body, a)
        # Nothing of another's thread, whichever way it is named, and whether it is there or not.
        for query in (fence, f"?job=hers&lease={mine.token}", f"?job=hers&lease={hers.token}", "?job=hers&lease=2.1", "?call=x"):
            a = read(other, "hers", query)
            check(a.status in (404, 409), repr(a))
            same_but_for(a, read(other, "zzzz", query.replace("hers", "zzzz")), {"zzzz": "hers"})
        equal(read(s.admin, "hers").status, 200, "an administrator may")
        equal(mine.finish(), "succeeded")
        equal(read(other, "mine", fence).status, 409)


# --- the server's own processes ------------------------------------------------------------------

# Does what the job's input asks for, with its own token, and tells what was answered.
BUSYBODY = """if True:
    import json, os, sys, urllib.error, urllib.request
    def run(order):
        told = []
        for method, path, body in order["input"]:
            path = path.replace("{lease}", order["lease"])
            request = urllib.request.Request(os.environ["SPOOLWIRE_URL"] + path, method=method,
                data=None if body is None else json.dumps(body).encode(),
                headers={"Authorization": "Bearer " + os.environ["SPOOLWIRE_TOKEN"]})
            try:
                with urllib.request.urlopen(request) as a:
                    told.append([a.status, a.read().decode()])
            except urllib.error.HTTPError as e:
                told.append([e.code, e.read().decode()])
        return {"token": os.environ["SPOOLWIRE_TOKEN"], "lease": order["lease"], "told": told}
"""
EXEC = {"command": ["python3", "-c", BUSYBODY + """
    out = run(json.loads(sys.stdin.readline()))
    print(json.dumps({"type": "job.done", "output": out}), flush=True)
"""]}
POOL = {"command": ["python3", "-c", BUSYBODY + """
    print('{"ready":true}', flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "input" in order:
            print(json.dumps({"job": order["job"], "attempt": order["attempt"],
                              "finish": {"status": "success", "output": run(order)}}), flush=True)
"""], "pool": {"size": 1}}


def ask_process(s, agent, id, requests):
    s.admin.submit(agent, requests, job_id=id)
    s.admin.until_state(id, "succeeded")
    end = [f for f in s.admin.read(id, "raw") if f.event == "job.end" or '"output"' in f.data][-1]
    found = json.loads(re.search(r'"output":(\{"token":.*\]\]\})', end.data)[1])
    return found


@cases({"exec": EXEC, "pool": POOL})
def a_process_works_for_its_job_and_no_other(kind):
    with Locked(agents={"e": {"exec": EXEC, "pool": POOL}[kind], "f": EXEC, "ax": PULL, "pull": PULL}) as s:
        crew = s.caller("worker")
        s.admin.submit("ax", job_id="waits")
        s.admin.submit(job_id="other")
        other = Worker(crew).lease()
        place = {"namespace": ["n"], "key": "k"}
        good = [["PUT", "/store/items?job=j&lease={lease}", {**place, "value": {"v": 1}}],
                ["GET", "/store/items?namespace=n&key=k&job=j&lease={lease}", None],
                ["POST", "/v1/worker/threads/j/writes?job=j&lease={lease}", {"id": "1", "task": "t", "writes": []}]]
        bad = [["POST", "/v1/worker/lease", {"agents": ["ax"]}],
               ["POST", "/v1/worker/lease", {"agents": ["e"]}],
               ["POST", f"/v1/worker/jobs/other/events?lease={other.token}", None],
               ["POST", "/v1/worker/jobs/other/heartbeat?lease={lease}", None],
               ["PUT", "/store/items", {**place, "value": {"v": 2}}],
               ["GET", "/store/items?namespace=n&key=k", None],
               ["POST", "/store/namespaces", {}],
               ["GET", "/v1/jobs", None],
               ["POST", "/v1/jobs", {"agent": "pull"}]]
        # A lease without its job does not open the items that are nobody's.
        nobodys = [[method, path + "lease={lease}", body] for method, path, body in (
            ("PUT", "/store/items?", {**place, "value": {"v": 3}}),
            ("DELETE", "/store/items?", place),
            ("GET", "/store/items?namespace=n&key=k&", None),
            ("GET", "/store/items?namespace=n&key=k&refresh_ttl=true&job=&", None),
            ("POST", "/store/items/search?", {"namespace_prefix": []}),
            ("POST", "/store/namespaces?", {}))]
        found = ask_process(s, "e", "j", good + bad + nobodys)
        equal([x[0] for x in found["told"]], [204, 200, 200, 403, 403, 404, 404, 422, 422, 422, 403, 403] + [422] * 6,
              found["told"])
        equal(json.loads(found["told"][1][1])["value"], {"v": 1})
        equal(s.admin.get("/store/items?namespace=n&key=k").json["value"], {"v": 1}, "they are the job's owner's")
        equal((s.admin.state("waits"), s.admin.state("other")), ("queued", "running"))
        # What it has is worth nothing for the next job, and when its own has ended.
        last = Caller(s, found["token"])
        equal(last.post(f"/v1/worker/jobs/j/heartbeat?lease={found['lease']}").status, 409)
        for agent, id in (("e", "k"), ("f", "l")):
            s.admin.submit(agent, [], job_id=id)
            s.admin.until_state(id, "succeeded")
        again = ask_process(s, "f", "m", [["POST", f"/v1/worker/jobs/j/heartbeat?lease={found['lease']}", None]])
        equal(again["told"][0][0], 404, "a process of another agent")
        if kind == "exec":
            again = ask_process(s, "e", "n", [["POST", f"/v1/worker/jobs/j/heartbeat?lease={found['lease']}", None]])
            equal(again["told"][0][0], 404, "a process of another job")
            check(again["token"] != found["token"])
        # Nor is it worth anything once it is changed, or for another server.
        name, key, mac, agent = found["token"].split("_")
        for text in (f"{name}_{int(key) + 1}_{mac}_{agent}", f"{name}_{key}_{'0' * 32}_{agent}", f"{name}_{key}_{mac}_6178",
                     f"{name}_{key}_{mac}_{agent}0", f"{name}_{key}_{mac}", "spp_", "spp___"):
            equal(Caller(s, text).post("/v1/worker/jobs/j/heartbeat?lease=1.1").status, 401, text)
        s.restart()
        equal(last.post(f"/v1/worker/jobs/j/heartbeat?lease={found['lease']}").status, 401)
