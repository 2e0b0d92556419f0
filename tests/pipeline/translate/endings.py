"""How a job ends: by the end of its stream, by the worker's word; in every dialect."""

import tempfile

from events import NODE, ROOT, node_end, node_start, root_end, root_start, token, tool_start, whole_job
from harness import DIALECTS, case, cases, check, contains, equal, lines, parse_sse, translate

INTERRUPT = dict(root_start(), event="on_chain_stream",
                 data={"chunk": {"__interrupt__": [{"id": "i1", "value": {"question": "Q?"}}]}})
OPEN = [root_start(), node_start(), token("text"), tool_start()]


def job_of(dialect, *values, want=0):
    return [(f.event, f.json) for f in parse_sse(translate("--to", dialect, "--job", "j", stdin=lines(*values), want=want).out)]


# --- the end of the stream ----------------------------------------------------------------------


@case
def eof_after_the_roots_end_is_success():
    stdin = [root_start(), node_start(), node_end(), root_end()]
    equal(job_of("agent", *stdin)[-1], ("job.done", {"type": "job.done"}))
    name, data = job_of("envelope", *stdin)[-1]
    equal((name, data["data"]["node_id"], data["data"]["error"]), ("on_chain_end", "j", None))
    equal(job_of("nodes", *stdin)[-1][1]["status"], "ok")
    equal(job_of("aiq", *stdin)[-1][1]["status"], "SUCCESS")
    check("error" not in [name for name, _ in job_of("messages", *stdin)], "a clean end")
    name, data = job_of("raw", *stdin)[-1]
    equal((name, data["status"]), ("job.end", "succeeded"))


@case
def eof_after_an_interrupt_is_waiting():
    stdin = [root_start(), node_start(), INTERRUPT, root_end()]
    equal([name for name, _ in job_of("agent", *stdin)], ["agent.spawned", "graph.interrupt", "agent.done"])
    got = job_of("envelope", *stdin)
    check("on_interrupt" in [name for name, _ in got], "on_interrupt")
    check(got[-1][1]["data"].get("node_id") != "j" or got[-1][0] != "on_chain_end", "the job itself does not end")
    equal([d["status"] for n, d in job_of("nodes", *stdin) if n == "node.end"], ["interrupted"])
    check("run.end" not in [name for name, _ in job_of("nodes", *stdin)], "no run.end")
    got = job_of("aiq", *stdin)
    check(any(n == "job.update" and d["name"] == "interrupt" for n, d in got), "job.update named interrupt")
    check(not any(n == "job.status" for n, d in got), "no job.status")
    got = job_of("messages", *stdin)
    contains(str([d for n, d in got if n == "updates"]), "__interrupt__")
    contains(str([d for n, d in got if n == "values"]), "__interrupt__")
    check("job.end" not in [name for name, _ in job_of("raw", *stdin)], "no terminal record")


@case
def a_bare_interrupt_is_waiting():
    """Document 000, section 7: a worker that prints what it has found under the key."""
    for bare in ({"__interrupt__": [{"id": "i1", "value": {"question": "Q?"}}]}, {"__interrupt__": {"value": "Q?"}}):
        done = translate("--to", "agent", "--job", "j", stdin=lines(root_start(), node_start(), bare))
        equal([f.event for f in parse_sse(done.out)], ["agent.spawned", "graph.interrupt", "agent.done"])
        equal(done.err, "", "no bad line")


@case
def eof_with_an_interrupt_and_runs_still_open_is_waiting():
    """A worker that stops without the root's end."""
    got = job_of("agent", root_start(), node_start(), INTERRUPT)
    equal([name for name, _ in got], ["agent.spawned", "graph.interrupt", "agent.done"])
    equal(got[-1][1]["status"], "interrupted")


