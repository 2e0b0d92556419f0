"""Sends a job's events over HTTP, in numbered batches, one after another.

A batch is repeated with the same number until it is answered, so that it is stored once however
often it arrives.  While one is on its way, events gather for the next.  Beside them, a heartbeat
waits at the server, so that also a silent job hears at once that it shall stop or has lost its
lease.  Each answer may ask to cancel or pause the job.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from .client import Client, part
from .errors import LeaseLost, Refused
from .job import Finish, Assignment
from .spool import Spool

log = logging.getLogger("spoolwire")

BATCH_BYTES = 1 << 20
BATCH_LINES = 2000
SHORT = 0.5  # seconds: a job that is over by then costs no heartbeat
MAX_WAIT = 50.0  # seconds that a heartbeat may wait at the server
MARGIN = 20.0  # seconds more until such a request counts as lost
GONE = {404, 409, 410}  # the answers for a lease that is no longer ours


class Outbox:
    def __init__(self, client: Client, assignment: Assignment, spool: Spool,
                 hear: Callable[[dict[str, Any]], None]) -> None:
        self._client, self._assignment, self._spool, self._hear = client, assignment, spool, hear
        self._path = f"/v1/worker/jobs/{part(assignment.job)}"
        self._seq = assignment.seq
        self._stored = 0  # lines
        self._moved = asyncio.Event()
        self._broken: Exception | None = None

    async def put(self, event: bytes) -> None:
        self._check()
        await self._spool.put(event)

    def put_now(self, event: bytes) -> None:
        self._spool.put_now(event)

    async def flush(self) -> None:
        wanted = self._spool.count_put
        while self._stored < wanted:
            self._check()
            self._moved.clear()
            await self._moved.wait()
        self._check()

    async def run(self) -> None:
        """Sends batches and heartbeats until it is cancelled, or the lease is lost."""
        tasks = [asyncio.ensure_future(work) for work in (self._send_all(), self._beat_on())]
        try:
            await asyncio.gather(*tasks)
        except Exception as e:
            self._broken = e
            self._moved.set()
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self) -> None:
        while True:
            await self._send_batch()

    async def _beat_on(self) -> None:
        await asyncio.sleep(min(SHORT, self._assignment.heartbeat_seconds))
        while True:
            await self._beat()

    async def finish(self, finish: Finish) -> None:
        """Reports how the job ended.  It succeeds if the server has the report already."""
        try:
            if finish.status in ("return", "lose"):
                await self._post(finish.status)
            else:
                await self._post("finish", finish.json())
        except LeaseLost as e:
            log.info("job %s: %s", self._assignment.job, e)

    async def _beat(self) -> None:
        """One heartbeat; the next follows when its time is over, however early it was answered."""
        every = self._assignment.heartbeat_seconds
        begin = time.monotonic()
        self._hear(await self._post("heartbeat", timeout=every + MARGIN, wait=int(min(every, MAX_WAIT)) or None))
        await asyncio.sleep(begin + every - time.monotonic())

    async def _send_batch(self) -> None:
        await self._spool.wait()
        lines = self._spool.take(BATCH_BYTES, BATCH_LINES)
        said = await self._post("events", b"\n".join(lines) + b"\n", seq=self._seq)
        self._seq += 1
        self._stored += len(lines)
        self._moved.set()
        if said.get("rejected"):
            log.warning("job %s: %d events were not understood: %s", self._assignment.job,
                        said["rejected"], said.get("error"))
        self._hear(said)

    async def _post(self, word: str, body: Any = None, *, timeout: float | None = None,
                    **query: Any) -> dict[str, Any]:
        """Retries without limit: the time in which the server is away does not count against a lease."""
        try:
            answer = await self._client.request(
                "POST", f"{self._path}/{word}", body, patience=None, timeout=timeout,
                query={**self._assignment.proof, **query})
        except Refused as e:
            if e.status in GONE:
                raise LeaseLost(e.detail) from None
            raise
        said = answer.json()
        return said if isinstance(said, dict) else {}

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken
