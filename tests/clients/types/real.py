"""Real frames: what `translate` makes of the recordings and of some lines of ours, and what a
server sends of jobs that end in every way."""

import functools
import glob
import json
import os
import signal
import urllib.request

from gateway import PULL, Server, Worker, interrupt, root_start
from harness import BEATING, DIALECTS, NAMING, RECORDINGS, check, equal, lines, spoolwire
from typescript import declarations

# What no recording has.
LINES = [
    {"type": "workflow.start", "id": "w", "name": "deep_research", "data": {"input": "x"}},
    {"type": "tool.start", "id": "t1", "name": "write_todos", "data": {"input": {"todos": [{"content": "read", "status": "pending"}]}},
     "metadata": {"workflow": "researcher", "agent_id": "a"}},
    {"type": "tool.end", "id": "t1", "name": "write_todos", "data": {"output": "ok"}},
    {"type": "tool.start", "id": "t2", "name": "write_file", "data": {"input": {"file_path": "a.md", "content": "A"}}},
    {"type": "tool.end", "id": "t2", "name": "write_file", "data": {"output": "ok"}},
    {"type": "tool.start", "id": "t3", "name": "web_search", "data": {"input": {"q": "x"}}},
    {"type": "tool.end", "id": "t3", "name": "web_search", "data": {"output": "see https://example.org/a"}},
    {"type": "llm.start", "id": "m", "name": "gpt"},
    {"type": "llm.chunk", "id": "m", "name": "gpt", "data": {"chunk": "As https://example.org/a says. " * 60}},
    {"type": "llm.end", "id": "m", "name": "gpt"},
    {"event": "on_chain_start", "run_id": "r", "name": "LangGraph", "tags": [], "metadata": {}, "parent_ids": [], "data": {"input": {}}},
    {"event": "on_tool_start", "run_id": "u", "name": "dig", "tags": [], "metadata": {"a": 1}, "parent_ids": ["r"], "data": {"input": {}}},
    {"event": "on_custom_event", "run_id": "u", "name": "depth", "tags": [], "metadata": {"a": 1}, "parent_ids": ["r"], "data": {"metres": 1}},
    {"event": "on_custom_event", "run_id": "u", "name": "progress", "tags": [], "metadata": {"a": 1}, "parent_ids": ["r"],
     "data": {"percent": 12.5}},
    {"event": "on_tool_end", "run_id": "u", "name": "dig", "tags": [], "metadata": {"a": 2}, "parent_ids": ["r"], "data": {"output": None}},
    *[{"event": "on_chat_model_stream", "run_id": "v", "name": "gpt", "tags": [], "metadata": {"n": n}, "parent_ids": ["r"],
       "data": {"chunk": {"content": "x", "type": "AIMessageChunk", "id": "v1"}}} for n in (1, 2)],
    {"event": "on_chain_end", "run_id": "r", "name": "LangGraph", "tags": [], "metadata": {}, "parent_ids": [], "data": {"output": {}}},
    {"type": "agent.spawned", "agent_id": "c", "agent_name": "critic", "node": "critic"},
    {"type": "agent.done", "agent_id": "c", "node": "critic"},
    {"type": "graph.node_complete", "node": "critic", "step": 3},
    {"type": "job.update", "name": "phase", "data": {"output": "writing"}},
    {"type": "graph.paused"},
    {"type": "graph.resumed"},
    {"type": "graph.interrupt", "question": "A or B?", "value": {"question": "A or B?"}},
    {"type": "output.token", "token": "x", "section": "report"},
    # Members that a worker leaves out.
    {"type": "output.section_done", "section": "report"},
    *[{"type": "artifact.update", "name": kind, "data": {"type": kind, "content": "x"}}
      for kind in ("todo", "file", "citation_source", "citation_use", "output")],
    {"event": "on_tool_start", "run_id": "x", "tags": [], "metadata": {}, "parent_ids": ["r"], "data": {"input": {}}},
    {"event": "on_custom_event", "run_id": "x", "name": None, "tags": [], "metadata": {}, "parent_ids": ["r"], "data": {"metres": 2}},
    {"event": "on_chain_start", "run_id": "y", "tags": [], "metadata": {}, "parent_ids": ["r"], "data": {}},
    {"event": "on_chat_model_start", "run_id": "z", "tags": [], "metadata": {}, "parent_ids": ["r"], "data": {}},
    {"event": "on_tool_stream", "timestamp": "t", "run_id": "job-1", "data": {"tool_id": "x", "chunk": "half"}},
]
ENDS = [
    [{"type": "workflow.end", "id": "w", "name": "deep_research", "data": {"output": "y"}}, {"type": "job.done", "output": {"report": "y"}}],
    [{"type": "job.failed", "error": "no more"}],
    [{"type": "job.cancelled", "data": {"reason": "enough"}}],
]
VARIANTS = [(d, ()) for d in DIALECTS] + [("agent", ("--agent", "triage")), ("aiq", ("--aiq-compat",)), ("nodes", ("--modes", "events")),
                                          ("messages", ("--modes", "all", "--subgraphs"))]
LITERALS = {word for word in declarations().split('"')[1::2]}


def once(make):
    """As functools.cache, of a failure too: it takes long."""
    result = []

    def get():
        if not result:
            try:
                result[:] = make(), None
            except Exception as e:
                result[:] = None, e
        if result[1]:
            raise AssertionError(f"{make.__name__}: {result[1]}")
        return result[0]
    return get


class Frame:
    def __init__(self, source, dialect, event, data):
        self.source, self.dialect, self.event, self.data = source, dialect, event.partition("|")[0], data

    @property
    def type(self):
        return f'Dialects["{self.dialect}"]["{self.event}"]'

    @functools.cached_property
    def json(self):
        return json.loads(self.data)

    @property
    def shape(self):
        """Equal of frames between which the compiler sees no difference."""
        return self.dialect, self.event, shape(self.json)


