"""`tail` on a terminal: what is on the screen, and what is left there."""

import os
import pty
import re
import select
import signal
import subprocess
import termios

from gateway import (CLOSING, MODEL, NODE, OPENING, PROGRAM, PULL, ROOT, TOOL, WAIT, Server, Worker, event, fixed_port,
                     interrupt, node_end, root_end, token, tool_end, tool_start, until)
from harness import case, cases, check, contains, equal, spoolwire
from terminal import Terminal

SPINNER = re.compile("[⠋⠙⠹⠼⠴⠦⠧⠏]")


def tail(s, job="j", *more, **how):
    return Terminal(PROGRAM, "tail", job, "--url", s.url, *more, **how)


def clean(t):
    """No live line is left, colours are off, and the cursor is at the beginning of a line."""
    text = t.screen.text
    check(not SPINNER.search(text) and " · job " not in text, text)
    equal((t.screen.bold, t.screen.x, t.screen.rows[-1]), (False, 0, ""), text)
    return text


def is_quiet(t):
    return not termios.tcgetattr(t.fd)[3] & termios.ECHO


def until_quiet(t):
    """Waits until the terminal's echo is off: the program reads keys one by one."""
    until("it is quiet", lambda: is_quiet(t))


def begin(s, *events, job="j", agent="pull"):
    s.submit(agent, job_id=job)
    lease = Worker(s, agent).lease()
    lease.send(*(events or OPENING))
    return lease


@case
def a_run_from_beginning_to_end():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        with tail(s) as t:
            t.until("investigator", " · job j")
            lease.send(token("hello "), token("world"))
            t.until("hello world", "2 tokens")
            lease.send(tool_start("grep", {"q": "needle"}))
            t.until("⚙ grep", "needle")
            lease.send(tool_end("grep", "found it"), *CLOSING)
            t.until("✔ investigator", "→", "found it")
            lease.finish()
            equal(t.wait(), 0)
            text = clean(t)
            contains(text, "✔ investigator", "  hello world", "✔ succeeded (2 tokens, 1 tool call)")
            equal(text.count("hello world"), 1)
            equal(text.count("✔ investigator"), 1)


@case
def sections_side_by_side():
    said = spoolwire("demo-agent", "--no-question", "--speed", "0", stdin='{"job":"j","attempt":1}\n').out.decode().splitlines()
    writes = next(i for i, row in enumerate(said) if '"name":"RunnableParallel<report,' in row)
    done = next(i for i, row in enumerate(said) if i > writes and '"event":"on_chat_model_end"' in row)
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s, *said[:done])
        with tail(s) as t:
            t.until("report: ", "ticket_draft: ")
            lease.send(*said[done:])
            lease.finish()
            equal(t.wait(), 0)
            text = clean(t)
            contains(text, "\n  report\n", "\n  ticket_draft\n", "\n  comment_draft\n", "✔ writer")
            report = text[text.index("\n  report\n"):]
            contains(report, "**Cause.**", "## Sources")


@case
def how_it_ended():
    agents = {"bad": {"command": ["sh", "-c", "echo 'first words' >&2; echo 'no such luck' >&2; exit 1"]}, "pull": PULL}
    with Server(agents=agents) as s:
        s.submit("bad", job_id="b")
        with tail(s, "b") as t:
            equal(t.wait(), 1)
            contains(clean(t), "✘ failed", "no such luck", "first words")
        lease = begin(s, *OPENING, token("half a word"), job="c")
        with tail(s, "c") as t:
            t.until("half a word")
            s.post("/v1/jobs/c/cancel")
            until("the worker is told", lambda: s.job("c")["cancel_requested"])
            lease.finish("failure")
            equal(t.wait(), 1)
            contains(clean(t), "half a word", "✘ cancelled")


@case
def a_question_waits():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        lease.send(interrupt("staging or production?"))
        lease.finish("interrupted")
        with tail(s) as t:
            t.until("? the job asks", "staging or production?", "waits for an answer: staging or production?")
            until_quiet(t)
            t.press(b"\x03")
            equal(t.wait(), -signal.SIGINT)
            contains(clean(t), "staging or production?")


@cases([("key", b"\x03", signal.SIGINT), ("key", b"\x1c", signal.SIGQUIT), ("kill", signal.SIGTERM, signal.SIGTERM),
        ("kill", signal.SIGHUP, signal.SIGHUP)], name=lambda v: v[2].name)
