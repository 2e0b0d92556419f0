"""Runs coroutines for synchronous callers, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Waits for @work and returns its result."""
    return asyncio.run_coroutine_threadsafe(work, _the_loop()).result()


def _the_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the process, started at the first call."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="spoolwire", daemon=True).start()
        return _loop