def shape(value):
    if isinstance(value, dict):
        return tuple(sorted((k, shape(v)) for k, v in value.items()))
    if isinstance(value, list):
        return ("list", *sorted({repr(shape(v)) for v in value}))
    return repr(value) if value is None or value in LITERALS else type(value).__name__


def translated():
    files = [f for f in glob.glob(os.path.join(RECORDINGS, "**"), recursive=True) if f.endswith((".ndjson", ".sse"))]
    inputs = [("a recording", sorted(files), b"")]
    inputs += [(f"lines of ours, end {i}", [], lines(*LINES, *end)) for i, end in enumerate(ENDS)]
    for dialect, args in VARIANTS:
        for source, paths, stdin in inputs:
            done = spoolwire("translate", "--to", dialect, "--framing", "ndjson", "--envelope", *args, *paths, stdin=stdin)
            check(done.code in (0, 1) and (paths or not done.err), repr(done))
            for line in done.out.decode().split("\n")[:-1]:
                frame = json.loads(line)
                yield Frame(f"{source} as {dialect} {' '.join(args)}", dialect, frame["event"], json.dumps(frame["data"]))


def served():
    """The demo, one that asks and is answered, a job that is cancelled, one whose worker is
    lost, a cursor that is foreign; beats, and the server's end."""
    with Server("--heartbeat", "100ms", "--shutdown-window", "10s", agents={"pull": PULL, "brief": {**PULL, "lease": "1s", "attempts": 2}}) as s:
        done = s.submit("demo", {"issue": "x", "speed": 0})
        asking = s.submit("demo", {"issue": "x", "speed": 0, "ask_timeout": "never"})
        s.until_state(asking, "waiting")
        equal(s.post(f"/v1/jobs/{asking}/answer", {"value": "staging"}).status, 200)
        cancelled, lost = s.submit(), s.submit("brief")
        lease = Worker(s).lease()
        lease.send({"type": "agent.spawned", "agent_id": "a", "agent_name": "n", "node": "n"})
        streams = [(d, s.stream(cancelled, d)) for d in DIALECTS]
        for dialect, st in streams:
            if dialect in BEATING:
                st.until_event("job.heartbeat")
        s.post(f"/v1/jobs/{cancelled}/cancel", {"reason": "enough"})
        lease.finish("cancelled")
        for _ in range(2):
            Worker(s, "brief").lease(wait=30)  # and is never heard of again
        s.until_state(lost, "failed")
        s.until_state(done, "succeeded")
        s.until_state(asking, "succeeded")
        waiting = s.submit()
        streams += [(d, s.stream(job, d, **more)) for d in DIALECTS for job, more in
                    ((done, {}), (asking, {}), (lost, {}), (done, {"after": 10 ** 9}))]
        for _, st in streams:
            st.rest()
        beating = [(d, s.stream(waiting, d, after=0)) for d in BEATING]
        streams += beating
        for _, st in beating:
            st.until_event("job.heartbeat")
        s.expected_exit = 0
        s.signal(signal.SIGTERM)
        for _, st in beating:
            st.until_event("job.shutdown")
            st.close()
        s.wait()
        for dialect, st in streams:
            for f in st.frames:
                yield Frame(f"served as {dialect}", dialect, f.event, f.data)


def wrapped():
    """(type, JSON) of pages and lines."""
    with Server("--keep-alive", "100ms", agents={"pull": PULL}) as s:
        job = s.submit("demo", {"issue": "x", "speed": 0})
        s.until_state(job, "succeeded")
        for dialect in DIALECTS:
            url = f"{s.url}/v1/jobs/{job}/events?dialect={dialect}&subgraphs=1"
            yield f'Page<"{dialect}">', text_at(url + "&wait=1")
            yield from lines_at(url + "&format=ndjson", f'Wrapped<"{dialect}">')
            if dialect in NAMING:
                yield from lines_at(url + "&format=ndjson&envelope=0", f'Bare<"{dialect}">')
            yield from lines_at(f"{s.url}/v1/stream?jobs={job},none&dialect={dialect}&format=ndjson", f'Message<"{dialect}">')
        yield from system_topic(s)
        nothing = f"{s.url}/v1/jobs/{s.submit()}/events?dialect=agent&format=ndjson"
        for type, url in (("StreamKeepAlive", nothing), ("BareKeepAlive", nothing + "&envelope=0")):
            with urllib.request.urlopen(url) as lines_of_nothing:
                yield type, lines_of_nothing.readline().decode()


def system_topic(s):
    with urllib.request.urlopen(f"{s.url}/v1/stream?topics=system&format=ndjson") as messages:
        s.submit()
        lease = Worker(s).lease()
        lease.append(root_start(), interrupt({"question": "?"}, "q"))
        s.post(f"/v1/jobs/{lease.job}/answer", {"value": 1})
        s.request("DELETE", f"/v1/jobs/{lease.job}")
        said = ""
        while "deleted" not in said:
            said = messages.readline().decode()
            yield type_of(said, 'Message<"agent">'), said


def type_of(line, type):
    """A slow server keeps the stream open between any two lines."""
    return "StreamKeepAlive" if '"event":"stream.keep_alive"' in line else type


def lines_at(url, type):
    return [(type_of(line, type), line) for line in text_at(url).split("\n")[:-1]]


def text_at(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


@once
def frames():
    """One of each shape."""
    found = {}
    for source in (translated(), served()):
        for frame in source:
            found.setdefault(frame.shape, frame)
    return list(found.values())
