"""spoolwire as ARQ's client: jobs of an agent with `arq`, run by Python's own worker."""

import os
import pickle
import tempfile

from arq.jobs import Job, JobStatus
from broker import metric, shared
from cluster import RESULT_WAIT, Durable, Gate, PythonWorker, keys, own_name, own_queue, producer, python
from gateway import until
from harness import case, cases, check, contains, equal

SPAWNED = {"type": "agent.spawned", "agent_id": "a1", "agent_name": "investigator", "node": "investigator"}
TOKEN = {"type": "agent.token", "agent_id": "a1", "token": "hello"}
OVER = {"type": "agent.done", "agent_id": "a1", "node": "investigator"}
DONE = {"type": "job.done"}


def do(*steps):
    return {"do": [list(s) for s in steps]}


def flag():
    return os.path.join(tempfile.mkdtemp(prefix="spoolwire-arq-"), "flag")


def output(server, job):
    return server.get(f"/v1/jobs/{job}").json["output"]


def endings(server, job):
    return [f.event for f in server.read(job, "agent") if f.event in ("job.done", "job.failed")]


@case
def what_is_enqueued_is_what_arq_itself_would_enqueue():
    queue, redis = own_queue(), shared()

    async def look(pool):
        job = Job(id, pool, queue)
        until_there = await job.status()
        return await job.info(), until_there

    with producer(redis, queue, args=["job_id", "input", "input.n", "who=agent", "again=attempt"], defer="1h", expires="2h") as s:
        id = s.submit("triage", {"n": 2 ** 70, "x": [1.5, None, True, "é😀"]})
        until("it is in the queue", lambda: redis.client().zscore(queue, id))
        info, status = python(redis, queue, look)
        equal(status, JobStatus.deferred)
        equal((info.function, info.args, info.kwargs, info.job_try),
              ("run_triage", (id, {"n": 2 ** 70, "x": [1.5, None, True, "é😀"]}, 2 ** 70), {"who": "triage", "again": 1}, None))
        due = redis.client().zscore(queue, id)
        check(abs(due - info.enqueue_time.timestamp() * 1000 - 3600000) < 2000, due)
        left = redis.client().pttl(f"arq:job:{id}")
        check(7190000 < left <= 7200000, left)


@case
def values_of_many_types_are_outputs():
    queue, redis = own_queue(), shared()
    want = {
        "json": {"a": [1, 2.5, None, True, "é😀"], "b": {"c": -1}},
        "tuple": [1, ["x"]],
        "set": [1],
        "datetime": "2026-01-02T03:04:05+00:00",
        "uuid": "00000000-0000-0000-0000-000000000007",
        "decimal": "1.50",
        "dataclass": {"id": 1, "lines": [{"id": 2, "lines": []}]},
        "counter": {"a": 2, "b": 1},
        "bytes": "AP8=",
        "bigint": 2 ** 100,
        "none": None,
    }
    with PythonWorker(redis, queue), producer(redis, queue, concurrency=20) as s:
        jobs = {name: s.submit("triage", do(("return", name))) for name in want}
        for name, job in jobs.items():
            s.until_state(job, "succeeded")
            equal(output(s, job), want[name], name)


@case
def what_the_worker_publishes_is_the_job():
    queue, redis = own_queue(), shared()
    steps = [("say", SPAWNED), ("say", TOKEN), ("say", OVER), ("say", DONE)]
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        job = s.submit("triage", do(*steps))
        s.until_state(job, "succeeded")
        frames = s.read(job, "agent")
        equal([f.event for f in frames if f.event != "graph.node_complete"],
              ["agent.spawned", "agent.token", "agent.done", "job.done"])
        equal(frames[1].json["token"], "hello")
        until("ARQ has it behind it", lambda: keys(redis, job) == [f"arq:result:{job}"])
        equal(s.job(job)["attempt"], 1)


@case
def all_that_was_published_before_the_result_is_waited_for():
    queue, redis, n = own_queue(), shared(), 50
    with PythonWorker(redis, queue), Gate(redis) as gate, producer(gate, queue) as s:
        until("it listens", lambda: metric(s, "spoolwire_redis_connected", 'part="subscribe"') == 1)
        gate.is_open.clear()
        job = s.submit("triage", do(("say", SPAWNED), *[("say", TOKEN)] * n))
        check(gate.saw_mark.wait(60), "no mark")
        equal((s.state(job), s.job(job)["events"]), ("running", 1))  # its start
        gate.is_open.set()
        s.until_state(job, "succeeded")  # though `settle` is a minute
        equal(sum(f.event == "agent.token" for f in s.read(job, "agent")), n)


