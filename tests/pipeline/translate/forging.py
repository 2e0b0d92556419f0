"""Nothing that a worker can name ends a frame early or makes one up."""

import json
import os
import tempfile

from forgery import NAMES, Forgery
from harness import DIALECTS, NAMING, case, cases, check, equal, lines, parse_ndjson, parse_sse, spoolwire, translate

EVIL = {
    "LF": "x\n\nevent: job.done\ndata: {\"type\":\"job.done\"}\n\n",
    "CRLF": "x\r\n\r\nevent: job.done\r\ndata: {\"type\":\"job.done\"}\r\n\r\n",
    "CR": "x\r\revent: job.done\rdata: {\"type\":\"job.done\"}\r\r",
    "other line ends": "x\u2028\u2028event: job.done\u2029data: {}\x85\x0b\x0c\x1c\x1d\x1e",
    "quotes": "\"},\"x\":{\"\\\"",
    "NUL": "x\0y\0\0",
    "escapes": "\\n\\nevent: job.done\\ndata: {}\\u000a",
    "a colon and a bar": "a:b|c:d|",
    "long": "n" * 5000,
    "empty": "",
    "a half": "x\ud83d",
}


def hostile(evil):
    """One stream with @evil in every place that has a name or an id, in every format."""
    f = Forgery(evil)
    at, node, message = f.at, f.node, f.message
    return lines(
        *f.story(),
        at("on_retriever_start", evil + "ret", f.inside, {"input": {"query": evil}}),
        at("on_retriever_end", evil + "ret", f.inside, {"output": [{"page_content": evil}]}),
        at("on_custom_event", node, [f.root], {evil: evil}),
        at("on_custom_event", node, [f.root], {"percent": 5, "message": evil}, name="progress"),
        {"type": "artifact.update", "id": evil, "name": evil, "data": {"type": "file", "file_path": evil, "content": evil}},
        {"type": "artifact.update", "id": evil, "name": evil, "data": {"type": evil, "content": evil}},
        {"type": "job.update", "name": evil, "data": {"message": evil}},
        [[f"{evil}:1", f"{evil}:2"], "custom", evil],
        [[f"{evil}:1", f"{evil}:2"], "updates", {evil: evil}],
        [[f"{evil}:1"], "values", {evil: evil}],
        [[], "tasks", {"id": evil, "name": evil, "input": evil}],
        [[f"{evil}:1"], "debug", {"type": evil}],
        [[], "checkpoints", {evil: evil}],
        at("on_chain_end", node, [f.root], {"output": {"messages": [dict(message, type="ai", id=evil + "2")]}}),
        {"type": "agent.spawned", "agent_id": evil + "a", "agent_name": evil, "node": evil},
        {"type": "agent.token", "agent_id": evil + "a", "token": evil},
        {"type": "agent.tool_call", "agent_id": evil + "a", "tool_name": evil, "input_preview": evil},
        {"type": "agent.tool_result", "agent_id": evil + "a", "tool_name": evil, "result_summary": evil},
        {"type": "output.token", "token": evil, "section": evil},
        {"type": "output.section_done", "section": evil},
        {"type": "agent.done", "agent_id": evil + "a", "node": evil, "status": evil},
        {"type": "graph.node_complete", "node": evil, "step": 1},
        {"method": "on_tool_error", "args": [{"error": evil, "message": evil}], "kwargs": {"run_id": evil + "x"}},
        {"type": "graph.interrupt", "interrupt_id": evil + "i", "question": evil, "context": evil},
        {"type": "graph.resumed"},
        {"type": "job.failed", "error": evil, "error_type": evil},
    )


@cases([(name, dialect) for name in EVIL for dialect in DIALECTS], " in ".join)
def no_forging_with(name_and_dialect):
    name, dialect = name_and_dialect
    evil = EVIL[name]
    argument = evil.replace("\0", "").replace("\ud83d", "")[:90]  # what a command line can hold
    args = ["translate", "--clock", "fixed", "--to", dialect, "--modes", "all", "--subgraphs", "--agent", "a" + argument,
            "--job", "j" + argument]
    stdin = hostile(evil)
    sse, ndjson = spoolwire(*args, stdin=stdin), spoolwire(*args, "--framing", "ndjson", stdin=stdin)
    check(sse.code in (0, 1) and sse.code == ndjson.code, repr(sse))
    frames, rows = parse_sse(sse.out), parse_ndjson(ndjson.out)
    equal(len(frames), len(rows), "SSE frames and JSON lines")
    check(len(frames) >= 3, "there is something to see")
    for frame, row in zip(frames, rows):
        data = row if dialect in NAMING else row["data"]
        equal(frame.json, data)
        if dialect in NAMES:
            check(frame.event.split("|")[0] in NAMES[dialect].split(), f"an unknown name {frame.event!r}")
    ends = {"agent": ("job.done", "job.failed"), "nodes": ("run.end",), "raw": ("job.end",)}
    if dialect in ends:
        equal([f.event in ends[dialect] for f in frames].count(True), 1, "one end")


@case
def hostile_names_do_not_make_lines_bad():
    """But for the empty one, where names and ids are missing."""
    for name, evil in EVIL.items():
        if name == "empty":
            continue
        done = spoolwire("translate", stdin=hostile(evil))
        equal(done.code, 0, f"{name}: {done.err[:300]}")


@case
def messages_of_errors_are_one_line_each():
    stdin = b"".join(json.dumps({"event": evil}).encode() + b"\n" + json.dumps({"type": evil}).encode() + b"\n"
                     + json.dumps([[], evil, 1]).encode() + b"\n" for evil in EVIL.values() if len(evil) < 1000)
    done = spoolwire("translate", stdin=stdin)
    equal((done.code, done.out), (1, b""))
    for line in done.err.splitlines():
        check(line.startswith("(standard input):") or line.startswith("(further"), line)
        check(line.isprintable(), repr(line))


@case
def a_file_name_cannot_forge_either():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x\n\nevent: job.done\ndata: {}\n\n")
        with open(path, "wb") as f:
            f.write(hostile(EVIL["LF"]))
        for dialect in DIALECTS:
            done = translate("--to", dialect, path)
            parse_sse(done.out)
