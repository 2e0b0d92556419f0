"""What the demo agent writes: true astream_events lines, the same each time, and every
dialect's reader understands them."""

import json
import os
import signal
import time

from demo_agent import JOB, demo, events, finish, job, start, tokens
from harness import (DIALECTS, FRAMINGS, TIMEOUT, case, cases, check, contains, equal, frames, parse_ndjson,
                     parse_sse, recording, spoolwire, translate)

NODES = ["supervisor", "investigator", "codebase_search", "web_search", "critic", "human_input",
         "writer"]
SHAPES = {"plain": [], "fan out": ["--fan-out", "5"], "no question": ["--no-question"],
          "long": ["--length", "5000"], "short": ["--length", "1"], "seed": ["--seed", "2"]}


def said(stream, *args, **more):
    """The frames of the agent dialect."""
    return frames("--agent", "demo", "--job", "job-1", *args, stdin=stream, **more)


def of_type(all_frames, *types):
    return [f for f in all_frames if f["type"] in types]


# --- the lines themselves ---------------------------------------------------------------------


@cases(SHAPES)
def lines_are_a_true_run(shape):
    """Parents exist and are open, each run starts once and ends once, ids are unique."""
    open_runs, seen = {}, set()
    for e in events(*SHAPES[shape]):
        run, parents, what = e["run_id"], e["parent_ids"], e["event"]
        if what.endswith("_start"):
            check(run not in seen, f"{run} starts twice")
            seen.add(run)
            open_runs[run] = (e["name"], parents)
        elif what != "on_custom_event":
            equal((e["name"], parents), open_runs[run], what)
        if parents:
            equal(open_runs[parents[-1]][1], parents[:-1], "the parent's parents")
        if what.endswith("_end"):
            del open_runs[run]
    equal([name for name, _ in open_runs.values()], [] if "no question" == shape else
          ["human_input"], "runs left open")


def shape_of(e):
    data = e["data"]
    inner = data.get("chunk") or data.get("output") if isinstance(data, dict) else None
    if not isinstance(inner, dict) or "response_metadata" not in inner:
        inner = {}
    meta = [k for k in e["metadata"] if k != "tenant"]
    return list(e), list(data), list(inner), meta


@case
def members_are_those_of_the_recordings():
    """Each kind of event that a recorded Python run has looks the same here, to the order."""
    def shapes(all_events):
        result = {}
        for e in all_events:
            kind = (e["event"], "root" if not e["parent_ids"] else
                    "node" if e["name"] == e["metadata"].get("langgraph_node") else e["name"])
            result.setdefault(kind, []).append(shape_of(e))
        return result

    recorded = []
    for name in ("py-a-supervisor-1-until-interrupt", "py-a-supervisor-2-resumed"):
        with open(recording(name + ".server.ndjson")) as f:
            for line in f:
                recorded.append(json.loads(line.replace("ScriptedChat", "ChatOpenAI")))
    ours, theirs = shapes(events()), shapes(recorded)
    for kind, want in theirs.items():
        check(kind in ours, f"we have no {kind}")
        if kind[1] == "grep_repo":
            continue  # ours is called by a model, so its result is a message
        for shape in ours[kind]:
            check(shape in want, f"{kind}: {shape}\nbut recorded: {want[0]}")


@case
def the_same_job_gives_the_same_lines():
    equal(demo(), demo())


@case
def the_pace_does_not_change_what_is_said():
    done = spoolwire("demo-agent", "--speed", "100000", "--fan-out", "3", stdin=job())
    equal(done.out, demo("--fan-out", "3"))


@case
def another_seed_job_or_attempt_gives_other_ids():
    ids = [{e["run_id"] for e in events(*args, **more)} for args, more in
           [((), {}), (("--seed", "2"), {}), ((), {"job": "job-2"}), ((), {"attempt": 2})]]
    for i, one in enumerate(ids):
        for other in ids[i + 1:]:
            check(not one & other, "ids in common")


@case
def an_attempt_says_the_same_with_other_ids():
    equal(tokens(events()), tokens(events(attempt=2)))


