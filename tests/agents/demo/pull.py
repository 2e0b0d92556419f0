"""The demo agent as a pull worker, against a fake of the worker API."""

import os
import re
import socket
import threading
import time

from demo_agent import JOB, demo, finish, start
import gateway
from fake import CUT, Server
from harness import TIMEOUT, case, cases, check, contains, equal, spoolwire

LEASE = {**JOB, "lease": "8.1", "lease_seconds": 60, "heartbeat_seconds": 15}
FLAT_OUT = {"speed": 0}


class Worker:
    """The worker API, with jobs to give out, and all that came in."""

    def __init__(self, *jobs, fault=None):
        self.jobs, self.fault = list(jobs), fault or (lambda request, n: None)
        self.batches, self.finished, self.beats, self.leases = {}, {}, 0, []
        self.repeated, self.n, self.lock = 0, 0, threading.Lock()
        self.given = {}  # by the request_id of the lease
        self.stored = ([], [])  # batch sizes in events; arrival times

    def __call__(self, request):
        with self.lock:
            self.n += 1
            fault = self.fault(request, self.n)
            if fault is not None and fault != "lost":
                return fault
            reply = self.handle(request)
            return CUT if fault == "lost" else reply

    def handle(self, request):
        if request.path == "/v1/worker/lease":
            self.leases.append(request.json)
            id = request.json["request_id"]
            if id not in self.given and self.jobs:
                self.given[id] = self.jobs.pop(0)
            return (200, self.given[id]) if id in self.given else (204, None)
        prefix, job, what = request.path.rsplit("/", 2)
        equal(prefix, "/v1/worker/jobs")
        key = (job, request.query["lease"][0].partition(".")[2])
        if what == "events":
            return self.take(key, int(request.query["seq"][0]), request.body)
        if what == "heartbeat":
            self.beats += 1
            return 200, {"cancel": False}
        equal(what, "finish")
        self.finished[key] = request.json
        return 200, {}

    def take(self, key, seq, body):
        batches = self.batches.setdefault(key, [])
        if seq < len(batches):
            self.repeated += 1
            equal(body, batches[seq], "a repeated batch has changed")
        else:
            equal(seq, len(batches), "a batch is missing")
            batches.append(body)
            self.stored[0].append(body.count(b"\n"))
            self.stored[1].append(time.monotonic())
        return 200, {"accepted": body.count(b"\n"), "cancel": False}

    def bytes(self, job="job-1", attempt="1"):
        return b"".join(self.batches.get((job, attempt), []))


def pull(server, *args, jobs=1, want=0, timeout=60):
    done = spoolwire("demo-agent", "--pull", server.url, "--worker", "w1", "--jobs", str(jobs),
                     *args, timeout=timeout)
    equal(done.code, want, repr(done))
    return done


@case
def a_job_arrives_whole():
    worker = Worker({**LEASE, "input": FLAT_OUT})
    with Server(worker) as s:
        pull(s)
    id = worker.leases[0]["request_id"]
    check(re.fullmatch(r"[0-9a-f-]{36}", id), id)
    equal(worker.leases, [{"agents": ["demo"], "worker": "w1", "request_id": id, "calls": True, "wait": 20}])
    equal(worker.bytes(), demo(input=FLAT_OUT))
    equal(worker.finished, {("job-1", "1"): {"status": "success"}})
    check(max(worker.stored[0]) <= 10)


@case
def several_jobs_one_after_another():
    worker = Worker(*[{**LEASE, "job": f"j/{i} ü", "input": FLAT_OUT} for i in range(3)])
    with Server(worker) as s:
        pull(s, "--batch", "100", jobs=3)
    equal(list(worker.finished), [(f"j%2F{i}%20%C3%BC", "1") for i in range(3)])


@case
def another_agents_name_is_asked_for():
    worker = Worker({**LEASE, "input": FLAT_OUT})
    with Server(worker) as s:
        pull(s, "--agent", "triage")
    equal(worker.leases[0]["agents"], ["triage"])


@case
def the_token_is_sent():
    worker = Worker({**LEASE, "input": FLAT_OUT})
    os.environ["SPOOLWIRE_TOKEN"] = "s3cret"
    try:
        with Server(worker) as s:
            pull(s)
            equal({r.headers.get("Authorization") for r in s.requests}, {"Bearer s3cret"})
    finally:
        del os.environ["SPOOLWIRE_TOKEN"]


