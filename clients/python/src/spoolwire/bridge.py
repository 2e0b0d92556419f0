"""The bridge to an engine: submits a ticket for each job that waits, and leases nothing itself.

    queue of an agent ──long poll──▶ bridge ──tickets──▶ engine ──▶ ticket on a worker ──lease──▶ server

Killing the bridge loses nothing: jobs wait in the server, and tickets that run finish theirs.  Two
bridges for one agent are two sources of tickets: those that find no job end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable
from typing import Any, Protocol

from .backoff import Backoff
from .client import Client, part
from .errors import ServerAway, SpoolwireError
from .ticket import Outcome, Ticket, report_state

log = logging.getLogger("spoolwire")

WAIT = 30  # seconds that the server may keep a look at the queue waiting
MARGIN = 20
SOON = 0.005  # seconds in which the ends of several tickets count as one
REPEAT = 30.0  # seconds until a state that lasts is reported again
QUIET = 60.0  # seconds between two log lines that say the same


class Engine(Protocol):
    name: str  # for people
    loses_tickets: bool  # it does not tell that a ticket died with its worker

    async def open(self) -> None:
        """Connects; raises SpoolwireError, in one sentence, when that is not possible."""

    async def submit(self, ticket: Ticket, n: int) -> list[Awaitable[Outcome]]:
        """@n tickets, whose outcomes are awaited.  Raises SpoolwireError when it cannot take them."""

    async def close(self) -> None:
        """Withdraws the tickets that no worker has begun."""


class Bridge:
    """@tickets: what a ticket of each agent is.  @most: tickets of an agent at a time."""

    def __init__(self, engine: Engine, tickets: list[Ticket], client: Client, most: int = 256) -> None:
        self._engine, self._client, self._most = engine, client, most
        self.name = f"{engine.name} bridge {socket.gethostname()}:{os.getpid()}"
        self._agents = [Feed(self, ticket, most) for ticket in tickets]
        self._said: dict[str, float] = {}

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def client(self) -> Client:
        return self._client

    async def run(self, *, signals: bool = False) -> None:
        """Until it is cancelled, or with @signals until SIGTERM or SIGINT."""
        work = asyncio.ensure_future(self._run())
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            pass
        finally:
            await self._engine.close()
            self._client.close()

    async def _run(self) -> None:
        await self._open()
        feeding = [asyncio.ensure_future(feed.run()) for feed in self._agents]
        try:
            await asyncio.gather(*feeding)
        finally:
            for task in feeding:
                task.cancel()
            await asyncio.gather(*feeding, return_exceptions=True)

    async def _open(self) -> None:
        """Jobs wait until the engine can be reached; meanwhile the agents' state says why."""
        backoff = Backoff(0.5, 15.0)
        was_away = False
        while True:
            try:
                await self._engine.open()
                break
            except SpoolwireError as e:
                was_away = True
                self.complain(str(e))
                await self.tell(str(e))
                await asyncio.sleep(backoff.delay())
        log.warning("%s: submits tickets for %s", self.name, ", ".join(f.ticket.agent for f in self._agents))
        if was_away:
            await self.tell(None)

    async def tell(self, error: str | None) -> None:
        """Reports the bridge's own state for all agents."""
        await asyncio.gather(*(report_state(self._client, f.ticket.agent, self.name, error) for f in self._agents))

    def complain(self, sentence: str) -> None:
        """Prints a sentence; not again within a minute."""
        now = asyncio.get_running_loop().time()
        if now - self._said.get(sentence, -QUIET) >= QUIET:
            self._said[sentence] = now
            log.error("%s", sentence)


class Feed:
    """The tickets of one agent."""

    def __init__(self, bridge: Bridge, ticket: Ticket, most: int) -> None:
        self.ticket = ticket
        self._bridge, self._most = bridge, most
        self._out: set[asyncio.Future[Any]] = set()  # tickets that have not ended
        self._ended = asyncio.Event()  # one ended: the queue is to be compared with fewer tickets
        self._pause = Backoff(0.05, 5.0)  # while tickets end without a job although one waits
        self._is_vain = False

    async def run(self) -> None:
        try:
            while True:
                await self._more()
        finally:
            for task in self._out:
                task.cancel()

    async def _more(self) -> None:
        while len(self._out) >= self._most:
            self._ended.clear()
            await self._ended.wait()
        wanted = await self._wanted()
        if wanted <= 0:
            return
        if self._is_vain:
            self._is_vain = False
            await asyncio.sleep(self._pause.delay())
        await self._submit(min(wanted, self._most - len(self._out)))

    async def _wanted(self) -> int:
        """How many more tickets are needed.  Waits until some are, or a ticket ended."""
        self._ended.clear()
        looking = asyncio.ensure_future(self._look())
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({looking, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not looking.done():
                await asyncio.wait({looking}, timeout=SOON)
            return looking.result() if looking.done() else 0
        finally:
            for task in (looking, ended):
                task.cancel()
            await asyncio.gather(looking, ended, return_exceptions=True)

    async def _look(self) -> int:
        out, begin = len(self._out), time.monotonic()
        try:
            answer = await self._bridge.client.request(
                "GET", f"/v1/agents/{part(self.ticket.agent)}/queue", query={"wait": WAIT, "tickets": out},
                timeout=WAIT + MARGIN, patience=REPEAT)
        except ServerAway as e:
            self._bridge.complain(str(e))
            return 0
        said = answer.json()
        # Those of our tickets that have no job yet will take one.  Leases of others make this more
        # than needed: a ticket too many ends.
        queued, leased = int(said["queued"]), int(said["leased"])
        if self._bridge.engine.loses_tickets and time.monotonic() - begin >= WAIT - 1:
            return queued  # no ticket has ended all that time: those without a job may be lost
        return queued - max(0, out - leased)

    async def _submit(self, n: int) -> None:
        try:
            outcomes = await self._bridge.engine.submit(self.ticket, n)
        except SpoolwireError as e:
            self._bridge.complain(str(e))
            await report_state(self._bridge.client, self.ticket.agent, self._bridge.name, str(e))
            await asyncio.sleep(self._pause.delay())
            return
        for outcome in outcomes:
            task = asyncio.ensure_future(self._follow(outcome))
            self._out.add(task)
            task.add_done_callback(self._end)

    async def _follow(self, outcome: Awaitable[Outcome]) -> None:
        """A ticket until its end."""
        said: Outcome = {}
        try:
            said = await outcome
        except SpoolwireError as e:
            said = {"error": str(e)}
        if said.get("error"):
            self._bridge.complain(f"{self.ticket.agent}: {said.get('worker', 'a worker')}: {said['error']}")
            if said.get("unreported"):
                await report_state(self._bridge.client, self.ticket.agent,
                                   said.get("worker") or self._bridge.name, said["error"])
        if said.get("jobs"):
            self._pause.reset()
        else:
            self._is_vain = True

    def _end(self, task: asyncio.Future[Any]) -> None:
        self._out.discard(task)
        self._ended.set()
        if not task.cancelled() and (e := task.exception()) is not None:
            log.error("%s", e, exc_info=e)
