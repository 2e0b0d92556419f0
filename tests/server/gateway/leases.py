"""The worker protocol over HTTP: lease, append, heartbeat, finish, hand back; fencing, deadlines, cancel."""

import contextlib
import json
import re
import signal
import socket
import struct
import sys
import threading
import time

from gateway import (CLOSING, OPENING, PULL, STORY, WAIT, Server, Worker, again, at_once, fixed_port, interrupt, lines,
                     read_answer, request_bytes, root_start, running, token, until)
from harness import PROGRAM, case, cases, check, contains, equal


def problem(a, status):
    equal((a.status, a.headers["content-type"]), (status, "application/problem+json"), repr(a))
    return a.detail


def tokens(s, id):
    return [f.json["token"] for f in s.read(id, "agent") if f.event == "agent.token"]


# --- lease -----------------------------------------------------------------------------------


@case
def a_lease_brings_the_job():
    with Server(agents={"pull": dict(PULL, lease="40s")}) as s:
        s.submit(job_id="j", input={"q": "ä"})
        a = Worker(s).ask()
        equal(a.status, 200)
        check(re.fullmatch(r"1\.1\.[0-9a-f]{32}", a.json["lease"]), a.json["lease"])
        equal(a.json, {"job": "j", "lease": a.json["lease"], "attempt": 1, "seq": 0, "agent": "pull", "input": {"q": "ä"},
                       "lease_seconds": 40, "heartbeat_seconds": 10})
        equal(list(a.json), ["job", "lease", "attempt", "seq", "agent", "input", "lease_seconds", "heartbeat_seconds"])


@cases([("100ms", 1, 0.025), ("1s", 1, 0.25), ("3500ms", 4, 0.875), ("4s", 4, 1), ("7s", 7, 1)], name=lambda c: c[0])
def there_is_time_for_some_beats_in_a_lease(what):
    lease, seconds, beat = what
    with Server(agents={"pull": dict(PULL, lease=lease)}) as s:
        s.submit()
        order = Worker(s).ask().json
        equal((order["lease_seconds"], order["heartbeat_seconds"]), (seconds, beat))


@case
def jobs_come_in_order_and_once():
    with Server(agents={"pull": PULL}) as s:
        ids = [s.submit(job_id=f"j{i}") for i in range(12)]
        equal([Worker(s).lease().job for _ in range(3)], ids[:3], "first come, first served")
        rest = at_once(*[lambda: Worker(s).lease().job] * 9)
        equal(sorted(rest), sorted(ids[3:]), "nobody gets another's")
        equal(Worker(s).ask(wait=0).status, 204)


@case
def a_long_poll_waits_for_work():
    with Server(agents={"pull": PULL, "other": PULL}) as s:
        start = time.monotonic()
        equal(Worker(s).ask(wait=1).status, 204)
        check(time.monotonic() - start >= 0.9, "as long as asked")
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease", {"agents": ["pull"], "worker": "w", "wait": 60}))
            s.submit("other")
            s.submit("pull", job_id="mine")
            equal(read_answer(sock, seconds=WAIT).json["job"], "mine", "it comes when the job comes")


@case
def several_agents_take_turns():
    with Server(agents={"a": PULL, "b": PULL}) as s:
        for i in range(6):
            s.submit("a")
        for i in range(6):
            s.submit("b")
        got = [Worker(s, "a", "b").lease().order["agent"] for _ in range(6)]
        check(2 <= got.count("a") <= 4, f"neither starves: {got}")


@cases(["{}", '{"agents":[]}', '{"agents":"pull"}', '{"agents":[5]}', "[]", "", "nonsense"], repr)
def bad_leases_are_422(body):
    with Server(agents={"pull": PULL}) as s:
        problem(s.post("/v1/worker/lease", body.encode()), 422)


@case
def a_lease_for_nobodys_agent_is_400():
    with Server(agents={"pull": PULL}) as s:
        problem(s.post("/v1/worker/lease", {"agents": ["nope"], "wait": 0}), 400)
        equal(s.post("/v1/worker/lease", {"agents": ["nope", "pull"], "wait": 0}).status, 204, "one is enough")