def ended_from_outside(how):
    kind, what, number = how
    with Server(agents={"pull": PULL}) as s:
        begin(s, *OPENING, token("some words"))
        with tail(s) as t:
            t.until("some words", " · job j")
            if kind == "key":
                t.press(what)
            else:
                os.kill(t.pid, what)
            equal(t.wait(), -number)
            text = t.screen.text.replace("^C", "").replace("^\\", "")
            check(not SPINNER.search(text) and "some words" not in text, text)
            equal((t.screen.bold, t.screen.rows[-1].strip("^C\\")), (False, ""))
        equal(s.state("j"), "running")


@cases([(10, 3), (1, 1), (2, 2), (20, 5), (300, 100)], name=lambda v: f"{v[0]}x{v[1]}")
def any_size(size):
    with Server() as s:
        s.submit("demo", job_id="j", input={"speed": 0, "fan_out": 5})
        with tail(s, columns=size[0], lines=size[1]) as t:
            equal(t.wait(), 0)
            equal((t.screen.bold, t.screen.x), (False, 0))
            check(not SPINNER.search(t.screen.text), t.screen.text)


@case
def live_lines_never_leave_their_place():
    """Whatever the size, what stays is the same as on a wide terminal."""
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        with tail(s, columns=30, lines=6) as t:
            for i in range(60):
                lease.send(token(f"word{i} "))
            t.until("word59")
            visible = t.screen.rows[t.screen.top():]
            check(len(visible) <= 6 and all(len(row) <= 30 for row in visible), visible)
            lease.send(*CLOSING)
            lease.finish()
            equal(t.wait(), 0)
            text = clean(t)
            equal(re.findall(r"word\d+", text), [f"word{i}" for i in range(60)])


@case
def a_resize_in_the_middle():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        with tail(s, columns=70, lines=20) as t:
            lease.send(token("the quick brown fox jumps over the lazy dog and on and on it runs"))
            t.until("runs", " · job j")
            t.resize(90, 30)
            lease.send(token(" wide"))
            t.until("wide")
            equal(sum("investigator" in row for row in t.screen.rows), 1, t.screen.text)
            lease.send(*CLOSING)
            lease.finish()
            equal(t.wait(), 0)
            clean(t)


@case
def more_agents_than_lines():
    events = list(OPENING[:1])
    for i in range(40):
        start = event("on_chain_start", "investigator", f"n{i}", [ROOT], {"input": {}})
        start["metadata"]["langgraph_checkpoint_ns"] = f"investigator:{i}"
        events.append(start)
    with Server(agents={"pull": PULL}) as s:
        begin(s, *events)
        with tail(s, columns=60, lines=10) as t:
            t.until(" more", " · job j")
            check(len(t.screen.rows) <= 10, t.screen.text)


EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\x00\r\b\u202e\u2028 text\u200e"


@case
def text_from_outside_does_nothing():
    """The screen of these tests refuses anything that is not ours."""
    def evil_model(text):
        return event("on_chat_model_stream", EVIL, MODEL, [ROOT, NODE],
                     {"chunk": {"content": text, "type": "AIMessageChunk", "id": "m"}})

    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        with tail(s, columns=400) as t:
            lease.send(evil_model(EVIL), evil_model("\ud83d"), evil_model("ok"))
            lease.send(event("on_tool_start", EVIL, TOOL, [ROOT, NODE], {"input": {EVIL: EVIL}}))
            lease.send(event("on_tool_end", EVIL, TOOL, [ROOT, NODE], {"output": EVIL}))
            t.until("text", "ok", "→")
            lease.send(interrupt(EVIL))
            t.until("the job asks")
            lease.send(*CLOSING)
            equal(lease.finish("failure", error=EVIL), "failed")
            equal(t.wait(), 1)
            contains(clean(t), "✘ failed")


@case
def wide_characters_wrap():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        with tail(s, columns=21, lines=12) as t:
            lease.send(token("漢字" * 20))
            t.until("漢字漢字漢字漢字")
            lease.send(*CLOSING)
            lease.finish()
            equal(t.wait(), 0)
            rows = [row for row in t.screen.rows if "漢" in row or "字" in row]
            equal("".join(rows).replace(" ", ""), "漢字" * 20)
            check(all(2 + 2 * len(row.strip()) < 21 for row in rows), rows)


