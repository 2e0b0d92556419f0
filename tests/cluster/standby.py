"""PostgreSQL fails over to a standby, which has everything (synchronous) or not (asynchronous)."""

import contextlib

from failover import batches
from gateway import OPENING, Worker
from gateways import check, cluster, equal, texts, until, verify, writer_of
from harness import case
from postgres import Postgres, Standby
from system_topic import followed


@contextlib.contextmanager
def pair(synchronous):
    """A primary and its standby."""
    with Postgres(durable=True) as primary:
        primary.url()  # makes the database t1
        with Standby(primary) as standby:
            if synchronous:
                primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
                primary.sql("SELECT pg_reload_conf()")
                primary.wait_for("SELECT sync_state FROM pg_stat_replication", "sync")
            yield primary, standby


def fail_over(primary, standby):
    primary.stop("immediate")
    standby.promote()


def gaps(stream):
    return [f.json for f in stream.frames if f.json.get("type") == "stream.gap"]


@case
def a_synchronous_standby_has_all_that_was_acknowledged():
    with pair(True) as (primary, standby), cluster(2, url=standby.both("t1")) as gateways:
        b = next(g for g in gateways if g is not writer_of(gateways))
        job = b.submit()
        lease = Worker(b).lease()
        lease.send(*OPENING)
        with gateways[0].stream(job) as one, gateways[1].stream(job) as two:
            batches(lease, 10)
            fail_over(primary, standby)
            batches(lease, 10, 10)
            equal(lease.finish(), "succeeded")
            for stream in (one, two):
                stream.rest()
                equal(texts(stream.frames), [f"t{i} " for i in range(20)])
                equal(gaps(stream), [])
        verify(standby.both("t1"))


@case
def what_an_asynchronous_standby_has_not_is_lost_and_readers_are_told():
    with pair(False) as (primary, standby), cluster(2, url=standby.both("t1")) as gateways:
        writer = writer_of(gateways)
        until("it knows of the other", lambda: len(writer.get("/v1/gateways").json["gateways"]) == 2)
        b = next(g for g in gateways if g is not writer)
        job = b.submit()
        lease = Worker(b).lease()
        lease.send(*OPENING)
        batches(lease, 5)
        primary.wait_for("SELECT pg_current_wal_lsn() <= replay_lsn FROM pg_stat_replication", "t")
        standby.follow(False)
        with writer.stream(job) as one, b.stream(job) as two, followed(gateways) as topics:
            batches(lease, 5, 5)  # acknowledged, and on the primary only
            lost = b.submit()
            for topic in topics:
                topic.until_said(lost, "queued")
            for stream in (one, two):
                stream.until("the tokens", lambda s: len(texts(s.frames)) == 10)
            fail_over(primary, standby)
            until("it is gone", lambda: b.get(f"/v1/jobs/{lost}").status == 404)
            for stream in (one, two):
                stream.until("the gap", gaps)
                gap = gaps(stream)[0]
                check(gap["tail"] < gap["requested"], gap)
            for gateway, topic in zip(gateways, topics):  # they read the list again
                topic.until("the gap", type(topic).gaps)
                equal([j["job_id"] for j in gateway.get("/v1/jobs").json["jobs"]], [job])
            lease.seq -= 5  # the worker is told that batches are missing, and goes on behind those that are stored
            batches(lease, 3, 10)
            equal(lease.finish(), "succeeded")
            for stream in (one, two):
                stream.rest()
                equal(texts(stream.frames), [f"t{i} " for i in range(13)])
        with b.stream(job) as again:  # what is stored now
            again.rest()
            equal(texts(again.frames), [f"t{i} " for i in [0, 1, 2, 3, 4, 10, 11, 12]])
        verify(standby.both("t1"))
