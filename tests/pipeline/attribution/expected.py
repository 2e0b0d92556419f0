"""Each file of expected-attribution.json comes to what is written there."""

import gzip
import json
import os

from harness import cases, check, equal, recording
from story import Story

with open(recording("expected-attribution.json")) as f:
    EXPECTED = json.load(f)

equal(len(EXPECTED), 42, "files in expected-attribution.json")


def content(name):
    """A recording's bytes; the big one is stored compressed."""
    if os.path.exists(recording(name)):
        with open(recording(name), "rb") as f:
            return f.read()
    with gzip.open(recording(name + ".gz")) as f:
        return f.read()


# The script that wrote the expectations put tokens together as Python reads them from
# JSON.  When a character outside the basic plane is split over two tokens, its two halves
# stay two code points there; we join them, as we must.  A text of more than 120 of *its*
# code points is written as the first 60 and the length.


def abbreviate(text):
    return text if len(text) <= 120 else f"{text[:60]}...({len(text)} chars)"


def join_halves(text):
    """Halves that meet become one character, a half that stays alone U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unjoined_text(name, node):
    """A node's text as that script saw it (both long recordings are JavaScript's, and
    each of their nodes runs once)."""
    text = ""
    for line in content(name).splitlines():
        event = json.loads(line)
        if (event["event"] == "on_chat_model_stream"
                and event["metadata"]["langgraph_node"] == node):
            text += event["data"]["chunk"]["kwargs"]["content"]
    return text


def text_as_expected(name, node, got, want):
    if not want.endswith(" chars)"):
        equal(got, want, f"text of {node}")
        return
    whole = unjoined_text(name, node)
    equal(abbreviate(whole), want, f"how we read the recording itself, {node}")
    equal(got, join_halves(whole), f"text of {node}")


def statuses(want):
    """What the executions that the stream itself left open must be closed as.  (The stream
    has no end for them; RESOLUTIONS.md has us make one.)"""
    open_status = "interrupted" if want["interrupts"] else "error"
    return sorted((node, "retried") if node == "superseded" else (node, open_status)
                  for node in want["unclosed"])


@cases(EXPECTED)
def attribution_of(name):
    want = EXPECTED[name]
    story = Story("-", stdin=content(name))

    equal([e.node for e in story.executions], want["node_starts"], "node starts")
    equal([e.node for e in story.ended if e.status == "ok"], want["node_ends"], "node ends")
    equal(sorted(("superseded" if e.status == "retried" else e.node, e.status)
                 for e in story.executions if e.status != "ok"), statuses(want),
          "executions that the stream left open")
    retried = [e.node for e in story.executions if e.status == "retried"]
    check(set(retried) <= set(want["node_ends"]), f"{retried} were tried again and then went well")

    equal([e.node for e in story.executions if e.text], [node for node, _ in want["text"]],
          "executions with text")
    for execution, (node, text) in zip([e for e in story.executions if e.text], want["text"]):
        text_as_expected(name, node, execution.text, text)

    equal([[f["node"], f["tool"]] for f in story.tool_starts], want["tool_starts"], "tools")
    equal([[e.node, t[0]] for e in story.executions for t in e.tools],
          want["tool_starts"], "tools by execution")

    sections = {section or "None": text for section, text in story.sections.items()}
    equal(sorted(sections), sorted(want["sections"]), "sections")
    for section, text in want["sections"].items():
        text_as_expected(name, "writer", sections[section], text)
    equal(story.sections_done, want["sections_done"], "sections done")

    equal(len(story.questions), want["interrupts"], "interrupts")
    equal(story.stat("repeated tokens dropped"), want["duplicate_tokens_dropped"], "repeated tokens")
    equal(story.stat("open runs"), 0, "runs left open")
    if want["interrupts"]:
        equal(story.ending, "waiting")
    else:
        equal(story.ending, "ok" if want["root_end"] else "error", "how the job ended")
