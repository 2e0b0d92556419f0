"""For callers that cannot await: a thread with an event loop that does it for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of @work, when it is there."""
    return asyncio.run_coroutine_threadsafe(work, _the_loop()).result()


def _the_loop() -> asyncio.AbstractEventLoop:
    """One for the whole process, made when it is needed first."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="spoolwire", daemon=True).start()
        return _loop