@case
def faults_of_all_kinds_lose_and_double_nothing():
    """503, a request that is lost, an answer that is lost: the batch comes again."""
    def fault(request, n):
        if "/lease" in request.path:
            return None
        return {1: (503, {"detail": "busy"}), 3: CUT, 5: "lost"}.get(n % 12)

    worker = Worker({**LEASE, "input": FLAT_OUT}, fault=fault)
    with Server(worker) as s:
        pull(s, "--batch", "40")
    equal(worker.bytes(), demo(input=FLAT_OUT))
    check(worker.repeated > 0)
    equal(worker.finished, {("job-1", "1"): {"status": "success"}})


@case
def a_lease_whose_answer_is_lost_is_asked_for_again():
    """With the same request_id, so that the job is not lost with the answer; the next lease has another."""
    jobs = [{**LEASE, "job": f"j{i}", "input": FLAT_OUT} for i in range(2)]
    worker = Worker(*jobs, fault=lambda request, n: {1: "lost", 2: CUT}.get(n))
    with Server(worker) as s:
        pull(s, "--batch", "1000", jobs=2)
        ids = [r.json["request_id"] for r in s.requests if r.path.endswith("/lease")]
    equal([ids.count(i) for i in dict.fromkeys(ids)], [3, 1])
    equal(list(worker.finished), [("j0", "1"), ("j1", "1")])


@case
def retry_after_is_respected():
    times = []

    def fault(request, n):
        times.append(time.monotonic())
        return (503, {"detail": "disk full"}, {"Retry-After": "1"}) if n == 2 else None

    worker = Worker({**LEASE, "input": FLAT_OUT}, fault=fault)
    with Server(worker) as s:
        pull(s, "--batch", "1000")
    check(times[2] - times[1] >= 1.0, f"{times[2] - times[1]} s")


@case
def a_server_that_restarts_is_waited_for():
    long = {"speed": 0, "length": 3000}
    worker = Worker({**LEASE, "input": long})
    with socket.socket() as place:  # while it is open, nobody else is given its port
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
        process = start("demo-agent", "--pull", f"http://127.0.0.1:{port}", "--jobs", "1", "--batch", "1")
        contains(process.stderr.readline().decode(), "retrying: cannot reach the server")
        restarts = 0
        while not worker.finished and restarts < 50:
            with Server(worker, port):
                time.sleep(0.15)
            restarts += 1
        with Server(worker, port):  # a busy machine may not have come to the end
            code, _, err = finish(process)
    equal(code, 0, err)
    check(restarts > 2, f"{restarts} restarts")
    equal(worker.bytes(), demo(input=long))


@case
def a_call_is_answered_and_is_no_job():
    answers = []

    def fault(request, n):
        if request.path.startswith("/v1/worker/calls/"):
            answers.append((request.path.rpartition("/")[2], request.json))
            return 200, {"delivered": True}
        return None

    calls = [{"call": {"id": f"c{i}", "name": name, "params": None}, "agent": "demo"} for i, name in enumerate(("describe", "graph"))]
    worker = Worker(*calls, {**LEASE, "input": FLAT_OUT}, fault=fault)
    with Server(worker) as s:
        pull(s, "--batch", "1000", "--seed", "7")
    equal([a[0] for a in answers], ["c0", "c1"])
    equal((answers[0][1]["answer"]["seed"], answers[0][1]["answer"]["fail_at"]), (7, None))
    contains(answers[1][1]["error"], "describe")
    equal(list(worker.finished), [("job-1", "1")])


@case
def a_fenced_worker_drops_the_job_and_takes_the_next():
    def fault(request, n):
        fenced = "/job-1/" in request.path and request.query.get("seq") == ["3"]
        return (409, {"detail": "attempt 1 is over"}) if fenced else None

    worker = Worker({**LEASE, "input": FLAT_OUT}, {**LEASE, "job": "job-2", "input": FLAT_OUT},
                    fault=fault)
    with Server(worker) as s:
        done = pull(s, jobs=2)
    contains(done.err, "job=job-1 attempt=1 fenced")
    equal(list(worker.finished), [("job-2", "1")])
    equal(len(worker.batches[("job-1", "1")]), 3)


