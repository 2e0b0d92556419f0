"""Processes that crash, send nothing, or break the protocol."""

import os
import random
import signal
import time

from gateway import alive, until
from harness import case, cases, check, contains, equal
from pools import Pool


# --- crashes ---------------------------------------------------------------------------------------


@case
def a_crash_costs_only_its_own_jobs():
    with Pool(size=2, warm=2, concurrency=2, agent={"attempts": 2}) as s:
        ids = [s.do(["say", "x"], ["until", "go"], ["say", "y"]) for _ in range(4)]
        for id in ids:
            s.until_begun(id)
            until("it has spoken", lambda: s.job(id)["events"] >= 2)
        victim = s.begun(ids[0])
        lost = [id for id in ids if s.begun(id) == victim]
        equal(len(lost), 2)
        os.kill(victim, signal.SIGKILL)
        for id in lost:
            until("it is begun again", lambda: s.begun(id, 2))
        s.touch("go")
        for id in ids:
            job = s.until_state(id, "succeeded")
            equal((job["attempt"], s.chunks(id)), (2, ["x", "x", "y"]) if id in lost else (1, ["x", "y"]))
        contains(s.said("pool")[0][1], "killed by signal 9 (SIGKILL)")


@cases([(["exit", 3], "ExitStatus", "exit status 3"),
        (["exit", 0], "ExitStatus", "exit status 0"),
        (["kill", int(signal.SIGSEGV)], "Signal", "killed by signal 11 (SIGSEGV)")], lambda v: v[2])
def a_crash_without_a_budget_fails(value):
    step, kind, words = value
    with Pool(concurrency=2) as s:
        other = s.do(["say", "x"], ["until", "never"])
        s.until_begun(other)
        id = s.do(["say", "x"], ["stderr", "last words"] if kind == "Signal" else ["say", "z"], ["sleep", 0.2], step)
        for job in (s.until_state(id, "failed"), s.until_state(other, "failed")):
            equal((job["error_type"], job["attempt"]), (kind, 1))
            contains(job["error"], "its process ended", words)
            details = s.read(job["job_id"], "raw")[-1].json["details"]
            equal(details, {"signal": 11, "stderr": "last words"} if kind == "Signal" else {"exit_status": step[1]})
        s.until_state(s.do(["say", "y"]), "succeeded")


@case
def a_last_line_without_newline():
    with Pool(agent={"attempts": 2}) as s:
        id = s.do(["first", [["raw", '{"job":"JOB","attempt":1,"finish":{"status":"success"}}'], ["exit", 0]]])
        equal(s.until_state(id, "succeeded")["attempt"], 1, "it is whole: the process ended by itself")
        id = s.do(["first", [["raw", '{"job":"JOB","attempt":1,"finish":{"status":"failure"}}'],
                             ["kill", int(signal.SIGKILL)]]])
        equal(s.until_state(id, "succeeded")["attempt"], 2, "half a line of one that was killed is nothing")


@case
def a_storm_of_crashes():
    chance = random.Random(7)
    with Pool(size=3, warm=3, concurrency=4, backoff="250ms", agent={"attempts": 50}) as s:
        ids = [s.do(*[step for i in range(10) for step in (["say", f"w{i}"], ["sleep", 0.05])]) for _ in range(40)]
        for _ in range(8):
            time.sleep(0.25)
            victim = chance.choice(until("a process", s.alive))
            os.kill(victim, signal.SIGKILL)
            s.until_gone(victim)
        for id in ids:
            s.until_state(id, "succeeded", seconds=60)
            frames = s.read(id, "agent")
            equal([f.event for f in frames if f.event.startswith("job.")], ["job.done"], "one ending")
            equal(s.chunks(id)[-10:], [f"w{i}" for i in range(10)], "the last attempt is whole")
        until("all have been replaced", lambda: len(s.pids()) > 8)


# --- silence ---------------------------------------------------------------------------------------


