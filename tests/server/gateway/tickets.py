"""What whoever starts workers needs: queues that are watched, heartbeats that wait, executors, workers that go down."""

import contextlib
import time

from gateway import OPENING, PULL, WAIT, Server, Worker, read_answer, request_bytes, token
from harness import case, cases, check, equal


def queue(s, agent="pull", **query):
    return s.get(f"/v1/agents/{agent}/queue?" + "&".join(f"{k}={v}" for k, v in query.items()), seconds=WAIT + 60)


def waiting(s, method, path):
    """A request that is sent now and answered later."""
    sock = s.connect()
    sock.sendall(request_bytes(s, method, path))
    return sock


def answered(sock):
    with sock:
        return read_answer(sock, seconds=WAIT)


def beat(s, lease, wait=50):
    return waiting(s, "POST", lease.path("heartbeat", wait=wait))


# --- queues ----------------------------------------------------------------------------------


@case
def a_queue_says_what_waits_and_what_runs():
    with Server(agents={"pull": PULL, "other": PULL}) as s:
        equal(queue(s).json, {"agent": "pull", "queued": 0, "leased": 0, "oldest_ms": None})
        s.submit("other")
        for _ in range(3):
            s.submit()
        lease = Worker(s).lease()
        a = queue(s).json
        equal((a["queued"], a["leased"]), (2, 1))
        check(0 <= a["oldest_ms"] < 60000, a)
        lease.finish()
        equal(queue(s).json["leased"], 0)
        equal(queue(s, "other").json["queued"], 1)


@case
def a_watched_queue_answers_when_it_grows():
    with Server(agents={"pull": PULL, "other": PULL}) as s:
        s.submit()
        equal(queue(s, wait=60).json["queued"], 1, "more than none wait already")
        with waiting(s, "GET", "/v1/agents/pull/queue?wait=60&above=2") as sock:
            s.submit("other")
            s.submit()
            s.submit()
            begin = time.monotonic()
            equal(read_answer(sock, seconds=WAIT).json["queued"], 3)
            check(time.monotonic() - begin < 30, "not at the end of its time")
        begin = time.monotonic()
        equal(queue(s, wait=1, above=3).json["queued"], 3)
        check(time.monotonic() - begin >= 0.9, "as long as asked")


@cases(["wait=61", "wait=x", "above=-1", "above=1.5"])
def bad_watches_are_422(query):
    with Server(agents={"pull": PULL}) as s:
        a = s.get("/v1/agents/pull/queue?" + query)
        equal(a.status, 422)
        check("whole number" in a.detail, a.detail)


@case
def a_watcher_that_leaves_leaves_nothing():
    with Server(agents={"pull": PULL}) as s:
        for _ in range(20):
            waiting(s, "GET", "/v1/agents/pull/queue?wait=60").close()
        equal(s.get("/v1/agents/none/queue").status, 404)
        s.submit()
        equal(queue(s, wait=10).json["queued"], 1)


# --- heartbeats that wait ----------------------------------------------------------------------


@case
def a_waiting_heartbeat_hears_a_cancel():
    with Server(agents={"pull": PULL}) as s:
        job = s.submit()
        lease = Worker(s).lease()
        lease.send(*OPENING)
        socks = [beat(s, lease) for _ in range(3)]
        equal(lease.beat(), {"cancel": False}, "others do not wait")
        begin = time.monotonic()
        s.post(f"/v1/jobs/{job}/cancel")
        for sock in socks:
            equal(answered(sock).json, {"cancel": True})
        check(time.monotonic() - begin < 25, "not at the end of its time")
        equal(answered(beat(s, lease)).json, {"cancel": True}, "at once: it knows already")


# What each dialect says at the end of a job that was cancelled (docs/dialects.md).
CANCELLED = {
    "agent": [("job.failed", {"status": "cancelled", "error": "cancelled by user"})],
    "envelope": [("on_chain_end", {"data.error": "cancelled"})],
    "messages": [],  # its stream ends
    "nodes": [("run.end", {"status": "cancelled", "error": "cancelled by user"})],
    "aiq": [("job.cancellation_requested", {}), ("job.cancelled", {"data.reason": "cancelled by user"}), ("job.status", {"status": "INTERRUPTED"})],
    "raw": [("job.cancel_requested", {}), ("job.cancelled", {}), ("job.end", {"status": "cancelled"})],
}


def value_at(json, path):
    for name in path.split("."):
        json = json[name]
    return json


