"""One graph, recorded in several ways, comes to one story.

What may differ: ids, times, how text is cut into tokens (none of them is in a story), and

  JavaScript    has no parent_ids: tokens of plain RunnableMap branches have no section
  lcdump, str,  cannot carry an interrupt's payload: the question is a text, marked lossy
  callbacks
  modes         have no tool runs, and no execution of a node that sends no part
"""

import json

from expected import content
from harness import DIALECTS, case, cases, check, contains, equal, frames, recording, translate
from story import ALL_CARDS, Story

_stories = {}


def story(name):
    if name not in _stories:
        _stories[name] = Story("-", stdin=content(name))
    return _stories[name]


# Each group: the file that is compared with, then the others.
EVENTS = [
    ["a-supervisor-1-until-interrupt.ndjson",
     "a-supervisor-events-with-updates-mode.ndjson",
     "py-a-supervisor-1-until-interrupt.server.ndjson",
     "py-a-supervisor-1-until-interrupt.lcdump.ndjson",
     "py-a-supervisor-1-until-interrupt.str.ndjson",
     "py-a-supervisor-events-with-updates-mode.server.ndjson",
     "py-h-callbacks-interrupt.server.ndjson"],
    ["a-supervisor-2-resumed.ndjson",
     "a-supervisor-named-2-resumed.ndjson",
     "py-a-supervisor-2-resumed.server.ndjson",
     "py-a-supervisor-2-resumed.lcdump.ndjson",
     "py-a-supervisor-2-resumed.str.ndjson"],
    ["c-node-throws.ndjson",
     "py-c-node-throws.server.ndjson",
     "py-h-callbacks-node-throws.server.ndjson"],
    ["c-model-throws-midstream.ndjson",
     "py-c-model-throws-midstream.server.ndjson"],
    ["c-tool-throws-handled.ndjson",
     "py-c-tool-throws-handled.server.ndjson",
     "py-c-tool-throws-handled.lcdump.ndjson",
     "py-h-callbacks-tool-throws.server.ndjson"],
    ["d-anthropic-list-content.ndjson",
     "py-d-anthropic-list-content.server.ndjson",
     "py-d-anthropic-list-content.str.ndjson",
     "py-j-langgraph-server-events.sse",
     "py-j-langserve-stream_events.sse"],
    ["d-legacy-llm.ndjson",
     "py-d-legacy-llm.server.ndjson",
     "py-d-legacy-llm.lcdump.ndjson"],
    ["d-retriever.ndjson",
     "py-d-retriever.server.ndjson",
     "py-d-retriever.lcdump.ndjson"],
    ["g-send-fanout.ndjson",
     "py-g-send-fanout.server.ndjson"],
    ["py-g-command-goto.server.ndjson",
     "py-g-command-goto.lcdump.ndjson"],
    ["i-node-streams-chain.ndjson",
     "py-i-node-streams-chain.server.ndjson",
     "py-h-callbacks-streaming.server.ndjson",
     "py-i-nested-chat-models.server.ndjson"],
    ["py-h-events-with_retry.server.ndjson",
     "py-h-callbacks-with_retry.server.ndjson"],
]

# Stream modes against events: (events, modes, executions without parts).
MODES = [
    ("a-supervisor-1-until-interrupt.ndjson", "a-supervisor-modes-1-until-interrupt.ndjson", ["human_input"]),
    ("a-supervisor-1-until-interrupt.ndjson", "py-a-supervisor-modes-1-until-interrupt.server.ndjson",
     ["human_input"]),
    ("a-supervisor-2-resumed.ndjson", "a-supervisor-modes-2-resumed.ndjson", []),
    ("b-react-nested.ndjson", "py-b-react-nested-modes.server.ndjson", []),
    ("g-send-fanout.ndjson", "g-send-fanout-modes.ndjson", []),
    ("g-send-fanout.ndjson", "g-send-fanout-modes.sse", []),
    ("g-send-fanout.ndjson", "py-g-send-fanout-modes.server.ndjson", []),
]


def pair(names):
    return " = ".join(names[:2])


def lossy_questions(name):
    return "lcdump" in name or ".str." in name or "callbacks" in name


def same_tools(a, b):
    """Results are cut, and the tools themselves write their JSON with or without spaces."""
    def plain(s):
        return [[node, [[t[0], t[1], t[2].replace(" ", "")[:80], t[3]] for t in tools]] for node, tools in s.used()]

    equal(plain(b), plain(a), "tools")


def same_questions(a, b, lossy):
    equal(len(b.questions), len(a.questions), "number of questions")
    for qa, qb in zip(a.questions, b.questions):
        if lossy:
            contains(str(qb["value"]), qa["question"], qa["context"])
        else:
            equal(qb["value"], qa["value"])
            equal(qb.get("question"), qa.get("question"))
            equal(qb.get("context"), qa.get("context"))