@case
def a_silent_job_loses_its_lease():
    """And only that one: the others of the process show signs of life."""
    with Pool(concurrency=2, agent={"lease": "3s", "attempts": 2}) as s:
        busy = s.do(["say", "x"], ["sleep", 5], ["say", "y"])
        silent = s.do(["first", [["silent", True], ["say", "one"], ["until", "never"]]], ["say", "two"])
        job = s.until_state(silent, "succeeded")
        equal((job["attempt"], s.chunks(silent)), (2, ["one", "two"]))
        contains(s.said("no sign of life")[0][1], "no sign of life for 3 s")
        equal(s.notes("told"), [[silent, "1"]], "it was told to stop")
        equal(s.until_state(busy, "succeeded")["attempt"], 1)
        equal(len(s.pids()), 1)


@cases([(5, True), (5, False), (3.15, False)], lambda v: f"for {v[0]} s" + (" with its workers" if v[1] else ""))
def a_server_that_stood_still_takes_nobodys_lease(value):
    seconds, frozen = value
    with Pool(concurrency=2, agent={"lease": "3s"}) as s:
        ids = [s.do(["say", "x"], ["until", "go"]) for _ in range(2)]
        for id in ids:
            s.until_begun(id)
        all = [s.pid] + (s.alive() if frozen else [])
        for pid in all:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for pid in all:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.5)  # for a loss to show itself
        s.touch("go")
        for id in ids:
            job = s.until_state(id, "succeeded", "failed")
            equal(job["state"], "succeeded", f"{job}")


@case
def a_silent_job_without_a_budget_fails():
    with Pool(agent={"lease": "500ms"}) as s:
        job = s.until_state(s.do(["silent", True], ["until", "never"]), "failed")
        equal(job["error_type"], "LeaseExpired")


@case
def a_process_that_stands_still_is_replaced():
    with Pool(concurrency=2, drain="200ms", agent={"lease": "3s", "attempts": 2, "grace": "300ms"}) as s:
        ids = [s.do(["say", "x"], ["until", "go"], ["say", "y"]) for _ in range(2)]
        for id in ids:
            s.until_begun(id)
        pid = s.alive()[0]
        os.kill(pid, signal.SIGSTOP)
        try:
            for id in ids:
                check(s.until_begun(id, 2) != pid)
            s.until_gone(pid)
        finally:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        s.touch("go")
        for id in ids:
            equal(s.until_state(id, "succeeded")["attempt"], 2)


@case
def a_process_that_does_not_read():
    """It says that it is ready, and never takes its job."""
    script = 'echo $$ >> pids; [ -e go ] && exec "$@"; echo "{\\"ready\\":true}"; exec sleep 300'
    from pools import WORKER
    with Pool(command=["sh", "-c", script, "sh", *WORKER], drain="100ms",
              agent={"lease": "500ms", "attempts": 3, "grace": "200ms"}) as s:
        id = s.submit("a", {"steps": [["say", "x"]], "text": "x" * 500_000})
        until("another is tried", lambda: len(s.pids()) >= 2)
        s.touch("go")
        s.until_gone(s.pids()[0])
        check(s.until_state(id, "succeeded", "failed")["attempt"] >= 2)


# --- wrong words -----------------------------------------------------------------------------------


@case
def a_line_without_end():
    with Pool(size=2, warm=2, agent={"attempts": 2}) as s:
        other = s.do(["say", "x"], ["until", "go"], ["say", "y"])
        pid = s.until_begun(other)
        flood = s.do(["first", [["flood", True]]], ["say", "z"])
        bad = s.until_begun(flood)
        check(bad != pid)
        equal(s.until_state(flood, "succeeded")["attempt"], 2)
        s.until_gone(bad)
        contains(s.said("killed")[0][1], "a line of more than 16 MiB")
        s.touch("go")
        equal(s.until_state(other, "succeeded")["attempt"], 1)
        check(alive(pid))


@case
def a_line_without_end_without_a_budget_fails():
    with Pool() as s:
        job = s.until_state(s.do(["flood", True]), "failed")
        equal(job["error_type"], "ProcessFault")
        contains(job["error"], "a line of more than 16 MiB")


EVENT = '"event":{"type":"llm.chunk","id":"m","data":{"chunk":"forged"}}'


