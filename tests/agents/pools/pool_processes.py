"""Processes of pools: started, replaced, ended."""

import json
import os
import signal
import tempfile
import time

from gateway import alive, until
from harness import PROGRAM, case, check, contains, equal
from pools import WORKER, Pool, pool


# --- warm and on demand ----------------------------------------------------------------------------


@case
def a_warm_start():
    with Pool(size=3, warm=2) as s:
        until("two processes", lambda: len(s.pids()) == 2)
        id = s.do(["say", "x"])
        s.until_state(id, "succeeded")
        check(s.begun(id) in s.pids())
        equal(len(s.pids()), 2, "no job, no third process")


@case
def a_cold_start_on_demand():
    with Pool(size=3, warm=0) as s:
        s.until_state(s.submit("a", {"steps": []}), "succeeded")
        equal(len(s.pids()), 1, "none before the first job, one for one job")
        ids = [s.do(["until", "go"]) for _ in range(5)]
        until("three processes", lambda: len(s.pids()) == 3)
        until("three jobs", lambda: len(s.notes("jobs")) == 1 + 3)
        equal(len({s.begun(id) for id in ids if s.begun(id)}), 3)
        s.touch("go")
        for id in ids:
            s.until_state(id, "succeeded")
        equal(len(s.pids()), 3)


@case
def no_job_before_it_is_ready():
    """A slow start takes nothing of a job's lease, and a job that waits for it may be cancelled."""
    slow = ["sh", "-c", 'while [ ! -e go ]; do sleep 0.02; done; exec "$@"', "sh", *WORKER]
    with Pool(command=slow, agent={"lease": "3s"}) as s:
        one, two = s.do(["say", "x"]), s.do(["say", "y"])
        time.sleep(3.5)  # more than a lease
        equal((s.state(one), s.state(two)), ("queued", "queued"))
        s.post(f"/v1/jobs/{two}/cancel")
        equal(s.state(two), "cancelled")
        s.touch("go")
        equal(s.until_state(one, "succeeded")["attempt"], 1)


# --- replaced --------------------------------------------------------------------------------------


@case
def recycled_after_jobs():
    with Pool(size=2, recycle_jobs=3, concurrency=2) as s:
        ids = [s.do(["say", "x"], ["sleep", 0.02]) for _ in range(20)]
        for id in ids:
            equal(s.until_state(id, "succeeded")["attempt"], 1)
        per = [sum(int(row[0]) == p for row in s.notes("jobs")) for p in s.pids()]
        check(max(per) <= 3 and len(per) >= 7, per)
        until("the others are gone", lambda: len(s.alive()) <= 2)
        until("they saw the end of their input", lambda: len(s.notes("ends")) >= 6)
        equal(s.said(), [], "this is nothing to speak of")


@case
def a_process_for_each_job_by_recycling():
    with Pool(size=2, recycle_jobs=1) as s:
        ids = [s.do(["until", "go"]) for _ in range(6)]
        until("two are begun", lambda: len(s.notes("jobs")) == 2)
        time.sleep(0.5)  # for one too many to show itself
        equal(len(s.notes("jobs")), 2)
        check(len(s.alive()) <= 4, "those that retire, and as many that are ready")
        s.touch("go")
        for id in ids:
            s.until_state(id, "succeeded")
        equal(len({row[0] for row in s.notes("jobs")}), 6)


@case
def recycled_for_its_memory():
    with Pool(recycle_memory="150M", concurrency=2) as s:
        small = [s.do(["say", "x"]) for _ in range(4)]
        for id in small:
            s.until_state(id, "succeeded")
        equal(len(s.pids()), 1)
        large, other = s.do(["hoard", 200_000_000]), s.do(["until", "go"])
        s.until_state(large, "succeeded")
        s.until_begun(other)
        new = s.do(["say", "y"])
        s.until_state(new, "succeeded")
        check(s.begun(new) != s.begun(large), "a new process has it")
        check(alive(s.begun(other)), "the old one has a job")
        s.touch("go")
        equal(s.until_state(other, "succeeded")["attempt"], 1)
        s.until_gone(s.begun(large))


