"""A graph's own stream transformers (``compile(transformers=[…])``): code of the project that sees every
event of a run, and sends data of its own on named channels.

    (namespace, mode, payload) ─▶ protocol event ─▶ transformer.aprocess() ─▶ channel.push(item)
                                                                              └▶ (name, item)

Only the project's transformers run here: those of LangChain's own agents make lifecycles and tools, which
the gateway makes of the parts.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Sent = tuple[str, Any]  # the channel's name, and what was sent


def own_factories(graph: Any) -> list[Any]:
    """Those of the project; an instance is needed to know."""
    factories = getattr(graph, "stream_transformers", None) or ()
    return [make for make in factories if not getattr(make(()), "_native", False)]


class Transformers:
    def __init__(self, factories: Sequence[Any]) -> None:
        from langgraph.stream._mux import StreamMux

        self._sent: list[Sent] = []
        self._messages = MessageEvents()
        sent = self._sent

        class Mux(StreamMux):
            """LangGraph's, without its log of all events: only what is sent on channels is of interest."""

            def _forward(self, method: str, item: Any) -> None:
                sent.append((method.removeprefix("custom:"), item))

            async def apush(self, event: Any) -> None:
                for transformer in self._transformers:
                    await transformer.aprocess(event)

        self._mux = Mux(factories=list(factories), is_async=True)

    @classmethod
    def of(cls, graph: Any) -> Transformers | None:
        """None: the graph has none of its own."""
        factories = own_factories(graph)
        return cls(factories) if factories else None

    def sent(self) -> list[Sent]:
        """What was sent since the last call."""
        now, self._sent[:] = list(self._sent), []
        return now

    async def take(self, namespace: Sequence[str], mode: str, payload: Any) -> list[Sent]:
        if mode == "messages":
            for data in self._messages.take(namespace, *payload):
                await self._push(namespace, mode, data)
            return self.sent()
        if mode == "tasks" and ("result" in payload or "error" in payload):
            await self._finish((*namespace, f"{payload['name']}:{payload['id']}"))
        await self._push(namespace, mode, payload)
        return self.sent()

    async def close(self) -> list[Sent]:
        """The graph has ended."""
        await self._finish(())
        await self._mux.aclose()
        return self.sent()

    async def fail(self, error: BaseException) -> None:
        await self._mux.afail(error)

    async def _finish(self, namespace: Sequence[str]) -> None:
        for ns, data in self._messages.finish(namespace):
            await self._push(ns, "messages", data)

    async def _push(self, namespace: Sequence[str], mode: str, data: Any) -> None:
        params = {"namespace": list(namespace), "timestamp": int(time.time() * 1000), "data": data}
        await self._mux.apush({"type": "event", "method": mode, "params": params})


# --- messages -----------------------------------------------------------------------------------------


class OpenMessage:
    """A message of which pieces have come: its content blocks so far."""

    def __init__(self, namespace: Sequence[str], metadata: Any) -> None:
        self.namespace = tuple(namespace)
        self.metadata = metadata
        self.blocks: dict[tuple[str, Any], tuple[int, dict[str, Any]]] = {}
        self.usage: dict[str, Any] | None = None
        self.response: dict[str, Any] = {}

    def add(self, message: Any) -> Iterator[dict[str, Any]]:
        for key, piece in blocks_of(message):
            if key not in self.blocks:
                self.blocks[key] = (len(self.blocks), start_of(piece))
                index, block = self.blocks[key]
                yield {"event": "content-block-start", "index": index, "content": dict(block)}
            index, block = self.blocks[key]
            if delta := grow(block, piece):
                yield {"event": "content-block-delta", "index": index, "delta": delta}
        self.response |= getattr(message, "response_metadata", None) or {}
        if usage := getattr(message, "usage_metadata", None):
            self.usage = add_usage(self.usage, usage)

    def finish(self) -> Iterator[dict[str, Any]]:
        for index, block in self.blocks.values():
            yield {"event": "content-block-finish", "index": index, "content": whole(block)}
        end: dict[str, Any] = {"event": "message-finish"}
        if self.usage:
            end["usage"] = self.usage
        if self.response:
            end["metadata"] = self.response
        yield end


