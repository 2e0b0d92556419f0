"""The server goes away in mid-run and comes back: nothing that it acknowledged is lost."""

import os
import signal
import stat
import subprocess
import threading
import time

from gateway import (CLOSING, OPENING, PROGRAM, PULL, STORY, WAIT, Server, Worker, alive, at_once, fixed_port,
                     interrupt, root_start, running, seq, token, until, with_ids)
from harness import DIALECTS, case, cases, check, contains, equal, sqlite_only
from processes import pids, say, sh

ENDS = {"SIGTERM": Server.terminate, "kill -9": Server.kill}


def snapshot(s, id, dialects=DIALECTS):
    """All that is there of a job that has not ended, in every dialect."""
    result = {}
    for d in dialects:
        page = s.get(f"/v1/jobs/{id}/events?dialect={d}&wait=0&limit=1000").json
        n = sum(e.get("id") is not None for e in page["events"])
        with s.stream(id, d) as st:
            result[d] = st.until(f"{n} frames", lambda st: len(st.stored) >= n).stored
            equal(len(result[d]), n, d)
    return result


# Edge case 48.
@cases(ENDS)
def a_pull_worker_goes_on(how):
    """It holds the same lease, repeats what got no answer, and finishes."""
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*STORY[:4])
        before = snapshot(s, "j")
        s.restart(lambda: ENDS[how](s))
        equal(s.state("j"), "running")
        equal(snapshot(s, "j"), before, "the same bytes")
        lease.append(*STORY[:4], seq=0)
        equal(s.job("j")["events"], 5, "a batch from before is known")
        lease.send(token("B"))
        s.restart(lambda: ENDS[how](s))
        lease.beat()
        lease.send(*STORY[5:])
        equal(lease.finish(), "succeeded")
        equal([f.json["token"] for f in s.read("j", "agent") if f.event == "agent.token"], ["a", "B", "c"])
        for d in DIALECTS:
            full = with_ids(s.read("j", d))
            check(full[:len(before[d])] == before[d], d)


# Edge case 48.
@cases(ENDS)
def every_state_survives(how):
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        w = Worker(s)
        s.submit(job_id="ok")
        lease = w.lease()
        lease.send(*STORY)
        lease.finish()
        s.submit(job_id="bad")
        w.lease().finish("failure", error="why", error_type="T")
        s.submit(job_id="asks")
        lease = w.lease()
        lease.send(root_start(), interrupt())
        lease.finish("interrupted")
        s.submit(job_id="stopped")
        s.post("/v1/jobs/stopped/cancel")
        s.submit(job_id="runs")
        running_lease = w.lease()
        s.submit(job_id="stopping")
        stopping = w.lease()
        s.post("/v1/jobs/stopping/cancel")
        s.submit(job_id="first")
        s.submit(job_id="second")
        before = s.get("/v1/jobs?limit=100").json
        frames = {j["job_id"]: [f.data for f in s.read(j["job_id"])] for j in before["jobs"]
                  if j["state"] in ("succeeded", "failed", "cancelled")}
        s.restart(lambda: ENDS[how](s))
        equal(s.get("/v1/jobs?limit=100").json, before)
        for id, data in frames.items():
            equal([f.data for f in s.read(id)], data)
        equal(running_lease.finish(), "succeeded")
        equal(stopping.beat()["cancel"], True, "a cancel request is remembered")
        equal(stopping.finish(), "cancelled")
        equal([w.lease().job, w.lease().job], ["first", "second"], "in their order")


# Edge case 48.
@cases(ENDS)
def an_exec_job_is_retried_within_its_budget(how):
    script = "read job\necho $$ >> pids\n" + say(*STORY[:4]) + "[ -e go ] || exec sleep 300\n"
    with Server(port=fixed_port(), agents={"a": sh(script, attempts=2)}) as s:
        id = s.submit("a", job_id="j")
        until("it has said something", lambda: s.job(id)["events"] >= 5)
        before = snapshot(s, id, ["agent", "raw"])
        first = pids(s)[0]
        ENDS[how](s)
        open(os.path.join(s.folder, "go"), "w").close()
        if how == "SIGTERM":
            check(not alive(first), "it was ended with the server")
        s.start()
        j = s.until_state(id, "succeeded", "failed")
        equal((j["attempt"], len(pids(s))), (2, 2))
        after = s.read(id, "raw")
        check(after[:len(before["raw"])] == before["raw"], "what was there stays as it was")
        contains(str([f.data for f in after]), "retry")
        if alive(first):
            os.kill(first, signal.SIGKILL)


