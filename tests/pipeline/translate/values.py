"""What passes through: text, halves of characters, numbers, large fields, SSE input."""

import json

from events import (custom, model_end, model_start, node_end, node_start, root_end, root_start, token, tokens, tool_end, tool_start,
                    types, whole_job)
from harness import (DIALECTS, case, cases, check, equal, frames, lines, parse_sse, translate)

# --- halves of characters -----------------------------------------------------------------

HIGH, LOW = "\ud83d", "\ude00"  # of U+1F600

HALVES = {
    "split over two tokens": ([HIGH, LOW], "\U0001F600"),
    "with text around": (["a" + HIGH, LOW + "b"], "a\U0001F600b"),
    "an empty token between": ([HIGH, "", LOW], "\U0001F600"),
    "twice": ([HIGH, LOW + HIGH, LOW], "\U0001F600\U0001F600"),
    "whole": ([HIGH + LOW], "\U0001F600"),
    "a high half alone at the end": (["a" + HIGH], "a\ufffd"),
    "a high half and then text": ([HIGH, "b"], "\ufffdb"),
    "a high half inside": (["a" + HIGH + "b"], "a\ufffdb"),
    "a low half alone": (["a", LOW, "b"], "a\ufffdb"),
    "a low half first": ([LOW + "b"], "\ufffdb"),
    "two high halves": ([HIGH, HIGH, LOW], "\ufffd\U0001F600"),
    "the wrong way round": ([LOW, HIGH], "\ufffd\ufffd"),
}


@cases(HALVES)
def halves(name):
    parts, want = HALVES[name]
    stdin = whole_job(*[token(p) for p in parts], model_end("".join(parts)))
    equal("".join(tokens(frames(stdin=stdin))), want, "agent")
    for dialect in DIALECTS:
        done = translate("--to", dialect, "--modes", "all", stdin=stdin)  # no bad line, and
        parse_sse(done.out)  # no half in what comes out
    equal("".join(f["data"]["chunk"] for f in frames("--to", "envelope", stdin=stdin)
                  if f["event"] == "on_chat_model_stream"), want, "envelope")
    equal("".join(f["data"][0]["content"] for f in frames("--to", "messages", stdin=stdin)
                  if f["event"] == "messages"), want, "messages")


@case
def halves_of_different_messages_do_not_meet():
    stdin = whole_job(token("a" + HIGH, "m1", "one"), token(LOW + "b", "m2", "two"), model_end("", "m1", "one"),
                      model_end("", "m2", "two"))
    equal(sorted("".join(tokens(frames(stdin=stdin)))), sorted("a\ufffd\ufffdb"))


@case
def interleaved_messages_each_join_their_own():
    other_low = "\ude01"
    stdin = whole_job(token(HIGH, "m1", "one"), token(HIGH, "m2", "two"), token(LOW, "m1", "one"),
                      token(other_low, "m2", "two"))
    equal("".join(tokens(frames(stdin=stdin))), "\U0001F600\U0001F601")


@case
def a_half_that_waits_is_not_lost_when_the_job_fails():
    for last in ([], [{"type": "job.failed", "error": "x"}], [{"type": "job.cancelled"}]):
        stdin = lines(root_start(), node_start(), token("a" + HIGH), *last)
        equal("".join(tokens(frames(stdin=stdin))), "a\ufffd", last)


@case
def halves_anywhere_else_become_the_replacement_character():
    bad = {"k" + HIGH: ["v" + LOW, {"x": HIGH}]}
    stdin = whole_job(custom("c" + HIGH, bad), tool_start("t" + HIGH, bad), tool_end("t" + HIGH, bad))
    for dialect in DIALECTS:
        parse_sse(translate("--to", dialect, "--modes", "all", stdin=stdin).out)
    data = [r["data"] for r in frames("--to", "raw", stdin=stdin) if r["kind"] == "custom"]
    equal(data, [{"k\ufffd": ["v\ufffd", {"x": "\ufffd"}]}])


@case
def text_passes_unchanged():
    """All that JSON can say, also what other programs take for line ends."""
    text = "".join(map(chr, list(range(0x20)) + [0x22, 0x5c, 0x2f, 0x7f, 0x80, 0x85, 0xa0, 0x2028, 0x2029, 0xfeff,
                                                0xfffd, 0xffff, 0x10000, 0x10ffff])) + "data: x\n\nevent: y\n\n"
    for escaped in (True, False):
        stdin = whole_job(token("x")).replace(b'"x"', json.dumps(text, ensure_ascii=escaped).encode())
        equal("".join(tokens(frames(stdin=stdin))), text)
        for dialect in DIALECTS:
            sse = parse_sse(translate("--to", dialect, stdin=stdin).out)
            equal(len(sse), len(frames("--to", dialect, stdin=stdin)), dialect)


