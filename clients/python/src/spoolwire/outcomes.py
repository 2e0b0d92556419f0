"""What becomes of the tasks of a checkpoint.

It is known when the graph makes the next checkpoint from it, and stored with the state of that: so each
state is stored once, and the server's history shows results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .snapshot import question

PULL, PUSH = "__pregel_pull", "__pregel_push"
WHOLE = ("__return__", "__end__")  # channels whose value is the whole result
OF_GRAPH = ("__", "branch:", "join:")  # channels that are no part of the state begin so
Writes = Sequence[tuple[str, Any]]


@dataclass
class Newest:
    """The newest checkpoint of a namespace, and its tasks by their ids."""

    id: str
    tasks: dict[str, dict[str, Any]]
    ended: dict[str, Any] | None  # what became of the tasks before it


class Outcomes:
    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._newest: dict[str, Newest] = {}
        self._early: dict[tuple[str, str], Writes] = {}  # of (checkpoint, task), until its part comes

    def wrote(self, checkpoint: str, task: str, writes: Writes) -> None:
        """Told by the saver: tasks that the stream hides, such as `__start__`, are known by their writes."""
        self._early[checkpoint, task] = writes

    def heard(self, namespace: Sequence[str], part: Mapping[str, Any]) -> None:
        """A part of the stream mode `tasks`: a task begins, or has ended."""
        newest = self._newest.get("|".join(namespace))
        task = newest.tasks.get(part["id"]) if newest else None
        if newest is None or task is None:
            return  # a call of a task of the functional API, which is in no checkpoint
        if "triggers" in part:
            task["path"] = path_of(task, part["triggers"], newest.tasks.values())
            return
        if part.get("interrupts"):
            task["interrupts"] = [question(i) for i in part["interrupts"]]
        elif part.get("error") is None:
            task["result"] = whole(part.get("result"))

    def next(self, state: dict[str, Any]) -> None:
        """Adds to a new state what became of the tasks before it."""
        at, parent = state["checkpoint"], state["parent_checkpoint"]
        before, ended = self._newest.get(at["checkpoint_ns"]), None
        if before and parent and parent["checkpoint_id"] == before.id:
            tasks = [self._ended(before.id, task) for task in before.tasks.values()]
            ended = {"checkpoint_id": before.id, "tasks": self._sorted(at["checkpoint_ns"], tasks)}
        if before:
            self._early = {k: v for k, v in self._early.items() if k[0] != before.id}
        self._newest[at["checkpoint_ns"]] = Newest(
            at["checkpoint_id"], {task["id"]: dict(task) for task in state["tasks"]}, ended)
        self.add_to(state)

    def add_to(self, state: dict[str, Any]) -> None:
        """The same when a state is stored once more."""
        newest = self._newest.get(state["checkpoint"]["checkpoint_ns"])
        if newest and newest.ended and newest.id == state["checkpoint"]["checkpoint_id"]:
            state["ended"] = newest.ended

    def _sorted(self, namespace: str, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The stream has the tasks of a step by their names; a graph has them in the order of its nodes,
        behind those that were sent."""
        if len(tasks) < 2:
            return tasks
        names = [step.partition(":")[0] for step in namespace.split("|")]
        graph = self._graph
        for name in names if namespace else ():
            graph = dict(graph.get_subgraphs(namespace=name)).get(name) if graph is not None else None
        nodes = {name: n for n, name in enumerate(getattr(graph, "nodes", ()))}
        return sorted(tasks, key=lambda task: -1 if task["path"][:1] == [PUSH]
                      else nodes.get(task["name"], len(nodes)))

    def _ended(self, checkpoint: str, task: dict[str, Any]) -> dict[str, Any]:
        writes = self._early.get((checkpoint, task["id"]))
        if task["path"] or writes is None:
            return task
        return {**task, "path": [PULL, task["name"]],
                "result": whole({k: v for k, v in writes if not k.startswith(OF_GRAPH) or k in WHOLE})}


def path_of(task: Mapping[str, Any], triggers: Sequence[str], all: Any) -> list[Any]:
    """Of a task that was sent: its place among those.  They come before the others."""
    if PUSH not in triggers:
        return [PULL, task["name"]]
    return [PUSH, [other["id"] for other in all].index(task["id"]), False]


def whole(result: Any) -> Any:
    if isinstance(result, Mapping):
        for name in WHOLE:
            if name in result:
                return result[name]
    return result
