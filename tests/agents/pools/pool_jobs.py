"""Jobs in pools: assigned, reported, ended, cancelled."""

import json
import os
import re
import time

from gateway import SLOW_BUILD, alive, rss_kb, until
from harness import case, cases, check, contains, equal
from pools import Pool


@case
def many_jobs_over_few_processes():
    with Pool(size=2, concurrency=4) as s:
        held = [s.do(["until", "go"]) for _ in range(8)]
        until("both are full", lambda: len(s.notes("jobs")) == 8)
        s.touch("go")
        for id in held:
            s.until_state(id, "succeeded")
        ids = [s.do(["say", f"a{i}"], ["sleep", 0.05], ["say", f"b{i}"]) for i in range(60)]
        for i, id in enumerate(ids):
            job = s.until_state(id, "succeeded")
            equal((job["attempt"], job["error"]), (1, None))
            equal(s.chunks(id), [f"a{i}", f"b{i}"], "its own words, and nobody else's")
        equal(len(s.pids()), 2, "processes")
        check(min(sum(int(row[0]) == p for row in s.notes("jobs")) for p in s.pids()) > 10, "both did their share")
        equal(s.alive(), s.pids(), "and they are there for more")
        equal(s.said(), [])


@case
def places_are_kept():
    with Pool(size=2, concurrency=3) as s:
        ids = [s.do(["until", "go"]) for _ in range(9)]
        until("six are begun", lambda: len(s.notes("jobs")) == 6)
        time.sleep(0.3)  # for one too many to show itself
        equal(len(s.get("/v1/jobs?state=running").json["jobs"]), 6)
        equal(len(s.notes("jobs")), 6)
        equal(sorted([s.begun(id) for id in ids if s.begun(id)].count(p) for p in s.pids()), [3, 3])
        s.touch("go")
        for id in ids:
            s.until_state(id, "succeeded")


@case
def the_order_and_the_environment():
    with Pool(concurrency=5, agent={"lease": "40s", "env": {"KEY": "the value"}}, server={
            "env": {"SPOOLWIRE_TOKEN": "secret"}}) as s:
        s.until_state(s.submit("a", {"steps": [], "q": "ä\n", "n": [1.0]}, job_id="my-job"), "succeeded")
        with open(s.path("order")) as f:
            text = f.read()
        lease = json.loads(text)["lease"]
        check(re.fullmatch(r"1\.1\.[0-9a-f]{32}", lease), lease)
        equal(json.loads(text), {"job": "my-job", "attempt": 1, "lease": lease, "agent": "a", "lease_seconds": 40,
                                 "input": {"steps": [], "q": "ä\n", "n": [1.0]}, "heartbeat_seconds": 10})
        contains(text, '"n":[1.0]')
        with open(s.path(f"env.{s.pids()[0]}")) as f:
            env = json.load(f)
        equal({k: env.get(k) for k in ("SPOOLWIRE_AGENT", "SPOOLWIRE_CONCURRENCY", "KEY", "SPOOLWIRE_URL", "SPOOLWIRE_JOB")},
              {"SPOOLWIRE_AGENT": "a", "SPOOLWIRE_CONCURRENCY": "5", "KEY": "the value", "SPOOLWIRE_URL": s.url,
               "SPOOLWIRE_JOB": None})
        check(env["SPOOLWIRE_TOKEN"] != "secret", "the server's secrets are not the worker's")


@cases([({"status": "success"}, ("succeeded", None, None)),
        ({"status": "success", "output": {"n": [1, "ä"]}}, ("succeeded", None, None)),
        ({"status": "failure", "error": "no luck", "error_type": "ValueError"}, ("failed", "no luck", "ValueError")),
        ({"status": "failure"}, ("failed", None, None)),
        ({"status": "cancelled"}, ("cancelled", None, None))], lambda v: str(v[0]))
