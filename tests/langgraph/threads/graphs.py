"""What these tests share: a server with graphs, a worker that plays recorded parts of the graph
`agent`, run streams, and captures of LangGraph's own server."""

import json
import re
import threading

from gateway import WAIT, Lease, Server, Stream, Worker, request_bytes
from harness import equal, recording

AGENT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"  # UUIDv5 of "agent", as every LangGraph server has it
INPUT = {"messages": [{"role": "user", "content": "weather in Paris?", "id": "msg-human-1"}]}
QUESTION = {"question": "Send the answer?", "options": ["yes", "no"]}
ALL = ["values", "updates", "messages-tuple", "custom"]


def _recorded():
    """The parts of two runs: until the question, and from the answer on."""
    with open(recording("captures/js-worker-stream-modes.ndjson")) as f:
        parts = [json.loads(line) for line in f]
    asked = [i for i, p in enumerate(parts) if p[1] == "values" and "__interrupt__" in p[2]][-1]
    again = next(i for i, p in enumerate(parts) if i > asked and p[1] == "values")
    return parts[:again], parts[again:]


UNTIL_QUESTION, RESUMED = _recorded()
VALUES = [p[2] for p in UNTIL_QUESTION if p[0] == [] and p[1] == "values" and "messages" in p[2]]
LAST_VALUES = [p[2] for p in RESUMED if p[0] == [] and p[1] == "values"][-1]


def serve(*flags, **more):
    pull = {"pull": True, "cancel_grace": "60s"}
    return Server(*flags, agents={"agent": pull, "other": pull}, **more)


class Player(threading.Thread):
    """A pull worker that plays `agent` for every run it gets: until the question, or from the
    answer on."""

    def __init__(self, server, agent="agent", until_question=UNTIL_QUESTION, resumed=RESUMED):
        super().__init__(daemon=True)
        self.server, self.agent = server, agent
        self.until_question, self.resumed = until_question, resumed
        self.orders, self.error, self.stopping = [], None, False

    def run(self):
        try:
            while not self.stopping:
                a = Worker(self.server, self.agent).ask(wait=1)
                if a.status == 200:
                    self.play(a.json)
        except Exception as e:  # the server may be gone
            self.error = e

    def play(self, order):
        lease = Lease(Worker(self.server, self.agent), order)
        self.orders.append(order)
        resumes = "command" in order.get("run", {})
        lease.send(*(self.resumed if resumes else self.until_question))
        lease.finish("success" if resumes else "interrupted")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.stopping = True
        self.join(WAIT)
        if kind is None and self.error is not None:
            raise self.error


class RunStream(Stream):
    """A stream of LangGraph's: heartbeats are comments without a blank line."""

    def __init__(self, server, path, body=None, header=None, headers=None):
        self.frames, self.comments, self.retries = [], [], []
        self.ended = None
        self._body, self._wire, self._block = [], b"", b""
        self._chunked = False
        headers = {"Accept": "text/event-stream", **(headers or {})}
        if header is not None:
            headers["Last-Event-ID"] = header
        self.sock = server.connect()
        self.sock.sendall(request_bytes(server, "GET" if body is None else "POST", path, body, headers))
        self._read_head("GET")

    def _take_body(self, data):
        self.raw = getattr(self, "raw", b"") + data
        data = self._block + data
        self._block = b""
        n = data.count(b": hb\n")
        self.comments += ["hb"] * n
        super()._take_body(data.replace(b": hb\n", b""))

    @property
    def run(self):
        return re.fullmatch(r"(?:/threads/[^/]+)?/runs/([^/]+)", self.headers["content-location"])[1]


def stream(server, path, **body):
    body = {"assistant_id": "agent", "input": INPUT, "stream_mode": ALL, **body}
    st = RunStream(server, path, body)
    equal((st.status, st.headers["content-type"]), (200, "text/event-stream; charset=utf-8"), repr(st.body))
    return st


