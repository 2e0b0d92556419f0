"""A database with four shards: nobody has to know."""

from callers import Caller, cli
from gateway import Lease, Worker, at_once
from gateways import check, cluster, database, equal, new_url, until, verify
from harness import case

SHARDS = 4


def writers(gateway):
    """By shard, the URL of the gateway that writes it."""
    return {n: g["url"] for g in gateway.get("/v1/gateways").json["gateways"] for n in g["shards"]}


def spread(gateways):
    """Until all agree, every shard is written, and nobody has two shards more than another."""
    def is_even():
        views = [writers(g) for g in gateways]
        if any(v != views[0] for v in views) or len(views[0]) != SHARDS:
            return False
        counts = [list(views[0].values()).count(g.url) for g in gateways]
        return max(counts) - min(counts) < 2
    until("the shards are shared evenly", is_even)


@case
def jobs_of_all_shards_are_leased_and_read_on_any_gateway():
    url = new_url(SHARDS)
    with cluster(2, url=url) as gateways:
        a, b = gateways
        jobs = [gateways[i % 2].submit(job_id=f"job-{i}") for i in range(24)]
        leased = [Worker(gateways[i % 2]).lease() for i in range(24)]
        equal(sorted(w.job for w in leased), sorted(jobs))
        for i, worker in enumerate(leased):
            worker.append({"event": "job.done", "data": {}})
            gateways[(i + 1) % 2].until_state(worker.job, "succeeded")
        equal(len(a.get("/v1/jobs?limit=100").json["jobs"]), 24)
        check(int(database().sql("SELECT count(DISTINCT shard) FROM jobs", url.rsplit("/", 1)[1])) > 1, "one shard has all jobs")
    verify(url)


@case
def shards_are_shared_evenly_and_taken_over():
    url = new_url(SHARDS)
    with cluster(2, url=url) as gateways:
        spread(gateways)
        a, b = gateways
        jobs = [a.submit(job_id=f"job-{i}") for i in range(12)]
        a.kill()
        until("the other writes all", lambda: set(writers(b).values()) == {b.url} and len(writers(b)) == SHARDS)
        equal(sorted(Worker(b).lease().job for _ in jobs), sorted(jobs))
    verify(url)


@case
def a_request_id_is_known_in_all_shards():
    with cluster(2, shards=SHARDS) as (a, b):
        for i in range(8):
            a.submit(job_id=f"job-{i}")
        first = Worker(a).lease(request_id="same")
        for gateway in (b, a, b):
            again = Worker(gateway).lease(request_id="same")
            equal((again.job, again.token), (first.job, first.token))


@case
def an_idempotency_key_is_one_of_the_whole_database():
    with cluster(2, shards=SHARDS) as (a, b):
        made = at_once(*[lambda g=g: g.post("/v1/jobs", {"agent": "pull", "input": {}}, headers={"Idempotency-Key": "k"}) for g in (a, b, a, b)])
        equal(len({r.json["job_id"] for r in made}), 1)


def make_token(url, *flags):
    return cli("token", "create", "--store", url, *flags)[0].strip().splitlines()[-1]


@case
def the_limit_of_an_owner_is_exact():
    url, limit = new_url(SHARDS), 3
    admin = make_token(url, "--scope", "admin")
    owner = make_token(url, "--scope", "client", "--max-running", str(limit), "--max-jobs", "12")
    with cluster(2, url=url) as gateways:
        own, all_of = ([Caller(g, t) for g in gateways] for t in (owner, admin))
        spread(all_of)
        for i in range(12):
            own[i % 2].submit(job_id=f"job-{i}")
        equal(own[0].post("/v1/jobs", {"agent": "pull", "input": "x", "job_id": "one-more"}).status, 429)
        done = 0
        while done < 12:
            asked = at_once(*[lambda g=all_of[i % 2]: Worker(g).ask(wait=3) for i in range(6)])
            leased = [Lease(Worker(all_of[0]), a.json) for a in asked if a.status == 200]
            check(0 < len(leased) <= limit, [a.status for a in asked])
            equal(len(all_of[1].get("/v1/jobs?state=running").json["jobs"]), len(leased))
            for lease in leased:
                lease.append({"event": "job.done", "data": {}})
            done += len(leased)
    verify(url)
