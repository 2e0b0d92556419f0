"""Runs of threads, as clients of LangGraph's API order them: the stock SDK, and real graphs."""

import asyncio
import json
from datetime import datetime, timedelta

import graphs
import pytest
from langgraph_sdk import get_client
from support import checkpoints, working

from spoolwire import Client, SpoolwireSaver
from spoolwire.encode import encode

ASK = {"messages": [{"role": "user", "content": "hi"}], "ask": False}


def client(server):
    return get_client(url=server.url)


@pytest.fixture(scope="module")
def worker(server):
    with working(server, {"graph": graphs.graph, "made": graphs.with_context,
                          "pushing": graphs.pushing,
                          "below": graphs.asks_below, "steps": graphs.steps, "functional": graphs.functional}):
        yield


def test_a_question_of_a_thread_is_answered_by_its_next_run(server, worker):
    async def main():
        sdk = client(server)
        thread = (await sdk.threads.create())["thread_id"]
        parts = [p async for p in sdk.runs.stream(thread, "graph", input={**ASK, "ask": True},
                                                  stream_mode=["values", "updates", "messages-tuple"])]
        assert "".join(p.data[0]["content"] for p in parts if p.event == "messages") == graphs.ANSWER
        (question,) = [p.data["__interrupt__"] for p in parts if p.event == "updates" and "__interrupt__" in p.data]
        assert (await sdk.threads.get(thread))["status"] == "interrupted"
        ended = await sdk.runs.wait(thread, "graph", command={"resume": {question[0]["id"]: "staging"}})
        assert ended["log"] == ["think found pool", "slow", "ask staging", "write"]
        assert (await sdk.threads.get(thread))["status"] == "idle"
        again = await sdk.runs.wait(thread, "graph", input=ASK)
        assert again["log"] == [*ended["log"], "think found pool", "slow", "ask", "write"]
    asyncio.run(main())


def test_a_message_that_is_pushed_again_is_streamed_again(server, worker):
    async def main():
        said = [p.data[0] async for p in client(server).runs.stream(None, "pushing", input={},
                                                                   stream_mode=["messages-tuple"]) if p.event == "messages"]
        assert [(m["type"], m["content"], m["id"]) for m in said] == [
            ("ai", "one", "pushed"), ("ai", "two", "pushed"), ("ai", "three", "pushed"), ("remove", "", "pushed")]
    asyncio.run(main())


def test_breakpoints_config_context_and_commands(server, worker):
    async def main():
        sdk = client(server)
        thread = (await sdk.threads.create())["thread_id"]
        await sdk.runs.wait(thread, "graph", input=ASK, interrupt_before=["ask"])
        ended = await sdk.runs.wait(thread, "graph", input=None)
        assert ended["log"] == ["think found pool", "slow", "ask", "write"]
        ended = await sdk.runs.wait(thread, "graph", command={"update": {"log": ["told"]}, "goto": "write"})
        assert ended["log"][-2:] == ["told", "write"]
        ended = await sdk.runs.wait(None, "made", input={"log": []}, context={"colour": "blue", "size": 7})
        assert ended["log"] == ["blue 7"]
    asyncio.run(main())


def test_a_run_may_begin_at_an_older_checkpoint(server, worker):
    async def main():
        sdk = client(server)
        thread = (await sdk.threads.create())["thread_id"]
        await sdk.runs.wait(thread, "graph", input=ASK)
        first, older = (next(c["id"] for c in checkpoints(server, thread) if c["metadata"]["step"] == n) for n in (0, 1))
        at = {"checkpoint_id": older, "checkpoint_ns": ""}
        forms = [{"checkpoint": at}, {"checkpoint_id": older}, {"checkpoint_id": first, "checkpoint": at},
                 {"config": {"configurable": {"checkpoint_id": older}}}]
        for n, form in enumerate(forms, 2):
            ended = await sdk.runs.wait(thread, "graph", input=None, **form)
            assert ended["log"] == ["think found pool", "slow", "ask", "write"], form
            assert len([c for c in checkpoints(server, thread) if c["metadata"]["step"] == 2]) == n, form
            assert len([c for c in checkpoints(server, thread) if c["metadata"]["step"] == 1]) == 1, form
    asyncio.run(main())


def test_checkpoints_say_their_places_as_the_history_does(server, worker):
    async def main():
        sdk = client(server)

        def places(state):
            return state["metadata"]["step"], *(
                at and (at["thread_id"], at["checkpoint_ns"], at["checkpoint_id"])
                for at in (state["checkpoint"], state["parent_checkpoint"]))

        for modes in (["debug"], ["checkpoints"], ["debug", "events"]):
            thread = (await sdk.threads.create())["thread_id"]
            parts = [p async for p in sdk.runs.stream(thread, "graph", input=ASK, stream_mode=modes)]
            said = [places(p.data) for p in parts if p.event == "checkpoints"]
            said += [places(p.data["payload"]) for p in parts if p.event == "debug" and p.data["type"] == "checkpoint"]
            assert len(said) > 2
            assert said == [places(s) for s in await sdk.threads.get_history(thread)][::-1]
    asyncio.run(main())


