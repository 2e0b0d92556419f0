"""Rows of the failure table that are not about the writer's death: a follower is killed or frozen, PostgreSQL stands
still or crashes, a job kills whoever takes in its events."""

import contextlib
import os
import signal
import subprocess
import time

import postgres
from failover import batches
from gateway import OPENING, PULL, Worker, at_once, token
from gateways import Gateway, check, cluster, database, equal, new_url, texts, until, verify, writer_of
from harness import PROGRAM, case, contains, spoolwire
from storm import eventually

POISON = "POISON-51c0"
GOOD = ["good-1", "good-2", "good-3"]
CRASHING = {"pull": {**PULL, "lease": "10m", "attempts": 9}}
APART = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


@case
def readers_and_workers_of_a_killed_gateway_go_on_elsewhere():
    with cluster() as gateways:
        a = writer_of(gateways)
        b, c = (g for g in gateways if g is not a)
        job = b.submit()
        lease = Worker(b).lease()
        lease.send(*OPENING)
        with b.stream(job) as before:
            batches(lease, 10)
            before.until("tokens", lambda s: len(texts(s.frames)) == 10)
            b.kill()
            with contextlib.suppress(AssertionError):
                before.rest()
        lease.worker.server = c
        with c.stream(job, header=before.stored[-1].id) as after:
            batches(lease, 10, 10)
            equal(lease.finish(), "succeeded")
            after.rest()
        equal(texts(before.frames + after.frames), [f"t{i} " for i in range(20)])
        equal(before.stored + after.stored, [f for f in a.read(job) if f.id], "the same frames, with the same ids")
        equal(writer_of([a, c]).url, a.url, "nothing moves")


@case
def a_frozen_gateway_goes_on_when_it_wakes():
    with cluster() as gateways:
        a = writer_of(gateways)
        b, c = (g for g in gateways if g is not a)
        job = c.submit()
        lease = Worker(c).lease()
        lease.send(*OPENING)
        with b.stream(job) as stream:
            b.freeze()
            batches(lease, 5)
            time.sleep(4)  # longer than it takes to be stale
            batches(lease, 5, 5)
            b.thaw()
            stream.until("tokens", lambda s: len(texts(s.frames)) == 10)
            lease.worker.server = b
            batches(lease, 5, 10)
            equal(lease.finish(), "succeeded")
            stream.rest()
        equal(texts(stream.frames), [f"t{i} " for i in range(15)])
        equal(writer_of(gateways).url, a.url, "nothing moves")


def processes_of(server):
    """Of that PostgreSQL."""
    with open(os.path.join(server.data, "postmaster.pid")) as f:
        first = int(f.readline())
    with open(f"/proc/{first}/task/{first}/children") as f:
        return [first, *map(int, f.read().split())]


