"""Requests to a server, repeated while it cannot be reached.

All requests are idempotent: batches carry their number, leases their request id, checkpoints
and items their names.  So a request whose answer was lost is sent again, until it is answered
or `patience` is over.

A client may be used from several event loops; each has connections of its own.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import EllipsisType
from typing import Any
from urllib.parse import quote, urlencode

from .address import Address, token_of, url_of
from .backoff import Backoff
from .encode import encode
from .errors import Refused, ServerAway
from .http import Connection, Head

AGAIN = {429, 502, 503, 504}  # nothing was done: ask again
IDLE_CONNECTIONS = 16


class Answer:
    def __init__(self, head: Head, body: bytes) -> None:
        self.status, self.headers, self.body = head.status, head.headers, body

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def detail(self) -> str:
        try:
            said = json.loads(self.body)
            return str(said.get("detail", said))
        except (ValueError, AttributeError):
            return self.body[:500].decode(errors="replace")


class Client:
    """@url and @token default to SPOOLWIRE_URL and SPOOLWIRE_TOKEN; @patience is in seconds,
    None: for ever; @timeout is that of one try."""

    def __init__(self, url: str | None = None, token: str | None = None, *,
                 patience: float | None = 300.0, timeout: float = 30.0,
                 tls: ssl.SSLContext | None = None) -> None:
        self.url = url_of(url)
        self.address = Address.parse(self.url)
        self.token = token_of(token)
        self.patience = patience
        self.timeout = timeout
        self._tls = tls
        self._idle: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Connection]] = \
            weakref.WeakKeyDictionary()

    async def request(self, method: str, path: str, body: Any = None, *,
                      query: Mapping[str, Any] | None = None, timeout: float | None = None,
                      patience: float | None | EllipsisType = ...) -> Answer:
        """The answer, if its status is 2xx; raises Refused or ServerAway otherwise.  @body is bytes,
        or anything that can be written as JSON; @patience is the client's unless given."""
        data = body if isinstance(body, bytes) else None if body is None else encode(body)
        if isinstance(patience, EllipsisType):
            patience = self.patience
        end = None if patience is None else time.monotonic() + patience
        backoff = Backoff()
        while True:
            try:
                answer = await asyncio.wait_for(
                    self._once(method, path_of(path, query), data), timeout or self.timeout)
            except (OSError, asyncio.TimeoutError, EOFError) as e:
                why, pause = f"{self.url} is away: {e or type(e).__name__}", backoff.delay()
            else:
                if answer.status < 300:
                    return answer
                if answer.status not in AGAIN:
                    raise Refused(answer.status, answer.detail)
                why = f"{self.url} is busy ({answer.status}): {answer.detail}"
                pause = backoff.delay(seconds(answer.headers.get("retry-after")))
            if end is not None and time.monotonic() + pause > end:
                raise ServerAway(why)
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, Any] | None = None,
                     headers: Mapping[str, str] | None = None
                     ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """One try, without repetition, at an answer that streams: its head, and its body as it comes."""
        connection = await Connection.open(self.address, self._tls)
        try:
            await connection.send("GET", path_of(path, query), self._headers(headers), None)
            head = await connection.head()
            yield head, connection.body(head)
        finally:
            connection.close()

    def close(self) -> None:
        """Closes the connections that no request is using."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _headers(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        headers = {"Accept": "application/json", **(more or {})}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    async def _once(self, method: str, path: str, body: bytes | None) -> Answer:
        idle = self._idle.setdefault(asyncio.get_running_loop(), [])
        while idle and not idle[-1].alive:
            idle.pop().close()
        connection = idle.pop() if idle else await Connection.open(self.address, self._tls)
        more = {"Content-Type": "application/json"} if body is not None else None
        try:
            await connection.send(method, path, self._headers(more), body)
            head = await connection.head()
            data = b"".join([part async for part in connection.body(head)])
        except BaseException:
            connection.close()
            raise
        if connection.reusable and len(idle) < IDLE_CONNECTIONS:
            idle.append(connection)
        else:
            connection.close()
        return Answer(head, data)


def path_of(path: str, query: Mapping[str, Any] | None) -> str:
    given = {k: v for k, v in (query or {}).items() if v is not None}
    return f"{path}?{urlencode(given)}" if given else path


def part(text: str) -> str:
    """@text as one part of a path."""
    return quote(text, safe="")


def seconds(text: str | None) -> float:
    try:
        return min(float(text or 0), 60.0)
    except ValueError:
        return 0.0
