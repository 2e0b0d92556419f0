"""Assistants: one for every agent; what its graph looks like is asked of a worker."""

import sys


from callers import Locked  # noqa: E402
from gateway import PULL, Server, Worker, at_once, until  # noqa: E402
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
        equal(a.detail, "Assistant not found")
        for action, body in ("versions", {}), ("latest", {"version": 1}):
            a = s.post(f"/assistants/none/{action}", body)
            equal((a.status, a.detail), (404, "Assistant not found"))
        equal(len(s.post(f"/assistants/{AGENT}/versions", {}).json), 1)


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
        for order in (dict(sort_by="name", sort_order="asc"), dict(sort_by="graph_id", sort_order="asc"), dict(sortBy="name", sortOrder="asc")):
            equal(names(s, **order), ["agent", "other", "process"])
        equal(names(s, sort_by="name"), ["process", "other", "agent"], "the last first, as threads")
        equal(names(s, sort_by="name", sort_order="asc", limit=1, offset=1), ["other"])
        ids = [a["assistant_id"] for a in search(s, sort_by="assistant_id", sort_order="asc")]
        equal(ids, sorted(ids))
        for body, word in ((dict(sort_by="age"), "updated_at"), (dict(sort_order="up"), "asc or desc"), (dict(sort_by=5), "graph_id")):
            contains(s.post("/assistants/search", body).detail, word)
            search(s, 422, **body)
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
            want = (want[0], {"graph_id": "agent", "config": {}, **want[1]})
            equal((asked, a.status, a.json), (want, 200, {"nodes": [1.0]}), path)
        _, a = at_once(lambda: serve(s, {"error": "no schema"}), lambda: s.get("/assistants/agent/schemas", seconds=60))
        equal(a.status, 400, "not 5xx, which a client would send again")
        contains(a.detail, "no schema")
        a = s.get("/assistants/process/graph")
        equal(a.status, 400, repr(a))
        equal(s.get("/assistants/none/graph").status, 404)


@case
def an_assistant_has_an_agent_card():
    schemas = {"input_schema": {"required": ["messages"], "properties": {"messages": {}, "about": {}}}}
    modes = ["application/json", "text/plain"]

    def serve(s):
        order = Worker(s, "agent").ask(wait=20, calls=True).json
        s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": schemas})
        return order["call"]["name"]

    def card(s, path):
        asked, a = at_once(lambda: serve(s), lambda: s.get(path, seconds=60))
        equal((asked, a.status), ("schemas", 200), repr(a))
        return a.json

    with Server(*FLAGS, agents=AGENTS) as s:
        url = f"{s.url}/a2a/{AGENT}"
        want = {"name": "agent", "description": "answers", "url": url,
                "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
                "capabilities": {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False, "extensions": []},
                "defaultInputModes": modes, "defaultOutputModes": modes,
                "skills": [{"id": f"{AGENT}-main", "name": "agent Capabilities", "description": "answers", "tags": ["assistant", "langgraph"],
                            "examples": [], "inputModes": modes, "outputModes": modes, "metadata": {"inputSchema": {
                                "required": ["messages"], "properties": ["about", "messages"], "supportsA2A": True}}}],
                "version": s.get("/info").json["version"]}
        for path in (f"/.well-known/agent-card.json?assistant_id={AGENT}", "/.well-known/agent.json?assistant_id=agent", "/a2a/agent",
                     f"/a2a/{AGENT}/.well-known/agent-card.json", "/a2a/agent/.well-known/agent.json"):
            equal(card(s, path), want, path)
        mine = make(s, name="mine", metadata={"a2a": {"input_modes": ["image/png"]}})["assistant_id"]
        own = card(s, f"/a2a/{mine}")
        equal((own["name"], own["description"], own["defaultInputModes"], own["defaultOutputModes"]), ("mine", "mine assistant", ["image/png"], modes))
        for a2a in ("text", {"input_modes": []}, {"output_modes": [""]}):
            bad = make(s, metadata={"a2a": a2a})["assistant_id"]
            a = s.get(f"/a2a/{bad}")
            equal((a.status, a.json["error"]["code"]), (400, -32602), repr(a))
        a = s.get("/.well-known/agent-card.json")
        equal((a.status, a.json), (400, {"error": {"code": -32602, "message": "Missing required query parameter: assistant_id"}}))
        equal(s.get("/a2a/none").status, 404)
        alone = s.get("/a2a/process").json["skills"][0]["metadata"]["inputSchema"]
        equal(alone, {"required": [], "properties": [], "supportsA2A": False}, "nobody can be asked")
        a = s.post("/a2a/agent", {"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": {}})
        equal((a.status, a.json["id"], a.json["error"]["code"]), (200, 7, -32004), repr(a))
    with Server(*FLAGS, agents=AGENTS, env={"DEFAULT_A2A_ASSISTANT_ID": "agent"}) as s:
        equal(card(s, "/.well-known/agent-card.json")["name"], "agent")
        equal(s.get("/.well-known/agent-card.json?assistant_id=none").status, 404)
    with Server(*FLAGS, "--disabled-routes=a2a", agents=AGENTS) as s:
        for path in "/a2a/agent", "/.well-known/agent-card.json?assistant_id=agent", "/a2a/agent/.well-known/agent.json":
            equal(s.get(path).status, 404, path)


