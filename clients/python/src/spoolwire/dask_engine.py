"""Dask as an engine: tickets are tasks of a Dask cluster.

    pip install 'spoolwire[dask]'
    python -m spoolwire dask --scheduler tcp://HOST:8786 --agent mine=graphs:graph

Only tickets travel through Dask; input, events and output go between its workers and the server.
Workers need the agent's package (or --upload) and this one (or --upload-kit).
"""

from __future__ import annotations

import asyncio
import importlib
import os
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from .agent_process import processes
from .errors import SpoolwireError
from .ticket import Outcome, Ticket, run

CONNECT = 10.0  # seconds
BROKEN = 20.0  # seconds in which a worker that cannot import the agent gets no tickets


@dataclass(frozen=True)
class Placing:
    """Which workers of the cluster take an agent's tickets, and when."""

    resources: Mapping[str, float] = field(default_factory=dict)
    workers: tuple[str, ...] = ()  # addresses or names; none: all
    priority: int = 0


class DaskEngine:
    """@placing: by agent.  @uploads: files that each worker gets, also those that join later."""

    name = "dask"
    loses_tickets = False

    def __init__(self, scheduler: str, *, placing: Mapping[str, Placing] | None = None,
                 uploads: Iterable[str] = (), upload_kit: bool = False, tls_ca: str | None = None,
                 tls_cert: str | None = None, tls_key: str | None = None) -> None:
        self._distributed = import_distributed()
        self._scheduler = scheduler
        self._placing = placing or {}
        self._uploads, self._upload_kit = list(uploads), upload_kit
        self._tls = tls_ca, tls_cert, tls_key
        self._client: Any = None
        self._broken: dict[str, float] = {}  # addresses of workers, until when

    # --- the connection --------------------------------------------------------------

    async def open(self) -> None:
        await self.close()
        try:
            self._client = await self._distributed.Client(
                self._scheduler, asynchronous=True, set_as_default=False, timeout=CONNECT,
                security=self._security(), name="spoolwire")
        except TypeError:  # what `distributed` says without certificates
            raise SpoolwireError(f"cannot reach the Dask scheduler {self._scheduler}: it needs certificates, "
                                 "which --tls-ca, --tls-cert and --tls-key name") from None
        except (OSError, ValueError, asyncio.TimeoutError, RuntimeError) as e:
            raise SpoolwireError(f"cannot reach the Dask scheduler {self._scheduler}: {one_line(e)} "
                                 "(is it running, and is --scheduler its address?)") from None
        await self._check_versions()
        await self._upload()

    def _security(self) -> Any:
        ca, cert, key = self._tls
        if ca is None:
            return None
        return self._distributed.Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key,
                                          require_encryption=True)

    async def _check_versions(self) -> None:
        """Tickets are Python code, which another version may not understand."""
        said = await self._client.get_versions()
        ours = versions_of(said["client"])
        others = {"the scheduler": said["scheduler"], **{f"the worker {k}": v for k, v in said["workers"].items()}}
        for who, theirs in others.items():
            if theirs is None:
                continue
            for what, here, there in zip(("Python", "distributed"), ours, versions_of(theirs)):
                if here != there:
                    raise SpoolwireError(f"{who} has {what} {there} and the bridge has {here}: "
                                         "run the bridge with the versions of the cluster")

    async def _upload(self) -> None:
        """The kit first: a worker imports each file as it comes."""
        if self._upload_kit:
            with tempfile.TemporaryDirectory() as folder:
                await self._upload_file(zip_kit(folder))
        for path in self._uploads:
            await self._upload_file(path)

    async def _upload_file(self, path: str) -> None:
        if not os.path.isfile(path):
            raise SpoolwireError(f"{path} cannot be uploaded: there is no such file")
        try:
            await self._client.upload_file(path)
        except Exception as e:  # of the worker that imports it
            raise SpoolwireError(f"{path} cannot be imported by the cluster: {type(e).__name__}: {one_line(e)}") from None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            # The scheduler drops the tickets of a client that leaves, unless they have begun.
            await client.close(timeout=2)

    # --- tickets ---------------------------------------------------------------------

    async def submit(self, ticket: Ticket, n: int) -> list[Awaitable[Outcome]]:
        if self._client is None or self._client.status != "running":
            await self.open()
        placing = self._placing.get(ticket.agent, Placing())
        how: dict[str, Any] = {"priority": placing.priority, "pure": False, "retries": 0}
        if placing.resources:
            how["resources"] = dict(placing.resources)
        if workers := await self._workers(placing):
            how["workers"] = workers
        keys = [f"spoolwire-{ticket.agent}-{uuid.uuid4().hex}" for _ in range(n)]
        # One ticket is sooner there with submit(); of many, each costs less with map().
        futures = self._client.map(ticket_task, [asdict(ticket)] * n, key=keys, **how) if n > 1 else \
            [self._client.submit(ticket_task, asdict(ticket), key=keys[0], **how)]
        return [self._outcome(future) for future in futures]

    async def _workers(self, placing: Placing) -> list[str]:
        """The addresses of those that may take tickets, without those that could not import the agent as
        long as there are others; none: all."""
        now = asyncio.get_running_loop().time()
        self._broken = {k: end for k, end in self._broken.items() if end > now}
        if not self._broken and not placing.workers:
            return []
        known = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        allowed = [address for address, w in known.items()
                   if not placing.workers or address in placing.workers or str(w.get("id")) in placing.workers]
        if placing.workers and not allowed:
            raise SpoolwireError(f"none of the workers {', '.join(placing.workers)} is in the cluster {self._scheduler}")
        return [address for address in allowed if address not in self._broken] or \
            (allowed if placing.workers else [])

    async def _outcome(self, future: Any) -> Outcome:
        try:
            said: Outcome = await future
        except asyncio.CancelledError:
            if future.status == "cancelled":  # the scheduler was lost: its tickets are
                return {"jobs": 0}
            raise
        except Exception as e:
            # Dask's own: the worker died several times, or cannot read the task.
            return {"jobs": 0, "error": f"the ticket failed: {one_line(e)}", "unreported": True}
        finally:
            future.release()
        if said.get("error") and said.get("address"):
            self._broken[said["address"]] = asyncio.get_running_loop().time() + BROKEN
        return said


