"""Many readers, and slow ones."""

import time

import gateway
from gateway import PULL, Server, Worker, at_once, rss_kb, until
from harness import case, check, equal

LONG = 10 * gateway.WAIT  # seconds


@case
def a_hundred_streams_at_once():
    with Server(agents={"pull": PULL}) as s:
        id = s.submit()
        lease = Worker(s).lease()
        lease.send(*gateway.OPENING)
        dialects = ["agent", "envelope", "messages", "nodes", "aiq", "raw"]
        streams = [s.stream(id, dialects[i % len(dialects)]) for i in range(100)]
        for i in range(40):
            lease.send(*(gateway.token(f"{i}.{k} ") for k in range(25)))
        lease.send(*gateway.CLOSING)
        lease.finish()
        at_once(*(lambda part=streams[n::8]: [st.rest(LONG) for st in part] for n in range(8)), seconds=LONG)
        want = {d: gateway.with_ids(s.read(id, d)) for d in dialects}
        for i, st in enumerate(streams):
            equal(st.ended, "clean")
            equal(st.stored, want[dialects[i % len(dialects)]], dialects[i % len(dialects)])
            st.close()


@case
def readers_that_drop_and_resume_miss_nothing():
    with Server(agents={"pull": PULL}) as s:
        id = s.submit()
        lease = Worker(s).lease()
        lease.send(*gateway.OPENING)
        got, last = [], None
        for i in range(30):
            lease.send(*(gateway.token(f"{i}.{k} ") for k in range(10)))
            with s.stream(id, "raw", header=last) as st:
                st.until("some", lambda x: len(x.stored) >= 5)
                got += st.stored
                last = got[-1].id
        lease.send(*gateway.CLOSING)
        lease.finish()
        got += gateway.with_ids(s.read(id, "raw", header=last))
        equal(got, gateway.with_ids(s.read(id, "raw")))


def megabytes(s, stalls):
    """A job of 12 MB with one quick reader, and maybe one that takes nothing."""
    id = s.submit()
    lease = Worker(s).lease()
    lease.send(*gateway.OPENING)
    stalled = gateway.Stream(s, f"/v1/jobs/{id}/events?dialect=raw", receive_buffer=4096) if stalls else None
    with s.stream(id, "agent") as quick:
        def write():
            for i in range(40):
                lease.send(*(gateway.token("x" * 30_000) for _ in range(10)))
            lease.send(*gateway.CLOSING)
            lease.finish()
        at_once(write, lambda: quick.rest(LONG), seconds=LONG)
        equal(quick.ended, "clean")
    return stalled


@case
def a_stalled_reader_holds_little_and_hinders_nobody():
    with Server("--write-timeout", "3s", "--loops", "1", agents={"pull": PULL}) as s:
        before = 0
        while rss_kb(s.pid) - before > 2_000:  # until its caches are full
            before = rss_kb(s.pid)
            megabytes(s, False)
        before = rss_kb(s.pid)
        stalled = megabytes(s, True)
        grown = rss_kb(s.pid) - before
        check(gateway.SLOW_BUILD or grown < 6_000, f"{grown} KB more")
        until("the stalled one is cut", lambda: "the peer has taken nothing" in s.err())
        stalled.close()


@case
def a_slow_reader_gets_everything():
    with Server(agents={"pull": PULL}) as s:
        id = s.submit()
        lease = Worker(s).lease()
        lease.send(*gateway.OPENING)
        slow = gateway.Stream(s, f"/v1/jobs/{id}/events?dialect=raw", receive_buffer=4096)
        for i in range(20):
            lease.send(*(gateway.token("y" * 20_000) for _ in range(5)))
        lease.send(*gateway.CLOSING)
        lease.finish()
        while not slow.ended:
            slow.pump(1)
            time.sleep(0.001)  # its pace
        equal(slow.ended, "clean")
        equal(slow.stored, gateway.with_ids(s.read(id, "raw")))
        slow.close()