@case
def replaced_when_its_files_change():
    """Also in a folder that is made later; what is no source changes nothing."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as aside, \
            Pool(concurrency=2, watch=[folder]) as s:
        old = s.until_begun(s.do(["until", "go"]))
        for name in (f"{folder}/agent.log", f"{folder}/.agent.py", f"{folder}/node_modules", f"{aside}/inner"):
            os.mkdir(name)
        for name in (f"{folder}/node_modules/x.js", f"{folder}/agent.log/x", f"{aside}/inner/agent.py"):
            with open(name, "w") as f:
                f.write("x")
        os.rename(f"{aside}/inner", f"{folder}/inner")  # one change, however slow we are
        until("another process", lambda: len(s.pids()) == 2)
        os.utime(os.path.join(folder, "inner/agent.py"))
        until("and another", lambda: len(s.pids()) == 3)
        new = s.do(["say", "x"])
        s.until_state(new, "succeeded")
        equal(s.begun(new), s.pids()[2])
        check(alive(old), "it has a job")
        s.touch("go")
        s.until_gone(old)
        equal(len(s.pids()), 3)


@case
def one_that_cannot_start_is_tried_again_when_its_files_change():
    with tempfile.TemporaryDirectory() as folder:
        fixed = os.path.join(folder, "fixed.py")
        command = ["sh", "-c", f'test -e {fixed} && exec "$@"', "sh", *WORKER]
        with Pool(command=command, watch=[folder], backoff="1h") as s:
            until("it has failed often", lambda: len(s.said("none is started for")) >= 4)
            open(fixed, "w").close()
            s.until_state(s.do(["say", "x"]), "succeeded")


@case
def one_that_does_not_leave_is_ended():
    """It ignores the end of its input, then SIGTERM."""
    script = """import json, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("pids", "a").write(str(__import__("os").getpid()) + "\\n")
