"""The same recordings, written in ways that no recording has: other versions of the event
stream, other encodings of messages, other forms of callbacks and of stream parts."""

import json

from expected import content
from harness import case, cases, check, equal, frames, lines, translate
from same import story
from story import Story

NODES = ["a-supervisor-1-until-interrupt.ndjson", "py-a-supervisor-1-until-interrupt.server.ndjson",
         "b-react-nested.ndjson", "c-node-retried.ndjson", "py-d-anthropic-list-content.server.ndjson",
         "g-send-fanout.ndjson", "py-g-send-fanout.server.ndjson", "py-k-interrupts-2-two-parallel.server.ndjson"]


def events(name):
    return [json.loads(line) for line in content(name).splitlines()]


def same(a, b):
    equal(b.ran(), a.ran(), "executions")
    equal(b.said(), a.said(), "text")
    equal(b.used(), a.used(), "tools")
    equal(b.completed, a.completed, "nodes complete, in order")
    equal(b.questions, a.questions, "questions")
    equal(b.ending, a.ending, "how it ended")


@cases(NODES)
def version_1_has_empty_parent_ids(name):
    same(story(name), Story("-", stdin=lines(*[dict(e, parent_ids=[]) for e in events(name)])))


@cases(NODES)
def without_parent_ids_as_javascript(name):
    same(story(name), Story("-", stdin=lines(*[{k: v for k, v in e.items() if k != "parent_ids"} for e in events(name)])))


@cases([n for n in NODES if n.startswith("py-") and "retried" not in n])
def without_tags(name):
    """A sender that filters them: a node run is one that is named like its node."""
    same(story(name), Story("-", stdin=lines(*[dict(e, tags=[]) for e in events(name)])))


@cases(NODES)
def keys_in_another_order(name):
    def turned(v):
        if isinstance(v, dict):
            return {k: turned(v[k]) for k in reversed(list(v))}
        return [turned(x) for x in v] if isinstance(v, list) else v

    a, b = story(name), Story("-", stdin=lines(*map(turned, events(name))))
    equal(b.ran(), a.ran(), "executions")
    equal(b.said(), a.said(), "text")
    equal(b.ending, a.ending, "how it ended")


@cases(NODES)
def with_blanks_and_escapes(name):
    """Pretty JSON, everything beyond ASCII escaped: not one byte of the output differs."""
    stdin = "".join(json.dumps(e, separators=(" ,  ", " :\t"), ensure_ascii=True) + "\n" for e in events(name))
    for dialect in ("agent", "nodes", "messages"):
        args = ("--to", dialect, "--job", "j")
        equal(translate(*args, stdin=stdin).out, translate(*args, stdin=content(name)).out, dialect)


# --- messages ---------------------------------------------------------------------------------


def is_message(v):
    return isinstance(v, dict) and "content" in v and isinstance(v.get("type"), str) and "additional_kwargs" in v


def messages_as(write, v):
    if isinstance(v, dict):
        v = {k: messages_as(write, x) for k, x in v.items()}
        return write(v) if is_message(v) else v
    return [messages_as(write, x) for x in v] if isinstance(v, list) else v


CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "AIMessageChunk": "AIMessageChunk",
           "system": "SystemMessage"}


def without_type(m):
    return {k: v for k, v in m.items() if k != "type"}


ENCODINGS = {
    "message_to_dict": lambda m: {"type": m["type"], "data": without_type(m)},
    "message_to_dict with the type inside": lambda m: {"type": m["type"], "data": m},
    "JavaScript lc": lambda m: {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", CLASSES[m["type"]]],
                                "kwargs": without_type(m)},
    "Python lc": lambda m: {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", CLASSES[m["type"]]],
                            "kwargs": m},
    "inside a generation chunk": lambda m: m if m["type"] != "AIMessageChunk" else
    {"text": m["content"] if isinstance(m["content"], str) else "", "generation_info": None,
     "type": "ChatGenerationChunk", "message": m},
}


@cases([(e, n) for e in ENCODINGS for n in
        ("py-a-supervisor-1-until-interrupt.server.ndjson", "py-d-anthropic-list-content.server.ndjson",
         "py-i-nested-chat-models.server.ndjson", "py-c-tool-throws-handled.server.ndjson")], " of ".join)
def messages_written_as(encoding_and_name):
    encoding, name = encoding_and_name
    changed = messages_as(ENCODINGS[encoding], events(name))
    check(lines(*changed) != lines(*events(name)) or "tool-throws" in name, "something changes")
    b = Story("-", stdin=lines(*changed))
    same(story(name), b)
    equal(b.stat("lossy records"), 0, "nothing is lost")

    def deltas(stdin):
        return [{k: r.get(k) for k in ("text", "reasoning", "message", "calls", "usage")}
                for r in frames("--to", "raw", stdin=stdin) if r["kind"] == "llm.delta"]

    equal(deltas(lines(*changed)), deltas(content(name)), "deltas")