def an_ending(value):
    finish, want = value
    with Pool() as s:
        job = s.until_state(s.do(["say", "x"], ["finish", finish]), "succeeded", "failed", "cancelled")
        equal((job["state"], job["output"]), (want[0], finish.get("output")))
        if want[1]:
            equal((job["error"], job["error_type"]), want[1:])


@case
def a_question_waits():
    from gateway import interrupt, root_start
    with Pool() as s:
        id = s.do(["event", root_start()], ["event", interrupt()], ["finish", {"status": "interrupted"}])
        s.until_state(id, "waiting")
        s.until_state(s.do(), "succeeded")  # it has a place again


@case
def the_jobs_own_word_counts():
    with Pool() as s:
        id = s.do(["say", "x"], ["event", {"type": "job.failed", "error": "its own words"}])
        job = s.until_state(id, "failed")
        equal(job["error"], "its own words")
        id = s.do(["event", {"type": "job.done"}], ["until", "never"])
        s.until_state(id, "succeeded")
        s.until_state(s.do(["say", "y"]), "succeeded")
        equal(len(s.pids()), 1, "a job that has ended is stopped, and its process goes on")


@case
def halves_of_a_character_are_joined():
    """As over the other carriers: an emoji cut in two by a tokenizer."""
    with Pool() as s:
        chunk = '{"job":"JOB","attempt":1,"event":{"type":"llm.chunk","id":"m","name":"g","n":NaN,"data":{"chunk":"%s"}}}\n'
        id = s.do(["raw", chunk % "a\\ud83d"], ["raw", chunk % "\\ude00b"])
        s.until_state(id, "succeeded")
        equal("".join(s.chunks(id)), "a\U0001F600b")


@case
def a_job_may_be_handed_back():
    with Pool() as s:
        id = s.do(["first", [["say", "one"], ["return", True]]], ["say", "two"])
        equal(s.until_state(id, "succeeded")["attempt"], 2, "at no cost: its budget is 1")
        equal(s.chunks(id), ["one", "two"])


# --- cancel ----------------------------------------------------------------------------------------


@case
def one_of_several_jobs_is_cancelled():
    with Pool(concurrency=3) as s:
        ids = [s.do(["say", "x"], ["until", "go"], ["say", "y"]) for _ in range(3)]
        for id in ids:
            s.until_begun(id)
        s.post(f"/v1/jobs/{ids[1]}/cancel")
        s.until_state(ids[1], "cancelled")
        equal(s.notes("told"), [[ids[1], "1"]])
        s.until_state(s.do(["say", "in its place"]), "succeeded")
        s.touch("go")
        for id in (ids[0], ids[2]):
            equal(s.until_state(id, "succeeded")["attempt"], 1)
            equal(s.chunks(id), ["x", "y"])
        equal(len(s.pids()), 1, "the process goes on")


@case
def a_pause_does_not_wait_for_a_sign_of_life():
    """A node may think for long, and shall know in time that it is the last one for now."""
    with Pool(concurrency=2, agent={"lease": "10m"}) as s:
        id, other = s.do(["silent", True], ["until", "go"]), s.do(["silent", True], ["until", "go"])
        until("both have begun", lambda: len(s.notes("jobs")) == 2)
        equal(s.post(f"/v1/jobs/{id}/pause").status, 200)
        until("it is told", lambda: s.notes("paused"))
        s.touch("go")
        for one in (id, other):
            s.until_state(one, "succeeded")
        equal(s.notes("paused"), [[id, "1"]], "once, and nobody else")


@case
def a_cancel_that_is_ignored_lets_the_others_finish():
    """The process gets no more jobs, and ends when the others are done."""
    with Pool(concurrency=2, agent={"grace": "300ms"}, drain="120s") as s:
        stuck, other = s.do(["deaf", True], ["until", "never"]), s.do(["say", "x"], ["until", "go"], ["say", "y"])
        pid = s.until_begun(stuck)
        equal(s.until_begun(other), pid)
        s.post(f"/v1/jobs/{stuck}/cancel")
        s.until_state(stuck, "cancelled")
        new = s.do(["say", "z"])
        s.until_state(new, "succeeded")
        check(s.begun(new) != pid, "a new process has it")
        check(alive(pid))
        equal(s.state(other), "running")
        s.touch("go")
        equal(s.until_state(other, "succeeded")["attempt"], 1)
        s.until_gone(pid)
        check(s.said("did not stop"), s.said())


