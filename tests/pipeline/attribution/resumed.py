"""A question, its answer, and the run that goes on: two recordings in one stream are one job."""

import json

from expected import content
from harness import case, cases, check, equal, frames, lines
from story import Story

PAIRS = [
    ("a-supervisor-1-until-interrupt.ndjson", "a-supervisor-2-resumed.ndjson"),
    ("a-supervisor-1-until-interrupt.ndjson", "a-supervisor-named-2-resumed.ndjson"),
    ("a-supervisor-events-with-updates-mode.ndjson", "a-supervisor-2-resumed.ndjson"),
    ("py-a-supervisor-1-until-interrupt.server.ndjson", "py-a-supervisor-2-resumed.server.ndjson"),
    ("py-a-supervisor-1-until-interrupt.server.ndjson", "py-a-supervisor-subgraph-2-resumed.server.ndjson"),
    ("py-a-supervisor-1-until-interrupt.lcdump.ndjson", "py-a-supervisor-2-resumed.lcdump.ndjson"),
    ("py-a-supervisor-1-until-interrupt.str.ndjson", "py-a-supervisor-2-resumed.str.ndjson"),
    ("py-a-supervisor-events-with-updates-mode.server.ndjson", "py-a-supervisor-2-resumed.server.ndjson"),
    ("py-h-callbacks-interrupt.server.ndjson", "py-a-supervisor-2-resumed.server.ndjson"),
    ("a-supervisor-modes-1-until-interrupt.ndjson", "a-supervisor-modes-2-resumed.ndjson"),
    ("py-a-supervisor-modes-1-until-interrupt.server.ndjson", "a-supervisor-modes-2-resumed.ndjson"),
]


def resolved_once(stdin, ids):
    """The raw records name what each resume resolved, and when."""
    records = frames("--to", "raw", stdin=stdin)
    asked = [r for r in records if r["kind"] == "job.interrupt"]
    resumed = [r for r in records if r["kind"] == "job.resumed"]
    equal([r["id"] for r in asked], ids, "questions")
    equal([r["resolves"] for r in resumed], [ids], "what was resolved")
    check(resumed[0]["seq"] > asked[-1]["seq"], "it resumes after it was asked")
    return records


@cases(PAIRS, " + ".join)
def one_job(names):
    first, second = (content(name) for name in names)
    a, b, both = Story("-", stdin=first), Story("-", stdin=second), Story("-", stdin=first + second)
    equal(a.ending, "waiting")
    equal(a.end, None, "no terminal frame while it waits")
    equal(both.resumed, 1, "graph.resumed")
    equal(both.questions, a.questions, "a question keeps its bytes")
    equal(both.ran(), a.ran() + b.ran(), "executions")
    equal(both.said(), a.said() + b.said(), "text")
    equal(both.used(), a.used() + b.used(), "tools")
    equal(both.sections, b.sections, "sections")
    equal(both.sections_done, b.sections_done, "sections done")
    equal(both.end, {"type": "job.done"})
    equal(both.stat("open questions"), 0)

    types = [f["type"] for f in both.agent]
    before = len(a.agent)
    equal(both.agent[:before], a.agent, "the first part is not changed by the second")
    equal(types.index("graph.resumed"), before, "graph.resumed comes right after")
    resolved_once(first + second, [q["interrupt_id"] for q in a.questions])


@case
def a_node_that_asks_again_is_a_new_question():
    """The same interrupt id again, in a run that comes after the answer."""
    first = content("py-a-supervisor-1-until-interrupt.server.ndjson")
    again = [json.loads(line) for line in first.splitlines()]
    ids = {e["run_id"]: "again-" + e["run_id"] for e in again}
    for e in again:
        e["run_id"] = ids[e["run_id"]]
        e["parent_ids"] = [ids[i] for i in e["parent_ids"]]
    both = Story("-", stdin=first + lines(*again))
    equal(len(both.questions), 2)
    equal(both.resumed, 1)
    equal(both.ending, "waiting")


def run_event(event, name, run_id, parents, node=None, ns=None, step=1, **data):
    meta = {"langgraph_node": node, "langgraph_step": step, "langgraph_checkpoint_ns": ns} if node else {}
    tags = [f"graph:step:{step}"] if node == name else []
    return {"event": event, "name": name, "run_id": run_id, "parent_ids": parents, "tags": tags,
            "metadata": meta, "data": data}


@case
def two_questions_at_once_are_resolved_by_one_resume():
    first = content("py-k-interrupts-2-two-parallel.server.ndjson")
    starts = {e["name"]: e for e in map(json.loads, first.splitlines()) if e["event"] == "on_chain_start"}
    ns = {node: starts[node]["metadata"]["langgraph_checkpoint_ns"] for node in ("a", "b")}
    second = lines(
        run_event("on_chain_start", "LangGraph", "r2", [], input={"resume": {}}),
        run_event("on_chain_start", "a", "a2", ["r2"], "a", ns["a"], 2, input={}),
        run_event("on_chain_start", "b", "b2", ["r2"], "b", ns["b"], 2, input={}),
        run_event("on_chain_end", "a", "a2", ["r2"], "a", ns["a"], 2, output={"x": ["A!"]}),
        run_event("on_chain_end", "b", "b2", ["r2"], "b", ns["b"], 2, output={"x": ["B!"]}),
        run_event("on_chain_end", "LangGraph", "r2", [], output={"x": ["A!", "B!"]}),
    )
    s = Story("-", stdin=first + second)
    equal(s.ran(), [["sub", "ok"], ["a", "interrupted"], ["b", "interrupted"], ["a", "ok"], ["b", "ok"]])
    equal([q["value"] for q in s.questions], ["A?", "B?"])
    equal(s.resumed, 1)
    equal(s.ending, "ok")
    resolved_once(first + second, [q["interrupt_id"] for q in s.questions])


