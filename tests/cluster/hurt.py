"""PostgreSQL is hurt in one place: the backend of the writer stands still, the disk of the write-ahead log is full.

Clients wait, or are told to come again (503 with Retry-After); nothing that was acknowledged is lost or doubled; when
PostgreSQL is well again, so are the gateways, without a restart."""

import contextlib
import os
import threading
import time

import postgres
from failures import frozen
from gateway import OPENING, Worker, token
from gateways import check, cluster, equal, texts, until, verify, writer_of
from harness import case
from small_disk import fill, small_disk


class Appending:
    """A worker that appends numbered batches through one gateway, each until it is acknowledged, until it is told to stop."""

    def __init__(self, gateway, filler=""):
        self.filler, self.answers, self.failure = filler, [], None
        gateway.submit()
        self.lease = Worker(gateway).lease()
        self.lease.send(*OPENING)
        self.n = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(120)

    def _run(self):
        try:
            while not self.over.is_set():
                self.append()
        except Exception as e:  # told by finish()
            self.failure = e

    def append(self):
        self.lease.seq += 1
        deadline = time.monotonic() + 90
        while True:
            a = self.lease.try_append(token(f"t{self.n} " + self.filler), seq=self.lease.seq)
            if a.status == 200:
                self.n += 1
                return
            check(a.status == 503 and int(a.headers["retry-after"]) > 0, repr(a))
            check(time.monotonic() < deadline, f"not served again: {a!r}")
            self.answers.append(a)
            time.sleep(0.1)

    def wait(self, n):
        until(f"{n} batches more", lambda: self.n >= n or self.failure)
        check(self.failure is None, repr(self.failure))

    def finish(self):
        self.over.set()
        self.thread.join(120)
        check(self.failure is None and not self.thread.is_alive(), repr(self.failure))
        equal(self.lease.finish(), "succeeded")
        return [f"t{i} " for i in range(self.n)]


@contextlib.contextmanager
def at_work(server, **more):
    """Gateways, with a worker at the one that writes and one at another; at the end nothing is lost or doubled."""
    with cluster(url=server.url()) as gateways:
        a = writer_of(gateways)
        b = next(g for g in gateways if g is not a)
        pids = [g.process.pid for g in gateways]
        with Appending(a, **more) as on_a, Appending(b, **more) as on_b, b.stream(on_a.lease.job) as stream:
            for worker in (on_a, on_b):
                worker.wait(5)
            yield on_a, on_b, a, b
            for worker in (on_a, on_b):
                worker.wait(worker.n + 5)
            want = {worker.lease.job: worker.finish() for worker in (on_a, on_b)}
            stream.rest()
            equal(numbers(stream.frames), want[on_a.lease.job], "the reader that stayed")
        for g in gateways:
            for job, wanted in want.items():
                equal(numbers(g.read(job)), wanted, f"{job} at {g.url}")
        equal([g.process.pid for g in gateways if g.process.poll() is None], pids, "none was restarted")
        verify(a.data)


def numbers(frames):
    return [text.split()[0] + " " for text in texts(frames)]


def writing_backend(server):
    return int(server.sql("SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND granted", "t1"))


def stands_still(*workers):
    """What they have sent is in a turn that does not end."""
    before = [worker.n for worker in workers]
    time.sleep(1)
    return before == [worker.n for worker in workers]


@case
def a_writer_whose_backend_stands_still_goes_on_afterwards():
    with postgres.Postgres(durable=True) as server, at_work(server) as (on_a, on_b, a, b):
        pid = writing_backend(server)
        with frozen([pid]):
            until("a turn of theirs waits", lambda: stands_still(on_a, on_b))
            for g in (a, b):  # after ten seconds, which is longer than it takes to be stale
                answer = g.post("/v1/jobs", {"agent": "pull", "input": 1})
                equal(answer.status, 503, repr(answer))
                check(int(answer.headers["retry-after"]) > 0 and b"nothing of this was stored" in answer.body, repr(answer))
            equal(writing_backend(server), pid, "nothing moves")


@case
def a_full_disk_of_the_write_ahead_log_is_survived():
    """PostgreSQL ends itself then; somebody makes room, and starts it again."""
    with small_disk(100) as disk:
        if disk is None:
            print("    skipped: this user may not mount a tmpfs")
            return
        with postgres.Postgres(durable=True, wal=f"{disk}/data", settings=["min_wal_size = 32MB", "max_wal_size = 32MB"]) as server, \
                at_work(server, filler="x" * 20000) as (on_a, on_b, *_):
            fill(f"{disk}/ballast", 1 << 20)
            until("PostgreSQL has ended", lambda: not is_alive(server))
            until("both are refused", lambda: on_a.answers and on_b.answers)
            os.unlink(f"{disk}/ballast")
            server.start()
            print(f"    {len(on_a.answers)} and {len(on_b.answers)} refusals")


def is_alive(server):
    return os.path.exists(os.path.join(server.data, "postmaster.pid"))
