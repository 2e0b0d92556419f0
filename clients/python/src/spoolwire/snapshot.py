"""A graph's state as LangGraph's API shows it: the JSON projection of a checkpoint."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from typing import Any

GREGORIAN = datetime.datetime(1582, 10, 15, tzinfo=datetime.timezone.utc)


def of_snapshot(snapshot: Any) -> dict[str, Any]:
    """Of what aget_state() gives."""
    return {
        "values": snapshot.values,
        "next": list(snapshot.next),
        "tasks": [of_task({"id": t.id, "name": t.name, "path": t.path, "error": t.error,
                           "interrupts": t.interrupts, "state": t.state,
                           "result": getattr(t, "result", None)}) for t in snapshot.tasks],
        "metadata": dict(snapshot.metadata or {}),
        "created_at": snapshot.created_at,
        "checkpoint": place(snapshot.config),
        "parent_checkpoint": place(snapshot.parent_config),
    }


def states_below(snapshot: Any) -> list[Any]:
    """The states of its subgraphs, as far as aget_state() has read them."""
    return [t.state for t in snapshot.tasks if hasattr(t.state, "tasks")]


def alone(snapshot: Any) -> Any:
    """The same with the places of subgraphs instead of their states."""
    tasks = tuple(t if not hasattr(t.state, "tasks") else t._replace(state={"configurable": {
        k: v for k, v in t.state.config["configurable"].items() if k in ("thread_id", "checkpoint_ns")}})
        for t in snapshot.tasks)
    return snapshot._replace(tasks=tasks)


def of_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """Of a part of the stream mode `checkpoints`."""
    checkpoint = place(part["config"])
    return {
        "values": part["values"],
        "next": list(part["next"]),
        "tasks": [of_task(t) for t in part["tasks"]],
        "metadata": part["metadata"],
        "created_at": made_at(checkpoint["checkpoint_id"]) if checkpoint else None,
        "checkpoint": checkpoint,
        "parent_checkpoint": place(part.get("parent_config")),
    }


def shown(mode: str, payload: Any) -> Any:
    """The payload of a part as LangGraph's servers send it: a checkpoint says its place, and that of
    its parent and of its subgraphs, besides their configs."""
    if mode == "checkpoints":
        return with_places(payload)
    if mode == "tasks":
        return with_error(payload)
    if mode != "debug" or payload.get("type") not in ("checkpoint", "task_result"):
        return payload
    change = with_places if payload["type"] == "checkpoint" else of_result
    return {**payload, "payload": change(payload["payload"])}


def of_result(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return with_error(with_place(result))


def with_error(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """An error as LangGraph's servers send it: its type and its message."""
    error = task.get("error")
    if not isinstance(error, BaseException):
        return task
    return {**task, "error": {"error": type(error).__name__, "message": str(error)}}


def with_places(part: Mapping[str, Any]) -> dict[str, Any]:
    return {**part, "checkpoint": place(part.get("config")),
            "parent_checkpoint": place(part.get("parent_config")),
            "tasks": [with_place(t) for t in part.get("tasks") or ()]}


def with_place(task: Mapping[str, Any]) -> Mapping[str, Any]:
    state = task.get("state")
    found = place(state) if isinstance(state, Mapping) else None
    if found is None:
        return task
    return {**{k: v for k, v in task.items() if k != "state"}, "checkpoint": found}


def of_task(task: Mapping[str, Any]) -> dict[str, Any]:
    state = task.get("state")
    below = isinstance(state, Mapping)  # a config that names the subgraph's checkpoint, not its state
    return {
        "id": task["id"],
        "name": task["name"],
        "path": list(task.get("path") or ()),
        "error": None if task.get("error") is None else str(task["error"]),
        "interrupts": [question(i) for i in task.get("interrupts") or ()],
        "checkpoint": place(state) if below else None,
        "state": None if below or state is None else of_snapshot(state),
        "result": task.get("result"),
    }


def question(interrupt: Any) -> Any:
    """What a graph asks, as LangGraph's servers show it."""
    given = interrupt if isinstance(interrupt, Mapping) else {
        k: getattr(interrupt, k, None) for k in ("id", "value", "response_schema")}
    return {k: v for k, v in given.items() if v is not None or k == "value"}


def place(config: Any) -> dict[str, Any] | None:
    """The checkpoint that a config names; None if it names none."""
    given = (config or {}).get("configurable") or {}
    if "thread_id" not in given or not ("checkpoint_id" in given or given.get("checkpoint_ns")):
        return None
    found = {"thread_id": given["thread_id"], "checkpoint_ns": given.get("checkpoint_ns", ""),
             "checkpoint_id": given.get("checkpoint_id")}
    if "checkpoint_map" in given:
        found["checkpoint_map"] = given["checkpoint_map"]
    return found


def made_at(checkpoint_id: str) -> str:
    """The time in a checkpoint's id, which is a UUIDv6."""
    try:
        n = uuid.UUID(checkpoint_id).int
    except ValueError:
        return datetime.datetime.now(datetime.timezone.utc).isoformat()
    ticks = (n >> 80) << 12 | (n >> 64) & 0xFFF  # of 100 ns
    return (GREGORIAN + datetime.timedelta(microseconds=ticks // 10)).isoformat()
