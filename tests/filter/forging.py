"""Nothing that a worker can name ends a frame early or makes one up."""

import json
import os
import tempfile

from harness import DIALECTS, case, cases, check, equal, lines, parse_ndjson, parse_sse, spoolwire, translate

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

# Every name that a dialect may give a frame.
NAMES = {
    "agent": "agent.spawned agent.token agent.tool_call agent.tool_result agent.done graph.node_complete "
             "graph.interrupt graph.resumed graph.paused output.token output.section_done job.done job.failed",
    "envelope": "on_chain_start on_chain_stream on_chain_end on_chat_model_start on_chat_model_stream on_chat_model_end "
                "on_tool_start on_tool_stream on_tool_end on_retriever_start on_retriever_end on_error on_progress "
                "on_interrupt on_resume on_custom_event",
    "messages": "metadata messages values updates custom events tasks checkpoints debug error",
    "nodes": "run.start run.end node.start node.end tool.start tool.end",
    "aiq": "workflow.start workflow.end llm.start llm.chunk llm.end tool.start tool.end artifact.update job.status "
           "job.error job.cancelled job.cancellation_requested job.update job.heartbeat job.shutdown stream.mode",
}


def hostile(evil):
    """One stream with @evil in every place that has a name or an id, in every format."""
    meta = {"langgraph_node": evil, "langgraph_step": 1, "langgraph_checkpoint_ns": f"{evil}:1|{evil}:2",
            "section": evil, "ls_model_name": evil, evil: evil}

    def at(kind, name, run, parents, data, **more):
        return dict({"event": kind, "name": name, "run_id": run, "parent_ids": parents, "tags": ["graph:step:1", evil],
                     "metadata": meta, "data": data}, **more)

    message = {"content": evil, "type": "AIMessageChunk", "id": evil, "name": evil,
               "tool_call_chunks": [{"name": evil, "id": evil, "args": evil, "index": 0}],
               "response_metadata": {"finish_reason": evil, "model_name": evil}}
    node = evil + "node"
    return lines(
        {"event": "on_chain_start", "name": evil, "run_id": evil + "root", "parent_ids": [], "tags": [evil],
         "metadata": {"thread_id": evil}, "data": {"input": {evil: evil}}},
        at("on_chain_start", evil, node, [evil + "root"], {"input": {evil: evil}}),
        at("on_chat_model_stream", evil, evil + "model", [evil + "root", node], {"chunk": message}),
        at("on_chat_model_end", evil, evil + "model", [evil + "root", node], {"output": dict(message, type="ai")}),
        at("on_tool_start", evil, evil + "tool", [evil + "root", node], {"input": {evil: evil}}),
        at("on_custom_event", evil, evil + "tool", [evil + "root", node], evil),
        at("on_tool_end", evil, evil + "tool", [evil + "root", node],
           {"output": {"content": evil, "type": "tool", "name": evil, "tool_call_id": evil, "id": evil}}),
        at("on_retriever_start", evil, evil + "ret", [evil + "root", node], {"input": {"query": evil}}),
        at("on_retriever_end", evil, evil + "ret", [evil + "root", node], {"output": [{"page_content": evil}]}),
        at("on_custom_event", evil, node, [evil + "root"], {evil: evil}),
        at("on_custom_event", "progress", node, [evil + "root"], {"percent": 5, "message": evil}),
        {"type": "artifact.update", "id": evil, "name": evil, "data": {"type": "file", "file_path": evil, "content": evil}},
        {"type": "artifact.update", "id": evil, "name": evil, "data": {"type": evil, "content": evil}},
        {"type": "job.update", "name": evil, "data": {"message": evil}},
        [[f"{evil}:1", f"{evil}:2"], "custom", evil],
        [[f"{evil}:1", f"{evil}:2"], "updates", {evil: evil}],
        [[f"{evil}:1"], "values", {evil: evil}],
        [[], "tasks", {"id": evil, "name": evil, "input": evil}],
        [[f"{evil}:1"], "debug", {"type": evil}],
        [[], "checkpoints", {evil: evil}],
        at("on_chain_end", evil, node, [evil + "root"], {"output": {"messages": [dict(message, type="ai", id=evil + "2")]}}),
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
        data = row["data"] if dialect == "messages" else row
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
