"""Assistants: one for every agent; what its graph looks like is asked of a worker."""

import sys

sys.path.append(__file__.rpartition("/tests/")[0] + "/tests/auth")

from callers import Locked  # noqa: E402
from gateway import PULL, Server, Worker, at_once  # noqa: E402
from harness import case, check, contains, equal  # noqa: E402

AGENT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"  # as LangGraph's own server has it
AGENTS = {"agent": {**PULL, "description": "answers"}, "other": PULL, "process": {"command": ["true"]}}
FLAGS = ["--demo=false"]


def search(s, want=200, **body):
    a = s.post("/assistants/search", body)
    equal(a.status, want, repr(a))
    return a.json


def names(s, **body):
    return [a["name"] for a in search(s, **body)]


@case
def every_agent_has_one():
    with Server(*FLAGS, agents=AGENTS) as s:
        one = s.get(f"/assistants/{AGENT}").json
        equal(s.get("/assistants/agent").json, one)
        check(one["created_at"] == one["updated_at"] and one["created_at"].endswith("Z"), one)
        equal({k: v for k, v in one.items() if not k.endswith("_at")},
              {"assistant_id": AGENT, "graph_id": "agent", "config": {}, "context": {}, "metadata": {"created_by": "system"},
               "version": 1, "name": "agent", "description": "answers"})
        a = s.get("/assistants/none")
        equal(a.status, 404)
        contains(a.detail, "No assistant found for")


@case
def they_are_searched_and_counted():
    with Server(*FLAGS, agents=AGENTS) as s:
        equal(set(names(s)), {"agent", "other", "process"})
        equal(names(s, graph_id="other"), ["other"])
        equal(names(s, name="AGE"), ["agent"])
        equal(len(names(s, metadata={"created_by": "system"})), 3)
        equal(names(s, metadata={"created_by": "me"}), [])
        equal(search(s, graph_id="agent", select=["assistant_id", "version"]), [{"assistant_id": AGENT, "version": 1}])
        first = s.post("/assistants/search", {"limit": 2})
        equal((len(first.json), first.headers["x-pagination-total"], first.headers["x-pagination-next"]), (2, "3", "2"))
        rest = s.post("/assistants/search", {"limit": 2, "offset": 2})
        equal((len(rest.json), "x-pagination-next" in rest.headers), (1, False))
        equal(s.post("/assistants/count", {"graph_id": "agent"}).json, 1)
        equal(s.post("/assistants/count", {}).json, 3)
        search(s, 422, limit=0)
        search(s, 422, offset=-1)


@case
def a_worker_knows_what_its_graph_looks_like():
    def serve(s, answer):
        order = Worker(s, "agent").ask(wait=20, calls=True).json
        s.post(f"/v1/worker/calls/{order['call']['id']}", answer)
        return order["call"]["name"], order["call"]["params"]

    with Server(*FLAGS, agents=AGENTS) as s:
        for path, want in (("graph", ("graph", {"xray": False})), ("graph?xray=true", ("graph", {"xray": True})),
                           ("graph?xray=2", ("graph", {"xray": 2})), ("schemas", ("schemas", {})),
                           ("subgraphs?recurse=true", ("subgraphs", {"namespace": None, "recurse": True})),
                           ("subgraphs/a%3Ab", ("subgraphs", {"namespace": "a:b", "recurse": False}))):
            asked, a = at_once(lambda: serve(s, {"answer": {"nodes": [1.0]}}), lambda: s.get(f"/assistants/{AGENT}/{path}", seconds=60))
            equal((asked, a.status, a.json), (want, 200, {"nodes": [1.0]}), path)
        _, a = at_once(lambda: serve(s, {"error": "no schema"}), lambda: s.get("/assistants/agent/schemas", seconds=60))
        equal(a.status, 400, "not 5xx, which a client would send again")
        contains(a.detail, "no schema")
        a = s.get("/assistants/process/graph")
        equal(a.status, 400, repr(a))
        equal(s.get("/assistants/none/graph").status, 404)


@case
def a_token_sees_the_agents_that_it_may_use():
    with Locked(*FLAGS, agents=AGENTS) as s:
        limited = s.caller("client", "--agents", "agent")
        equal(names(limited), ["agent"])
        equal(limited.get("/assistants/other/graph").status, 403)


@case
def the_server_says_what_it_is():
    with Locked(agents=AGENTS) as s:
        equal((s.stranger().get("/ok").status, s.stranger().get("/ok").json), (200, {"ok": True}))
        equal(s.stranger().get("/info").status, 401)
        info = s.caller("read").get("/info").json
        equal((info["flags"]["assistants"], info["flags"]["crons"]), (True, False))
        check(info["version"])
