"""A store, LangGraph's long-term memory, whose items are in the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from langgraph.store.base import (BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result,
                                  SearchItem, SearchOp)

from . import blocking, embedding
from .client import Client
from .job import Fence


class SpoolwireStore(BaseStore):
    """@fence: of a job, whose owner's items these are; else they are those of the token's owner."""

    supports_ttl = True

    def __init__(self, client: Client | None = None, *, fence: Fence | None = None) -> None:
        self._client = client or Client()
        self._fence = dict(fence or {})

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return blocking.run(self.abatch(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the state before the batch; of several writes to an item the last one wins."""
        given = list(ops)
        results: list[Result] = [None] * len(given)

        async def read(i: int, op: Op) -> None:
            results[i] = await self._read(op)

        await asyncio.gather(*(read(i, op) for i, op in enumerate(given)
                               if not isinstance(op, PutOp)))
        last = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        await asyncio.gather(*(self._write(op) for op in last.values()))
        return results

    async def _write(self, op: PutOp) -> None:
        name = {"namespace": list(op.namespace), "key": op.key}
        if op.value is None:
            await self._ask("DELETE", "items", name)
            return
        body: dict[str, Any] = {**name, "value": op.value}
        if op.index is not None:
            body["index"] = op.index
        if isinstance(op.ttl, (int, float)):
            body["ttl"] = op.ttl
        if (index := embedding.index()) is not None:
            body["vectors"] = await index.of_value(op.value, op.index)
        await self._ask("PUT", "items", body)

    async def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            keep = {} if op.refresh_ttl else {"refresh_ttl": "false"}  # else as the server's settings say
            found = await self._ask("GET", "items", namespace=".".join(op.namespace), key=op.key, **keep)
            return None if found is None else Item(**fields(found))
        if isinstance(op, SearchOp):
            asked: dict[str, Any] = {"namespace_prefix": list(op.namespace_prefix), "filter": op.filter or {},
                                     "limit": op.limit, "offset": op.offset, "query": op.query}
            if not op.refresh_ttl:
                asked["refresh_ttl"] = False
            if op.query and (index := embedding.index()) is not None:
                asked["vector"] = await index.of_query(op.query)
            said = await self._ask("POST", "items/search", asked)
            return [SearchItem(**fields(one), score=one.get("score"))
                    for one in said["items"]]
        if isinstance(op, ListNamespacesOp):
            body: dict[str, Any] = {"limit": op.limit, "offset": op.offset}
            for condition in op.match_conditions or ():
                body[condition.match_type] = list(condition.path)
            if op.max_depth is not None:
                body["max_depth"] = op.max_depth
            return namespaces(await self._ask("POST", "namespaces", body))
        raise TypeError(f"a store knows no {type(op).__name__}")

    async def _ask(self, method: str, what: str, body: Any = None, **query: str) -> Any:
        answer = await self._client.request(method, f"/store/{what}", body,
                                            query={**query, **self._fence})
        return answer.json()


def fields(found: dict[str, Any]) -> dict[str, Any]:
    return {"namespace": tuple(found["namespace"]), "key": found["key"], "value": found["value"],
            "created_at": time_of(found["created_at"]), "updated_at": time_of(found["updated_at"])}


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def namespaces(said: Any) -> list[tuple[str, ...]]:
    found: Sequence[Sequence[str]] = said["namespaces"]
    return [tuple(one) for one in found]