@case
def a_silent_job_that_hears_a_cancel_ends_in_every_dialect():
    """To readers that follow it."""
    with Server(agents={"pull": PULL}) as s, contextlib.ExitStack() as stack:
        job = s.submit()
        lease = Worker(s).lease()
        streams = {name: stack.enter_context(s.stream(job, name)) for name in CANCELLED}
        heard = beat(s, lease)
        equal(s.post(f"/v1/jobs/{job}/cancel").status, 200)
        equal(answered(heard).json, {"cancel": True})
        equal(lease.finish("cancelled"), "cancelled")
        for name, want in CANCELLED.items():
            stream = streams[name]
            stream.until(f"{name} has ended", lambda stream: stream.ended)
            tail = [f for f in stream.frames if f.event][-len(want):] if want else []
            equal([f.event for f in tail], [event for event, _ in want], name)
            for frame, (_, members) in zip(tail, want):
                equal({path: value_at(frame.json, path) for path in members}, members, name)
            check("job.cancelled" not in [f.event for f in stream.frames] or name in ("aiq", "raw"), name)


@case
def a_waiting_heartbeat_hears_a_pause():
    with Server(agents={"pull": PULL}) as s:
        job = s.submit()
        lease = Worker(s).lease()
        lease.send(*OPENING)
        sock = beat(s, lease)
        s.post(f"/v1/jobs/{job}/pause")
        equal(answered(sock).json, {"cancel": False, "pause": True})


@case
def a_waiting_heartbeat_hears_that_its_lease_is_gone():
    with Server(agents={"pull": dict(PULL, lease="2s", attempts=2)}) as s:
        s.submit()
        lost = Worker(s).lease()
        a = answered(beat(s, lost))
        equal(a.status, 409, "it renews its lease only when it comes")
        ended = Worker(s).lease()
        sock = beat(s, ended)
        ended.finish()
        check(answered(sock).status in (409, 410), "the job has ended")


@case
def a_waiting_heartbeat_ends_in_time():
    with Server(agents={"pull": PULL}) as s:
        s.submit()
        lease = Worker(s).lease()
        begin = time.monotonic()
        a = s.post(lease.path("heartbeat", wait=1), seconds=WAIT)
        equal((a.status, a.json), (200, {"cancel": False}))
        check(time.monotonic() - begin >= 0.9)
        for bad in ("61", "x", "-1"):
            equal(s.post(lease.path("heartbeat", wait=bad)).status, 422)
        for _ in range(20):
            beat(s, lease).close()
        equal(lease.beat(), {"cancel": False}, "those that have left harm nobody")


# --- executors -------------------------------------------------------------------------------