def has_failed(got, error, status="error", phase="worker"):
    """@got: what each dialect gave for OPEN and a failure."""
    agent = got["agent"]
    equal([n for n, _ in agent[-3:]], ["agent.tool_result", "agent.done", "job.failed"])
    equal([d.get("status") for _, d in agent[-3:-1]], [status, status])
    contains(agent[-1][1]["error"], error)

    envelope = got["envelope"]
    if status == "error":
        equal([n for n, _ in envelope[-2:]], ["on_error", "on_chain_end"])
        contains(envelope[-2][1]["data"]["message"], error)
        equal(envelope[-2][1]["data"]["phase"], phase)
    name, data = envelope[-1]
    equal((name, data["data"]["node_id"]), ("on_chain_end", "j"))
    contains(data["data"]["error"], error)
    starts = [n for n, _ in envelope if n.endswith("_start")]
    ends = [n for n, _ in envelope if n.endswith("_end")]
    equal(sorted(n.replace("start", "end") for n in starts), sorted(ends), "every start has its end")

    nodes = got["nodes"]
    equal([n for n, _ in nodes[-3:]], ["tool.end", "node.end", "run.end"])
    equal([d["status"] for _, d in nodes[-3:]], [status] * 3)

    name, data = got["raw"][-1]
    equal((name, data["status"]), ("job.end", "failed" if status == "error" else "cancelled"))
    equal(got["raw"][-2][0], "job.error" if status == "error" else "job.cancelled")


def all_dialects(*values, want=0):
    return {dialect: job_of(dialect, *values, want=want) for dialect in DIALECTS}


@case
def eof_with_runs_open_is_failure():
    got = all_dialects(*OPEN)
    has_failed(got, "stream ended")
    equal(got["messages"][-1][0], "error")
    equal([n for n, _ in got["aiq"][-2:]], ["job.error", "job.status"])
    equal(got["aiq"][-1][1]["status"], "FAILURE")


@case
def what_is_open_is_closed_innermost_first():
    got = job_of("raw", *OPEN)
    ends = [d["run"] for n, d in got if n.endswith(".end") and n != "job.end"]
    equal(ends, ["run-tool", "run-model", NODE, ROOT])


@case
def completions_of_two_nodes_with_one_agent_id():
    """Two lines that once crashed the program."""
    done = [{"type": "graph.node_complete", "agent_id": "t1", "node": node} for node in ("a", "b")]
    for dialect, got in all_dialects(*done).items():
        check(dialect == "messages" or len(got) > 2, f"{dialect}: {got}")
    equal([(n, d.get("node")) for n, d in job_of("agent", *done)],
          [(name, node) for node in ("a", "b") for name in ("agent.spawned", "agent.done", "graph.node_complete")]
          + [("job.done", None)])


@case
def eof_after_a_root_that_failed_is_failure():
    """Callbacks say it: nothing is open any more, but it did not go well."""
    error = {"method": "on_chain_error", "args": [{"error": "ValueError", "message": "bad"}], "kwargs": {"run_id": ROOT}}
    start = {"method": "on_chain_start", "args": [None, {}], "kwargs": {"run_id": ROOT, "parent_run_id": None, "name": "G"}}
    got = job_of("agent", start, error)
    equal(got, [("job.failed", {"type": "job.failed", "error": "bad"})])
    equal(job_of("raw", start, error)[-1][1]["error_type"], "ValueError")


@case
def a_second_graph_of_the_same_worker_is_the_same_job():
    """A root's end does not end the job."""
    second = [dict(e, run_id=e["run_id"] + "2", parent_ids=[p + "2" for p in e["parent_ids"]])
              for e in (root_start(), node_start(), token("two", message="m2"), node_end(), root_end())]
    got = job_of("agent", root_start(), node_start(), token("one"), node_end(), root_end(), *second)
    equal([d["token"] for n, d in got if n == "agent.token"], ["one", "two"])
    equal([n for n, _ in got].count("job.done"), 1)
    equal(got[-1][0], "job.done")


# --- the worker's word ----------------------------------------------------------------------------


@cases([{"type": "job.failed", "error": "boom"}, {"type": "job.error", "data": {"error": "boom"}},
        {"type": "job.status", "status": "FAILURE", "error": "boom"},
        {"type": "job.failed", "error": {"error": "ValueError", "message": "boom"}},
        {"event": "on_error", "timestamp": "2026-01-01T00:00:00Z", "run_id": "x", "data": {"phase": "worker", "message": "boom"}}],
       lambda v: str(v.get("type", v.get("event"))) + (" with an object" if isinstance(v.get("error"), dict) else ""))
