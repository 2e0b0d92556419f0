"""Reads a job's events from any place to the end, and reconnects when the connection breaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from .backoff import Backoff
from .client import AGAIN, Client, part, seconds
from .errors import Refused

SILENCE = 60.0  # seconds without a byte after which a connection is dead; the server's heartbeats come more often


@dataclass(frozen=True)
class Event:
    id: str | None  # the cursor after it; None for events about the connection
    event: str
    data: Any


async def subscribe(job: str, *, dialect: str = "agent", after: str = "0",
                    client: Client | None = None, **query: Any) -> AsyncIterator[Event]:
    """Ends when the job has.  @query: what else the route takes, such as modes and subgraphs."""
    client = client or Client()
    backoff = Backoff()
    while True:
        pause = 0.0
        try:
            asked = {"dialect": dialect, "after": after, **query}
            async with client.stream(f"/v1/jobs/{part(job)}/events", query=asked,
                                     headers={"Accept": "application/x-ndjson"}) as (head, body):
                if head.status in AGAIN:
                    pause = seconds(head.headers.get("retry-after"))
                    raise ConnectionError("busy")
                if head.status != 200:
                    said = b"".join([data async for data in body])
                    raise Refused(head.status, said[:500].decode(errors="replace"))
                async for event in events(body):
                    backoff.reset()
                    after = event.id or after
                    yield event
                return
        except (OSError, asyncio.TimeoutError, EOFError):
            await asyncio.sleep(backoff.delay(pause))


async def events(body: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Of JSON lines, which may be cut anywhere."""
    rest = b""
    while True:
        try:
            data = await asyncio.wait_for(anext(body), SILENCE)
        except StopAsyncIteration:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line) if line else {"event": "stream.keep_alive"}
            if said["event"] != "stream.keep_alive":
                yield Event(said.get("id"), said["event"], said["data"])
