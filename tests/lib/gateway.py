"""What the gateway's tests share: a server of their own, plain requests, streams read byte by
byte, a worker that speaks HTTP, and waiting with a deadline.

Nothing here sleeps in the hope that something has happened: until() looks again until it has,
and fails at its deadline.
"""

import contextlib
import http
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import postgres
from harness import PROGRAM, check, equal, spoolwire, strict_json

WAIT = 120  # seconds; a deadline, never a pause: a worker may have to load LangGraph


def _has_sanitizer():
    try:
        with open(PROGRAM, "rb") as f:
            return re.search(rb"__[at]san_init", f.read()) is not None
    except OSError:
        return False  # main() says so


# Tokens and tickets, with or without their prefixes: nothing else has 52 such letters in a row.
SECRET = re.compile(r"(?<![0-9a-z])[0-9a-hjkmnp-tv-z]{52}(?![0-9a-z])")

SLOW_BUILD = _has_sanitizer()  # its timing and memory use say nothing about a release build


def until(what, condition, seconds=WAIT, every=0.01):
    """Polls @condition until it is true, and returns its value; fails at the deadline."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(every)


# --- requests ---------------------------------------------------------------------------


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return strict_json(self.body.decode())

    @property
    def detail(self):
        return self.json["detail"]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"


def reason(status):
    """The reason phrase of RFC 9110, which has renamed some."""
    return {413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable",
            422: "Unprocessable Content"}.get(status) or http.HTTPStatus(status).phrase


def parse_head(head):
    """Status and headers; every line must be one that we meant to write."""
    rows = head.decode("ascii").split("\r\n")
    status = re.fullmatch(r"HTTP/1\.1 (\d{3}) ([A-Za-z -]+)", rows[0])
    check(status and status[2] == reason(int(status[1])), f"not a status line: {rows[0]!r}")
    headers = {}
    for row in rows[1:]:
        name, colon, value = row.partition(": ")
        check(colon and re.fullmatch(r"[A-Za-z-]+", name), f"not a header: {row!r}")
        check(name.lower() not in headers or name.lower() in ("vary",), f"a double header: {row!r}")
        headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
    return int(status[1]), headers


def request_bytes(server, method, path, body=None, headers=None):
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    head = {"Host": f"127.0.0.1:{server.port}", **(headers or {})}
    if body is not None:
        head.setdefault("Content-Type", "application/json")
        head.setdefault("Content-Length", str(len(body)))
    text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n"
    return text.encode() + (body or b"")


def read_answer(sock, method="GET", seconds=WAIT):
    """One whole answer from @sock, which may be kept alive."""
    data = b""
    sock.settimeout(seconds)
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        check(more, f"the connection ended inside the head: {data[:300]!r}")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    status, headers = parse_head(head)
    if status < 200:
        raise AssertionError(f"an interim answer: {head!r}")
    if headers.get("content-type", "").startswith("text/event-stream"):
        return Answer(status, headers, body)  # a stream may never end: only what came with the head
    if headers.get("transfer-encoding") == "chunked" and method != "HEAD":
        return Answer(status, headers, read_chunks(sock, body))
    length = int(headers.get("content-length", 0))
    if method == "HEAD" or status in (204, 304):
        length = 0
    while len(body) < length:
        more = sock.recv(1 << 20)
        check(more, f"the connection ended inside the body, {len(body)} of {length}")
        body += more
    equal(len(body), length, "bytes behind the answer")
    return Answer(status, headers, body)


def read_chunks(sock, wire):
    """A body in chunks, which must come to its end."""
    body = b""
    while True:
        size, end, rest = wire.partition(b"\r\n")
        n = int(size, 16) if end else 0
        if end and len(rest) >= n + 2:
            body, wire = body + rest[:n], rest[n + 2:]
            if n == 0:
                return body
            continue
        more = sock.recv(1 << 20)
        check(more, f"the connection ended inside the body, after {len(body)} bytes")
        wire += more


# --- a server -----------------------------------------------------------------------------

_places = []


def reserve():
    """A port that the system gives to nobody else while this socket is open; a server may take it, leave it
    and come back to it."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    return place