def shown(snapshot):
    """As LangGraph's server shows it."""
    given, above = snapshot.config["configurable"], (snapshot.parent_config or {}).get("configurable")
    found = {"values": snapshot.values, "next": snapshot.next, "created_at": snapshot.created_at,
             "metadata": {**snapshot.metadata, "thread_id": given["thread_id"]}, "interrupts": [{"id": i.id, "value": i.value} for i in snapshot.interrupts],
             "checkpoint": {"checkpoint_map": None, **given}, "parent_checkpoint": above and {"checkpoint_map": None, **above},
             "checkpoint_id": given["checkpoint_id"], "parent_checkpoint_id": above and above["checkpoint_id"],
             "tasks": [{"id": t.id, "name": t.name, "path": t.path, "error": t.error, "result": t.result, "state": None,
                        "interrupts": [{"id": i.id, "value": i.value} for i in t.interrupts],
                        "checkpoint": t.state and {"checkpoint_id": None, **t.state["configurable"]}} for t in snapshot.tasks]}
    return json.loads(encode(found))


async def told_by_graph(server, graph, thread, ns=""):
    graph = graph.copy({"checkpointer": SpoolwireSaver(Client(server.url))})
    found = graph.aget_state_history({"configurable": {"thread_id": thread, "checkpoint_ns": ns}})
    return [shown(s) async for s in found]


def same(ours, theirs):
    """Member by member, so that a failure names it."""
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        # LangGraph makes a checkpoint's id, which has a time, a moment after it has noted the time.
        made = [datetime.fromisoformat(state.pop("created_at")) for state in (one, other)]
        assert abs(made[0] - made[1]) < timedelta(seconds=1)
        for name in {*one, *other}:
            assert (other["checkpoint_id"], name, one.get(name)) == (other["checkpoint_id"], name, other.get(name))


def test_the_history_is_what_the_graph_says_of_its_checkpoints(server, worker):
    async def main():
        sdk = client(server)
        for name, given in (("steps", {"log": ["begin"], "ask": True}), ("functional", 1), ("graph", ASK)):
            thread = (await sdk.threads.create())["thread_id"]
            graph = getattr(graphs, name)
            await sdk.runs.wait(thread, name, input=given)
            same(await sdk.threads.get_history(thread, limit=100), await told_by_graph(server, graph, thread))
            if name == "steps":
                await sdk.runs.wait(thread, name, command={"resume": "yes"})
                last = await sdk.threads.get_history(thread, limit=100)
                same(last, await told_by_graph(server, graph, thread))
                (ns,) = {t["checkpoint"]["checkpoint_ns"] for s in last for t in s["tasks"] if t["checkpoint"]}
                below = await sdk.threads.get_history(thread, limit=100, checkpoint={"checkpoint_ns": ns})
                assert len(below) == 4
                same(below, await told_by_graph(server, graph, thread, ns))
                assert [t["path"][0] for t in last[3]["tasks"]] == ["__pregel_push", "__pregel_push"]
            # one by one, and in pages, as in the whole history
            whole = await sdk.threads.get_history(thread, limit=100)
            for n, state in enumerate(whole):
                at = state["checkpoint"]
                assert await sdk.threads.get_state(thread, checkpoint_id=at["checkpoint_id"]) == state
                assert await sdk.threads.get_history(thread, before=at, limit=2) == whole[n + 1:n + 3]
    asyncio.run(main())


def test_events_are_sent_to_who_asks_for_them(server, worker):
    async def main():
        parts = [p async for p in client(server).runs.stream(None, "graph", input=ASK, stream_mode=["events", "values"])]
        names = [p.data["event"] for p in parts if p.event == "events"]
        assert {"on_tool_start", "on_chat_model_stream", "on_chain_end"} <= set(names)
        assert parts[-1].event == "values" or names[-1] == "on_chain_end"
    asyncio.run(main())


def test_a_graph_that_fails_says_how(server, worker):
    async def main():
        said = await client(server).runs.wait(None, "graph", input={**ASK, "fail": True}, raise_error=False)
        assert said["__error__"] == {"error": "ValueError", "message": "no such pool: ☠"}
    asyncio.run(main())


