"""Rows of the failure table that are not about the writer's death: a follower is killed or frozen, PostgreSQL stands
still or crashes, a job kills whoever takes in its events."""

import contextlib
import os
import signal
import time

import postgres
from failover import batches
from gateway import OPENING, PULL, Worker, at_once, token
from gateways import Gateway, check, cluster, equal, texts, until, verify, writer_of
from harness import case, contains, spoolwire

POISON = "POISON-51c0"


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


@case
def a_job_that_kills_two_writers_is_set_aside_by_the_third():
    agents = {"pull": {**PULL, "lease": "10m", "attempts": 9}}
    with cluster(agents=agents, env={"SPOOLWIRE_TEST_CRASH": POISON}) as gateways:
        writer_of(gateways)
        leases = {}
        for job in ("good", "bad"):
            gateways[0].submit(job_id=job)
            leases[job] = Worker(gateways[0]).lease()
            equal(leases[job].job, job)
            leases[job].send(*OPENING)
        third = crash(gateways, leases["bad"])
        until("it writes", third.is_writer)
        contains(until("it is set aside", lambda: third.job("bad")["set_aside"]), "crashed twice")
        for lease in leases.values():
            lease.worker.server = third
        refused = leases["bad"].try_append(token("harmless"), seq=leases["bad"].seq + 1)
        equal(refused.status, 409, repr(refused))
        contains(refused.detail, "set aside", "spoolwire jobs release bad")
        equal(len(third.get("/v1/jobs/bad").json["job_id"]), 3, "it can be read")
        batches(leases["good"], 3)
        equal(leases["good"].finish(), "succeeded")
        done = spoolwire("jobs", "release", "bad", "--url", third.url)
        equal(done.code, 0, done.err)
        again = Worker(third).lease()
        equal(again.job, "bad")
        again.send(token("harmless"))
        equal(again.finish(), "succeeded")
        verify(third.data)