def fixed_port():
    """A port that is reserved for us until this process ends."""
    _places.append(reserve())
    return _places[-1].getsockname()[1]


PULL = {"pull": True}
# How many shards the databases in PostgreSQL have, unless a case says it itself.
SHARDS = int(os.environ.get("TEST_SHARDS", "1"))


class Connection(socket.socket):
    """Its close() reaches the server at once.  Cases run in threads of one process: a child that another case starts at this moment
    has a copy of the descriptor until it calls exec, and the kernel sends no FIN before the last copy is closed."""

    def close(self):
        lingers, _ = struct.unpack("ii", self.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)) if self.fileno() >= 0 else (1, 0)
        if not lingers:  # else the test wants a reset
            with contextlib.suppress(OSError):
                self.shutdown(socket.SHUT_RDWR)
        super().close()


class Server:
    """`spoolwire serve` with a folder of its own.  @agents go into its YAML file.

    It is stopped at the end of the `with`; a sanitizer's report, or an exit that the test did not
    ask for, fails the test."""

    own = None  # headers of every stream
    program = PROGRAM

    def __init__(self, *flags, agents=None, port=0, folder=None, start=True, env=None, top=""):
        self.folder = folder or tempfile.mkdtemp(prefix="spoolwire-gateway-")
        self.own_folder = folder is None
        self.data, self.data_flag = os.path.join(self.folder, "x.db"), "--data"
        if os.environ.get("TEST_STORE") == "postgres":
            self.data, self.data_flag = postgres.place(self.folder), "--store"
            if SHARDS > 1 and folder is None:
                done = spoolwire("db", "init", "--shards", str(SHARDS), "--store", self.data, timeout=WAIT)
                equal(done.code, 0, done.err)
        self.flags, self.env = list(flags), env
        self.place = reserve() if port == 0 else None
        self.wanted_port = port or self.place.getsockname()[1]
        self.process = None
        self.expected_exit = None
        self.n = 0
        if agents is not None or top:
            self.config = os.path.join(self.folder, "spoolwire.yaml")
            with open(self.config, "w") as f:
                f.write(top + yaml({"agents": agents or {}}))
            self.flags += ["--config", self.config]
        if start:
            try:
                self.start()
            except BaseException:
                self.__exit__(*sys.exc_info())
                raise

    # life

    def start(self, stderr=None):
        flags = list(self.flags)
        if not any(f.startswith("--shutdown-window") for f in flags):
            flags += ["--shutdown-window", "0"]
        self.n += 1
        self.expected_exit = None
        self.err_path = os.path.join(self.folder, f"stderr.{self.n}")
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_") and k != "PORT"}
        supp = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp")
        env["TSAN_OPTIONS"] = f"{env.get('TSAN_OPTIONS', '')} suppressions={supp}"
        env.update(self.env or {})
        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [self.program, "serve", "--listen", f"127.0.0.1:{self.wanted_port}", self.data_flag, self.data, *flags],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr or err, cwd=self.folder, env=env)
        ready, _, _ = select.select([self.process.stdout], [], [], WAIT)
        check(ready, f"the server does not start: {self.err()[-1000:]}")
        line = self.process.stdout.readline().decode()
        m = re.search(r"https?://127\.0\.0\.1:(\d+)", line)
        if not m:
            self.process.wait(WAIT)
            raise AssertionError(f"no port in {line!r}; exit {self.process.returncode}: {self.err()[:1000]}")
        self.port = int(m[1])
        check(self.port != 2024)
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def err(self):
        with open(self.err_path, errors="replace", newline="") as f:
            return f.read()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=WAIT):
        code = self.process.wait(seconds)
        self.process.stdout.close()
        return code

    def kill(self):
        """kill -9."""
        self.expected_exit = -signal.SIGKILL
        self.process.kill()
        self.wait()

    def terminate(self, seconds=WAIT, want=0):
        self.expected_exit = want
        self.signal(signal.SIGTERM)
        code = self.wait(seconds)
        self.look_for_reports()  # a sanitizer's says more than its exit status
        equal(code, want, f"exit status: {self.err()[-1500:]}")

    def restart(self, how=None):
        (how or self.terminate)()
        return self.start()

    def look_for_reports(self):
        for n in range(1, self.n + 1):
            with open(os.path.join(self.folder, f"stderr.{n}"), errors="replace") as f:
                text = f.read()
            m = SECRET.search(text)
            check(not m, f"a secret is in the log: {m and text[max(0, m.start() - 200):m.start() + 20]!r}")
            m = re.search(r".*(Sanitizer|runtime error:).*", text)
            if m:
                at = max(0, m.start() - 200)
                raise AssertionError(text[at:at + 6000])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if self.process is not None and self.process.returncode is None:
                code = self.process.poll()
                if code is not None:
                    self.look_for_reports()  # a sanitizer's says more than an exit status
                    raise AssertionError(f"the server ended by itself: {code}: {self.err()[-3000:]}")
                if kind is None:
                    self.terminate()
                else:
                    self.kill()
            # Also after a case that failed: a report is then the reason.
            self.look_for_reports()
        finally:
            if self.process is not None and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            if self.place is not None:
                self.place.close()
            if self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    # requests

    def connect(self, receive_buffer=None):
        s = Connection()
        s.settimeout(WAIT)
        if receive_buffer:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        s.connect(("127.0.0.1", self.port))
        return s

    def request(self, method, path, body=None, headers=None, seconds=WAIT):
        with self.connect() as s:
            with contextlib.suppress(BrokenPipeError):  # it may be refused before all of it is sent
                s.sendall(request_bytes(self, method, path, body, {"Connection": "close", **(headers or {})}))
            return read_answer(s, method, seconds)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    # jobs

    def submit(self, agent="pull", input="x", want=202, headers=None, **more):
        a = self.post("/v1/jobs", {"agent": agent, "input": input, **more}, headers=headers)
        equal(a.status, want, repr(a))
        return a.json.get("job_id")

    def job(self, id):
        a = self.get(f"/v1/jobs/{id}")
        equal(a.status, 200, repr(a))
        return a.json

    def state(self, id):
        return self.job(id)["state"]

    def until_state(self, id, *states, seconds=WAIT):
        def there():
            job = self.job(id)
            return job if job["state"] in states else None
        try:
            return until(f"{id} is {' or '.join(states)}", there, seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}: {self.job(id)}\n{self.err()[-1000:]}")

    def read(self, id, dialect="raw", after=None, header=None, seconds=WAIT, **query):
        """The whole stream of a job, which must end cleanly."""
        with self.stream(id, dialect, after, header, **query) as st:
            st.rest(seconds)
            equal(st.ended, "clean", f"{dialect} of {id}")
            return st.frames

    def stream(self, id, dialect="raw", after=None, header=None, **query):
        path = f"/v1/jobs/{id}/events?dialect={dialect}"
        if after is not None:
            path += f"&after={after}"
        for k, v in query.items():
            path += f"&{k}={v}"
        return Stream(self, path, header, headers=self.own)

    def aiq(self, id, last=None, header=None):
        return Stream(self, f"/v1/jobs/async/job/{id}/stream" + (f"/{last}" if last is not None else ""), header)


