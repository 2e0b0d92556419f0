"""Everything is killed in the middle of streams: each number that was acknowledged is there once, in order."""

import json
import os
import signal
import tempfile
import urllib.request

from cluster import AGENTS, KIT, MANY, PULL, Cluster, Server, bridge, environment, said, scene, shared, so_far, until_said
from gateway import until
from gateways import cluster as gateways_of, verify, writer_of
from harness import case, cases, check, equal

LONG = {"n": 60, "every": 0.1}


def in_order(numbers, n):
    """What one attempt has said is a run of numbers from 0; only the last attempt goes to the end."""
    attempts = []
    for number in numbers:
        if number == 0:
            attempts.append([])
        attempts[-1].append(number)
    for attempt in attempts:
        equal(attempt, list(range(len(attempt))))
    equal(len(attempts[-1]), n)
    return len(attempts)


@case
def a_worker_is_killed():
    with Cluster() as cluster, scene(cluster=cluster) as (s, _):
        job = s.submit("mine", LONG)
        until_said(s, job, 5)
        cluster.workers[0].kill()
        cluster.add_worker()
        done = s.until_state(job, "succeeded", seconds=MANY)
        equal(done["attempt"], 2)
        equal(in_order(said(s, job), LONG["n"]), 2)


@case
def a_worker_goes_down_and_hands_its_job_back():
    with Cluster() as cluster, scene("--on-stop", "return", cluster=cluster, settings={"attempts": 1, "lease": "60s"}) as (s, _):
        job = s.submit("mine", {"n": 100000, "every": 0.1})
        until_said(s, job, 3)
        cluster.workers[0].process.send_signal(signal.SIGTERM)
        until("the job is queued again", lambda: s.state(job) == "queued", seconds=MANY)


@cases([(), ("--in-worker",)])
def a_job_that_kills_its_process_runs_as_often_as_it_may(flags):
    with Cluster(workers=0) as cluster, tempfile.TemporaryDirectory() as folder:
        notes = os.path.join(folder, "notes")
        cluster.add_worker("--nanny", wait=False)  # which starts it again
        cluster.workers[0].kill()
        for _ in range(4):
            cluster.add_worker()
        with scene(*flags, graph="deadly", cluster=cluster) as (s, _):
            job = s.submit("mine", {"notes": notes})
            done = s.until_state(job, "failed", seconds=MANY)
            equal(done["attempt"], 3)
            with open(notes) as f:
                equal(f.read().split(), ["1", "2", "3"])
            equal(said(s, job), [1, 2, 3])


@case
def the_scheduler_is_killed():
    with Cluster() as cluster, scene("--grace", "60", cluster=cluster) as (s, _):
        job = s.submit("mine", LONG)
        until_said(s, job, 5)
        cluster.scheduler.kill()
        other = s.submit("mine", {"n": 2})
        s.until_state(job, "succeeded", seconds=MANY)
        in_order(said(s, job), LONG["n"])
        cluster.start_scheduler()
        cluster.add_worker()
        equal(s.until_state(other, "succeeded", seconds=MANY)["attempt"], 1)


@case
def the_bridge_is_killed():
    with Cluster() as cluster, Server(agents={"mine": PULL}) as s:
        with bridge(s, cluster) as first:
            job = s.submit("mine", LONG)
            until_said(s, job, 5)
            first.kill()
        waits = s.submit("mine", {"n": 2})
        equal(s.until_state(job, "succeeded", seconds=MANY)["attempt"], 1)
        equal(said(s, job), list(range(LONG["n"])))
        equal(s.state(waits), "queued")
        with bridge(s, cluster):
            s.until_state(waits, "succeeded", seconds=MANY)


@case
def the_server_is_killed():
    with Cluster() as cluster, scene(cluster=cluster) as (s, _):
        job = s.submit("mine", LONG)
        until_said(s, job, 5)
        s.restart(s.kill)
        equal(s.until_state(job, "succeeded", seconds=MANY)["attempt"], 1)
        equal(said(s, job), list(range(LONG["n"])))
        s.until_state(s.submit("mine"), "succeeded", seconds=MANY)


# --- a task that Dask runs again by itself ------------------------------------------------------


def leased_before(url, job, lease, executor, notes):
    """What a bridge that leases would submit: a task that works under a lease from outside.  The first
    worker dies in the middle, and Dask runs it again."""
    import os
    import urllib.error
    import urllib.request
    import uuid

    with open(notes, "a") as f:
        f.write("run\n")
    with open(notes) as f:
        run = len(f.readlines())
    mine = "" if not executor else f"&executor={executor if run == 1 else uuid.uuid4().hex}"
    lines = b"".join(b'{"namespace":[],"mode":"custom","payload":{"n":"%d.%d"}}\n' % (run, i) for i in range(3))
    seq = 0 if run == 1 else 1
    request = urllib.request.Request(f"{url}/v1/worker/jobs/{job}/events?lease={lease}&seq={seq}{mine}", lines, method="POST")
    try:
        status = urllib.request.urlopen(request).status
    except urllib.error.HTTPError as e:
        status = e.code
    with open(notes + ".status", "a") as f:
        f.write(f"{status}\n")
    if run == 1:
        os.kill(os.getpid(), 9)
    return status


leased_before.__module__ = "__main__"  # sent as code


def rerun(executor):
    """The status of each run's batch, and what the log has of the job."""
    from distributed import Client

    with Cluster(workers=2) as cluster, Server(agents={"mine": {**PULL, "lease": "60s"}}) as s, \
            tempfile.TemporaryDirectory() as folder:
        notes = os.path.join(folder, "notes")
        job = s.submit("mine")
        body = {"agents": ["mine"], "worker": "w", "wait": 1, "request_id": "1", **({"executor": executor} if executor else {})}
        lease = s.post("/v1/worker/lease", body).json["lease"]
        with Client(cluster.address, set_as_default=False) as client:
            client.submit(leased_before, s.url, job, lease, executor, notes).result(timeout=MANY)
        with open(notes + ".status") as f:
            return f.read().split(), so_far(s, job)


@case
def a_task_that_dask_runs_again_never_splices_a_log():
    statuses, numbers = rerun("the-first-process")
    equal(statuses, ["200", "409"])
    equal(numbers, ["1.0", "1.1", "1.2"])
    statuses, numbers = rerun(None)  # without an executor it does: the check above can fail
    equal(statuses, ["200", "200"])
    check("2.0" in numbers, numbers)


@case
def a_gateway_that_writes_is_killed():
    """Two gateways over PostgreSQL.  The tickets go to the other one, which takes the jobs over."""
    with gateways_of(2, agents={"mine": {**PULL, "lease": "30s"}}) as gateways:
        writer = writer_of(gateways)
        other = next(g for g in gateways if g is not writer)
        with bridge(other, shared()):
            jobs = [gateways[i % 2].submit("mine", LONG) for i in range(4)]
            for job in jobs:
                until_said(other, job, 5)
            writer.kill()
            for job in jobs:
                equal(other.until_state(job, "succeeded", seconds=MANY)["attempt"], 1)
                equal(said(other, job), list(range(LONG["n"])))
        verify(other.data)
