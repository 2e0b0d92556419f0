"""The state of a thread and its history, from what its worker has saved; and changing it."""

import json
import socket
import sys


from callers import Locked  # noqa: E402
from checkpoints import Saver, ok  # noqa: E402
from gateway import PULL, Server, Worker, at_once, until  # noqa: E402
from harness import case, check, contains, equal  # noqa: E402

EMPTY = {"values": {}, "next": [], "tasks": [], "metadata": {}, "created_at": None, "checkpoint": None, "parent_checkpoint": None,
         "interrupts": [], "checkpoint_id": None, "parent_checkpoint_id": None}


def thread(s, **more):
    a = s.post("/threads", more)
    equal(a.status, 200, repr(a))
    return a.json["thread_id"]


def run(s, t, worker=None, **body):
    """A run of the thread, taken by a worker: its saver and its lease."""
    a = s.post(f"/threads/{t}/runs", {"assistant_id": "pull", "input": {}, **body})
    equal(a.status, 200, repr(a))
    lease = Worker(worker or s).lease()
    equal(lease.order["thread"], t)
    return Saver(worker or s, lease, t), lease


def state(s, t, more=""):
    a = s.get(f"/threads/{t}/state{more}")
    equal(a.status, 200, repr(a))
    return a.json


def history(s, t, **more):
    a = s.post(f"/threads/{t}/history", more)
    equal(a.status, 200, repr(a))
    return a.json


def ids(states):
    return [h["checkpoint"]["checkpoint_id"] for h in states]


@case
def a_thread_without_a_state():
    with Server(agents={"pull": PULL}) as s:
        t = thread(s)
        equal(state(s, t), EMPTY)
        equal(history(s, t), [])
        for method, path in (("GET", "state"), ("GET", "state/1"), ("POST", "history"), ("POST", "state"), ("POST", "state/checkpoint")):
            a = s.request(method, f"/threads/none/{path}", {} if method == "POST" else None)
            equal(a.status, 404, path)
            contains(a.body.decode(), "Thread with ID none not found")
        equal(s.get(f"/threads/{t}/state/none").status, 404)


@case
def the_state_is_what_the_worker_has_said():
    with Server(agents={"pull": PULL}) as s:
        t = thread(s)
        saver, lease = run(s, t)
        task = {"id": "task-1", "name": "review", "path": ["__pregel_pull", "review"], "error": None, "interrupts": [{"id": "i", "value": "?"}],
                "checkpoint": None, "state": None, "result": None}
        ok(saver.put("1", metadata={"source": "input", "step": -1}), saver.state("1", values={"n": 0}, next=["__start__"]),
           saver.put("2", parent="1", metadata={"source": "loop", "step": 0, "run_id": "r"}),
           saver.state("2", values={"n": 1.0, "t": "ä"}, next=["review"], tasks=[task], created_at="2026-11-15T01:03:43.509Z",
                       metadata={"source": "loop", "step": 0, "run_id": "r", "thread_id": "where it was made"}))
        lease.finish()
        place = {"thread_id": t, "checkpoint_ns": "", "checkpoint_map": None}
        want = {"values": {"n": 1.0, "t": "ä"}, "next": ["review"], "tasks": [task], "created_at": "2026-11-15T01:03:43.509Z",
                "metadata": {"source": "loop", "step": 0, "run_id": "r", "thread_id": t}, "checkpoint": {**place, "checkpoint_id": "2"},
                "parent_checkpoint": {**place, "checkpoint_id": "1"}, "interrupts": task["interrupts"],
                "checkpoint_id": "2", "parent_checkpoint_id": "1"}
        equal(state(s, t), want)
        first = state(s, t, "/1")
        equal((first["values"], first["next"], first["metadata"], first["parent_checkpoint"]),
              ({"n": 0}, ["__start__"], {"source": "input", "step": -1, "thread_id": t}, None))
        equal(s.post(f"/threads/{t}/state/checkpoint", {"checkpoint": {**place, "checkpoint_id": "1"}}).json, first)
        equal(history(s, t), [want, first], "newest first")
        s.restart(s.kill)
        equal((state(s, t), history(s, t, limit=1)), (want, [want]))
        ok_copy = s.post(f"/threads/{t}/copy")
        equal(ok_copy.status, 200, repr(ok_copy))
        copy = ok_copy.json["thread_id"]
        equal(state(s, copy, "/1"), {**first, **{k: {**first[k], "thread_id": copy} for k in ("metadata", "checkpoint")}})
        as_copied = {**want, **{k: {**want[k], "thread_id": copy} for k in ("metadata", "checkpoint", "parent_checkpoint")}}
        equal((state(s, copy), history(s, copy, limit=1)), (as_copied, [as_copied]))
        equal(s.request("DELETE", f"/threads/{t}").status, 204)
        equal(saver.list(), [], "its checkpoints go with it")
        equal(len(history(s, ok_copy.json["thread_id"])), 2)


