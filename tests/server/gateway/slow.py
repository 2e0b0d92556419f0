"""A reader at a few KB/s beside a fast writer: it costs only a cursor, and delays nobody."""

import threading
import time

from gateway import (CLOSING, OPENING, PULL, SLOW_BUILD, WAIT, Server, Stream, Worker, at_once, json, rss_kb, seq, token)
from harness import case, check, equal

BATCH, BATCHES, TEXT = 100, 250, 800  # 25 000 events, 20 MB of text, far more in frames
LONG = 10 * WAIT  # seconds; whoever has to wait for the slow ones waits for hours


class Slow:
    """Reads a few KB a second, from a small receive buffer."""

    def __init__(self, s, dialect):
        self.stream = Stream(s, f"/v1/jobs/j/events?dialect={dialect}", receive_buffer=4096)
        self.stop = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stop and not self.stream.ended:
            try:
                data = self.stream.sock.recv(400)
            except OSError:
                self.stream.ended = "cut"
                return
            if not data:
                self.stream.ended = "eof"
                return
            self.stream._take(data)
            time.sleep(0.1)  # the rate

    def finish(self):
        self.stop = True
        self.thread.join(WAIT)
        self.stream.close()


def fill_cache(s):
    """The store's own cache is not what is measured: 32 MiB."""
    s.submit(job_id="warm")
    lease = Worker(s).lease()
    lease.send(*OPENING)
    body = [json.dumps(token("w" * 10000))] * 100
    for _ in range(45):
        lease.send(*body)
    lease.finish()


# Edge case 30.
@case
def slow_readers_cost_nothing():
    with Server("--durability", "relaxed", "--write-timeout", "10m", agents={"pull": PULL}) as s:
        fill_cache(s)
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        slow = [Slow(s, d) for d in ("agent", "aiq", "raw", "messages", "agent", "raw")]
        counts = {}

        def read(d):
            with s.stream("j", d) as st:
                st.rest(LONG)
                equal(st.ended, "clean")
                counts[d] = len(st.stored)

        rss = []

        def write():
            text = "t" * TEXT
            body = [json.dumps(token(text))] * BATCH
            for n in range(BATCHES):
                lease.send(*body)
                if n % 25 == 0:
                    rss.append(rss_kb(s.pid))
            rss.append(rss_kb(s.pid))
            lease.send(*CLOSING)
            lease.finish()

        at_once(write, lambda: read("agent"), lambda: read("nodes"), seconds=LONG)
        equal(counts["agent"], BATCH * BATCHES + 4, "the fast reader has it all")
        frames = BATCH * BATCHES * TEXT / 1024
        grown = rss[-1] - rss[1]
        check(SLOW_BUILD or grown < 5000, f"resident memory grew by {grown} KiB while {frames:.0f} KiB of text were written: {rss}")
        for r in slow:
            check(r.stream.ended is None, "slow, but it makes progress: it is not cut")
            check(r.stream.frames, "and it gets its frames")
            ids = [seq(f) for f in r.stream.stored]
            check(ids == sorted(set(ids)), "in order, none twice")
            check(len(ids) < BATCH * BATCHES, "it is really behind")
        equal(s.get("/readyz").status, 200)
        for r in slow:
            r.finish()


# Edge case 30.
@case
def memory_does_not_grow_with_the_length_of_a_job():
    """One reader at a standstill for the whole job; then it reads all of it, without a gap."""
    with Server("--durability", "relaxed", "--write-timeout", "10m", agents={"pull": PULL}) as s:
        fill_cache(s)
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        still = Stream(s, "/v1/jobs/j/events?dialect=agent", receive_buffer=4096)
        body = [json.dumps(token("t" * TEXT))] * BATCH
        rss = []
        for n in range(BATCHES):
            lease.send(*body)
            if n % 25 == 24:
                rss.append(rss_kb(s.pid))
        lease.send(*CLOSING)
        lease.finish()
        grown = rss[-1] - rss[1]
        check(SLOW_BUILD or grown < 5000, f"{grown} KiB: {rss}")
        still.rest(LONG)
        equal((still.ended, len(still.stored)), ("clean", BATCH * BATCHES + 4))
        ids = [seq(f) for f in still.stored]
        check(ids == sorted(ids), "in order")