@case
def a_poll_whose_worker_has_left_takes_nothing():
    with Server(agents={"pull": PULL}) as s:
        for _ in range(5):
            sock = s.connect()
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease", {"agents": ["pull"], "worker": "gone", "wait": 60}))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        s.submit(job_id="j")
        lease = Worker(s).lease()
        equal(lease.job, "j")
        lease.send(*STORY)
        equal(lease.finish(), "succeeded", "it has cost no attempt of the one there is")


# --- a lease that is asked for again ----------------------------------------------------------


@case
def a_lease_is_repeated_while_it_is_held():
    with Server(agents={"pull": dict(PULL, lease="40s"), "other": PULL}) as s:
        s.submit(job_id="one", input={"q": 1})
        s.submit(job_id="two")
        first = Worker(s).ask(request_id="r1")
        equal(first.json["job"], "one")
        equal(Worker(s).ask(request_id="r1").json, first.json, "word for word")
        lease = Worker(s).lease(request_id="r1")
        lease.send(*OPENING)
        equal(Worker(s).lease(request_id="r1").order, {**first.json, "seq": 1}, "it goes on with the next batch")
        equal(Worker(s).lease(request_id="r2").job, "two", "another request is another lease")
        contains(problem(Worker(s, "other").ask(wait=0, request_id="r1"), 409), "another agent")
        j = s.job("one")
        equal((j["state"], j["attempt"], j["events"]), ("running", 1, 4), "nothing happened to the job")
        lease.send(*CLOSING)
        equal(lease.finish(), "succeeded")
        equal(Worker(s).ask(wait=0, request_id="r1").status, 204, "a lease that is over is not given again")


@case
def a_repeated_lease_is_a_sign_of_life():
    with Server(agents={"pull": dict(PULL, lease="3s")}) as s:
        s.submit(job_id="j")
        w = Worker(s)
        end = time.monotonic() + 7  # twice a lease
        while time.monotonic() < end:
            equal(w.lease(request_id="r").attempt, 1)
            time.sleep(0.1)  # the rate of the requests
        equal(w.lease(request_id="r").finish(), "succeeded")


@case
def a_lease_outlives_kill_9():
    """Its answer is lost with the server: who asks again has the job, in the same attempt."""
    with Server(port=fixed_port(), agents={"pull": dict(PULL, attempts=1)}) as s:
        for id in ("a", "b"):
            s.submit(job_id=id)
        lost = Worker(s).ask(request_id="r").json
        s.kill()
        s.start()
        lease = Worker(s).lease(request_id="r")
        equal(lease.order, lost)
        equal(Worker(s).lease(request_id="x").job, "b")
        lease.send(*STORY)
        equal((lease.finish(), s.job(lost["job"])["attempt"]), ("succeeded", 1))


@case
def a_lease_whose_connection_is_cut_just_then():
    """The job comes as the worker's connection goes: it is given back, or to who asks again, and never lost."""
    with Server("--durability", "relaxed", agents={"pull": dict(PULL, attempts=1, lease="5m")}) as s:
        for n in range(60):
            sock = s.connect()
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease",
                                       {"agents": ["pull"], "worker": "w", "wait": 60, "request_id": f"r{n}"}))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            jobs = [lambda: s.submit(job_id=f"j{n}"), sock.close, lambda: Worker(s).lease(request_id=f"r{n}")]
            lease = at_once(*jobs[n % 3:], *jobs[:n % 3])[(2 - n) % 3]
            equal(lease.job, f"j{n}")
            while (done := lease.try_finish()).status == 409:  # it was given back a moment ago, at no cost
                lease = Worker(s).lease(request_id=f"r{n}")
            equal((done.status, done.json["state"]), (200, "succeeded"))


@cases(['""', "5", "[]", '"' + "x" * 201 + '"'], lambda t: t[:10])
def bad_request_ids_are_422(text):
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        a = s.post("/v1/worker/lease", b'{"agents":["pull"],"wait":0,"request_id":%s}' % text.encode())
        contains(problem(a, 422), "request_id")
        equal(s.state("j"), "queued")


# --- an id that is used again -----------------------------------------------------------------


