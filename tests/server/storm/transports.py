"""The same readers over the other transports: whatever carries an event, its id, its name and
its data are the bytes that SSE has."""

import asyncio
import base64
import json
import os
import re
import struct

from harness import check, equal
from readers import LINES, Connection, Reader, unmarked

WRAPPED = re.compile(rb'\{(?:"job":"([A-Za-z0-9_-]+)",)?(?:"id":"([1-9][0-9]*(?:\.[1-9][0-9]*)?)",)?'
                     rb'"event":"([a-z_]+(?:[./][a-z_]+)*(?:\|[A-Za-z0-9_.:|-]*)?)","data":(.*)\}', re.S)


NOT_NOW = (*Reader.NOT_YET, 503)


def unwrap(text):
    """Job, id, event, data of {"job","id","event","data"}."""
    m = WRAPPED.fullmatch(text)
    check(m and b"\n" not in text, f"not an event of ours: {text[:300]!r}")
    return m.groups()


def block_of(id, event, data):
    return (b"id: %s\n" % id if id else b"") + b"event: %s\ndata: %s" % (event, data)


# --- JSON lines ---------------------------------------------------------------------------------


class LinesConnection(Connection):
    CUT = LINES


class LinesReader(Reader):
    CONNECTION = LinesConnection
    NOT_YET = NOT_NOW

    def path(self):
        return self.events() + "&format=ndjson"

    def take(self, line):
        job, id, event, data = unwrap(line)
        equal(job, None)
        if event != b"stream.keep_alive":
            super().take(block_of(id, event, data))


# --- pages --------------------------------------------------------------------------------------


class PageConnection(Connection):
    def take_head(self, head):
        if self.status == 200:
            self.length = int(re.search(rb"content-length: (\d+)", head)[1])

    def take_body(self):
        if len(self.wire) >= self.length:
            equal(len(self.wire), self.length, "bytes of a page")
            self.clean = True
            self.reader.take_page(self.wire.decode())


class PageReader(Reader):
    """Long poll: what comes is a whole page, or nothing."""

    CONNECTION = PageConnection
    NOT_YET = NOT_NOW

    def __init__(self, *args):
        super().__init__(*args)
        self.next, self.ended = "0", False

    def request(self):
        path = f"{self.events()}&wait=2&after={self.next}&limit={self.random.choice([3, 50, 500])}"
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()

    def take_page(self, text):
        at, decoder = len('{"events":['), json.JSONDecoder()
        while text[at] == "{":
            end = decoder.raw_decode(text, at)[1]
            _, id, event, data = unwrap(text[at:end].encode())
            check(id, "an event of a page has an id")
            self.take(block_of(id, event, data))
            at = end + (text[end] == ",")
        page = json.loads(text)
        self.next, self.ended = page["next"], page["ended"]

    def is_done(self, c):
        return self.ended


# --- WebSocket ----------------------------------------------------------------------------------

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def masked(opcode, payload):
    mask = os.urandom(4)
    n = len(payload)
    head = bytes([0x80 | opcode]) + (bytes([0x80 | n]) if n < 126 else bytes([0xfe]) + struct.pack(">H", n))
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


class SocketConnection(Connection):
    code = None  # of the server's close

    def take_head(self, head):
        if self.status == 101:
            self.reader.opened(self)

    def say(self, value):
        self.transport.write(masked(TEXT, json.dumps(value).encode()))

    def take_body(self):
        wire, at = self.wire, 0
        while not self.clean and len(wire) - at >= 2:
            size = {126: 2, 127: 8}.get(wire[at + 1], 0)
            begin = at + 2 + size
            n = int.from_bytes(wire[at + 2:begin], "big") if size else wire[at + 1]
            if len(wire) < begin + n:
                break
            self.take_frame(wire[at], wire[begin:begin + n])
            at = begin + n
        self.wire = wire[at:]

    def take_frame(self, first, payload):
        if first == 0x80 | TEXT:
            self.reader.take_message(self, payload)
        elif first == 0x80 | PING:
            self.transport.write(masked(PONG, payload))
        else:
            equal(first, 0x80 | CLOSE, "the beginning of a frame")
            self.code, self.clean = struct.unpack(">H", payload[:2])[0], True
            check(self.code in (1000, 1001), f"closed with {self.code}: {payload[2:]!r}")


