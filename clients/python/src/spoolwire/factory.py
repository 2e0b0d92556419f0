"""Graph factories: functions that make a graph for each run, and their arguments.

As with LangGraph's own server, a function takes the run's config, a `ServerRuntime`, both or nothing.
The runtime says what the graph is wanted for: one that is only drawn needs no connections.

    def make_graph(): ...
    def make_graph(config: RunnableConfig): ...
    def make_graph(runtime: ServerRuntime): ...
    async def make_graph(config: RunnableConfig, runtime: ServerRuntime): ...
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import SourceError

RUN = "threads.create_run"
# What calls use the graph for; all other calls read the graph itself.
USES = {"get_state": "threads.read", "update_state": "threads.update",
        "bulk_update_state": "threads.update"}
READ = "assistants.read"


@dataclass(frozen=True)
class Use:
    """What a graph is made for: in LangGraph's words, an access context."""

    why: str = RUN
    store: Any = None
    context: Mapping[str, Any] | None = None  # of a run, as its client has sent it

    def runtime(self) -> Any:
        try:
            from langgraph_sdk.runtime import _ExecutionRuntime, _ReadRuntime
        except ImportError:
            raise SourceError("the graph's function wants a runtime, which this langgraph-sdk does "
                              "not have: pip install -U langgraph-sdk") from None
        how: dict[str, Any] = {"access_context": self.why, "user": None, "store": self.store}
        if self.why != RUN:
            return _ReadRuntime(**how)
        return _ExecutionRuntime(**how, context=dict(self.context or {}))


def make(function: Callable[..., Any], name: str, config: Mapping[str, Any], use: Use) -> Any:
    """Calls it; what it returns may have to be awaited or entered."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter, wants_runtime in wanted(function, name):
        value = use.runtime() if wants_runtime else config
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[parameter.name] = value
    return function(*positional, **named)


def wanted(function: Callable[..., Any], name: str) -> list[tuple[inspect.Parameter, bool]]:
    """Its parameters, and which of them is the runtime: by its type, else by its name or as the
    second of two."""
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    taken = [p for p in inspect.signature(function).parameters.values() if p.kind not in many]
    if len(taken) > 2:
        raise SourceError(f"{name} takes {', '.join(p.name for p in taken)}: a function that makes a "
                          "graph takes a config, a runtime, both or nothing")
    hints = hints_of(function)
    typed = [is_runtime(hints.get(p.name, p.annotation)) for p in taken]
    if not any(typed):
        typed = [p.name == "runtime" for p in taken]
    if len(taken) == 2 and typed.count(True) != 1:
        typed = [False, True]
    return list(zip(taken, typed))


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Its annotations, also if they are names that it imports for type checkers only."""
    known: dict[str, Any] = {"RunnableConfig": dict}
    if (server_runtime := alias()) is not None:
        known["ServerRuntime"] = server_runtime
    try:
        return typing.get_type_hints(function, localns=known)
    except Exception:
        return {}


def is_runtime(hint: Any) -> bool:
    """`ServerRuntime`, `ServerRuntime[Context]`, `Annotated[ServerRuntime, …]`, or one of its classes."""
    server_runtime = alias()
    if server_runtime is None or hint is inspect.Parameter.empty:
        return False
    if hint is server_runtime or typing.get_origin(hint) is server_runtime:
        return True
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return is_runtime(parts[0])
    kind = origin if isinstance(origin, type) else hint
    from langgraph_sdk.runtime import _ServerRuntimeBase

    return isinstance(kind, type) and issubclass(kind, _ServerRuntimeBase)


def alias() -> Any:
    try:
        from langgraph_sdk.runtime import ServerRuntime
    except ImportError:
        return None
    return ServerRuntime
