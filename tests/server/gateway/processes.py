"""Exec agents: one process for each job."""

import json
import os
import signal
import sys
import time

from gateway import (OPENING, SLOW_BUILD, STORY, WAIT, Server, alive, fixed_port, interrupt, lines, root_start, rss_kb, until)
from harness import case, cases, check, contains, equal


def sh(script, **more):
    return dict({"command": ["sh", "-c", script]}, **more)


def say(*events):
    """Shell that prints these events."""
    text = lines(*events).decode().replace("'", "'\\''")
    return f"printf '%s' '{text}'\n"


def run(agent, input="x", id=None, flags=(), dialect="agent", states=("succeeded", "failed", "cancelled", "waiting")):
    with Server(*flags, agents={"a": agent}) as s:
        id = s.submit("a", input)
        job = s.until_state(id, *states)
        frames = s.read(id, dialect) if job["state"] != "waiting" else None
        return job, frames, s.err()


@case
def success():
    job, frames, _ = run(sh("read job\n" + say(*STORY)))
    equal((job["state"], job["error"], job["attempt"]), ("succeeded", None, 1))
    equal([f.event for f in frames][-1], "job.done")
    equal([f.json["token"] for f in frames if f.event == "agent.token"], ["a", "b", "c"])


@case
def the_order_on_stdin_and_the_environment():
    script = """read -r job; printf '%s\\n' "$job" > order
env > env; pwd > where
"""
    with Server(agents={"a": sh(script, env={"KEY": "the value", "PATH": os.environ["PATH"]}, lease="40s")},
                env={"SPOOLWIRE_TOKEN": "secret", "HOME": "/nowhere"}) as s:
        id = s.submit("a", {"q": "ä\n", "n": [1.0]}, job_id="my-job")
        s.until_state(id, "succeeded")
        with open(os.path.join(s.folder, "order")) as f:
            text = f.read()
        equal(text.count("\n"), 1, "one line")
        order = json.loads(text)
        equal((order["job"], order["attempt"], order["agent"], order["input"], order["lease_seconds"]),
              ("my-job", 1, "a", {"q": "ä\n", "n": [1.0]}, 40))
        contains(text, '"n":[1.0]')
        with open(os.path.join(s.folder, "env")) as f:
            env = dict(row.split("=", 1) for row in f.read().splitlines() if "=" in row)
        equal({k: env.get(k) for k in ("SPOOLWIRE_JOB", "SPOOLWIRE_ATTEMPT", "SPOOLWIRE_AGENT", "KEY", "HOME")},
              {"SPOOLWIRE_JOB": "my-job", "SPOOLWIRE_ATTEMPT": "1", "SPOOLWIRE_AGENT": "a", "KEY": "the value",
               "HOME": "/nowhere"})
        equal(env["SPOOLWIRE_URL"], s.url)
        check(env["SPOOLWIRE_TOKEN"] != "secret", "the server's secrets are not the worker's")
        with open(os.path.join(s.folder, "where")) as f:
            equal(os.path.realpath(f.read().strip()), os.path.realpath(s.folder))


@case
def a_working_folder():
    with Server(agents={"a": sh("pwd > where", cwd="sub")}, start=False) as s:
        os.mkdir(os.path.join(s.folder, "sub"))
        s.start()
        s.until_state(s.submit("a"), "succeeded")
        check(os.path.exists(os.path.join(s.folder, "sub", "where")))


@case
def an_exit_status_is_a_failure_with_stderr():
    job, frames, err = run(sh("echo first >&2\necho 'second: what went wrong' >&2\nexit 3"))
    equal((job["state"], job["error_type"]), ("failed", "ExitStatus"))
    equal(job["error"], "second: what went wrong")
    equal(frames[-1].json["details"], {"exit_status": 3, "stderr": "first\nsecond: what went wrong"})
    equal(job["details"], frames[-1].json["details"])
    equal(frames[-1].json["type"], "job.failed")
    contains(frames[-1].json["error"], "what went wrong")
    said = [json.loads(row) for row in err.splitlines() if '"event":"worker"' in row]
    equal([(row["agent"], row["job"], row["line"]) for row in said],
          [("a", job["job_id"], "first"), ("a", job["job_id"], "second: what went wrong")], "the log has it, too")
    job, _, _ = run(sh("exit 7"))
    equal((job["state"], job["error"]), ("failed", "exit status 7"))