@case
def words_about_another_process_job():
    with Pool(size=2, warm=2) as s:
        mine = s.do(["say", "x"], ["until", "go"], job_id="theirs")
        s.until_begun(mine)
        forger = s.do(["raw", '{"job":"theirs","attempt":1,%s}\n' % EVENT],
                      ["raw", '{"job":"theirs","attempt":1,"finish":{"status":"success"}}\n'], ["say", "own"])
        s.until_state(forger, "succeeded")
        check(s.begun(forger) != s.begun(mine))
        equal(s.state(mine), "running")
        s.touch("go")
        s.until_state(mine, "succeeded")
        equal(s.chunks(mine), ["x"])
        told = s.said("refused")
        contains(told[0][1], "it does not have the job theirs (attempt 1)", f"process {s.begun(forger)}")
        equal(told[0][0], forger, "the only job of the process that said it")


BAD = [
    ("another attempt", '{"job":"JOB","attempt":7,%s}' % EVENT, "it does not have the job"),
    ("no attempt", '{"job":"JOB",%s}' % EVENT, '"attempt"'),
    ("no word", '{"job":"JOB","attempt":1}', 'one of "event"'),
    ("two words", '{"job":"JOB","attempt":1,"heartbeat":true,"finish":{"status":"success"}}', 'one of "event"'),
    ("an event that is a text", '{"job":"JOB","attempt":1,"event":"x"}', "must be an object"),
    ("a status that is none", '{"job":"JOB","attempt":1,"finish":{"status":"done"}}', '"status" must be'),
    ("a bare event", '{"type":"llm.chunk"}', '"job"'),
    ("a print", "Loading model...", "not JSON"),
    ("a list", "[1,2]", "no JSON object"),
    ("a nul", "\x00", "NUL"),
    ("deep", "[" * 5000 + "]" * 5000, "nested deeper"),
]


@cases(BAD, lambda v: v[0])
def a_bad_line_is_told_and_passed_over(value):
    _, line, words = value
    with Pool() as s:
        id = s.do(["say", "x"], ["raw", line + "\n"], ["say", "y"])
        s.until_state(id, "succeeded")
        equal(s.chunks(id), ["x", "y"])
        equal(len(s.said("refused")), 1)
        contains(s.said("refused")[0][1], words)


@case
def bad_lines_do_not_fill_the_log():
    with Pool() as s:
        id = s.do(["raw", "nonsense\n" * 5000], ["say", "y"])
        s.until_state(id, "succeeded")
        check(10 <= len(s.said("refused")) <= 14, len(s.said("refused")))
        contains(s.said("refused")[-1][1], "(4096 so far)")


@case
def words_after_the_end():
    with Pool() as s:
        id = s.do(["say", "x"], ["raw", '{"job":"JOB","attempt":1,"finish":{"status":"success"}}\n'], ["say", "late"],
                  ["finish", {"status": "failure"}])
        s.until_state(id, "succeeded")
        until("it is told", lambda: s.said("refused"))
        equal(s.chunks(id), ["x"])


@case
def a_line_in_many_pieces():
    with Pool() as s:
        text = '{"job":"JOB","attempt":1,"event":{"type":"llm.chunk","id":"m","data":{"chunk":"' + "y" * 300_000 + '"}}}\n'
        steps = []
        for i in range(0, len(text), 50_000):
            steps += [["raw", text[i:i + 50_000]], ["sleep", 0.02]]
        id = s.do(["silent", True], *steps)
        s.until_state(id, "succeeded")
        equal("".join(s.chunks(id)), "y" * 300_000)


# --- stderr ----------------------------------------------------------------------------------------


@case
def stderr_is_tied_to_a_job_where_it_can_be_told():
    with Pool(concurrency=2) as s:
        one = s.do(["stderr", "alone"], ["until", "two"], ["stderr", "who?"], ["stderr", '{"job":"JOB","message":"by name"}'],
                   ["until", "go"])
        s.until_begun(one)
        until("it speaks", lambda: s.said("alone"))
        two = s.do(["until", "go"])
        s.until_begun(two)
        s.touch("two")
        until("it speaks again", lambda: s.said("by name"))
        equal([job for job, _ in s.said("alone")], [one])
        equal([job for job, _ in s.said("who?")], [None])
        equal([job for job, _ in s.said("by name")], [one])
        s.touch("go")
        for id in (one, two):
            s.until_state(id, "succeeded")