@case
def what_a_worker_has_said_counts_while_none_is_there():
    def serve(s, **answer):
        order = Worker(s, "agent").ask(wait=20, calls=True).json
        s.post(f"/v1/worker/calls/{order['call']['id']}", answer)

    def ask(s, path):
        until("a worker is there", lambda: s.get("/v1/workers").json["workers"])
        return s.get(f"/assistants/agent/{path}")

    def asked(s, path="graph", **answer):
        return at_once(lambda: serve(s, **answer), lambda: ask(s, path))[1]

    with Server(*FLAGS, agents=AGENTS) as s:
        for drawing in ("old", "new"):
            equal(asked(s, answer={"nodes": [drawing]}).json, {"nodes": [drawing]}, "who is there is asked")
        equal(asked(s, "schemas", answer={"graph_id": "agent"}).status, 200)
        mine = make(s)["assistant_id"]
        *again, schemas, plain = at_once(*(lambda id=id: s.get(f"/assistants/{id}/graph", seconds=60) for id in ("agent", AGENT, mine)),
                                         lambda: s.get("/assistants/agent/schemas", seconds=60),
                                         lambda: s.post("/v1/agents/agent/call", {"name": "graph", "params": {"xray": False}, "timeout": 3}))
        equal([(a.status, a.json) for a in again], [(200, {"nodes": ["new"]})] * 3)
        equal((schemas.status, schemas.json), (200, {"graph_id": "agent"}))
        equal(plain.status, 503, "a call of the job API is always new")
        equal(asked(s, error="it is broken now").status, 400)
        other = asked(s, "graph?xray=true", answer={"nodes": []})
        equal((other.status, other.json), (200, {"nodes": []}), "another question")


@case
def a_question_whose_worker_is_silent_goes_to_the_next():
    def serve(s):
        lost, call = (Worker(s, "agent").ask(wait=60, calls=True).json["call"] for _ in range(2))
        equal(call, lost)
        return s.post(f"/v1/worker/calls/{call['id']}", {"answer": {"nodes": []}}).status

    with Server(*FLAGS, agents=AGENTS) as s:
        given, a = at_once(lambda: serve(s), lambda: s.get("/assistants/agent/graph"))
        equal((given, a.status, a.json), (200, 200, {"nodes": []}))


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
        info = s.stranger().get("/info").json
        equal((info["flags"]["assistants"], info["flags"]["crons"]), (True, True))
        check(info["version"])


def make(s, want=200, **body):
    a = s.post("/assistants", {"graph_id": "agent", **body})
    equal(a.status, want, repr(a))
    return a.json


