"""A line that cannot be understood: said with place and reason, counted, and its
neighbours unharmed; with --strict the end."""

import os
import re
import resource
import subprocess
import sys
import tempfile

from events import event, node_end, node_start, root_end, root_start, token, tokens, types, whole_job
from harness import DIALECTS, PROGRAM, TIMEOUT, case, cases, check, contains, equal, lines, parse_ndjson, parse_sse, translate


def wrong(**change):
    return lines(dict(token("bad"), **change)).rstrip()


def deep(n):
    """A custom event whose payload makes it @n levels deep."""
    inner = "[" * (n - 2) + "]" * (n - 2)
    return (b'{"event":"on_custom_event","name":"deep","run_id":"r","tags":[],"metadata":{},"data":{"x":'
            + inner.encode() + b"}}")


# name: (the line, options, what its message says)
BAD = {
    "a word": (b"hello", [], "not JSON"),
    "a number": (b"5", [], ""),
    "a text": (b'"on_chain_start"', [], ""),
    "null": (b"null", [], ""),
    "half of an object": (b'{"event":"on_chain_start","name":', [], "not JSON"),
    "two objects": (b"{} {}", [], "not JSON"),
    "a comma too many": (b'{"event":"on_chain_start",}', [], "not JSON"),
    "single quotes": (b"{'event': 'on_chain_start'}", [], "not JSON"),
    "an empty object": (b"{}", [], "no known event"),
    "an empty list": (b"[]", [], "list"),
    "an unknown object": (b'{"hello":"world"}', [], "no known event"),
    "an unknown event": (wrong(event="on_chat_model_dance"), [], "on_chat_model_dance"),
    "an unknown type": (b'{"type":"agent.dance"}', [], "agent.dance"),
    "an event that is a number": (wrong(event=7), [], ""),
    "a run_id that is a number": (wrong(run_id=7), [], '"run_id"'),
    "a run_id that is missing": (lines({k: v for k, v in token("bad").items() if k != "run_id"}).rstrip(), [], '"run_id"'),
    "a name that is a list": (wrong(name=["x"]), [], '"name"'),
    "tags that are an object": (wrong(tags={"a": 1}), [], '"tags"'),
    "metadata that is a text": (wrong(metadata="x"), [], '"metadata"'),
    "parent_ids that are a text": (wrong(parent_ids="x"), [], '"parent_ids"'),
    "data that is a list": (wrong(data=[1]), [], '"data"'),
    "a chunk that is a number": (wrong(data={"chunk": 5}), [], "chunk"),
    "a mode that there is not": (b'[[],"telepathy",{}]', [], "telepathy"),
    "a messages part of one": (b'[[],"messages",[{"content":"x","type":"ai"}]]', [], "messages"),
    "a namespace that is a number": (b'[5,"updates",{}]', [], "namespace"),
    "too long": (lines(token("x" * 5000)).rstrip(), ["--max-line", "4000"], "4000 bytes"),
    "too deep": (deep(20), ["--max-depth", "16"], "deeper than 16"),
    "far too deep": (b"[" * 100000 + b"]" * 100000, [], "deeper than 64"),
    "not UTF-8": (lines(token("x")).rstrip().replace(b'"x"', b'"\xff"'), [], "UTF-8"),
    "UTF-8 of a surrogate": (lines(token("x")).rstrip().replace(b'"x"', b'"\xed\xa0\x80"'), [], "UTF-8"),
    "UTF-8 that is too long": (lines(token("x")).rstrip().replace(b'"x"', b'"\xc0\xaf"'), [], "UTF-8"),
    "UTF-8 that is cut": (lines(token("x")).rstrip().replace(b'"x"', b'"\xe2\x82"'), [], "UTF-8"),
    "a NUL byte": (lines(token("x")).rstrip().replace(b'"x"', b'"a\0b"'), [], "NUL"),
    "a raw control character": (lines(token("x")).rstrip().replace(b'"x"', b'"a\tb"'), [], "not JSON"),
    "a state snapshot": (b'{"values":{},"next":[],"tasks":[]}', [], "snapshot"),
    "a record of ours": (b'{"seq":1,"ts":1,"kind":"job.start","job":"x"}', [], "record"),
}

BEFORE = [root_start(), node_start(), token("before ")]
AFTER = [token("after"), node_end(), root_end()]


def stream(line):
    return lines(*BEFORE) + line + b"\n" + lines(*AFTER)


