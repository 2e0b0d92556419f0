"""Streams of a graph that is not among the recordings: captures of the real LangGraph
JavaScript server and of a worker's own process.  What is expected here was read off the
captures and the graph's source by hand:

    agent       says "Let me check.", and calls a tool
    tools       runs get_weather, which sends two custom parts
    researcher  is a subgraph; its node says "Subgraph note" and sends one custom part
    review      asks "Send the answer?"
    final       says "Ok!"
"""

import os

from harness import case, check, contains, equal, frames, recording, spoolwire, translate
from story import Story

UNTIL_INTERRUPT = [["agent", "ok"], ["tools", "ok"], ["researcher", "ok"], ["review", "interrupted"]]
RESUMED = [["review", "ok"], ["final", "ok"]]
SAID = [["agent", "Let me check."], ["researcher", "Subgraph note"]]
SAID_AFTER = [["final", "Ok!"]]
USED = [["tools", [["get_weather", '{"city":"Paris"}', "Sunny in Paris", "ok"]]]]
QUESTION = {"question": "Send the answer?", "options": ["yes", "no"]}


def path(name):
    return recording(os.path.join("captures", name))


def content(name):
    with open(path(name), "rb") as f:
        return f.read()


def asked(s):
    equal([q["value"] for q in s.questions], [QUESTION], "the question")
    equal([q["question"] for q in s.questions], ["Send the answer?"])


def count(name, kind, *args):
    return sum(r["kind"] == kind for r in frames("--to", "raw", *args, path(name)))


def until_interrupt(name):
    s = Story(path(name))
    equal(s.ran(), UNTIL_INTERRUPT)
    equal(s.said(), SAID)
    equal(s.used(), USED)
    asked(s)
    equal(s.ending, "waiting")
    equal(count(name, "custom"), 3, "custom parts")
    equal(s.stat("bad lines"), 0)


@case
def server_all_modes_until_the_interrupt():
    """Tokens come as events and as messages parts: they are not doubled."""
    until_interrupt("js-server-01-all-modes-until-interrupt.sse")


@case
def server_all_modes_with_subgraphs_until_the_interrupt():
    until_interrupt("js-server-03-all-modes-subgraphs-until-interrupt.sse")


def resumed(first, second):
    a, b = Story(path(second)), Story("-", stdin=content(first) + content(second))
    equal(a.ran(), RESUMED)
    equal(a.said(), SAID_AFTER)
    equal(a.ending, "ok")
    equal(b.ran(), UNTIL_INTERRUPT + RESUMED)
    equal(b.said(), SAID + SAID_AFTER)
    equal(b.used(), USED)
    asked(b)
    equal((b.resumed, b.ending), (1, "ok"))


@case
def server_all_modes_resumed():
    resumed("js-server-01-all-modes-until-interrupt.sse", "js-server-02-all-modes-resume.sse")


@case
def server_all_modes_with_subgraphs_resumed():
    resumed("js-server-03-all-modes-subgraphs-until-interrupt.sse", "js-server-04-all-modes-subgraphs-resume.sse")


@case
def server_as_usestream_asks_for_it():
    """Only values and messages: `review` sends no part, and a new state says that the others have ended."""
    s = Story(path("js-server-05-usestream-resumable.sse"))
    equal(s.ran(), UNTIL_INTERRUPT[:3])
    equal(s.said(), SAID)
    asked(s)
    equal(s.ending, "waiting")


@case
def server_messages_partial_is_refused_with_advice():
    name = "js-server-09-messages-mode-partial-complete.sse"
    done = translate("--framing", "ndjson", path(name), want=1)
    contains(done.err, name + ":", "messages/partial", "messages-tuple")


@case
def server_debug():
    s = Story(path("js-server-10-debug.sse"))
    equal(s.ran(), UNTIL_INTERRUPT)
    asked(s)
    equal(s.ending, "waiting")
    equal([f["step"] for f in s.starts], [1, 2, 3, 4])


@case
def server_tasks_checkpoints_and_tools():
    name = "js-server-11-tasks-checkpoints-tools.sse"
    s = Story(path(name))
    equal(s.ran(), UNTIL_INTERRUPT)
    asked(s)
    equal(s.ending, "waiting")
    equal(count(name, "state.tasks"), 8)
    equal(count(name, "state.checkpoints"), content(name).count(b"\nevent: checkpoints\n"))


@case
def server_error():
    s = Story(path("js-server-12-error.sse"))
    equal(s.end, {"type": "job.failed", "error": "boom: deliberate failure"})
    end = frames("--to", "raw", path("js-server-12-error.sse"))[-1]
    equal((end["status"], end["error_type"]), ("failed", "RangeError"))


@case
def server_run_that_was_cancelled_just_stops():
    name = "js-server-13-join-of-cancelled-run.sse"
    equal(Story(path(name)).executions, [])
    equal(count(name, "custom"), 11)


@case
def worker_stream_events():
    """All modes in root chunks of three items, with debug in them; the answer is in the same file."""
    name = "js-worker-streamEvents-v2.ndjson"
    s = Story(path(name))
    equal(s.ran(), UNTIL_INTERRUPT + RESUMED)
    equal(s.said(), SAID + SAID_AFTER)
    equal(s.used(), USED)
    asked(s)
    equal((s.resumed, s.ending), (1, "ok"))
    equal(count(name, "custom"), 3)
    equal([f["step"] for f in s.starts], [1, 2, 3, 4, 4, 5])


@case
def worker_stream_modes():
    name = "js-worker-stream-modes.ndjson"
    s = Story(path(name))
    equal(s.ran(), UNTIL_INTERRUPT + RESUMED)
    equal(s.said(), SAID + SAID_AFTER)
    asked(s)
    equal((s.resumed, s.ending), (1, "ok"))
    equal(count(name, "custom"), 3)


@case
def version_3_is_refused():
    name = "js-worker-streamEvents-v3.ndjson"
    done = spoolwire("translate", "--framing", "ndjson", path(name))
    equal((done.code, done.out), (1, b""))
    contains(done.err, name + ":1: ", 'version="v3"', 'version="v2"')
    for line in done.err.splitlines():
        check('"v3"' in line, line)


@case
def version_3_is_refused_whatever_it_is_read_as():
    name = "js-worker-streamEvents-v3.ndjson"
    for source in ("events", "modes", "callbacks"):
        done = spoolwire("translate", "--from", source, path(name))
        equal((done.code, done.out), (1, b""), source)
    callback = b'{"method":"on_stream_event","args":[{"type":"event"}],"kwargs":{"run_id":"r"}}\n'
    done = spoolwire("translate", stdin=callback)
    equal(done.code, 1)
    contains(done.err, ":1: ", '"v3"')
