"""Encodes any value of a graph as one line of JSON.

Messages and models are written flat, as their own model_dump() has them, which is what LangGraph's
server writes too.  What has no JSON form is written as text rather than refused: an odd value in
a state must not end a run.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections import deque
from collections.abc import Mapping, Set
from typing import Any

TEXTS = (uuid.UUID, pathlib.PurePath, decimal.Decimal, BaseException)
TIMES = (datetime.datetime, datetime.date, datetime.time)


def encode(value: Any) -> bytes:
    """One line of JSON, without its line end."""
    try:
        text = json.dumps(value, default=plain, ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair; escaped, the server can join it
        return json.dumps(value, default=plain, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError):
        # A key that is not a string, or an object that contains itself.
        return json.dumps(tame(value, ()), default=str, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """A JSON value that replaces @value, which json cannot encode."""
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)
                if not f.name.startswith("_")}
    if isinstance(value, TIMES):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Set, deque)):
        return list(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, TEXTS):
        return str(value) or type(value).__name__
    slots = getattr(type(value), "__slots__", None)
    if isinstance(slots, (list, tuple)):  # LangGraph's Send, for one
        return {name: getattr(value, name, None) for name in slots if not name.startswith("_")}
    return str(value)


def tame(value: Any, above: tuple[int, ...]) -> Any:
    """A copy of @value in which every key is a string and nothing contains itself."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if id(value) in above or len(above) > 50:
        return "…"
    here = (*above, id(value))
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(k): tame(v, here) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [tame(v, here) for v in value]
    return tame(plain(value), here)