@case
def seeds_tell_different_stories():
    equal(len({"".join(tokens(events("--seed", str(n)))) for n in (1, 2, 3)}), 3)


@cases([600, 1000, 5000, 100000])
def length_is_about_the_number_of_tokens(n):
    got = len(tokens(events("--length", str(n))))
    check(abs(got - n) <= n * 0.03 + 5, f"{got} tokens instead of {n}")


@case
def length_counts_all_investigators():
    got = len(tokens(events("--length", "5000", "--fan-out", "20")))
    check(abs(got - 5000) <= 500, f"{got} tokens")


@case
def chunks_join_to_the_message():
    text, ids = {}, {}
    for e in events():
        if e["event"] == "on_chat_model_stream":
            chunk = e["data"]["chunk"]
            text[e["run_id"]] = text.get(e["run_id"], "") + chunk["content"] + "".join(
                c["args"] for c in chunk["tool_call_chunks"])
            ids.setdefault(e["run_id"], set()).add(chunk["id"])
        elif e["event"] == "on_chat_model_end":
            message = e["data"]["output"]
            want = message["content"]
            for call in message["tool_calls"]:
                want += json.dumps(call["args"], separators=(",", ":"), ensure_ascii=False)
            equal(text[e["run_id"]], want)
            equal(ids[e["run_id"]], {message["id"]})
            equal(message["usage_metadata"]["output_tokens"] > 0, True)
    check(len(text) > 10)


# --- through every dialect -----------------------------------------------------------------------


@cases([(s, d, f) for s in SHAPES for d in DIALECTS for f in FRAMINGS], name="/".join)
def every_dialect_reads_it(what):
    shape, dialect, framing = what
    done = translate("--strict", "--agent", "demo", "--to", dialect, "--framing", framing,
                     stdin=demo(*SHAPES[shape]))
    equal(done.err, "")
    equal(bool((parse_sse if framing == "sse" else parse_ndjson)(done.out)), True)


@case
def the_story_in_the_agent_dialect():
    all_frames = said(demo())
    equal([f["agent_name"] for f in of_type(all_frames, "agent.spawned")],
          ["investigator", "codebase_search", "web_search", "critic", "investigator", "writer"])
    equal([f["tool_name"] for f in of_type(all_frames, "agent.tool_call")],
          ["grep_repo", "tavily_search", "write_todos", "write_file", "write_todos"])
    equal([f["node"] for f in of_type(all_frames, "graph.node_complete")],
          [n for node in ["investigator", "codebase_search", "web_search", "critic",
                          "investigator"] for n in ("supervisor", node)] +
          ["supervisor", "human_input", "supervisor", "writer"])
    [question] = of_type(all_frames, "graph.interrupt")
    [resumed] = of_type(all_frames, "graph.resumed")
    contains(question["question"], "environment")
    equal(resumed["interrupt_ids"], [question["interrupt_id"]])
    equal(sorted(f["section"] for f in of_type(all_frames, "output.section_done")),
          ["comment_draft", "report", "ticket_draft"])
    equal(all_frames[-1], {"type": "job.done"})


@case
def sections_are_written_at_the_same_time():
    order = [f["section"] for f in of_type(said(demo()), "output.token")]
    equal(set(order), {"report", "comment_draft", "ticket_draft"})
    changes = sum(a != b for a, b in zip(order, order[1:]))
    check(changes > 40, f"{changes} changes of section")


@case
def artifacts_of_every_kind():
    artifacts = [f["data"] for f in frames("--agent", "demo", "--to", "aiq", stdin=demo())
                 if f["type"] == "artifact.update"]
    kinds = [a["type"] for a in artifacts]
    equal([kinds.count(k) for k in ("todo", "file", "citation_source", "citation_use")],
          [2, 1, 3, 2])
    final = [a for a in artifacts if a.get("output_category") == "final_report"]
    equal(len(final), 1)
    contains(final[0]["content"], "# " + JOB["input"], "production", "https://docs.example.org/")