@cases(BAD)
def bad_line(name):
    line, options, reason = BAD[name]
    clean = {dialect: translate("--to", dialect, "--job", "j", stdin=lines(*BEFORE, *AFTER)).out for dialect in DIALECTS}
    for dialect in DIALECTS:
        done = translate("--to", dialect, "--job", "j", "--stats", *options, stdin=stream(line), want=1)
        equal(done.out, clean[dialect], "the neighbours: " + dialect)
        check(re.search(r"^\(standard input\):4: \S", done.err, re.M), done.err)
        contains(done.err, reason)
        check(re.search(r"^bad lines +1$", done.err, re.M), done.err)
        equal(len(re.findall(r"^\(standard input\):", done.err, re.M)), 1, "one message")


@cases(BAD)
def bad_line_with_strict(name):
    line, options, reason = BAD[name]
    for dialect in DIALECTS:
        before = translate("--to", dialect, "--job", "j", stdin=lines(*BEFORE)).out
        done = translate("--to", dialect, "--job", "j", "--strict", *options, stdin=stream(line), want=1)
        # Without --strict the end of the input follows, so there the job also ends.
        check(before.startswith(done.out), f"more than what came before: {dialect}")
        contains(done.err, "(standard input):4: ", reason)
        if dialect == "agent":
            equal([f.event for f in parse_sse(done.out)], ["agent.spawned", "agent.token"])
        check(b"after" not in done.out, "what came after")


@case
def strict_without_bad_lines_changes_nothing():
    equal(translate("--strict", "--job", "j", stdin=whole_job(token("x"))).out,
          translate("--job", "j", stdin=whole_job(token("x"))).out)


@case
def strict_still_prints_stats():
    done = translate("--strict", "--stats", stdin=stream(b"hello"), want=1)
    contains(done.err, "bad lines 1")
    check(re.search(r"^  llm\.delta +1$", done.err, re.M), done.err)


@case
def the_message_names_the_file_and_its_own_line():
    with tempfile.NamedTemporaryFile() as a, tempfile.NamedTemporaryFile() as b:
        a.write(stream(b"hello"))
        b.write(b"\nbye\n" + stream(b"{}"))
        a.flush(), b.flush()
        done = translate("--stats", a.name, b.name, want=1)
    contains(done.err, f"{a.name}:4: ", f"{b.name}:2: ", f"{b.name}:6: ", "bad lines 3")


@case
def a_bad_line_inside_sse_is_named_by_its_line():
    text = "".join(f"event: data\ndata: {line}\n\n" for line in stream(b"{nonsense}").decode().splitlines())
    done = translate("--framing", "ndjson", stdin=text, want=1)
    equal(tokens(parse_ndjson(done.out)), ["before ", "after"])
    equal(re.findall(r"^\(standard input\):(\d+): ", done.err, re.M), ["11"], "its data line is line 11")


@case
def many_bad_lines_are_only_counted():
    done = translate("--stats", "--framing", "ndjson", stdin=b"hello\n" * 1000 + whole_job(token("x")), want=1)
    contains(done.err, "bad lines 1000")
    check(len(re.findall(r"^\(standard input\):", done.err, re.M)) <= 100, "they flood the screen")
    equal(types(parse_ndjson(done.out))[-1], "job.done")


@case
def a_line_at_the_limit_is_read_and_one_byte_more_is_not():
    line = lines(token("x" * 3000))
    for end in (b"", b"\r"):
        n = len(line) - 1
        text = lines(root_start(), node_start()) + line[:-1] + end + b"\n"
        done = translate("--framing", "ndjson", "--max-line", str(n + len(end)), stdin=text)
        equal(len(tokens(parse_ndjson(done.out))[0]), 3000)
        done = translate("--framing", "ndjson", "--max-line", str(n - 1), stdin=text, want=1)
        equal(tokens(parse_ndjson(done.out)), [])
        contains(done.err, ":3: ")


@case
def a_line_that_is_too_long_may_be_first_last_and_without_an_end():
    long = b'{"x":"' + b"y" * 100000 + b'"}'
    for text in (long + b"\n" + whole_job(token("x")), whole_job(token("x")) + long + b"\n", whole_job(token("x")) + long):
        done = translate("--framing", "ndjson", "--max-line", "2000", stdin=text, want=1)
        equal(tokens(parse_ndjson(done.out)), ["x"])
        equal(types(parse_ndjson(done.out))[-1], "job.done")


