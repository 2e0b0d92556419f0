"""Questions about a graph."""

import graphs
from support import working


def ask(server, name, params=None, agent="graph"):
    a = server.post(f"/v1/agents/{agent}/call", {"name": name, "params": params or {}, "timeout": 60})
    assert a.status == 200, a
    return a.json["answer"]


def test_its_picture_and_its_schemas(server):
    with working(server, {"graph": graphs.outer}):
        drawn = ask(server, "graph")
        assert {n["id"] for n in drawn["nodes"]} == {"__start__", "inner", "__end__"}
        assert {"source": "__start__", "target": "inner"} in [
            {k: e[k] for k in ("source", "target")} for e in drawn["edges"]]
        assert any("think" in n["id"] for n in ask(server, "graph", {"xray": True})["nodes"])
        schemas = ask(server, "schemas", {"graph_id": "graph"})
        assert schemas["graph_id"] == "graph"
        for name in ("input_schema", "output_schema", "state_schema"):
            assert "log" in schemas[name]["properties"]
        assert set(ask(server, "subgraphs")) == {"inner"}
        assert ask(server, "subgraphs", {"namespace": "none"}) == {}


def test_an_unknown_call_is_an_error(server):
    with working(server, {"graph": graphs.outer}):
        a = server.post("/v1/agents/graph/call", {"name": "dance", "params": {}})
        assert a.status == 502 and "there is no call 'dance'" in a.detail


def test_a_state_is_read(server):
    """With its subgraphs a state is asked of a worker; the others are stored."""
    with working(server, {"graph": graphs.graph}):
        thread = server.post("/threads", {}).json["thread_id"]
        order = {"assistant_id": "graph", "input": {"messages": [], "ask": True}}
        assert server.post(f"/threads/{thread}/runs/wait", order).status == 200
        state = server.get(f"/threads/{thread}/state?subgraphs=true").json
        assert state["next"] == ["ask"]
        assert state["tasks"][0]["interrupts"][0]["value"]["question"] == "Which environment?"
        a = server.post("/v1/agents/graph/call", {"name": "get_state", "params": {"thread": thread}})
        assert a.status == 403 and "/threads/{thread}/state" in a.detail