@case
def a_cancel_that_is_ignored_ends_the_process_in_the_end():
    """What the others have not done by then is handed back, at no cost to their budget."""
    with Pool(concurrency=2, agent={"grace": "300ms"}, drain="500ms") as s:
        stuck, other = s.do(["deaf", True], ["until", "never"]), s.do(["say", "x"], ["until", "go"], ["say", "y"])
        pid = s.until_begun(stuck)
        equal(s.until_begun(other), pid)
        s.post(f"/v1/jobs/{stuck}/cancel")
        s.until_state(stuck, "cancelled")
        s.until_gone(pid)
        check(s.until_begun(other, 2) != pid)
        s.touch("go")
        equal(s.until_state(other, "succeeded")["attempt"], 2)
        equal(s.chunks(other), ["x", "x", "y"])


@case
def a_cancelled_job_of_a_process_that_crashes():
    with Pool(agent={"attempts": 2}) as s:
        id = s.do(["deaf", True], ["until", "go"], ["exit", 1])
        s.until_begun(id)
        s.post(f"/v1/jobs/{id}/cancel")
        until("it is told", lambda: s.notes("told"))
        s.touch("go")
        equal(s.until_state(id, "cancelled")["attempt"], 1)


@case
def a_cancel_at_any_moment_of_the_start():
    with Pool(size=2, concurrency=8) as s:
        ids = []
        for i in range(25):
            ids.append(s.do(["say", "x"], ["until", "never"]))
            end = time.monotonic() + i * 0.001
            while time.monotonic() < end:
                pass
            equal(s.post(f"/v1/jobs/{ids[-1]}/cancel").status, 200)
        for id in ids:
            s.until_state(id, "cancelled")
        s.until_state(s.do(), "succeeded")
        check(len(s.pids()) <= 2, s.pids())


@case
def a_deleted_job_is_stopped():
    with Pool() as s:
        id = s.do(["say", "x"], ["until", "never"])
        s.until_begun(id)
        equal(s.request("DELETE", f"/v1/jobs/{id}").status // 100, 2)
        until("it is told", lambda: s.notes("told") == [[id, "1"]])
        s.until_state(s.do(), "succeeded")
        equal(len(s.pids()), 1)


@case
def a_run_deadline_stops():
    with Pool(agent={"run_deadline": "1s"}) as s:
        id = s.do(["say", "x"], ["until", "never"])
        equal(s.until_state(id, "failed")["error_type"], "RunDeadline")
        until("it is told", lambda: s.notes("told") == [[id, "1"]])
        s.until_state(s.do(), "succeeded")
        equal(len(s.pids()), 1)


# --- much --------------------------------------------------------------------------------------------


@case
def much_output_waits_in_the_pipe():
    """The process waits in its write; what is not stored yet is bounded, and all of it arrives."""
    with Pool("--durability", "relaxed", concurrency=2) as s:
        one, two = s.do(["many", 60_000]), s.do(["many", 60_000])
        # SQLite's cache is full by then.
        until("many events", lambda: s.job(one)["events"] + s.job(two)["events"] > 90_000, 120)
        before = rss_kb(s.pid)
        for id in (one, two):
            job = s.until_state(id, "succeeded", seconds=120)
            check(job["events"] > 60_000, job)
        check(SLOW_BUILD or rss_kb(s.pid) < before + 8_000, f"{before} KiB, then {rss_kb(s.pid)}")


@case
def a_large_input():
    with Pool("--max-body", "4M", concurrency=2) as s:
        id = s.submit("a", {"steps": [["say", "x"]], "text": "x" * 3_000_000})
        s.until_state(id, "succeeded")
        equal(os.path.getsize(s.path("order")) > 3_000_000, True)