def upgrade(port, path):
    return (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode()


class SocketReader(Reader):
    CONNECTION = SocketConnection
    NOT_YET = NOT_NOW
    ENVELOPE = "1"

    def request(self):
        return upgrade(self.port, f"{self.events()}&envelope={self.ENVELOPE}&after={self.ids[-1] if self.ids else 0}")

    def opened(self, c):
        pass

    def take_message(self, c, text):
        job, id, event, data = unwrap(text)
        equal(job, None)
        # Who has everything and missed the close gets the frames of the last record again.
        if not (self.ids and id and id.split(b".")[0] == self.ids[-1].encode()):
            self.take(block_of(id, event, data))

    def is_done(self, c):
        return c.status == 101 and c.code == 1000


class BareReader(SocketReader):
    """Only data, and cursors: what comes behind the last one is not counted as read."""

    ENVELOPE = "0"
    CURSOR = re.compile(rb'\{"type":"stream.cursor","id":"([1-9][0-9]*)"\}')

    def __init__(self, *args):
        super().__init__(*args)
        self.datas, self.behind = [], []

    def opened(self, c):
        self.behind = []

    def take_message(self, c, text):
        if self.dialect == "messages":  # whose data has no name
            super().take_message(c, text)
            return
        check(b'"stream.gap"' not in text, f"{self}: {text!r} after {self.ids[-3:]}")
        cursor = self.CURSOR.fullmatch(text)
        if not cursor:
            self.behind.append(text)
        else:
            self.settle()
            self.ids.append(cursor[1].decode())

    def settle(self):
        self.datas += self.behind
        self.behind = []

    def is_done(self, c):
        if super().is_done(c):
            self.settle()
            return True
        return False

    def first_difference(self, whole):
        if self.dialect == "messages":
            return super().first_difference(whole)
        want = [b.partition(b"\ndata: ")[2] for b in whole.blocks]
        known = set(want)
        got = [d for d in map(unmarked, self.datas) if d in known]  # the others are about the connection
        if got == want:
            return None
        return f"{len(got)} datas of {len(want)}; the first other one: {[(a, b) for a, b in zip(got, want) if a != b][:1]}"


# --- many on one connection -----------------------------------------------------------------------


class Part(Reader):
    """One of the jobs on a connection."""

    def __init__(self, port, job, dialect):
        super().__init__(port, job, dialect)
        self.ended = False


class Mux(Reader):
    """Jobs over /v1/stream; its parts are what was read of each."""

    def __init__(self, port, jobs, dialects, random):
        super().__init__(port, ",".join(jobs), "many", random)
        self.parts = [Part(port, job, dialect) for job, dialect in zip(jobs, self.choose(dialects))]
        self.by_job = {p.job.encode(): p for p in self.parts}

    def take_event(self, text):
        job, id, event, data = unwrap(text)
        part = self.by_job[job]
        part.connections = self.connections
        if event == b"stream.error":
            equal(json.loads(data)["status"], 404, f"{self}: {data!r}")  # not yet submitted
        else:
            part.take(block_of(id, event, data))
        part.ended |= event == b"stream.ended"
        return event, part

    def is_done(self, c):
        return all(p.ended for p in self.parts)


class MuxSocket(Mux):
    """Each job in a dialect of its own, from its own place; and the states of all jobs."""

    CONNECTION = SocketConnection
    NOT_YET = NOT_NOW

    def choose(self, dialects):
        return dialects

    def request(self):
        return upgrade(self.port, "/v1/stream")

    def opened(self, c):
        c.say({"type": "subscribe", "topic": "system"})
        self.states = {}  # of each job, on this connection
        for p in self.parts:
            if not p.ended:
                self.subscribe(c, p)

    def subscribe(self, c, part):
        if c.transport.is_closing():
            return
        c.say({"type": "subscribe", "job": part.job, "dialect": part.dialect, "after": part.ids[-1] if part.ids else "0"})

    def take_state(self, job, state):
        before = self.states.setdefault(job, [])
        check(state not in before[-1:] and not {"succeeded", "failed", "cancelled"} & set(before), f"{self}: {before} {state}")
        before.append(state)

    def take_message(self, c, text):
        job, _, event, data = unwrap(text)
        if event == b"job.state":
            self.take_state(job, json.loads(data)["state"])
        if event == b"interrupt.state":
            check(json.loads(data)["state"] in ("open", "answered", "expired", "closed"), f"{self}: {data!r}")
        if job is None or event in (b"job.state", b"interrupt.state"):
            return
        event, part = self.take_event(text)
        if event == b"stream.error":
            asyncio.get_running_loop().call_later(0.2, self.subscribe, c, part)
        c.clean = self.is_done(c)


class MuxEvents(Mux):
    """As an EventSource: the last id carries all places."""

    NOT_YET = (*Reader.NOT_YET, 204)  # the others are over, and one was not submitted yet
    ID = re.compile(rb"(?:id: ([0-9a-f]{8}:[0-9.,]+)\n)?data: ([^\r\n\0]*)")

    def choose(self, dialects):
        return [dialects[0]] * 3

    def __init__(self, *args):
        super().__init__(*args)
        self.last = None

    def request(self):
        cursor = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
        return (f"GET /v1/stream?jobs={self.job}&dialect={self.parts[0].dialect} HTTP/1.1\r\n"
                f"Host: 127.0.0.1:{self.port}\r\n{cursor}\r\n").encode()

    def take(self, block):
        m = self.ID.fullmatch(block)
        if m is None:
            super().take(block)  # a comment, or retry
            return
        self.take_event(m[2])
        if m[1]:
            self.last = m[1].decode()

    def is_done(self, c):
        return c.status == 204 and all(p.ids for p in self.parts)  # else one was not there yet


KINDS = [Reader, LinesReader, PageReader, SocketReader, BareReader, MuxSocket, MuxEvents]
