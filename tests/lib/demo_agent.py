"""Runs the demo agent, and reads its events."""

import json
import subprocess

from harness import PROGRAM, TIMEOUT, spoolwire, equal, parse_ndjson

JOB = {"job": "job-1", "attempt": 1, "agent": "demo", "input": "API returns 500 after deploy"}


def job(**more):
    return json.dumps({**JOB, **more}) + "\n"


def demo(*args, want=0, stdin=None, **more):
    """The bytes that the agent writes, without pauses."""
    done = spoolwire("demo-agent", "--speed", "0", *args, stdin=stdin or job(**more))
    equal(done.code, want, repr(done))
    return done.out


def events(*args, **more):
    return parse_ndjson(demo(*args, **more))


def start(*args, **more):
    return subprocess.Popen([PROGRAM, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **more)


def finish(process, timeout=TIMEOUT):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err.decode()


def tokens(all_events):
    return [e["data"]["chunk"]["content"] for e in all_events
            if e["event"] == "on_chat_model_stream" and e["data"]["chunk"]["content"]]
