"""A ticket: works on one job of an agent in a process of somebody else's, such as a Dask worker.

The agent is imported before a job is leased.  If it cannot be imported, the worker reports that to
the server, as the agent's state, and no job is used up.  A ticket that an engine runs again by
itself is harmless: each run leases a job of its own, or finds none.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .agent import Agent, agent_of
from .client import Client, part
from .errors import SpoolwireError
from .thread_loop import ThreadLoop
from .worker import Worker

log = logging.getLogger("spoolwire")

STOP_POLL = 0.25  # seconds between two looks at whether the engine's worker goes down
REPORT_PATIENCE = 5.0


@dataclass(frozen=True)
class Ticket:
    """What travels through the engine: neither input nor output of jobs."""

    agent: str
    graph: str
    url: str
    token: str | None = field(default=None, repr=False)  # None: SPOOLWIRE_TOKEN of the engine's worker
    stream: str = "events"
    jobs: int = 1  # at most, one after another
    wait: float = 0.0  # for the first of them
    child: bool = False  # the agent runs in a process of its own, for this ticket alone
    in_worker: bool = False  # Dask: the agent runs in the worker, not in a process beside it
    env: Mapping[str, str] = field(default_factory=dict)
    on_stop: str = "return"
    grace: float = 10.0
    bridge: str = ""  # agents are imported once for each bridge

    def __post_init__(self) -> None:
        if not isinstance(self.graph, str):
            raise SpoolwireError(f"the agent {self.agent!r} must be named, as module:graph, not given as "
                                 f"{type(self.graph).__name__}: workers import it, it is not sent to them")


Outcome = dict[str, Any]  # {"jobs": 1}, or {"error": "import error: …"}


class Agents:
    """The agents of this process, each imported once.  A failure is not kept: the module may come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], Agent] = {}
        self._reported: set[str] = set()

    def get(self, ticket: Ticket) -> Agent:
        key = ticket.bridge, ticket.graph, ticket.stream
        with self._lock:
            if key not in self._known:
                os.environ.update(ticket.env)
                client = Client(ticket.url, ticket.token, patience=None)
                self._known[key] = agent_of(ticket.graph, client=client, stream=ticket.stream)
            return self._known[key]

    def has_changed(self, agent: str, is_broken: bool) -> bool:
        """Must the state of @agent in this process be reported?"""
        with self._lock:
            if is_broken:
                self._reported.add(agent)
                return True
            was_broken = agent in self._reported
            self._reported.discard(agent)
            return was_broken


agents = Agents()
here = ThreadLoop()


def run(ticket: Ticket, worker: str, is_stopping: Callable[[], bool] = lambda: False) -> Outcome:
    """Works until the job has ended, whatever its outcome.  @worker: our name, for people.
    @is_stopping: does the engine's worker go down?"""
    return here.run(work(ticket, worker, is_stopping))


async def work(ticket: Ticket, worker: str, is_stopping: Callable[[], bool]) -> Outcome:
    try:
        agent = await open_agent(ticket)
    except (Exception, SystemExit) as e:
        error = import_error(e)
        if agents.has_changed(ticket.agent, True):
            await report(ticket, worker, error)
        return {"jobs": 0, "error": error}
    if agents.has_changed(ticket.agent, False):
        await report(ticket, worker, None)
    try:
        return {"jobs": await work_on(ticket, agent, worker, is_stopping)}
    finally:
        if ticket.child:
            await agent.close()  # type: ignore[attr-defined]


async def open_agent(ticket: Ticket) -> Agent:
    if not ticket.child:
        return agents.get(ticket)
    from .child import ChildAgent

    return await ChildAgent.start(ticket)


async def work_on(ticket: Ticket, agent: Agent, worker: str, is_stopping: Callable[[], bool]) -> int:
    done = 0
    while done < ticket.jobs:
        # A Worker for each job: none has the executor id of another.
        one = Worker({ticket.agent: agent}, client=here.client(ticket.url, ticket.token), name=worker,
                     on_stop=ticket.on_stop, grace=ticket.grace)
        watching = asyncio.ensure_future(stop_with(one, is_stopping))
        try:
            found = await one.run_once(wait=0 if done else ticket.wait)
        finally:
            watching.cancel()
        if not found:
            break
        done += 1
    return done


async def stop_with(worker: Worker, is_stopping: Callable[[], bool]) -> None:
    while not is_stopping():
        await asyncio.sleep(STOP_POLL)
    worker.stop()


def import_error(e: BaseException) -> str:
    text = str(e) if isinstance(e, SpoolwireError) else f"{type(e).__name__}: {e}"
    return f"import error: {' '.join(text.split())}"[:500]


async def report(ticket: Ticket, worker: str, error: str | None) -> None:
    await report_state(here.client(ticket.url, ticket.token), ticket.agent, worker, error)


async def report_state(client: Client, agent: str, worker: str, error: str | None) -> None:
    """Tells the server that @worker cannot work for @agent, or can again.  Best effort."""
    try:
        await client.request("POST", f"/v1/worker/agents/{part(agent)}/state",
                             {"worker": worker, "error": error}, patience=REPORT_PATIENCE)
    except SpoolwireError as e:
        log.warning("the state of %s could not be reported: %s", agent, e)
