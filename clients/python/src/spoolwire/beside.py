"""A thread of ours beside each thread that an engine gives us, which does the work while the engine's waits.

Dask looks a hundred times a second at the stack of each thread that has a task, for its profile.  The stack of a
graph is deep, and it stands still meanwhile: a seventh of its speed.  The stack of a thread that waits is short.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Call = tuple[Callable[[], Any], "Future[Any]"]


class Beside(threading.local):
    """Made when a thread first uses it; our thread is kept as long as that one lives."""

    def __init__(self) -> None:
        self._helper = Helper()

    def run(self, work: Callable[[], T]) -> T:
        """@work() with the context variables of the caller: what the engine tells its tasks is in them."""
        return self._helper.run(contextvars.copy_context(), work)


class Helper:
    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        # As the engine's own: a process that ends does not wait for it.
        threading.Thread(target=serve, args=(self._calls,), name="spoolwire", daemon=True).start()

    def run(self, context: contextvars.Context, work: Callable[[], T]) -> T:
        done: Future[T] = Future()
        self._calls.put((lambda: context.run(work), done))
        try:
            return done.result()
        finally:
            del done  # an error, its traceback and this frame would keep each other alive, and this object

    def __del__(self) -> None:
        self._calls.put(None)


def serve(calls: queue.SimpleQueue[Call | None]) -> None:
    while (call := calls.get()) is not None:
        work, done = call
        try:
            done.set_result(work())
        except BaseException as e:
            done.set_exception(e)
        del call, work, done  # they keep the ticket's objects alive while none comes