@case
def no_question_when_told_so():
    for stream in (demo("--no-question"), demo(input={"question": False})):
        equal(of_type(said(stream), "graph.interrupt", "graph.resumed"), [])
        equal(b"human_input" in stream, False)


@case
def fan_out_runs_them_at_once():
    all_frames = said(demo("--fan-out", "5"))
    first = [i for i, f in enumerate(all_frames) if f["type"] == "agent.spawned"][:5]
    done = [i for i, f in enumerate(all_frames) if f["type"] == "agent.done"]
    check(max(first) < min(done), "not all are there before the first is done")
    text = {}
    for f in of_type(all_frames, "agent.token"):
        text[f["agent_id"]] = text.get(f["agent_id"], "") + f["token"]
    starts = [text[all_frames[i]["agent_id"]] for i in first]
    equal(len(set(starts)), 5)
    for said_by_one in starts:
        contains(said_by_one, "I looked at the ", "It looks as if ")
    sends = [e for e in events("--fan-out", "5") if e["event"] == "on_chain_end"
             and e["name"] == "route_supervisor"][0]
    equal(sends["data"]["output"], [None] * 5)


# --- question and answer ----------------------------------------------------------------------------


@case
def a_question_without_end_leaves_the_job_waiting():
    all_frames = said(demo("--ask-timeout", "never"))
    equal([f["type"] for f in all_frames][-1], "graph.interrupt")


@cases(["staging", {"env": "staging", "why": ["x", 1]}], name=json.dumps)
def an_answer_goes_on_from_the_question(answer):
    before = demo("--ask-timeout", "never")
    after = demo("--ask-timeout", "never", attempt=2, resume=answer)
    start_of_root = parse_ndjson(after)[0]
    equal(start_of_root["data"]["input"], {"graph": None, "update": None, "resume": answer,
                                           "goto": []})
    all_frames = said(before + after)
    equal(len(of_type(all_frames, "graph.interrupt")), 1)
    equal(len(of_type(all_frames, "graph.resumed")), 1)
    equal(len([f for f in of_type(all_frames, "agent.spawned")]), 6)
    equal(all_frames[-1]["type"], "job.done")
    contains(after.decode(), "**Environment.** ", "staging")


@case
def the_answer_may_name_its_question():
    [question] = of_type(said(demo()), "graph.interrupt")
    after = events(resume={question["interrupt_id"]: "staging"}, attempt=2)
    equal(after[0]["data"]["input"]["resume"], "staging")


@case
def the_state_is_the_same_before_and_after_the_answer():
    before = events("--ask-timeout", "never")
    after = events(resume="x", attempt=2)
    equal(after[1]["name"], "human_input")
    equal(after[1]["data"]["input"], before[-1]["data"]["output"])
    equal(after[1]["metadata"], before[-3]["metadata"])
    check(not {e["run_id"] for e in before} & {e["run_id"] for e in after}, "a run id twice")


@case
def the_default_answer_comes_after_a_while():
    began = time.monotonic()
    stream = demo("--ask-timeout", "0.4")
    check(0.3 < time.monotonic() - began < 20)
    equal(stream, demo())


# --- failing, stopping ----------------------------------------------------------------------------------


@cases(NODES)
def a_node_raises(node):
    done = spoolwire("demo-agent", "--speed", "0", "--fail-at", node, stdin=job())
    equal(done.code, 1)
    contains(done.err, "Traceback (most recent call last):", f"in {node}\n", "RuntimeError: ")
    all_events = parse_ndjson(done.out)
    equal(all_events[-1]["metadata"]["langgraph_node"], node)
    all_frames = said(done.out)
    equal(all_frames[-1]["type"], "job.failed")
    equal(demo(input={"fail_at": node}, want=1), done.out)


@case
def a_tool_of_a_failing_node_says_so():
    stream = demo("--fail-at", "web_search", want=1)
    equal(parse_ndjson(stream)[-1]["event"], "on_tool_error")
    equal([f.get("status") for f in of_type(said(stream), "agent.tool_result")], [None, "error"])