@case
def history_is_limited_and_filtered():
    with Server(agents={"pull": PULL}) as s:
        t = thread(s)
        saver, lease = run(s, t)
        for n in range(1, 16):
            ok(saver.put(f"{n:02}", metadata={"step": n, "source": "loop" if n % 2 else "update"}), saver.state(f"{n:02}", values={"n": n}))
        ok(saver.state("99", values={}))  # a state without its checkpoint is not shown
        lease.finish()
        equal(ids(history(s, t)), [f"{n:02}" for n in range(15, 5, -1)])
        equal(ids(history(s, t, limit=2, before="03")), ["02", "01"])
        equal(ids(history(s, t, limit=1, before={"checkpoint_id": "03"})), ["02"])
        equal(ids(history(s, t, limit=1, before={"configurable": {"checkpoint_id": "05"}})), ["04"])
        equal(ids(history(s, t, metadata={"source": "update"}, limit=3)), ["14", "12", "10"])
        equal(ids(history(s, t, metadata={"step": 7})), ["07"])


@case
def subgraphs_are_shown_when_they_are_asked_for():
    with Server(agents={"pull": PULL}) as s:
        t = thread(s)
        saver, lease = run(s, t)
        inner = {"id": "t2", "name": "deep", "interrupts": [], "checkpoint": {"thread_id": t, "checkpoint_ns": "sub:t1|deep:t2"}}
        ok(saver.put("1"), saver.state("1", values={"outer": 1}, next=["sub"], tasks=[{"id": "t1", "name": "sub", "interrupts": []}]),
           saver.put("2", ns="sub:t1"), saver.state("2", ns="sub:t1", values={"inner": 2}, next=["deep"], tasks=[inner]),
           saver.put("3", ns="sub:t1|deep:t2"), saver.state("3", ns="sub:t1|deep:t2", values={"deep": 3}))
        lease.finish()
        equal(state(s, t)["tasks"], [{"id": "t1", "name": "sub", "interrupts": []}])
        sub = state(s, t, "?subgraphs=true")["tasks"][0]["state"]
        equal((sub["values"], sub["checkpoint"]["checkpoint_ns"]), ({"inner": 2}, "sub:t1"))
        equal(sub["tasks"][0]["state"]["values"], {"deep": 3})
        a = s.post(f"/threads/{t}/state/checkpoint", {"checkpoint": {"checkpoint_ns": "sub:t1"}})
        equal(a.json["values"], {"inner": 2})


def serve_update(s, t, answer=None):
    """A worker that answers an update_state call: saves the new state."""
    order = Worker(s).ask(wait=20, calls=True).json
    call, params = order["call"], order["call"]["params"]
    fence = f"?call={call['id']}"
    saver = Saver.__new__(Saver)
    saver.server, saver.thread, saver.fence = s, t, fence
    if answer is None:
        ok(saver.put("9", parent="1", metadata={"source": "update", "step": 2}),
           saver.state("9", values=params["values"], next=[], tasks=[]))
        other = Saver.__new__(Saver)
        other.server, other.thread, other.fence = s, "another", fence
        equal(other.put("1").status, 409, "the call is about its own thread only")
        answer = {"answer": {"checkpoint": {"thread_id": params["thread"], "checkpoint_ns": "", "checkpoint_id": "9"}}}
    equal(s.post(f"/v1/worker/calls/{call['id']}", answer).status, 200)
    equal(saver.put("10").status, 409, "the call is over")
    return call


