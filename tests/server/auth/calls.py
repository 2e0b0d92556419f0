"""Calls to workers: whose jobs and threads they may name, and who may answer them."""

from callers import Locked, same_but_for
from gateway import PULL, Worker, at_once
from harness import case, cases, check, contains, equal

NAMED = {"job": {"job": "%s"}, "job_id": {"job_id": "%s"}, "run": {"run": "%s"}, "run_id": {"x": [{"run_id": "%s"}]},
         "thread": {"thread": "%s"}, "thread_id": {"config": {"configurable": {"thread_id": "%s"}}},
         "checkpoint": {"checkpoint": {"thread_id": "%s"}}, "threadId": {"threadId": "%s"},
         "a list": {"job_ids": ["%s"]}, "threads": {"x": {"threads": ["%s", "%s"]}}}


def fill(value, id):
    if isinstance(value, dict):
        return {k: fill(v, id) for k, v in value.items()}
    return [fill(v, id) for v in value] if isinstance(value, list) else id


def call(caller, name="describe", params=None, timeout=1, agent="pull"):
    return caller.post(f"/v1/agents/{agent}/call", {"name": name, "params": params, "timeout": timeout})


@cases(["get_state", "update_state", "bulk_update_state"])
def what_reaches_a_threads_state_is_not_called(name):
    with Locked() as s:
        for caller in (s.caller("client"), s.admin):
            a = call(caller, name, {"thread": "t"})
            equal(a.status, 403)
            contains(a.detail, "/threads/{thread}/state")


@cases(NAMED)
def a_call_names_only_what_its_caller_reaches(what):
    with Locked() as s:
        owner, other, worker = s.caller("client"), s.caller("client"), s.caller("worker")
        if "thread" in what or what == "checkpoint":
            id = "11111111-1111-4111-8111-111111111111"
            equal(owner.post("/threads", {"thread_id": id}).status, 200)
        else:
            id = "others-job"
            owner.submit(job_id=id)
            owner.post(f"/v1/jobs/{id}/cancel")
        absent = id[:-3] + "zzz"
        a = call(other, params=fill(NAMED[what], id))
        equal(a.status, 404, repr(a))
        same_but_for(a, call(other, params=fill(NAMED[what], absent)), {absent: id})
        for mine in (owner, s.admin):
            order, a = at_once(lambda: answer(worker), lambda: call(mine, params=fill(NAMED[what], id), timeout=30))
            equal((order["call"]["params"], a.status), (fill(NAMED[what], id), 200))


def answer(worker):
    order = Worker(worker).ask(wait=30, calls=True).json
    equal(worker.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": 1}).status, 200)
    return order


@case
def a_call_is_answered_by_who_has_it():
    with Locked(agents={"pull": PULL, "ax": PULL}) as s:
        client, crew = s.caller("client"), s.caller("worker", "--owner", "crew")
        others = s.caller("worker"), s.caller("worker", "--owner", "crew", "--agents", "ax")

        def serve():
            id = Worker(crew).ask(wait=30, calls=True).json["call"]["id"]
            absent = "0" * len(id)
            for other in others:
                for method, path, body in (
                        ("POST", "/v1/worker/calls/%s", {"answer": "forged"}),
                        ("POST", "/v1/worker/threads/t/writes?call=%s", {"id": "1", "task": "t", "writes": []})):
                    a = other.request(method, path % id, body)
                    check(a.status in (404, 409), repr(a))
                    same_but_for(a, other.request(method, path % absent, body), {absent: id})
            equal(crew.post(f"/v1/worker/calls/{id}", {"answer": "right"}).status, 200)
        _, a = at_once(serve, lambda: call(client, timeout=30))
        equal((a.status, a.json), (200, {"answer": "right"}))
