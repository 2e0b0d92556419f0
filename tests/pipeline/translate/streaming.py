"""Frames come as soon as their lines do; a reader that leaves is no trouble."""

import os
import re
import select
import subprocess
import tempfile
import time

from events import node_end, node_start, root_end, root_start, token, tool_start, types, whole_job
from harness import PROGRAM, case, cases, check, equal, frames, lines, parse_ndjson, recording

DEADLINE = 20  # seconds for something that takes a millisecond


class Live:
    """A running filter: lines go in one at a time, frames are awaited."""

    def __init__(self, *args, stdin=subprocess.PIPE):
        self.process = subprocess.Popen([PROGRAM, "translate", "--clock", "fixed", "--framing", "ndjson", *args],
                                        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.seen = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def send(self, *values):
        self.process.stdin.write(lines(*values))

    def await_text(self, text):
        """Reads until @text was seen."""
        end = time.monotonic() + DEADLINE
        while text.encode() not in self.seen:
            left = end - time.monotonic()
            check(left > 0 and select.select([self.process.stdout], [], [], left)[0],
                  f"{text!r} did not come; {self.seen[-300:]!r} did")
            piece = os.read(self.process.stdout.fileno(), 65536)
            check(piece != b"", f"the output ended before {text!r} came: {self.seen[-300:]!r}")
            self.seen += piece

    def silent(self):
        return not select.select([self.process.stdout], [], [], 0)[0]

    def end(self):
        """Closes the input; returns the exit status and all frames."""
        if self.process.stdin:
            self.process.stdin.close()
        end = time.monotonic() + DEADLINE
        while True:
            check(select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0], "no end of output")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if piece == b"":
                return self.process.wait(DEADLINE), parse_ndjson(self.seen)
            self.seen += piece


@case
def a_frame_comes_before_the_next_line_is_written():
    with Live() as live:
        live.send(root_start(), node_start())
        live.await_text("agent.spawned")
        for i in range(20):
            live.send(token(f"word-{i} "))
            live.await_text(f"word-{i} ")
        live.send(node_end(), root_end())
        live.await_text("graph.node_complete")
        code, got = live.end()
    equal(code, 0)
    equal(types(got)[-1], "job.done")
    equal(types(got).count("agent.token"), 20)


@case
def a_line_in_pieces_waits_for_its_end():
    with Live() as live:
        live.send(root_start(), node_start())
        live.await_text("agent.spawned")
        text = lines(token("whole"))
        for byte in text[:-1]:
            live.process.stdin.write(bytes([byte]))
        live.process.stdin.write(text[-1:])
        live.await_text("whole")
        code, _ = live.end()
    equal(code, 0)


@case
def the_last_line_needs_no_line_end():
    got = frames(stdin=whole_job(token("hi"))[:-1])
    equal(types(got)[-1], "job.done")
    got = frames(stdin=b"data: " + lines(root_start()) + b"\ndata: " + lines(root_end())[:-1])
    equal(types(got), ["job.done"])


# What shows that a tool was started; `messages` only says that there is a run.
TOOL_STARTED = {"agent": "agent.tool_call", "envelope": "run-tool", "messages": "metadata", "nodes": "run-tool", "aiq": "run-tool",
                "raw": "run-tool"}


@cases(TOOL_STARTED)
def sse_in_comes_out_at_its_blank_line(dialect):
    with Live("--to", dialect) as live:
        live.process.stdin.write(b"data: " + lines(root_start()) + b"\n")
        live.process.stdin.write(b"data: " + lines(node_start()) + b"\n")
        live.process.stdin.write(b"event: data\r\ndata: " + lines(tool_start()).rstrip() + b"\r\n\r\n")
        live.await_text(TOOL_STARTED[dialect])
        equal(live.end()[0], 0)


@case
def pieces_of_any_size_give_the_same():
    """Cut at every kind of place, by writing small pieces."""
    with open(recording("c-tool-throws-handled.ndjson"), "rb") as f:
        data = f.read()
    with Live("--to", "raw", "--job", "j", recording("c-tool-throws-handled.ndjson")) as live:
        _, want = live.end()
    for size in (1, 7, 997):
        with Live("--to", "raw", "--job", "j") as live:
            for i in range(0, len(data), size):
                live.process.stdin.write(data[i:i + size])
            code, got = live.end()
        equal(code, 0)
        equal(got, want, f"pieces of {size}")


@case
def a_reader_that_leaves_ends_it_quietly():
    """`spoolwire translate FILE… | head -1`: status 0, no message, and the rest is not worked off."""
    files = [recording("a-supervisor-1-until-interrupt.ndjson")] * 2000
    process = subprocess.Popen([PROGRAM, "translate", "--to", "raw", "--stats", *files],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    head = subprocess.run(["head", "-1"], stdin=process.stdout, stdout=subprocess.PIPE, timeout=DEADLINE)
    process.stdout.close()
    err = process.communicate(timeout=DEADLINE)[1].decode()
    equal(head.stdout, b"id: 1\n")
    equal(process.returncode, 0)
    jobs = int(re.search(r"^jobs +(\d+)$", err, re.M).group(1))
    check(jobs < 100, f"it went on for {jobs} files")
    check(not re.search(r"pipe|error|trouble", err, re.I), err)


@case
def a_reader_that_leaves_a_live_stream_ends_it():
    """The worker still runs: the filter must not wait for its end."""
    with Live() as live:
        live.send(root_start(), node_start())
        live.await_text("agent.spawned")
        live.process.stdout.close()
        end = time.monotonic() + DEADLINE
        while live.process.poll() is None and time.monotonic() < end:
            try:
                live.send(token("x" * 1000))
            except BrokenPipeError:
                break
        equal(live.process.wait(DEADLINE), 0)
        equal(live.process.stderr.read(), b"")
        live.process.stdout = None


@case
def follow_reads_a_growing_file_until_the_job_has_ended():
    with tempfile.NamedTemporaryFile() as f:
        f.write(lines(root_start(), node_start()))
        f.flush()
        with Live("--follow", f.name, stdin=subprocess.DEVNULL) as live:
            live.await_text("agent.spawned")
            for word in ("one", "two"):
                f.write(lines(token(word)))
                f.flush()
                live.await_text(f'"{word}"')
            half = lines(token("three"))
            f.write(half[:40])
            f.flush()
            f.write(half[40:] + lines(node_end(), root_end()))
            f.flush()
            live.await_text("graph.node_complete")
            check(live.process.poll() is None, "a root's end is not the end of the job while the file may grow")
            f.write(b'{"type":"job.done"}\n')
            f.flush()
            live.await_text("job.done")
            code, got = live.end()
    equal(code, 0)
    equal([t["token"] for t in got if t["type"] == "agent.token"], ["one", "two", "three"])
    equal(types(got)[-1], "job.done")


@case
def follow_ends_at_a_workers_failure():
    with tempfile.NamedTemporaryFile() as f:
        f.write(lines(root_start(), {"type": "job.failed", "error": "boom"}))
        f.flush()
        with Live("--follow", f.name, stdin=subprocess.DEVNULL) as live:
            code, got = live.end()
    equal((code, got), (0, [{"type": "job.failed", "error": "boom"}]))


@case
def without_follow_a_file_ends_where_it_ends():
    with tempfile.NamedTemporaryFile() as f:
        f.write(lines(root_start(), node_start()))
        f.flush()
        with Live(f.name, stdin=subprocess.DEVNULL) as live:
            code, got = live.end()
    equal(code, 0)
    equal(types(got)[-1], "job.failed")
