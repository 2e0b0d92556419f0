"""A chain's callbacks as a job's events."""

import json

import graphs
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from support import text_of, working

from spoolwire import SpoolwireCallback

chain = (ChatPromptTemplate.from_template("say {x}") | graphs.model()).with_config(run_name="answer")


def test_a_chain_is_shown(server):
    async def handler(job):
        answer = await chain.ainvoke({"x": "hi"}, {"callbacks": [SpoolwireCallback(job)]})
        return answer.content

    with working(server, {"pull": handler}):
        job = server.submit("pull")
        assert server.until_state(job, "succeeded", "failed")["output"] == graphs.ANSWER
    raw = [f.json for f in server.read(job, "raw")]
    (start,) = [r for r in raw if r["kind"] == "run.start" and r.get("name") == "answer"]
    assert [r["kind"] for r in raw if r["kind"].startswith("llm.")][-1] == "llm.end"
    assert "".join(r["text"] for r in raw if r["kind"] == "llm.delta") == graphs.ANSWER


def test_a_graph_run_in_other_threads_is_shown_in_order(server):
    """Not only coroutines call back: sync nodes run in threads."""
    graph = graphs.line_of(graphs.write, graphs.nested).compile()

    async def handler(job):
        work = RunnableLambda(lambda x: graph.invoke(x))
        return (await work.ainvoke({"log": []}, {"callbacks": [SpoolwireCallback(job)]}))["log"]

    with working(server, {"pull": handler}):
        job = server.submit("pull")
        assert server.until_state(job, "succeeded", "failed")["output"] == ["write", "nested"]
    frames = server.read(job, "nodes")
    assert [(f.event, f.json["node"]) for f in frames if f.event.startswith("node.")] == [
        ("node.start", "write"), ("node.end", "write"), ("node.start", "nested"), ("node.end", "nested")]


def test_an_error_has_its_type(server):
    def fail(x):
        raise KeyError("pool")

    async def handler(job):
        await RunnableLambda(fail).ainvoke(1, {"callbacks": [SpoolwireCallback(job)]})

    with working(server, {"pull": handler}):
        ended = server.until_state(server.submit("pull"), "failed")
    assert ended["error_type"] == "KeyError"


def test_without_a_job_lines_are_printed(capfdbinary):
    chain.invoke({"x": "hi"}, {"callbacks": [SpoolwireCallback()]})
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert lines[0]["method"] == "on_chain_start" and lines[-1]["method"] == "on_chain_end"
    assert {"on_chat_model_start", "on_llm_end"} <= {line["method"] for line in lines}


def test_text_is_attributed(server):
    async def handler(job):
        graph = graphs.line_of(graphs.think).compile()
        await graph.ainvoke({"messages": [("human", "hi")]}, {"callbacks": [SpoolwireCallback(job)]})

    with working(server, {"pull": handler}):
        job = server.submit("pull")
        server.until_state(job, "succeeded", "failed")
    assert text_of(server, job) == graphs.ANSWER
