"""A pull worker: leases jobs over HTTP, and runs several at a time.

    worker = Worker({"mine": graph}, url="http://127.0.0.1:8400")
    await worker.run()             # until it is stopped
    done = await worker.run_once() # one job; False: there was none

The server may stop and restart at any time.  No event is lost by that, and none is stored twice:
events wait in the job's spool, and requests whose answers were lost are repeated (see outbox.py;
lease requests have a request id).
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import socket
import time
import uuid
from collections.abc import Coroutine, Mapping
from typing import Any

from .agent import Agent, agent_of
from .client import Client, part
from .errors import LeaseLost, Refused
from .job import Finish, Job, Assignment
from .outbox import Outbox
from .spool import MEMORY, Spool

log = logging.getLogger("spoolwire")

WAIT = 20  # seconds that the server may keep us waiting for a job
MARGIN = 20  # seconds more until such a request counts as lost
STOPS = ("finish", "return", "lose")


class Worker:
    """@agents: handlers, graphs or "module.py:graph", by the names that the server has for them.
    @on_stop: what becomes of running jobs: "finish" (they have @grace seconds, then they are
    requeued), "return" (they are requeued at once, without using up an attempt) or "lose" (the same,
    but it costs an attempt: for jobs that may have caused it)."""

    def __init__(self, agents: Mapping[str, Any], *, url: str | None = None,
                 token: str | None = None, client: Client | None = None, concurrency: int = 10,
                 name: str | None = None, grace: float = 10.0, on_stop: str = "finish",
                 spool_memory: int = MEMORY,
                 spool_folder: str | None = None, **how: Any) -> None:
        if on_stop not in STOPS:
            raise ValueError(f"on_stop must be one of {', '.join(STOPS)}, not {on_stop!r}")
        # Without a limit: writes of checkpoints wait for the server, as events do.
        self.client = client or Client(url, token, patience=None)
        self._is_our_client = client is None
        self.agents: dict[str, Agent] = {
            key: agent_of(thing, client=self.client, **how) for key, thing in agents.items()}
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.executor = uuid.uuid4().hex  # no other process can use our leases
        self._grace = grace
        self._on_stop = on_stop
        self._spool = spool_memory, spool_folder
        self._places = asyncio.Semaphore(concurrency)
        self._stopping = asyncio.Event()
        self._has_worked = False  # run_once() has found a job
        self._jobs: dict[asyncio.Task[None], Job | None] = {}  # and calls, which are None

    async def run(self, *, signals: bool = False) -> None:
        """Until stop(), or with @signals until SIGTERM or SIGINT."""
        await self._run(self._lease_all(), signals)

    async def run_once(self, *, wait: float = 0.0, signals: bool = False) -> bool:
        """Takes one job, and works on it until its end, whatever that is.  False: none came within @wait
        seconds."""
        await self._run(self._lease_one(wait), signals)
        return self._has_worked

    async def _run(self, work: Coroutine[Any, Any, None], signals: bool) -> None:
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.stop)
        leasing = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({leasing, stopped}, return_when=asyncio.FIRST_COMPLETED)
            leasing.cancel()
            await asyncio.gather(leasing, return_exceptions=True)
            await self._let_go()
        finally:
            stopped.cancel()
            for task in self._jobs:
                task.cancel()
            if self._is_our_client:
                self.client.close()
        if not leasing.cancelled() and leasing.exception() is not None:
            raise leasing.exception() or AssertionError

    def stop(self) -> None:
        """Takes no more jobs; running ones end as @on_stop says."""
        self._stopping.set()

    async def _let_go(self) -> None:
        if self._jobs and self._on_stop == "finish":
            await asyncio.wait(self._jobs, timeout=self._grace)
        for job in self._jobs.values():
            if job is not None:
                job.hand_back("lose" if self._on_stop == "lose" else "return")
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=self._grace)

    # --- getting work ---------------------------------------------------------------

    async def _lease_all(self) -> None:
        while True:
            await self._places.acquire()
            try:
                said = await self._lease()
            except BaseException:
                self._places.release()
                raise
            if said is None:
                self._places.release()
            elif "call" in said:
                self._places.release()
                self._begin(self._answer(said), None)
            else:
                self._take(Assignment.read(said, self.executor))

    async def _lease_one(self, wait: float) -> None:
        """Until its end."""
        end = time.monotonic() + wait
        while not self._has_worked:
            left = max(0, math.ceil(end - time.monotonic()))
            said = await self._lease(min(WAIT, left), calls=False, patience=wait + MARGIN)
            if said is not None:
                self._has_worked = True
                self._take(Assignment.read(said, self.executor))
                await asyncio.wait(self._jobs)
            elif time.monotonic() >= end:
                return

    async def _lease(self, wait: int = WAIT, calls: bool = True,
                     patience: float | None = None) -> dict[str, Any] | None:
        request_id = uuid.uuid4().hex
        try:
            return await self._ask(request_id, wait, calls, patience=patience)
        except asyncio.CancelledError:
            # The server may have leased a job to us meanwhile: requeue it.
            if said := await self._ask(request_id, 0, False, patience=2.0):
                await self._return(said)
            raise

    async def _ask(self, request_id: str, wait: int, calls: bool, *,
                   patience: float | None = None) -> dict[str, Any] | None:
        body = {"agents": list(self.agents), "worker": self.name, "wait": wait,
                "request_id": request_id, "executor": self.executor, "calls": calls}
        answer = await self.client.request("POST", "/v1/worker/lease", body, timeout=wait + MARGIN,
                                           patience=patience)
        said = answer.json()
        return said if isinstance(said, dict) else None

    async def _return(self, said: Mapping[str, Any]) -> None:
        assignment = Assignment.read(said, self.executor)
        await Outbox(self.client, assignment, Spool(), lambda _: None).finish(Finish("return"))

    def _begin(self, work: Any, job: Job | None) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._jobs[task] = job
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        if self._jobs.pop(task) is not None:
            self._places.release()
        if not task.cancelled() and (e := task.exception()) is not None:
            log.error("%s", e, exc_info=e)

    # --- doing it -------------------------------------------------------------------

    def _take(self, assignment: Assignment) -> None:
        memory, folder = self._spool
        spool = Spool(memory, folder)
        outbox = Outbox(self.client, assignment, spool, lambda said: hear(job, said))
        job = Job(assignment, outbox, self.client)
        self._begin(self._work(job, outbox, spool), job)

    async def _work(self, job: Job, outbox: Outbox, spool: Spool) -> None:
        sending = asyncio.ensure_future(outbox.run())
        working = job.start(self.agents[job.assignment.agent].work)
        try:
            await asyncio.wait({sending, working}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await self._abandon(job, working, outbox, sending.exception())
                return
            finish = working.result()
            try:
                await outbox.flush()
                await outbox.finish(finish)
            except LeaseLost as e:
                log.warning("job %s was lost: %s", job.id, e)
        finally:
            for task in (sending, working):
                task.cancel()
            await asyncio.gather(sending, working, return_exceptions=True)
            spool.close()

    async def _abandon(self, job: Job, working: asyncio.Task[Finish], outbox: Outbox,
                       why: BaseException | None) -> None:
        """The server refuses the job's events."""
        log.warning("job %s was lost: %s", job.id, why)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        if isinstance(why, Refused):
            await outbox.finish(Finish("failure", error=f"the server refused the job's events: {why}",
                                       error_type="Refused"))

    async def _answer(self, said: Mapping[str, Any]) -> None:
        """Answers a call.  The answer is dropped if the caller has given up."""
        call = said["call"]
        answer = await answer_call(self.agents[said["agent"]], call)
        try:
            await self.client.request("POST", f"/v1/worker/calls/{part(call['id'])}", answer)
        except Refused as e:
            log.info("call %s: %s", call["name"], e)


def hear(job: Job, said: Mapping[str, Any]) -> None:
    """Does what an answer of the server asks for: cancel, pause."""
    if said.get("cancel"):
        job.cancel()
    if said.get("pause"):
        job.pause()


async def answer_call(agent: Agent, call: Mapping[str, Any]) -> dict[str, Any]:
    try:
        answer = await agent.call(call["name"], call.get("params") or {}, {"call": call["id"]})
        return {"answer": answer}
    except Exception as e:
        log.info("call %s", call["name"], exc_info=e)
        return {"error": f"{type(e).__name__}: {e}"}
