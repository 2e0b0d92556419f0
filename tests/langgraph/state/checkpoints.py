"""Checkpoints through the worker protocol: exact, fenced, and there after a crash."""

import base64
import os

from gateway import PULL, Server, Worker
from harness import case, cases, check, contains, equal


def blob(data, kind="msgpack"):
    return {"type": kind, "data": base64.b64encode(data).decode()}


class Saver:
    """The checkpoints of one thread, written by the holder of a lease."""

    def __init__(self, server, lease, thread=None):
        self.server, self.thread = server, thread or lease.job
        self.fence = f"?job={lease.job}&lease={lease.token}"

    def send(self, what, body, fence=None):
        return self.server.post(f"/v1/worker/threads/{self.thread}/{what}{self.fence if fence is None else fence}", body)

    def put(self, id, ns="", parent=None, versions=None, blobs=None, data=b"\x80", metadata=None, **more):
        return self.send("checkpoints", {"ns": ns, "id": id, "parent": parent, "checkpoint": blob(data), "metadata": metadata or {},
                                         "versions": versions or {}, "blobs": blobs or {}}, **more)

    def writes(self, id, task, *writes, ns=""):
        return self.send("writes", {"ns": ns, "id": id, "task": task, "path": "~p", "writes": [
            {"idx": idx, "channel": channel, **blob(data)} for idx, channel, data in writes]})

    def state(self, id, ns="", **state):
        return self.send("state", {"ns": ns, "id": id, "state": state})

    def get(self, **place):
        a = self.send("checkpoints/get", place, "")
        equal(a.status, 200, repr(a))
        return a.json["checkpoint"]

    def list(self, **filter):
        a = self.send("checkpoints/list", filter, "")
        equal(a.status, 200, repr(a))
        return a.json["checkpoints"]


def saver(s, id="j"):
    s.submit(job_id=id)
    return Saver(s, Worker(s).lease())


def ok(*answers):
    for a in answers:
        equal(a.status, 200, repr(a))


@case
def what_is_saved_is_read_exactly():
    every_byte = bytes(range(256)) * 3
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        equal(t.get(), None)
        a = t.put("1", data=every_byte, metadata={"step": -1, "big": 12345678901234567890, "f": 1.0, "t": "ä\n"},
                  versions={"messages": "01.0", "n": 3}, blobs={"messages": {"version": "01.0", **blob(every_byte)},
                                                               "n": {"version": 3, **blob(b"", "empty")}})
        equal((a.status, a.json), (200, {"id": "1"}), repr(a))
        contains(s.post("/v1/worker/threads/j/checkpoints/get", {}).body.decode(), '"f":1.0')
        equal(t.get(), {"ns": "", "id": "1", "parent": None, "checkpoint": blob(every_byte), "writes": [],
                        "metadata": {"step": -1, "big": 12345678901234567890, "f": 1.0, "t": "ä\n"},
                        "blobs": {"messages": {"version": "01.0", **blob(every_byte)}, "n": {"version": "3", **blob(b"", "empty")}}})


@case
def channels_are_shared_by_version():
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        ok(t.put("1", versions={"a": "1", "b": "1"}, blobs={"a": {"version": "1", **blob(b"a1")}, "b": {"version": "1", **blob(b"b1")}}),
           t.put("2", parent="1", versions={"a": "2", "b": "1"}, blobs={"a": {"version": "2", **blob(b"a2")}}))

        def values(c):
            return {k: base64.b64decode(v["data"]) for k, v in c["blobs"].items()}
        equal(values(t.get()), {"a": b"a2", "b": b"b1"})
        equal(values(t.get(id="1")), {"a": b"a1", "b": b"b1"})
        equal(t.get()["parent"], "1")
        equal(t.get(id="3"), None)


@case
def the_list_is_newest_first_and_filtered():
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        ok(t.put("1", metadata={"source": "input", "step": -1}), t.put("2", metadata={"source": "loop", "step": 0}),
           t.put("2.5", ns="sub:1", metadata={"source": "loop", "step": 0}), t.put("3", metadata={"source": "loop", "step": 1, "who": {"a": 1, "b": 2}}))

        def ids(**filter):
            return [c["id"] for c in t.list(**filter)]
        equal(ids(), ["3", "2.5", "2", "1"])
        equal(ids(ns=""), ["3", "2", "1"])
        equal(ids(ns="sub:1"), ["2.5"])
        equal(ids(ns="", before="3", limit=1), ["2"])
        equal(ids(filter={"source": "loop"}, limit=2), ["3", "2.5"])
        equal(ids(filter={"who": {"b": 2}}), ["3"])
        equal(ids(filter={"step": 7}), [])


