"""All source formats in one stream, line by line."""

from harness import case, cases, check, contains, equal, frames, lines, translate
from resumed import root, run_event
from story import Story

NODE = {"langgraph_node": "investigator", "langgraph_step": 1, "langgraph_checkpoint_ns": "investigator:1"}

MIXED = [
    # astream_events
    root("on_chain_start", input={"issue": "x"}),
    run_event("on_chain_start", "investigator", "n1", ["r"], "investigator", "investigator:1", input={}),
    # a callback, in the form that handlers write, inside that node
    {"method": "on_chat_model_start", "args": [{"name": "ChatX"}, [[]]],
     "kwargs": {"run_id": "m1", "parent_run_id": "n1", "tags": [], "metadata": NODE}},
    {"method": "on_llm_new_token", "args": ["from "], "kwargs": {"run_id": "m1", "parent_run_id": "n1"}},
    {"method": "on_llm_new_token", "args": ["callbacks, "], "kwargs": {"run_id": "m1", "parent_run_id": "n1"}},
    {"method": "on_llm_end", "args": [{"generations": [[{"text": "from callbacks, "}]]}],
     "kwargs": {"run_id": "m1", "parent_run_id": "n1"}},
    # a callback in a tracer's form
    {"type": "tool/start", "run_id": "t1", "parent_run_id": "n1", "name": "grep", "inputs": {"q": 1}},
    {"type": "tool/end", "run_id": "t1", "parent_run_id": "n1", "outputs": "found"},
    # the envelope
    {"event": "on_tool_start", "timestamp": "2026-01-01T00:00:00Z", "run_id": "job",
     "data": {"tool_id": "t2", "tool_name": "bing", "input": {"q": 2}, "node_id": "n1"}},
    {"event": "on_tool_end", "timestamp": "2026-01-01T00:00:01Z", "run_id": "job",
     "data": {"tool_id": "t2", "tool_name": "bing", "output": "nothing", "node_id": "n1"}},
    # a stream part
    [[], "custom", {"note": "from modes"}],
    {"mode": "custom", "namespace": [], "payload": {"note": "from modes, named"}},
    # `aiq`
    {"type": "llm.start", "id": "m2", "name": "model", "data": {}, "metadata": {"agent_id": "n1"}},
    {"type": "llm.chunk", "id": "m2", "name": "model", "data": {"chunk": "from native"}, "metadata": {"agent_id": "n1"}},
    {"type": "llm.end", "id": "m2", "name": "model", "data": {"output": "from native"}, "metadata": {"agent_id": "n1"}},
    # `agent`
    {"type": "agent.spawned", "agent_id": "n2", "agent_name": "critic", "node": "critic"},
    {"type": "agent.token", "agent_id": "n2", "token": "from "},
    {"type": "agent.token", "agent_id": "n2", "token": "000"},
    {"type": "agent.tool_call", "agent_id": "n2", "tool_name": "look", "input_preview": "{}"},
    {"type": "agent.tool_result", "agent_id": "n2", "tool_name": "look", "result_summary": "seen"},
    {"type": "agent.done", "agent_id": "n2", "node": "critic"},
    # and back to events
    run_event("on_chain_end", "investigator", "n1", ["r"], "investigator", "investigator:1", output={}),
    root("on_chain_end", output={"done": True}),
]


def is_the_mixed_story(s):
    equal(s.ran(), [["investigator", "ok"], ["critic", "ok"]])
    equal(s.said(), [["investigator", "from callbacks, from native"], ["critic", "from 000"]])
    equal(s.used(), [["investigator", [["bing", '{"q":2}', "nothing", "ok"], ["grep", '{"q":1}', "found", "ok"]]],
                     ["critic", [["look", "{}", "seen", "ok"]]]])
    equal(s.ending, "ok")
    equal(s.stat("bad lines"), 0)
    equal(s.stat("stray ends and streams"), 0)


@case
def five_formats_in_one_stream():
    is_the_mixed_story(Story("-", stdin=lines(*MIXED)))
    records = frames("--to", "raw", stdin=lines(*MIXED))
    equal([r["data"]["note"] for r in records if r["kind"] == "custom"], ["from modes", "from modes, named"])


@case
def some_lines_of_it_as_sse():
    import json
    text = ""
    for i, value in enumerate(MIXED):
        line = json.dumps(value)
        text += line + "\n" if i % 3 == 0 else f"data: {line}\n\n" if i % 3 == 1 else f"event: data\r\ndata: {line}\r\n\r\n"
    is_the_mixed_story(Story("-", stdin=text))


# --from names the only format that is taken.
ALONE = {
    "events": MIXED[0], "callbacks": MIXED[6], "envelope": MIXED[8], "modes": MIXED[11], "native": MIXED[12],
}


@cases(ALONE)
def named_format_is_read(source):
    translate("--from", source, stdin=lines(ALONE[source]))
    translate("--from", "auto", stdin=lines(ALONE[source]))


# Which names the formats share: the line could be either.
ALIKE = [("envelope", "events"), ("events", "envelope"), ("callbacks", "events"), ("callbacks", "envelope")]


@cases([(a, b) for a in ALONE for b in ALONE if a != b and (a, b) not in ALIKE], " is not ".join)
def a_line_of_another_format_is_refused(pair):
    source, other = pair
    done = translate("--from", source, stdin=lines(ALONE[other]), want=1)
    contains(done.err, "(standard input):1: ")
    check("not JSON" not in done.err, done.err)