# Edge case 48.
@case
def an_exec_job_without_budget_fails_with_a_reason():
    with Server(port=fixed_port(), agents={"a": sh("read job; echo $$ >> pids; exec sleep 300", attempts=1)}) as s:
        id = s.submit("a")
        until("it runs", lambda: pids(s))
        s.kill()
        s.start()
        j = s.until_state(id, "failed")
        check(j["error"] and j["error_type"], j)
        equal(s.read(id, "agent")[-1].json["type"], "job.failed")
        for p in pids(s):
            if alive(p):
                os.kill(p, signal.SIGKILL)


@case
def a_cancel_is_kept_over_a_crash():
    script = "trap '' TERM; read job; echo $$ >> pids; while [ ! -e go ]; do sleep 0.05; done"
    with Server(port=fixed_port(), agents={"a": sh(script, attempts=5)}) as s:
        id = s.submit("a")
        until("it runs", lambda: pids(s))
        s.post(f"/v1/jobs/{id}/cancel")
        s.kill()
        open(os.path.join(s.folder, "go"), "w").close()
        s.start()
        s.until_state(id, "cancelled")
        equal(len(pids(s)), 1, "and nothing is started for it")


@case
def jobs_whose_agent_is_gone():
    """The configuration has changed: they can still be seen, finished by who has them, and cancelled."""
    with Server(port=fixed_port(), agents={"pull": PULL, "b": PULL}) as s:
        s.submit(job_id="queued")
        s.submit("b", job_id="running")
        lease = Worker(s, "b").lease()
        lease.send(*STORY[:4])
        s.terminate()
        s.flags = ["--no-demo"]
        s.start()
        equal(s.get("/v1/jobs/async/agents").json, {"agents": []})
        equal((s.state("queued"), s.state("running")), ("queued", "running"))
        lease.send(*STORY[4:])
        equal(lease.finish(), "succeeded")
        equal(s.post("/v1/jobs/queued/cancel").status, 200)
        equal(s.state("queued"), "cancelled")
        equal(s.post("/v1/jobs", {"agent": "pull"}).status, 400)
        for id in ("queued", "running"):
            check(s.read(id, "agent"), id)


@case
def a_graceful_stop_costs_an_exec_job_nothing():
    script = "read job\necho $$ >> pids\n[ -e go ] || exec sleep 300\n"
    with Server(port=fixed_port(), agents={"a": sh(script, attempts=1)}) as s:
        id = s.submit("a")
        for n in (1, 2, 3):
            until("it runs", lambda: len(pids(s)) == n)
            s.terminate()
            check(not any(alive(p) for p in pids(s)), "its process has ended")
            if n == 3:
                open(os.path.join(s.folder, "go"), "w").close()
            s.start()
        j = s.until_state(id, "succeeded")
        equal(j["attempt"], 4)


@case
def a_queued_exec_job_starts_after_a_restart():
    with Server(port=fixed_port(), agents={"a": sh("read job; [ -e go ] || exec sleep 300", concurrency=1, attempts=5)}) as s:
        one, two = s.submit("a"), s.submit("a")
        s.until_state(one, "running")
        s.kill()
        open(os.path.join(s.folder, "go"), "w").close()
        s.start()
        s.until_state(one, "succeeded")
        s.until_state(two, "succeeded")


@case
def nothing_acknowledged_is_lost():
    """kill -9 again and again under a worker that writes as fast as it can; a reader that resumes."""
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.append(*OPENING, seq=0)
        acked, stop = [0], threading.Event()
        total = 250
        port = s.port

        def write():
            n = 1
            while n <= total:
                try:
                    a = lease.try_append(*[token(f"{n}.{k} ") for k in range(3)], seq=n)
                except (OSError, AssertionError):
                    time.sleep(0.01)  # the server is away: the same batch again
                    continue
                if a.status == 503:
                    continue
                equal(a.status, 200, repr(a))
                acked[0] = n
                n += 1
            while True:
                try:
                    lease.append(*CLOSING, seq=total + 1)
                    break
                except (OSError, AssertionError):
                    time.sleep(0.01)
            stop.set()

        def crash():
            for i in range(5):
                goal = (i + 1) * total // 6
                until(f"batch {goal}", lambda: acked[0] >= goal, 60, 0.001)
                s.kill()
                before = acked[0]
                s.start()
                equal(s.port, port)
                check(s.job("j")["events"] >= 4 + 3 * before, "all that was acknowledged is there")

        frames = {d: [] for d in ("agent", "raw", "aiq")}

        def read(d):
            end = time.monotonic() + 90
            while time.monotonic() < end:
                last = frames[d][-1].id if frames[d] else None
                try:
                    with s.stream("j", d, header=last) as st:
                        if st.status == 204:
                            return
                        try:
                            st.rest(60)
                        finally:
                            frames[d] += st.stored
                        if st.ended == "clean":
                            return
                except (OSError, AssertionError):
                    time.sleep(0.01)  # as a browser does
            raise AssertionError(f"{d}: not read to the end")

        def finish():
            until("the writer is done", stop.is_set, 90, 0.05)
            while True:
                try:
                    equal(lease.finish(), "succeeded")
                    return
                except OSError:
                    time.sleep(0.01)
        at_once(write, crash, finish, *[lambda d=d: read(d) for d in frames])
        want = [f"{n}.{k} " for n in range(1, total + 1) for k in range(3)]
        equal([f.json["token"] for f in s.read("j", "agent") if f.event == "agent.token"], want)
        for d, got in frames.items():
            full = with_ids(s.read("j", d))
            equal([f.id for f in got], [f.id for f in full], f"{d}: no gap, no double")
            check(got == full, f"{d}: byte for byte what one read gives afterwards")


