"""A worker whose server is away for ten seconds in the middle of a run."""

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import Any

import gateway
from gateway import until
from support import custom, say, working

SECONDS = 10


@dataclass
class Absence:
    said: int  # events in all
    job: dict[str, Any]
    stored: list[Any]


def ten_seconds() -> Absence:
    said, enough = [], threading.Event()

    async def handler(job):
        while not enough.is_set():
            await job.emit(say(len(said)))
            said.append(True)
            await asyncio.sleep(0.01)
        return len(said)

    server = gateway.Server(agents={"pull": {"pull": True}}, port=gateway.fixed_port())
    with server, working(server, {"pull": handler}):
        job = server.submit("pull")
        until("events are stored", lambda: server.job(job)["events"] > 20)
        server.kill()
        before = len(said)
        time.sleep(SECONDS)
        until("it goes on meanwhile", lambda: len(said) > before + 100)
        waiting = len(said)
        server.start()
        until("what waited is stored", lambda: server.job(job)["events"] > waiting)
        enough.set()
        return Absence(said=len(said), job=server.until_state(job, "succeeded", "failed"),
                       stored=custom(server, job))