# Edge case 55.
@cases(["at once", "after a restart", "after kill -9"])
def a_worker_of_a_deleted_job_is_fenced_from_the_next_of_that_id(when):
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        old = Worker(s, name="old").lease()
        old.send(*OPENING, token("LATE"))
        equal(s.request("DELETE", "/v1/jobs/j").status, 204)
        problem(old.try_append(token("LATE")), 404)
        if when != "at once":
            s.restart(s.kill if when == "after kill -9" else None)
        s.submit(job_id="j")
        problem(old.try_beat(), 409)
        new = Worker(s, name="new").lease()
        equal((new.job, new.attempt), ("j", 1), "a new job begins anew")
        check(new.token != old.token, new.token)
        for a in (old.try_append(token("LATE")), old.try_append(token("LATE"), seq=0), old.try_beat(), old.hand_back(),
                  old.try_finish("failure", error="LATE")):
            contains(problem(a, 409), "an earlier job with the same id")
        new.send(*STORY)
        equal(new.finish(), "succeeded")
        problem(old.try_finish(), 409)
        check(not any("LATE" in f.data for f in s.read("j")), "no trace")


@case
def the_holder_is_named_in_every_request():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        for what in ("events", "heartbeat", "finish", "return"):
            for query in ("", "?attempt=1", "?lease=", "?lease=1", "?lease=1.", "?lease=.1", "?lease=1.-1", "?lease=1.1.1",
                          "?lease=1.1.", f"?lease={lease.token}0", f"?lease={lease.token.upper()}x", f"?lease={lease.token}.1.1", f"?lease={lease.token}."):
                contains(problem(s.post(f"/v1/worker/jobs/j/{what}{query}", b"{}"), 422), "lease=TOKEN")
            contains(problem(s.post(f"/v1/worker/jobs/nope/{what}?lease=1.1", b'{"status":"success"}'), 404), "nope")
        contains(problem(s.post("/v1/worker/jobs/j/events?lease=1.1&seq=x", b""), 422), "seq")
        contains(problem(lease.try_finish("maybe"), 422), "success, failure")
        equal(s.job("j")["events"], 1, "nothing was stored")
        equal(lease.finish(), "succeeded")


# --- append ------------------------------------------------------------------------------------


@case
def a_repeated_batch_is_stored_once():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        equal(lease.append(*OPENING, seq=0), {"accepted": 3, "rejected": 0, "cancel": False})
        for _ in range(3):
            equal(lease.append(*OPENING, seq=0), {"accepted": 0, "rejected": 0, "repeated": True, "cancel": False})
        equal(lease.append(token("a"), token("b"), seq=1), {"accepted": 2, "rejected": 0, "cancel": False})
        lease.append(*OPENING, seq=0)
        lease.append(token("a"), token("b"), seq=1)
        lease.append(token("other words, same number"), seq=1)
        equal(s.job("j")["events"], 6)
        lease.append(token("c"), seq=2)
        lease.append(*CLOSING, seq=3)
        lease.finish()
        equal(tokens(s, "j"), ["a", "b", "c"])


@case
def a_gap_in_the_numbers_is_503():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        a = lease.try_append(*OPENING, seq=1)
        contains(problem(a, 503), "batch 0 has not arrived yet")
        check(int(a.headers["retry-after"]) >= 1, a.headers)
        lease.append(*OPENING, seq=0)
        problem(lease.try_append(token("c"), seq=2), 503)
        lease.append(token("b"), seq=1)
        lease.append(token("c"), seq=2)
        lease.append(*CLOSING, seq=3)
        lease.finish()
        equal(tokens(s, "j"), ["b", "c"])


@case
def batches_without_numbers_are_taken_as_they_come():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        for e in STORY[:4]:
            lease.append(e)
        equal(lease.append(b"")["accepted"], 0)
        equal(lease.append(json.dumps(token("no newline")).encode())["accepted"], 1)
        lease.finish()
        equal(tokens(s, "j"), ["a", "no newline"])


@case
def bad_lines_are_counted_and_named():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        a = lease.send(token("a"), "nonsense", token("b"), '{"event":"on_x', "[1,2", token("c"))
        equal((a["accepted"], a["cancel"]), (3, False), a)
        equal(a["rejected"], 3, a)
        check(a["error"].startswith("line 2: "), a)
        equal(lease.send(token("d")), {"accepted": 1, "rejected": 0, "cancel": False})
        a = lease.send("more nonsense")
        check(a["error"].startswith("line 1: "), f"counted in each batch: {a}")
        lease.send(*CLOSING)
        lease.finish()
        equal(tokens(s, "j"), ["a", "b", "c", "d"])


