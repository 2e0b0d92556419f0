"""Real graphs behind the real program: pull workers, interrupts, lost workers, lost servers."""

import asyncio
import os
import signal

import graphs
import pytest
from gateway import until
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.stream import StreamChannel, StreamTransformer
from support import kinds, noted, text_of, until_in, until_kept, worker_process, working

from spoolwire import GraphSource
from spoolwire.job import Job, Assignment
from spoolwire.runner import GraphAgent

ASK = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


@pytest.mark.parametrize("graph", [graphs.graph, graphs.builder, f"{os.path.dirname(graphs.__file__)}/graphs.py:make"],
                         ids=["graph", "builder", "file:function"])
def test_a_graph_runs(server, graph):
    with working(server, {"graph": graph}):
        job = server.submit("graph", ASK)
        ended = server.until_state(job, "succeeded", "failed")
    assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]
    assert text_of(server, job) == graphs.ANSWER
    frames = server.read(job, "agent")
    assert [f.json["node"] for f in frames if f.event == "graph.node_complete"] == \
        ["think", "slow", "ask", "write"]
    assert [f.json["tool_name"] for f in frames if f.event == "agent.tool_call"] == ["search"]


def test_a_question_waits_for_its_answer_and_another_worker_goes_on(server):
    with working(server, {"graph": graphs.graph}):
        job = server.submit("graph", {**ASK, "ask": True})
        server.until_state(job, "waiting", "failed")
    with working(server, {"graph": graphs.graph}):
        (question,) = server.get(f"/v1/interrupts?job={job}").json["interrupts"]
        assert question["value"]["question"] == "Which environment?"
        server.post(f"/v1/jobs/{job}/answer", {"value": "staging"})
        ended = server.until_state(job, "succeeded", "failed")
    assert ended["output"]["log"] == ["think found pool", "slow", "ask staging", "write"]
    assert text_of(server, job) == graphs.ANSWER  # nothing was done twice


def test_a_node_that_raises_fails_the_job(server):
    with working(server, {"graph": graphs.graph}):
        ended = server.until_state(server.submit("graph", {**ASK, "fail": True}), "failed")
    assert (ended["error"], ended["error_type"]) == ("no such pool: ☠", "ValueError")


def test_a_cancelled_job_stops_its_graph(server, gate):
    with working(server, {"quick": graphs.graph}):
        job = server.submit("quick", {**ASK, "gate": str(gate)})
        until_in(server, job, "slow")
        server.post(f"/v1/jobs/{job}/cancel")
        server.until_state(job, "cancelled")
        gate.touch()
    assert "write" not in [f.json.get("node") for f in server.read(job, "raw")]


def test_a_paused_job_stops_at_its_next_step(server, gate):
    with working(server, {"quick": graphs.graph}):
        job = server.submit("quick", {**ASK, "gate": str(gate)})
        until_in(server, job, "slow")
        server.post(f"/v1/jobs/{job}/pause")
        until_beat(server)
        gate.touch()
        server.until_state(job, "waiting")
        server.post(f"/v1/jobs/{job}/resume")
        ended = server.until_state(job, "succeeded", "failed")
    assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]


def test_a_job_that_is_paused_before_its_first_lease_starts(server):
    job = server.submit("quick", ASK)
    assert server.post(f"/v1/jobs/{job}/pause").json["state"] == "waiting"
    server.post(f"/v1/jobs/{job}/resume")
    with working(server, {"quick": graphs.graph}):
        ended = server.until_state(job, "succeeded", "failed")
    assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]


class Silent:
    """Takes what a job says, and keeps nothing."""

    async def put(self, event):
        pass

    def put_now(self, event):
        pass

    async def flush(self):
        pass


async def worked(agent, **said):
    assignment = Assignment.read({"agent": "quick", "job": "j", "attempt": 1, "input": ASK, **said})
    return await Job(assignment, Silent(), None).start(agent.work)


@pytest.mark.parametrize("attempt, resume", [(1, {}), (2, {}), (2, {"q": "an answer"})])
def test_an_order_to_go_on_with_what_was_never_begun_is_a_start(attempt, resume):
    agent = GraphAgent(GraphSource.of(graphs.graph))
    finish = asyncio.run(worked(agent, attempt=attempt, resume=resume))
    assert (finish.status, finish.error) == ("success", None)
    assert finish.output["log"] == ["think found pool", "slow", "ask", "write"]