@case
def a_model_of_a_failing_node_stops_in_the_middle():
    last = parse_ndjson(demo("--fail-at", "critic", want=1))[-1]
    equal(last["event"], "on_chat_model_stream")
    check(last["data"]["chunk"]["content"])


@case
def sigterm_stops_it_at_once():
    process = start("demo-agent", "--speed", "0.1")
    process.stdin.write(job().encode())
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    equal(process.wait(timeout=TIMEOUT), 143)
    finish(process)


@case
def events_come_one_by_one():
    process = start("demo-agent", "--speed", "0.01")
    process.stdin.write(job().encode())
    process.stdin.flush()
    first = os.read(process.stdout.fileno(), 1 << 20)
    check(first.endswith(b"\n") and len(first.splitlines()) < 5, f"{len(first.splitlines())} lines")
    process.kill()
    finish(process)


@case
def a_reader_that_left_is_no_success():
    process = start("demo-agent", "--speed", "0", "--length", "20000")
    process.stdin.write(job().encode())
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    process.stdin.close()
    check(process.wait(timeout=TIMEOUT) != 0)
    process.stderr.close()


@case
def the_pace_is_readable():
    rates = []
    while len(rates) < 10 and (not rates or rates[-1] <= 15):  # the fastest counts: a busy machine delays some
        began = time.monotonic()
        done = spoolwire("demo-agent", "--speed", "20", "--no-question", stdin=job())
        rates.append(len(tokens(parse_ndjson(done.out))) / (time.monotonic() - began) / 20)
    check(15 < rates[-1] < 80, f"{rates} tokens a second")


# --- jobs and options --------------------------------------------------------------------------------


@case
def no_job_is_a_job_of_its_own():
    done = spoolwire("demo-agent", "--speed", "0", stdin="")
    equal(done.code, 0)
    contains(done.out.decode(), '"thread_id":"demo-1"')


@case
def the_input_is_text_or_an_object_or_its_text():
    want = demo("--seed", "3", input="Pages are slow")
    equal(demo(input={"issue": "Pages are slow", "seed": 3}), want)
    equal(demo(input=json.dumps({"issue": "Pages are slow", "seed": 3, "other": [1]})), want)
    contains(want.decode(), "# Pages are slow")


@case
def text_of_the_input_is_taken_as_it_is():
    issue = 'a "quoted" \\ line\nid: 7\r\n\u2028 emoji \U0001f600, {"broken": json'
    stream = demo(input=issue)
    [first, *_] = parse_ndjson(stream)
    equal(first["data"]["input"]["issue"], issue)
    equal(said(stream)[-1]["type"], "job.done")


@case
def the_thread_is_the_jobs_or_its_own():
    equal(events(thread="t-9")[0]["metadata"]["thread_id"], "t-9")
    equal(events()[0]["metadata"]["thread_id"], "job-1")


@cases([{"fail_at": "nobody"}, {"speed": "fast"}, {"fan_out": 5000}, {"seed": -1}, {"length": 1.5},
        {"question": 1}], name=json.dumps)
def bad_options_in_the_input_are_named(options):
    done = spoolwire("demo-agent", stdin=job(input=options))
    equal((done.code, done.out), (3, b""))
    contains(done.err, "is not a value for " + list(options)[0])


@cases(["{", "[]", '"text"', "nothing"])
def what_is_no_job_is_refused(line):
    done = spoolwire("demo-agent", stdin=line + "\n")
    equal((done.code, done.out), (3, b""))
    contains(done.err, "the job cannot be read")


@cases([["--speed", "-1"], ["--fail-at", "nobody"], ["--fan-out", "x"], ["--nonsense"],
        ["--seed"], ["word"], ["--jobs", "0"], ["--pull", "ftp://x"]], name=" ".join)
def usage_errors(args):
    done = spoolwire("demo-agent", *args)
    equal((done.code, done.out), (2, b""))
    contains(done.err, "spoolwire demo-agent: ", "--help")
