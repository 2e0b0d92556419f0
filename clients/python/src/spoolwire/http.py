"""HTTP/1.1 over asyncio's streams: one connection, one request at a time.

Only what a client of spoolwire needs: bodies with a length or in chunks, keep-alive, TLS, Unix
sockets.  Whatever the peer does wrong is an OSError, as a broken connection is: to a caller
both mean "try again on another connection".
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from .address import Address
from .errors import NotTrusted

LIMIT = 1 << 20  # bytes, of one line of the head


class BadAnswer(OSError):
    """What came is not HTTP, or ended in the middle."""


@dataclass
class Head:
    status: int
    headers: dict[str, str] = field(default_factory=dict)


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                 address: Address) -> None:
        self._reader = reader
        self._writer = writer
        self._address = address
        self.reusable = False  # the last answer was read to its end, and keep-alive is allowed

    @classmethod
    async def open(cls, address: Address, tls: ssl.SSLContext | None) -> Connection:
        if address.socket is not None:
            reader, writer = await asyncio.open_unix_connection(address.socket, limit=LIMIT)
        else:
            try:
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, limit=LIMIT,
                    ssl=(tls or ssl.create_default_context()) if address.tls else None)
            except ssl.SSLCertVerificationError as e:
                raise NotTrusted(f"the certificate of {address.authority}: {e.verify_message}; "
                                 "SSL_CERT_FILE names a file of those to trust") from e
        return cls(reader, writer, address)

    def close(self) -> None:
        self.reusable = False
        self._writer.close()

    @property
    def alive(self) -> bool:
        return self.reusable and not self._reader.at_eof() and not self._writer.is_closing() and \
            not self._has_input()

    def _has_input(self) -> bool:
        """Has the server closed it while the loop was not running?  It sends nothing without a request."""
        ready = select.poll()
        ready.register(self._writer.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(ready.poll(0))

    async def send(self, method: str, path: str, headers: Mapping[str, str],
                   body: bytes | None) -> None:
        self.reusable = False
        rows = [f"{method} {self._address.prefix}{path} HTTP/1.1",
                f"Host: {self._address.authority}"]
        rows += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            rows.append(f"Content-Length: {len(body or b'')}")
        self._writer.write("\r\n".join(rows).encode("latin-1") + b"\r\n\r\n" + (body or b""))
        await self._writer.drain()

    async def head(self) -> Head:
        status = await self._line()
        words = status.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise BadAnswer(f"not an answer of HTTP: {status[:80]!r}")
        head = Head(int(words[1]))
        while line := await self._line():
            name, _, value = line.partition(":")
            head.headers[name.strip().lower()] = value.strip()
        return head

    async def body(self, head: Head) -> AsyncIterator[bytes]:
        """The body after @head, as it comes.  Raises when the connection is cut."""
        if head.status in (204, 304):
            pass
        elif "chunked" in head.headers.get("transfer-encoding", "").lower():
            async for chunk in self._chunks():
                yield chunk
        elif "content-length" in head.headers:
            left = int(head.headers["content-length"])
            while left > 0:
                data = await self._reader.read(min(left, 1 << 16))
                if not data:
                    raise BadAnswer("the connection was cut inside an answer")
                left -= len(data)
                yield data
        else:
            while data := await self._reader.read(1 << 16):
                yield data
            return
        self.reusable = head.headers.get("connection", "").lower() != "close"

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            line = await self._line()
            try:
                size = int(line.split(";")[0], 16)
            except ValueError:
                raise BadAnswer(f"not the size of a chunk: {line[:80]!r}") from None
            if size == 0:
                while await self._line():
                    pass
                return
            try:
                data = await self._reader.readexactly(size + 2)
            except asyncio.IncompleteReadError:
                raise BadAnswer("the connection was cut inside a chunk") from None
            yield data[:-2]

    async def _line(self) -> str:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as e:
            raise BadAnswer("the connection was cut" if e.partial else "no answer came") from None
        except asyncio.LimitOverrunError:
            raise BadAnswer("a line of the answer is too long") from None
        return line.decode("latin-1").rstrip("\r\n")
