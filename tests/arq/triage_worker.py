"""Document 000, section 10, with a real graph: a supervisor, an investigator whose (fake) model
streams, a human_input node that calls interrupt(), and a writer.

    triage_worker.py SOCKET PASSWORD DB QUEUE
"""

import functools
import json
import sys
from typing import TypedDict
from uuid import uuid4

from arq.connections import RedisSettings
from arq.worker import Worker
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

WORKER_NODES = {"investigator", "writer"}


class State(TypedDict, total=False):
    issue: str
    finding: str
    answer: str
    report: str


def model(text):
    return GenericFakeChatModel(messages=iter([AIMessage(content=text)]))


async def supervisor(state):
    return Command(goto="human_input" if state.get("finding") else "investigator")


async def investigator(state):
    answer = await model(f"looking into {state['issue']}").ainvoke(state["issue"])
    return Command(goto="supervisor", update={"finding": answer.content})


async def human_input(state):
    if state["issue"] == "broken":
        raise ValueError("the graph is broken")
    return {"answer": interrupt({"question": "which service?", "context": state["finding"]})}


async def writer(state):
    answer = await model(f"it is {state['answer']}").ainvoke("write")
    return {"report": answer.content}


def build():
    g = StateGraph(State)
    g.add_node("supervisor", supervisor, destinations=("investigator", "human_input"))
    g.add_node("investigator", investigator, destinations=("supervisor",))
    g.add_node("human_input", human_input)
    g.add_node("writer", writer)
    g.add_edge(START, "supervisor")
    g.add_edge("human_input", "writer")
    g.add_edge("writer", END)
    return g.compile(checkpointer=InMemorySaver())


GRAPH = build()


def transform(event, spawned):
    node = event.get("metadata", {}).get("langgraph_node", "")
    kind, is_node = event["event"], event["name"] == node
    if kind == "on_chain_start" and is_node and node in WORKER_NODES:
        spawned[node] = str(uuid4())
        return [{"type": "agent.spawned", "agent_id": spawned[node], "agent_name": node, "node": node}]
    if kind == "on_chat_model_stream" and node in spawned and event["data"]["chunk"].content:
        text = event["data"]["chunk"].content
        more = [{"type": "output.token", "token": text, "section": None}] if node == "writer" else []
        return [{"type": "agent.token", "agent_id": spawned[node], "token": text}, *more]
    if kind == "on_chain_end" and is_node:
        done = [{"type": "agent.done", "agent_id": spawned[node], "node": node}] if node in spawned else []
        return [*done, {"type": "graph.node_complete", "node": node, "step": event["metadata"].get("langgraph_step")}]
    return []


def worker_error_handler(fn):
    @functools.wraps(fn)
    async def wrapper(ctx, job_id, *args):
        try:
            return await fn(ctx, job_id, *args)
        except Exception as exc:
            await ctx["redis"].publish(f"jobs:{job_id}:events", json.dumps({"type": "job.failed", "error": str(exc)}))
            raise
    return wrapper


async def stream(ctx, job_id, given):
    redis, channel = ctx["redis"], f"jobs:{job_id}:events"
    config = {"configurable": {"thread_id": job_id}}
    spawned = {}
    async for event in GRAPH.astream_events(given, config=config, version="v2"):
        for sse in transform(event, spawned):
            await redis.publish(channel, json.dumps(sse))
    state = await GRAPH.aget_state(config)
    if state.tasks:
        value = state.tasks[0].interrupts[0].value
        await redis.publish(channel, json.dumps({"type": "graph.interrupt", **value}))
    else:
        await redis.publish(channel, json.dumps({"type": "job.done"}))


@worker_error_handler
async def run_triage(ctx, job_id, initial_state):
    await stream(ctx, job_id, initial_state)


@worker_error_handler
async def resume_triage(ctx, job_id, answer):
    await stream(ctx, job_id, Command(resume=answer))


def main():
    path, password, db, queue = sys.argv[1:]
    Worker([run_triage, resume_triage], queue_name=queue, allow_abort_jobs=True, max_jobs=10, retry_jobs=False, poll_delay=0.05,
           redis_settings=RedisSettings(unix_socket_path=path, password=password, database=int(db)), health_check_interval=1).run()


main()
