"""A store and a checkpointer of the project's own: `store.path` and `checkpointer.path` of langgraph.json, which
`spoolwire dev` passes on as LANGGRAPH_STORE and LANGGRAPH_CHECKPOINTER, as LangGraph's servers do.

    {"path": "./memory.py:make_store"}

The path names the object, or a function (asynchronous or not) that returns it, or a context manager that
gives it.  It is made once in a process, when it is first needed.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from .errors import SourceError

STEPS = 5  # a function that returns a coroutine that returns a context manager …


class Custom:
    def __init__(self, variable: str, member: str, is_it: Callable[[Any], bool], what: str) -> None:
        self._variable, self._member, self._is_it, self._what = variable, member, is_it, what
        # It may keep connections, which belong to an event loop.
        self._made: weakref.WeakKeyDictionary[Any, asyncio.Task[Any]] = weakref.WeakKeyDictionary()
        self._stack = AsyncExitStack()

    def path(self) -> str | None:
        try:
            said = json.loads(os.environ.get(self._variable) or "{}")
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise SourceError(f"{self._variable} must be a JSON object, as \"{self._member}\" of langgraph.json")
        path = said.get("path")
        return path if isinstance(path, str) else None

    async def get(self) -> Any:
        """None: the project has none."""
        path = self.path()
        if path is None:
            return None
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = loop.create_task(self._make(path))
        return await asyncio.shield(self._made[loop])

    async def _make(self, path: str) -> Any:
        from .source import load

        thing = load(path)
        for _ in range(STEPS):
            if not isinstance(thing, type) and self._is_it(thing):
                return thing
            if inspect.isawaitable(thing):
                thing = await thing
            elif inspect.isasyncgen(thing):
                thing = await thing.__anext__()
            elif hasattr(thing, "__aenter__"):
                thing = await self._stack.enter_async_context(thing)
            elif hasattr(thing, "__enter__"):
                thing = self._stack.enter_context(thing)
            elif callable(thing):
                thing = thing()
            else:
                break
        raise SourceError(f"'{self._member}.path': {path} gives {type(thing).__name__}, and not {self._what}")


def _is_store(thing: Any) -> bool:
    from langgraph.store.base import BaseStore

    return isinstance(thing, BaseStore)


def _is_saver(thing: Any) -> bool:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    return isinstance(thing, BaseCheckpointSaver)


STORE = Custom("LANGGRAPH_STORE", "store", _is_store, "a BaseStore of langgraph")
SAVER = Custom("LANGGRAPH_CHECKPOINTER", "checkpointer", _is_saver, "a BaseCheckpointSaver of langgraph")


# --- requests of the server about the store ----------------------------------------------


async def answer(params: Mapping[str, Any]) -> Any:
    """The call `store`: a request to /store, of a client or of a worker in another language."""
    store = await STORE.get()
    if store is None:
        raise SourceError("LANGGRAPH_STORE has no path: this worker has no store of its own")
    body = params.get("body") or {}
    return await OPERATIONS[params["op"]](store, body)


def namespace(body: Mapping[str, Any], name: str = "namespace") -> tuple[str, ...]:
    labels = body.get(name) or []
    if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
        raise ValueError(f"\"{name}\" must be a list of labels")
    return tuple(labels)


def key_of(body: Mapping[str, Any]) -> str:
    key = body.get("key")
    if not isinstance(key, str) or not key:
        raise ValueError("\"key\" must be a text")
    return key


def given(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: body[name] for name in names if body.get(name) is not None}


async def get(store: Any, body: Mapping[str, Any]) -> Any:
    found = await store.aget(namespace(body), key_of(body), **given(body, "refresh_ttl"))
    return None if found is None else shown(found)


async def put(store: Any, body: Mapping[str, Any]) -> Any:
    if not isinstance(body.get("value"), dict):
        raise ValueError("\"value\" must be an object")
    if not namespace(body):
        raise ValueError("\"namespace\" must not be empty")
    await store.aput(namespace(body), key_of(body), body["value"], **given(body, "index", "ttl"))
    return None


async def delete(store: Any, body: Mapping[str, Any]) -> Any:
    await store.adelete(namespace(body), key_of(body))
    return None


async def search(store: Any, body: Mapping[str, Any]) -> Any:
    found = await store.asearch(namespace(body, "namespace_prefix"),
                                **given(body, "query", "filter", "limit", "offset", "refresh_ttl"))
    return {"items": [{**shown(one), "score": one.score} for one in found]}


async def namespaces(store: Any, body: Mapping[str, Any]) -> Any:
    found = await store.alist_namespaces(
        prefix=namespace(body, "prefix") or None, suffix=namespace(body, "suffix") or None,
        **given(body, "max_depth", "limit", "offset"))
    return {"namespaces": [list(one) for one in found]}


OPERATIONS = {"get": get, "put": put, "delete": delete, "search": search, "namespaces": namespaces}


def shown(item: Any) -> dict[str, Any]:
    return {"namespace": list(item.namespace), "key": item.key, "value": item.value,
            "created_at": item.created_at.isoformat(), "updated_at": item.updated_at.isoformat()}
