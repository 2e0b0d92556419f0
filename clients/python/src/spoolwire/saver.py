"""A checkpointer whose checkpoints are in the server.

Inside of a worker every write carries the lease of its job: a worker that has lost its lease
cannot overwrite what its successor has written.
"""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (WRITES_IDX_MAP, BaseCheckpointSaver, ChannelVersions,
                                       Checkpoint, CheckpointMetadata, CheckpointTuple,
                                       get_checkpoint_metadata, writes_sort_key)
from langgraph.checkpoint.serde.base import SerializerProtocol

from . import blocking
from .client import Client, part
from .errors import LeaseLost, Refused
from .outbox import GONE

LISTED_AT_ONCE = 50


class SpoolwireSaver(BaseCheckpointSaver[str]):
    """@fence: query parameters of each write.  @before_write is awaited before each write, so that
    the events of a step are stored before its checkpoint is."""

    def __init__(self, client: Client | None = None, *, fence: Mapping[str, str] | None = None,
                 before_write: Callable[[], Awaitable[None]] | None = None,
                 serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._client = client or Client()
        self._fence = dict(fence or {})
        self._before_write = before_write
        self.on_writes: Callable[[str, str, Sequence[tuple[str, Any]]], None] | None = None

    # --- reading --------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        given = config["configurable"]
        wanted = {"ns": given.get("checkpoint_ns", ""), "id": given.get("checkpoint_id")}
        said = await self._post(given["thread_id"], "checkpoints/get", present(wanted))
        found = said.get("checkpoint")
        return None if found is None else self._tuple(given["thread_id"], found)

    async def alist(self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None,
                    before: RunnableConfig | None = None, limit: int | None = None
                    ) -> AsyncIterator[CheckpointTuple]:
        if config is None:
            raise ValueError("the checkpoints of all threads cannot be listed: name a thread_id")
        given = config["configurable"]
        if given.get("checkpoint_id"):
            found = await self.aget_tuple(config)
            if found is not None and matches(found, filter):
                yield found
            return
        end = before["configurable"].get("checkpoint_id") if before else None
        while limit is None or limit > 0:
            n = LISTED_AT_ONCE if limit is None else min(limit, LISTED_AT_ONCE)
            said = await self._post(given["thread_id"], "checkpoints/list", present(
                {"ns": given.get("checkpoint_ns"), "before": end, "limit": n, "filter": filter}))
            page = said["checkpoints"]
            for one in page:
                yield self._tuple(given["thread_id"], one)
            if len(page) < n:
                return
            end = page[-1]["id"]
            limit = None if limit is None else limit - n

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return blocking.run(self.aget_tuple(config))

    def list(self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None,
             before: RunnableConfig | None = None, limit: int | None = None
             ) -> Iterator[CheckpointTuple]:
        async def all_of_them() -> Sequence[CheckpointTuple]:
            found = self.alist(config, filter=filter, before=before, limit=limit)
            return [one async for one in found]

        yield from blocking.run(all_of_them())

    # --- writing --------------------------------------------------------------------

    async def aput(self, config: RunnableConfig, checkpoint: Checkpoint,
                   metadata: CheckpointMetadata, new_versions: ChannelVersions) -> RunnableConfig:
        body = self._checkpoint(config, checkpoint, metadata, new_versions)
        await self._write(config, "checkpoints", body)
        return place(config["configurable"]["thread_id"], body["ns"], checkpoint["id"])

    def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]],
                    task_id: str, task_path: str = "") -> Coroutine[Any, Any, None]:
        """Tells who listens at once: the graph waits for the rest later, or not at all."""
        return self._write(config, "writes", self._writes(config, writes, task_id, task_path))

    async def aput_state(self, config: Mapping[str, Any], ns: str, id: str,
                         state: Mapping[str, Any]) -> None:
        """The JSON projection of a checkpoint, which the server shows."""
        await self._post(config["configurable"]["thread_id"], "state",
                         {"ns": ns, "id": id, "state": state})

    async def adelete_thread(self, thread_id: str) -> None:
        await self._client.request("DELETE", f"/v1/worker/threads/{part(thread_id)}/checkpoints",
                                   query=self._fence)

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
            new_versions: ChannelVersions) -> RunnableConfig:
        body = self._checkpoint(config, checkpoint, metadata, new_versions)
        thread = config["configurable"]["thread_id"]
        blocking.run(self._post(thread, "checkpoints", body))
        return place(thread, body["ns"], checkpoint["id"])

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str,
                   task_path: str = "") -> None:
        body = self._writes(config, writes, task_id, task_path)
        blocking.run(self._post(config["configurable"]["thread_id"], "writes", body))

    def delete_thread(self, thread_id: str) -> None:
        blocking.run(self.adelete_thread(thread_id))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Strings that sort like their numbers; the random fraction tells branches of a thread apart."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    # --- encoding and decoding ------------------------------------------------------

    def _checkpoint(self, config: RunnableConfig, checkpoint: Checkpoint,
                    metadata: CheckpointMetadata, new_versions: ChannelVersions) -> dict[str, Any]:
        rest = cast("dict[str, Any]", {**checkpoint})
        values = rest.pop("channel_values")
        given = config["configurable"]
        return {
            "ns": given.get("checkpoint_ns", ""),
            "id": checkpoint["id"],
            "parent": given.get("checkpoint_id"),
            "checkpoint": self._blob(rest),
            "metadata": get_checkpoint_metadata(config, metadata),
            "versions": {k: str(v) for k, v in checkpoint["channel_versions"].items()},
            "blobs": {k: {"version": str(v), **(self._blob(values[k]) if k in values else EMPTY)}
                      for k, v in new_versions.items()},
        }

    def _writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str,
                task_path: str) -> dict[str, Any]:
        given = config["configurable"]
        if self.on_writes is not None:
            self.on_writes(given["checkpoint_id"], task_id, writes)
        return {
            "ns": given.get("checkpoint_ns", ""),
            "id": given["checkpoint_id"],
            "task": task_id,
            "path": task_path,
            "writes": [{"idx": WRITES_IDX_MAP.get(channel, i), "channel": channel,
                        **self._blob(value)} for i, (channel, value) in enumerate(writes)],
        }

    def _tuple(self, thread: str, found: Mapping[str, Any]) -> CheckpointTuple:
        checkpoint = self._value(found["checkpoint"])
        checkpoint["channel_values"] = {k: self._value(blob) for k, blob in found["blobs"].items()
                                        if blob["type"] != "empty"}
        writes = sorted(found.get("writes") or (),
                        key=lambda w: writes_sort_key(w.get("path") or "", w["task"], w["idx"]))
        parent = found.get("parent")
        return CheckpointTuple(
            place(thread, found["ns"], found["id"]), checkpoint,
            cast(CheckpointMetadata, found.get("metadata") or {}),
            place(thread, found["ns"], parent) if parent else None,
            [(w["task"], w["channel"], self._value(w)) for w in writes])

    def _blob(self, value: Any) -> dict[str, str]:
        kind, data = self.serde.dumps_typed(value)
        return {"type": kind, "data": base64.b64encode(data).decode()}

    def _value(self, blob: Mapping[str, str]) -> Any:
        return self.serde.loads_typed((blob["type"], base64.b64decode(blob["data"])))

    async def _write(self, config: RunnableConfig, what: str, body: Any) -> None:
        if self._before_write is not None:
            await self._before_write()
        await self._post(config["configurable"]["thread_id"], what, body)

    async def _post(self, thread: str, what: str, body: Any) -> Any:
        try:
            answer = await self._client.request(
                "POST", f"/v1/worker/threads/{part(str(thread))}/{what}", body, query=self._fence)
        except Refused as e:
            if e.status in GONE:
                raise LeaseLost(e.detail) from None
            raise
        return answer.json()


