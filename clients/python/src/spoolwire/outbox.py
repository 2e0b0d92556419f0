"""Sends a job's events over HTTP, in numbered batches, one after another.

A batch is repeated with the same number until it is answered, so that it is stored once however
often it arrives.  While one is on its way, events gather for the next.  When there are no events,
the outbox sends heartbeats.  Each answer may ask to cancel or pause the job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from .client import Client, part
from .errors import LeaseLost, Refused
from .job import Finish, Assignment
from .spool import Spool

log = logging.getLogger("spoolwire")

BATCH_BYTES = 1 << 20
BATCH_LINES = 2000
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
        """Sends batches until it is cancelled, or the lease is lost."""
        try:
            while True:
                await self._send_batch()
        except Exception as e:
            self._broken = e
            self._moved.set()
            raise

    async def finish(self, finish: Finish) -> None:
        """Reports how the job ended.  It succeeds if the server has the report already."""
        try:
            if finish.status == "return":
                await self._post("return")
            else:
                await self._post("finish", finish.json())
        except LeaseLost as e:
            log.info("job %s: %s", self._assignment.job, e)

    async def _send_batch(self) -> None:
        try:
            await asyncio.wait_for(self._spool.wait(), self._assignment.heartbeat_seconds)
        except asyncio.TimeoutError:
            self._hear(await self._post("heartbeat"))
            return
        lines = self._spool.take(BATCH_BYTES, BATCH_LINES)
        said = await self._post("events", b"\n".join(lines) + b"\n", seq=self._seq)
        self._seq += 1
        self._stored += len(lines)
        self._moved.set()
        if said.get("rejected"):
            log.warning("job %s: %d events were not understood: %s", self._assignment.job,
                        said["rejected"], said.get("error"))
        self._hear(said)

    async def _post(self, word: str, body: Any = None, **query: Any) -> dict[str, Any]:
        """Retries without limit: the time in which the server is away does not count against a lease."""
        try:
            answer = await self._client.request(
                "POST", f"{self._path}/{word}", body, patience=None,
                query={"lease": self._assignment.lease, **query})
        except Refused as e:
            if e.status in GONE:
                raise LeaseLost(e.detail) from None
            raise
        said = answer.json()
        return said if isinstance(said, dict) else {}

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken
