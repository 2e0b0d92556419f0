"""Every kind of export that LangChain's documentation shows: runs, drawings and schemas."""

import os

import exports
import pytest
from support import text_of, working

SAYS = {"messages": [{"role": "user", "content": "hello"}]}
HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHS = {
    "compiled": "compiled",
    "configured": "configured",
    "builder": "builder",
    "makes": "makes",
    "makes_later": "makes_later",
    "makes_for": "for red made",
    "makes_with": "with threads.create_run",
    "makes_for_with": "both red threads.create_run",
    "opens": "opens",
    "opens_for": "opens for red",
    "maker": "maker",
}


def wait(server, given, **more):
    answer = server.post("/runs/wait", {"assistant_id": "made", "input": given, **more})
    assert answer.status == 200, answer
    return answer.json


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_runs_is_drawn_and_has_schemas(server, name):
    with working(server, {"made": f"{HERE}/exports.py:{name}"}):
        said = wait(server, {"said": []}, config={"configurable": {"colour": "red"}})
        assert said == {"said": [GRAPHS[name]]}
        drawn = server.get("/assistants/made/graph").json
        assert [n["id"] for n in drawn["nodes"]] == ["__start__", "say", "__end__"]
        schemas = server.get("/assistants/made/schemas").json
        assert schemas["graph_id"] == "made"
        for part in ("input_schema", "output_schema", "state_schema"):
            assert list(schemas[part]["properties"]) == ["said"], part


def test_a_graph_is_drawn_as_its_assistant_has_it(server):
    with working(server, {"made": f"{HERE}/exports.py:makes_node"}):
        made = server.post("/assistants", {"graph_id": "made", "config": {"configurable": {"node": "other"}}}).json
        for assistant, node in (("made", "none"), (made["assistant_id"], "other")):
            drawn = server.get(f"/assistants/{assistant}/graph").json
            assert [n["id"] for n in drawn["nodes"]] == ["__start__", node, "__end__"]


@pytest.mark.parametrize("name", ["agent", "deep", "makes_agent"])
def test_an_agent_runs_is_drawn_and_has_schemas(server, name):
    with working(server, {"made": f"{HERE}/exports.py:{name}"}):
        thread = server.post("/threads", {}).json["thread_id"]
        said = server.post(f"/threads/{thread}/runs/wait", {"assistant_id": "made", "input": SAYS}).json
        assert [m["type"] for m in said["messages"]] == ["human", "ai"], said
        state = server.get(f"/threads/{thread}/state").json
        assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai"]
        assert "model" in [n["id"] for n in server.get("/assistants/made/graph").json["nodes"]]
        assert "messages" in server.get("/assistants/made/schemas").json["state_schema"]["properties"]


def test_a_function_of_the_functional_api_runs_remembers_and_asks(server):
    with working(server, {"made": f"{HERE}/exports.py:functional"}):
        thread = server.post("/threads", {}).json["thread_id"]

        def run(**more):
            return server.post(f"/threads/{thread}/runs/wait", {"assistant_id": "made", **more}).json

        assert run(input={"n": 2}) == {"now": 4, "sure": "yes"}
        assert run(input={"n": 3}) == {"now": 10, "sure": "yes"}
        assert run(input={"n": 200})["__interrupt__"][0]["value"] == {"question": "That much?"}
        assert run(command={"resume": "sure"}) == {"now": 410, "sure": "sure"}
        assert server.get("/assistants/made/graph").json["nodes"]
        assert server.get("/assistants/made/schemas").json["graph_id"] == "made"


@pytest.mark.parametrize("name", ["lambda_", "makes_lambda"])
def test_a_runnable_that_is_no_graph_runs(server, name):
    with working(server, {"made": f"{HERE}/exports.py:{name}"}):
        assert wait(server, {"n": 4}) == {"tripled": 12}
        ended = server.until_state(server.submit("made", {"n": 5}), "succeeded", "failed")
        assert ended["output"] == {"tripled": 15}
        assert server.get("/assistants/made/graph").json["nodes"]
        assert server.get("/assistants/made/schemas").json["graph_id"] == "made"
        assert server.get("/assistants/made/subgraphs").json == {}


def test_tokens_of_a_chain_come_one_by_one(server):
    with working(server, {"made": exports.chain}):
        job = server.submit("made", {"text": "hello"})
        server.until_state(job, "succeeded", "failed")
        frames = server.read(job, "messages", modes="messages")
        said = [f.json[0]["content"] for f in frames if f.event == "messages"]
    assert "".join(said) == "one two" and len(said) > 1
    assert text_of(server, job) == ""  # a chain has no node that says it