# --- when it is not live ------------------------------------------------------------------------


@cases([["--lines"], ["--json"], ["--raw"], ["--dialect", "agent"]], name=" ".join)
def lines_on_a_terminal(flags):
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        lease.send(*CLOSING)
        lease.finish()
        with tail(s, "j", *flags, columns=400) as t:
            equal(t.wait(), 0)
            contains(t.screen.text, '{"type":"agent.spawned"')
            check(b"\x1b" not in t.raw, t.raw)


@cases([{"TERM": "dumb"}, {"TERM": ""}], name=str)
def a_terminal_that_cannot_move_its_cursor(env):
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        lease.send(*CLOSING)
        lease.finish()
        with tail(s, "j", columns=400, env=env) as t:
            equal(t.wait(), 0)
            contains(t.screen.text, '{"type":"agent.spawned"')
            check(b"\x1b" not in t.raw, t.raw)


@cases([([], {}, True), ([], {"NO_COLOR": "1"}, False), ([], {"NO_COLOR": ""}, True), (["--color", "never"], {}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True)], name=str)
def colours_where_wanted(how):
    flags, env, want = how
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        lease.send(*CLOSING)
        lease.finish()
        with tail(s, "j", *flags, env=env) as t:
            equal(t.wait(), 0)
            equal(bool(t.screen.styles), want, t.raw)
            contains(clean(t), "✔ succeeded")


@case
def a_result_has_its_place():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        lease.send(tool_start("grep", {"q": "needle " * 40}))
        with tail(s, columns=60) as t:
            t.until("⚙ grep", "…")
            lease.send(tool_end("grep", "found 3 lines"), *CLOSING)
            t.until("✔ investigator")
            lease.finish()
            equal(t.wait(), 0)
            line = next(line for line in clean(t).splitlines() if "⚙" in line)
            check("… → found 3 lines" in line and len(line) < 60, line)


@case
def marks_without_utf8():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        with tail(s, "j", env={"LC_ALL": "C"}) as t:
            lease.send(token("x"), tool_start("grep", {"q": "y" * 100}))
            t.until("> grep", "1 token", "job j")
            check(t.screen.text.isascii(), t.screen.text)
            lease.send(tool_end("grep", "ok"), *CLOSING)
            lease.finish()
            equal(t.wait(), 0)
            contains(t.screen.text, " -> ok")
            contains(t.screen.text, "+ investigator", "+ succeeded")
            check(t.screen.text.isascii(), t.screen.text)


@case
def a_pipe_gets_plain_lines():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s)
        lease.send(*CLOSING)
        lease.finish()
        p = subprocess.run([PROGRAM, "tail", "j", "--url", s.url, "--color", "always"], stdout=subprocess.PIPE, timeout=WAIT)
        check(b"\x1b" not in p.stdout and p.stdout.startswith(b'{"type":"'), p.stdout)


# --- trouble ------------------------------------------------------------------------------------


@case
def a_restart_is_told_and_survived():
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        lease = begin(s, *OPENING, token("one "))
        with tail(s) as t:
            t.until("one", " · job j")
            s.kill()
            t.until("the connection to")
            s.start()
            lease.send(token("two "))
            t.until("one two", " · job j", gone=["the connection to"])
            lease.send(*CLOSING)
            lease.finish()
            equal(t.wait(), 0)
            contains(clean(t), "one two")


@case
def nobody_there_and_no_such_job():
    with Server(agents={"pull": PULL}) as s:
        with tail(s, "nope") as t:
            equal(t.wait(), 3)
            contains(clean(t), "spoolwire tail: Job not found: nope")
    with Terminal(PROGRAM, "tail", "j", "--url", "http://127.0.0.1:1") as t:
        equal(t.wait(), 4)
        contains(clean(t), "cannot reach the server")


@case
def submit_and_follow_on_a_terminal():
    with Server() as s:
        with Terminal(PROGRAM, "submit", "demo", "--input", '{"speed":0}', "--follow", "--url", s.url) as t:
            equal(t.wait(), 0)
            contains(clean(t), "job ", "✔ writer", "✔ succeeded")


def state_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0]