FENCED = [("POST", "/v1/worker/threads/t/checkpoints", {"checkpoint_id": "c", "checkpoint": {}}),
          ("POST", "/v1/worker/threads/t/writes", {"checkpoint_id": "c", "task_id": "t", "writes": []}),
          ("POST", "/v1/worker/threads/t/state", {"checkpoint_id": "c", "state": {}}),
          ("POST", "/v1/worker/threads/t/checkpoints/get", {}),
          ("POST", "/v1/worker/threads/t/checkpoints/list", {}),
          ("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {}}),
          ("DELETE", "/store/items", {"namespace": ["a"], "key": "k"}),
          ("POST", "/store/items/search", {"namespace_prefix": []}),
          ("POST", "/store/namespaces", {})]


@case
def a_bound_lease_is_its_executors_alone():
    with Server(agents={"pull": PULL}) as s:
        job = s.submit()
        lease = Worker(s).lease(executor="exec-1", request_id="r")
        check(lease.token.endswith(".exec-1"), lease.token)
        for query in ({}, {"executor": "exec-2"}):
            for what, body in (("events", b'{"type":"x"}\n'), ("heartbeat", b""), ("finish", {"status": "success"}),
                               ("return", b""), ("lose", b"")):
                a = s.post(lease.path(what, **query), body)
                equal(a.status, 409, f"{what} {query} {a!r}")
                check("executor" in a.detail, a.detail)
            # So are writes that are fenced by the lease: items of the store, checkpoints of the thread.
            fence = "&".join(f"{k}={v}" for k, v in {"job": job, "lease": lease.token, **query}.items())
            for method, path, body in FENCED:
                a = s.request(method, f"{path}?{fence}", body)
                equal(a.status, 409, f"{path} {query} {a!r}")
                check("executor" in a.detail, a.detail)
        equal(s.get(f"/v1/jobs/{job}").json["state"], "running")
        # What is signed cannot be rewritten.
        forged = lease.token.replace("exec-1", "exec-2")
        equal(s.post(f"/v1/worker/jobs/{job}/heartbeat?lease={forged}&executor=exec-2").status, 404)
        equal(s.post(f"/v1/worker/jobs/{job}/heartbeat?lease={lease.token[:-7]}").status, 404)
        equal(s.post(lease.path("heartbeat", executor="exec-1")).json, {"cancel": False})
        again = Worker(s).lease(executor="exec-1", request_id="r")
        equal((again.job, again.token), (job, lease.token), "its first answer was lost")
        equal(Worker(s).ask(wait=0, executor="exec-2", request_id="r").status, 204, "another gets no lease of its")
        equal(s.post(lease.path("finish", executor="exec-1"), {"status": "success"}).json, {"state": "succeeded"})


@cases(["", "a b", "a.b", "ä", "x" * 65, 5], name=lambda c: str(c)[:9])
def bad_executors_are_422(id):
    with Server(agents={"pull": PULL}) as s:
        a = Worker(s).ask(wait=0, executor=id)
        equal(a.status, 422, repr(a))
        check("executor" in a.detail, a.detail)


# --- going down --------------------------------------------------------------------------------


@case
def a_worker_that_goes_down_costs_an_attempt_at_once():
    with Server(agents={"pull": dict(PULL, lease="10m", attempts=2)}) as s:
        job = s.submit()
        first = Worker(s).lease()
        first.send(*OPENING, token("a"))
        equal(s.post(first.path("lose")).status, 200)
        second = Worker(s).lease()
        equal((second.job, second.attempt), (job, 2))
        equal(first.try_beat().status, 409)
        equal(s.post(second.path("lose"), {"error": "the node is drained"}).status, 200)
        row = s.get(f"/v1/jobs/{job}").json
        equal((row["state"], row["error"]), ("failed", "the node is drained"))


@case
def tickets_that_have_their_job_are_counted_with_it():
    with Server(agents={"pull": PULL}) as s:
        s.submit()
        equal(queue(s, wait=60, tickets=0).json["queued"], 1)
        with waiting(s, "GET", "/v1/agents/pull/queue?wait=60&tickets=1") as sock:
            lease = Worker(s).lease()  # by that ticket: 1 is leased, and none waits
            s.submit()
            begin = time.monotonic()
            a = read_answer(sock, seconds=WAIT).json
            equal((a["queued"], a["leased"]), (1, 1))
            check(time.monotonic() - begin < 30, "not at the end of its time")
        begin = time.monotonic()
        equal(queue(s, wait=1, tickets=2).json["queued"], 1, "enough for both")
        check(time.monotonic() - begin >= 0.9, "as long as asked")
        lease.finish()


# --- the state of agents ---------------------------------------------------------------------


def agents(s):
    return {a["agent"]: a for a in s.get("/v1/agents").json["agents"]}


def state(s, agent, worker, error, **how):
    return s.post(f"/v1/worker/agents/{agent}/state", {"worker": worker, "error": error}, **how)


@case
def agents_say_what_waits_and_what_is_wrong():
    with Server(agents={"pull": PULL, "other": PULL}) as s:
        quiet = {"agent": "other", "description": "", "kind": "pull", "queued": 0, "leased": 0, "oldest_ms": None,
                 "broken_workers": 0, "error": None}
        equal(agents(s)["other"], quiet)
        s.submit()
        s.submit()
        lease = Worker(s).lease()
        for worker in ("one", "two", "one"):
            equal(state(s, "pull", worker, f"import error: {worker}").status, 200)
        a = agents(s)["pull"]
        equal((a["queued"], a["leased"], a["broken_workers"], a["error"]), (1, 1, 2, "import error: one"))
        check(a["oldest_ms"] >= 0, a)
        state(s, "pull", "one", None)
        state(s, "pull", "two", None)
        a = agents(s)["pull"]
        equal((a["broken_workers"], a["error"]), (0, None))
        equal(agents(s)["other"], quiet)
        lease.finish()


@cases([{}, {"worker": ""}, {"worker": 1}, {"worker": "x" * 201}, {"worker": "x", "error": 1}])
def bad_states_are_422(body):
    with Server(agents={"pull": PULL}) as s:
        equal(s.post("/v1/worker/agents/pull/state", body).status, 422)
        equal(s.post("/v1/worker/agents/none/state", {"worker": "x"}).status, 404)
        equal(agents(s)["pull"]["broken_workers"], 0)
