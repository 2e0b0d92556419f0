"""Celery: a worker of its own command line, on Redis."""

import contextlib
import signal
import sys

from cluster import AGENTS, KIT, MANY, PULL, Process, agents, environment, said, until_said
from gateway import Server, reserve, until
from harness import case, check, contains, equal


@contextlib.contextmanager
def redis():
    with reserve() as place:
        port = place.getsockname()[1]
        with Process("redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1", env=environment()) as server:
            until("Redis listens", lambda: "eady to accept connections" in server.text())
            yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def worker(broker, *flags, folders=(AGENTS, KIT)):
    command = [sys.executable, "-m", "celery", "-A", "spoolwire.celery_engine", "worker", "--concurrency", "2",
               "--loglevel", "info", "--without-gossip", "--without-mingle", *flags]
    with Process(*command, env=environment(*folders, SPOOLWIRE_CELERY_BROKER=broker)) as process:
        until("the worker is ready", lambda: "ready." in process.text(), seconds=MANY)
        yield process


@contextlib.contextmanager
def bridge(s, broker, graph="talk", *flags):
    command = [sys.executable, "-m", "spoolwire", "celery", "--broker", broker, "--url", s.url, "--agent",
               f"mine=dask_agents:{graph}", *flags]
    with Process(*command, env=environment(KIT)) as process:
        yield process


@case
def jobs_on_celery():
    with redis() as broker, worker(broker), Server(agents={"mine": PULL}) as s, bridge(s, broker) as b:
        jobs = [s.submit("mine", {"n": 2}) for _ in range(20)]
        for job in jobs:
            done = s.until_state(job, "succeeded", seconds=MANY)
            equal(done["attempt"], 1)
            check(done["worker"].startswith("celery "), done)
        equal(said(s, jobs[0]), [0, 1])
        equal(b.terminate(), 0, b.text())


@case
def a_worker_of_celery_is_killed_and_a_silent_job_is_cancelled():
    with redis() as broker, Server(agents={"mine": PULL}) as s, bridge(s, broker, "silent"):
        with worker(broker) as first:
            job = s.submit("mine", {})
            until_said(s, job, 0)
            first.kill()
        with worker(broker):
            until("its second attempt", lambda: s.job(job)["attempt"] == 2 and s.state(job) == "running", seconds=MANY)
            equal(s.post(f"/v1/jobs/{job}/cancel").status, 200)
            s.until_state(job, "cancelled", seconds=MANY)


@case
def workers_of_celery_without_the_module():
    with redis() as broker, worker(broker, folders=(KIT,)), Server(agents={"mine": PULL}) as s, bridge(s, broker):
        job = s.submit("mine")
        until("it is said", lambda: "No module named 'dask_agents'" in (agents(s)["mine"]["error"] or ""), seconds=MANY)
        equal((s.state(job), s.job(job)["attempt"]), ("queued", 0))


@case
def a_broker_that_is_not_there():
    with reserve() as place, Server(agents={"mine": PULL}) as s, \
            bridge(s, f"redis://127.0.0.1:{place.getsockname()[1]}/0") as b:
        until("it is said", lambda: "cannot reach the broker of Celery" in (agents(s)["mine"]["error"] or ""), seconds=MANY)
        contains(b.text(), "cannot reach the broker of Celery")
        b.process.send_signal(signal.SIGTERM)
        equal(b.process.wait(MANY), 0)