@case
def a_stop_and_a_continue():
    with Server(agents={"pull": PULL}) as s:
        lease = begin(s, *OPENING, token("before "))
        with tail(s) as t:
            t.until("before", " · job j")
            os.kill(t.pid, signal.SIGSTOP)
            until("it is stopped", lambda: state_of(t.pid) == "T")
            lease.send(token("after"))
            while select.select([t.fd], [], [], 0)[0]:  # what it had said before
                t.read()
            t.screen.feed("\r\n$ something else\r\n")
            os.kill(t.pid, signal.SIGCONT)
            t.until("before after")
            contains(t.screen.text, "$ something else")
            lease.send(node_end(), root_end())
            lease.finish()
            equal(t.wait(), 0)


# --- answers that are typed ------------------------------------------------------------------


def ask(s, *values, job="j"):
    """A worker that asks a question and finishes as interrupted."""
    lease = begin(s, *OPENING, *[interrupt(v, f"q-{i}") for i, v in enumerate(values, 1)], job=job)
    lease.finish("interrupted")


@case
def an_answer_is_typed():
    with Server(agents={"pull": PULL}) as s:
        ask(s, {"question": "staging or production?"})
        with tail(s) as t:
            t.until("waits for an answer: staging or production?", "> ")
            until_quiet(t)
            t.press("sta\x7f\x7f\x1b[Atägins\x08g".encode())
            t.until("> stäging")
            t.press(b"\x15production\r")
            t.until("✔ answered: production", gone=["waits for an answer"])
            until("it is", lambda: not is_quiet(t))
            lease = Worker(s).lease()
            equal(s.state("j"), "running")
            lease.send(root_end())
            lease.finish()
            equal(t.wait(), 0)
            clean(t)


@case
def a_choice_and_an_answer_that_does_not_fit():
    schema = {"type": "string", "enum": ["staging", "production", "7"]}
    with Server(agents={"pull": PULL}) as s:
        ask(s, {"question": "where?", "schema": schema}, {"question": "how many?", "schema": {"type": "integer"}})
        with tail(s) as t:
            t.until("1  staging", "2  production", "waits for an answer", "> ")
            until_quiet(t)
            t.press(b"nowhere\n")
            t.until("✘ the answer does not fit question q-1", "none of the values")
            t.press(b"2\n")
            t.until("✔ answered: 2")
            t.press(b"three\n")
            t.until("✘ the answer does not fit question q-2")
            t.press(b"3\n")
            t.until("✔ answered: 3")
            equal(Worker(s).ask().json["resume"], {"q-1": "production", "q-2": 3})


@case
def somebody_else_answers():
    with Server(agents={"pull": PULL}) as s:
        ask(s, "one?", "two?")
        with tail(s) as t:
            t.until("> ")
            until_quiet(t)
            equal(s.post("/v1/jobs/j/answer", {"interrupt_id": "q-1", "value": {"was": "first"}}).status, 200)
            t.press(b"mine\n")
            t.until('✘ already answered: {"was":"first"}')
            t.press(b"half of")
            t.until("> half of")
            equal(s.post("/v1/jobs/j/answer", {"interrupt_id": "q-2", "value": 1}).status, 200)
            t.until(" · job j", gone=["> half", "waits for an answer"])
            until("the terminal is as it was", lambda: not is_quiet(t))


@cases([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], name=lambda n: n.name)
def the_terminal_is_put_right(number):
    ends = pty.openpty()
    usual = termios.tcgetattr(ends[1])[3]
    for end in ends:
        os.close(end)
    check(usual & termios.ECHO)
    with Server(agents={"pull": PULL}) as s:
        ask(s, "?")
        with tail(s) as t:
            t.until("> ")
            until_quiet(t)
            # A hand on it, so that it is not forgotten with the last program that it had.
            hand = os.open(os.readlink(f"/proc/{t.pid}/fd/0"), os.O_RDWR | os.O_NOCTTY)
            os.kill(t.pid, number)
            until("the terminal is as it was", lambda: termios.tcgetattr(hand)[3] == usual)
            os.close(hand)
            equal(t.wait(), -number)


@case
def stopped_and_continued():
    with Server(agents={"pull": PULL}) as s:
        ask(s, "?")
        with tail(s) as t:
            t.until("> ")
            until_quiet(t)
            os.kill(t.pid, signal.SIGTSTP)
            until("the terminal is as it was", lambda: not is_quiet(t))
            os.kill(t.pid, signal.SIGCONT)
            until_quiet(t)
            t.press(b"42\n")
            t.until("✔ answered: 42")
            equal(Worker(s).ask().json["resume"], {"q-1": 42})
