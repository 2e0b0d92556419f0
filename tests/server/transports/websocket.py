"""A WebSocket client on a raw socket, as strict as gateway.Stream is: it takes exactly what we
promise to send (whole frames, not masked, no reserved bit), and can send anything."""

import base64
import hashlib
import json
import os
import struct
import time

import gateway
from gateway import CUT, WAIT, parse_head, receive, request_bytes
from harness import check, equal

MORE, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(opcode, payload=b"", fin=True, mask=b"\x12\x34\x56\x78", rsv=0, length=None, size=None):
    """A client's frame; mask None: none.  @length is what the head says, @size how many bytes it
    takes to say it (0, 2, 8)."""
    if isinstance(payload, str):
        payload = payload.encode()
    n = len(payload) if length is None else length
    if size is None:
        size = 0 if n < 126 else 2 if n < 65536 else 8
    second = {0: n, 2: 126, 8: 127}[size] | (0x80 if mask is not None else 0)
    head = bytes([fin << 7 | rsv << 4 | opcode, second]) + (n.to_bytes(size, "big") if size else b"")
    if mask is None:
        return head + payload
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def handshake(server, path, key=None, **headers):
    key = key or base64.b64encode(os.urandom(16)).decode()
    return request_bytes(server, "GET", path, headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key, **{k.replace("_", "-"): v for k, v in headers.items()}}), key


class Socket:
    """Its messages (text), what was ponged, and how it was closed: (code, reason), "eof" or
    "reset"."""

    def __init__(self, server, path, behind=b"", receive_buffer=None, **headers):
        self.messages, self.pings, self.pongs = [], [], []
        self.closed = None  # by the peer's close frame
        self.ended = None   # eof or reset
        self.echo = True    # answers pings and closes
        self.sock = server.connect(receive_buffer)
        request, key = handshake(server, path, **headers)
        self.sock.sendall(request + behind)
        self._wire = b""
        while b"\r\n\r\n" not in self._wire:
            more = self.sock.recv(65536)
            check(more, f"the connection ended inside the head: {self._wire[:300]!r}")
            self._wire += more
        head, _, self._wire = self._wire.partition(b"\r\n\r\n")
        self.status, self.headers = parse_head(head)
        if self.status == 101:
            want = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()
            equal(self.headers["sec-websocket-accept"], want)
            equal((self.headers["upgrade"], self.headers["connection"]), ("websocket", "Upgrade"))
            check("sec-websocket-extensions" not in self.headers and "sec-websocket-protocol" not in self.headers)
            self._take(b"")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    # sending

    def send(self, *frames):
        self.sock.sendall(b"".join(frames))

    def say(self, value):
        self.send(frame(TEXT, value if isinstance(value, str) else json.dumps(value)))

    def close(self, code=1000, reason=""):
        self.send(frame(CLOSE, struct.pack(">H", code) + reason.encode()))

    # receiving

    def pump(self, seconds):
        """Takes what has come within @seconds; False when nothing has."""
        if self.ended:
            return False
        data = receive(self.sock, seconds)
        if data is CUT:
            self.ended = "reset"
        elif data:
            self._take(data)
        elif data is not None:
            self.ended = "eof"
            equal(self._wire, b"", "the connection ended inside a frame")
        return data is not None

    def _take(self, data):
        self._wire += data
        at, wire = 0, self._wire
        while len(wire) - at >= 2:
            first, second = wire[at], wire[at + 1]
            size = {126: 2, 127: 8}.get(second, 0)
            if len(wire) - at < 2 + size:
                break
            n = int.from_bytes(wire[at + 2:at + 2 + size], "big") if size else second
            if len(wire) - at < 2 + size + n:
                break
            check(second < 128, "a server's frame is not masked")
            check(first & 0xf0 == 0x80, f"a frame begins with {first:#x}")
            check(size == 0 or n >= {2: 126, 8: 65536}[size], "its length is short")
            self._frame(first & 15, wire[at + 2 + size:at + 2 + size + n])
            at += 2 + size + n
        self._wire = wire[at:]

    def _frame(self, opcode, payload):
        check(self.closed is None, f"a frame behind the close: {opcode} {payload[:100]!r}")
        if opcode == TEXT:
            self.messages.append(payload.decode())
            json.loads(payload)
        elif opcode == PING:
            self.pings.append(payload)
            if self.echo:
                self.send(frame(PONG, payload))
        elif opcode == PONG:
            self.pongs.append(payload)
        else:
            equal(opcode, CLOSE, "an opcode")
            check(len(payload) != 1 and len(payload) <= 125)
            self.closed = (struct.unpack(">H", payload[:2])[0], payload[2:].decode()) if payload else (1005, "")
            if self.echo:
                try:
                    self.send(frame(CLOSE, payload[:2]))
                except OSError:
                    pass

    def until(self, what, condition, seconds=WAIT):
        end = time.monotonic() + seconds
        while not condition(self):
            left = end - time.monotonic()
            if self.ended or left <= 0:
                raise AssertionError(f"{what}: {self.ended or f'not within {seconds} s'}; closed {self.closed}; "
                                     f"the last messages: {[m[:200] for m in self.messages[-3:]]}")
            self.pump(min(left, 1))
        return self

    def until_messages(self, n, seconds=WAIT):
        return self.until(f"{n} messages", lambda s: len(s.messages) >= n, seconds)

    def rest(self, seconds=WAIT):
        """To its end, which must be a close handshake."""
        self.until("the end", lambda s: s.ended, seconds)
        return self

    def until_closed(self, code, reason=None, seconds=WAIT):
        self.until(f"a close with {code}", lambda s: s.closed, seconds)
        equal(self.closed[0], code, f"the close code, with {self.closed[1]!r}")
        if reason is not None:
            equal(self.closed[1], reason, "the reason")
        self.until("the end of the connection", lambda s: s.ended, seconds)
        equal(self.ended, "eof", "how the connection ended")
        return self


def events_socket(server, job, dialect="agent", after=None, **more):
    query = "".join(f"&{k}={v}" for k, v in more.pop("query", {}).items())
    path = f"/v1/jobs/{job}/events?dialect={dialect}" + (f"&after={after}" if after is not None else "") + query
    return Socket(server, path, **more)


def is_open(server, n=1):
    return lambda: server.get("/healthz").json["streams"] == n


__all__ = ["MORE", "TEXT", "BINARY", "CLOSE", "PING", "PONG", "Socket", "events_socket", "frame", "handshake", "is_open", "gateway"]
