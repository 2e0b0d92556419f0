"""The `agent` events from end to end: all that a graph can give, with a real LangGraph graph in a real
Python worker, which asks a person, is answered over HTTP, and goes on.

The graph runs in an ARQ worker that publishes `agent`'s events, in one that publishes LangGraph's
own, and in the Python package's worker.  Readers see the same.
"""

import os
import sys
import tempfile

from broker import shared
from cluster import HERE, PythonWorker, own_queue, producer
from gateway import Server, until
from harness import case, cases, check, contains, equal

SECTIONS = ("report", "comment_draft", "ticket_draft")
BEFORE = [
    ("graph.node_complete", "supervisor"),
    ("agent.spawned", "investigator"), ("agent.done", "investigator"), ("graph.node_complete", "investigator"),
    ("graph.node_complete", "supervisor"),
    ("agent.spawned", "codebase_search"), ("agent.tool_call", "grep_repo"), ("agent.tool_result", "grep_repo"),
    ("agent.done", "codebase_search"), ("graph.node_complete", "codebase_search"),
    ("graph.node_complete", "supervisor"),
    ("agent.spawned", "investigator"), ("agent.done", "investigator"), ("graph.node_complete", "investigator"),
    ("graph.node_complete", "supervisor"),
    ("graph.interrupt", "which service?"),
]
AFTER = [
    ("graph.resumed", None),
    ("graph.node_complete", "human_input"),
    ("agent.spawned", "writer"),
    # the sections end in any order
    ("agent.done", "writer"), ("graph.node_complete", "writer"),
    ("job.done", None),
]
UNORDERED = ("agent.token", "output.token", "output.section_done")


def rows(frames):
    """What happens one after another: events without ids and times."""
    return [(f.event, f.json.get("node") or f.json.get("tool_name") or f.json.get("question")) for f in frames
            if f.event not in UNORDERED]


def texts(frames, event, **where):
    return "".join(f.json["token"] for f in frames
                   if f.event == event and all(f.json.get(k) == v for k, v in where.items()))


def every_row_is_told(frames, before=BEFORE):
    """All but a pause and an exception."""
    equal(rows(frames), before + AFTER)
    cards = [f.json for f in frames if f.event == "agent.spawned"]
    equal(len({c["agent_id"] for c in cards}), 4)  # the investigator's second visit is another card
    equal([c["agent_name"] for c in cards], [c["node"] for c in cards])
    for card in cards:
        tokens = texts(frames, "agent.token", agent_id=card["agent_id"])
        if card["node"] == "investigator":
            equal(tokens, "looking into API 500")
        elif card["node"] == "writer":
            equal(sorted(tokens), sorted("".join(f"the {s}: it is billing" for s in SECTIONS)))
        else:
            equal(tokens, "")
        equal([f.json["agent_id"] for f in frames if f.event == "agent.done"].count(card["agent_id"]), 1)
    call, result = (next(f.json for f in frames if f.event == e) for e in ("agent.tool_call", "agent.tool_result"))
    equal((call["input_preview"], result["result_summary"]), ('{"pattern":"pool.acquire"}', "db/pool.py: pool.acquire"))
    equal([call["agent_id"], result["agent_id"]], [cards[1]["agent_id"]] * 2)
    steps = [f.json["step"] for f in frames if f.event == "graph.node_complete"]
    equal(steps, list(range(1, len(steps) + 1)))
    asked = next(f.json for f in frames if f.event == "graph.interrupt")
    equal((asked["question"], asked["context"]), ("which service?", "looking into API 500"))
    for s in SECTIONS:
        equal(texts(frames, "output.token", section=s), f"the {s}: it is billing")
    equal(sorted(f.json["section"] for f in frames if f.event == "output.section_done"), sorted(SECTIONS))


def answered(s, job):
    s.until_state(job, "waiting", seconds=60)
    question, = [q for q in s.get("/v1/interrupts").json["interrupts"] if q["job_id"] == job]
    equal((question["question"], question["context"]), ("which service?", "looking into API 500"))
    equal(s.post(f"/v1/jobs/{job}/answer", {"value": "billing"}).status, 200)
    s.until_state(job, "succeeded", seconds=60)
    return s.read(job, "agent")


def fails_once(s, job):
    """The row of an exception."""
    contains(s.until_state(job, "failed", seconds=60)["error"], "the graph is broken")
    frames = s.read(job, "agent")
    equal([f.event for f in frames].count("job.failed"), 1)
    contains(frames[-1].json["error"], "the graph is broken")


@cases(["its events in the document's words", "LangGraph's own events"])
def an_arq_worker_tells_every_row(how):
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue, program="triage_worker.py"), \
            producer(redis, queue, resume_function="resume_triage", resume_args=["job_id", "answer"]) as s:
        raw = {"raw": how.startswith("LangGraph")}
        job = s.submit("triage", {"issue": "API 500", **raw})
        broken = s.submit("triage", {"issue": "broken", **raw})
        every_row_is_told(answered(s, job))
        fails_once(s, broken)
        until("it has begun twice", lambda: s.job(job)["attempt"] == 2)
        check(redis.client().exists(f"arq:result:{job}"))
        gated = s.submit("triage", {"issue": "API 500", "gate": "/nowhere"})
        s.until_state(gated, "running", seconds=60)
        equal(s.post(f"/v1/jobs/{gated}/pause").status, 409)  # such a worker cannot hear of it


@case
def a_worker_of_the_package_tells_every_row():
    """And the row of a pause, which only a worker that can be told has."""
    with tempfile.TemporaryDirectory() as folder:
        gate = os.path.join(folder, "gate")
        kit = os.path.join(HERE, "..", "..", "..", "clients", "python", "src")
        command = [sys.executable, "-m", "spoolwire", "run", os.path.join(HERE, "triage_graph.py") + ":graph"]
        with Server(agents={"triage": {"command": command, "env": {"PYTHONPATH": kit, "PYTHONDONTWRITEBYTECODE": "1"},
                                       "pool": {"size": 1, "concurrency": 4}, "attempts": 1}}) as s:
            job = s.submit("triage", {"issue": "API 500", "gate": gate})
            with s.stream(job, "agent") as stream:
                stream.until_event("agent.spawned", 60)
            equal(s.post(f"/v1/jobs/{job}/pause").status, 200)
            # It is told of jobs and pauses one after another: who began the second has heard of the first.
            fails_once(s, s.submit("triage", {"issue": "broken"}))
            open(gate, "w").close()
            s.until_state(job, "waiting", seconds=60)
            equal(s.post(f"/v1/jobs/{job}/resume").status, 200)
            until("it goes on", lambda: s.job(job)["attempt"] == 2, 60)
            frames = answered(s, job)
            at = BEFORE.index(("graph.node_complete", "investigator")) + 1
            every_row_is_told(frames, BEFORE[:at] + [("graph.paused", None), ("graph.resumed", None)] + BEFORE[at:])