@case
def one_question_in_two_stream_modes_is_asked_once():
    """updates and values both carry it."""
    text = content("a-supervisor-modes-1-until-interrupt.ndjson").decode()
    check(text.count('"__interrupt__"') == 2, "the recording has it twice")
    equal(len(Story("-", stdin=text.encode()).questions), 1)


def root(event, **data):
    return run_event(event, "LangGraph", "r", [], **data)


FORMS = {
    "plain": {"__interrupt__": [{"id": "i1", "value": {"question": "Q?", "context": "C"}}]},
    "mode": ["updates", {"__interrupt__": [{"id": "i1", "value": {"question": "Q?", "context": "C"}}]}],
    "namespace and mode": [[], "updates", {"__interrupt__": [{"id": "i1", "value": {"question": "Q?", "context": "C"}}]}],
    "values": ["values", {"x": 1, "__interrupt__": [{"id": "i1", "value": {"question": "Q?", "context": "C"}}]}],
}


@cases(FORMS)
def an_interrupt_in_the_form(form):
    s = Story("-", stdin=lines(root("on_chain_start", input={}), root("on_chain_stream", chunk=FORMS[form]),
                               root("on_chain_end", output={})))
    equal(s.questions, [{"type": "graph.interrupt", "question": "Q?", "context": "C", "interrupt_id": "i1",
                         "value": {"question": "Q?", "context": "C"}}])
    equal((s.ending, s.paused), ("waiting", 0))


@cases([0, False, None, "", [], {}, "text", ["a", 1], {"question": 5}], json.dumps)
def any_value_may_be_asked(value):
    """Presence counts, not truth."""
    s = Story("-", stdin=lines(root("on_chain_start", input={}),
                               root("on_chain_stream", chunk={"__interrupt__": [{"id": "i1", "value": value}]}),
                               root("on_chain_end", output={})))
    equal([q["value"] for q in s.questions], [value])
    equal(s.ending, "waiting")


@case
def several_in_one_chunk_are_several():
    s = Story("-", stdin=lines(root("on_chain_start", input={}),
                               root("on_chain_stream", chunk={"__interrupt__": [{"id": "i1", "value": 1}, {"id": "i2", "value": 2}]}),
                               root("on_chain_end", output={})))
    equal([q["interrupt_id"] for q in s.questions], ["i1", "i2"])


@case
def one_without_an_id_gets_one():
    stdin = lines(root("on_chain_start", input={}),
                  root("on_chain_stream", chunk={"__interrupt__": [{"value": 1}, {"value": 2}]}),
                  root("on_chain_end", output={}))
    ids = [q["interrupt_id"] for q in Story("-", stdin=stdin).questions]
    equal(len(set(ids)), 2)
    check(all(isinstance(i, str) and i for i in ids), ids)
    equal([q["interrupt_id"] for q in Story("-", stdin=stdin).questions], ids, "the same each time")


@cases([{"__interrupt__": []}, ["updates", {"__interrupt__": []}],
        {"__interrupt__": [{"id": "p1", "value": {"kind": "pause"}}]}], json.dumps)
def a_pause_is_no_question(chunk):
    first = [root("on_chain_start", input={}), root("on_chain_stream", chunk=chunk), root("on_chain_end", output={})]
    s = Story("-", stdin=lines(*first))
    equal((s.questions, s.paused, s.ending), ([], 1, "waiting"))
    more = [dict(e, run_id="r2") for e in (root("on_chain_start", input={}), root("on_chain_end", output={}))]
    s = Story("-", stdin=lines(*first, *more))
    equal((s.paused, s.resumed, s.ending), (1, 1, "ok"))


@case
def siblings_of_an_interrupted_node_run_on_to_their_end():
    """Executions are closed at the root's end, not at the chunk."""
    s = Story("-", stdin=lines(
        root("on_chain_start", input={}),
        run_event("on_chain_start", "asks", "n1", ["r"], "asks", "asks:1"),
        run_event("on_chain_start", "works", "n2", ["r"], "works", "works:2"),
        root("on_chain_stream", chunk={"__interrupt__": [{"id": "i1", "value": 1}]}),
        run_event("on_chain_end", "works", "n2", ["r"], "works", "works:2", output={}),
        root("on_chain_end", output={})))
    equal(s.ran(), [["asks", "interrupted"], ["works", "ok"]])
    equal([e.node for e in s.ended], ["works", "asks"])