def the_workers_word_failed(word):
    got = all_dialects(*OPEN, word)
    # An exception leaves the node open in which it was raised; on_error says its phase itself.
    has_failed(got, "boom", phase=word.get("data", {}).get("phase", "node"))
    equal(got["agent"][-1][1], {"type": "job.failed", "error": "boom"})
    equal(got["messages"][-1][0], "error")
    equal(got["messages"][-1][1]["message"], "boom")
    equal(got["aiq"][-1][1]["status"], "FAILURE")


@cases([{"type": "job.done"}, {"type": "job.status", "status": "SUCCESS"}, {"type": "job.status", "status": "success"}],
       lambda v: f"{v['type']} {v.get('status', '')}")
def the_workers_word_done(word):
    got = all_dialects(*OPEN, word)
    equal(got["agent"][-1][1], {"type": "job.done"})
    equal(got["nodes"][-1][1]["status"], "ok")
    equal(got["aiq"][-1][1]["status"], "SUCCESS")
    check("error" not in [n for n, _ in got["messages"]], "a clean end")
    starts = [n for n, _ in got["envelope"] if n.endswith("_start")]
    ends = [n for n, _ in got["envelope"] if n.endswith("_end")]
    equal(sorted(n.replace("start", "end") for n in starts), sorted(ends), "every start has its end")


@cases([{"type": "job.cancelled"}, {"type": "job.cancelled", "reason": "no time"}, {"type": "job.status", "status": "INTERRUPTED"},
        {"type": "job.failed", "status": "cancelled", "error": "cancelled"}], str)
def the_workers_word_cancelled(word):
    got = all_dialects(*OPEN, word)
    has_failed(got, "", "cancelled")
    equal(got["agent"][-1][1]["status"], "cancelled")
    equal(got["envelope"][-1][1]["data"]["error"], "cancelled")
    check("error" not in [n for n, _ in got["messages"]], "a clean end")
    equal([n for n, _ in got["aiq"][-2:]], ["job.cancelled", "job.status"])
    equal(got["aiq"][-1][1]["status"], "INTERRUPTED")


@case
def the_workers_word_counts_also_after_a_question():
    got = job_of("agent", root_start(), node_start(), INTERRUPT, root_end(), {"type": "job.failed", "error": "gave up"})
    equal(got[-1], ("job.failed", {"type": "job.failed", "error": "gave up"}))


@case
def the_workers_word_alone_is_a_job():
    for word, end in (({"type": "job.done"}, "job.done"), ({"type": "job.failed", "error": "x"}, "job.failed")):
        equal([n for n, _ in job_of("agent", word)], [end])
        equal([n for n, _ in job_of("raw", word)][0], "job.start")


@cases(DIALECTS)
def nothing_after_the_terminal_record(dialect):
    late = [token("late"), node_end(), INTERRUPT, root_end(), {"type": "job.failed", "error": "late"},
            {"type": "job.done"}, ["custom", {"x": 1}], {"type": "job.update", "name": "x", "data": {"message": "late"}}]
    for word in ({"type": "job.done"}, {"type": "job.failed", "error": "boom"}, {"type": "job.cancelled"}):
        first = translate("--to", dialect, "--job", "j", stdin=lines(*OPEN, word)).out
        done = translate("--to", dialect, "--job", "j", stdin=lines(*OPEN, word, *late), want=1)
        equal(done.out, first, str(word))


@case
def one_job_does_not_end_the_next():
    with tempfile.NamedTemporaryFile() as a, tempfile.NamedTemporaryFile() as b:
        a.write(lines(*OPEN, {"type": "job.failed", "error": "boom"}))
        b.write(whole_job())
        a.flush(), b.flush()
        got = [f.event for f in parse_sse(translate(a.name, b.name).out)]
    equal([name for name in got if name.startswith("job.")], ["job.failed", "job.done"])
