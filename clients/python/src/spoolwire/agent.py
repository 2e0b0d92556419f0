"""An agent: runs jobs of one kind, and answers calls about itself."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Mapping
from typing import Any, Protocol, cast

from .job import Fence, Handler, Job


class Agent(Protocol):
    async def work(self, job: Job) -> Any:
        """Does the job, and returns its output."""

    async def call(self, name: str, params: Mapping[str, Any], fence: Fence) -> Any:
        """The answer to a call; ValueError when there is no call of that name."""


class HandlerAgent:
    """A function: `async def handler(job)`, or one that yields events."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    async def work(self, job: Job) -> Any:
        said = self._handler(job)
        if inspect.isawaitable(said):
            return await said
        async for event in cast("AsyncIterable[Any]", said):
            await job.emit(event)
        return None

    async def call(self, name: str, params: Mapping[str, Any], fence: Fence) -> Any:
        raise ValueError(f"this agent does not know the call {name!r}")


class BrokenAgent:
    """A graph that could not be loaded: every job, and every call, gets the reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def work(self, job: Job) -> Any:
        raise self._error

    async def call(self, name: str, params: Mapping[str, Any], fence: Fence) -> Any:
        raise self._error


def is_handler(thing: Any) -> bool:
    """Not a function that makes a graph, which takes a config."""
    return (inspect.iscoroutinefunction(thing) or inspect.isasyncgenfunction(thing)) and \
        list(inspect.signature(thing).parameters) == ["job"]


def agent_of(thing: Any, **how: Any) -> Agent:
    """@thing as an agent: a handler, a graph, or "module.py:graph", which may name a handler too: an
    asynchronous function of one parameter, `job`."""
    if isinstance(thing, str):
        from .source import GraphSource, load

        named = load(thing)
        thing = named if is_handler(named) else GraphSource(named, thing)
    if hasattr(thing, "work") and hasattr(thing, "call"):
        return cast(Agent, thing)
    if inspect.iscoroutinefunction(thing) or inspect.isasyncgenfunction(thing):
        return HandlerAgent(cast(Handler, thing))
    from .runner import GraphAgent  # only when there is a graph
    from .source import GraphSource

    return GraphAgent(GraphSource.of(thing), **how)
