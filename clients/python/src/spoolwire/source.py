"""Where a graph comes from: an object, a builder, or a function that makes one for each run.

    "agent.py:graph"  "package.module:graph"  "./src/agent.py:make_graph"

A function may take the run's config and a runtime (factory.py), be asynchronous, and return (or be)
a context manager, as with LangGraph's own server.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from .errors import SourceError
from .factory import Use, make


class GraphSource:
    def __init__(self, thing: Any, name: str = "graph") -> None:
        self._thing = thing
        self.name = name
        if is_graph(thing):
            return
        if hasattr(thing, "compile"):
            self._thing = thing.compile()
        elif not callable(thing):
            raise SourceError(f"{name} is {type(thing).__name__}: neither a graph, nor a builder, nor "
                            "a function that makes one")

    @classmethod
    def of(cls, thing: Any) -> GraphSource:
        if isinstance(thing, GraphSource):
            return thing
        return cls(load(thing), thing) if isinstance(thing, str) else cls(thing)

    @asynccontextmanager
    async def open(self, config: Mapping[str, Any], use: Use = Use()) -> AsyncIterator[Any]:
        """The graph for one run, or for another use, such as a call."""
        if is_graph(self._thing):
            yield self._thing
            return
        made = make(self._thing, self.name, config, use)
        if inspect.isawaitable(made):
            made = await made
        if hasattr(made, "__aenter__"):
            async with made as graph:
                yield compiled(graph, self.name)
        elif hasattr(made, "__enter__"):
            with made as graph:
                yield compiled(graph, self.name)
        else:
            yield compiled(made, self.name)


def is_graph(thing: Any) -> bool:
    """Anything that streams: a compiled graph, or another runnable."""
    return hasattr(thing, "astream") and hasattr(thing, "astream_events") and \
        not isinstance(thing, type)


def compiled(graph: Any, name: str) -> Any:
    if is_graph(graph):
        return graph
    if hasattr(graph, "compile"):
        return graph.compile()
    raise SourceError(f"{name} has made {type(graph).__name__}, which is no graph")


def load(where: str) -> Any:
    """The object that "module.py:name" or "package.module:name" names."""
    module_name, colon, name = where.rpartition(":")
    if not colon or not name:
        raise SourceError(f"{where!r}: write it as module.py:graph or package.module:graph")
    module = load_file(module_name) if module_name.endswith(".py") else load_module(module_name)
    thing = module
    for word in name.split("."):
        if not hasattr(thing, word):
            there = ", ".join(sorted(n for n in vars(module) if is_graph(vars(module)[n])))
            raise SourceError(f"{module_name} has no {name!r}" +
                             (f"; its graphs are: {there}" if there else ""))
        thing = getattr(thing, word)
    return thing


def load_module(name: str) -> Any:
    on_path(os.getcwd())
    return importlib.import_module(name)


def load_file(path: str) -> Any:
    """Imports a file; as a module of its package, if it is in one, so that relative imports work."""
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise SourceError(f"{path} does not exist")
    folder, name = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    on_path(os.getcwd())
    on_path(folder)
    if "." in name:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def on_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
