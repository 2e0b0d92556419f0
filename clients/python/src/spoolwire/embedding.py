"""Vectors of what items say, for searches by meaning: `store.index` of langgraph.json, which `spoolwire dev`
passes on as LANGGRAPH_STORE, as LangGraph's servers do.

    {"index": {"embed": "./embed.py:embed", "dims": 256, "fields": ["text"]}}

`embed` is a function of texts (asynchronous or not), an object of LangChain's `Embeddings`, or the name of a
model (`openai:text-embedding-3-small`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .errors import SourceError


class Index:
    def __init__(self, said: Mapping[str, Any]) -> None:
        from langgraph.store.base import ensure_embeddings

        embed = said.get("embed")
        if not isinstance(embed, str):
            raise SourceError("store.index of langgraph.json needs \"embed\", such as \"./embed.py:embed\"")
        if is_source(embed):
            from .source import load

            embed = load(embed)
        self._model = ensure_embeddings(embed)
        self._fields: list[str] = said.get("fields") or ["$"]
        self._dims = said.get("dims")

    async def of_value(self, value: Mapping[str, Any], fields: Any = None) -> list[list[float]]:
        """@fields: False for none; None for those of the index."""
        from langgraph.store.base import get_text_at_path, tokenize_path

        if fields is False:
            return []
        texts = [text for path in (self._fields if fields is None else fields)
                 for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))]
        return self._checked(await self._model.aembed_documents(texts)) if texts else []

    async def of_query(self, text: str) -> list[float]:
        return self._checked([await self._model.aembed_query(text)])[0]

    def _checked(self, vectors: Any) -> list[list[float]]:
        plain = [[float(x) for x in vector] for vector in vectors]
        for vector in plain:
            if self._dims and len(vector) != self._dims:
                raise SourceError(f"store.index of langgraph.json says {self._dims} dims, and its model makes {len(vector)}")
        return plain


def is_source(embed: str) -> bool:
    """A file or a module, not `provider:model`."""
    module, _, _ = embed.rpartition(":")
    return module.endswith(".py") or "/" in module or "." in module


_found: list[Index | None] = []


def index() -> Index | None:
    """The one of the environment; it is loaded when it is first needed."""
    if not _found:
        said = of_environment().get("index")
        _found.append(Index(said) if said else None)
    return _found[0]


def of_environment() -> dict[str, Any]:
    try:
        said = json.loads(os.environ.get("LANGGRAPH_STORE") or "{}")
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise SourceError("LANGGRAPH_STORE must be a JSON object, as \"store\" of langgraph.json")
    return said


async def answer(params: Mapping[str, Any]) -> dict[str, Any]:
    """The call `embed`: of an item's value, or of what is searched for."""
    found = index()
    if found is None:
        raise SourceError("LANGGRAPH_STORE has no index: this worker has no embedding model")
    if "query" in params:
        return {"vectors": [await found.of_query(params["query"])]}
    return {"vectors": await found.of_value(params["value"], params.get("index"))}
