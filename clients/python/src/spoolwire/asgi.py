"""A small ASGI server on a Unix socket, for a project's own HTTP app, and an ASGI app that hands
requests back to spoolwire.

The only client is spoolwire itself, which has checked each request and closes the connection
after its answer, so there are no limits, timeouts or keep-alive here.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote, urlsplit

log = logging.getLogger("spoolwire")

MAX_HEAD = 256 * 1024
MAX_MESSAGE = 16 * 1024 * 1024
PIECE = 65536
OF_CONNECTION = {b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"upgrade"}
SECRET, INSIDE = b"x-spoolwire-companion", b"x-spoolwire-inside"
WEBSOCKET_ID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

Headers = list[tuple[bytes, bytes]]
App = Callable[[dict[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


async def read_head(reader: asyncio.StreamReader) -> tuple[bytes, Headers]:
    """The first line, and the headers with their names in lower case."""
    lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    pairs = (line.partition(b":") for line in lines[1:])
    return lines[0], [(name.strip().lower(), value.strip()) for name, _, value in pairs]


async def read_body(reader: asyncio.StreamReader, headers: Headers, to_end: bool) -> AsyncIterator[bytes]:
    given = dict(headers)
    if b"chunked" in given.get(b"transfer-encoding", b"").lower():
        while size := int((await reader.readline()).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        while (await reader.readline()).strip():
            pass  # trailers
        return
    left = int(given.get(b"content-length", b"0"))
    ends = to_end and b"content-length" not in given
    while left > 0 or ends:
        piece = await reader.read(PIECE if ends else min(left, PIECE))
        if not piece:
            return
        left -= len(piece)
        yield piece


# --- the app ----------------------------------------------------------------------------------


class Exchange:
    """One request of HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: Headers) -> None:
        self.reader, self.writer = reader, writer
        self.pieces = read_body(reader, headers, to_end=False).__aiter__()
        self.has_ended = self.has_begun = False

    async def receive(self) -> dict[str, Any]:
        if not self.has_ended:
            try:
                return {"type": "http.request", "body": await self.pieces.__anext__(), "more_body": True}
            except StopAsyncIteration:
                self.has_ended = True
                return {"type": "http.request", "body": b"", "more_body": False}
            except (asyncio.IncompleteReadError, ConnectionError):
                return {"type": "http.disconnect"}
        await self.reader.read()  # until the client leaves
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            put_head(self.writer, message["status"], message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.writer.write(message.get("body", b""))
        await self.writer.drain()


def put_head(writer: asyncio.StreamWriter, status: int, headers: Any) -> None:
    writer.write(b"HTTP/1.1 %d \r\n" % status)
    for name, value in headers:
        if bytes(name).lower() not in OF_CONNECTION or bytes(name).lower() == b"content-length":
            writer.write(bytes(name) + b": " + bytes(value) + b"\r\n")
    writer.write(b"Connection: close\r\n\r\n")


class Socket:
    """One WebSocket (RFC 6455), the server's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: Headers) -> None:
        self.reader, self.writer, self.headers = reader, writer, dict(headers)
        self.is_open = self.is_told = False

    async def receive(self) -> dict[str, Any]:
        if not self.is_told:
            self.is_told = True
            return {"type": "websocket.connect"}
        try:
            return await self.message()
        except (asyncio.IncompleteReadError, ConnectionError):
            return {"type": "websocket.disconnect", "code": 1006}

    async def message(self) -> dict[str, Any]:
        parts, kind = b"", 0
        while True:
            is_last, code, payload = await self.frame()
            if code == 8:
                reason = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
                self.put(8, payload[:2])
                return {"type": "websocket.disconnect", "code": reason}
            if code == 9:
                self.put(10, payload)
            if code > 7:
                continue
            kind, parts = code or kind, parts + payload
            if len(parts) > MAX_MESSAGE:
                self.put(8, struct.pack(">H", 1009))
                return {"type": "websocket.disconnect", "code": 1009}
            if is_last:
                return {"type": "websocket.receive", **({"text": parts.decode()} if kind == 1 else {"bytes": parts})}

    async def frame(self) -> tuple[bool, int, bytes]:
        first, second = await self.reader.readexactly(2)
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", await self.reader.readexactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", await self.reader.readexactly(8))[0]
        if size > MAX_MESSAGE:
            raise ConnectionError("a frame is too long")
        mask = await self.reader.readexactly(4) if second & 128 else b"\0\0\0\0"
        data = await self.reader.readexactly(size)
        key = (mask * (size // 4 + 1))[:size]
        return bool(first & 128), first & 15, (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")

    def put(self, code: int, payload: bytes) -> None:
        size = len(payload)
        head = bytes([128 | code])
        head += bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536 else \
            b"\x7f" + struct.pack(">Q", size)
        self.writer.write(head + payload)

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.accept":
            self.accept(message)
        elif message["type"] == "websocket.send":
            text = message.get("text")
            self.put(1, text.encode()) if text is not None else self.put(2, message["bytes"])
        elif message["type"] == "websocket.close" and self.is_open:
            self.put(8, struct.pack(">H", message.get("code") or 1000) + (message.get("reason") or "").encode())
        elif message["type"] == "websocket.close":
            put_head(self.writer, 403, [(b"Content-Length", b"0")])
        await self.writer.drain()

    def accept(self, message: dict[str, Any]) -> None:
        self.is_open = True
        key = base64.b64encode(hashlib.sha1(self.headers.get(b"sec-websocket-key", b"") + WEBSOCKET_ID).digest())
        self.writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          b"Sec-WebSocket-Accept: " + key + b"\r\n")
        if message.get("subprotocol"):
            self.writer.write(b"Sec-WebSocket-Protocol: " + message["subprotocol"].encode() + b"\r\n")
        for name, value in message.get("headers", []):
            self.writer.write(name + b": " + value + b"\r\n")
        self.writer.write(b"\r\n")


class AppServer:
    def __init__(self, app: App) -> None:
        self.app = app
        self.tasks: set[asyncio.Task[None]] = set()

    async def listen(self, path: str) -> asyncio.AbstractServer:
        await self.start_lifespan()
        return await asyncio.start_unix_server(self.serve, path, limit=MAX_HEAD)

    async def start_lifespan(self) -> None:
        """Tells the app that the server starts; an app that knows no lifespan raises, which is fine."""
        started: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        async def receive() -> dict[str, Any]:
            if not started.done() and not begun:
                begun.append(True)
                return {"type": "lifespan.startup"}
            await asyncio.Event().wait()  # the process ends without ceremony
            return {}

        async def send(message: dict[str, Any]) -> None:
            if not started.done():
                failed = message["type"] == "lifespan.startup.failed"
                started.set_result(message.get("message", "") if failed else None)

        async def run() -> None:
            try:
                await self.app({"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}},
                               receive, send)
            except Exception as e:
                log.debug("no lifespan: %s", e)
            if not started.done():
                started.set_result(None)

        begun: list[bool] = []
        task = asyncio.ensure_future(run())
        self.tasks.add(task)
        trouble = await started
        if trouble is not None:
            raise RuntimeError(f"the app's lifespan has failed: {trouble}")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchange = None
        try:
            line, headers = await read_head(reader)
            scope = scope_of(line, headers)
            exchange = (Socket if scope["type"] == "websocket" else Exchange)(reader, writer, headers)
            await self.app(scope, exchange.receive, exchange.send)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        except Exception:
            log.exception("the project's HTTP app has failed")
            if isinstance(exchange, Exchange) and not exchange.has_begun:
                put_head(writer, 500, [(b"Content-Type", b"text/plain"), (b"Content-Length", b"21")])
                writer.write(b"Internal Server Error")
        finally:
            writer.close()


def scope_of(line: bytes, headers: Headers) -> dict[str, Any]:
    method, target, _ = line.decode("latin-1").split(" ", 2)
    path, _, query = target.partition("?")
    given = dict(headers)
    is_socket = b"websocket" in given.get(b"upgrade", b"").lower()
    host, _, port = given.get(b"host", b"localhost").decode("latin-1").partition(":")
    scope: dict[str, Any] = {
        "type": "websocket" if is_socket else "http", "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1", "scheme": "ws" if is_socket else "http", "path": unquote(path),
        "raw_path": path.encode("latin-1"), "query_string": query.encode("latin-1"), "root_path": "",
        "headers": headers, "client": None, "server": (host, int(port) if port.isdigit() else None), "state": {}}
    if is_socket:
        names = given.get(b"sec-websocket-protocol", b"").decode("latin-1").split(",")
        scope["subprotocols"] = [name.strip() for name in names if name.strip()]
    else:
        scope["method"] = method
    return scope


# --- back to spoolwire --------------------------------------------------------------------------


class Gateway:
    """An ASGI app that is spoolwire: requests are sent to it, and its answers are passed on."""

    def __init__(self, url: str, secret: str, inside: bool = False) -> None:
        self.url = url
        self.more: Headers = [(SECRET, secret.encode())] + ([(INSIDE, b"1")] if inside else [])

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.url.startswith("unix:"):
            return await asyncio.open_unix_connection(self.url[len("unix:"):], limit=MAX_HEAD)
        parts = urlsplit(self.url)
        return await asyncio.open_connection(parts.hostname, parts.port, limit=MAX_HEAD)

    def host(self) -> bytes:
        return b"localhost" if self.url.startswith("unix:") else urlsplit(self.url).netloc.encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        reader, writer = await self.connect()
        try:
            await self.pass_on(scope, receive, send, reader, writer)
        finally:
            writer.close()

    def put_request(self, scope: dict[str, Any], writer: asyncio.StreamWriter, has_body: bool) -> None:
        target = scope.get("raw_path") or scope["path"].encode()
        query = scope.get("query_string", b"")
        headers = [(n, v) for n, v in scope["headers"] if n not in OF_CONNECTION | {SECRET, INSIDE}]
        if scope.get("root_path") == "/noauth" or not any(n == b"host" for n, _ in headers):
            headers = [(n, v) for n, v in headers if n != b"host"] + [(b"host", self.host())]
        writer.write(scope["method"].encode() + b" " + target + (b"?" + query if query else b"") + b" HTTP/1.1\r\n")
        for name, value in headers + self.more + [(b"connection", b"close")]:
            writer.write(name + b": " + value + b"\r\n")
        writer.write(b"transfer-encoding: chunked\r\n\r\n" if has_body else b"\r\n")

    async def pass_on(self, scope: dict[str, Any], receive: Any, send: Any, reader: asyncio.StreamReader,
                      writer: asyncio.StreamWriter) -> None:
        first = await receive()
        if first["type"] == "http.disconnect":
            return
        has_body = bool(first.get("body") or first.get("more_body"))
        self.put_request(scope, writer, has_body)
        upload = asyncio.ensure_future(self.upload(first, receive, writer, has_body))
        try:
            line, headers = await read_head(reader)
            status = int(line.split()[1])
            while status == 100:
                line, headers = await read_head(reader)
                status = int(line.split()[1])
            kept = [(n, v) for n, v in headers if n not in OF_CONNECTION or n == b"content-length"]
            await send({"type": "http.response.start", "status": status, "headers": kept})
            if status not in (204, 304) and scope["method"] != "HEAD":
                async for piece in read_body(reader, headers, to_end=True):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            upload.cancel()

    async def upload(self, message: dict[str, Any], receive: Any, writer: asyncio.StreamWriter, has_body: bool) -> None:
        """The body; then waits for the client to leave, and leaves too: its stream is cancelled then."""
        while has_body:
            if message["type"] == "http.disconnect":
                writer.close()
                return
            body = message.get("body", b"")
            if body:
                writer.write(b"%x\r\n" % len(body) + body + b"\r\n")
                await writer.drain()
            if not message.get("more_body"):
                break
            message = await receive()
        if has_body:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        while (await receive())["type"] != "http.disconnect":
            pass
        writer.close()