@case
def a_mark_that_does_not_come_is_not_waited_for_any_longer():
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue), Gate(redis) as gate, producer(gate, queue, settle="300ms") as s:
        until("it listens", lambda: metric(s, "spoolwire_redis_connected", 'part="subscribe"') == 1)
        gate.is_open.clear()
        job = s.submit("triage", do(("return", "json")))
        s.until_state(job, "succeeded")
        check(gate.saw_mark.is_set())


@cases(["raised", "published", "both"])
def a_failure_is_said_once(how):
    queue, redis = own_queue(), shared()
    steps = ([("say", {"type": "job.failed", "error": "boom"})] if how != "raised" else []) + ([("fail", "boom")] if how != "published" else [])
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        job = s.submit("triage", do(*steps))
        row = s.until_state(job, "failed")
        equal(row["error"], "boom")
        if how == "raised":
            equal(row["error_type"], "ValueError")
        until("ARQ has it behind it", lambda: keys(redis, job) == [f"arq:result:{job}"])
        equal(endings(s, job), ["job.failed"])


@case
def json_in_the_place_of_pickles():
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue, "json"), producer(redis, queue, serializer="json", args=["job_id", "input", "x=agent"]) as s:
        job = s.submit("triage", do(("echo", None)))
        s.until_state(job, "succeeded")
        equal(output(s, job), {"job_id": job, "state": do(("echo", None)), "resume": None, "named": {"x": "triage"}})
        bad = s.submit("triage", do(("fail", "boom")))
        contains(s.until_state(bad, "failed")["error"], "boom")


@case
def a_question_in_the_middle():
    queue, redis = own_queue(), shared()
    ask = {"type": "graph.interrupt", "question": "which one?", "context": "c"}
    with PythonWorker(redis, queue), producer(redis, queue, resume_function="resume_triage", resume_args=["job_id", "answer"]) as s:
        job = s.submit("triage", do(("say", SPAWNED), ("say", ask)))
        s.until_state(job, "waiting")
        equal(s.post(f"/v1/jobs/{job}/answer", {"value": {"take": 2}}).status, 200)
        s.until_state(job, "succeeded")
        until("the result of its second half", lambda: redis.client().keys(f"arq:result:{job}:*"))
        key, = redis.client().keys(f"arq:result:{job}:*")
        equal(pickle.loads(redis.client().get(key))["r"], {"resumed": {"take": 2}})
        equal([f.event for f in s.read(job, "agent") if f.event.startswith(("graph.in", "graph.re", "job."))],
              ["graph.interrupt", "graph.resumed", "job.done"])


@case
def the_result_of_an_earlier_job_is_not_that_of_this_one():
    queue, redis, id = own_queue(), shared(), own_name("job")
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        s.submit("triage", do(("return", "tuple")), job_id=id)
        s.until_state(id, "succeeded")
        equal(s.request("DELETE", f"/v1/jobs/{id}").status, 204)
        s.submit("triage", do(("return", "uuid")), job_id=id)
        s.until_state(id, "succeeded")
        equal(output(s, id), "00000000-0000-0000-0000-000000000007")


# --- stopping ----------------------------------------------------------------------------


@case
def a_cancel_is_an_abort():
    queue, redis, there = own_queue(), shared(), flag()
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        job = s.submit("triage", do(("touch", there), ("sleep", 50)))
        until("it runs", lambda: os.path.exists(there))
        equal(s.post(f"/v1/jobs/{job}/cancel").status, 200)
        s.until_state(job, "cancelled")
        until("ARQ has aborted it", lambda: keys(redis, job) == [f"arq:result:{job}"])
        contains(repr(pickle.loads(redis.client().get(f"arq:result:{job}"))["r"]), "CancelledError")


@case
def a_cancel_without_a_worker_leaves_nothing_behind():
    queue, redis = own_queue(), shared()
    with producer(redis, queue, grace="300ms") as s:
        job = s.submit("triage", do())
        until("it is in the queue", lambda: redis.client().zscore(queue, job))
        equal(s.post(f"/v1/jobs/{job}/cancel").status, 200)
        s.until_state(job, "cancelled")
        until("nothing is left", lambda: keys(redis, job) == [] and redis.client().zscore(queue, job) is None)


@case
def an_abort_by_somebody_else_is_a_cancel():
    queue, redis, there = own_queue(), shared(), flag()
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        job = s.submit("triage", do(("touch", there), ("sleep", 50)))
        until("it runs", lambda: os.path.exists(there))
        check(python(redis, queue, lambda pool: Job(job, pool, queue).abort(timeout=RESULT_WAIT, poll_delay=0.05)))
        s.until_state(job, "cancelled")