@cases(["events", "heartbeat"])
def cancelling_stops_the_work(where):
    def fault(request, n):
        cancel = request.path.endswith(where) and (where == "heartbeat" or
                                                   request.query["seq"] == ["2"])
        return (200, {"accepted": 10, "cancel": True}) if cancel else None

    lease = {**LEASE, "heartbeat_seconds": 1, "input":
             {"speed": 0, "ask_timeout": 60} if where == "heartbeat" else FLAT_OUT}
    worker = Worker(lease, fault=fault)
    with Server(worker) as s:
        pull(s)
    equal(worker.finished[("job-1", "1")], {"status": "failure", "error": "cancelled",
                                            "error_type": "CancelledError"})


@case
def heartbeats_while_nothing_happens():
    worker = Worker({**LEASE, "heartbeat_seconds": 1, "input": {"speed": 0, "ask_timeout": 3.5}})
    with Server(worker) as s:
        pull(s)
    check(1 <= worker.beats <= 3, f"{worker.beats} heartbeats")  # a busy machine may be late with one
    equal(worker.finished, {("job-1", "1"): {"status": "success"}})


@case
def events_do_not_wait_long_for_their_batch():
    """At a readable pace a batch is sent after 50 ms, however small it is."""
    worker = Worker({**LEASE, "input": {"speed": 4, "length": 60, "question": False}})
    with Server(worker) as s:
        pull(s, "--batch", "1000")
    check(len(worker.stored[0]) > 5, f"{len(worker.stored[0])} batches")


@case
def a_raising_node_is_a_failure():
    worker = Worker({**LEASE, "input": {**FLAT_OUT, "fail_at": "critic"}})
    with Server(worker) as s:
        pull(s)
    equal(worker.finished[("job-1", "1")], {"status": "failure", "error_type": "RuntimeError",
                                            "error": "critic was told to fail (fail_at)"})
    equal(worker.bytes(), demo("--fail-at", "critic", want=1))


@case
def an_open_question_is_interrupted():
    worker = Worker({**LEASE, "input": {**FLAT_OUT, "ask_timeout": "never"}})
    with Server(worker) as s:
        pull(s)
    equal(worker.finished, {("job-1", "1"): {"status": "interrupted"}})


@case
def a_resumed_job_goes_on():
    worker = Worker({**LEASE, "attempt": 2, "lease": "8.2", "input": FLAT_OUT, "resume": "staging"})
    with Server(worker) as s:
        pull(s)
    equal(worker.bytes(attempt="2"), demo(attempt=2, resume="staging"))


@case
def bad_input_fails_the_job_and_not_the_worker():
    worker = Worker({**LEASE, "input": {"speed": "fast"}}, {**LEASE, "job": "j2", "input": FLAT_OUT})
    with Server(worker) as s:
        pull(s, jobs=2)
    equal(worker.finished[("job-1", "1")]["error"], "'fast' is not a value for speed")
    equal(worker.finished[("j2", "1")], {"status": "success"})


@case
def a_refused_batch_fails_the_job():
    worker = Worker({**LEASE, "input": FLAT_OUT}, fault=lambda r, n: (413, {"detail": "too large"})
                    if r.path.endswith("/events") else None)
    with Server(worker) as s:
        pull(s)
    equal(worker.finished[("job-1", "1")]["error"], "too large")


@case
def an_empty_queue_is_asked_again():
    worker = Worker()
    with Server(worker) as s:
        began = time.monotonic()
        process = start("demo-agent", "--pull", s.url)
        while len(worker.leases) < 4 and time.monotonic() < began + TIMEOUT:
            time.sleep(0.01)
        process.terminate()
        code, _, _ = finish(process)
        equal(code, 143)
    check(len(worker.leases) >= 4, f"{len(worker.leases)} leases")
    check(time.monotonic() - began >= 0.6, "not so often")


@case
def a_refused_lease_ends_the_worker():
    with Server(lambda r: (403, {"detail": "this token may not lease"})) as s:
        done = pull(s, want=3)
    contains(done.err, "this token may not lease")


@case
def one_job_or_none():
    with gateway.Server(agents={"demo": {"pull": True}}) as s:
        def once():
            return spoolwire("demo-agent", "--pull", s.url, "--once", "--speed", "0", "--no-question", timeout=60).code

        equal(once(), 75)
        first, second = s.submit("demo"), s.submit("demo")
        equal(once(), 0)
        equal((s.state(first), s.state(second)), ("succeeded", "queued"))