def yaml(value, indent=0):
    """JSON is almost YAML; only the outer levels are spelt out, for people who read the file."""
    text = ""
    for k, v in value.items():
        pad = "  " * indent
        if isinstance(v, dict) and indent < 2 and v:
            text += f"{pad}{json.dumps(k)}:\n" + yaml(v, indent + 1)
        else:
            text += f"{pad}{json.dumps(k)}: {json.dumps(v)}\n"
    return text


# --- streams --------------------------------------------------------------------------------

# Exactly what we promise to write, which is far less than what SSE allows.
FRAME = re.compile(r"(?:id: ([1-9][0-9]*(?:\.[1-9][0-9]*)?)\n)?"
                   r"event: ([a-z_]+(?:[./][a-z_]+)*(?:\|[A-Za-z0-9_.:|-]*)?)\n"
                   r"data: ([^\n]*)")


RECONNECTED = ',"reconnected":true'


class Frame:
    def __init__(self, id, event, data):
        self.id, self.event, self.data = id, event, data

    @property
    def json(self):
        return strict_json(self.data)

    def __eq__(self, other):
        return (self.id, self.event, self.data) == (other.id, other.event, other.data)

    def __repr__(self):
        return f"Frame({self.id!r}, {self.event!r}, {self.data[:200]!r})"


