"""The system topic of a database with four shards, followed on every gateway."""

import contextlib

from gateway import OPENING, Worker, interrupt
from gateways import Gateway, check, cluster, equal, new_url, until, verify
from harness import case
from shards import SHARDS, spread
from wires import Lines

JOBS = 12


class Topic(Lines):
    """The changes of all jobs, as one gateway tells them."""

    def __init__(self, gateway):
        super().__init__(gateway, "/v1/stream?topics=system&format=ndjson")
        self.until("it is followed", lambda s: "stream.subscribed" in s.events)

    def of(self, job):
        """What it said of a job."""
        return [f.json["state"] for f in self.frames if f.job == job]

    def gaps(self):
        return self.events.count("stream.gap")

    def until_said(self, job, state):
        self.until(f"{job} is {state}", lambda s: state in s.of(job))


@contextlib.contextmanager
def followed(gateways):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Topic(g)) for g in gateways]


def ask(gateways, i):
    """Submits a job at one gateway, whose worker at the next one asks a question."""
    job = gateways[i % len(gateways)].submit(job_id=f"job-{i}")
    lease = Worker(gateways[(i + 1) % len(gateways)]).lease()
    equal(lease.job, job)
    lease.send(*OPENING, interrupt({"question": "go on?"}, f"q-{i}"))
    equal(lease.finish("interrupted"), "waiting")
    return job


@case
def the_system_topic_has_the_changes_of_all_shards():
    """In order for each job, on each gateway."""
    with cluster(3, shards=SHARDS) as gateways:
        spread(gateways)
        with followed(gateways) as topics:
            jobs = [ask(gateways, i) for i in range(JOBS)]
            for i, job in enumerate(jobs):
                equal(gateways[i % 3].post(f"/v1/jobs/{job}/answer", {"value": i}).status, 200)
                gateways[(i + 1) % 3].until_state(job, "queued")
                equal(gateways[(i + 2) % 3].post(f"/v1/jobs/{job}/cancel").status, 200)
            for topic in topics:
                for job in jobs:
                    topic.until_said(job, "cancelled")
                    equal(topic.of(job), ["queued", "running", "open", "waiting", "answered", "queued", "cancelled"], job)
                equal(topic.gaps(), 0, "nothing was lost")


@case
def a_gateway_that_has_just_come_tells_all_changes_or_that_some_are_missing():
    """The one that writes may not know of it yet."""
    with cluster(1) as (a,):
        for _ in range(5):
            with Gateway(a.data) as b, followed([b]) as (topic,):
                job = a.submit()
                topic.until("it is told", lambda s: s.of(job) or s.gaps())
            until("it is alone again", lambda: len(a.get("/v1/gateways").json["gateways"]) == 1)


@case
def followers_of_the_system_topic_are_told_when_changes_may_be_lost():
    """A writer dies: each gateway that lives says so, and its lists have what was not told."""
    url = new_url(SHARDS)
    with cluster(3, url=url) as gateways:
        spread(gateways)
        rest = gateways[1:]
        jobs = [ask(gateways, i) for i in range(JOBS)]
        with followed(rest) as topics:
            gateways[0].kill()
            for topic in topics:
                topic.until("the gap", Topic.gaps)
            for job in jobs:
                equal(rest[0].post(f"/v1/jobs/{job}/cancel").status, 200)
            for gateway, topic in zip(rest, topics):
                told = {job for job in jobs if "cancelled" in topic.of(job)}
                listed = until("all are listed", lambda g=gateway: all_cancelled(g, jobs))
                check(told <= listed, told - listed)
                equal(gateway.get("/v1/interrupts").json["interrupts"], [])
            until("the shards have writers again", lambda: is_told(rest, topics))
    verify(url)


def all_cancelled(gateway, jobs):
    listed = {j["job_id"] for j in gateway.get("/v1/jobs?limit=100&state=cancelled").json["jobs"]}
    return listed if listed == set(jobs) else None


def is_told(gateways, topics):
    """Is a job of each shard told on all of them?  Changes go on to be told behind a gap."""
    new = [gateways[i % 2].submit() for i in range(JOBS)]
    for topic in topics:
        n = topic.gaps()
        topic.until("it is told, or there is another gap", lambda s: s.gaps() > n or all(s.of(job) for job in new))
    return all(topic.of(job) for job in new for topic in topics)
