"""Calls to processes of a pool, and where they find their server."""

import os
import sys

from gateway import Server, WAIT
from harness import case, check, contains, equal

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pool_worker.py")


def pool(*flags, **more):
    return {"command": [sys.executable, WORKER, *flags], "pool": {"size": 2, "warm": 0, **more}}


def ask(s, name="echo", params=None, seconds=20, **more):
    return s.post("/v1/agents/p/call", {"name": name, "params": params, "timeout": seconds}, seconds=WAIT + seconds, **more)


@case
def a_question_starts_a_process_and_is_answered():
    with Server(agents={"p": pool()}) as s:
        a = ask(s, params={"deep": [1.0, "ä\n"]})
        equal((a.status, a.json["answer"]["params"], a.json["answer"]["agent"]), (200, {"deep": [1.0, "ä\n"]}, "p"), repr(a))
        equal(ask(s).json["answer"]["pid"], a.json["answer"]["pid"], "the same process")
        equal(s.get("/v1/jobs").json["jobs"], [])


@case
def a_process_that_is_full_of_jobs_takes_calls():
    with Server(agents={"p": pool(size=1)}) as s:
        id = s.submit("p", "wait")
        s.until_state(id, "running")
        equal(ask(s).status, 200)
        s.post(f"/v1/jobs/{id}/cancel")
        s.until_state(id, "cancelled")


@case
def an_error_is_502_and_a_second_answer_is_refused():
    with Server(agents={"p": pool()}) as s:
        a = ask(s, "fail")
        equal(a.status, 502)
        contains(a.detail, "no such")
        equal(ask(s, "twice").json, {"answer": 1})
        equal(ask(s).status, 200, "it goes on")
        contains(s.err(), "it was not asked this call")


@case
def a_process_that_dies_leaves_its_call_to_the_next():
    with Server(agents={"p": pool(backoff="1s")}) as s:
        equal(ask(s, "die").json, {"answer": "here"})


@case
def a_process_that_says_nothing_is_504_and_one_that_takes_no_calls_503():
    with Server(agents={"p": pool()}) as s:
        equal(ask(s).status, 200)  # the process is there
        equal(ask(s, "nothing", seconds=1).status, 504)
    with Server(agents={"p": pool("--no-calls")}) as s:
        equal(ask(s, seconds=1).status, 503)


@case
def a_process_knows_where_its_server_is():
    with Server(agents={"p": pool()}) as s:
        env = ask(s, "environment", ["SPOOLWIRE_URL", "SPOOLWIRE_TOKEN"]).json["answer"]
        equal(env["SPOOLWIRE_URL"], s.url)
        equal(s.post("/v1/worker/lease", {"agents": ["p"]}).status, 204, "nothing is locked by it")
        made = s.post("/v1/tokens", {"scope": "admin"})  # which locks the door
        equal(made.status, 201)
        admin = {"Authorization": f"Bearer {made.json['token']}"}
        own = {"Authorization": f"Bearer {env['SPOOLWIRE_TOKEN']}"}
        equal(s.post("/v1/worker/lease", {"agents": ["p"]}).status, 401)
        equal(s.post("/v1/worker/lease", {"agents": ["p"]}, headers=own).status, 403, "jobs are given to it")
        equal(s.get("/v1/jobs", headers=own).status, 403)
        equal([t["id"] for t in s.get("/v1/tokens", headers=admin).json["tokens"]], [made.json["id"]], "it is not listed")
        equal(s.request("DELETE", f"/v1/tokens/{env['SPOOLWIRE_TOKEN'][4:16]}", headers=admin).status, 404)
        check(env["SPOOLWIRE_TOKEN"] not in s.err())


@case
def an_agents_own_environment_wins():
    with Server(agents={"p": {**pool(), "env": {"SPOOLWIRE_URL": "http://elsewhere"}}}) as s:
        equal(ask(s, "environment", ["SPOOLWIRE_URL"]).json["answer"], {"SPOOLWIRE_URL": "http://elsewhere"})