@case
def a_timeout_of_arq_is_a_failure():
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue), producer(redis, queue, function="run_short") as s:
        row = s.until_state(s.submit("triage", do(("sleep", 50))), "failed")
        equal(row["error_type"], "TimeoutError")


@case
def a_job_that_nobody_takes_expires():
    queue, redis = own_queue(), shared()
    with producer(redis, queue, expires="300ms") as s:
        row = s.until_state(s.submit("triage", do()), "failed")
        equal(row["error_type"], "ArqExpired")


@cases([False, True], name=lambda kept: "that should be kept" if kept else "that is not kept")
def a_result(kept):
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue), producer(redis, queue, function="run_forgetful", keeps_result=kept) as s:
        job = s.submit("triage", do())
        row = s.until_state(job, "failed" if kept else "succeeded")
        equal(row["error_type"], "ArqVanished" if kept else None)
        equal(keys(redis, job), [])


@case
def a_retry_of_arq_is_waited_for():
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        job = s.submit("triage", do(("retry_once", None), ("return", "tuple")))
        s.until_state(job, "succeeded")
        equal(output(s, job), [1, ["x"]])


# --- who dies ----------------------------------------------------------------------------


@case
def a_worker_that_dies_silently_is_reaped():
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue), producer(redis, queue, lease="1500ms") as s:
        job = s.submit("triage", do(("die", None)))
        row = s.until_state(job, "failed")
        equal(row["error_type"], "ArqWorkerLost")
        equal(endings(s, job), ["job.failed"])
        until("nothing is left", lambda: keys(redis, job) == [] and redis.client().zscore(queue, job) is None)


@case
def another_worker_goes_on():
    queue, redis, died = own_queue(), shared(), flag()
    with PythonWorker(redis, queue) as first, producer(redis, queue, lease="1500ms", attempts=2) as s:
        job = s.submit("triage", do(("die_once", died), ("return", "tuple")))
        until("the first is dead", lambda: first.process.poll() is not None)
        # Workers of a queue share their sign of life: a second one would speak for the first.
        until("that is noticed", lambda: s.job(job)["attempt"] == 2)
        with PythonWorker(redis, queue):
            s.until_state(job, "succeeded")
            equal(output(s, job), [1, ["x"]])
            equal(endings(s, job), ["job.done"])


@cases(["kill", "terminate"])
def the_server_comes_back_to_what_goes_on_without_it(how):
    queue, redis, go, ran = own_queue(), shared(), flag(), flag()
    with PythonWorker(redis, queue), producer(redis, queue) as s:
        job = s.submit("triage", do(("touch", ran), ("until", go), ("return", "tuple")))
        until("it runs", lambda: os.path.exists(ran))
        getattr(s, how)()
        s.start()
        equal(s.state(job), "running")
        open(go, "w").close()
        row = s.until_state(job, "succeeded")
        equal(row["attempt"], 1)
        equal(output(s, job), [1, ["x"]])
        equal(open(ran).read(), "1\n")
        equal(endings(s, job), ["job.done"])


@cases(["before", "running"])
def redis_is_restarted(when):
    queue, go, ran = own_queue(), flag(), flag()
    with Durable() as redis, PythonWorker(redis, queue) as w, producer(redis, queue) as s:
        if when == "before":
            redis.stop()
        job = s.submit("triage", do(("touch", ran), ("until", go), ("return", "tuple")))
        if when == "running":
            until("it runs", lambda: os.path.exists(ran))
            redis.stop()
        else:
            equal(s.until_state(job, "running")["error"], None)
        w.kill()  # one that lost Redis ends anyway
        redis.start()
        redis.client().delete(f"arq:in-progress:{job}")  # as its time would bring it
        open(go, "w").close()
        with PythonWorker(redis, queue):
            s.until_state(job, "succeeded")
            equal(output(s, job), [1, ["x"]])
            equal(endings(s, job), ["job.done"])


class Calls:
    def __reduce__(self):
        return os.system, ("true",)


@cases(["hostile", "broken"])
def a_result_that_is_none_is_a_failure(kind):
    queue, redis = own_queue(), shared()
    data = pickle.dumps({"s": True, "r": Calls()}) if kind == "hostile" else b"\x80\x04nonsense"
    with producer(redis, queue) as s:
        job = s.submit("triage", do())
        until("it is in the queue", lambda: redis.client().zscore(queue, job))
        redis.client().set(f"arq:result:{job}", data)
        row = s.until_state(job, "failed")
        equal(row["error_type"], "ArqResult")
        contains(row["error"], "posix.system" if kind == "hostile" else "cannot be read")