# --- callbacks --------------------------------------------------------------------------------

CALLBACKS = ["py-h-callbacks-interrupt.server.ndjson", "py-h-callbacks-node-throws.server.ndjson",
             "py-h-callbacks-streaming.server.ndjson", "py-h-callbacks-tool-throws.server.ndjson",
             "py-h-callbacks-with_retry.server.ndjson"]

POSITIONS = {"start": {"chain": "inputs", "chat_model": "messages", "llm": "prompts", "tool": "input_str", "retriever": "query"},
             "end": {"chain": "outputs", "llm": "response", "tool": "output", "retriever": "documents"}}


def named(call, form):
    """{"method","args","kwargs"} with every argument by its name."""
    if call["method"] == "on_custom_event":  # 003 has no name for it
        return dict({"type": "on_custom_event", "data": call["args"][1]}, **dict(call["kwargs"], name=call["args"][0]))
    kind, _, phase = call["method"][3:].rpartition("_")
    if call["method"] == "on_llm_new_token":
        kind, phase = "llm", "new_token"
    result = dict(call["kwargs"])
    if phase == "start":
        result["serialized"] = call["args"][0]
        result.setdefault(POSITIONS["start"][kind], call["args"][1])
    elif phase == "end":
        result[POSITIONS["end"][kind]] = call["args"][0]
    elif phase == "error":
        result["error"] = call["args"][0]
    else:
        result["token"] = call["args"][0]
    return dict({"type": form(kind, phase)}, **result)


CALLBACK_FORMS = {
    "a tracer's": lambda kind, phase: f"{kind}/{phase}",
    "LangServe's": lambda kind, phase: f"on_{kind}_{phase}",
}


@cases([(form, name) for form in CALLBACK_FORMS for name in CALLBACKS], " of ".join)
def callbacks_in_the_form(form_and_name):
    form, name = form_and_name
    same(story(name), Story("-", stdin=lines(*[named(c, CALLBACK_FORMS[form]) for c in events(name)])))


@case
def a_callbacks_token_may_be_a_list_of_blocks():
    """Anthropic's tokens are, and a handler may leave the chunk out."""
    calls = []
    for c in events("py-h-callbacks-streaming.server.ndjson"):
        if c["method"] == "on_llm_new_token":
            c["args"] = [[{"type": "text", "text": c["args"][0], "index": 0}]] if c["args"][0] else [[]]
            c["kwargs"].pop("chunk")
        calls.append(c)
    same(story("py-h-callbacks-streaming.server.ndjson"), Story("-", stdin=lines(*calls)))


# --- stream parts -----------------------------------------------------------------------------

PARTS = ["a-supervisor-modes-1-until-interrupt.ndjson", "a-supervisor-modes-2-resumed.ndjson",
         "py-b-react-nested-modes.server.ndjson", "g-send-fanout-modes.ndjson", "py-g-send-fanout-modes.server.ndjson"]


def sse_part(p):
    name = "|".join([p["mode"], *p["namespace"]])
    return f"event: {name}\ndata: {json.dumps(p['payload'])}\n\n"


PART_FORMS = {
    "a list of three": lambda p: json.dumps([p["namespace"], p["mode"], p["payload"]]) + "\n",
    "a list of two": lambda p: json.dumps([p["mode"], p["payload"]] if not p["namespace"] else
                                          [p["namespace"], p["mode"], p["payload"]]) + "\n",
    "version 2": lambda p: json.dumps({"type": p["mode"], "ns": p["namespace"], "data": p["payload"]}) + "\n",
    "SSE": sse_part,
}


@cases([(form, name) for form in PART_FORMS for name in PARTS], " of ".join)
def parts_in_the_form(form_and_name):
    form, name = form_and_name
    stdin = "".join(map(PART_FORMS[form], events(name)))
    for dialect in ("agent", "nodes", "messages", "aiq"):  # raw also tells "" from no namespace
        args = ("--to", dialect, "--job", "j", "--modes", "all", "--subgraphs")
        equal(translate(*args, stdin=stdin).out, translate(*args, stdin=content(name)).out, dialect)


@cases(["py-g-send-fanout-modes.server.ndjson", "g-send-fanout-modes.ndjson"])
def messages_mode_alone(name):
    """stream_mode="messages": nothing but [message, metadata]."""
    pairs = [p["payload"] for p in events(name) if p["mode"] == "messages"]
    s = Story("-", stdin=lines(*pairs))
    equal(s.said(), story(name).said())
    equal([e.node for e in s.executions], ["investigator", "investigator"])


@case
def an_interrupt_without_an_id_in_two_modes_is_one_question():
    """Before LangGraph 0.6 interrupts had none; updates and values both carry it."""
    parts = events("a-supervisor-modes-1-until-interrupt.ndjson")
    for p in parts:
        for i in p["payload"].get("__interrupt__", []) if isinstance(p["payload"], dict) else []:
            del i["id"]
    equal(len(Story("-", stdin=lines(*parts)).questions), 1)