@cases([(group[0], other) for group in EVENTS for other in group[1:]], pair)
def the_same_story(names):
    a, b = story(names[0]), story(names[1])
    equal(b.ran(), a.ran(), "executions")
    equal(b.said(), a.said(), "text")
    same_tools(a, b)
    equal(b.completed, a.completed, "nodes complete, in order")
    equal(b.sections_done, a.sections_done, "sections done")
    equal(b.ending, a.ending, "how it ended")
    same_questions(a, b, lossy_questions(names[1]))


@cases(MODES, pair)
def the_same_story_from_modes(names):
    a, b = story(names[0]), story(names[1])
    without = names[2]
    equal(b.ran(), [r for r in a.ran() if r[0] not in without], "executions")
    equal(b.said(), a.said(), "text")
    equal(b.completed, a.completed, "nodes complete, in order")
    equal(b.ending, a.ending, "how it ended")
    same_questions(a, b, False)


@case
def sections_are_the_same_wherever_they_can_be_known():
    plain = story("py-a-supervisor-2-resumed.server.ndjson").sections
    equal(sorted(plain), ["comment_draft", "report", "ticket_draft"])
    for name in ("py-a-supervisor-2-resumed.lcdump.ndjson", "py-a-supervisor-2-resumed.str.ndjson",
                 "py-a-supervisor-subgraph-2-resumed.server.ndjson", "a-supervisor-named-2-resumed.ndjson"):
        equal(story(name).sections, plain, name)
    for name in ("a-supervisor-2-resumed.ndjson", "a-supervisor-modes-2-resumed.ndjson"):
        equal(list(story(name).sections), [None], name)
        equal(sorted(story(name).sections[None]), sorted("".join(plain.values())), name)


@case
def a_writer_that_is_a_subgraph_is_the_same_execution():
    """Its branches are nodes there, so their tokens interleave in another order."""
    a, b = story("py-a-supervisor-2-resumed.server.ndjson"), story("py-a-supervisor-subgraph-2-resumed.server.ndjson")
    equal(b.ran(), a.ran())
    equal(b.sections_done, a.sections_done)
    equal([sorted(text) for _, text in b.said()], [sorted(text) for _, text in a.said()])


def deltas(name):
    return [r for r in frames("--to", "raw", "-", stdin=content(name)) if r["kind"] == "llm.delta"]


@case
def reasoning_is_the_same():
    def reasoning(name):
        return "".join(r.get("reasoning", "") for r in deltas(name))

    equal(reasoning("d-anthropic-list-content.ndjson"), "Need a search.")
    for name in ("py-d-anthropic-list-content.server.ndjson", "py-j-langgraph-server-events.sse",
                 "py-j-langserve-stream_events.sse"):  # the model there was told to say less
        equal(reasoning(name), "Need ", name)


@cases(["py-a-supervisor-1-until-interrupt", "py-a-supervisor-2-resumed", "py-d-anthropic-list-content"])
def what_str_encoding_lost_is_marked(name):
    lossy, whole = deltas(name + ".str.ndjson"), deltas(name + ".server.ndjson")
    equal([r.get("text") for r in lossy], [r.get("text") for r in whole], "tokens")
    for r in lossy:
        equal(r.get("lossy"), True, f"lossy in {r}")
    check(not any("lossy" in r for r in whole), "nothing is lossy in the whole one")
    check(Story(recording(name + ".str.ndjson")).stat("lossy records") >= len(lossy), "counted in --stats")


@case
def a_chain_without_a_graph_has_text_but_no_execution():
    s = story("i-plain-chain-events.sse")
    equal(s.executions, [])
    equal(s.ending, "ok")
    text = "".join(r.get("text", "") for r in deltas("i-plain-chain-events.sse"))
    equal(text, plain_chain_text())


def plain_chain_text():
    """What the parser of that chain gave: the same text once more."""
    text = ""
    for line in content("i-plain-chain-events.sse").decode().splitlines():
        if line.startswith("data: "):
            event = json.loads(line[6:])
            if event.get("event") == "on_parser_stream":
                text += event["data"]["chunk"]
    check(len(text) > 5, "the recording has a parser's text")
    return text


@case
def a_broken_recording_is_told_as_far_as_it_goes():
    """An upstream bug: root chunks are byte maps, and the stream ends early."""
    s = story("g-send-fanout-events-encoding-bug.sse")
    equal(s.ending, "error")
    equal([e.node for e in s.executions], ["planner", "investigator", "investigator"])
    equal(sorted(text for _, text in s.said()), sorted(text for _, text in story("g-send-fanout.ndjson").said()))


# --- any recording in another framing: not one byte differs ---------------------------------

FRAMINGS = {
    "LangServe": lambda line: b": ping - 1\r\n\r\nevent: data\r\ndata: " + line + b"\r\n\r\n",
    "LangGraph Server": lambda line: b"event: events\r\ndata: " + line + b"\r\nid: 7\r\n\r\n: heartbeat\r\n\r\n",
    "LangChain.js": lambda line: b"event: data\ndata: " + line + b"\n\n",
}

