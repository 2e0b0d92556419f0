"""The JSON Schemas of a graph, as LangGraph's server tells them.

input, output: what the graph itself says.
state: each channel of the state, with the type of its updates.
config: the members of `config.configurable`; context: those of `context`.

A schema is None where there is no JSON Schema, for an odd type perhaps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

# What the server itself puts into config.configurable.
NOT_CONFIGURED = ("thread_id", "checkpoint_id", "checkpoint_ns", "__pregel_checkpointer", "__pregel_store")


def schemas(graph: Any) -> dict[str, Any]:
    return {"input_schema": attempt(lambda: graph.get_input_jsonschema()),
            "output_schema": attempt(lambda: graph.get_output_jsonschema()),
            "state_schema": attempt(lambda: state_schema(graph)),
            "config_schema": attempt(lambda: config_schema(graph)),
            "context_schema": attempt(lambda: graph.get_context_jsonschema())}


def state_schema(graph: Any) -> Any:
    if not hasattr(graph, "stream_channels_list"):
        return graph.get_output_jsonschema()  # a chain
    from pydantic import create_model

    fields = {name: (described(graph.channels[name].UpdateType), None) for name in graph.stream_channels_list}
    return create_model(graph.get_name("State"), **fields).model_json_schema()  # type: ignore[call-overload]


def described(type_: Any) -> Any:
    """@type_, or Any when it has no JSON Schema."""
    from pydantic import TypeAdapter

    return type_ if attempt(lambda: TypeAdapter(type_).json_schema()) is not None else Any


def config_schema(graph: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    fields = graph.config_schema().model_fields
    if "configurable" not in fields:
        return {}
    members: Any = fields["configurable"].annotation
    schema = TypeAdapter(members).json_schema()
    for name in NOT_CONFIGURED:
        schema.get("properties", {}).pop(name, None)
    return schema


def attempt(schema: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return schema()
        except Exception:
            return None