@case
def sse_as_a_body_and_batches_of_two_jobs_do_not_mix():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="one")
        s.submit(job_id="two")
        one, two = Worker(s).lease(), Worker(s).lease()
        one.send(*OPENING)
        two.send(*OPENING)
        one.send(b"event: events\ndata: " + json.dumps(token("of one")).encode())  # without its end
        two.send(b"data: " + json.dumps(token("of two")).encode() + b"\n\n")
        one.finish()
        two.finish()
        equal((tokens(s, "one"), tokens(s, "two")), (["of one"], ["of two"]))


@case
def an_append_after_a_cut_connection_is_stored_once():
    """The request goes out, the connection is killed before the answer; the worker tries again."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.append(*OPENING, seq=0)
        batches = [[token(f"{n}.{k} ") for k in range(5)] for n in range(30)]
        for n, batch in enumerate(batches, 1):
            data = request_bytes(s, "POST", lease.path("events", seq=n), lines(*batch))
            sock = s.connect()
            sock.sendall(data)
            if n % 3 == 0:  # hard, else with a FIN; sometimes after it was surely stored
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if n % 3 == 1:
                until("it is stored", lambda: s.job("j")["events"] >= 4 + 5 * n)
            sock.close()
            a = lease.try_append(*batch, seq=n)
            equal(a.status, 200, repr(a))
        lease.append(*CLOSING, seq=31)
        lease.finish()
        equal(tokens(s, "j"), [f"{n}.{k} " for n in range(30) for k in range(5)])


@case
def pipelined_batches_share_commits_and_answers():
    """A worker that does not wait for each answer: 300 batches and the end, in one go."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.append(*OPENING, seq=0)
        n = 300

        def commits():
            return int(re.search(r"^spoolwire_store_commit_duration_seconds_count (\d+)$",
                                 s.get("/metrics").body.decode(), re.M)[1])

        before = commits()
        data = b"".join(request_bytes(s, "POST", lease.path("events", seq=i), lines(token(f"{i} ")))
                        for i in range(1, n + 1))
        data += request_bytes(s, "POST", lease.path("events", seq=n + 1), lines(*CLOSING))
        data += request_bytes(s, "POST", lease.path("finish"), {"status": "success"})
        with s.connect() as sock:
            sock.sendall(data)
            answers = b""
            while b'"state"' not in answers:
                answers += sock.recv(65536)
        equal(answers.count(b"HTTP/1.1 200 OK"), n + 2)
        equal(answers.count(b'"accepted":1,'), n)
        check(commits() - before <= n // 2, f"{commits() - before} commits for {n} batches")
        equal(tokens(s, "j"), [f"{i} " for i in range(1, n + 1)])
        equal(s.state("j"), "succeeded")


@case
def half_a_body_is_no_batch():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.append(*OPENING, seq=0)
        data = request_bytes(s, "POST", lease.path("events", seq=1), lines(token("a"), token("b")))
        for cut in (len(data) - 1, len(data) - 200):
            with s.connect() as sock:
                sock.sendall(data[:cut])
        lease.append(token("a"), token("b"), seq=1)
        lease.finish()
        equal(tokens(s, "j"), ["a", "b"])


@case
def chunked_bodies_are_taken():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        body = lines(*OPENING, token("a"))
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "POST", lease.path("events", seq=0), None, {"Transfer-Encoding": "chunked"}))
            for i in range(0, len(body), 100):
                part = body[i:i + 100]
                sock.sendall(b"%x\r\n%s\r\n" % (len(part), part))
            sock.sendall(b"0\r\n\r\n")
            equal(read_answer(sock).json["accepted"], 4)
        lease.finish()
        equal(tokens(s, "j"), ["a"])


# --- the end --------------------------------------------------------------------------------


