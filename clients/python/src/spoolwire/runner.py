"""A graph as an agent: an assignment becomes a run of the graph, and its stream the job's events.

The graph gets a checkpointer and a store that keep their data in the server, whatever it was compiled
with, as in LangGraph's server.  So another worker can continue after this one is lost, and the server knows the graph's state when
no worker is alive.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from . import custom, embedding, questions
from .client import Client
from .defaults import with_defaults
from .factory import READ, RUN, USES, Use
from .job import Fence, Job
from .run import Run, config_of, sent_context
from .source import GraphSource

log = logging.getLogger("spoolwire")


class GraphAgent:
    """@stream: what a plain job sends, "events" (with each tool and model call) or "modes" (less
    work for the graph).  Runs of LangGraph's API send what their clients have asked for.
    @client: None keeps checkpoints in the memory of this process."""

    def __init__(self, source: GraphSource, *, client: Client | None = None,
                 stream: str = "events") -> None:
        if stream not in ("events", "modes"):
            raise ValueError(f'stream must be "events" or "modes", not {stream!r}')
        self._source = source
        self._client = client
        self._stream = stream
        self._memory: Any = None

    async def work(self, job: Job) -> Any:
        assignment = job.assignment
        if assignment.run:
            assignment = job.assignment = replace(assignment, run=with_defaults(assignment.run, assignment.agent))
        config, store = config_of(assignment), await self._store(assignment.fence)
        use = Use(RUN, store, sent_context(assignment.run))
        async with self._source.open(config, use) as graph:
            graph, saver = await self._equipped(graph, store, assignment.fence, job.flush)
            return await Run(graph, saver, job, config, self._stream).run()

    async def call(self, name: str, params: Mapping[str, Any], fence: Fence) -> Any:
        if name == "embed":
            return await embedding.answer(params)
        if name == "store":
            return await custom.answer(params)
        config = {"configurable": dict((params.get("config") or {}).get("configurable") or {})}
        store = await self._store(fence)
        async with self._source.open(config, Use(USES.get(name, READ), store)) as graph:
            graph, saver = await self._equipped(graph, store, fence, None)
            return await questions.answer(graph, saver, name, params)

    async def _store(self, fence: Fence) -> Any:
        if self._client is None:
            return None
        own = await custom.STORE.get()
        if own is not None:
            return own
        from .store import SpoolwireStore

        return SpoolwireStore(self._client, fence=fence)

    async def _equipped(self, graph: Any, store: Any, fence: Fence, flush: Any) -> tuple[Any, Any]:
        """The graph with a checkpointer and a store, and the checkpointer if it is ours."""
        if not hasattr(graph, "checkpointer") or not hasattr(graph, "copy"):
            return graph, None  # a chain
        update: dict[str, Any] = {}
        saver = None
        if self._client is not None or graph.checkpointer is None:
            update["checkpointer"] = saver = await self._saver(fence, flush)
        if store is not None:
            update["store"] = store
        return (graph.copy(update) if update else graph), saver

    async def _saver(self, fence: Fence, flush: Any) -> Any:
        if self._client is not None:
            from .saver import MirroredSaver, SpoolwireSaver

            own = await custom.SAVER.get()
            if own is not None:
                return MirroredSaver(own, self._client, fence=fence, before_write=flush)
            return SpoolwireSaver(self._client, fence=fence, before_write=flush)
        if self._memory is None:
            from langgraph.checkpoint.memory import InMemorySaver

            log.warning("SPOOLWIRE_URL is not set: checkpoints are lost with this process")
            self._memory = InMemorySaver()
        return self._memory
