"""Calls: short questions about a graph, answered while its jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import snapshot
from .run import command_of
from .schemas import schemas


async def answer(graph: Any, saver: Any, name: str, params: Mapping[str, Any]) -> Any:
    known = {"graph": drawing, "schemas": schemas_of, "subgraphs": subgraphs,
             "update_state": update_state, "bulk_update_state": bulk_update_state}
    if name not in known:
        raise ValueError(f"there is no call {name!r}; there are: {', '.join(sorted(known))}")
    return await known[name](graph, saver, params)


async def drawing(graph: Any, saver: Any, params: Mapping[str, Any]) -> Any:
    is_graph = hasattr(graph, "aget_graph")  # or a chain
    drawn = (await graph.aget_graph(xray=params.get("xray") or False) if is_graph
             else graph.get_graph()).to_json()
    for node in drawn.get("nodes", ()):
        node["id"] = str(node["id"])
    return drawn


async def schemas_of(graph: Any, saver: Any, params: Mapping[str, Any]) -> Any:
    return {"graph_id": params.get("graph_id"), **schemas(graph)}


async def subgraphs(graph: Any, saver: Any, params: Mapping[str, Any]) -> Any:
    if not hasattr(graph, "aget_subgraphs"):
        return {}  # a chain
    found = graph.aget_subgraphs(namespace=params.get("namespace"),
                                 recurse=bool(params.get("recurse")))
    return {ns: schemas(subgraph) async for ns, subgraph in found}


async def update_state(graph: Any, saver: Any, params: Mapping[str, Any]) -> Any:
    """Also stores the new state's projection, which the server shows."""
    config = await graph.aupdate_state(config_of(params), params.get("values"),
                                       as_node=params.get("as_node"))
    state = snapshot.of_snapshot(await graph.aget_state(config))
    at = state["checkpoint"]
    if saver is not None and hasattr(saver, "aput_state") and at:
        await saver.aput_state(config, at["checkpoint_ns"], at["checkpoint_id"], state)
    return updated(config)


async def bulk_update_state(graph: Any, saver: Any, params: Mapping[str, Any]) -> Any:
    """Updates a thread several times; each state is stored as update_state() stores one."""
    from langgraph.types import StateUpdate

    def update(said: Mapping[str, Any]) -> Any:
        command = said.get("command")
        return StateUpdate(command_of(command) if command else said.get("values"), said.get("as_node"))

    config = await graph.abulk_update_state(
        config_of(params), [[update(u) for u in step["updates"]] for step in params["supersteps"]])
    thread = {"configurable": {"thread_id": params["thread"], "checkpoint_ns": ""}}
    states = [snapshot.of_snapshot(s) async for s in graph.aget_state_history(thread, limit=len(params["supersteps"]))]
    for state in reversed(states):  # the newest last: it becomes the thread's state
        at = state["checkpoint"]
        await saver.aput_state(config, at["checkpoint_ns"], at["checkpoint_id"], state)
    return updated(config)


def updated(config: Any) -> Any:
    """As LangGraph's server for Python says it: the place, under its old names too."""
    place = snapshot.place(config) or {}
    return {"checkpoint": place, "configurable": place, "checkpoint_id": place.get("checkpoint_id")}


def config_of(params: Mapping[str, Any]) -> dict[str, Any]:
    given = dict((params.get("config") or {}).get("configurable") or {})
    given |= {k: v for k, v in (params.get("checkpoint") or {}).items() if v is not None}
    if params.get("thread"):
        given["thread_id"] = params["thread"]
    return {"configurable": given}
