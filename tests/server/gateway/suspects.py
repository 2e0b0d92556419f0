"""A job that crashes the server is set aside after two crashes, and all other jobs continue.

The crash is made to order: a build with tests ends itself when it folds a text that
SPOOLWIRE_TEST_CRASH has."""

import contextlib
import json
import os
import signal
import subprocess

from gateway import OPENING, PROGRAM, PULL, Server, Worker, play, token, until
from harness import case, cases, check, contains, equal
from processes import say, sh

POISON = "POISON-7f3a"
CRASHES = {"SPOOLWIRE_TEST_CRASH": POISON}
AGENTS = {"pull": dict(PULL, attempts=1, lease="10m")}


def crashed(s, act=None):
    """Waits for the server to crash."""
    with contextlib.suppress(AssertionError, OSError):  # the answer may be cut
        if act is not None:
            act()
    equal(s.wait(), -signal.SIGABRT, s.err()[-2000:])


def start_and_crash(s):
    with contextlib.suppress(AssertionError):  # before or after it has said hello
        s.start()
    crashed(s)


def cli(s, *args, want=0):
    p = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=60, env={**os.environ, "SPOOLWIRE_URL": s.url})
    equal(p.returncode, want, f"{args}: {p.stdout[-300:]} {p.stderr[-500:]}")
    return p.stdout.decode()


def suspects(s):
    rows = [json.loads(row) for row in s.err().splitlines() if '"event":"suspect"' in row]
    return [(r["job"], r["set_aside"]) for r in rows]


def others_go_on(s, n=[0]):
    n[0] += 1
    equal(s.state(play(s, job_id=f"other-{n[0]}")), "succeeded")


@case
def a_job_that_crashes_the_server_is_set_aside():
    with Server(agents=AGENTS, env=CRASHES) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        events = s.job("j")["events"]
        crashed(s, lambda: lease.try_append(token(POISON), seq=lease.seq + 1))
        s.start()
        equal(suspects(s), [("j", False)], "stored before it is folded again")
        equal(s.get("/readyz").json, {"status": "ready"})
        others_go_on(s)
        equal((s.state("j"), s.job("j")["set_aside"]), ("running", None))
        lease.beat()
        crashed(s, lambda: lease.try_append(token(POISON), seq=lease.seq + 1))
        s.start()
        equal(suspects(s), [("j", True)])
        for a in (lease.try_append(token(POISON), seq=lease.seq + 1), lease.try_beat(),
                  s.post("/v1/jobs/j/cancel"), s.post("/v1/jobs/j/pause"), s.post("/v1/jobs/j/resume")):
            equal(a.status, 409, repr(a))
            contains(a.detail, "set aside", "crashed twice", "spoolwire jobs release j")
        a = s.get(f"/store/items?namespace=n&key=k&job=j&lease={lease.token}")
        equal(a.status, 409, repr(a))
        contains(a.body.decode(), "set aside", "crashed twice")
        others_go_on(s)
        job = s.job("j")
        equal((job["state"], job["events"], job["worker"]), ("running", events, None))
        contains(job["set_aside"], "crashed twice")
        equal(len(s.get("/v1/jobs/j/events?dialect=raw&wait=0").json["events"]), events, "it can be read")
        contains(cli(s, "show", "j"), "set_aside", "crashed twice")
        equal(s.get("/readyz").json, {"status": "ready", "set_aside": ["j"]})
        s.restart()
        equal(suspects(s), [("j", True)], "said at each start")
        others_go_on(s)


@case
def a_job_that_is_released_goes_on():
    """With a server that has learned to take in what it crashed over."""
    with Server(agents=AGENTS, env=CRASHES) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        for _ in range(2):
            crashed(s, lambda: lease.try_append(token(POISON), seq=0))
            s.start()
        contains(cli(s, "jobs", "release", "j", "--json"), '"set_aside":null')
        equal(s.get("/readyz").json, {"status": "ready"})
        equal(lease.try_beat().status, 409, "its lease is gone")
        again = Worker(s).lease()
        equal((again.job, s.job("j")["attempt"]), ("j", 2))
        crashed(s, lambda: again.try_append(token(POISON), seq=0))
        s.start()
        equal(suspects(s), [("j", False)], "it begins anew")
        equal(cli(s, "jobs", "release", "j"), "", "twice does no harm")
        s.env = None
        s.restart()
        equal(suspects(s), [])
        again.send(token(POISON))
        equal(again.finish(), "succeeded")
        equal(s.post("/v1/jobs/j/release").status, 409, "it has ended")
        equal(s.post("/v1/jobs/nothing/release").status, 404)