CUT = object()


def receive(sock, seconds):
    """What has come within @seconds: bytes, b"" at the end, CUT after a reset, None when nothing has."""
    ready, _, _ = select.select([sock], [], [], max(0, seconds))
    try:
        return sock.recv(1 << 18) if ready else None
    except ConnectionResetError:
        return CUT


class Stream:
    """An event stream over one socket, read strictly: chunks, then lines, then frames."""

    def __init__(self, server, path, header=None, headers=None, method="GET", receive_buffer=None, version="1.1", body=None):
        self.frames, self.comments, self.retries = [], [], []
        self.ended = None  # or clean, cut (a reset), eof (no last chunk)
        self._body, self._wire, self._block = [], b"", b""
        self._chunked = False
        headers = dict(headers or {})
        if header is not None:
            headers["Last-Event-ID"] = header
        self.sock = server.connect(receive_buffer)
        text = request_bytes(server, method, path, body, {"Accept": "text/event-stream", **headers})
        self.sock.sendall(text.replace(b"HTTP/1.1\r\n", f"HTTP/{version}\r\n".encode(), 1))
        self._read_head(method)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def _read_head(self, method):
        self.sock.settimeout(WAIT)
        while b"\r\n\r\n" not in self._wire:
            more = self.sock.recv(65536)
            check(more, f"the connection ended inside the head: {self._wire[:300]!r}")
            self._wire += more
        head, _, self._wire = self._wire.partition(b"\r\n\r\n")
        self.status, self.headers = parse_head(head)
        if method == "HEAD" or self.status == 204:
            self.ended = "clean"
        elif "content-length" in self.headers:
            self._left = int(self.headers["content-length"])
            while len(self._wire) < self._left:
                self._wire += self.sock.recv(65536)
            self._body, self.ended = [self._wire], "clean"
        else:
            self._chunked = self.headers.get("transfer-encoding") == "chunked"
            self._take(b"")

    def pump(self, seconds):
        """Takes what has come within @seconds; False when nothing has."""
        if self.ended:
            return False
        data = receive(self.sock, seconds)
        if data is CUT:
            self.ended = "cut"
        elif data:
            self._take(data)
        elif data is not None:
            self.ended = "eof" if self._chunked else "clean"
        return data is not None

    def _take(self, data):
        if not self._chunked:
            self._take_body(self._wire + data)
            self._wire = b""
            return
        wire, at = self._wire + data, 0
        body = []
        while not self.ended:
            line = wire.find(b"\r\n", at)
            if line < 0:
                break
            n = int(wire[at:line], 16)
            begin, end = line + 2, line + 2 + n
            if len(wire) < end + 2:
                break
            equal(wire[end:end + 2], b"\r\n", "the end of a chunk")
            body.append(wire[begin:end])
            at = end + 2
            if n == 0:
                self.ended = "clean"
        self._wire = wire[at:]
        self._take_body(b"".join(body))
        if self.ended:
            equal(self._wire, b"", "bytes behind the last chunk")
            equal(self._block, b"", "the stream ended inside a frame")

    def _take_body(self, data):
        self._body.append(data)
        *whole, self._block = (self._block + data).split(b"\n\n")
        for block in whole:
            self._dispatch(block.decode())

    def _dispatch(self, block):
        check("\r" not in block and "\0" not in block, f"CR or NUL in {block[:200]!r}")
        if block.startswith(":") or block.startswith("retry: "):
            check("\n" not in block, f"it has one line: {block[:200]!r}")
            if block.startswith(":"):
                self.comments.append(block)
            else:
                self.retries.append(int(block[7:]))
            return
        m = FRAME.fullmatch(block)
        check(m, f"not a frame of ours: {block[:500]!r}")
        frame = Frame(*m.groups())
        json.loads(frame.data)  # raises when it is not JSON
        self.frames.append(frame)

    @property
    def body(self):
        return b"".join(self._body)

    # waiting

    def until(self, what, condition, seconds=WAIT):
        """Reads until @condition (of this stream) is true."""
        end = time.monotonic() + seconds
        while not condition(self):
            left = end - time.monotonic()
            if self.ended or left <= 0:
                raise AssertionError(f"{'the stream is ' + self.ended if self.ended else f'not within {seconds} s'}: {what}; "
                                     f"the last frames: {self.frames[-5:]}")
            self.pump(min(left, 1))
        return self

    def until_event(self, name, seconds=WAIT):
        self.until(name, lambda s: any(f.event == name for f in s.frames), seconds)
        return next(f for f in self.frames if f.event == name)

    def until_id(self, id, seconds=WAIT):
        return self.until(f"id {id}", lambda s: any(f.id == str(id) for f in s.frames), seconds)

    def rest(self, seconds=WAIT):
        end = time.monotonic() + seconds
        while not self.ended:
            left = end - time.monotonic()
            check(left > 0, f"the stream did not end within {seconds} s; the last frames: {self.frames[-3:]}")
            self.pump(min(left, 1))
        return self

    # looking

    @property
    def stored(self):
        return with_ids(self.frames)

    @property
    def events(self):
        return [f.event for f in self.frames]

    @property
    def json(self):
        return strict_json(self.body.decode())