@case
def a_state_is_changed_by_a_worker():
    with Server(agents={"pull": PULL}) as s:
        t = thread(s)
        saver, lease = run(s, t, config={"configurable": {"model": "m", "checkpoint_id": "0"}})
        used = lease.order["run"]["config"]["configurable"]
        ok(saver.put("1"), saver.state("1", values={"n": 1}, next=["ask"], tasks=[{"id": "t", "name": "ask", "interrupts": [{"id": "i", "value": 1}]}]))
        a = s.post(f"/threads/{t}/state", {"values": {}})
        equal(a.status, 409, "a run is at work")
        lease.finish()
        call, a = at_once(lambda: serve_update(s, t), lambda: s.post(f"/threads/{t}/state", {
            "values": {"n": 2}, "as_node": "ask", "checkpoint_id": "1"}, seconds=60))
        equal((a.status, a.json), (200, {"checkpoint": {"thread_id": t, "checkpoint_ns": "", "checkpoint_id": "9"}}), repr(a))
        equal((call["name"], call["params"]), ("update_state", {
            "thread": t, "values": {"n": 2}, "as_node": "ask",
            # The graph may be made by a function of its config, so it is that of the last run.
            "config": {"configurable": {**{k: v for k, v in used.items() if k != "run_id"},
                                        "thread_id": t, "checkpoint_ns": "", "checkpoint_id": "1"}}}))
        equal(used["model"], "m")
        equal((state(s, t)["values"], ids(history(s, t))), ({"n": 2}, ["9", "1"]))
        seen = s.get(f"/threads/{t}").json
        equal((seen["values"], seen["status"], seen["interrupts"]), ({"n": 2}, "idle", {}))
        _, a = at_once(lambda: serve_update(s, t, {"error": "no such node"}), lambda: s.post(f"/threads/{t}/state", {"values": 1}, seconds=60))
        equal(a.status, 400, "not 5xx, which a client would send again")
        contains(a.detail, "no such node")


@case
def a_thread_of_no_graph_cannot_be_changed():
    with Server(agents={"pull": PULL}) as s:
        a = s.post(f"/threads/{thread(s)}/state", {"values": {}})
        equal(a.status, 400, repr(a))
        a = s.post(f"/threads/{thread(s, metadata={'graph_id': 'none'})}/state", {"values": {}})
        equal(a.status, 404, repr(a))


PAST = {"metadata": {"graph_id": "pull"}, "supersteps": [
    {"updates": [{"values": {"n": 1}, "as_node": "__input__"}]},
    {"updates": [{"values": {"n": 2}, "command": None, "as_node": "ask"}]}]}


def serve_past(s, error=None):
    """A worker's part of a thread that is made with supersteps: two checkpoints, or an error."""
    call = Worker(s).ask(wait=20, calls=True).json["call"]
    saver = Saver.__new__(Saver)
    saver.server, saver.thread, saver.fence = s, call["params"]["thread"], f"?call={call['id']}"
    ok(saver.put("1"), saver.state("1", values={"n": 1}, next=["ask"], tasks=[]))
    if error is None:
        ok(saver.put("2", parent="1"), saver.state("2", values={"n": 2}, next=["write"], tasks=[]))
    answer = {"answer": {}} if error is None else {"error": error}
    equal(s.post(f"/v1/worker/calls/{call['id']}", answer).status, 200)
    return call


@case
def a_thread_is_made_with_a_past():
    with Server(agents={"pull": PULL}) as s:
        call, a = at_once(lambda: serve_past(s), lambda: s.post("/threads", PAST, seconds=60))
        equal(a.status, 200, repr(a))
        t = a.json["thread_id"]
        equal((call["name"], call["params"]), ("bulk_update_state", {
            "thread": t, "config": {"configurable": {"thread_id": t, "checkpoint_ns": ""}}, "supersteps": PAST["supersteps"]}))
        equal((a.json["values"], a.json["status"], a.json["metadata"]), ({"n": 2}, "interrupted", {"graph_id": "pull"}))
        equal((s.get(f"/threads/{t}").json, ids(history(s, t))), (a.json, ["2", "1"]))
        again = {**PAST, "thread_id": t}
        equal(s.post("/threads", again).status, 409)
        equal(s.post("/threads", {"supersteps": []}).json["values"], None)


@case
def a_thread_that_is_there_goes_on():
    with Server(agents={"pull": PULL}) as s:
        t = thread(s)
        again = {**PAST, "thread_id": t, "if_exists": "do_nothing"}
        call, a = at_once(lambda: serve_past(s), lambda: s.post("/threads", again))
        equal((call["params"]["thread"], a.status, a.json["values"]), (t, 200, {"n": 2}))
        _, a = at_once(lambda: serve_past(s, "no such node"), lambda: s.post("/threads", again))
        equal((a.status, a.detail, ids(history(s, t))), (400, "no such node", ["2", "1"]), "it stays")
        _, lease = run(s, t)
        a = s.post("/threads", again)
        equal((a.status, a.detail), (409, "Thread is busy: its state can be changed when its run has ended"))
        lease.finish()


@case
def no_half_of_a_thread_remains():
    with Server(agents={"pull": PULL, "each": {"command": ["true"]}}) as s:
        _, a = at_once(lambda: serve_past(s, "no such node"), lambda: s.post("/threads", {**PAST, "thread_id": "t"}, seconds=60))
        equal(a.status, 400, repr(a))
        contains(a.detail, "the thread was not made: no such node")
        for status, more in ((422, {"metadata": {}}), (404, {"metadata": {"graph_id": "none"}}), (400, {"metadata": {"graph_id": "each"}}),
                             (422, {"supersteps": {}}), (422, {"supersteps": [{"updates": []}]}), (422, {"supersteps": [{"updates": [1]}]})):
            equal(s.post("/threads", {**PAST, **more}).status, status, more)
        equal(s.post("/threads/count", {}).json, 0)
        equal(thread(s, thread_id="t"), "t")
        equal(history(s, "t"), [], "what was saved has gone, too")


@case
def who_leaves_before_the_past_is_there_leaves_no_thread():
    with Server(agents={"pull": PULL}) as s:
        with socket.create_connection(("127.0.0.1", s.port)) as c:
            body = json.dumps(PAST).encode()
            c.sendall(b"POST /threads HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (s.port, len(body), body))
            until("it is there", lambda: s.post("/threads/count", {}).json == 1)
        until("it is gone", lambda: s.post("/threads/count", {}).json == 0)


@case
def states_are_for_whoever_may_see_the_thread():
    with Locked(agents={"pull": PULL}) as s:
        ann, bob, reader, worker = s.caller("client"), s.caller("client"), s.caller("read"), s.caller("worker")
        t = thread(ann)
        saver, lease = run(ann, t, worker)
        ok(saver.put("1"), saver.state("1", values={"secret": 1}))
        lease.finish()
        equal((state(ann, t)["values"], state(reader, t)["values"]), ({"secret": 1}, {"secret": 1}))
        for a in (bob.get(f"/threads/{t}/state"), bob.get(f"/threads/{t}/state/1"), bob.post(f"/threads/{t}/history", {}),
                  bob.post(f"/threads/{t}/state", {"values": {}}), bob.post(f"/threads/{t}/state/checkpoint", {"checkpoint": {}})):
            equal(a.status, 404, repr(a))
            check("secret" not in a.body.decode())
        equal(reader.post(f"/threads/{t}/state", {"values": {}}).status, 403)