REFRAMED = [
    "a-supervisor-1-until-interrupt.ndjson", "b-react-nested.ndjson", "c-tool-throws-handled.ndjson",
    "py-d-anthropic-list-content.server.ndjson", "f-unicode-and-long.ndjson", "g-send-fanout.ndjson",
    "py-i-nested-chat-models.server.ndjson", "py-k-interrupts-2-two-parallel.server.ndjson",
]


@cases([(framing, name) for name in REFRAMED for framing in FRAMINGS], " of ".join)
def the_same_bytes_in_the_framing_of(framing_and_name):
    framing, name = framing_and_name
    wrapped = b"".join(map(FRAMINGS[framing], content(name).splitlines()))
    for dialect in DIALECTS:
        args = ("--to", dialect, "--job", "job-1", "--modes", "all", "--subgraphs")
        equal(translate(*args, stdin=wrapped).out, translate(*args, stdin=content(name)).out, dialect)


# --- what one dialect writes, another spoolwire reads ---------------------------------------

REREAD = [
    "a-supervisor-1-until-interrupt.ndjson", "py-a-supervisor-2-resumed.server.ndjson", "b-react-nested.ndjson",
    "c-node-throws.ndjson", "c-node-retried.ndjson", "c-tool-throws-handled.ndjson",
    "d-anthropic-list-content.ndjson", "g-send-fanout.ndjson", "py-i-nested-chat-models.server.ndjson",
    "py-k-interrupts-2-two-parallel.server.ndjson",
]


def reread(dialect, name):
    return Story("-", stdin=translate("--framing", "ndjson", "--to", dialect, "--job", "job-1", "--agent-config",
                                      ALL_CARDS, "-", stdin=content(name)).out)


def tool_statuses(s):
    return [[node, [[t[0], t[3]] for t in tools]] for node, tools in s.used()]


@cases(REREAD)
def the_same_story_from_events_of_agent(name):
    a, b = story(name), reread("agent", name)
    equal(b.ran(), a.ran(), "executions")
    equal(b.said(), a.said(), "text")
    equal(b.used(), a.used(), "tools")
    equal(b.completed, a.completed, "nodes complete, in order")
    equal(b.sections, a.sections, "sections")
    equal(b.sections_done, a.sections_done, "sections done")
    equal(b.ending, a.ending, "how it ended")
    equal(b.questions, a.questions, "questions")


@cases(REREAD)
def the_same_story_from_events_of_aiq(name):
    """There the graph itself is a workflow too, and nothing says that it is not an agent."""
    a, b = story(name), reread("aiq", name)
    equal(b.executions[0].node, "LangGraph")
    equal(b.ran()[1:], a.ran(), "executions")
    equal(b.said(), a.said(), "text")
    equal(tool_statuses(b), tool_statuses(a), "tools")
    if a.ending != "waiting":
        equal(b.ending, a.ending, "how it ended")


@cases([name for name in REREAD if "nested-chat-models" not in name])
def the_same_text_from_the_envelope(name):
    """It is flat: which node is inside of which cannot be told.  And it has no message ids,
    so what a wrapping model only repeats cannot be told either."""
    a, b = story(name), reread("envelope", name)
    equal("".join(e.text for e in b.executions), "".join(e.text for e in a.executions), "text")
    equal(sorted(t for e in b.executions for t in e.tools), sorted(t for e in a.executions for t in e.tools), "tools")
    check(set(e.node for e in a.executions) <= set(e.node for e in b.executions), "nodes")
    equal(b.ending, a.ending, "how it ended")
    equal([q["interrupt_id"] for q in b.questions], [q["interrupt_id"] for q in a.questions], "questions")


# --- orders that no recording has, but real graphs do ----------------------------------------


@case
def the_younger_of_two_parallel_executions_may_end_first():
    """Send fan-out in stream modes: `updates` names the node, not which of its executions."""
    rows = content("g-send-fanout-modes.ndjson").splitlines(keepends=True)
    namespaces = ["".join(json.loads(row)["namespace"]) for row in rows]
    alpha, beta = [ns for ns in dict.fromkeys(namespaces) if ns]
    a = [row for row, ns in zip(rows, namespaces) if ns == alpha]
    b = [row for row, ns in zip(rows, namespaces) if ns == beta]
    update_a, update_b = [row for row in rows if b'"updates"' in row and b'"investigator":' in row]
    s = Story("-", stdin=b"".join(rows[:3] + a[:3] + b + [update_b] + a[3:] + [update_a] + rows[-3:]))
    equal(s.ran(), story("g-send-fanout-modes.ndjson").ran())
    equal(s.said(), story("g-send-fanout-modes.ndjson").said())
    equal([e.text[:5] for e in s.ended if e.text], ["beta-", "alpha"])