def new_thread(server, **body):
    a = server.post("/threads", {"metadata": {}, **body})
    equal(a.status, 200, repr(a))
    return a.json["thread_id"]


def thread(server, id):
    a = server.get(f"/threads/{id}")
    equal(a.status, 200, repr(a))
    return a.json


def create(server, id=None, want=200, headers=None, **body):
    path = f"/threads/{id}/runs" if id else "/runs"
    a = server.post(path, {"assistant_id": "agent", "input": INPUT, **body}, headers=headers)
    equal(a.status, want, repr(a))
    return a.json


def save(server, lease, id, tasks=()):
    """Saves a checkpoint as a worker does: bytes, a channel, and the state as JSON."""
    path = f"/v1/worker/threads/{lease.order['thread']}"
    fence = f"?job={lease.job}&lease={lease.order['lease']}"
    blob = {"type": "msgpack", "data": "gA=="}
    channels = {"x": {"version": id, **blob}}
    for what, body in (("checkpoints", {"ns": "", "id": id, "parent": None, "checkpoint": blob, "blobs": channels,
                                        "metadata": {"run_id": lease.job}, "versions": {"x": id}}),
                       ("writes", {"ns": "", "id": id, "task": "t", "path": "",
                                   "writes": [{"idx": 0, "channel": "x", **blob}]}),
                       ("state", {"ns": "", "id": id, "state": {"values": {"at": id}, "next": [], "tasks": list(tasks)}})):
        a = server.post(f"{path}/{what}{fence}", body)
        equal(a.status, 200, repr(a))


def write(server, lease, id, channel, idx):
    """Saves the writes of a task at an existing checkpoint."""
    a = server.post(f"/v1/worker/threads/{lease.order['thread']}/writes?job={lease.job}&lease={lease.order['lease']}",
                    {"ns": "", "id": id, "task": "t", "path": "", "writes": [{"idx": idx, "channel": channel, "type": "msgpack", "data": "gA=="}]})
    equal(a.status, 200, repr(a))


def saved(server, lease, id):
    """A checkpoint as a worker reads it, with the writes of its tasks."""
    a = server.post(f"/v1/worker/threads/{lease.order['thread']}/checkpoints/get", {"ns": "", "id": id})
    equal(a.status, 200, repr(a))
    return a.json["checkpoint"]


def history(server, id):
    return [state["values"]["at"] for state in server.post(f"/threads/{id}/history", {"limit": 100}).json]


def run_of(server, id, run):
    a = server.get(f"/threads/{id}/runs/{run}")
    equal(a.status, 200, repr(a))
    return a.json


def capture(name):
    """The frames of a capture of LangGraph's own server: (event, data)."""
    with open(recording(f"captures/{name}"), encoding="utf-8") as f:
        text = f.read().replace("\r\n", "\n")
    if text.startswith("HTTP/"):
        text = text.partition("\n\n")[2]
    frames = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            frames.append((fields["event"], json.loads(fields["data"])))
    return frames


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
INTERRUPT = re.compile(r"\b[0-9a-f]{32}\b")


def normal_message(message):
    """The message without what may differ between servers: the type of a delta, and empty members."""
    message = {k: v for k, v in message.items() if v not in ({}, [], None) and k not in ("type", "invalid_tool_calls", "tool_calls")}
    return message


def normalise(frames, without=()):
    """Comparable: no ids that differ from run to run, no opening deltas, no suffixes of messages, nothing of
    what only some servers say."""
    out = []
    for event, data in frames:
        base = event.partition("|")[0]
        if base in ("events", "metadata", *without):
            continue
        text = UUID.sub("UUID", INTERRUPT.sub("HEX", json.dumps(data)))
        data = json.loads(text)
        if base == "messages":
            message = normal_message(data[0])
            if set(message) <= {"id", "content"} and message.get("content") == "":
                continue  # an opening delta
            out.append(("messages", message, data[1]["langgraph_node"]))
        else:
            out.append((UUID.sub("UUID", event), data))
    return out
