"""An agent in a process of its own, which speaks the protocol of pools (pool.py).

For code that blocks: the heartbeats of the job go on here, and a cancel that the process does not
follow kills it.  It is started, and has imported the agent, before a job is leased.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .encode import encode
from .errors import HandBack, Interrupted, JobFailed, JobLost, SourceError
from .job import Assignment, Fence, Job
from .pool import LINE_LIMIT

if TYPE_CHECKING:
    from .ticket import Ticket

TAIL = 4096  # bytes of stderr that are kept for an error
PAUSE_POLL = 0.5  # seconds


class ChildAgent:
    def __init__(self, process: asyncio.subprocess.Process, grace: float) -> None:
        self._process, self._grace = process, grace
        self._tail = b""
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(cls, ticket: Ticket) -> ChildAgent:
        """Raises SourceError if it cannot import the agent."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "spoolwire", "run", ticket.graph, "--name", ticket.agent, "--stream", ticket.stream,
            "--parent", str(os.getpid()), env=environment(ticket), start_new_session=True, limit=LINE_LIMIT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        self = cls(process, ticket.grace)
        try:
            if await self._read() is None:
                await self.close()
                raise SourceError(self._last_line() or f"its process exited with {process.returncode}")
        except asyncio.CancelledError:
            await self.close()
            raise
        return self

    async def work(self, job: Job) -> Any:
        await self._say(assignment_line(job.assignment))
        try:
            return await self._follow(job)
        except asyncio.CancelledError:
            await self._stop(job)
            raise

    async def call(self, name: str, params: Mapping[str, Any], fence: Fence) -> Any:
        raise ValueError("a ticket answers no calls")

    async def close(self) -> None:
        """Kills what is left of it."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        await self._process.wait()
        await self._listening

    # --- a job -----------------------------------------------------------------------

    async def _follow(self, job: Job) -> Any:
        has_paused = False
        reading = asyncio.ensure_future(self._read())
        try:
            while True:
                await asyncio.wait({reading}, timeout=PAUSE_POLL)
                if job.pause_wanted and not has_paused:
                    has_paused = True
                    await self._say({**name_of(job), "pause": True})
                if not reading.done():
                    continue
                said = reading.result()
                if said is None:
                    raise JobLost(f"the agent's process has exited: {self._last_line()}")
                if "event" in said:
                    await job.emit(said["event"])
                elif "finish" in said:
                    return outcome(said["finish"])
                elif said.get("return"):
                    raise HandBack
                reading = asyncio.ensure_future(self._read())
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _stop(self, job: Job) -> None:
        """It has until the grace ends to stop by itself; then it is killed."""
        await self._say({**name_of(job), "cancel": True})
        try:
            await asyncio.wait_for(self._follow(job), min(self._grace, Job.patience))
        except (Exception, asyncio.CancelledError):
            await self.close()

    # --- lines -----------------------------------------------------------------------

    async def _say(self, line: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode(line) + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # its end is read soon

    async def _read(self) -> dict[str, Any] | None:
        """The next line; None: it has exited."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            await self._process.wait()
            await self._listening
            return None
        said: dict[str, Any] = json.loads(line)
        return said

    async def _listen(self) -> None:
        """Its stderr is also that of the engine's worker."""
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(TAIL):
            self._tail = (self._tail + piece)[-TAIL:]
            sys.stderr.write(piece.decode(errors="replace"))

    def _last_line(self) -> str:
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("python -m spoolwire: ") if lines else ""


def environment(ticket: Ticket) -> dict[str, str]:
    env = {**os.environ, **ticket.env, "SPOOLWIRE_URL": ticket.url, "PYTHONUNBUFFERED": "1",
           "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}  # also what the engine has uploaded
    if ticket.token:
        env["SPOOLWIRE_TOKEN"] = ticket.token
    return env


def name_of(job: Job) -> dict[str, Any]:
    return {"job": job.id, "attempt": job.assignment.attempt}


def assignment_line(a: Assignment) -> dict[str, Any]:
    line = {"job": a.job, "attempt": a.attempt, "agent": a.agent, "input": a.input, "resume": a.resume,
            "thread": a.thread, "run": a.run, "lease": a.lease, "lease_seconds": a.lease_seconds,
            "heartbeat_seconds": a.heartbeat_seconds, "executor": a.executor}
    return {k: v for k, v in line.items() if v is not None}


def outcome(finish: Mapping[str, Any]) -> Any:
    status = finish["status"]
    if status == "success":
        return finish.get("output")
    if status == "interrupted":
        raise Interrupted
    if status == "cancelled":
        raise asyncio.CancelledError
    raise JobFailed(finish.get("error") or "it failed", finish.get("error_type"))
