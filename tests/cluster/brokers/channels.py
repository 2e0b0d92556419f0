"""Redis channels: the gateway that writes listens and publishes, the others stand by."""

import contextlib
import json

from broker import Listener, metric, own_channel, shared
from gateway import CLOSING, OPENING, STORY, Worker, token, until
from gateways import AGENTS, Gateway, check, cluster, equal, new_url, texts, verify, writer_of
from harness import case, cases

FED = {"fed": {"channel": True, "lease": "600s"}}
DONE = {"type": "job.done"}


class Channel:
    """An existing worker: json.dumps and PUBLISH."""

    def __init__(self, pattern, job):
        self.redis, self.name = shared().client(), pattern.replace("{job_id}", job)

    def say(self, *events):
        """How many have heard each of @events."""
        pipe = self.redis.pipeline(transaction=False)
        for e in events:
            pipe.publish(self.name, json.dumps(e))
        return pipe.execute()

    def say_when_heard(self, event):
        """Publishes @event until somebody listens: what nobody has heard is lost."""
        until("somebody listens", lambda: self.say(event) != [0], every=0.02)


def listening(server):
    return metric(server, "spoolwire_redis_connected", 'part="subscribe"') == 1


def listeners(pattern, n=3, shards=1, *more):
    flags = ["--redis-url", shared().url, "--redis-subscribe", "--redis-subscribe-channel", pattern, *more]
    return cluster(n, flags=flags, shards=shards, agents={**AGENTS, **FED})


def warnings(server, job):
    return [f.json["text"] for f in server.read(job, "raw") if f.json.get("title") == "warning"]


@case
def a_second_gateway_with_redis_starts_and_only_the_writer_listens():
    pattern = own_channel()
    with listeners(pattern) as (a, b, c):
        until("the writer listens", lambda: listening(a))
        job = b.submit("fed")
        channel = Channel(pattern, job)
        equal(channel.say(*OPENING), [1] * len(OPENING), "one of three gateways hears it")
        equal(c.until_state(job, "running")["worker"], "channel")
        equal(channel.say(token("x"), *CLOSING, DONE)[0], 1)
        c.until_state(job, "succeeded")
        equal(texts(b.read(job, "raw")), ["x"])
        equal(warnings(b, job), [])


@cases(["kill", "terminate", "freeze"])
def a_channel_is_fed_by_the_next_writer_and_the_job_is_warned(how):
    pattern = own_channel()
    with listeners(pattern) as gateways:
        a, *others = gateways
        until("the writer listens", lambda: listening(a))
        job = others[0].submit("fed")
        channel = Channel(pattern, job)
        channel.say(*OPENING, token("a"), token("b"))
        others[1].until_state(job, "running")
        with others[0].stream(job) as stream:
            stream.until("tokens", lambda s: texts(s.frames) == ["a", "b"])
            getattr(a, how)()
            writer = writer_of(others)
            until("it listens", lambda: listening(writer))
            sent = [f"t{i}" for i in range(50)]
            heard = [channel.say(token(t))[0] for t in sent]
            if how == "freeze":
                equal(set(heard), {2}, "Redis keeps them for the frozen gateway too")
                a.thaw()
                until("it does not listen any more", lambda: not listening(a))
            else:
                equal(set(heard), {1})
            channel.say(*CLOSING, DONE)
            others[0].until_state(job, "succeeded")
            stream.rest()
            equal(texts(stream.frames), ["a", "b", *sent], "each once")
        told = warnings(others[1], job)
        equal(len(told), 1, told)
        check("may be missing" in told[0], told)
        verify(a.data)


@case
def what_is_published_during_a_takeover_is_lost_and_said():
    pattern = own_channel()
    with listeners(pattern, 2) as (a, b):
        until("the writer listens", lambda: listening(a))
        job = b.submit("fed")
        channel = Channel(pattern, job)
        channel.say(*OPENING, token("a"))
        b.until_state(job, "running")
        with b.stream(job) as stream:
            stream.until("it is stored", lambda s: texts(s.frames) == ["a"])
        a.kill()
        lost = 0
        while channel.say(token("lost")) == [0]:  # nobody hears it
            lost += 1
        channel.say(token("z"), *CLOSING, DONE)
        b.until_state(job, "succeeded")
        got = texts(b.read(job, "raw"))
        check(lost > 0, "it was too quick to lose anything")
        equal(got, ["a", "lost", "z"], "the one that was heard, and nothing that was not")
        equal(len(warnings(b, job)), 1)


@case
def publishing_goes_on_after_a_takeover():
    pattern = own_channel()
    flags = ["--redis-url", shared().url, "--redis-publish", "raw", "--redis-publish-channel", pattern]
    with cluster(flags=flags) as gateways, Listener(shared(), pattern) as heard:
        a, b, c = gateways
        job = b.submit()
        lease = Worker(b).lease()
        equal(lease.job, job)
        lease.send(*OPENING)
        for i in range(20):
            lease.send(token(f"t{i}"))
        heard.until("some are published", lambda s: len(s.payloads(job)) > 5)
        a.kill()
        for i in range(20, 40):
            lease.send(token(f"t{i}"))
        lease.send(*CLOSING)
        equal(lease.finish(), "succeeded")
        heard.until("the end", lambda s: any('"job.end"' in p for p in s.payloads(job)))
        stored = {f.json["seq"]: f.json for f in c.read(job, "raw")}
        seen = {}
        for p in map(json.loads, heard.payloads(job)):
            equal(seen.setdefault(p["seq"], p), p, "a repeat is the same")
        equal(sorted(seen), sorted(stored), "none is missing")
        equal(seen, stored)


@case
def a_job_whose_writer_changes_twice_is_published_once_by_each():
    """A gateway that stops writing forgets its cursors, and reads them anew when it writes again."""
    pattern = own_channel()
    flags = ["--redis-url", shared().url, "--redis-publish", "raw", "--redis-publish-channel", pattern]
    with contextlib.ExitStack() as stack:
        url = new_url()
        a, b = (stack.enter_context(Gateway(url, *flags)) for _ in range(2))
        heard = stack.enter_context(Listener(shared(), pattern))
        job = b.submit()
        lease = Worker(b).lease()
        lease.send(*OPENING)
        for g, other in ((a, b), (b, a)):
            equal(writer_of([a, b]).url, g.url)
            lease.worker.server = other
            lease.send(token("x"))
            g.freeze()
            try:
                lease.send(token("y"))
            finally:
                g.thaw()
            until("it follows", lambda: writer_of([a, b]).url == other.url)
        lease.send(*CLOSING)
        equal(lease.finish(), "succeeded")
        heard.until("the end", lambda s: any('"job.end"' in p for p in s.payloads(job)))
        heard.pump(1)
        seqs = [json.loads(p)["seq"] for p in heard.payloads(job)]
        equal(sorted(set(seqs)), [f.json["seq"] for f in a.read(job, "raw")])


@case
def stories_of_many_jobs_pass_a_takeover():
    pattern = own_channel()
    flags = ["--redis-url", shared().url, "--redis-publish", "agent", "--redis-publish-channel", pattern]
    with cluster(flags=flags) as (a, b, c), Listener(shared(), pattern) as heard:
        jobs = []
        for i in range(30):
            jobs.append(b.submit())
            lease = Worker(c).lease()
            lease.send(*STORY)
            equal(lease.finish(), "succeeded")
            if i == 15:
                a.kill()
        for job in jobs:
            heard.until_end(job)
