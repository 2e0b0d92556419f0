"""An ARQ worker with a real graph (triage_graph.py): run_triage() publishes what handlers of its own make
of each event, or the events themselves when the input asks for it.

    triage_worker.py SOCKET PASSWORD DB QUEUE
"""

import dataclasses
import functools
import json
import sys
from uuid import uuid4

import triage_graph
from arq.connections import RedisSettings
from arq.worker import Worker
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

WORKER_NODES = {"investigator", "codebase_search", "writer"}
GRAPH = triage_graph.builder.compile(checkpointer=InMemorySaver())
RAW = set()  # the jobs whose events go out as they are


def on_chain_start(event, node, spawned):
    if event["name"] != node or node not in WORKER_NODES:
        return []
    spawned[node] = str(uuid4())
    return [{"type": "agent.spawned", "agent_id": spawned[node], "agent_name": node, "node": node}]


def on_stream(event, node, spawned):
    token = event["data"]["chunk"].content
    if not token or node not in spawned:
        return []
    rows = [{"type": "agent.token", "agent_id": spawned[node], "token": token}]
    if node == "writer":
        rows.append({"type": "output.token", "token": token, "section": event["section"]})
    return rows


def on_tool_start(event, node, spawned):
    return [{"type": "agent.tool_call", "agent_id": spawned[node], "tool_name": event["name"],
             "input_preview": json.dumps(event["data"].get("input"), separators=(",", ":"))[:60]}]


def on_tool_end(event, node, spawned):
    output = event["data"].get("output")
    return [{"type": "agent.tool_result", "agent_id": spawned[node], "tool_name": event["name"],
             "result_summary": str(getattr(output, "content", output))[:120]}]


def on_chain_end(event, node, spawned):
    if node == "writer" and event["name"] in triage_graph.SECTIONS:
        return [{"type": "output.section_done", "section": event["name"]}]
    if event["name"] != node:
        return []
    done = [{"type": "agent.done", "agent_id": spawned[node], "node": node}] if node in spawned else []
    return [*done, {"type": "graph.node_complete", "node": node, "step": event["metadata"].get("langgraph_step")}]


HANDLERS = {"on_chain_start": on_chain_start, "on_chat_model_stream": on_stream, "on_llm_stream": on_stream,
            "on_tool_start": on_tool_start, "on_tool_end": on_tool_end, "on_chain_end": on_chain_end}


def transform(event, spawned, branches):
    """One event as an event of `agent`.  @branches: the section of each run below the writer."""
    node = event.get("metadata", {}).get("langgraph_node", "")
    named = event["name"] if event["name"] in triage_graph.SECTIONS else None
    event["section"] = branches[event["run_id"]] = next(
        (b for b in [named, *(branches.get(p) for p in reversed(event["parent_ids"]))] if b), None)
    handler = HANDLERS.get(event["event"])
    return handler(event, node, spawned) if handler and node else []


def plain(value):
    """For json.dumps of raw events."""
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


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
    spawned, branches = {}, {}
    async for event in GRAPH.astream_events(given, config=config, version="v2"):
        if job_id in RAW:
            await redis.publish(channel, json.dumps(event, default=plain))
            continue
        for sse in transform(event, spawned, branches):
            await redis.publish(channel, json.dumps(sse))
    if job_id in RAW:
        return
    state = await GRAPH.aget_state(config)
    if state.tasks:
        value = state.tasks[0].interrupts[0].value
        await redis.publish(channel, json.dumps({"type": "graph.interrupt", **value}))
    else:
        await redis.publish(channel, json.dumps({"type": "job.done"}))


@worker_error_handler
async def run_triage(ctx, job_id, initial_state):
    if initial_state.pop("raw", False):
        RAW.add(job_id)
    await stream(ctx, job_id, initial_state)


@worker_error_handler
async def resume_triage(ctx, job_id, answer):
    await stream(ctx, job_id, Command(resume=answer))


def main():
    path, password, db, queue = sys.argv[1:]
    Worker([run_triage, resume_triage], queue_name=queue, allow_abort_jobs=True, max_jobs=10, retry_jobs=False, poll_delay=0.05,
           redis_settings=RedisSettings(unix_socket_path=path, password=password, database=int(db), conn_timeout=60), health_check_interval=1).run()


main()
