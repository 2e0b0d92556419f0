"""Celery as an engine: tickets are tasks named `spoolwire.ticket`.

    pip install 'spoolwire[celery]'
    export SPOOLWIRE_CELERY_BROKER=redis://HOST:6379/0
    celery -A spoolwire.celery_engine worker                          # on the machines that work
    python -m spoolwire celery --broker redis://HOST:6379/0 --agent mine=graphs:graph     # the bridge

An application of your own gets the task by add_ticket(app).  A ticket is acknowledged when it begins
(acks_late is off) and never retried: attempts of jobs are counted by the server.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
import uuid
from collections.abc import Awaitable
from dataclasses import asdict
from typing import Any

from .errors import SpoolwireError
from .ticket import Outcome, Ticket, run

TASK = "spoolwire.ticket"
POLL = 0.1  # seconds between two looks at the results of tickets
KEEP = 3600  # seconds that a result is kept


def add_ticket(app: Any) -> Any:
    """Registers the task with a Celery application."""
    @app.task(name=TASK, acks_late=False, max_retries=0, ignore_result=False)  # type: ignore[untyped-decorator]
    def ticket(spec: dict[str, Any]) -> Outcome:
        worker = f"celery {socket.gethostname()}:{os.getpid()}"
        return {"worker": worker, **run(Ticket(**spec), worker)}

    return ticket


def make_app(broker: str) -> Any:
    try:
        celery = importlib.import_module("celery")
    except ImportError as e:
        raise SpoolwireError(f"Celery is not installed here ({e}): pip install 'spoolwire[celery]'") from None
    app = celery.Celery("spoolwire", broker=broker, backend=broker)
    # One ticket at a time for each process: those that wait are in the broker, where any worker finds them.
    app.conf.update(worker_prefetch_multiplier=1, task_acks_late=False, result_expires=KEEP,
                    broker_connection_retry_on_startup=True, broker_connection_timeout=5,
                    broker_transport_options={"socket_connect_timeout": 5},
                    redis_socket_connect_timeout=5)
    return app


class CeleryEngine:
    name = "celery"
    loses_tickets = True

    def __init__(self, broker: str, queue: str | None = None) -> None:
        self._app = make_app(broker)
        self._broker, self._queue = broker, queue
        self._waiting: dict[Any, asyncio.Future[Outcome]] = {}
        self._polling: asyncio.Task[None] | None = None

    async def open(self) -> None:
        try:
            await asyncio.to_thread(self._connect)
        except Exception as e:
            raise SpoolwireError(f"cannot reach the broker of Celery {self._broker}: {' '.join(str(e).split())} "
                                 "(is it running, and is --broker its address?)") from None
        if self._polling is None:
            self._polling = asyncio.ensure_future(self._poll())

    def _connect(self) -> None:
        with self._app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=5)

    async def submit(self, ticket: Ticket, n: int) -> list[Awaitable[Outcome]]:
        try:
            sent = await asyncio.to_thread(self._send, asdict(ticket), n)
        except Exception as e:
            raise SpoolwireError(f"the broker of Celery {self._broker} took no ticket: {' '.join(str(e).split())}") from None
        for result in sent:
            self._waiting[result] = asyncio.get_running_loop().create_future()
        return [self._waiting[result] for result in sent]

    def _send(self, spec: dict[str, Any], n: int) -> list[Any]:
        how = {"queue": self._queue} if self._queue else {}
        return [self._app.send_task(TASK, [spec], task_id=f"spoolwire-{uuid.uuid4().hex}", retry=False, **how)
                for _ in range(n)]

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            try:
                ended = await asyncio.to_thread(self._ended, list(self._waiting))
            except Exception:
                continue  # the broker is away: its tickets may be there when it is back
            for result, said in ended:
                future = self._waiting.pop(result)
                if not future.done():
                    future.set_result(said)

    def _ended(self, results: list[Any]) -> list[tuple[Any, Outcome]]:
        return [(result, outcome(result)) for result in results if result.ready()]

    async def close(self) -> None:
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
        for result in self._waiting:
            try:
                await asyncio.to_thread(result.revoke)  # a ticket that has begun goes on
            except Exception:
                break  # without a broker nobody begins one
        self._waiting.clear()


def outcome(result: Any) -> Outcome:
    said = result.result
    result.forget()
    if isinstance(said, dict):
        return said
    return {"jobs": 0, "error": f"the ticket failed: {' '.join(str(said).split())[:300]}", "unreported": True}


def __getattr__(name: str) -> Any:
    """`celery -A spoolwire.celery_engine` looks for `app`, whose broker is SPOOLWIRE_CELERY_BROKER."""
    if name not in ("app", "celery"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    app = make_app(os.environ.get("SPOOLWIRE_CELERY_BROKER", "redis://127.0.0.1:6379/0"))
    add_ticket(app)
    globals()["app"] = globals()["celery"] = app
    return app
