"""The agent's process beside an engine's worker, which is kept from ticket to ticket.

Dask's worker has a thread of its own, whose timers take the interpreter from a graph in the same process: a tenth of
the graph's speed.  So the worker's thread passes the ticket on, and only waits:

    thread of the worker ──{"ticket": 7, "of": {…}, "worker": "…"}──▶ process ──lease, events──▶ server
                         ◀──{"ticket": 7, "outcome": {"jobs": 1}}────

The process exits with the worker, and when it has had no ticket for a minute.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from .child import environment
from .encode import encode
from .ticket import STOP_POLL, Outcome, Ticket, run

log = logging.getLogger("spoolwire")

MOST = 1024  # tickets at a time, at most: the engine has fewer threads


# --- in the engine's worker ----------------------------------------------------------


class AgentProcesses:
    """Those of this worker: one for each agent of each bridge.  @idle: seconds without a ticket, after which one exits."""

    def __init__(self, idle: float = 60.0) -> None:
        self._idle = idle
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], AgentProcess] = {}

    def run(self, ticket: Ticket, worker: str, is_stopping: Callable[[], bool]) -> Outcome:
        """As ticket.run(), in the agent's process."""
        with self._lock:
            key = ticket.bridge, ticket.agent
            process = self._known.get(key)
            if process is None or process.has_ended:
                process = self._known[key] = AgentProcess(ticket, self._lock, self._idle)
            number, answer = process.begin(ticket, worker)
        return process.follow(number, answer, is_stopping)


class AgentProcess:
    """@lock: of all of them, held by those who call begin()."""

    def __init__(self, ticket: Ticket, lock: threading.Lock, idle: float) -> None:
        self._lock = lock
        self._answers: dict[int, queue.SimpleQueue[Outcome]] = {}
        self._count = 0
        self._is_ready = False
        self.has_ended = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spoolwire", "tickets", "--parent", str(os.getpid()), "--idle", str(idle)],
            env=environment(ticket), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self, ticket: Ticket, worker: str) -> tuple[int, queue.SimpleQueue[Outcome]]:
        """The ticket's number, and where its outcome comes, maybe before this returns."""
        self._count += 1
        answer = self._answers[self._count] = queue.SimpleQueue()
        self._say({"ticket": self._count, "of": asdict(ticket), "worker": worker})
        return self._count, answer

    def follow(self, number: int, answer: queue.SimpleQueue[Outcome], is_stopping: Callable[[], bool]) -> Outcome:
        has_told = False
        while True:
            try:
                return answer.get(timeout=STOP_POLL)
            except queue.Empty:
                if not has_told and is_stopping():
                    has_told = True
                    with self._lock:
                        self._say({"ticket": number, "stop": True})

    def _say(self, line: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode(line) + b"\n")
        except (BrokenPipeError, ValueError):
            pass  # _listen() sees its end

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._lock:
                if "outcome" in said:
                    self._answers.pop(said["ticket"]).put(said["outcome"])
                elif said.get("idle"):
                    self._close_if_idle()
                else:
                    self._is_ready = True
        self._end(self._process.wait())

    def _close_if_idle(self) -> None:
        if not self._answers and self._process.stdin is not None:
            self.has_ended = True  # the next ticket starts another one
            self._process.stdin.close()

    def _end(self, code: int) -> None:
        """Jobs that it had are tried again when their leases run out."""
        how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
        outcome: Outcome = {"jobs": 0}
        if not self._is_ready:
            outcome.update(error=f"the agent's process {how} (the log of this worker says why)", unreported=True)
        with self._lock:
            self.has_ended = True
            if self._answers:
                log.warning("the agent's process %s with %d tickets", how, len(self._answers))
            for answer in self._answers.values():
                answer.put(outcome)
            self._answers.clear()


processes = AgentProcesses()


# --- in the process ------------------------------------------------------------------


def add_tickets(commands: Any) -> None:
    tickets = commands.add_parser("tickets")  # without help: only we start it
    tickets.add_argument("--parent", type=int, required=True)
    tickets.add_argument("--idle", type=float, required=True)


def serve(args: argparse.Namespace, stdout: int) -> None:
    """Until standard input ends, with which everything does: the worker is gone."""
    Tickets(stdout, args.idle).run()
    os._exit(0)


class Tickets:
    """Each runs in a thread, as the engine means it: agents may block."""

    def __init__(self, stdout: int, idle: float) -> None:
        self._stdout, self._idle = stdout, idle
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(MOST)  # which are kept, with their connections
        self._running: dict[int, threading.Event] = {}  # set: it is to stop

    def run(self) -> None:
        self._say({"ready": True})
        for said in self._lines():
            number = said["ticket"]
            if said.get("stop"):
                if (ends := self._running.get(number)) is not None:  # it has not ended meanwhile
                    ends.set()
            else:
                stop = self._running[number] = threading.Event()
                self._threads.submit(self._work, number, Ticket(**said["of"]), said["worker"], stop)

    def _work(self, number: int, ticket: Ticket, worker: str, stop: threading.Event) -> None:
        outcome: Outcome = {"jobs": 0}
        try:
            outcome = run(ticket, worker, stop.is_set)
        except BaseException as e:
            log.error("a ticket failed", exc_info=e)
        finally:
            del self._running[number]
            self._say({"ticket": number, "outcome": outcome})

    def _lines(self) -> Iterator[dict[str, Any]]:
        rest = b""
        while True:
            while not select.select([0], [], [], self._idle)[0]:
                if not self._running:
                    self._say({"idle": True})
            piece = os.read(0, 1 << 16)
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            yield from map(json.loads, lines)

    def _say(self, line: Any) -> None:
        with self._lock:
            os.write(self._stdout, encode(line) + b"\n")