def test_states_are_what_the_graph_itself_says(server, worker):
    """Served from what the worker has sent, and changed by a call to it."""
    async def main():
        sdk = client(server)
        thread = (await sdk.threads.create())["thread_id"]
        await sdk.runs.wait(thread, "graph", input={**ASK, "ask": True})
        state = await sdk.threads.get_state(thread)
        assert state["next"] == ["ask"]
        assert state["tasks"][0]["interrupts"][0]["value"]["question"] == "Which environment?"
        assert state["metadata"]["step"] == 2 and state["metadata"]["source"] == "loop"
        changed = await sdk.threads.update_state(thread, {"log": ["by hand"]}, as_node="ask")
        state = await sdk.threads.get_state(thread)
        assert state["values"]["log"] == ["think found pool", "slow", "by hand"]
        assert state["next"] == ["write"] and state["metadata"]["source"] == "update"
        assert state["checkpoint"]["checkpoint_id"] == changed["checkpoint"]["checkpoint_id"] == changed["checkpoint_id"]
        assert changed["configurable"] == changed["checkpoint"]
        history = await sdk.threads.get_history(thread)
        assert [s["metadata"]["step"] for s in history] == [3, 2, 1, 0, -1]
        assert [s["next"] for s in history] == [["write"], ["ask"], ["slow"], ["think"], ["__start__"]]
        assert history[1]["parent_checkpoint"]["checkpoint_id"] == history[2]["checkpoint"]["checkpoint_id"]
        assert {s["metadata"].get("graph_id") for s in history[1:]} == {"graph"}
        ended = await sdk.runs.wait(thread, "graph", input=None)
        assert ended["log"] == ["think found pool", "slow", "by hand", "write"]
        state = await sdk.threads.get_state(thread)
        assert (state["next"], state["tasks"], state["values"]) == ([], [], ended)
    asyncio.run(main())


def test_what_a_subgraph_asks_is_in_its_state(server, worker):
    async def main():
        sdk = client(server)
        thread = (await sdk.threads.create(metadata={"whose": "ours"}))["thread_id"]
        await sdk.runs.wait(thread, "below", input={**ASK, "ask": True}, metadata={"run": "mine"})
        above = await sdk.threads.get_state(thread, subgraphs=True)
        (task,) = above["tasks"]
        below = task["state"]
        assert below["next"] == ["ask"] and below["values"]["log"] == ["write"]
        assert below["interrupts"] == above["interrupts"] == task["interrupts"] == below["tasks"][0]["interrupts"]
        assert below["interrupts"][0]["value"]["question"] == "Which environment?"
        assert below["tasks"][0]["path"] == ["__pregel_pull", "ask"]
        assert below["checkpoint"]["checkpoint_ns"] == f"sub:{task['id']}"
        assert below["checkpoint"]["checkpoint_map"][""] == above["checkpoint"]["checkpoint_id"]
        plain = await sdk.threads.get_state(thread)
        assert plain["tasks"][0]["state"] is None
        assert plain["tasks"][0]["checkpoint"]["checkpoint_ns"] == f"sub:{task['id']}"
        # Whose they are: the thread's metadata, and the run's own.
        for state in (below, *await sdk.threads.get_history(thread)):
            assert (state["metadata"]["whose"], state["metadata"]["run"]) == ("ours", "mine")
    asyncio.run(main())


def test_the_error_of_a_task_has_its_type(server, worker):
    async def main():
        parts = [p async for p in client(server).runs.stream(None, "graph", input={**ASK, "fail": True},
                                                             stream_mode=["tasks", "debug"])]
        tasks = [p.data for p in parts if p.event == "tasks"]
        tasks += [p.data["payload"] for p in parts if p.event == "debug" and p.data["type"] == "task_result"]
        errors = [t["error"] for t in tasks if t.get("error")]
        assert errors == 2 * [{"error": "ValueError", "message": "no such pool: ☠"}]
    asyncio.run(main())


def test_a_thread_is_made_with_a_past(server, worker):
    def step(as_node, **update):
        return {"updates": [{"values": None, "as_node": as_node, **update}]}

    async def main():
        sdk = client(server)
        made = await sdk.threads.create(graph_id="graph", supersteps=[
            step("__input__", values=ASK), step("__start__", values=ASK),
            step("think", values={"log": ["long ago"]}),
            step("slow", command={"update": {"log": ["and then"]}})])
        assert made["values"]["log"] == ["long ago", "and then"] and made["status"] == "interrupted"
        history = await sdk.threads.get_history(made["thread_id"])
        assert [s["next"] for s in history] == [["ask"], ["slow"], ["think"], ["__start__"]]
        ended = await sdk.runs.wait(made["thread_id"], "graph", input=None)
        assert ended["log"] == ["long ago", "and then", "ask", "write"]
        changed = await sdk.threads.create(graph_id="graph", thread_id=made["thread_id"], if_exists="do_nothing",
                                           supersteps=[step("slow", values={"log": ["once more"]})])
        assert changed["values"]["log"] == [*ended["log"], "once more"] and changed["status"] == "interrupted"
        with pytest.raises(Exception, match="nobody"):
            await sdk.threads.create(graph_id="graph", thread_id="half", supersteps=[step("nobody", values={})])
        with pytest.raises(Exception, match="not found"):
            await sdk.threads.get("half")
    asyncio.run(main())
