"""The gateway that writes is killed, frozen or sent away; PostgreSQL stands still."""

import time

from gateway import OPENING, PULL, STORY, Worker, at_once, token
from gateways import AGENTS, Gateway, cluster, check, new_url, equal, texts, until, verify, writer_of
from harness import case


def batches(lease, n, first=0, most_refused=None):
    """Appends @n numbered batches, one token each, each until it is acknowledged."""
    refused = 0
    for i in range(first, first + n):
        lease.seq += 1
        deadline = time.monotonic() + 60
        while True:
            a = lease.try_append(token(f"t{i} "), seq=lease.seq)
            if a.status == 200:
                break
            check(a.status == 503 and time.monotonic() < deadline, repr(a))
            refused += 1
            check(most_refused is None or refused <= most_refused, repr(a))


def first_ack(lease, i):
    """How long until the batch @i is acknowledged, and after how many refusals."""
    begin, n = time.monotonic(), 0
    lease.seq += 1
    while True:
        a = lease.try_append(token(f"t{i} "), seq=lease.seq)
        if a.status == 200:
            return time.monotonic() - begin, n
        n += 1
        check(a.status == 503 and time.monotonic() < begin + 60, repr(a))


def lose_writer(lose, most):
    with cluster() as gateways:
        a = writer_of(gateways)
        b, c = (g for g in gateways if g is not a)
        job = b.submit()
        lease = Worker(b).lease()
        equal(lease.job, job)
        lease.send(*OPENING)
        with b.stream(job) as on_b, c.stream(job) as on_c:
            batches(lease, 10)
            lose(a)
            seconds, refused = first_ack(lease, 10)
            print(f"    first acknowledgement after {seconds:.3f} s")
            equal(refused, 0, "a client of a living gateway sees a pause only")
            batches(lease, 10, 11)
            lease.worker.server = c
            batches(lease, 5, 21)
            equal(lease.finish(), "succeeded")
            for stream in (on_b, on_c):
                stream.rest()
                equal(texts(stream.frames), [f"t{i} " for i in range(26)])
            equal(on_b.frames, on_c.frames)
        check(seconds < most, f"{seconds:.3f} s")
        verify(a.data)
        yield a, b, c


@case
def a_killed_writer_is_replaced_and_nothing_is_lost():
    for _ in lose_writer(lambda g: g.kill(), 20):  # 1 s on a quiet machine: it is printed
        pass


@case
def a_frozen_writer_is_replaced_and_refused_when_it_wakes():
    for a, b, c in lose_writer(lambda g: g.freeze(), 30):  # 5 s on a quiet machine
        job = b.submit()
        a.thaw()
        writer = writer_of([b, c])
        until("it follows", lambda: a.get("/v1/gateways").json["writer"] == writer.url)
        equal(a.job(job)["state"], "queued")
        lease = Worker(a).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        verify(a.data)


@case
def a_writer_that_is_sent_away_hands_over_first():
    for _ in lose_writer(lambda g: g.terminate(), 20):
        pass


@case
def a_submit_during_a_takeover_is_held_and_made_once():
    with cluster() as gateways:
        a = writer_of(gateways)
        b, c = (g for g in gateways if g is not a)
        jobs = []

        def submit(g):
            for _ in range(50):
                jobs.append(g.submit())

        def kill():
            until("some were made", lambda: len(jobs) > 20)
            a.kill()
        at_once(lambda: submit(b), lambda: submit(c), kill)
        equal(len(set(jobs)), 100)
        listed = b.get("/v1/jobs?limit=200").json["jobs"]
        equal({j["job_id"] for j in listed}, set(jobs))


@case
def a_worker_that_waits_is_served_by_the_next_writer():
    with cluster() as gateways:
        a = writer_of(gateways)
        b, c = (g for g in gateways if g is not a)

        def lose_and_submit():
            until("the worker waits", lambda: len(c.get("/v1/workers").json["workers"]) == 1)
            a.kill()
            return c.submit()
        lease, job = at_once(lambda: Worker(b).lease(), lose_and_submit)
        equal(lease.job, job)


@case
def jobs_of_a_dead_gateways_processes_are_done_by_others():
    agents = {"slow": {"command": ["sh", "-c", "cat >/dev/null; [ -e go ] || sleep 600; "
                                   "echo '{\"event\":\"job.done\",\"data\":{}}'"], "lease": "600s", "attempts": 2}}
    url = new_url()
    with Gateway(url, agents=agents) as a, Gateway(url, agents={"slow": PULL}) as b:
        job = a.submit("slow")
        a.until_state(job, "running")
        a.kill()
        # Long before its lease ends.
        equal(b.until_state(job, "queued", seconds=60)["attempt"], 1)


@case
def jobs_of_a_living_gateways_processes_go_on_when_the_writer_dies():
    agents = {"slow": {"command": ["sh", "-c", "cat >/dev/null; while ! [ -e go ]; do sleep 0.1; done; "
                                   "echo '{\"event\":\"job.done\",\"data\":{}}'"], "lease": "60s", "attempts": 2}}
    url = new_url()
    with Gateway(url, agents={**AGENTS, "slow": PULL}) as a, Gateway(url, agents={**AGENTS, **agents}) as b:
        equal(writer_of([a, b]).url, a.url)
        job = b.submit("slow")
        b.until_state(job, "running")
        a.kill()
        b.until_state(b.submit("pull"), "queued")
        open(f"{b.folder}/go", "w").close()
        equal(b.until_state(job, "succeeded", "failed")["attempt"], 1)


@case
def postgresql_that_stands_still_moves_nothing():
    import postgres
    with postgres.Postgres() as server:
        url = server.url()
        with cluster(url=url) as gateways:
            a = writer_of(gateways)
            b = next(g for g in gateways if g is not a)
            job = b.submit()
            lease = Worker(b).lease()
            equal(lease.job, job)
            lease.send(*OPENING)
            batches(lease, 3)
            epoch = server.sql("SELECT holder FROM shards", "t1")
            with b.stream(job) as stream:
                server.stop()
                time.sleep(5)  # as long as nobody may take over for
                server.start()
                batches(lease, 3, 3)
                stream.until("tokens", lambda s: len(texts(s.frames)) == 6)
                equal(texts(stream.frames), [f"t{i} " for i in range(6)])
            equal(server.sql("SELECT holder FROM shards", "t1"), epoch, "the same gateway writes")
            equal(writer_of(gateways).url, a.url)