@case
def an_assistant_is_made_changed_and_deleted():
    with Server(*FLAGS, agents=AGENTS) as s:
        one = make(s, name="mine", config={"configurable": {"n": 1.0}}, metadata={"a": 1}, description="d")
        path = f"/assistants/{one['assistant_id']}"
        equal((one["version"], one["graph_id"], one["name"], one["config"], one["context"], one["metadata"], one["description"]),
              (1, "agent", "mine", {"configurable": {"n": 1.0}}, {"n": 1.0}, {"a": 1}, "d"))
        equal(s.get(path).json, one)
        two = s.request("PATCH", path, {"config": {"configurable": {"n": 2}}, "metadata": {"b": 2}}).json
        equal((two["version"], two["name"], two["config"], two["metadata"], two["created_at"]),
              (2, "mine", {"configurable": {"n": 2}}, {"a": 1, "b": 2}, one["created_at"]))
        equal([v["version"] for v in s.post(path + "/versions", {}).json], [2, 1])
        equal(s.post(path + "/latest", {"version": 1}).json, one)
        equal(s.request("PATCH", path, {"name": "third"}).json["version"], 3)
        s.restart(s.kill)
        third = s.get(path).json
        equal((third["version"], third["name"], third["config"]), (3, "third", {"configurable": {"n": 1.0}}))
        equal(names(s)[0], "third", "the last made first")
        equal(names(s, metadata={"a": 1}), ["third"])
        make(s, assistant_id="young", name="young")
        s.request("PATCH", path, {"description": "now"})
        own = {"metadata": {}, "graph_id": "agent", "name": "", "sort_order": "asc"}
        both = lambda by: [n for n in names(s, **own, sort_by=by) if n != "agent"]  # noqa: E731
        equal((both("created_at"), both("updated_at")), (["third", "young"], ["young", "third"]))
        equal(s.request("DELETE", "/assistants/young").status, 204)
        equal(s.post("/assistants/count", {"graph_id": "agent"}).json, 2)
        equal(s.post(path + "/latest", {"version": 9}).status, 404)
        equal(s.request("DELETE", path).status, 204)
        for a in (s.get(path), s.request("DELETE", path), s.request("PATCH", path, {}), s.post(path + "/latest", {"version": 1})):
            equal(a.status, 404, repr(a))


@case
def ids_are_taken_once():
    with Server(*FLAGS, agents=AGENTS) as s:
        one = make(s, assistant_id="mine", name="first")
        make(s, 409, assistant_id="mine")
        make(s, 409, assistant_id=AGENT)
        equal(make(s, assistant_id="mine", if_exists="do_nothing", name="second"), one)
        for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/latest")):
            equal(s.request(method, f"/assistants/{AGENT}{path}", {"version": 1}).status, 409)
        equal(len(s.post(f"/assistants/{AGENT}/versions", {}).json), 1)
        for body in ({"graph_id": None}, {"config": 1}, {"metadata": []}, {"assistant_id": "a b"}, {"name": "x" * 201}):
            make(s, 422, **body)
        make(s, 404, graph_id="none")


@case
def a_run_has_what_its_assistant_has():
    with Server(*FLAGS, agents=AGENTS) as s:
        a = make(s, config={"tags": ["t"], "configurable": {"model": "small", "n": 1}}, metadata={"team": "red"})
        t = s.post("/threads", {}).json["thread_id"]
        run = s.post(f"/threads/{t}/runs", {"assistant_id": a["assistant_id"], "input": {},
                                            "config": {"recursion_limit": 5, "configurable": {"n": 2}}, "metadata": {"mine": 1}})
        equal((run.status, run.json["assistant_id"]), (200, a["assistant_id"]), repr(run))
        order = Worker(s, "agent").lease().order["run"]
        config = order["config"]
        equal((config["tags"], config["recursion_limit"], config["configurable"]["model"], config["configurable"]["n"],
               config["configurable"]["assistant_id"], config["configurable"]["graph_id"], order["context"]),
              (["t"], 5, "small", 2, a["assistant_id"], "agent", {"model": "small", "n": 2}))
        equal((run.json["metadata"]["team"], run.json["metadata"]["mine"], run.json["metadata"]["graph_id"]), ("red", 1, "agent"))
        for path in ("runs", "runs/stream", "runs/wait"):
            equal(s.post(f"/threads/{t}/{path}", {"assistant_id": "none", "input": {}}).status, 404, path)


@case
def context_and_configurable_are_the_same():
    both = {"config": {"configurable": {"a": 1}}, "context": {"b": 2}}
    with Server(*FLAGS, agents=AGENTS) as s:
        one = make(s, config={"tags": ["t"], "configurable": {"a": 1}})
        equal((one["config"], one["context"]), ({"tags": ["t"], "configurable": {"a": 1}}, {"a": 1}))
        one = s.request("PATCH", f"/assistants/{one['assistant_id']}", {"context": {"b": 2}}).json
        equal((one["config"], one["context"]), ({"configurable": {"b": 2}}, {"b": 2}))
        two = make(s, config={"tags": ["t"], "configurable": {}}, context={"b": 2})
        equal((two["config"], two["context"]), ({"tags": ["t"], "configurable": {"b": 2}}, {"b": 2}))
        run = s.post("/runs", {"assistant_id": two["assistant_id"], "input": {}, "context": {"c": 3}, "config": {"tags": ["u"]}})
        order = Worker(s, "agent").lease().order["run"]
        found = {k: v for k, v in order["config"]["configurable"].items() if k in "abc"}
        equal((run.status, order["context"], found, order["config"]["tags"]), (200, {"b": 2, "c": 3}, {"b": 2, "c": 3}, ["u"]))
        make(s, 400, **both)
        refused = [s.request("PATCH", f"/assistants/{one['assistant_id']}", both)]
        refused += [s.post(path, {"assistant_id": "agent", "input": {}, **both}) for path in ("/runs", "/runs/stream", "/runs/wait")]
        refused.append(s.post("/runs/batch", [{"assistant_id": "agent", "input": {}, **both}]))
        equal([a.status for a in refused], [400] * 5)
        check("configurable and context" in refused[0].json["detail"], repr(refused[0]))