FEEDER = r"""
import sys
out = sys.stdout.buffer
out.write(b'{"x":"')
for _ in range(1000):
    out.write(b"y" * (1 << 20))
out.write(b'"}\n' + sys.stdin.buffer.read())
"""


@case
def a_huge_line_does_not_take_its_size_in_memory():
    """A line of 1000 MiB in 512 MiB of address space."""
    if "san" in os.path.basename(os.path.dirname(PROGRAM)):
        return  # the sanitizers themselves want more
    with tempfile.TemporaryFile() as rest:
        rest.write(whole_job(token("x")))
        rest.seek(0)
        feeder = subprocess.Popen([sys.executable, "-c", FEEDER], stdin=rest, stdout=subprocess.PIPE)
        done = subprocess.run([PROGRAM, "translate", "--framing", "ndjson"], stdin=feeder.stdout, timeout=TIMEOUT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20)))
        feeder.stdout.close()
        equal(feeder.wait(TIMEOUT), 0)
    equal(done.returncode, 1)
    contains(done.stderr.decode(), ":1: ", "longer than")
    equal(types(parse_ndjson(done.stdout))[-1], "job.done")


@case
def an_sse_message_that_is_too_long_is_lost_as_a_whole():
    """Also when only one of its data lines is too long: the others are not a message."""
    head, tail = lines(root_start(), node_start()), lines(token("after"), node_end(), root_end())
    inner = lines(token("inside")).decode().rstrip()
    for text in (f"data: {'y' * 3000}\ndata: {inner}\n\n", f"data: {inner}\ndata: {'y' * 3000}\n\n",
                 "".join(f"data: {'y' * 500}\n" for _ in range(10)) + f"data: {inner}\n\n"):
        done = translate("--framing", "ndjson", "--max-line", "2000", stdin=head + text.encode() + tail, want=1)
        equal(tokens(parse_ndjson(done.out)), ["after"], text[:30])
        equal(len(done.err.splitlines()), 1, done.err)


@case
def depth_is_counted_in_levels():
    for limit in (16, 64, 256):
        args = ("--to", "raw", "--framing", "ndjson", "--max-depth", str(limit))
        got = parse_ndjson(translate(*args, stdin=deep(limit) + b"\n").out)
        check(any(r["kind"] == "custom" for r in got), limit)
        translate(*args, stdin=deep(limit + 1) + b"\n", want=1)


@case
def an_event_after_the_jobs_end_is_a_bad_line():
    done = translate("--framing", "ndjson", "--stats",
                     stdin=lines(*BEFORE, {"type": "job.done"}, token("late"), node_end(), root_end()), want=1)
    got = parse_ndjson(done.out)
    equal(types(got)[-1], "job.done")
    equal(tokens(got), ["before "])
    contains(done.err, "(standard input):5: ", "(standard input):6: ", "(standard input):7: ", "ended", "bad lines 3")


@case
def a_bad_line_is_no_event_of_its_job():
    """Nothing but bad lines: no job was begun."""
    for dialect in DIALECTS:
        done = translate("--to", dialect, stdin=b"hello\n{}\n", want=1)
        equal(done.out, b"", dialect)


@case
def what_is_optional_and_wrong_counts_as_missing():
    """Inside data and metadata nothing is trusted, and nothing refused."""
    odd = token("odd")
    odd["metadata"].update(langgraph_step="one", section=5, ls_model_name=["x"])
    odd["data"]["chunk"].update(usage_metadata="x", tool_call_chunks="x", response_metadata=[], additional_kwargs=3)
    for dialect in DIALECTS:
        done = translate("--to", dialect, "--framing", "ndjson", stdin=whole_job(odd))
        parse_ndjson(done.out)
    equal(tokens(parse_ndjson(translate("--framing", "ndjson", stdin=whole_job(odd)).out)), ["odd"])


@case
def an_event_of_an_unknown_run_is_not_bad():
    """Ends and streams whose start was never seen: counted as stray, otherwise ignored."""
    stray = [event("on_chain_end", "x", "nobody", ["run-root"], {"output": 1}),
             event("on_chain_stream", "x", "nobody", ["run-root"], {"chunk": 1}),
             event("on_tool_end", "x", "nobody", ["run-root"], {"output": 1})]
    done = translate("--framing", "ndjson", "--stats", stdin=whole_job(token("x"), *stray))
    equal(types(parse_ndjson(done.out))[-1], "job.done")
    check(re.search(r"^stray ends and streams +3$", done.err, re.M), done.err)
