"""spoolwire: workers, checkpoints and readers for the durable gateway of agent runs.

LangGraph and LangChain are imported only with the names that need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .client import Client
from .errors import HandBack, Interrupted, LeaseLost, NotTrusted, Refused, ServerAway, SpoolwireError
from .job import Job, cancelled
from .subscribe import Event, subscribe
from .worker import Worker

if TYPE_CHECKING:
    from .callback import SpoolwireCallback as SpoolwireCallback
    from .runner import GraphAgent as GraphAgent
    from .saver import SpoolwireSaver as SpoolwireSaver
    from .source import GraphSource as GraphSource
    from .store import SpoolwireStore as SpoolwireStore

__version__ = "0.1.0"

__all__ = ["Client", "Event", "GraphAgent", "GraphSource", "HandBack", "Interrupted", "Job",
           "LeaseLost", "NotTrusted", "Refused", "ServerAway", "SpoolwireCallback", "SpoolwireError",
           "SpoolwireSaver", "SpoolwireStore", "Worker", "cancelled", "subscribe"]

LATER = {"GraphAgent": "runner", "GraphSource": "source", "SpoolwireCallback": "callback",
         "SpoolwireSaver": "saver", "SpoolwireStore": "store"}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{LATER[name]}", __name__), name)