@case
def the_ends_of_a_job():
    with Server(agents={"pull": PULL}) as s:
        w = Worker(s)

        def end(id, status, events=STORY, **more):
            s.submit(job_id=id)
            lease = w.lease()
            lease.send(*events)
            return lease, lease.finish(status, **more)

        lease, state = end("ok", "success")
        equal(state, "succeeded")
        for a in (lease.try_finish(), lease.try_finish("failure"), lease.try_append(token("late")), lease.try_beat(),
                  lease.hand_back()):
            problem(a, 409)
        equal([f.event for f in s.read("ok", "agent")][-1], "job.done")
        _, state = end("bad", "failure", error="no \"disk\"\nleft", error_type="OSError")
        equal(state, "failed")
        j = s.job("bad")
        equal((j["error"], j["error_type"]), ("no \"disk\"\nleft", "OSError"))
        equal(s.read("bad", "agent")[-1].json["error"], "no \"disk\"\nleft")
        _, state = end("stop", "cancelled")
        equal((state, s.job("stop")["state"]), ("cancelled", "cancelled"))
        _, state = end("plain", "failure")
        equal((state, bool(s.read("plain", "agent")[-1].json["type"] == "job.failed")), ("failed", True))


OUTPUT = {"report": "# Done", "n": [1.0, "ä"]}