class MessageEvents:
    """Messages as the events that transformers know.  Mode ``messages`` gives pieces without an end, so a
    message ends with the task that it is from."""

    def __init__(self) -> None:
        self._open: dict[tuple[tuple[str, ...], Any], OpenMessage] = {}

    def take(self, namespace: Sequence[str], message: Any, metadata: Any) -> Iterator[tuple[Any, Any]]:
        place = ns_of(namespace, metadata)
        key = (place, message.id)
        if (known := self._open.get(key)) is None:
            known = self._open[key] = OpenMessage(place, metadata)
            role = {"AIMessageChunk": "ai"}.get(message.type, message.type)
            yield {"event": "message-start", "role": role, "id": message.id or ""}, metadata
        for data in known.add(message):
            yield data, metadata
        if not type(message).__name__.endswith("Chunk") or getattr(message, "chunk_position", None) == "last":
            del self._open[key]
            for data in known.finish():
                yield data, metadata

    def finish(self, namespace: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[Any, Any]]]:
        """Ends the messages of a namespace and of those inside it."""
        ended = [key for key in self._open if key[0][:len(namespace)] == tuple(namespace)]
        gone = [self._open.pop(key) for key in ended]
        return [(message.namespace[:-1], (data, message.metadata)) for message in gone for data in message.finish()]


def ns_of(namespace: Sequence[str], metadata: Any) -> tuple[str, ...]:
    """The namespace of the task that a message is from; the part has the one around it."""
    own = (metadata or {}).get("langgraph_checkpoint_ns")
    return tuple(own.split("|")) if own else tuple(namespace)


def blocks_of(message: Any) -> Iterator[tuple[tuple[str, Any], dict[str, Any]]]:
    """The blocks of a piece, each with the key under which its further pieces come.  A text and a call may
    have the same index: they are told apart by their type."""
    content = message.content
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    for part in content:
        block = {"type": "text", "text": part} if isinstance(part, str) else part
        yield (block.get("type", ""), block.get("index", 0)), block
    for call in getattr(message, "tool_call_chunks", None) or ():
        index = call.get("index")
        yield ("call", call.get("id") if index is None else index), {**call, "type": "tool_call_chunk"}


def start_of(piece: dict[str, Any]) -> dict[str, Any]:
    if piece.get("type") == "text":
        return {"type": "text", "text": ""}
    if piece.get("type") == "reasoning":
        return {"type": "reasoning", "reasoning": ""}
    if piece.get("type") == "tool_call_chunk":
        return {"type": "tool_call_chunk", "id": piece.get("id"), "name": piece.get("name"), "args": ""}
    return dict(piece)


def grow(block: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any] | None:
    """Adds a piece to its block; the delta, if it has one."""
    kind = piece.get("type")
    for name, key, delta in (("text", "text", "text-delta"), ("reasoning", "reasoning", "reasoning-delta"),
                             ("tool_call_chunk", "args", "tool-call-delta")):
        if kind == name and (more := piece.get(key)):
            block[key] += more
            return {"type": delta, key: more}
    return None


def whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block when it is whole: the arguments of a call are parsed."""
    if block.get("type") != "tool_call_chunk":
        return block
    known = {"id": block["id"], "name": block["name"]}
    try:
        return {"type": "tool_call", **known, "args": json.loads(block["args"] or "{}")}
    except ValueError:
        return {"type": "invalid_tool_call", **known, "args": block["args"]}


def add_usage(sum: dict[str, Any] | None, usage: Any) -> dict[str, Any]:
    total = {**(sum or {}), **usage}
    for key in ("input_tokens", "output_tokens", "total_tokens"):
        total[key] = (sum or {}).get(key, 0) + usage.get(key, 0)
    return total
