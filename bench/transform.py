#!/usr/bin/env python3
"""The transformer of the `agent` events in Python, the yardstick for `make bench`.

    bench/transform.py [FILE...]        (standard input without FILE)

Reads `astream_events` v2 as JSON lines, in LangChain.js's `lc` encoding or Python's flat
one, and writes the events of `agent` as SSE frames.  Each FILE is one job.

It is written as a Python team would write it: the standard library's json, one dispatch
table, one handler per event type, plain dicts out.  It gives the same events as the dialect
`agent` (docs/dialects.md), which takes some care: which run is a node, whose token it is.  It
is neither slowed down nor tuned, so that the ratio printed by `bench/run` means something.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO, TypeAlias

Event: TypeAlias = dict[str, Any]  # one astream_events event
SseEvent: TypeAlias = dict[str, Any]  # one event of the front end; "type" comes first
Handler: TypeAlias = Callable[[Event], list[SseEvent]]

ALL_NODES = {
    "supervisor", "investigator", "codebase_search",
    "web_search", "critic", "human_input", "writer",
}
WORKER_NODES = {"investigator", "codebase_search", "web_search", "critic", "writer"}
OUTPUT_NODES = {"writer"}
SECTIONS = {"report", "comment_draft", "ticket_draft"}

INPUT_PREVIEW_CHARS = 60
RESULT_SUMMARY_CHARS = 120


# --- reading LangChain's objects ----------------------------------------------------------


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def message_fields(message: Any) -> dict[str, Any]:
    """The fields of a serialised message: `lc` constructor, {type, data}, or flat."""
    if not isinstance(message, dict):
        return {}
    if message.get("lc") == 1:
        return message.get("kwargs", {})
    if isinstance(message.get("data"), dict):
        return message["data"]
    return message


def message_text(fields: dict[str, Any]) -> str:
    """What `AIMessageChunk.text` gives: string content, or the text blocks of a list."""
    content = fields.get("content", fields.get("text", ""))
    if isinstance(content, str):
        return content
    parts = []
    for block in content or []:
        if isinstance(block, str):
            parts.append(block)
        elif block.get("type") == "text":
            parts.append(block.get("text", ""))
    return "".join(parts)


def result_text(output: Any) -> str:
    """Text of a tool message, else the string itself, else compact JSON."""
    if isinstance(output, str):
        return output
    fields = message_fields(output)
    return message_text(fields) if "content" in fields else compact(output)


def error_text(error: Any) -> str:
    if isinstance(error, str):  # LangChain.js: message, blank line, stack trace
        return error.split("\n\n", 1)[0]
    if isinstance(error, dict):
        return error.get("message") or error.get("repr") or compact(error)
    return str(error)


# --- the transformer ----------------------------------------------------------------------


@dataclass
class Execution:
    """One visit of a top-level node; its run id is the agent id."""

    agent_id: str
    node: str
    step: int | None
    namespace: str
    started: float
    closed: bool = False
    sections_done: set[str] = field(default_factory=set)
    token_owner: dict[str, str] = field(default_factory=dict)  # message id -> run id

    @property
    def has_card(self) -> bool:
        return self.node in WORKER_NODES


class LangGraphEventTransformer:
    """Turns one job's events into front-end events.  One instance per job."""

    def __init__(self) -> None:
        self._node_runs: set[str] = set()
        self._executions: dict[str, Execution] = {}  # by run id of the node run
        self._by_namespace: dict[str, Execution] = {}  # newest one
        self._run_sections: dict[str, str] = {}  # run id of a writer branch -> its section
        self._interrupted = False
        self._root_ended = False
        self._handlers: dict[str, Handler] = {
            "on_chain_start": self._on_chain_start,
            "on_chain_stream": self._on_chain_stream,
            "on_chain_end": self._on_chain_end,
            "on_chat_model_stream": self._on_token,
            "on_llm_stream": self._on_token,
            "on_tool_start": self._on_tool_start,
            "on_tool_end": self._on_tool_end,
            "on_tool_error": self._on_tool_error,
        }

    def transform(self, event: Event) -> list[SseEvent]:
        handler = self._handlers.get(event["event"])
        return handler(event) if handler is not None else []

    def finish(self) -> list[SseEvent]:
        """The job's end, when its events have run out."""
        if self._interrupted:
            return self._close_all("interrupted")
        if self._root_ended:
            return [*self._close_all("error"), {"type": "job.done"}]
        return [
            *self._close_all("error"),
            {"type": "job.failed", "error": "the run ended without a result"},
        ]

    # Handlers, one per event type.

    def _on_chain_start(self, event: Event) -> list[SseEvent]:
        section = self._branch_section(event)
        if section is not None:
            self._run_sections[event["run_id"]] = section
        if not self._is_node_run(event):
            return []
        run_id = event["run_id"]
        top_level = self._is_top_level(event)
        self._node_runs.add(run_id)
        if not top_level:
            return []

        meta = event["metadata"]
        namespace = meta.get("langgraph_checkpoint_ns", "")
        previous = self._by_namespace.get(namespace)
        out = []
        if previous is not None and not previous.closed:
            out += self._close(previous, "retried")
        execution = Execution(
            agent_id=run_id,
            node=event["name"],
            step=meta.get("langgraph_step"),
            namespace=namespace,
            started=time.monotonic(),
        )
        self._executions[run_id] = execution
        self._by_namespace[namespace] = execution
        if execution.has_card:
            out.append({
                "type": "agent.spawned",
                "agent_id": run_id,
                "agent_name": execution.node,
                "node": execution.node,
            })
        return out

    def _on_chain_stream(self, event: Event) -> list[SseEvent]:
        if event.get("metadata", {}).get("langgraph_node") or event.get("parent_ids"):
            return []  # only the root's chunks tell of interrupts
        chunk = event["data"].get("chunk")
        if isinstance(chunk, list) and chunk:  # [mode, payload], [namespace, mode, payload]
            chunk = chunk[-1]
        if not isinstance(chunk, dict) or "__interrupt__" not in chunk:
            return []
        self._interrupted = True
        interrupts = chunk["__interrupt__"]
        if not interrupts:
            return [{"type": "graph.paused"}]
        return [self._interrupt(interrupt) for interrupt in interrupts]

    def _on_chain_end(self, event: Event) -> list[SseEvent]:
        meta = event.get("metadata", {})
        if not meta.get("langgraph_node") and not event.get("parent_ids"):
            self._root_ended = True
            return []
        execution = self._executions.get(event["run_id"])
        if execution is None:
            return self._section_done(event)
        out = self._close(execution)
        if execution.node in ALL_NODES:
            out.append({
                "type": "graph.node_complete",
                "node": execution.node,
                "step": execution.step,
            })
        return out

    def _on_token(self, event: Event) -> list[SseEvent]:
        execution = self._execution_of(event)
        if execution is None or not execution.has_card:
            return []
        chunk = event["data"]["chunk"]
        fields = message_fields(chunk)
        token = chunk if isinstance(chunk, str) else message_text(fields)
        if not token:
            return []
        message_id = fields.get("id")
        if message_id:  # a model that wraps a model repeats its tokens
            owner = execution.token_owner.setdefault(message_id, event["run_id"])
            if owner != event["run_id"]:
                return []
        out: list[SseEvent] = [
            {"type": "agent.token", "agent_id": execution.agent_id, "token": token}
        ]
        if execution.node in OUTPUT_NODES:
            section = self._section_of(event)
            out.append({"type": "output.token", "token": token, "section": section})
        return out

    def _on_tool_start(self, event: Event) -> list[SseEvent]:
        execution = self._execution_of(event)
        if execution is None or not execution.has_card:
            return []
        return [{
            "type": "agent.tool_call",
            "agent_id": execution.agent_id,
            "tool_name": event["name"],
            "input_preview": compact(event["data"].get("input"))[:INPUT_PREVIEW_CHARS],
        }]

    def _on_tool_end(self, event: Event) -> list[SseEvent]:
        return self._tool_result(event, result_text(event["data"].get("output")))

    def _on_tool_error(self, event: Event) -> list[SseEvent]:
        return self._tool_result(event, error_text(event["data"].get("error")), "error")

    # Whose event is it?

    @staticmethod
    def _is_node_run(event: Event) -> bool:
        meta = event.get("metadata", {})
        node = meta.get("langgraph_node")
        if not node or event["name"] != node:
            return False
        tags = event.get("tags", [])
        return f"graph:step:{meta.get('langgraph_step')}" in tags and "langsmith:hidden" not in tags

    def _is_top_level(self, event: Event) -> bool:
        parents = event.get("parent_ids")
        if parents:
            return self._node_runs.isdisjoint(parents)
        return "|" not in event["metadata"].get("langgraph_checkpoint_ns", "")

    def _execution_of(self, event: Event) -> Execution | None:
        parents = event.get("parent_ids")
        if parents:  # Python
            for run_id in (*parents, event["run_id"]):
                if run_id in self._executions:
                    return self._executions[run_id]
            return None
        namespace = event.get("metadata", {}).get("langgraph_checkpoint_ns", "")
        return self._by_namespace.get(namespace.split("|", 1)[0])

    @staticmethod
    def _branch_section(event: Event) -> str | None:
        """The section whose branch this run is, if it is one."""
        for tag in event.get("tags", []):
            if tag.startswith("map:key:") and tag.removeprefix("map:key:") in SECTIONS:
                return tag.removeprefix("map:key:")
        return event["name"] if event["name"] in SECTIONS else None

    def _section_of(self, event: Event) -> str | None:
        meta = event.get("metadata", {})
        if meta.get("section"):
            return meta["section"]
        section = self._branch_section(event)
        if section is not None:
            return section
        for run_id in reversed(event.get("parent_ids") or []):
            if run_id in self._run_sections:
                return self._run_sections[run_id]
        for segment in meta.get("langgraph_checkpoint_ns", "").split("|")[1:]:
            name = segment.split(":", 1)[0]
            if name in SECTIONS:
                return name
        return None

    # Parts that several handlers share.

    def _tool_result(self, event: Event, text: str, status: str = "") -> list[SseEvent]:
        execution = self._execution_of(event)
        if execution is None or not execution.has_card:
            return []
        sse = {
            "type": "agent.tool_result",
            "agent_id": execution.agent_id,
            "tool_name": event["name"],
            "result_summary": text[:RESULT_SUMMARY_CHARS],
        }
        if status:
            sse["status"] = status
        return [sse]

    def _section_done(self, event: Event) -> list[SseEvent]:
        section = self._branch_section(event)
        if section is None:
            return []
        execution = self._execution_of(event)
        if execution is None or execution.node not in OUTPUT_NODES:
            return []
        if section in execution.sections_done:
            return []
        execution.sections_done.add(section)
        return [{"type": "output.section_done", "section": section}]

    @staticmethod
    def _interrupt(interrupt: dict[str, Any]) -> SseEvent:
        value = interrupt.get("value")
        if isinstance(value, dict) and value.get("kind") == "pause":
            return {"type": "graph.paused"}
        sse = {"type": "graph.interrupt"}
        if isinstance(value, dict):
            sse |= {key: value[key] for key in ("question", "context") if key in value}
        return sse | {"interrupt_id": interrupt.get("id"), "value": value}

    @staticmethod
    def _close(execution: Execution, status: str = "") -> list[SseEvent]:
        if execution.closed:
            return []
        execution.closed = True
        if not execution.has_card:
            return []
        sse = {
            "type": "agent.done",
            "agent_id": execution.agent_id,
            "node": execution.node,
            "elapsed_ms": int((time.monotonic() - execution.started) * 1000),
        }
        if status:
            sse["status"] = status
        return [sse]

    def _close_all(self, status: str) -> list[SseEvent]:
        out = []
        for execution in reversed(self._executions.values()):
            out += self._close(execution, status)
        return out


# --- the filter ---------------------------------------------------------------------------


def transform_job(lines: Iterable[str]) -> Iterator[SseEvent]:
    transformer = LangGraphEventTransformer()
    for line in lines:
        yield from transformer.transform(json.loads(line))
    yield from transformer.finish()


def write_job(lines: Iterable[str], out: TextIO) -> None:
    for number, sse in enumerate(transform_job(lines), start=1):
        data = json.dumps(sse, separators=(",", ":"))
        out.write(f"id: {number}\nevent: {sse['type']}\ndata: {data}\n\n")


def main(paths: list[str]) -> None:
    if not paths:
        write_job(sys.stdin, sys.stdout)
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as lines:
            write_job(lines, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