@cases(["its own word", "finish"])
def the_workers_output_is_the_jobs(how):
    """In the record, in GET, and where the dialects have a place for it."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*STORY)
        equal(s.job("j")["output"], None, "not before its end")
        if how == "finish":
            equal(lease.finish(output=OUTPUT), "succeeded")
        else:
            lease.send({"type": "job.done", "output": OUTPUT})
        equal(s.job("j")["output"], OUTPUT)
        contains(s.get("/v1/jobs/j").body.decode(), '"output":{"report":"# Done","n":[1.0,"ä"]}')
        a = s.get("/v1/jobs/j?wait=5").json
        equal((a["output"], a["report"]), (OUTPUT, "# Done"))
        equal(s.read("j", "raw")[-1].json["output"], OUTPUT)
        equal(s.read("j", "envelope")[-1].json["data"]["result"], OUTPUT)
        reports = [f.json["data"] for f in s.read("j", "aiq") if f.event == "artifact.update"]
        equal([r["content"] for r in reports if r.get("output_category") == "final_report"], ["# Done"])
        a = s.get("/v1/jobs/async/job/j/report").json
        equal((a["has_report"], a["report"]), (True, "# Done"))
        s.restart()
        equal(s.job("j")["output"], OUTPUT)


@case
def an_output_may_be_large_and_only_a_success_has_one():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="large")
        text = "x" * 3_000_000
        equal(Worker(s).lease().finish(output={"text": text}), "succeeded")
        equal(s.job("large")["output"], {"text": text}, "no limit of fields applies")
        s.submit(job_id="failed")
        equal(Worker(s).lease().finish("failure", error="x", output=7), "failed")
        equal(s.job("failed")["output"], None)
        s.submit(job_id="cancelled")
        lease = Worker(s).lease()
        s.post("/v1/jobs/cancelled/cancel")
        equal(lease.finish(output=7), "cancelled")
        equal(s.job("cancelled")["output"], None)


@case
def an_open_question_waits():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(root_start(), interrupt())
        equal(lease.finish("interrupted"), "waiting")
        j = s.job("j")
        equal((j["state"], j["worker"], j["finished_at"]), ("waiting", None, None))
        for a in (lease.try_append(token("late")), lease.try_beat(), lease.try_finish()):
            problem(a, 409)
        equal(Worker(s).ask(wait=0).status, 204)
        s.submit(job_id="k")
        lease = Worker(s).lease()
        lease.send(root_start(), interrupt())
        equal(lease.finish("success"), "waiting", "a success with a question open, too")
        s.restart()
        equal((s.state("j"), s.state("k")), ("waiting", "waiting"))


@case
def interrupted_without_a_question_is_no_waiting():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*STORY)
        check(lease.finish("interrupted") in ("succeeded", "failed"), s.state("j"))


@case
def the_workers_own_word_ends_the_job():
    with Server(agents={"pull": PULL}) as s:
        for word, state in (({"type": "job.done"}, "succeeded"), ({"type": "job.failed", "error": "own"}, "failed"),
                            ({"type": "job.cancelled", "data": {"reason": "own"}}, "cancelled")):
            id = s.submit()
            lease = Worker(s).lease()
            lease.send(*STORY, word)
            equal(s.state(id), state, word)
            a = lease.try_finish("failure" if state == "succeeded" else "success")
            check(a.status in (200, 409), repr(a))
            equal(s.state(id), state, "a later finish changes nothing")
            last = [f for f in s.read(id) if f.event == "job.end"]
            equal(len(last), 1)


# --- handing back, losing, fencing ----------------------------------------------------------------


@case
def a_job_that_is_handed_back_costs_nothing():
    with Server(agents={"pull": dict(PULL, attempts=1)}) as s:
        s.submit(job_id="j")
        for n in range(1, 6):
            lease = Worker(s).lease()
            equal(lease.attempt, n, "every lease has a new number")
            lease.send(*again(n, OPENING))
            a = lease.hand_back()
            equal(a.status, 200, repr(a))
            equal(s.state("j"), "queued")
            problem(lease.try_append(token("late")), 409)
        lease = Worker(s).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        frames = s.read("j", "nodes")
        equal([f.json["status"] for f in frames if f.event == "node.end"], ["retried"] * 5 + ["ok"])


@contextlib.contextmanager
def taken_over(*events):
    """A worker says these and is silent until another one has its job, which then holds it."""
    with Server(agents={"pull": dict(PULL, lease="5s", attempts=2)}) as s:
        s.submit(job_id="j")
        old = Worker(s, name="old").lease()
        old.send(*events)
        new = Worker(s, name="new").lease(wait=20)
        equal((new.job, new.attempt), ("j", 2))
        with beating(new):
            yield s, old, new


@contextlib.contextmanager
def beating(lease):
    """Sends heartbeats in the background, as a busy worker does."""
    over = threading.Event()

    def beat():
        while not over.wait(0.2):  # the rate of the beats
            lease.try_beat()
    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@case
def a_lost_worker_is_fenced():
    """Its lease runs out, another one gets the job; what the old one still says leaves no trace."""
    with taken_over(*OPENING, token("of the old")) as (s, old, new):
        before = s.job("j")["events"]
        contains(problem(old.try_append(token("LATE"), seq=1), 409), "attempt 1 does not hold this job")
        problem(old.try_append(token("LATE")), 409)
        problem(old.try_append(*OPENING, token("of the old"), seq=0), 409)
        problem(old.try_beat(), 409)
        problem(old.try_finish(), 409)
        problem(old.try_finish("failure", error="LATE"), 409)
        problem(old.hand_back(), 409)
        equal(s.job("j")["events"], before, "nothing was stored")
        equal(s.job("j")["worker"], "new")
        new.send(*again(2, STORY))
        problem(old.try_append(token("LATE")), 409)
        equal(new.finish(), "succeeded")
        problem(old.try_finish(), 409)
        frames = s.read("j", "raw")
        check(not any("LATE" in f.data for f in frames), "no trace")
        equal(tokens(s, "j"), ["of the old", "a", "b", "c"])
        equal([f.json["status"] for f in s.read("j", "nodes") if f.event == "node.end"], ["retried", "ok"])


@case
def a_fenced_worker_never_gets_in_between():
    """The old one writes all the time while its job is taken and worked on."""
    with taken_over(*OPENING) as (s, old, new):
        done = []

        def late():
            n = 0
            while not done:
                a = old.try_append(token("LATE"), seq=n % 3)
                equal(a.status, 409, repr(a))
                n += 1
            check(n > 3)

        def work():
            try:
                new.send(*again(2, OPENING))
                for i in range(60):
                    new.send(*again(2, [token(f"{i}")]))
                new.send(*again(2, CLOSING))
                new.finish()
            finally:
                done.append(1)
        at_once(late, late, work)
        equal(tokens(s, "j"), [f"{i}" for i in range(60)])


@case
def a_second_attempt_may_use_the_same_ids():
    """As a worker does whose ids are not random."""
    with Server(agents={"pull": dict(PULL, attempts=2)}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*STORY[:5])
        equal(lease.hand_back().status, 200)
        lease = Worker(s).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        equal(tokens(s, "j"), ["a", "b", "a", "b", "c"])
        equal([f.json["status"] for f in s.read("j", "nodes") if f.event == "node.end"], ["retried", "ok"])


WORKER = r"""
import json, sys, time, urllib.request
url, agent = sys.argv[1:3]
def post(path, body):
    r = urllib.request.Request(url + path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=30) as f:
        return json.loads(f.read() or b"null")
