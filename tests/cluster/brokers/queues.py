"""Queues of ARQ: the gateway that writes enqueues, follows and serves; the next one goes on."""

import contextlib
import os
import sys
import tempfile

import cluster as arq
from arq.jobs import Job
from broker import shared
from gateway import until
from gateways import AGENTS, Gateway, equal, new_url, verify, writer_of
import harness
from harness import case, cases

_own = list(harness._cases)
from producer import OVER, SPAWNED, TOKEN, do, endings, flag, output  # noqa: E402

harness._cases[:] = _own  # the cases of producer.py are the suite arq's


@contextlib.contextmanager
def gateways(n, agents, *flags, shards=None):
    url = new_url(shards)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Gateway(url, "--redis-url", shared().url, *flags, agents={**AGENTS, **agents})) for _ in range(n)]


def tokens(server, job):
    return [f.json["token"] for f in server.read(job, "agent") if f.event == "agent.token"]


@cases(["kill", "terminate", "freeze"])
def a_call_goes_on_in_the_queue_when_its_writer_is_lost(how):
    queue, wait, done = arq.own_queue(), flag(), flag()
    agents = {"triage": arq.arq_agent(queue, lease="60s", attempts=3)}
    with arq.PythonWorker(shared(), queue), gateways(3, agents, "--redis-subscribe") as all_of_them:
        a, *others = all_of_them
        job = others[0].submit("triage", do(("say", SPAWNED), ("touch", done), ("until", wait), ("say", TOKEN), ("say", OVER),
                                            ("return", {"n": 1})))
        until("it runs", lambda: os.path.exists(done))
        others[0].until_state(job, "running")
        getattr(a, how)()
        writer = writer_of(others)
        until("it listens", lambda: b'part="subscribe"} 1' in writer.get("/metrics").body)
        open(wait, "w").close()
        ended = others[1].until_state(job, "succeeded", "failed", seconds=60)
        equal((ended["state"], ended["attempt"]), ("succeeded", 1), ended)
        if how == "freeze":
            a.thaw()
            until("it follows", lambda: a.get("/v1/gateways").json["writer"] == writer.url)
        equal(output(others[0], job), {"n": 1})
        equal(tokens(others[0], job), ["hello"], "once")
        equal(endings(others[0], job), ["job.done"])
        with open(done) as f:
            equal(f.read(), "1\n", "ARQ's worker was called once")
        verify(a.data)


@case
def calls_are_enqueued_wherever_jobs_are_submitted():
    queue = arq.own_queue()
    agents = {"triage": arq.arq_agent(queue)}
    with arq.PythonWorker(shared(), queue), gateways(3, agents, "--redis-subscribe") as all_of_them:
        jobs = [all_of_them[i % 3].submit("triage", do(("return", i))) for i in range(12)]
        for i, job in enumerate(jobs):
            all_of_them[(i + 1) % 3].until_state(job, "succeeded", seconds=60)
            equal(output(all_of_them[(i + 2) % 3], job), i)


def served(folder):
    return {"triage": {"command": [sys.executable, os.path.join(arq.HERE, "agent.py")], "concurrency": 5, "attempts": 3,
                       "lease": "600s", "serves": {"function": "run_triage"}}}


@cases([("kill", 1), ("terminate", 1), ("freeze", 1), ("kill", 4)], name=lambda c: f"{c[0]}, {c[1]} shards")
def a_queue_is_served_by_the_next_writer(how_and_shards):
    """Each call once: its job is the same one, whoever serves it."""
    how, shards = how_and_shards
    queue, redis, folder = arq.own_queue(), shared(), tempfile.mkdtemp(prefix="spoolwire-arq-")
    path = os.path.join(folder, "go")

    def call(id):
        async def put(pool):
            steps = {"do": [["until", path], ["say", {"type": "job.done", "output": {"id": id}}]], "folder": folder}
            return (await pool.enqueue_job("run_triage", id, steps, _job_id=id)).job_id
        return arq.python(redis, queue, put)

    flags = ("--arq-queue", queue, "--arq-poll", "50ms", "--arq-lease", "2s")
    with gateways(3, served(folder), *flags, shards=shards) as all_of_them:
        a, *others = all_of_them
        ids = [call(arq.own_name("job")) for _ in range(6)]
        for id in ids[:3]:
            until("it is submitted", lambda: others[0].get(f"/v1/jobs/{id}").status == 200)
        getattr(a, how)()
        writer_of(others)
        ids += [call(arq.own_name("job")) for _ in range(3)]
        if how == "freeze":
            a.thaw()
        open(path, "w").close()
        for id in ids:
            result = arq.python(redis, queue, lambda pool: Job(id, pool, queue).result(timeout=arq.RESULT_WAIT, poll_delay=0.05))
            equal(result, {"id": id})
        listed = [j["job_id"] for j in others[0].get("/v1/jobs?limit=100").json["jobs"]]
        equal(sorted(listed), sorted(ids), "one job for each call")
        for id in ids:
            equal(endings(others[1], id), ["job.done"])
        verify(a.data)