@case
def an_exception_is_the_error_and_its_traceback_a_detail():
    """As Python 3.11 writes it, with the note of LangGraph behind the message."""
    program = """
import json, sys
print(json.dumps({"type": "agent.spawned", "agent_id": "a1", "agent_name": "writer", "node": "writer"}), flush=True)
e = ValueError("no such repository")
if hasattr(e, "add_note"):
    e.add_note("During task with name 'writer' and id '1'")
raise e
"""
    job, frames, _ = run({"command": [sys.executable, "-c", program]}, dialect="envelope")
    equal((job["state"], job["error"], job["error_type"]), ("failed", "no such repository", "ValueError"))
    data = [f.json["data"] for f in frames if f.event == "on_error"][0]
    equal((data["phase"], data["message"]), ("node", "no such repository"))
    equal((data["details"]["error_type"], data["details"]["exit_status"]), ("ValueError", 1))
    contains(data["details"]["stderr"], "Traceback (most recent call last):", "ValueError: no such repository")


@case
def events_before_a_failure_are_kept_and_closed():
    job, frames, _ = run(sh("read job\n" + say(*STORY[:5]) + "echo oh >&2; exit 1"))
    equal(job["state"], "failed")
    equal([f.event for f in frames], ["agent.spawned", "agent.token", "agent.token", "agent.done", "job.failed"])
    equal(frames[3].json["status"], "error")


@cases([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], lambda n: n.name)
def a_signal_is_a_failure(number):
    job, _, _ = run(sh(f"echo before >&2; kill -{int(number)} $$"))
    equal((job["state"], job["error_type"]), ("failed", "Signal"))
    equal(job["error"], f"killed by signal {int(number)} ({number.name})")


@case
def a_program_that_is_not_there():
    job, _, _ = run({"command": ["/no/such/program", "x"]})
    equal((job["state"], job["error_type"]), ("failed", "SpawnFailed"))
    contains(job["error"], "/no/such/program", "no such file")
    job, _, _ = run(sh("true", cwd="/no/such/folder"))
    equal(job["state"], "failed")
    contains(job["error"], "/no/such/folder")


@case
def the_workers_own_word_counts():
    job, frames, _ = run(sh("read job\n" + say(*STORY, {"type": "job.failed", "error": "its own words"}) + "exit 0"))
    equal((job["state"], job["error"]), ("failed", "its own words"))
    equal([f.event for f in frames].count("job.failed"), 1)
    job, frames, _ = run(sh("read job\n" + say(*STORY, {"type": "job.done"}) + "echo late >&2; exit 9"))
    equal((job["state"], job["error"]), ("succeeded", None), "a later exit changes nothing")
    equal([f.event for f in frames][-1], "job.done")


@case
def runs_left_open_are_a_failure_and_a_question_waits():
    job, _, _ = run(sh("read job\n" + say(*OPENING)))
    equal(job["state"], "failed")
    job, _, _ = run(sh("read job\n" + say(root_start(), interrupt())))
    equal(job["state"], "waiting")


@case
def half_a_line_at_the_end():
    job, frames, _ = run(sh("read job\n" + say(*STORY).replace("\n'", "'", 1)))
    equal((job["state"], [f.event for f in frames][-1]), ("succeeded", "job.done"))


@case
def lines_that_are_no_events_are_told_and_passed_over():
    job, frames, err = run(sh("read job\necho 'Loading model...'\n" + say(*STORY) + "echo done."))
    equal(job["state"], "succeeded")
    equal([f.json["token"] for f in frames if f.event == "agent.token"], ["a", "b", "c"])
    contains(err, "line")


@case
def a_silent_process_keeps_its_lease():
    job, _, _ = run(sh("sleep 5", lease="2s"))
    equal((job["state"], job["error"]), ("succeeded", None))


@case
def a_process_that_reads_nothing():
    job, _, _ = run({"command": ["true"]}, input="x" * 1_000_000)
    equal(job["state"], "succeeded")


@case
def a_process_may_read_to_the_end_of_its_input():
    with Server(agents={"a": sh("cat > order")}) as s:
        s.until_state(s.submit("a", "x" * 200_000, job_id="j"), "succeeded")
        with open(os.path.join(s.folder, "order")) as f:
            equal(json.load(f)["input"], "x" * 200_000)


@case
def a_failure_of_a_process_is_not_retried():
    job, _, _ = run(sh("exit 1", attempts=5))
    equal((job["state"], job["attempt"]), ("failed", 1))


@case
def a_line_without_end():
    job, _, _ = run(sh("read job; head -c 17000000 /dev/zero | tr '\\0' x; sleep 100"))
    equal((job["state"], job["error_type"]), ("failed", "LineTooLong"))


