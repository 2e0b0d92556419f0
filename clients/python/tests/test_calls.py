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
    with working(server, {"graph": graphs.graph}):
        job = server.submit("graph", {"messages": [], "ask": True})
        server.until_state(job, "waiting", "failed")
        state = ask(server, "get_state", {"thread": job})
        assert state["next"] == ["ask"]
        assert state["tasks"][0]["interrupts"][0]["value"]["question"] == "Which environment?"
        server.post(f"/v1/jobs/{job}/cancel")