def with_ids(frames):
    return [f for f in frames if f.id]


def unmarked(frames):
    """The frames without RECONNECTED, which a reader of `aiq` that reconnects gets in the end of a
    finished job: the only bytes that depend on the reader."""
    return [Frame(f.id, f.event, f.data.replace(RECONNECTED, "")) if f.id and f.event == "job.status" else f
            for f in frames]


def seq(frame):
    return int(frame.id.partition(".")[0])


# --- a worker -----------------------------------------------------------------------------


def lines(*values):
    return "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values).encode()


class Lease:
    def __init__(self, worker, order):
        self.worker, self.order = worker, order
        self.job, self.attempt, self.token = order["job"], order["attempt"], order["lease"]
        self.seq = -1

    def path(self, what, **query):
        query = {"lease": self.token, **query}
        return f"/v1/worker/jobs/{self.job}/{what}?" + "&".join(f"{k}={v}" for k, v in query.items())

    def try_append(self, *events, seq=None):
        body = events[0] if len(events) == 1 and isinstance(events[0], bytes) else lines(*events)
        query = {} if seq is None else {"seq": seq}
        return self.worker.server.post(self.path("events", **query), body, headers={"Content-Type": "application/x-ndjson"})

    def append(self, *events, seq=None):
        a = self.try_append(*events, seq=seq)
        equal(a.status, 200, repr(a))
        return a.json

    def send(self, *events):
        """Sends a batch with its number, as a worker should."""
        self.seq += 1
        return self.append(*events, seq=self.seq)

    def try_beat(self):
        return self.worker.server.post(self.path("heartbeat"))

    def beat(self):
        a = self.try_beat()
        equal(a.status, 200, repr(a))
        return a.json

    def try_finish(self, status="success", **more):
        return self.worker.server.post(self.path("finish"), {"status": status, **more})

    def finish(self, status="success", **more):
        a = self.try_finish(status, **more)
        equal(a.status, 200, repr(a))
        return a.json["state"]

    def hand_back(self):
        return self.worker.server.post(self.path("return"))