@contextlib.contextmanager
def frozen(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def without_postgres(stop):
    """@stop makes PostgreSQL useless while a worker appends; nothing moves, nothing is lost."""
    with postgres.Postgres(durable=True) as server, cluster(url=server.url()) as gateways:
        a = writer_of(gateways)
        b = next(g for g in gateways if g is not a)
        leases = []
        for g in (a, b):
            g.submit()
            leases.append(Worker(g).lease())
            leases[-1].send(*OPENING)
            batches(leases[-1], 3)
        holder = server.sql("SELECT holder FROM shards", "t1")
        with b.stream(leases[0].job) as on_b, a.stream(leases[1].job) as on_a:
            stop(server)
            for lease in leases:
                begin = time.monotonic()
                batches(lease, 3, 3)
                print(f"    first acknowledgements within {time.monotonic() - begin:.1f} s")
                equal(lease.finish(), "succeeded")
            for stream in (on_a, on_b):
                stream.rest()
                equal((stream.ended, texts(stream.frames)), ("clean", [f"t{i} " for i in range(6)]))
        equal(server.sql("SELECT holder FROM shards", "t1"), holder, "the same gateway writes")
        equal(writer_of(gateways).url, a.url)
        verify(a.data)


@case
def a_frozen_postgresql_moves_nothing():
    def freeze(server):
        with frozen(processes_of(server)):
            time.sleep(10)  # the row of the table says so
    without_postgres(freeze)


@case
def a_crashed_postgresql_moves_nothing():
    def crash(server):
        server.stop("immediate")
        server.start()
    without_postgres(crash)


@case
def what_is_asked_while_postgresql_is_away_is_answered_truly():
    with postgres.Postgres(durable=True) as server, cluster(2, url=server.url()) as gateways:
        a = writer_of(gateways)
        b = next(g for g in gateways if g is not a)
        job = b.submit()
        lease = Worker(b).lease()
        lease.send(*OPENING)

        def restart():
            time.sleep(2)  # as long as requests are held
            server.start()
        with b.stream(job) as stream:
            stream.until("frames", lambda s: len(s.frames) > 0)
            server.stop("immediate")
            asked = [lambda g=g: g.post("/v1/jobs", {"agent": "pull", "input": 1}) for g in (a, b) for _ in range(3)]
            *answers, _ = at_once(*asked, restart)
            for answer in answers:
                check(answer.status == 202 or (answer.status == 503 and int(answer.headers["retry-after"]) > 0), repr(answer))
            batches(lease, 3)
            equal(lease.finish(), "succeeded")
            stream.rest()
        equal(texts(stream.frames), ["t0 ", "t1 ", "t2 "])
        made = {answer.json["job_id"] for answer in answers if answer.status == 202}
        equal({j["job_id"] for j in a.get("/v1/jobs").json["jobs"]}, {job, *made}, "what was refused was not stored")


def crash(gateways, lease):
    """Sends a batch that kills whoever takes it in, until one gateway is left."""
    asked = next(g for g in gateways if not g.is_writer())
    lease.worker.server = asked
    with contextlib.suppress(OSError, AssertionError):  # the one that was asked may be the second
        lease.try_append(token(POISON), seq=lease.seq + 1)
    until("two are dead", lambda: sum(g.process.poll() is not None for g in gateways) == 2)
    for g in gateways:
        if g.process.poll() is not None:
            equal(g.wait(), -signal.SIGABRT, g.err()[-2000:])
    return next(g for g in gateways if g.process.poll() is None)


def keep_appending(lease, gateways, n):
    """Batches of a harmless job, meanwhile, wherever somebody answers."""
    for i in range(n):
        lease.seq += 1

        def send():
            lease.worker.server = next(g for g in gateways if g.process.poll() is None)
            return lease.try_append(token(f"t{i} "), seq=lease.seq)
        equal(eventually("append", send).status, 200)


def kill_two_writers(gateways):
    """A batch kills the writer and its successor, and the third goes on with all other jobs."""
    writer_of(gateways)
    leases = {}
    for job in ("bad", *GOOD):
        gateways[0].submit(job_id=job)
        leases[job] = Worker(gateways[0]).lease()
        equal(leases[job].job, job)
        leases[job].send(*OPENING)
    bad = leases.pop("bad")
    third, *_ = at_once(lambda: crash(gateways, bad),
                        *(lambda lease=lease: keep_appending(lease, gateways, 30) for lease in leases.values()))
    until("it writes", third.is_writer)
    contains(until("it is set aside", lambda: third.job("bad")["set_aside"]), "crashed twice")
    bad.worker.server = third
    refused = bad.try_append(token("harmless"), seq=bad.seq + 1)
    equal(refused.status, 409, repr(refused))
    contains(refused.detail, "set aside", "spoolwire jobs release bad")
    equal(len(third.get("/v1/jobs/bad").json["job_id"]), 3, "it can be read")
    for job, lease in leases.items():
        equal(third.job(job)["set_aside"], None, job)
        lease.worker.server = third
        equal(lease.finish(), "succeeded")
        equal(texts(third.read(job)), [f"t{i} " for i in range(30)])
    done = spoolwire("jobs", "release", "bad", "--url", third.url)
    equal(done.code, 0, done.err)
    again = Worker(third).lease()
    equal(again.job, "bad")
    again.send(token("harmless"))
    equal(again.finish(), "succeeded")
    verify(third.data)
    equal(suspect(third.data), "0", "no name is left")


def suspect(url):
    return database().sql("SELECT suspect FROM shards WHERE shard = 0", url.rpartition("/")[2])


@case
def a_job_that_kills_two_writers_is_set_aside_by_the_third():
    with cluster(agents=CRASHING, shards=1, env={"SPOOLWIRE_TEST_CRASH": POISON}) as gateways:
        kill_two_writers(gateways)


class ApartGateway(Gateway):
    """With shared memory of its own, as on another machine."""

    def start(self, stderr=None):
        self.program = os.path.join(self.folder, "apart")
        with open(self.program, "w") as f:
            f.write(f"#!/bin/sh\nexec {' '.join(APART)} sh -c 'mount -t tmpfs apart /dev/shm && exec \"$0\" \"$@\"' {PROGRAM} \"$@\"\n")
        os.chmod(self.program, 0o755)
        return super().start(stderr)


def can_be_apart():
    return subprocess.run([*APART, "mount", "-t", "tmpfs", "apart", "/dev/shm"], stderr=subprocess.DEVNULL).returncode == 0


@case
def a_job_that_kills_writers_on_two_machines_is_set_aside_by_a_third():
    if not can_be_apart():
        print("    skipped: this user may not mount a tmpfs")
        return
    url = new_url(1)
    with contextlib.ExitStack() as stack:
        kill_two_writers([stack.enter_context(ApartGateway(url, agents=CRASHING, env={"SPOOLWIRE_TEST_CRASH": POISON}))
                          for _ in range(3)])


@case
def after_a_kill_from_outside_no_job_is_suspected():
    if not can_be_apart():
        print("    skipped: this user may not mount a tmpfs")
        return
    url = new_url(1)
    with ApartGateway(url, agents=CRASHING) as a, ApartGateway(url, agents=CRASHING) as b:
        leases = []
        for _ in range(5):
            job = a.submit()
            leases.append(Worker(a).lease())
            equal(leases[-1].job, job)
            leases[-1].send(*OPENING)
        a.kill()
        for lease in leases:
            lease.worker.server = b
        at_once(*(lambda lease=lease: batches(lease, 5) for lease in leases))
        b.kill()
        a.start()
        for lease in leases:
            lease.worker.server = a
            batches(lease, 5, 5)
            equal(lease.finish(), "succeeded")
            equal(texts(a.read(lease.job)), [f"t{i} " for i in range(10)])
        equal(suspect(url), "0")
        a.terminate()
        equal(database().sql("SELECT holder IS NULL FROM shards", url.rpartition("/")[2]), "t", "it was left in good order")