order = post("/v1/worker/lease", json.dumps({"agents": [agent], "worker": "stopped", "wait": 20}).encode())
n = 0
while True:
    line = json.dumps({"type": "llm.chunk", "data": {"chunk": "old"}, "id": "r"}) + "\n"
    try:
        post(f"/v1/worker/jobs/{order['job']}/events?lease={order['lease']}&seq={n}", line.encode())
    except urllib.error.HTTPError as e:
        print(e.code, e.read().decode().strip(), flush=True)
        sys.exit(0)
    print("stored", flush=True)
    n += 1
    time.sleep(0.02)
"""


@case
def a_worker_process_that_was_stopped_is_fenced():
    """SIGSTOP past its lease, the job is taken by another, SIGCONT: its next write is refused."""
    with Server(agents={"pull": dict(PULL, lease="5s", attempts=2)}) as s:
        s.submit(job_id="j")
        with running(sys.executable, "-c", WORKER, s.url, "pull") as p:
            equal(p.stdout.readline(), b"stored\n")
            p.send_signal(signal.SIGSTOP)
            new = Worker(s, name="new").lease(wait=20)
            equal(new.attempt, 2)
            with beating(new):
                new.send(*again(2, OPENING))
                before = with_ids_of(s)
                p.send_signal(signal.SIGCONT)
                p.wait(WAIT)
                lines = p.stdout.read().decode().splitlines()
                contains(lines[-1], "409", "attempt 1 does not hold this job")
                equal(with_ids_of(s), before, "no trace of it")
                new.send(*again(2, STORY[3:]))
                equal(new.finish(), "succeeded")


def with_ids_of(s):
    with s.stream("j", "raw") as st:
        n = s.job("j")["events"]
        return st.until_id(n).stored[:n]


# Edge case 46.
@case
def leases_are_renewed_by_beats_and_appends():
    with Server(agents={"pull": dict(PULL, lease="3s")}) as s:
        s.submit(job_id="beats")
        s.submit(job_id="appends")
        beats, appends = Worker(s).lease(), Worker(s).lease()
        end = time.monotonic() + 7  # twice a lease
        while time.monotonic() < end:
            beats.beat()
            appends.append(b"")
            time.sleep(0.1)  # the rate of the beats
        equal((s.state("beats"), s.state("appends")), ("running", "running"))
        equal((beats.finish(), appends.finish()), ("succeeded", "succeeded"))


# Edge case 45.
@cases(["with events", "without events"])
def a_lost_worker_fails_its_job(how):
    with Server(agents={"pull": dict(PULL, lease="2s")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        if how == "with events":
            lease.send(*OPENING)
        with s.aiq("j") as st:
            st.rest()
            equal([f.event for f in st.stored][-2:], ["job.error", "job.status"])
            equal(st.frames[-1].json["status"], "FAILURE")
        j = s.job("j")
        equal((j["state"], j["error_type"]), ("failed", "LeaseExpired"))
        contains(j["error"], "lease")
        problem(lease.try_finish(), 409)
        equal(s.state("j"), "failed")


# Edge case 47.
@case
def a_finish_races_with_the_reaper():
    """The lease runs out just then: one of the two ends the job, and both know which."""
    with Server("--durability", "relaxed", agents={"pull": dict(PULL, lease="300ms")}) as s:
        seen = set()
        leases = []
        for i in range(24):
            s.submit(job_id=f"j{i}")
            leases.append((Worker(s).lease(), time.monotonic()))
            leases[-1][0].try_beat()
        for i, (lease, since) in enumerate(leases):
            lease_end = since + 0.2 + 0.02 * i
            while time.monotonic() < lease_end:
                time.sleep(0.005)  # a moment around its end
            a = lease.try_finish()
            j = s.until_state(lease.job, "succeeded", "failed")
            equal(a.status, 200 if j["state"] == "succeeded" else 409, f"{a!r} {j}")
            equal(j["error_type"], None if j["state"] == "succeeded" else "LeaseExpired")
            equal(len([f for f in s.read(lease.job) if f.event == "job.end"]), 1)
            seen.add(j["state"])
        check(seen, seen)


# Edge case 45.
@case
def the_retry_budget():
    with Server(agents={"pull": dict(PULL, lease="500ms", attempts=3)}) as s:
        s.submit(job_id="j")
        for n in (1, 2, 3):
            equal(Worker(s).lease(wait=20).attempt, n)
        j = s.until_state("j", "failed")
        equal((j["attempt"], j["error_type"]), (3, "LeaseExpired"))
        equal(Worker(s).ask(wait=0).status, 204)
        equal(len([f for f in s.read("j") if f.event == "job.end"]), 1)


@case
def a_failure_is_not_retried():
    """The budget counts leases lost, not what a worker says itself."""
    with Server(agents={"pull": dict(PULL, attempts=5)}) as s:
        s.submit(job_id="j")
        equal(Worker(s).lease().finish("failure", error="x"), "failed")


@case
def a_queue_deadline():
    with Server(agents={"pull": dict(PULL, queue_deadline="3s")}) as s:
        s.submit(job_id="taken")
        lease = Worker(s).lease()
        equal(lease.job, "taken")
        s.submit(job_id="late")
        j = s.until_state("late", "failed")
        equal(j["error_type"], "QueueDeadline")
        contains(j["error"], "queue deadline")
        equal(Worker(s).ask(wait=0).status, 204)
        equal(s.read("late", "agent")[-1].json["type"], "job.failed")
        equal(lease.finish(), "succeeded", "who has begun is not late")


@case
def a_run_deadline():
    with Server(agents={"pull": dict(PULL, run_deadline="3s")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)

        def over():
            a = lease.try_beat()
            return a if a.status == 409 else None
        until("the deadline", over, every=0.1)
        j = s.job("j")
        equal((j["state"], j["error_type"]), ("failed", "RunDeadline"))
        contains(j["error"], "run deadline", "3 s")
        problem(lease.try_append(token("late")), 409)


@case
def a_run_deadline_below_a_second():
    with Server(agents={"pull": dict(PULL, run_deadline="500ms")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        until("the deadline", lambda: lease.try_beat().status == 409, every=0.1)
        equal(s.job("j")["error_type"], "RunDeadline")


# --- cancel --------------------------------------------------------------------------------------


@case
def a_cancel_is_in_every_reply():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        equal((lease.send(*OPENING)["cancel"], lease.beat()["cancel"]), (False, False))
        s.post("/v1/jobs/j/cancel")
        equal((lease.send(token("a"))["cancel"], lease.beat()["cancel"]), (True, True))
        equal(lease.append(token("a"), seq=1)["cancel"], True, "also of a repeated one")
        a = lease.hand_back()
        equal(a.status, 200, repr(a))
        equal(s.state("j"), "cancelled", "handing back is the end of a cancelled job")


# Edge case 44.
@case
def a_cancel_is_forced_when_the_worker_does_not_stop():
    with Server(agents={"pull": dict(PULL, cancel_grace="500ms")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.aiq("j") as st:
            s.post("/v1/jobs/j/cancel")
            st.rest()
            equal([f.event for f in st.stored if f.event.startswith("job.")],
                  ["job.cancellation_requested", "job.cancelled", "job.status"])
        equal(s.state("j"), "cancelled")
        problem(lease.try_append(token("LATE")), 409)
        problem(lease.try_finish(), 409)
        check(not any("LATE" in f.data for f in s.read("j")))


@case
def a_cancel_is_remembered_over_a_lost_lease():
    with Server(agents={"pull": dict(PULL, lease="2s", attempts=5, cancel_grace="1h")}) as s:
        s.submit(job_id="j")
        Worker(s).lease()
        s.post("/v1/jobs/j/cancel")
        s.until_state("j", "cancelled")
        equal(Worker(s).ask(wait=0).status, 204, "nobody gets a cancelled job")


# --- the demo as a pull worker ---------------------------------------------------------------------


@case
def the_demo_as_a_pull_worker():
    with Server(agents={"demo": PULL}) as s:
        ids = [s.submit("demo", {"issue": f"{i}", "speed": 0}) for i in range(4)]
        with running(PROGRAM, "demo-agent", "--pull", s.url, "--jobs", "2", "--speed", "0") as one, \
                running(PROGRAM, "demo-agent", "--pull", s.url, "--jobs", "2", "--speed", "0") as two:
            for p in (one, two):
                equal(p.wait(2 * WAIT), 0, p.stderr.read())
        for id in ids:
            equal(s.state(id), "succeeded")
            equal(s.read(id, "agent")[-1].event, "job.done")