@case
def a_submit_that_was_answered_is_there():
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        for round in range(3):
            ids = at_once(*[lambda i=i: s.submit(job_id=f"r{round}-{i}") for i in range(8)])
            s.kill()
            s.start()
            for id in ids:
                equal(s.state(id), "queued")


@case
def the_demo_lives_through_restarts_as_a_pull_worker():
    with Server(port=fixed_port(), agents={"demo": dict(PULL, attempts=1)}) as s:
        id = s.submit("demo", {"issue": "x", "speed": 20, "length": 1500})
        with running(PROGRAM, "demo-agent", "--pull", s.url, "--jobs", "1") as p:
            for goal in (50, 200, 400):
                until(f"{goal} events", lambda: s.job(id)["events"] >= goal or s.state(id) == "succeeded", 30)
                s.kill()
                s.start()
            s.until_state(id, "succeeded", seconds=60)
            equal(p.wait(WAIT), 0, p.stderr.read() if p.poll() is not None else "")
        equal(s.job(id)["attempt"], 1)
        ids = [seq(f) for f in s.read(id)]
        equal(ids, list(range(1, len(ids) + 1)))


# --- one file, one server -----------------------------------------------------------------------


def refused(*args, cwd=None):
    p = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:0", *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, cwd=cwd)
    check(p.returncode > 0, f"exit {p.returncode}: {p.stderr[-500:]}")
    equal(p.stdout, b"", "nothing that looks like a start")
    return p.stderr.decode()


@case
@sqlite_only("its file has one server; PostgreSQL has several gateways")
def a_second_server_on_the_same_file_is_refused():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        err = refused("--data", s.data)
        contains(err, "spoolwire serve: ", "x.db is in use by another server", str(s.pid))
        link = os.path.join(s.folder, "link.db")
        os.symlink(s.data, link)
        contains(refused("--data", link), "in use by another server")
        equal(s.state("j"), "queued", "the first one is not harmed")
        s.kill()
        s.start()
        equal(s.state("j"), "queued", "and a lock that was left behind is none")


@case
@sqlite_only("the mode of its files")
def the_file_is_private():
    with Server(agents={"pull": PULL}) as s:
        s.submit()
        for name in os.listdir(s.folder):
            if name.startswith("x.db"):
                mode = stat.S_IMODE(os.stat(os.path.join(s.folder, name)).st_mode)
                equal(oct(mode), oct(0o600), name)


@case
@sqlite_only("its file")
def files_that_cannot_be_used():
    with Server(start=False) as s:
        for name, content in (("text.db", b"this is no database " * 100), ("half.db", b"SQLite format 3\0" + b"\xff" * 2000)):
            path = os.path.join(s.folder, name)
            with open(path, "wb") as f:
                f.write(content)
            err = refused("--data", path)
            contains(err, name)
            with open(path, "rb") as f:
                check(f.read() == content, "it is left as it was")
        contains(refused("--data", s.folder), "is not a file")
        contains(refused("--data", os.path.join(s.folder, "no/such/x.db")), "folder")
        contains(refused("--data", s.data, "--listen", "0.0.0.0:0"), "there is no token")


@case
def a_taken_port_is_told():
    with Server() as s:
        p = subprocess.run([PROGRAM, "serve", "--listen", f"127.0.0.1:{s.port}", "--data", os.path.join(s.folder, "y.db")],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT)
        check(p.returncode > 0 and b"in use" in p.stderr, p.stderr)
