"""Calls: short questions to pull workers, with and without an answer."""

import os
import socket
import struct
import subprocess
import time

from gateway import PULL, STORY, WAIT, Server, Worker, at_once, read_answer, request_bytes, running, until
from harness import PROGRAM, case, cases, check, contains, equal


def ask(s, agent="pull", name="describe", seconds=WAIT, headers=None, **more):
    return s.post(f"/v1/agents/{agent}/call", {"name": name, **more}, seconds=seconds + 10, headers=headers)


def serve_one(s, reply, agent="pull"):
    """A worker that waits for a call and answers it; the order that it got, and what it was told."""
    given = Worker(s, agent).ask(wait=20, calls=True)
    equal(given.status, 200, repr(given))
    order = given.json
    return order, s.post(f"/v1/worker/calls/{order['call']['id']}", reply)


@case
def a_question_and_its_answer():
    with Server(agents={"pull": PULL}) as s:
        (order, told), answer = at_once(lambda: serve_one(s, {"answer": {"n": [1.0, "ä"]}}),
                                        lambda: ask(s, params={"deep": True}))
        equal((order["call"]["name"], order["call"]["params"], order["agent"]), ("describe", {"deep": True}, "pull"))
        check("job" not in order, order)
        equal((answer.status, answer.json), (200, {"answer": {"n": [1.0, "ä"]}}))
        contains(answer.body.decode(), '"n":[1.0,')
        equal((told.status, told.json), (200, {"delivered": True}))
        equal(s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": 1}).status, 404, "an answer is given once")
        equal(s.get("/v1/jobs").json["jobs"], [], "it is no job")


@case
def a_worker_may_answer_with_an_error():
    with Server(agents={"pull": PULL}) as s:
        _, answer = at_once(lambda: serve_one(s, {"error": "no such\nthing"}), lambda: ask(s))
        equal(answer.status, 502)
        contains(answer.detail, "no such")


@case
def nobody_serves_it():
    with Server(agents={"pull": PULL, "process": {"command": ["true"]}}) as s:
        start = time.monotonic()
        a = ask(s, timeout=1)
        equal(a.status, 503, repr(a))
        contains(a.detail, "no worker of this agent was idle")
        check(time.monotonic() - start >= 0.9, "it waited")
        a = ask(s, "process")
        equal(a.status, 503)
        contains(a.detail, "a process for each job, which takes no calls")
        equal(ask(s, "nope").status, 404)


@case
def a_worker_that_did_not_ask_for_calls_gets_none():
    with Server(agents={"pull": PULL}) as s:
        plain, a = at_once(lambda: Worker(s).ask(wait=2), lambda: ask(s, timeout=1))
        equal((plain.status, a.status), (204, 503))


@case
def a_worker_that_takes_it_and_says_nothing_is_504():
    with Server(agents={"pull": PULL}) as s:
        def call():
            until("it waits", lambda: has_waiting(s, "w1"))
            return ask(s, timeout=1)
        order, a = at_once(lambda: Worker(s).ask(wait=20, calls=True).json, call)
        equal(a.status, 504, repr(a))
        equal(s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": 1}).status, 404, "too late")


@case
def a_call_whose_worker_has_left_goes_to_the_next():
    with Server(agents={"pull": PULL}) as s:
        for _ in range(5):
            sock = s.connect()
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease", {"agents": ["pull"], "wait": 30, "calls": True}))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        _, a = at_once(lambda: serve_one(s, {"answer": "here"}), lambda: ask(s))
        equal(a.json, {"answer": "here"})


def lease_body(request_id, **more):
    return {"agents": ["pull"], "worker": request_id, "wait": 30, "calls": True, "request_id": request_id, **more}


def has_waiting(s, name):
    return any(w["worker"] == name for w in s.get("/v1/workers").json["workers"])


@case
def a_call_is_not_lost_to_a_worker_that_leaves_at_that_moment():
    with Server("--loops", "4", agents={"pull": PULL}) as s:
        for n in range(40):
            with s.connect() as sock:
                sock.sendall(request_bytes(s, "POST", "/v1/worker/lease", lease_body(f"w{n}")))
                until("it waits", lambda: has_waiting(s, f"w{n}"))
                copy = os.dup(sock.fileno())  # as a child has it that another case starts now
            a, _ = at_once(lambda: ask(s), lambda: serve_one(s, {"answer": "here"}))
            os.close(copy)
            equal((a.status, a.json), (200, {"answer": "here"}))


@case
def a_call_whose_answer_was_lost_is_given_again():
    """The worker asks with the same request_id: it gets it again, or lets the next one have it."""
    with Server(agents={"pull": PULL}) as s, s.connect() as sock:
        def lose_it():
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease", lease_body("first")))
            order = read_answer(sock).json
            again = s.post("/v1/worker/lease", lease_body("first")).json
            equal(again, order)
            equal(s.post("/v1/worker/lease", lease_body("first", calls=False, wait=0)).status, 204)
            return serve_one(s, {"answer": "here"})
        (order, _), a = at_once(lose_it, lambda: ask(s))
        equal((a.status, a.json), (200, {"answer": "here"}), order)


@case
def calls_are_bounded_and_a_caller_that_has_left_takes_no_place():
    with Server("--max-calls", "2", "--loops", "1", agents={"pull": PULL}) as s:
        socks = []
        for _ in range(2):  # one loop: they are there before the next one
            socks.append(s.connect())
            socks[-1].sendall(request_bytes(s, "POST", "/v1/agents/pull/call", {"name": "x", "timeout": 60}))

        def full():
            a = ask(s, timeout=1)
            return "max_calls" in a.detail and a
        a = until("it is full", full)
        equal(a.status, 503)
        socks[0].close()
        until("there is room", lambda: "max_calls" not in ask(s, timeout=1).detail)
        socks[1].close()


@case
def jobs_and_calls_side_by_side():
    """A worker with a job takes no call; its next lease brings one."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease(calls=True)
        equal(ask(s, timeout=1).status, 503)
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        _, a = at_once(lambda: serve_one(s, {"answer": None}), lambda: ask(s))
        equal(a.json, {"answer": None})


@cases([b"{}", b"[]", b'{"name":""}', b'{"name":5}', b'{"name":"x","timeout":0}', b'{"name":"x","timeout":61}', b"nonsense"], repr)
def bad_questions_are_422(body):
    with Server(agents={"pull": PULL}) as s:
        equal(s.post("/v1/agents/pull/call", body).status, 422)


@cases([b"{}", b'{"answer":1,"error":"x"}', b'{"error":5}', b"[]"], repr)
def bad_answers_are_422(body):
    with Server(agents={"pull": PULL}) as s:
        equal(s.post("/v1/worker/calls/x", body).status, 422)


@case
def a_restart_loses_a_call_and_nothing_else():
    with Server(agents={"pull": PULL}) as s:
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "POST", "/v1/agents/pull/call", {"name": "x", "timeout": 60}))
            s.submit(job_id="j")
            s.terminate()
            try:
                equal(read_answer(sock).status, 503)
            except (OSError, AssertionError):
                pass  # or the connection is cut
            s.start()
        equal(s.state("j"), "queued")


@case
def the_demo_describes_itself():
    with Server(agents={"demo": PULL}) as s:
        with running(PROGRAM, "demo-agent", "--pull", s.url, "--jobs", "1", "--seed", "9", "--speed", "0") as p:
            a = ask(s, "demo")
            equal((a.status, a.json["answer"]["seed"], a.json["answer"]["question"]), (200, 9, True), repr(a))
            contains(ask(s, "demo", "graph").detail, "describe")
            id = s.submit("demo", {"speed": 0})
            try:
                equal(p.wait(WAIT), 0)
            except subprocess.TimeoutExpired:
                raise AssertionError("the worker does not go on to jobs")
        equal(s.state(id), "succeeded")