@case
def an_output_without_end():
    """The worker waits in its write; what is not stored yet is bounded."""
    line = json.dumps({"type": "llm.chunk", "data": {"chunk": "x" * 300}})
    with Server("--durability", "relaxed", agents={"a": sh(f"read job; exec yes '{line}'")}) as s:
        id = s.submit("a")
        until("many events", lambda: s.job(id)["events"] > 100_000, 4 * WAIT)
        before = rss_kb(s.pid)
        until("many more", lambda: s.job(id)["events"] > 250_000, 4 * WAIT)
        check(SLOW_BUILD or rss_kb(s.pid) < before + 8000, f"{before} KiB, then {rss_kb(s.pid)}")
        s.post(f"/v1/jobs/{id}/cancel")
        s.until_state(id, "cancelled")


@case
def a_large_output():
    job, _, _ = run(sh("read job\n" + say(*OPENING) + "i=0; while [ $i -lt 3000 ]; do echo '" +
                       json.dumps({"type": "llm.chunk", "data": {"chunk": "x" * 500}}) + "'; i=$((i+1)); done; echo '" +
                       json.dumps({"type": "job.done"}) + "'"))
    equal(job["state"], "succeeded")
    check(job["events"] > 3000, job)


# --- cancel ----------------------------------------------------------------------------------------


FAMILY = """read job
sh -c 'sh -c "echo \\$\\$ >> pids; exec sleep 300" & echo $$ >> pids; exec sleep 300' &
echo $$ >> pids
echo '{"type":"llm.chunk","data":{"chunk":"x"}}'
wait
"""


def pids(s):
    try:
        with open(os.path.join(s.folder, "pids")) as f:
            return [int(x) for x in f.read().split()]
    except FileNotFoundError:
        return []


@case
def a_cancel_ends_the_whole_family():
    with Server(agents={"a": sh(FAMILY)}) as s:
        id = s.submit("a")
        until("three processes", lambda: len(pids(s)) == 3)
        check(all(alive(p) for p in pids(s)))
        s.post(f"/v1/jobs/{id}/cancel")
        s.until_state(id, "cancelled")
        until("all are gone", lambda: not any(alive(p) for p in pids(s)))


@case
def a_cancel_ends_who_does_not_listen():
    script = FAMILY.replace("read job\n", "trap '' TERM; read job\n").replace("wait\n", "while true; do sleep 1; done\n")
    with Server(agents={"a": sh(script, grace="300ms")}) as s:
        id = s.submit("a")
        until("three processes", lambda: len(pids(s)) == 3)
        s.post(f"/v1/jobs/{id}/cancel")
        s.until_state(id, "cancelled")
        until("all are gone", lambda: not any(alive(p) for p in pids(s)))


@case
def a_cancel_may_be_tidied_up():
    """SIGTERM comes first, and what the worker says in its grace time is kept."""
    script = "trap 'echo bye >&2; " + say({"type": "artifact.update", "name": "last", "data": {
        "type": "output", "content": "last words"}}).strip().replace("'", "'\\''") + "; exit 0' TERM\n"
    script = script + "read job\necho '{\"type\":\"llm.chunk\",\"data\":{\"chunk\":\"x\"}}'\nwhile true; do sleep 0.05; done\n"
    with Server(agents={"a": sh(script)}) as s:
        id = s.submit("a")
        with s.stream(id, "raw") as st:
            st.until("the first event", lambda st: len(st.stored) >= 2)
            s.post(f"/v1/jobs/{id}/cancel")
            st.rest()
            contains(str([f.data for f in st.frames]), "last words")
        equal(s.state(id), "cancelled")
        until("the log", lambda: "bye" in s.err())


@case
def a_cancel_before_there_is_a_place():
    with Server(agents={"a": sh("read job; sleep 300", concurrency=1)}) as s:
        one = s.submit("a")
        s.until_state(one, "running")
        two = s.submit("a")
        equal(s.state(two), "queued")
        s.post(f"/v1/jobs/{two}/cancel")
        equal(s.state(two), "cancelled")
        s.post(f"/v1/jobs/{one}/cancel")
        s.until_state(one, "cancelled")
        equal(s.job(two)["attempt"], 0, "it never ran")


@case
def a_cancel_at_any_moment_of_the_start():
    with Server(agents={"a": sh("read job; echo $$ >> pids; exec sleep 300")}) as s:
        ids = []
        for i in range(25):
            ids.append(s.submit("a"))
            end = time.monotonic() + i * 0.001
            while time.monotonic() < end:
                pass
            equal(s.post(f"/v1/jobs/{ids[-1]}/cancel").status, 200)
        for id in ids:
            s.until_state(id, "cancelled")
        until("no process is left", lambda: not any(alive(p) for p in pids(s)))


@case
def a_background_process_does_not_outlive_its_job():
    with Server(agents={"a": sh("read job; sleep 300 & echo $! >> pids; exit 0")}) as s:
        id = s.submit("a")
        s.until_state(id, "succeeded")
        until("it is gone", lambda: not any(alive(p) for p in pids(s)))


