"""Redis and ARQ with four shards on two gateways: each shard's writer does what concerns its jobs."""

import json
import os
import threading
import time

import cluster as arq
from broker import Listener, own_channel, shared
from channels import DONE, Channel, listeners, listening, warnings
from gateway import CLOSING, OPENING, Worker, token, until
from gateways import AGENTS, check, cluster, database, equal, texts, verify
from harness import case, cases
from queues import OVER, SPAWNED, TOKEN, do, endings, flag, gateways, output, tokens

SHARDS, JOBS = 4, 12


def writers(gateway):
    """By shard, the URL of the gateway that writes it."""
    return {n: g["url"] for g in gateway.get("/v1/gateways").json["gateways"] for n in g["shards"]}


def until_even(a, b):
    until("each writes two", lambda: all(sorted(writers(g).values()) == sorted([a.url, b.url] * 2) for g in (a, b)))


def shards_of(gateway, jobs):
    rows = database().sql("SELECT id, shard FROM jobs_text", gateway.data.rsplit("/", 1)[1])
    found = {id: int(shard) for id, shard in (row.split("|") for row in rows.split())}
    return {job: found[job] for job in jobs}


def submit_all(a, b, agent):
    """Some are where their id says, some where their key says."""
    return [(a, b)[i % 2].submit(agent, headers={"Idempotency-Key": f"k{i}"} if i % 2 else {}) for i in range(JOBS)]


@case
def the_channels_of_all_jobs_are_fed_once():
    pattern = own_channel()
    with listeners(pattern, 2, SHARDS, "--redis-subscribe-agent", "fed") as (a, b):
        until_even(a, b)
        until("both listen", lambda: listening(a) and listening(b))
        jobs = submit_all(a, b, "fed")
        jobs += [f"{pattern.split(':')[0]}-made-{i}" for i in range(JOBS)]  # these are made by their first message
        channels = [Channel(pattern, job) for job in jobs]
        for c in channels:
            c.say(*OPENING)
        for i in range(20):
            for c in channels:
                c.say(token(f"t{i}"))
        for c in channels:
            c.say(*CLOSING, DONE)
        for job in jobs:
            until("it is there", lambda: b.get(f"/v1/jobs/{job}").status == 200)
            b.until_state(job, "succeeded")
            equal(texts(a.read(job, "raw")), [f"t{i}" for i in range(20)])
            equal(warnings(a, job), [])
        equal(set(shards_of(a, jobs).values()), set(range(SHARDS)))
        verify(a.data)


class Stream(threading.Thread):
    """Publishes numbers on the channels of all jobs, until it is told to end."""

    def __init__(self, pattern, jobs):
        super().__init__(daemon=True)
        self.channels, self.n, self.over = [Channel(pattern, job) for job in jobs], 0, threading.Event()

    def run(self):
        while not self.over.is_set():
            for c in self.channels:
                c.say(token(f"t{self.n}"))
            self.n += 1
            time.sleep(0.002)


@cases(["kill", "terminate", "freeze"])
def messages_are_stored_once_while_shards_move(how):
    pattern = own_channel()
    with listeners(pattern, 2, SHARDS) as (a, b):
        until_even(a, b)
        until("both listen", lambda: listening(a) and listening(b))
        jobs = submit_all(a, b, "fed")
        moved = {n for n, url in writers(a).items() if url == b.url}
        stream = Stream(pattern, jobs)
        for c in stream.channels:
            c.say(*OPENING)
        stream.start()
        until("they run", lambda: all(a.job(job)["events"] > 20 for job in jobs))
        getattr(b, how)()
        until("the other writes all", lambda: set(writers(a).values()) == {a.url} and len(writers(a)) == SHARDS)
        before = {job: a.job(job)["events"] for job in jobs}
        until("they go on", lambda: all(a.job(job)["events"] > before[job] + 20 for job in jobs))
        if how == "freeze":
            b.thaw()
            until_even(a, b)  # and back
            before = {job: a.job(job)["events"] for job in jobs}
            until("they go on", lambda: all(a.job(job)["events"] > before[job] + 20 for job in jobs))
        stream.over.set()
        stream.join()
        for c in stream.channels:
            c.say(*CLOSING, DONE)
        for job, shard in shards_of(a, jobs).items():
            a.until_state(job, "succeeded")
            got = [int(t[1:]) for t in texts(a.read(job, "raw"))]
            equal(got, sorted(set(got)), f"{job}: each once and in order")
            told = warnings(a, job)
            if how != "freeze":
                equal(len(told), int(shard in moved), told)
            if not told:
                equal(got, list(range(stream.n)), f"{job}: none is missing")
        verify(a.data)


