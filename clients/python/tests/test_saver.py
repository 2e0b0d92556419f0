"""The checkpointer: what a graph does with it is what it does with LangGraph's own."""

import graphs
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from support import run

from spoolwire import Client, LeaseLost, SpoolwireSaver

INPUT = {"messages": [("human", "hi")], "ask": True}


@pytest.fixture
def lease(server):
    """A job that is leased, and so may write."""
    job = server.submit("pull")
    order = server.post("/v1/worker/lease", {"agents": ["pull"], "worker": "w"}).json
    assert order["job"] == job
    yield {"job": job, "lease": order["lease"]}
    server.post(f"/v1/worker/jobs/{job}/finish?lease={order['lease']}", {"status": "success"})


@pytest.fixture
def saver(server, lease):
    return SpoolwireSaver(Client(server.url), fence=lease)


def config(lease):
    return {"configurable": {"thread_id": lease["job"]}}


def comparable(snapshot):
    """Without what differs from run to run."""
    values = {**snapshot.values, "messages": [(m.type, m.content) for m in snapshot.values.get("messages", [])]}
    return (values, snapshot.next, snapshot.metadata, [(t.name, t.error, [i.value for i in t.interrupts],
                                                        t.result) for t in snapshot.tasks])


def told(snapshots):
    """All of a history but the model's message ids."""
    found = [comparable(s) for s in snapshots]
    return [(v, n, {k: m[k] for k in ("source", "step", "parents")},
             [(*t[:3], t[3] is None) for t in tasks]) for v, n, m, tasks in found]


async def story(saver, config):
    graph = graphs.builder.compile(checkpointer=saver)
    await graph.ainvoke(INPUT, config)
    history = [[s async for s in graph.aget_state_history(config)]]
    await graph.ainvoke(Command(resume="staging"), config)
    await graph.aupdate_state(config, {"log": ["by hand"]})
    history.append([s async for s in graph.aget_state_history(config)])
    history.append([s async for s in graph.aget_state_history(config, limit=2)])
    history.append([s async for s in graph.aget_state_history(config, filter={"source": "update"})])
    history.append([s async for s in graph.aget_state_history(config, before=history[1][3].config)])
    history.append([await graph.aget_state(history[1][2].config)])
    return [told(h) for h in history]


def test_a_graphs_history_is_that_of_langgraphs_own_saver(saver, lease):
    ours = run(story(saver, config(lease)))
    assert ours == run(story(InMemorySaver(), config(lease)))
    assert [len(h) for h in ours] == [4, 7, 2, 1, 3, 1]


def test_the_same_without_asyncio(server, saver, lease):
    graph = graphs.line_of(graphs.write, graphs.nested).compile(checkpointer=saver)
    graph.invoke({"log": ["a"]}, config(lease))
    assert graph.get_state(config(lease)).values["log"] == ["a", "write", "nested"]
    assert [s.metadata["step"] for s in graph.get_state_history(config(lease))] == [2, 1, 0, -1]
    saver.delete_thread(lease["job"])
    assert graph.get_state(config(lease)).values == {}


def test_subgraphs_have_namespaces_of_their_own(saver, lease):
    async def main():
        graph = graphs.outer_builder.compile(checkpointer=saver, interrupt_before=[])
        await graph.ainvoke({"messages": [("human", "hi")]}, config(lease))
        found = [one async for one in saver.alist(config(lease))]
        assert {f.config["configurable"]["checkpoint_ns"].split(":")[0] for f in found} == {"", "inner"}
        root = [one async for one in saver.alist({"configurable": {
            "thread_id": lease["job"], "checkpoint_ns": ""}})]
        assert 0 < len(root) < len(found)
    run(main())


def test_a_stale_lease_writes_nothing(server, saver, lease):
    async def main():
        graph = graphs.line_of(graphs.nested).compile(checkpointer=saver)
        await graph.ainvoke({"log": ["a"]}, config(lease))
        stale = SpoolwireSaver(Client(server.url), fence={**lease, "lease": "1.999"})
        with pytest.raises(LeaseLost):
            await graphs.line_of(graphs.nested).compile(checkpointer=stale).ainvoke({"log": ["b"]}, config(lease))
        assert (await graph.aget_state(config(lease))).values["log"] == ["a", "nested"]
    run(main())