# --- numbers --------------------------------------------------------------------------------

NUMBERS = '{"a":1.0,"b":1e400,"c":12345678901234567890,"d":-0,"e":-0.0,"f":0.10,"g":1E5,"h":1e-7,"i":9007199254740993}'


def with_numbers(*events):
    return lines(*events).replace(b'"NUMBERS"', NUMBERS.encode())


@case
def numbers_pass_byte_for_byte():
    stdin = with_numbers(
        root_start(), node_start(), custom("c", "NUMBERS"), tool_start("t", "NUMBERS"), tool_end("t", "NUMBERS"),
        dict(root_start(), event="on_chain_stream", data={"chunk": {"investigator": "NUMBERS"}}),
        node_end(output={"x": "NUMBERS"}),
        dict(root_start(), event="on_chain_stream", data={"chunk": {"__interrupt__": [{"id": "i", "value": "NUMBERS"}]}}),
        root_end({"x": "NUMBERS"}))
    # Where they must come out at least: how often.
    least = {"agent": 1, "envelope": 5, "messages": 4, "nodes": 2, "aiq": 4, "raw": 6}
    for dialect in least:
        for framing in ("sse", "ndjson"):
            out = translate("--to", dialect, "--framing", framing, stdin=stdin).out.decode()
            check(out.count(NUMBERS) >= least[dialect], f"{dialect}: {out.count(NUMBERS)} times")


@case
def nan_and_infinity_are_null():
    stdin = lines(root_start(), node_start(), custom("c", "X"), node_end(), root_end()).replace(
        b'"X"', b'{"a":NaN,"b":[Infinity,-Infinity,1],"c":"NaN, -Infinity","d":-1}')
    data = [r["data"] for r in frames("--to", "raw", stdin=stdin) if r["kind"] == "custom"]
    equal(data, [{"a": None, "b": [None, None, 1], "c": "NaN, -Infinity", "d": -1}])


@case
def nan_in_metadata_of_a_token():
    stdin = whole_job(token("x"), token("y")).replace(b'"langgraph_step": 1', b'"langgraph_step": 1, "t": NaN')
    equal(tokens(frames(stdin=stdin)), ["x", "y"])


# --- large fields -----------------------------------------------------------------------------


@case
def a_large_field_becomes_a_marker():
    big = {"text": "é" * 2000}
    size = len(json.dumps(big, ensure_ascii=False, separators=(",", ":")).encode())
    stdin = whole_job(tool_start("t", big), tool_end("t", big), custom("c", big))
    records = frames("--to", "raw", "--max-field", "1000", stdin=stdin)
    for kind, field in (("tool.start", "input"), ("tool.end", "output"), ("custom", "data")):
        marker = next(r[field] for r in records if r["kind"] == kind)
        equal((marker["truncated"], marker["bytes"]), (True, size), kind)
        check(json.dumps(big, ensure_ascii=False, separators=(",", ":")).startswith(marker["preview"]), marker)
        check(len(marker["preview"]) > 10, marker)
    for dialect in DIALECTS:
        out = translate("--to", dialect, "--max-field", "1000", stdin=stdin).out
        check(("é" * 1000).encode() not in out, f"{dialect} has it whole")
        parse_sse(out)


@case
def at_the_limit_nothing_is_replaced():
    data = "x" * 998  # and two quotes
    for limit, marked in ((1000, False), (999, True)):
        records = frames("--to", "raw", "--max-field", str(limit), stdin=whole_job(custom("c", data)))
        got = next(r["data"] for r in records if r["kind"] == "custom")
        equal(got != data, marked, limit)


@case
def the_default_limit_is_64_kib():
    for n, marked in ((65536 - 2, False), (65536 - 1, True)):
        records = frames("--to", "raw", stdin=whole_job(custom("c", "x" * n)))
        got = next(r["data"] for r in records if r["kind"] == "custom")
        equal(isinstance(got, dict), marked, n)


@case
def states_and_the_final_output_are_exempt():
    big = {"text": "x" * 5000}
    stdin = lines(root_start(), node_start(),
                  dict(root_start(), event="on_chain_stream", data={"chunk": ["values", big]}),
                  dict(root_start(), event="on_chain_stream", data={"chunk": {"investigator": big}}),
                  node_end(), root_end(big))
    records = frames("--to", "raw", "--max-field", "1000", stdin=stdin)
    equal([r["data"] for r in records if r["kind"] in ("state.values", "state.updates")], [big, {"investigator": big}])
    equal([r["output"] for r in records if r["kind"] == "run.end" and r.get("root")], [big])