@case
def a_process_that_crashes_the_server_is_no_loop():
    """Each attempt prints it anew; between the crashes its job was folded well, to say that it begins anew."""
    agents = {"bad": sh("read order\n" + say(token("good"), token(POISON)) + "sleep 60\n", attempts=10), "pull": PULL}
    with Server(agents=agents, env=CRASHES) as s:
        crashed(s, lambda: s.submit("bad", job_id="j"))
        start_and_crash(s)
        s.start()
        equal(suspects(s), [("j", True)])
        others_go_on(s)
        equal(s.state("j"), "running")


@case
def a_log_that_crashes_the_server_is_no_loop():
    """Reading it is enough: the fold is rebuilt as the server starts."""
    agents = {"bad": sh("read order\n" + say(token(POISON)) + "exec sleep 300\n"), "pull": PULL}
    with Server(agents=agents) as s:
        s.submit("bad", job_id="j")
        until("it has said it", lambda: s.job("j")["events"] >= 2)
        s.kill()  # its process is lost, which is folded at the start
        s.env = CRASHES
        start_and_crash(s)
        start_and_crash(s)
        s.start()
        equal(suspects(s), [("j", True)])
        others_go_on(s)
        equal(s.request("DELETE", "/v1/jobs/j").status, 204, "without a fold")
        equal((s.get("/v1/jobs/j").status, s.get("/readyz").json), (404, {"status": "ready"}))


# Two lines of any worker that once crashed the server.
COMPLETE = [{"type": "graph.node_complete", "agent_id": "t1", "node": node} for node in ("a", "b")]
POOL = """if True:
    import json, sys
    print('{"ready":true}', flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "input" in order:
            place = {"job": order["job"], "attempt": order["attempt"]}
            for event in order["input"]:
                print(json.dumps({**place, "event": event}), flush=True)
            print(json.dumps({**place, "finish": {"status": "success"}}), flush=True)
"""


@cases(["http", "exec", "pool"])
def completions_of_two_nodes_with_one_agent_id_crash_nothing(how):
    agents = {"http": PULL, "exec": sh("read order\n" + say(*COMPLETE)),
              "pool": {"command": ["python3", "-c", POOL], "pool": {"size": 1}}}
    with Server(agents=agents) as s:
        s.submit(how, COMPLETE, job_id="j")
        if how == "http":
            lease = Worker(s, "http").lease()
            lease.send(*COMPLETE)
            equal(lease.finish(), "succeeded")
        s.until_state("j", "succeeded")
        frames = s.read("j", "agent")
        equal([f.json["node"] for f in frames if f.event == "graph.node_complete"], ["a", "b"])
        equal(frames[-1].event, "job.done")


@case
def a_server_that_is_killed_suspects_nobody():
    with Server(agents=AGENTS) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        for _ in range(3):
            lease.send(token("a"))
            s.restart(s.kill)
            equal(suspects(s), [])
        equal(lease.finish(), "succeeded")


@case
def a_thread_waits_for_its_run_that_is_set_aside():
    with Server(agents=AGENTS, env=CRASHES) as s:
        run = s.post("/threads/t/runs", {"assistant_id": "pull", "input": {}, "if_not_exists": "create"}).json["run_id"]
        lease = Worker(s).lease()
        for _ in range(2):
            crashed(s, lambda: lease.try_append(token(POISON), seq=0))
            s.start()
        for strategy in ("interrupt", "rollback"):
            a = s.post("/threads/t/runs", {"assistant_id": "pull", "input": {}, "multitask_strategy": strategy})
            equal(a.status, 409, repr(a))
            contains(a.body.decode(), "set aside")
        a = s.post("/threads/t/runs", {"assistant_id": "pull", "input": {}, "multitask_strategy": "enqueue"})
        equal(a.status, 200, repr(a))
        equal(Worker(s).ask(wait=0).status, 204, "it waits for the first")
        equal(s.request("DELETE", f"/threads/t/runs/{run}").status, 204)
        equal(Worker(s).lease().job, a.json["run_id"])