def ticket_task(spec: dict[str, Any]) -> dict[str, Any]:
    """Runs on a worker.  It is sent as code, not by its name: so it can say that the kit is missing there."""
    from distributed import get_worker

    worker = get_worker()
    name = f"dask {worker.address}" + ("" if str(worker.name) == worker.address else f" {worker.name}")
    where = {"worker": name, "address": worker.address}
    try:
        from spoolwire.dask_engine import run_ticket
        from spoolwire.ticket import Ticket
    except ImportError as e:
        return {**where, "jobs": 0, "unreported": True,
                "error": f"import error: {e} (install spoolwire there, or start the bridge with --upload-kit)"}
    return {**where, **run_ticket(Ticket(**spec), name, worker)}


ticket_task.__module__ = "__main__"  # pickled by value, like every function of a program's own


def run_ticket(ticket: Ticket, name: str, worker: Any) -> Outcome:
    def is_stopping() -> bool:
        return worker.status.name not in ("running", "paused")

    if not ticket.in_worker and not ticket.child:
        return processes.run(ticket, name, is_stopping)
    with profile.without_us(worker):
        return run(ticket, name, is_stopping)


class Profile:
    """Dask's profile, which reads the stack of each thread that has a task a hundred times a second.  The stack of a
    graph is deep, and the graph stands still meanwhile: a seventh of its speed.  So tickets are not sampled, and while
    there are some the profile looks ten times a second, which is enough for the tasks of others."""

    RARELY = 100.0  # milliseconds

    def __init__(self) -> None:
        self._tickets = 0  # in this process
        self._usual = self.RARELY

    @contextmanager
    def without_us(self, worker: Any) -> Iterator[None]:
        me = threading.get_ident()
        with worker.active_threads_lock:
            task = worker.active_threads.pop(me)
            self._count(worker, 1)
        try:
            yield
        finally:
            with worker.active_threads_lock:
                self._count(worker, -1)
                worker.active_threads[me] = task  # Dask removes it

    def _count(self, worker: Any, more: int) -> None:
        timer = worker.periodic_callbacks.get("profile")  # None: it is off
        if timer is not None and self._tickets == 0:
            self._usual = timer.callback_time
        self._tickets += more
        if timer is not None:
            timer.callback_time = max(self._usual, self.RARELY) if self._tickets else self._usual


profile = Profile()


def import_distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as e:
        raise SpoolwireError(f"Dask is not installed here ({e}): pip install 'spoolwire[dask]'") from None


def versions_of(said: Mapping[str, Any]) -> tuple[str, str]:
    """Of Python, without its last number, and of distributed."""
    return ".".join(said["host"]["python"].split(".")[:2]), str(said["packages"]["distributed"])


def zip_kit(folder: str) -> str:
    """This package as a file that workers can import from."""
    path = os.path.join(folder, "spoolwire-kit.zip")
    here = os.path.dirname(os.path.abspath(__file__))
    with zipfile.ZipFile(path, "w") as kit:
        for name in sorted(os.listdir(here)):
            if name.endswith(".py"):
                kit.write(os.path.join(here, name), f"spoolwire/{name}")
    return path


def one_line(e: BaseException) -> str:
    return " ".join(f"{e}".split())[:300] or type(e).__name__
