"""spoolwire as ARQ's worker: serves calls that a Python program has enqueued."""

import asyncio
import contextlib
import json
import os
import re
import tempfile
import time

from arq.jobs import Job, JobStatus, SerializationError
from arq.worker import JobExecutionFailed, async_check_health
from broker import Listener, metric, shared
from cluster import RESULT_WAIT, Durable, consumer, keys, own_name, own_queue, python, settings
from gateway import Worker, until
from harness import case, cases, check, contains, equal

CHANNEL = "jobs:{job_id}:events"
ASK = {"type": "graph.interrupt", "interrupt_id": "q1", "question": "which one?", "context": "c"}
SPAWNED = {"type": "agent.spawned", "agent_id": "a1", "agent_name": "investigator", "node": "investigator"}
TOKEN = {"type": "agent.token", "agent_id": "a1", "token": "hello"}
OVER = {"type": "agent.done", "agent_id": "a1", "node": "investigator"}


class Case:
    """A queue, a folder and ids of its own."""

    def __init__(self, redis=None):
        self.redis, self.queue = redis or shared(), own_queue()
        self.folder = tempfile.mkdtemp(prefix="spoolwire-arq-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def do(self, *steps):
        return {"do": [list(s) for s in steps], "folder": self.folder}

    def runs(self):
        with contextlib.suppress(FileNotFoundError):
            return open(self.path("runs")).read().split("\n")[:-1]
        return []

    def enqueue(self, function, *args, **more):
        """As a Python API does; returns ARQ's id."""
        async def put(pool):
            job = await pool.enqueue_job(function, *args, **more)
            check(job, "ARQ has refused it")
            return job.job_id
        return python(self.redis, self.queue, put)

    def call(self, *steps, **more):
        job = own_name("job")
        self.enqueue("run_triage", job, self.do(*steps), _job_id=job, **more)
        return job

    def result(self, id, **more):
        return python(self.redis, self.queue, lambda pool: Job(id, pool, self.queue, **more).result(timeout=RESULT_WAIT, poll_delay=0.05))

    def raises(self, id, kind, **more):
        try:
            value = self.result(id, **more)
        except kind as e:
            check(type(e) is kind, repr(e))
            return str(e)
        raise AssertionError(f"it has returned {value!r}")

    def status(self, id):
        return python(self.redis, self.queue, lambda pool: Job(id, pool, self.queue).status())

    def until_gone(self, id):
        until("only its result is left", lambda: keys(self.redis, id) == [f"arq:result:{id}"]
              and self.redis.client().zscore(self.queue, id) is None)


@case
def a_call_is_a_job_with_events_and_a_result():
    c = Case()
    steps = [("say", SPAWNED), ("say", TOKEN), ("say", OVER), ("say", {"type": "job.done", "output": {"n": 2 ** 70, "t": "é😀"}})]
    with consumer(c.redis, c.queue) as s:
        job = own_name("job")
        with Listener(c.redis, CHANNEL, job) as heard:
            id = c.enqueue("run_triage", job, c.do(*steps))
            equal(c.result(id), {"n": 2 ** 70, "t": "é😀"})
            types = [json.loads(p)["type"] for p in heard.until_end(job)]
            equal([t for t in types if t != "graph.node_complete"], ["agent.spawned", "agent.token", "agent.done", "job.done"])
        equal(s.state(job), "succeeded")
        c.until_gone(id)

        async def info(pool):
            return await Job(id, pool, c.queue).result_info()
        told = python(c.redis, c.queue, info)
        equal((told.function, told.args, told.kwargs, told.job_try, told.success, told.queue_name, told.job_id),
              ("run_triage", (job, c.do(*steps)), {}, 1, True, c.queue, id))
        check(told.enqueue_time <= told.start_time <= told.finish_time)
        equal([metric(s, "spoolwire_arq_calls_taken_total"), metric(s, "spoolwire_arq_results_total", 'outcome="succeeded"'),
               metric(s, "spoolwire_arq_results_total", 'outcome="failed"'), metric(s, "spoolwire_arq_calls")], [1, 1, 0, 0])


@case
def any_kind_of_agent_serves():
    """A pull worker; the function has another shape, and no id of ours in it."""
    c = Case()
    with consumer(c.redis, c.queue, pull=True, serves={"args": ["input", "x=agent"]}) as s:
        id = c.enqueue("run_triage", {"issue": 1}, x="ignored")
        order = Worker(s, "triage").lease()
        equal((order.job, order.order["input"]), (id, {"issue": 1}))
        order.finish(output={"done": True})
        equal(c.result(id), {"done": True})


@case
def a_failure_is_an_exception():
    c = Case()
    with consumer(c.redis, c.queue):
        said = c.call(("say", {"type": "job.failed", "error": "no such repository", "error_type": "KeyError"}))
        contains(c.raises(said, KeyError), "no such repository")
        own = c.call(("say", {"type": "job.failed", "error": "it broke", "error_type": "GraphRecursionError"}))
        equal(c.raises(own, JobExecutionFailed), "GraphRecursionError: it broke")
        ended = c.call(("fail", 3))
        contains(c.raises(ended, JobExecutionFailed), "exit status 3")


@case
def what_cannot_be_done_is_said():
    c = Case()
    with consumer(c.redis, c.queue, "--arq-max-tries", "3"):
        equal(c.raises(c.enqueue("run_other", "x"), JobExecutionFailed), "function 'run_other' not found")
        contains(c.raises(c.enqueue("run_triage", "a:b", {}), JobExecutionFailed), "letters, digits")
        odd = own_name("odd")
        c.redis.client().set(f"arq:job:{odd}", b"nonsense")
        c.redis.client().zadd(c.queue, {odd: 1})
        contains(c.raises(odd, JobExecutionFailed), "unable to deserialize job")
        gone = own_name("gone")
        c.redis.client().zadd(c.queue, {gone: 1})
        equal(c.raises(gone, JobExecutionFailed), "job expired")
        tried = own_name("tried")
        c.redis.client().set(f"arq:retry:{tried}", 3)
        c.enqueue("run_triage", tried, c.do(), _job_id=tried)
        equal(c.raises(tried, JobExecutionFailed), "max 3 retries exceeded")


@case
def an_abort_cancels_the_job():
    c = Case()
    with consumer(c.redis, c.queue) as s:
        job = c.call(("until", c.path("never")))
        until("it runs", c.runs)
        equal(c.status(job), JobStatus.in_progress)
        check(python(c.redis, c.queue, lambda pool: Job(job, pool, c.queue).abort(timeout=RESULT_WAIT, poll_delay=0.05)))
        equal(s.state(job), "cancelled")
        c.until_gone(job)


@case
def an_abort_before_it_begins():
    c = Case()
    with consumer(c.redis, c.queue) as s:
        job = c.call(_defer_by=3600)
        equal(c.status(job), JobStatus.deferred)
        check(python(c.redis, c.queue, lambda pool: Job(job, pool, c.queue).abort(timeout=RESULT_WAIT, poll_delay=0.05)))
        # ARQ brings it forward before it says that it is to be aborted: it may have been taken.
        if s.get(f"/v1/jobs/{job}").status != 404:
            s.until_state(job, "cancelled")
        else:
            equal(c.runs(), [])


@case
def an_abort_is_ignored_where_it_is_not_allowed():
    c = Case()
    with consumer(c.redis, c.queue, top="arq_allow_abort: false\n") as s:
        job = c.call(("until", c.path("go")), ("say", {"type": "job.done", "output": 1}))
        until("it runs", c.runs)
        c.redis.client().zadd("arq:abort", {job: 1})
        open(c.path("go"), "w").close()
        equal(c.result(job), 1)
        equal(s.state(job), "succeeded")


@case
def no_more_at_a_time_than_max_jobs():
    c = Case()
    with consumer(c.redis, c.queue, "--arq-max-jobs", "2"):
        jobs = [c.call(("until", c.path("go"))) for _ in range(5)]
        until("two run", lambda: len(c.runs()) == 2)
        equal(sorted(c.status(j) for j in jobs), sorted([JobStatus.in_progress] * 2 + [JobStatus.queued] * 3))
        open(c.path("go"), "w").close()
        for job in jobs:
            equal(c.result(job), None)
        equal(len(c.runs()), 5)


@case
def what_is_put_off_waits():
    c = Case()
    with consumer(c.redis, c.queue):
        start = time.time()
        job = c.call(("say", {"type": "job.done", "output": "late"}), _defer_by=1.0)
        equal(c.result(job), "late")
        check(time.time() - start >= 1.0)


@case
def somebody_is_there():
    c = Case()
    with consumer(c.redis, c.queue) as s:
        until("it says so", lambda: c.redis.client().exists(f"{c.queue}:health-check"))
        equal(asyncio.run(async_check_health(settings(c.redis), queue_name=c.queue)), 0)
        text = c.redis.client().get(f"{c.queue}:health-check").decode()
        check(re.fullmatch(r"\w{3}-\d\d [\d:]{8} j_complete=0 j_failed=0 j_retried=0 j_ongoing=0 queued=0", text),
              f"as ARQ's own workers say it: {text}")
        s.terminate()
        equal(c.redis.client().exists(f"{c.queue}:health-check"), 0)


@case
def a_question_is_a_result_and_its_answer_a_call():
    c = Case()
    with consumer(c.redis, c.queue) as s:
        job = c.call(("say", ASK))
        equal(c.result(job), None)
        equal(s.state(job), "waiting")
        c.until_gone(job)
        again = c.enqueue("resume_triage", job, {"take": 2})
        equal(c.result(again), {"resumed": {"q1": {"take": 2}}})
        equal(s.state(job), "succeeded")
        late = c.enqueue("resume_triage", job, 3)
        contains(c.raises(late, JobExecutionFailed), "has been answered")


@case
def the_time_for_an_answer_ends():
    c = Case()
    with consumer(c.redis, c.queue) as s:
        job = c.call(("say", ASK))
        c.result(job)
        c.enqueue("expire_human_input", job, _job_id=f"timeout:{job}", _defer_by=0.5)
        equal(s.until_state(job, "failed")["error_type"], "AnswerDeadline")
        equal(c.result(f"timeout:{job}"), None)
        answered = c.call(("say", ASK))
        c.result(answered)
        equal(s.post(f"/v1/jobs/{answered}/answer", {"value": 1}).status, 200)
        s.until_state(answered, "succeeded")
        equal(c.result(c.enqueue("expire_human_input", answered)), None)
        equal(s.state(answered), "succeeded")


@case
def json_in_the_place_of_pickles_here_too():
    c = Case()
    forms = {"job_serializer": lambda d: json.dumps(d).encode(), "job_deserializer": json.loads}

    async def call(pool, *args):
        return await (await pool.enqueue_job("run_triage", *args)).result(timeout=RESULT_WAIT, poll_delay=0.05)

    with consumer(c.redis, c.queue, "--arq-serializer", "json"):
        steps = c.do(("say", {"type": "job.done", "output": [1]}))
        equal(python(c.redis, c.queue, lambda pool: call(pool, own_name("job"), steps), **forms), [1])
        try:
            python(c.redis, c.queue, lambda pool: call(pool, own_name("job"), c.do(("fail", 3))), **forms)
        except SerializationError as e:
            contains(str(e), "exit status 3")
        else:
            raise AssertionError("no exception")


@cases(["kill", "terminate"])
def a_call_that_is_taken_again_is_the_same_job(how):
    c = Case()
    with consumer(c.redis, c.queue, lease="4s", attempts=2) as s:
        job = c.call(("until", c.path("go")), ("say", {"type": "job.done", "output": 7}))
        until("it runs", c.runs)
        getattr(s, how)()
        equal(c.redis.client().exists(f"arq:in-progress:{job}"), how == "kill")
        s.start()
        until("it runs again", lambda: len(c.runs()) == 2)
        open(c.path("go"), "w").close()
        equal(c.result(job), 7)
        equal([f.event for f in s.read(job, "agent") if f.event.startswith("job.")], ["job.done"])
        equal(len(c.runs()), 2)
        c.until_gone(job)


@case
def redis_is_restarted_in_the_middle():
    with Durable() as redis:
        c = Case(redis)
        with consumer(redis, c.queue) as s:
            job = c.call(("until", c.path("go")), ("say", {"type": "job.done", "output": 7}))
            until("it runs", c.runs)
            redis.stop()
            open(c.path("go"), "w").close()
            s.until_state(job, "succeeded")
            redis.start()
            equal(c.result(job), 7)
            equal(len(c.runs()), 1)
            c.until_gone(job)


@case
def two_servers_share_a_queue():
    c = Case()
    with consumer(c.redis, c.queue) as one, consumer(c.redis, c.queue) as two:
        jobs = [c.call(("say", {"type": "job.done", "output": i})) for i in range(8)]
        equal([c.result(j) for j in jobs], list(range(8)))
        equal(len(c.runs()), 8)
        equal([(one.get(f"/v1/jobs/{j}").status == 200) + (two.get(f"/v1/jobs/{j}").status == 200) for j in jobs], [1] * 8)
