"""A job in a worker: its assignment, the events it sends, and how it ends."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .client import Client
from .encode import encode
from .errors import HandBack, Interrupted, JobFailed, JobLost

log = logging.getLogger("spoolwire")

Fence = Mapping[str, str]  # query parameters of a write that prove that we still have the job's lease


@dataclass(frozen=True)
class Assignment:
    """What a lease, or a line to a process of a pool, asks for."""

    job: str
    attempt: int
    agent: str
    input: Any
    resume: Mapping[str, Any] | None  # answers by interrupt id; {} after a pause
    thread: str | None
    run: Mapping[str, Any]  # the run request of a client of LangGraph's API; {} for a plain job
    lease: str | None
    seq: int
    lease_seconds: float
    heartbeat_seconds: float
    executor: str | None = None  # the process that the lease is bound to

    @classmethod
    def read(cls, said: Mapping[str, Any], executor: str | None = None) -> Assignment:
        lease_seconds = float(said.get("lease_seconds") or 60)
        return cls(said["job"], int(said["attempt"]), str(said.get("agent", "")), said.get("input"),
                   said.get("resume"), said.get("thread"), said.get("run") or {}, said.get("lease"),
                   int(said.get("seq") or 0), lease_seconds,
                   float(said.get("heartbeat_seconds") or max(lease_seconds / 4, 1)),
                   executor or said.get("executor"))

    @property
    def proof(self) -> Fence:
        """The query of every request about the job."""
        if not self.lease:
            return {}
        return {"lease": self.lease, **({"executor": self.executor} if self.executor else {})}

    @property
    def fence(self) -> Fence:
        return {"job": self.job, **self.proof} if self.lease else {}


class Transport(Protocol):
    """Sends the events of a job to the server."""

    async def put(self, event: bytes) -> None:
        """Waits when there is no room."""

    def put_now(self, event: bytes) -> None:
        """Never waits."""

    async def flush(self) -> None:
        """Waits until the server has stored all of them."""


class Job:
    """What a handler is given.

    @cancelled is set when the server asks the worker to stop, at once, also while the job says
    nothing.  Then the handler's task is cancelled; if it waits for `cancelled` itself, only after
    `patience` seconds, so that it can end in its own way."""

    patience = 5.0

    def __init__(self, assignment: Assignment, transport: Transport, client: Client | None) -> None:
        self.assignment = assignment
        self.client = client
        self.cancel_wanted = False
        self._cancelled: asyncio.Event | None = None  # somebody looks at it
        self.pause_wanted = False
        self.return_wanted = ""  # "return" or "lose"
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()  # the loop's
        self._task: asyncio.Task[Finish] | None = None

    @property
    def id(self) -> str:
        return self.assignment.job

    @property
    def input(self) -> Any:
        return self.assignment.input

    @property
    def cancelled(self) -> asyncio.Event:
        if self._cancelled is None:
            self._cancelled = asyncio.Event()
            if self.cancel_wanted:
                self._cancelled.set()
        return self._cancelled

    async def emit(self, event: Any) -> None:
        """Sends an event, in any of the source formats."""
        await self._transport.put(encode(event))

    def post(self, event: bytes) -> None:
        """The same for one line of JSON, without waiting, from any thread."""
        if threading.get_ident() == self._thread:
            self._transport.put_now(event)
        else:
            self._loop.call_soon_threadsafe(self._transport.put_now, event)

    async def flush(self) -> None:
        await self._transport.flush()

    # For the worker that has leased the job.

    def start(self, handler: Handler) -> asyncio.Task[Finish]:
        token = current.set(self)
        self._task = asyncio.ensure_future(perform(handler, self))  # with a copy of the context
        current.reset(token)
        return self._task

    def cancel(self) -> None:
        """The server asked for it: cancels the handler's task, once."""
        if self.cancel_wanted:
            return
        self.cancel_wanted = True
        if self._cancelled is None:
            self._stop()
            return
        self._cancelled.set()
        self._loop.call_later(self.patience, self._stop)

    def hand_back(self, how: str = "return") -> None:
        """The worker goes down.  With "lose" it costs an attempt."""
        self.return_wanted = how
        self._stop()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def pause(self) -> None:
        self.pause_wanted = True


current: contextvars.ContextVar[Job] = contextvars.ContextVar("spoolwire_job")

Handler = Callable[[Job], Awaitable[Any]]


def cancelled() -> asyncio.Event:
    """For code inside of a graph: is set when the job that it works for is cancelled."""
    job = current.get(None)
    return job.cancelled if job is not None else asyncio.Event()


@dataclass(frozen=True)
class Finish:
    status: str  # success, failure, interrupted, cancelled, return, lose
    output: Any = None
    error: str | None = None
    error_type: str | None = None

    def json(self) -> dict[str, Any]:
        said = {"status": self.status, "output": self.output, "error": self.error,
                "error_type": self.error_type}
        return {k: v for k, v in said.items() if v is not None}


async def perform(handler: Handler, job: Job) -> Finish:
    """Runs the handler and returns how it ended.  Only a cancellation that neither the server nor the
    worker asked for is raised."""
    try:
        return Finish("success", await handler(job))
    except Interrupted:
        return Finish("interrupted")
    except HandBack:
        return Finish("return")
    except JobLost as e:
        log.warning("job %s: %s", job.id, e)
        return Finish("lose")
    except JobFailed as e:
        return Finish("failure", error=str(e), error_type=e.error_type)
    except asyncio.CancelledError:
        if job.cancel_wanted:
            return Finish("cancelled")
        if job.return_wanted:
            return Finish(job.return_wanted)
        raise
    except Exception as e:
        return Finish("failure", error=str(e) or type(e).__name__, error_type=type(e).__name__)