class Worker:
    def __init__(self, server, *agents, name="w1"):
        self.server, self.agents, self.name = server, list(agents or ["pull"]), name

    def ask(self, wait=10, **more):
        return self.server.post("/v1/worker/lease", {"agents": self.agents, "worker": self.name, "wait": wait, **more},
                                seconds=WAIT + wait)

    def lease(self, wait=60, **more):
        a = self.ask(wait, **more)
        equal(a.status, 200, f"no job came: {a!r}")
        return Lease(self, a.json)


# --- a short story --------------------------------------------------------------------------

ROOT, NODE, MODEL, TOOL = "run-root", "run-node", "run-model", "run-tool"


def event(kind, name, run, parents, data, node="investigator"):
    meta = {"langgraph_node": node, "langgraph_step": 1, "langgraph_checkpoint_ns": f"{node}:1"} if parents else {}
    return {"event": kind, "name": name, "run_id": run, "parent_ids": parents,
            "tags": ["graph:step:1"] if name == node and parents else [], "metadata": meta, "data": data}


def root_start(input="x"):
    return event("on_chain_start", "LangGraph", ROOT, [], {"input": {"issue": input}})


def root_end(output=None):
    return event("on_chain_end", "LangGraph", ROOT, [], {"output": output if output is not None else {"ok": True}})


def node_start():
    return event("on_chain_start", "investigator", NODE, [ROOT], {"input": {}})


def node_end():
    return event("on_chain_end", "investigator", NODE, [ROOT], {"output": {}})


def token(text):
    return event("on_chat_model_stream", "ChatX", MODEL, [ROOT, NODE],
                 {"chunk": {"content": text, "type": "AIMessageChunk", "id": "msg-1"}})


def model_start():
    return event("on_chat_model_start", "ChatX", MODEL, [ROOT, NODE], {"input": {"messages": [[]]}})


def model_end(text):
    return event("on_chat_model_end", "ChatX", MODEL, [ROOT, NODE],
                 {"output": {"content": text, "type": "ai", "id": "msg-1"}})


def tool_start(name="grep", input=None):
    return event("on_tool_start", name, TOOL, [ROOT, NODE], {"input": input if input is not None else {"q": 1}})


def tool_end(name="grep", output="found"):
    return event("on_tool_end", name, TOOL, [ROOT, NODE], {"output": output})


def interrupt(value="which one?", id="int-1"):
    return event("on_chain_stream", "LangGraph", ROOT, [], {"chunk": {"__interrupt__": [{"value": value, "id": id}]}})


OPENING = [root_start(), node_start(), model_start()]
CLOSING = [model_end("abc"), node_end(), root_end()]
STORY = [root_start(), node_start(), model_start(), token("a"), token("b"), token("c"), model_end("abc"),
         tool_start(), tool_end(), node_end(), root_end()]


def again(n, events):
    """The same events as another attempt sends them: with other ids."""
    text = json.dumps(events)
    for name in ("run-", "msg-"):
        text = text.replace(f'"{name}', f'"{name}{n}-')
    return json.loads(text)


def play(server, events=None, agent="pull", **more):
    """Runs a job from its submission to its success; returns its id."""
    id = server.submit(agent, **more)
    lease = Worker(server, agent).lease()
    equal(lease.job, id)
    lease.send(*(events if events is not None else STORY))
    equal(lease.finish(), "succeeded")
    return id


def rss_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def alive(pid):
    """Does the process exist, and is it not a zombie?"""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def at_once(*calls, seconds=2 * WAIT):
    """Runs each in a thread of its own; their results, or the first error."""
    results, errors = [None] * len(calls), []

    def run(i):
        try:
            results[i] = calls[i]()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(seconds)
        check(not t.is_alive(), "a call did not return")
    if errors:
        raise errors[0]
    return results


@contextlib.contextmanager
def running(*command, **more):
    """Starts a process, and ends it at the end of the `with`."""
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **more)
    try:
        yield p
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        p.stdout.close()
        p.stderr.close()