@case
def a_process_that_leaves_the_family_does_not_hold_its_job():
    """It has a session of its own and keeps stdout open: the job ends all the same."""
    script = say(*STORY) + "setsid sh -c 'echo $$ >> pids; exec sleep 60' & exit 0"
    with Server(agents={"a": sh("read job\n" + script)}) as s:
        id = s.submit("a")
        try:
            s.until_state(id, "succeeded")
        finally:
            for p in pids(s):
                os.kill(p, signal.SIGKILL)


# --- the server is killed ------------------------------------------------------------------------


@case
def a_silent_process_dies_with_the_server():
    """It blocks and writes nothing, so no broken pipe would ever tell it; nobody starts the server again."""
    with Server(agents={"a": sh("read job; echo $$ >> pids; exec sleep 300"),
                        "p": sh("echo $$ >> pids; read job; exec sleep 300", pool={"size": 1})}) as s:
        s.submit("a")
        s.submit("p")
        until("both run", lambda: len(pids(s)) == 2)
        check(all(alive(p) for p in pids(s)))
        s.kill()
        until("they are gone", lambda: not any(alive(p) for p in pids(s)))


@case
def what_is_left_of_a_family_goes_at_the_next_start():
    """Children of the process, also one with a session of its own; and nobody else's processes."""
    script = FAMILY.replace("wait\n", "setsid sh -c 'echo $$ >> pids; exec sleep 300' &\nwait\n")
    with Server(port=fixed_port(), agents={"a": sh(script, attempts=1)}) as s, \
            Server(agents={"a": sh("read job; echo $$ >> pids; exec sleep 300")}) as other:
        id, theirs = s.submit("a"), other.submit("a")
        until("four processes", lambda: len(pids(s)) == 4 and len(pids(other)) == 1)
        left = pids(s)
        s.kill()
        s.start()
        until("all are gone", lambda: not any(alive(p) for p in left))
        equal(s.until_state(id, "failed")["error_type"], "ServerRestart")
        contains(s.err(), "left behind")
        check(alive(pids(other)[0]), "another server's go on")
        equal(other.state(theirs), "running")


# --- the log ---------------------------------------------------------------------------------------


@case
def a_log_that_nobody_reads_stops_nothing():
    """stderr is a pipe, and it is full: the process that talks so much ends, others run, the server stops."""
    talk = "read job; head -c 3000000 /dev/zero | tr '\\0' x | fold -w 100 >&2"
    with Server(agents={"a": sh(talk), "b": sh("read job")}, start=False) as s:
        out, unread = os.pipe()
        try:
            s.start(stderr=unread)
            one, two = s.submit("a"), s.submit("b")
            s.until_state(two, "succeeded")
            s.until_state(one, "succeeded")
            s.terminate()
        finally:
            os.close(unread)
            os.close(out)


# --- places, deadlines, limits -------------------------------------------------------------------


@case
def places_are_kept():
    script = "read job; echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done"
    with Server(agents={"a": sh(script, concurrency=2), "b": sh("read job", concurrency=1)}) as s:
        ids = [s.submit("a") for _ in range(5)]
        until("two run", lambda: len(s.get("/v1/jobs?state=running").json["jobs"]) == 2)
        quick = s.submit("b")
        s.until_state(quick, "succeeded")
        equal(len(s.get("/v1/jobs?state=running").json["jobs"]), 2, "another agent has places of its own")
        until("two processes", lambda: len(pids(s)) == 2)
        open(os.path.join(s.folder, "go"), "w").close()
        for id in ids:
            s.until_state(id, "succeeded")


@case
def a_run_deadline_kills():
    with Server(agents={"a": sh("read job; echo $$ >> pids; exec sleep 300", run_deadline="4s")}) as s:
        id = s.submit("a")
        until("it runs", lambda: pids(s))
        j = s.until_state(id, "failed")
        equal(j["error_type"], "RunDeadline")
        until("the process is gone", lambda: not any(alive(p) for p in pids(s)))


@case
def limits_hold():
    with Server(agents={"cpu": {"command": ["sh", "-c", "while :; do :; done"], "max_cpu": "1s"}}) as s:
        id = s.submit("cpu")
        j = s.until_state(id, "failed", seconds=4 * WAIT)
        contains(j["error"], "SIGXCPU")


@case
def fifty_jobs_at_once():
    with Server("--durability", "relaxed", agents={"a": sh("read job\n" + say(*STORY), concurrency=8)}) as s:
        ids = [s.submit("a") for _ in range(50)]
        for id in ids:
            s.until_state(id, "succeeded", seconds=4 * WAIT)
        for id in ids[::10]:
            equal([f.id for f in s.read(id)], [str(n) for n in range(1, 14)])