print('{"ready":true}', flush=True)
job = json.loads(sys.stdin.readline())
print(json.dumps({"job": job["job"], "attempt": job["attempt"], "finish": {"status": "success"}}), flush=True)
time.sleep(300)"""
    with Pool(command=[WORKER[0], "-c", script], recycle_jobs=1, agent={"grace": "200ms"}) as s:
        s.until_state(s.do(), "succeeded")
        s.until_gone(s.pids()[0])


# --- back-off --------------------------------------------------------------------------------------


@case
def a_command_that_exits_at_once_does_not_spin():
    script = 'echo $$ >> starts; [ -e go ] && exec "$@"; echo no module named graph >&2; exit 1'
    with Pool(command=["sh", "-c", script, "sh", *WORKER], size=4, warm=4) as s:
        id = s.do(["say", "x"])
        time.sleep(3)
        n = len(s.notes("starts"))
        check(2 <= n <= 4 * 5, f"{n} starts in 3 s")  # at 0, 0.25, 0.75, 1.75 s
        equal(s.state(id), "queued", "it waits, and loses nothing")
        contains(s.said("pool")[0][1], "no module named graph", "ms")
        s.touch("go")
        equal(s.until_state(id, "succeeded")["attempt"], 1)


@case
def back_off_has_a_limit_and_an_end():
    script = 'echo $$ >> starts; [ -e go ] && exec "$@"; exit 1'
    with Pool(command=["sh", "-c", script, "sh", *WORKER], backoff="2s") as s:
        until("the longest pause", lambda: s.said("for 2000 ms"))
        until("and again", lambda: len(s.said("for 2000 ms")) >= 2)
        s.touch("go")
        s.until_state(s.do(), "succeeded")
        os.kill(s.alive()[0], signal.SIGKILL)
        until("it is told", lambda: s.said("SIGKILL"))
        contains(s.said("SIGKILL")[0][1], "for 250 ms")
        s.until_state(s.do(), "succeeded")


@case
def a_program_that_is_not_there():
    with Pool(command=["/no/such/program"]) as s:
        id = s.do()
        until("it is told", lambda: s.said("cannot start /no/such/program"))
        time.sleep(1)
        check(len(s.said("cannot start")) <= 4, s.said())
        equal(s.state(id), "queued")
        s.post(f"/v1/jobs/{id}/cancel")
        equal(s.state(id), "cancelled")


@case
def one_that_never_says_that_it_is_ready():
    with Pool(command=["sh", "-c", "echo $$ >> pids; exec sleep 300"], start="300ms") as s:
        id = s.do()
        until("it is told", lambda: s.said("ready"))
        until("another is tried", lambda: len(s.pids()) >= 2)
        s.until_gone(s.pids()[0])
        equal(s.state(id), "queued")


# --- the server goes -------------------------------------------------------------------------------


@case
def a_graceful_stop_hands_back():
    with Pool("--shutdown-window", "10s", size=2, concurrency=2) as s:
        ids = [s.do(["say", "x"], ["until", "go"], ["say", "y"]) for _ in range(4)]
        for id in ids:
            s.until_begun(id)
        begin = time.monotonic()
        s.terminate()
        check(time.monotonic() - begin < 8, "they obeyed SIGTERM")
        equal(s.alive(), [])
        s.touch("go")
        s.start()
        for id in ids:
            job = s.until_state(id, "succeeded")
            equal(job["attempt"], 2, "at no cost: its budget is 1")
            equal(s.chunks(id), ["x", "x", "y"])


@case
def a_graceful_stop_takes_what_is_said_in_time():
    """A worker that listens to SIGTERM says how far it got, and hands back itself."""
    script = """import json, signal, sys
def stop(*_):
    print(json.dumps({**job, "event": {"type": "llm.chunk", "id": "m", "data": {"chunk": "bye"}}}))
    print(json.dumps({**job, "finish": {"status": "failure", "error": "stopped in time"}}), flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, stop)