class MirroredSaver(SpoolwireSaver):
    """The same, and a checkpointer of the project's own that gets everything, too (custom.py).

    The server's comes first: its writes are fenced, and it knows what was rolled back, copied or pruned.  A
    thread that only the other one knows, from another server perhaps, is taken over when it is first read."""

    def __init__(self, own: BaseCheckpointSaver[Any], client: Client | None = None, **more: Any) -> None:
        super().__init__(client, **more)
        self._own = own

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = await super().aget_tuple(config)
        if found is None:
            found = await self._own.aget_tuple(config)
            if found is not None:
                await self._take_over(found)
        return found

    async def _take_over(self, found: CheckpointTuple) -> None:
        given = dict(found.config["configurable"])
        given["checkpoint_id"] = (found.parent_config or {"configurable": {}})["configurable"].get("checkpoint_id")
        await super().aput({"configurable": given}, found.checkpoint, found.metadata,
                           found.checkpoint["channel_versions"])
        for task in {task for task, _, _ in found.pending_writes or ()}:
            await super().aput_writes(found.config, [(channel, value) for t, channel, value in found.pending_writes or ()
                                                     if t == task], task)

    async def aput(self, config: RunnableConfig, checkpoint: Checkpoint,
                   metadata: CheckpointMetadata, new_versions: ChannelVersions) -> RunnableConfig:
        at = await super().aput(config, checkpoint, metadata, new_versions)
        await self._own.aput(config, checkpoint, metadata, new_versions)
        return at

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]],
                          task_id: str, task_path: str = "") -> None:
        await super().aput_writes(config, writes, task_id, task_path)
        await self._own.aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await super().adelete_thread(thread_id)
        await self._own.adelete_thread(thread_id)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return blocking.run(self.aget_tuple(config))

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
            new_versions: ChannelVersions) -> RunnableConfig:
        at = super().put(config, checkpoint, metadata, new_versions)
        self._own.put(config, checkpoint, metadata, new_versions)
        return at

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str,
                   task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        self._own.put_writes(config, writes, task_id, task_path)


EMPTY = {"type": "empty", "data": ""}


def place(thread: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def present(body: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in body.items() if v is not None}


def matches(found: CheckpointTuple, filter: Mapping[str, Any] | None) -> bool:
    metadata = cast("Mapping[str, Any]", found.metadata)
    return all(metadata.get(k) == v for k, v in (filter or {}).items())
