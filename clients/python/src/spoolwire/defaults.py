"""What the environment says of a graph: LANGGRAPH_CONFIG, as LangGraph's servers read it.

    {"agent": {"configurable": {"model": "small"}, "recursion_limit": 50}, "other": {"context": {"size": 3}}}

The values are those of the assistant that the graph has by itself; other assistants have their own.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from typing import Any

from .errors import SourceError

GRAPHS = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")  # LangGraph's namespace of assistants' ids


def with_defaults(run: Mapping[str, Any], agent: str) -> dict[str, Any]:
    """@run with the defaults of the graph @agent below what it has."""
    said = of_environment().get(agent) or {}
    if not said or run.get("assistant_id") not in (None, agent, str(uuid.uuid5(GRAPHS, agent))):
        return dict(run)
    below = {k: v for k, v in said.items() if k != "context"}
    config = {**below, **(run.get("config") or {})}
    shared = said.get("context") or below.get("configurable") or {}
    own = (run.get("config") or {}).get("configurable") or {}
    config["configurable"] = {**shared, **(run.get("context") or {}), **own}
    filled = {**run, "config": config}
    if said.get("context") or run.get("context"):
        filled["context"] = {**shared, **(run.get("context") or without_ids(own))}
    return filled


def without_ids(configurable: Mapping[str, Any]) -> dict[str, Any]:
    from .run import sent_context

    return sent_context({"config": {"configurable": configurable}})


def of_environment() -> dict[str, Any]:
    text = os.environ.get("LANGGRAPH_CONFIG")
    if not text:
        return {}
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise SourceError(f"LANGGRAPH_CONFIG must be a JSON object by names of graphs, not {text[:80]!r}")
    return said
