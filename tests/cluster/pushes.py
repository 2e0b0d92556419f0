"""Records that the gateway that writes sends to others, whose readers wait for them.  With one shard, so that it is known who writes."""

import re
import time

from failover import batches
from gateway import STORY, token
from gateways import check, cluster, equal, texts, until, verify, writer_of
from harness import case
from links import behind_a_proxy, leased


def pushed(g):
    """How many records it has got so."""
    return int(re.search(r"^spoolwire_cluster_pushed_records_total (\d+)", g.get("/metrics").body.decode(), re.M).group(1))


def send_until_pushed(lease, stream, b, at=0):
    """Sends tokens from number @at on, until a record is pushed; returns the next number."""
    before, n = pushed(b), at

    def comes():
        nonlocal n
        lease.send(token(f"t{n} "))
        n += 1
        stream.until("a token", lambda s: len(texts(s.frames)) == n)
        return pushed(b) > before
    until("records are pushed", comes)
    return n


@case
def pushed_records_have_the_bytes_of_the_writers():
    """In every dialect, with header records that were made before the reader came."""
    with cluster(2, shards=1) as (a, b):
        job, lease = leased(a)
        streams = [(a.stream(job, dialect), b.stream(job, dialect)) for dialect in ("raw", "aiq", "nodes", "envelope")]
        send_until_pushed(lease, streams[0][1], b)
        before = pushed(b)
        for i in range(50):
            lease.send(token(f"u{i} "))
        for event in STORY[3:]:
            lease.send(event)
        equal(lease.finish(), "succeeded")
        for here, there in streams:
            here.rest()
            there.rest()
            equal([(f.id, f.event, f.data) for f in there.frames if f.id], [(f.id, f.event, f.data) for f in here.frames if f.id])
            equal(there.ended, "clean")
        check(pushed(b) >= before + 50, "records were pushed")


@case
def a_gateway_without_readers_is_told_nothing():
    with cluster(2, shards=1) as (a, b):
        job, lease = leased(a)
        with b.stream(job) as stream:
            send_until_pushed(lease, stream, b)
        other, second = leased(a)
        before = pushed(b)
        for i in range(20):
            second.send(token(f"t{i} "))
        equal(pushed(b), before)
        with b.stream(other) as stream:
            stream.until("tokens", lambda s: len(texts(s.frames)) == 20)


@case
def pushes_that_are_lost_are_made_good():
    """Swallowed on their way, without either side knowing: the reader has them about a second later."""
    with behind_a_proxy() as (proxy, a, b):
        job, lease = leased(a)
        with b.stream(job) as stream:
            n = send_until_pushed(lease, stream, b)
            proxy.is_hole = True
            begin = time.monotonic()
            lease.send(token(f"t{n} "))
            stream.until("the lost token", lambda s: len(texts(s.frames)) == n + 1)
            print(f"    the reader had it after {time.monotonic() - begin:.3f} s", flush=True)
            proxy.is_hole = False
            proxy.cut()
            batches(lease, 30, n + 1)
            equal(lease.finish(), "succeeded")
            stream.rest()
            equal(texts(stream.frames), [f"t{i} " for i in range(n + 31)])


@case
def a_link_that_is_cut_between_pushes_leaves_no_gap():
    with behind_a_proxy() as (proxy, a, b):
        job, lease = leased(a)
        with b.stream(job) as stream, b.stream(job, "aiq") as other:
            n = 0
            for _ in range(8):
                n = send_until_pushed(lease, stream, b, n)
                proxy.cut()
                batches(lease, 10, n)
                n += 10
            equal(lease.finish(), "succeeded")
            stream.rest()
            other.rest()
            equal(texts(stream.frames), [f"t{i} " for i in range(n)])
            seqs = [int(f.id.split(".")[0]) for f in other.frames if f.id]
            equal(seqs, sorted(seqs))
        verify(a.data)


@case
def readers_go_on_when_the_writer_that_pushes_is_killed():
    with cluster(3, shards=1) as (a, b, c):
        job, lease = leased(b)
        with c.stream(job) as stream:
            n = send_until_pushed(lease, stream, c)
            a.kill()
            batches(lease, 20, n)
            n += 20
            stream.until("tokens", lambda s: len(texts(s.frames)) == n)
            equal(texts(stream.frames), [f"t{i} " for i in range(n)])
            if writer_of([b, c]) is b:  # whoever writes now pushes, too
                n = send_until_pushed(lease, stream, c, n)
            equal(lease.finish(), "succeeded")
            stream.rest()
            equal(texts(stream.frames), [f"t{i} " for i in range(n)])
        verify(b.data)