def test_a_chain_that_is_told_to_go_on_starts():
    """It keeps no state, so there is nothing else that it could do."""
    chain = RunnableLambda(lambda given: f"{len(given['messages'])} message")
    assert asyncio.run(worked(GraphAgent(GraphSource.of(chain)), resume={})).output == "1 message"


def test_a_run_whose_state_was_changed_meanwhile_goes_on_from_the_change():
    async def main():
        saver = InMemorySaver()
        graph = graphs.builder.compile(checkpointer=saver, interrupt_before=["slow"])
        agent = GraphAgent(GraphSource.of(graph))
        assert (await worked(agent)).status == "interrupted"
        await graph.aupdate_state({"configurable": {"thread_id": "j"}}, {"log": ["changed"]})
        return await worked(agent, attempt=2, resume={})

    assert asyncio.run(main()).output["log"] == ["think found pool", "changed", "slow", "ask", "write"]


def until_beat(server):
    """The answers to beats carry the wish; a lease of a second is beaten every second."""
    before = server.err().count("/heartbeat")
    until("two beats", lambda: server.err().count("/heartbeat") >= before + 2)


def test_a_worker_that_is_killed_is_followed_by_one_that_goes_on(server, gate):
    """From the checkpoint: what was done is not done again."""
    before = len(noted("think"))
    with worker_process(server, "graph") as first:
        job = server.submit("graph", {**ASK, "gate": str(gate)})
        until("it is in its slow node", lambda: first.pid in noted("slow"))
        until_kept(server, job, 1)
        first.send_signal(signal.SIGKILL)
        first.wait()
    with working(server, {"graph": graphs.graph}):
        gate.touch()
        ended = server.until_state(job, "succeeded", "failed")
    assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]
    assert ended["attempt"] == 2
    assert len(noted("think")) == before + 1
    assert text_of(server, job) == graphs.ANSWER


def test_a_lost_worker_in_the_second_run_of_a_thread(server, gate):
    """Its successor goes on within that run, and does not begin it again."""
    gate.touch()
    thread = server.post("/threads", {}).json["thread_id"]
    with worker_process(server, "graph") as first:
        assignment = {"assistant_id": "graph", "input": {**ASK, "gate": str(gate)}}
        assert server.post(f"/threads/{thread}/runs/wait", assignment).status == 200
        gate.unlink()
        before = len(noted("think"))
        second = server.post(f"/threads/{thread}/runs", assignment).json["run_id"]
        until("the second run is in its slow node", lambda: noted("slow").count(first.pid) == 2)
        until_kept(server, thread, 7)
        first.send_signal(signal.SIGKILL)
        first.wait()
    with working(server, {"graph": graphs.graph}):
        gate.touch()
        until("it has ended", lambda: server.get(f"/threads/{thread}/runs/{second}").json["status"] == "success")
    values = server.get(f"/threads/{thread}").json["values"]
    assert values["log"] == ["think found pool", "slow", "ask", "write"] * 2
    assert len(noted("think")) == before + 1
    assert text_of(server, second) == graphs.ANSWER
    assert os.getpid() in noted("slow")


def test_a_server_that_is_killed_while_graphs_run(own_server, gate):
    """Checkpoints and events wait for it; no node runs twice."""
    with working(own_server, {"pull": graphs.graph}):
        jobs = [own_server.submit("pull", {**ASK, "gate": str(gate)}) for _ in range(4)]
        for job in jobs:
            until_in(own_server, job, "slow")
        own_server.kill()
        gate.touch()
        own_server.start()
        for job in jobs:
            ended = own_server.until_state(job, "succeeded", "failed")
            assert ended["output"]["log"] == ["think found pool", "slow", "ask", "write"]
            assert ended["attempt"] == 1
            assert text_of(own_server, job) == graphs.ANSWER


def test_a_function_may_open_and_close_what_its_graph_needs(server):
    before = len(noted("close"))
    where = f"{os.path.dirname(graphs.__file__)}/graphs.py:managed"
    with working(server, {"graph": where}):
        server.until_state(server.submit("graph", ASK), "succeeded")
    assert len(noted("close")) == before + 1