@cases([100, 101, 102, 103])
def a_long_text_is_split_never_cut(limit):
    text = "aé€\U0001F600" * 500  # so that some limit falls into each kind of character
    stdin = whole_job(token("a"), token(text), token("z"), model_end("a" + text + "z"))
    got = tokens(frames("--max-field", str(limit), stdin=stdin))
    equal("".join(got), "a" + text + "z")
    for t in got:
        check(len(t.encode()) <= limit, f"{len(t.encode())} bytes")
    got = [f["data"] for f in frames("--to", "messages", "--max-field", str(limit), stdin=stdin) if f["event"] == "messages"]
    equal("".join(m[0]["content"] for m in got), "a" + text + "z")
    deltas = [r for r in frames("--to", "raw", "--max-field", str(limit), stdin=stdin) if r["kind"] == "llm.delta"]
    equal([r["index"] for r in deltas], list(range(len(deltas))), "they are counted")
    equal([bool(r.get("first")) for r in deltas], [True] + [False] * (len(deltas) - 1))


@case
def a_long_answer_at_once_is_split_too():
    text = "aé€\U0001F600" * 500
    got = tokens(frames("--max-field", "100", stdin=whole_job(model_start(), model_end(text))))
    equal("".join(got), text)
    check(max(len(t.encode()) for t in got) <= 100, "over the limit")


@case
def list_content_over_the_limit_keeps_its_text():
    text = "word " * 400
    stdin = whole_job(token([{"type": "text", "text": text, "index": 0}]))
    equal("".join(tokens(frames("--max-field", "500", stdin=stdin))), text)
    got = [f["data"][0]["content"] for f in frames("--to", "messages", "--max-field", "500", stdin=stdin)
           if f["event"] == "messages"]
    joined = "".join(c if isinstance(c, str) else "".join(b.get("text", "") for b in c) for c in got)
    equal(joined, text)


# --- SSE input --------------------------------------------------------------------------------


def reframed(template, line_end="\n"):
    rows = whole_job(token("one "), token("two")).decode().splitlines()
    return "".join(template(row) for row in rows).replace("\n", line_end).encode()


SSE = {
    "LF": reframed(lambda row: f"event: data\ndata: {row}\n\n"),
    "CRLF": reframed(lambda row: f"event: data\ndata: {row}\n\n", "\r\n"),
    "only data": reframed(lambda row: f"data: {row}\n\n"),
    "no space after the colon": reframed(lambda row: f"event:data\ndata:{row}\n\n"),
    "data before event": reframed(lambda row: f"data: {row}\nevent: data\nid: 7\n\n"),
    "comments and retry": reframed(lambda row: f": ping\nretry: 100\nid: 1\n: x\ndata: {row}\n\n: y\n\n\n"),
    "several lines of data": reframed(lambda row: "".join(f"data: {part}\n" for part in
                                                          json.dumps(json.loads(row), indent=1).split("\n")) + "\n"),
    "several lines of data, CRLF": reframed(lambda row: "".join(f"data: {part}\n" for part in
                                                                json.dumps(json.loads(row), indent=1).split("\n")) + "\n", "\r\n"),
    "a byte order mark": b"\xef\xbb\xbf" + reframed(lambda row: f"data: {row}\n\n"),
    "JSON lines with CRLF": reframed(lambda row: row + "\n", "\r\n"),
    "JSON lines with blanks": reframed(lambda row: "  " + row + "\n\n \n"),
    "JSON lines with a byte order mark": b"\xef\xbb\xbf" + whole_job(token("one "), token("two")),
    "metadata and end": b"event: metadata\ndata: {\"run_id\":\"x\"}\n\n" + reframed(lambda row: f"data: {row}\n\n") + b"event: end\n\n",
    "an end with null": reframed(lambda row: f"data: {row}\n\n") + b"event: end\ndata: null\n\n",
}


@cases(SSE)
def input_as(name):
    want = translate("--job", "j", "--to", "raw", stdin=whole_job(token("one "), token("two"))).out
    done = translate("--job", "j", "--to", "raw", stdin=SSE[name])
    equal(done.out, want)
    equal(done.err, "")


@case
def an_sse_error_event_ends_the_job():
    for data in ('{"error":"RangeError","message":"boom"}', '{"status_code":500,"message":"boom"}', '"boom"'):
        got = frames(stdin=lines(root_start(), node_start()) + f"event: error\ndata: {data}\n\n".encode())
        equal(got[-1], {"type": "job.failed", "error": "boom"}, data)
        equal(got[-2]["status"], "error")


@case
def sse_text_that_looks_like_sse_is_text():
    evil = "x\ndata: {}\n\nevent: error\ndata: {}\n\n"
    stdin = "".join(f"data: {row}\n\n" for row in whole_job(token(evil)).decode().splitlines())
    got = frames(stdin=stdin)
    equal(tokens(got), [evil])
    equal(types(got)[-1], "job.done")
