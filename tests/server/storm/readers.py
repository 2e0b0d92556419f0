"""Readers of event streams that drop and come back: as many as one wants, in one thread."""

import asyncio
import re

from harness import check, equal

# Exactly what we promise to write, which is far less than what SSE allows.
FRAME = re.compile(rb"(?:id: ([1-9][0-9]*(?:\.[1-9][0-9]*)?)\n)?"
                   rb"event: ([a-z_]+(?:[./][a-z_]+)*(?:\|[A-Za-z0-9_.:|-]*)?)\n"
                   rb"data: ([^\r\n\0]*)")
OTHER = re.compile(rb":[^\r\n\0]*|retry: [0-9]+")
FRAMES, LINES = b"\n\n", b"\n"  # what a body is cut at
HOPELESS = 90  # seconds without an answer: the kills may take half of them on a busy machine


class Connection(asyncio.Protocol):
    """One answer: its chunks are taken apart, and its frames go to the reader."""

    CUT = FRAMES

    def __init__(self, reader, request, most):
        self.reader, self.request, self.most = reader, request, most
        self.status, self.wire, self.block = None, b"", b""
        self.clean = False  # it has come to its end
        self.n = 0
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.request)

    def connection_lost(self, error):
        if not self.over.done():
            self.over.set_result(None)

    def data_received(self, data):
        if self.over.done():
            return
        try:
            self.take(data)
        except Exception as e:
            self.over.set_exception(e)
            self.transport.abort()

    def take(self, data):
        self.n += len(data)
        dropped = self.most is not None and self.n >= self.most
        if dropped:  # wherever that is, also in the middle of a frame
            data = data[:len(data) - (self.n - self.most)]
        self.wire += data
        if self.status is None:
            head, end, rest = self.wire.partition(b"\r\n\r\n")
            if end:
                self.wire = rest
                self.status = int(head.split(b" ", 2)[1])
                self.take_head(head.lower())
        if self.status in (101, 200):
            self.take_body()
        if dropped or self.clean or self.status not in (None, 101, 200):
            if not self.over.done():
                self.over.set_result(None)
            self.transport.abort()

    def take_head(self, head):
        check(self.status != 200 or b"\r\ntransfer-encoding: chunked" in head, f"no chunks: {head!r}")

    def take_body(self):
        wire, at, body = self.wire, 0, [self.block]
        while not self.clean:
            line = wire.find(b"\r\n", at)
            if line < 0:
                break
            n = int(wire[at:line], 16)
            end = line + 2 + n
            if len(wire) < end + 2:
                break
            equal(wire[end:end + 2], b"\r\n", "the end of a chunk")
            body.append(wire[line + 2:end])
            at = end + 2
            self.clean = n == 0
        self.wire = wire[at:]
        *whole, self.block = b"".join(body).split(self.CUT)
        for block in whole:
            self.reader.take(block)
        if self.clean:
            equal(self.block, b"", "the stream ended inside a frame")


def unmarked(data):
    """Without what the end of a finished job says to a reader of aiq who comes back."""
    return data.replace(b',"reconnected":true', b"")


class Reader:
    """Reads a job in one dialect, as EventSource does: 204 is the end, all else is come again.

    @blocks are the frames that have ids, as they came, over all connections."""

    CONNECTION = Connection
    NOT_YET = (None, 404)  # no connection, not submitted; 503 would end an EventSource for good

    def __init__(self, port, job, dialect, random=None):
        self.port, self.job, self.dialect, self.random = port, job, dialect, random
        self.blocks, self.ids, self.others = [], [], []
        self.connections = self.drops = 0

    def __str__(self):
        return f"{self.dialect} of {self.job}"

    def take(self, block):
        m = FRAME.fullmatch(block)
        if m is None:
            check(OTHER.fullmatch(block), f"{self}: not a frame of ours: {block[:300]!r}")
            return
        id, event, _ = m.groups()
        check(event != b"stream.gap", f"{self}: {block!r} after {self.ids[-3:]}")
        if id is None:
            self.others.append(block)
        else:
            self.keep(id.decode(), block)

    def keep(self, id, block):
        self.ids.append(id)
        self.blocks.append(unmarked(block))

    def first_difference(self, whole):
        """From one uninterrupted read over SSE; None when all is the same."""
        if self.blocks == whole.blocks:
            return None
        n = next((i for i, (a, b) in enumerate(zip(self.blocks, whole.blocks)) if a != b), min(len(self.blocks), len(whole.blocks)))
        return (f"{len(self.blocks)} frames of {len(whole.blocks)}; the first other one is {n}:\n"
                f"      got  {self.blocks[n:n + 1]} after id {self.ids[n - 1:n]}\n      want {whole.blocks[n:n + 1]}")

    def is_done(self, c):
        if c.status == 204:
            check(self.ids, f"{self}: 204 without an event")
        return c.status == 204

    def path(self):
        if self.dialect == "aiq" and (self.random is None or self.random.random() < 0.5):
            return f"/v1/jobs/async/job/{self.job}/stream"
        return self.events()

    def events(self):
        return f"/v1/jobs/{self.job}/events?dialect={self.dialect}"

    def request(self):
        cursor = f"Last-Event-ID: {self.ids[-1]}\r\n" if self.ids else ""
        return (f"GET {self.path()} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAccept: text/event-stream\r\n"
                f"{cursor}\r\n").encode()

    def limits(self):
        """Bytes and seconds of the next connection, or None for as long as it lasts."""
        if self.random is None:
            return None, None
        kind = self.random.random()
        if kind < 0.4:
            return int(self.random.expovariate(1 / 60000)) + 1, None
        if kind < 0.8:
            return None, self.random.uniform(0, 3)
        return None, None

    async def once(self):
        """One connection, or None when there was none."""
        most, seconds = self.limits()
        loop = asyncio.get_running_loop()
        try:
            transport, c = await loop.create_connection(lambda: self.CONNECTION(self, self.request(), most),
                                                        "127.0.0.1", self.port)
        except OSError:
            return None
        self.connections += 1
        try:
            await asyncio.wait_for(c.over, seconds)
        except asyncio.TimeoutError:
            self.drops += 1
        finally:
            transport.abort()
        if most is not None and c.n >= most:
            self.drops += 1
        return c

    async def run(self):
        failed = asyncio.get_running_loop().time() + HOPELESS
        while True:
            c = await self.once()
            now = asyncio.get_running_loop().time()
            if c is not None and self.is_done(c):
                return self
            status = c and c.status
            if status in (101, 200):
                failed = now + HOPELESS
            else:
                check(status in self.NOT_YET, f"{self}: answered {status}")
                check(now < failed, f"{self}: no connection for {HOPELESS} s: {status}")
            await asyncio.sleep(self.random.uniform(0, 0.15) if self.random else 0)
