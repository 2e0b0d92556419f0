"""What the runner sends is what recordings of real runs hold."""

import json

import graphs
from harness import recording
from support import run

from spoolwire import GraphAgent, GraphSource
from spoolwire.job import Job, Assignment


class Paper:
    """A transport that keeps what it is given."""

    def __init__(self):
        self.lines = []

    async def put(self, event):
        self.lines.append(json.loads(event))

    def put_now(self, event):
        self.lines.append(json.loads(event))

    async def flush(self):
        pass


def lines_of(graph, stream, input=None, **assignment):
    paper = Paper()

    async def main():
        job = Job(Assignment.read({"job": "j", "attempt": 1, "agent": "a", "input": input, **assignment}), paper, None)
        return await GraphAgent(GraphSource(graph), stream=stream).work(job)

    run(main())
    return paper.lines


def recorded(name):
    with open(recording(name)) as f:
        return [json.loads(line) for line in f]


def shapes(lines):
    """The members of each kind of line, and of the message and metadata of tokens."""
    found = {}
    for line in lines:
        found.setdefault(("line", line["mode"]), set()).add(frozenset(line))
        if line["mode"] == "messages":
            message, metadata = line["payload"]
            if message["type"] == "AIMessageChunk":
                found.setdefault("chunk", set()).add(frozenset(message))
            found.setdefault("metadata", set()).add(frozenset(k for k in metadata if k.startswith("langgraph_")))
    return found


def test_parts_have_the_form_of_recorded_ones():
    ours = shapes(lines_of(graphs.graph, "modes", {"messages": [("human", "hi")]}))
    theirs = shapes(recorded("py-g-send-fanout-modes.server.ndjson"))
    for kind in set(ours) & set(theirs):
        assert ours[kind] == theirs[kind], kind
    assert {("line", "values"), ("line", "updates"), ("line", "messages"), "chunk", "metadata"} <= set(ours) & set(theirs)


def test_events_have_the_form_of_recorded_ones():
    def of(lines):
        return {line["event"]: set(line) for line in lines}

    ours = of(lines_of(graphs.graph, "events", {"messages": [("human", "hi")]}))
    theirs = of(recorded("py-a-supervisor-1-until-interrupt.server.ndjson"))
    for event in set(ours) & set(theirs):
        assert ours[event] == theirs[event], event
    assert {"on_chain_start", "on_chat_model_stream", "on_tool_start", "on_tool_end"} <= set(ours) & set(theirs)


def test_tokens_come_once():
    lines = lines_of(graphs.graph, "events", {"messages": [("human", "hi")]})
    chunks = [line["data"]["chunk"]["content"] for line in lines if line["event"] == "on_chat_model_stream"]
    assert "".join(chunks) == graphs.ANSWER
    assert "messages" not in {line["data"]["chunk"][1] for line in lines
                              if line["event"] == "on_chain_stream" and not line["parent_ids"]}


def test_a_run_of_langgraphs_api_sends_modes_and_what_else_was_asked_for():
    run_ = {"run_id": "r", "stream_mode": ["debug", "messages-tuple"]}
    modes = {line["mode"] for line in lines_of(graphs.graph, "events", {"messages": []}, run=run_, thread="t")}
    assert modes == {"values", "updates", "messages", "custom", "tasks", "checkpoints", "debug", "tools"}


def test_a_chain_is_no_graph_and_runs():
    lines = lines_of(graphs.model(), "events", "hi")
    assert [line["event"] for line in lines][0] == "on_chat_model_start"