@case
def jobs_of_all_shards_are_published():
    pattern = own_channel()
    flags = ["--redis-url", shared().url, "--redis-publish", "raw", "--redis-publish-channel", pattern]
    with cluster(2, flags=flags, shards=SHARDS, agents=AGENTS) as (a, b), Listener(shared(), pattern) as heard:
        until_even(a, b)
        jobs = submit_all(a, b, "pull")
        leases = [Worker(a).lease() for _ in jobs]
        for lease in leases:
            lease.send(*OPENING)
        for i in range(20):
            if i == 10:
                b.kill()
            for lease in leases:
                lease.send(token(f"t{i}"))
        for lease in leases:
            lease.send(*CLOSING)
            equal(lease.finish(), "succeeded")
        for job in jobs:
            heard.until("the end", lambda s: any('"job.end"' in p for p in s.payloads(job)))
            stored = {f.json["seq"]: f.json for f in a.read(job, "raw")}
            seen = {}
            for p in map(json.loads, heard.payloads(job)):
                equal(seen.setdefault(p["seq"], p), p, "a repeat is the same")
            equal(seen, stored, "none is missing")
        until("it is stored how far they are published", lambda: database().sql(
            "SELECT count(*) FROM jobs WHERE published <> -1", a.data.rsplit("/", 1)[1]) == "0")


@cases(["kill", "terminate"])
def calls_of_all_shards_go_on_in_the_queue(how):
    queue, wait = arq.own_queue(), flag()
    done = [flag() for _ in range(8)]
    agents = {"triage": arq.arq_agent(queue, lease="60s", attempts=3)}
    with arq.PythonWorker(shared(), queue), gateways(2, agents, "--redis-subscribe", shards=SHARDS) as (a, b):
        until_even(a, b)

        def work(i):
            return do(("say", SPAWNED), ("touch", done[i]), ("until", wait), ("say", TOKEN), ("say", OVER), ("return", i))
        jobs = [(a, b)[i % 2].submit("triage", work(i), job_id=arq.own_name("job")) for i in range(8)]
        for path in done:
            until("it runs", lambda: os.path.exists(path))
        shard_of, moved = shards_of(a, jobs), {n for n, url in writers(a).items() if url == b.url}
        getattr(b, how)()
        until("the other writes all", lambda: set(writers(a).values()) == {a.url} and len(writers(a)) == SHARDS)
        until("it listens", lambda: listening(a))
        for job in jobs:
            a.until_state(job, "running")
            if shard_of[job] in moved:  # its channel is followed, when it has been warned
                until("it is warned", lambda: b'"warning"' in a.get(f"/v1/jobs/{job}/events?format=json&dialect=raw").body)
        open(wait, "w").close()
        for i, job in enumerate(jobs):
            ended = a.until_state(job, "succeeded", "failed", seconds=60)
            equal((ended["state"], ended["attempt"]), ("succeeded", 1), ended)
            equal(output(a, job), i)
            equal(tokens(a, job), ["hello"], "once")
            equal(endings(a, job), ["job.done"])
            with open(done[i]) as f:
                equal(f.read(), "1\n", "ARQ's worker was called once")
        check(len(set(shard_of.values())) > 1, "one shard has all jobs")
        verify(a.data)