def test_a_function_is_told_what_its_graph_is_for(server):
    where = f"{os.path.dirname(graphs.__file__)}/graphs.py:make_with_runtime"
    with working(server, {"made": where}):
        plain = server.until_state(server.submit("made", ASK), "succeeded", "failed")
        assert plain["output"]["log"] == ["threads.create_run {} None"], plain
        ended = server.post("/runs/wait", {"assistant_id": "made", "input": ASK, "context": {"colour": "red"}})
        assert ended.json["log"] == ["threads.create_run {'colour': 'red'} red"]
        ended = server.post("/runs/wait", {"assistant_id": "made", "input": ASK,
                                           "config": {"configurable": {"colour": "grey"}}})
        assert ended.json["log"] == ["threads.create_run {'colour': 'grey'} grey"]
        assert "tell" in {n["id"] for n in server.get("/assistants/made/graph").json["nodes"]}
        assert len(noted("made:assistants.read")) == 1


def test_a_run_without_a_context_has_the_defaults_of_its_schema(server):
    with working(server, {"made": graphs.with_defaults}):
        plain = server.until_state(server.submit("made", ASK), "succeeded", "failed")
        assert plain["output"]["log"] == ["Defaults(colour='blue', size=3)"], plain
        for sent, expected in (({}, "Defaults(colour='blue', size=3)"),
                               ({"context": {"size": 4}}, "Defaults(colour='blue', size=4)"),
                               ({"config": {"configurable": {"colour": "grey"}}}, "Defaults(colour='grey', size=3)")):
            ended = server.post("/runs/wait", {"assistant_id": "made", "input": ASK, **sent})
            assert ended.json["log"] == [expected], ended


def test_a_context_is_that_of_the_run_the_assistant_or_the_environment(server, monkeypatch):
    monkeypatch.setenv("LANGGRAPH_CONFIG", '{"made": {"context": {"size": 9}}}')
    other = server.post("/assistants", {"graph_id": "made", "config": {"configurable": {"colour": "red"}}}).json
    with working(server, {"made": graphs.with_defaults}):
        for assistant, sent, expected in (("made", {}, "colour='blue', size=9"),
                                          ("made", {"context": {"colour": "grey"}}, "colour='grey', size=9"),
                                          ("made", {"config": {"configurable": {"size": 8}}}, "colour='blue', size=8"),
                                          (other["assistant_id"], {}, "colour='red', size=3"),
                                          (other["assistant_id"], {"context": {"size": 4}}, "colour='red', size=4")):
            ended = server.post("/runs/wait", {"assistant_id": assistant, "input": ASK, **sent})
            assert ended.json["log"] == [f"Defaults({expected})"], ended


def test_modes_alone(server):
    with working(server, {"graph": graphs.outer}, stream="modes"):
        job = server.submit("graph", ASK)
        server.until_state(job, "succeeded", "failed")
    said = kinds(server.read(job, "raw"))
    assert said.count("tool.start") == said.count("tool.end") > 0 and "run.start" not in said
    frames = server.read(job, "messages", modes="values,updates,messages,tasks", subgraphs=1)
    assert {f.event.split(":")[0] for f in frames} == {
        "metadata", "values", "updates", "tasks", "messages|inner", "values|inner", "updates|inner", "tasks|inner"}


class Counting(StreamTransformer):
    """Counts what it sees of messages; says it at the end of each."""

    def init(self):
        self.seen, self.deltas, self.text = StreamChannel("seen"), 0, ""
        return {"seen": self.seen, "quiet": StreamChannel()}

    def process(self, event):
        if event["method"] != "messages":
            return True
        data, metadata = event["params"]["data"]
        if data["event"] == "content-block-delta":
            self.deltas += 1
            self.text += data["delta"].get("text", "")
        elif data["event"] == "message-finish":
            self.seen.push({"deltas": self.deltas, "text": self.text, "node": metadata["langgraph_node"]})
        return True


@pytest.mark.parametrize("stream", ["modes", "events"])
def test_channels_of_a_graphs_own_transformers_are_sent(server, stream):
    graph = graphs.builder.compile(transformers=[Counting])
    with working(server, {"graph": graph}, stream=stream):
        job = server.submit("graph", ASK)
        server.until_state(job, "succeeded", "failed")
    sent = [f.json for f in server.read(job, "raw") if f.json["kind"] == "custom" and "id" in f.json]
    assert [(r["id"], r["data"]) for r in sent] == \
        [("seen", {"deltas": len(graphs.ANSWER.split()) * 2 - 1, "text": graphs.ANSWER, "node": "think"})]
    assert text_of(server, job) == graphs.ANSWER
    assert not [f for f in server.read(job, "messages") if f.event.startswith("custom") and "deltas" in f.json]
