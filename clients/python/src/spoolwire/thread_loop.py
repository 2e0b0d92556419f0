"""The event loop of a thread that an engine gives us, and its connections: kept from ticket to ticket.

asyncio.run() makes a loop for each call, so that each ticket would connect to the server again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from .address import token_of, url_of
from .client import Client

T = TypeVar("T")


class ThreadLoop(threading.local):
    """One for each thread, made when it is first used there."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._clients: dict[tuple[str, str | None], Client] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """As asyncio.run(): tasks that are left are cancelled."""
        asyncio.set_event_loop(self._loop)
        try:
            return self._loop.run_until_complete(work)
        finally:
            self._cancel_rest()
            asyncio.set_event_loop(None)  # other tasks of the engine's do not find it

    def client(self, url: str, token: str | None) -> Client:
        """Waits without limit: writes of checkpoints wait for the server, as events do."""
        key = url_of(url), token_of(token)
        if key not in self._clients:
            self._clients[key] = Client(*key, patience=None)
        return self._clients[key]

    def _cancel_rest(self) -> None:
        rest = asyncio.all_tasks(self._loop)
        for task in rest:
            task.cancel()
        if rest:
            self._loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