print('{"ready":true}', flush=True)
job = {k: v for k, v in json.loads(sys.stdin.readline()).items() if k in ("job", "attempt")}
print(json.dumps({**job, "heartbeat": True}), flush=True)
open("jobs", "w").write(f"1 {job['job']} 1\\n")
signal.pause()"""
    with Pool("--shutdown-window", "10s", command=[WORKER[0], "-c", script]) as s:
        id = s.do()
        s.until_begun(id)
        s.restart()
        equal((s.state(id), s.job(id)["error"]), ("failed", "stopped in time"))
        equal(s.chunks(id), ["bye"])


@case
def idle_processes_end_with_the_server():
    with Pool("--shutdown-window", "10s", size=3, warm=3) as s:
        until("three processes", lambda: len(s.pids()) == 3)
        until("all are ready", lambda: len([n for n in os.listdir(s.folder) if n.startswith("env.")]) == 3)
        begin = time.monotonic()
        s.terminate()
        check(time.monotonic() - begin < 8)
        equal(s.alive(), [])


@case
def kill_9_of_the_server():
    with Pool(size=2, concurrency=2, agent={"attempts": 2}) as s:
        ids = [s.do(["say", "x"], ["until", "go"], ["say", "y"]) for _ in range(4)]
        for id in ids:
            s.until_begun(id)
            until("it has spoken", lambda: s.job(id)["events"] >= 2)
        old = s.alive()
        equal(len(old), 2)
        s.kill()
        for pid in old:
            s.until_gone(pid)
        s.touch("go")
        s.start()
        for id in ids:
            job = s.until_state(id, "succeeded")
            equal(job["attempt"], 2)
            equal(s.chunks(id), ["x", "x", "y"])
            frames = s.read(id, "agent")
            equal([f.event for f in frames if f.event.startswith("job.")], ["job.done"], "one ending")


# --- the demo --------------------------------------------------------------------------------------


@case
def the_demo_agent_as_a_pool():
    """It says the same in a pool as in a process of its own."""
    input = {"issue": "API returns 500", "speed": 0, "question": False}
    said = []
    for agents in ({"demo": {"pool": {"size": 1, "concurrency": 8}}}, {"demo": {"concurrency": 2}}):
        with Pool(others=agents, size=1, warm=0) as s:
            ids = [s.submit("demo", {**input, "seed": i}, job_id=f"demo-job-{i}") for i in range(8)]
            for id in ids:
                s.until_state(id, "succeeded")
            said.append([[(f.event, f.json.get("token"), f.json.get("content")) for f in s.read(id, "agent")]
                         for id in ids])
            bad = s.until_state(s.submit("demo", {"fail_at": "critic", "speed": 0}), "failed")
            contains(bad["error"], "critic was told to fail")
    equal(said[0], said[1])


@case
def the_demo_agent_is_cancelled_and_killed():
    with Pool(others={"demo": {"pool": {"size": 1, "concurrency": 3}, "attempts": 3, "grace": "60s"}}, warm=0) as s:
        ids = [s.submit("demo", {"speed": 0.5, "question": False}) for _ in range(2)]
        for id in ids:
            until("it speaks", lambda: s.job(id)["events"] >= 3)
        s.post(f"/v1/jobs/{ids[0]}/cancel")
        s.until_state(ids[0], "cancelled")
        with open(f"/proc/{s.pid}/task/{s.pid}/children") as f:
            children = [int(p) for p in f.read().split()]
        demo = [p for p in all_children(s.pid) if b"--pool" in open(f"/proc/{p}/cmdline", "rb").read()]
        equal(len(demo), 1, f"{children}")
        os.kill(demo[0], signal.SIGKILL)
        until("the other is taken up again", lambda: s.job(ids[1])["attempt"] == 2)
        s.post(f"/v1/jobs/{ids[1]}/cancel")
        s.until_state(ids[1], "cancelled")


def all_children(pid):
    """Also of its threads."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as f:
            found += [int(p) for p in f.read().split()]
    return found


@case
def the_demo_agents_lines():
    """By hand: what a process of a pool writes, without a server."""
    import subprocess
    orders = [{"job": "a", "attempt": 1, "input": {"speed": 0, "length": 20, "question": False}},
              {"job": "b", "attempt": 3, "input": {"speed": 1}},
              {"job": "b", "attempt": 3, "cancel": True},
              {"job": "c", "attempt": 1, "input": {"fan_out": "many"}}]
    done = subprocess.run([PROGRAM, "demo-agent", "--pool"], input="".join(json.dumps(o) + "\n" for o in orders),
                          capture_output=True, text=True, timeout=30)
    equal((done.returncode, done.stderr), (0, ""))
    lines = [json.loads(row) for row in done.stdout.splitlines()]
    equal(lines[0], {"ready": True})
    ends = {row["job"]: (row["attempt"], row["finish"]) for row in lines[1:] if "finish" in row}
    equal(ends["a"], (1, {"status": "success"}))
    equal(ends["b"], (3, {"status": "cancelled"}))
    equal(ends["c"][1]["status"], "failure")
    check(sum(row["job"] == "a" and "event" in row for row in lines[1:]) > 20)
    both = subprocess.run([PROGRAM, "demo-agent", "--pool", "--pull", "http://127.0.0.1:1"], capture_output=True)
    equal(both.returncode, 2)


@case
def two_agents_have_pools_of_their_own():
    with Pool(size=1, others={"b": pool(1)}) as s:
        held = s.do(["until", "go"])
        s.until_begun(held)
        s.until_state(s.submit("b", {"steps": [["say", "x"]]}), "succeeded")
        s.touch("go")
        s.until_state(held, "succeeded")