@case
def several_runs_at_once_may_have_different_assistants():
    with Server(*FLAGS, agents=AGENTS) as s:
        mine = make(s, config={"configurable": {"model": "small"}})["assistant_id"]
        a = s.post("/runs/batch", [{"assistant_id": mine, "input": {"n": 0}}, {"assistant_id": "agent", "input": {"n": 1}},
                                   {"assistantId": mine, "input": {"n": 2}}])
        equal((a.status, [r["assistant_id"] for r in a.json]), (200, [mine, AGENT, mine]), repr(a))
        orders = [Worker(s, "agent").lease().order for _ in range(3)]
        equal([(o["input"]["n"], o["run"]["config"]["configurable"].get("model")) for o in orders], [(0, "small"), (1, None), (2, "small")])
        for bad, status in (({"assistant_id": "none"}, 404), ({}, 422), ({"assistant_id": "agent", "on_disconnect": "x"}, 422)):
            equal(s.post("/runs/batch", [bad, {"assistant_id": mine}]).status, status)
        equal(s.post("/runs/batch", [{"assistant_id": mine}, {"assistant_id": "none"}]).status, 404)
        equal(len(s.get("/v1/jobs").json["jobs"]), 3, "none of them was made")


@case
def an_assistant_may_go_with_its_threads():
    with Locked(*FLAGS, agents=AGENTS) as s:
        ann, bob = s.caller("client"), s.caller("client")
        kept, gone = (make(ann, assistant_id=id)["assistant_id"] for id in ("kept", "gone"))

        def thread(of, *assistants):
            t = of.post("/threads", {"metadata": {"mine": 1}}).json["thread_id"]
            for a in assistants:
                equal(of.post(f"/threads/{t}/runs", {"assistant_id": a, "input": {}}).status, 200)
            return t
        stay = {thread(ann), thread(ann, kept), thread(ann, gone, kept), thread(ann, "agent")}
        for _ in range(3):
            thread(ann, kept, gone)
        foreign = bob.post("/threads", {"metadata": {"assistant_id": "gone"}}).json["thread_id"]
        equal(bob.request("DELETE", "/assistants/gone?delete_threads=true").status, 404)
        equal(ann.request("DELETE", f"/assistants/{AGENT}?delete_threads=true").status, 409)
        equal(len(ann.post("/threads/search", {}).json), 7)
        equal(ann.request("DELETE", "/assistants/gone?delete_threads=true").status, 204)
        equal({t["thread_id"] for t in ann.post("/threads/search", {}).json}, stay)
        equal((ann.get("/assistants/gone").status, bob.get(f"/threads/{foreign}").status), (404, 200))
        equal(ann.request("DELETE", "/assistants/kept?delete_threads=false").status, 204)
        equal(len(ann.post("/threads/search", {}).json), 4)


@case
def assistants_are_their_owners():
    with Locked(*FLAGS, agents=AGENTS) as s:
        ann, bob = s.caller("client"), s.caller("client")
        mine = make(ann, assistant_id="mine")
        equal((len(names(ann)), len(names(bob)), len(names(s.admin))), (4, 3, 4))
        t = bob.post("/threads", {}).json["thread_id"]
        for a in (bob.get("/assistants/mine"), bob.request("PATCH", "/assistants/mine", {}), bob.request("DELETE", "/assistants/mine"),
                  bob.post("/assistants/mine/latest", {"version": 1}), bob.get("/assistants/mine/graph"),
                  bob.post(f"/threads/{t}/runs", {"assistant_id": "mine", "input": {}})):
            equal(a.status, 404, repr(a))
        equal(bob.post("/assistants/mine/versions", {}).status, 404)
        make(bob, 409, assistant_id="mine")
        make(bob, 404, assistant_id="mine", if_exists="do_nothing")
        equal(ann.get("/assistants/mine").json, mine)
        equal(s.caller("read").post("/assistants", {"graph_id": "agent"}).status, 403)
        make(s.caller("client", "--agents", "other"), 403)
