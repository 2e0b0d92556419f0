"""A process of a pool: reads jobs as lines from standard input, writes events as lines.

Standard output is reserved for the protocol: all other output goes to standard error, which the
server keeps as log lines.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

from .agent import Agent
from .client import Client
from .encode import encode
from .job import Job, Assignment
from .worker import answer_call, hear

log = logging.getLogger("spoolwire")

LINE_LIMIT = 64 << 20


class Pool:
    """@stdout: what claim_stdout() gave."""

    def __init__(self, agent: Agent, client: Client | None, stdout: int) -> None:
        self._agent, self._client, self._stdout = agent, client, stdout
        self._jobs: dict[tuple[str, int], Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._out: asyncio.StreamWriter | None = None

    async def run(self) -> None:
        """Runs until the input and all jobs have ended.  The server sends SIGTERM when it closes the
        input; it requeues jobs that do not end in time."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        stdin, self._out = await streams(self._stdout)
        await self.say({"ready": True, "calls": True})
        while line := await stdin.readline():
            self._hear(json.loads(line))
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._out.drain()

    async def say(self, line: Any) -> None:
        await self.write(encode(line) + b"\n")

    async def write(self, line: bytes) -> None:
        self.write_now(line)
        assert self._out is not None
        await self._out.drain()

    def write_now(self, line: bytes) -> None:
        assert self._out is not None
        self._out.write(line)

    def _hear(self, said: Mapping[str, Any]) -> None:
        if "call" in said:
            self._begin(self._answer(said["call"]))
            return
        key = said["job"], int(said["attempt"])
        job = self._jobs.get(key)
        if said.get("cancel") or said.get("pause"):
            if job is not None:
                hear(job, said)
        elif job is None:
            assignment = Assignment.read(said)
            transport = StdoutTransport(self, assignment)
            self._jobs[key] = job = Job(assignment, transport, self._client)
            self._begin(self._work(job, transport))

    def _begin(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (e := task.exception()) is not None:
            log.error("%s", e, exc_info=e)

    async def _work(self, job: Job, transport: StdoutTransport) -> None:
        beating = asyncio.ensure_future(transport.beat())
        try:
            finish = await job.start(self._agent.work)
        finally:
            beating.cancel()
            del self._jobs[job.id, job.assignment.attempt]
        if finish.status == "return":
            await transport.say(b'"return":true')
        else:
            await transport.say(b'"finish":' + encode(finish.json()))

    async def _answer(self, call: Mapping[str, Any]) -> None:
        await self.say({"call": call["id"], **await answer_call(self._agent, call)})


class StdoutTransport:
    """Writes the events of one job as lines of this process."""

    def __init__(self, pool: Pool, assignment: Assignment) -> None:
        self._pool = pool
        self._head = b'{"job":%s,"attempt":%d,' % (encode(assignment.job), assignment.attempt)
        self._every = assignment.heartbeat_seconds
        self._spoke = time.monotonic()

    async def put(self, event: bytes) -> None:
        await self.say(b'"event":' + event)

    def put_now(self, event: bytes) -> None:
        self._pool.write_now(self._head + b'"event":' + event + b"}\n")

    async def flush(self) -> None:
        """Returns when all is in the pipe: the server reads it even if this process dies."""

    async def say(self, member: bytes) -> None:
        self._spoke = time.monotonic()
        await self._pool.write(self._head + member + b"}\n")

    async def beat(self) -> None:
        while True:
            left = self._spoke + self._every - time.monotonic()
            if left > 0:
                await asyncio.sleep(left)
            else:
                await self.say(b'"heartbeat":true')


def claim_stdout() -> int:
    """Takes standard output for the protocol; all other output goes to standard error from now on."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    return stdout


async def streams(stdout: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(stdout, "wb", 0))
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