@case
def writes_wait_with_their_checkpoint():
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        ok(t.put("1"), t.writes("1", "task", (0, "x", b"first"), (-1, "__error__", b"one")),
           t.writes("1", "task", (0, "x", b"second"), (1, "y", b"third"), (-1, "__error__", b"two")))
        equal([(w["task"], w["path"], w["idx"], w["channel"], base64.b64decode(w["data"])) for w in t.get()["writes"]],
              [("task", "~p", -1, "__error__", b"two"), ("task", "~p", 0, "x", b"first"), ("task", "~p", 1, "y", b"third")])


@case
def a_stale_worker_is_refused():
    with Server(agents={"pull": PULL}) as s:
        old = saver(s)
        ok(old.put("1"))
        s.post(f"/v1/worker/jobs/j/return{old.fence.replace('?job=j&', '?')}")
        new = Saver(s, Worker(s).lease())
        for a in (old.put("2"), old.writes("1", "t", (0, "x", b"")), old.state("1", values={})):
            equal(a.status, 409, repr(a))
            contains(a.detail, "does not hold this job")
        equal(s.request("DELETE", "/v1/worker/threads/j/checkpoints" + old.fence).status, 409)
        ok(new.put("3", parent="1"))
        equal([c["id"] for c in new.list()], ["3", "1"])
        s.post("/v1/jobs/j/cancel")
        equal(s.post(f"/v1/worker/jobs/j/finish{new.fence.replace('?job=j&', '?')}", {"status": "cancelled"}).status, 200)
        equal(new.put("4").status, 409, "the job has ended")


@case
def a_job_writes_to_its_own_thread_only():
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        t.thread = "another"
        equal(t.put("1").status, 409)
        equal(t.put("1", fence="").status, 422)
        equal(t.put("1", fence="?job=j").status, 422)
        equal(t.put("1", fence="?call=none").status, 409)
        t.thread = "j"
        equal(t.put("1", fence="?job=nobody&lease=1.1").status, 404)
        equal(t.list(), [])


@cases([{}, [], {"id": ""}, {"id": "1"}, {"id": "1", "checkpoint": {"type": "x", "data": "no base64"}}, {"id": "1", "checkpoint": {"data": "AA=="}},
        {"id": "1", "checkpoint": {"type": "x"}, "metadata": 1}, {"id": "1", "checkpoint": {"type": "x"}, "versions": {"a": None}},
        {"id": "1", "checkpoint": {"type": "x"}, "blobs": {"a": {"type": "x"}}}, {"id": "1", "checkpoint": {"type": "x"}, "blobs": [1]},
        {"id": 5, "checkpoint": {"type": "x"}}, {"id": "1", "ns": 5, "checkpoint": {"type": "x"}}], repr)
def a_bad_checkpoint_is_422(body):
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        a = t.send("checkpoints", body)
        equal(a.status, 422, repr(a))
        check(len(a.detail) > 10)
        equal(t.list(), [])


@cases([{"id": "1", "task": "t"}, {"id": "1", "task": "t", "writes": [1]}, {"id": "1", "task": "", "writes": []},
        {"id": "1", "task": "t", "writes": [{"channel": "x", "type": "y"}]}, {"id": "1", "task": "t", "writes": [{"idx": 0, "type": "y"}]}], repr)
def bad_writes_are_422(body):
    with Server(agents={"pull": PULL}) as s:
        equal(saver(s).send("writes", body).status, 422)


@case
def everything_is_there_after_a_crash():
    data = os.urandom(300_000)
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        ok(t.put("1", versions={"big": "1"}, blobs={"big": {"version": "1", **blob(data)}}), t.writes("1", "t", (0, "x", data)),
           t.state("1", values={}))
        before = t.get()
        s.restart(s.kill)
        t.server = s
        equal(t.get(), before)
        equal(base64.b64decode(before["blobs"]["big"]["data"]), data)
        ok(t.put("2", parent="1"))  # its lease is still good


@case
def what_a_job_has_saved_goes_with_it():
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        ok(t.put("1"))
        equal(s.request("DELETE", "/v1/jobs/j").status, 204)
        equal(t.list(), [])


@case
def a_thread_can_be_emptied():
    with Server(agents={"pull": PULL}) as s:
        t = saver(s)
        ok(t.put("1"))
        equal(s.request("DELETE", "/v1/worker/threads/j/checkpoints" + t.fence).status, 204)
        equal(t.list(), [])
