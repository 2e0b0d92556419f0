"""A database with four shards: nobody has to know."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from callers import Caller, cli
from gateway import OPENING, Lease, Worker, at_once, interrupt, play
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


@case
def a_batch_of_runs_is_made_all_or_none_while_writers_die():
    with cluster(2, shards=SHARDS) as gateways:
        spread(gateways)
        a, b = gateways
        made = []

        def submit():
            for n in range(40):
                runs = [{"assistant_id": "pull", "input": {}, "metadata": {"batch": str(n)}} for _ in range(5)]
                answer = a.post("/runs/batch", runs, headers={"Idempotency-Key": f"batch-{n}"})
                made.append((n, answer))

        def kill():
            until("some are made", lambda: len(made) > 10)
            b.kill()
        at_once(submit, kill)
        listed = {j["job_id"] for j in a.get("/v1/jobs?limit=500").json["jobs"]}
        known = {run["run_id"] for _, answer in made if answer.status == 200 for run in answer.json}
        equal([answer.status for _, answer in made], [200] * 40)
        equal(len(known), 200)
        equal(listed, known, "nothing else was made")


@case
def calls_reach_a_worker_at_any_gateway():
    with cluster(2, shards=SHARDS) as gateways:
        spread(gateways)
        for asked, serving in (gateways, gateways[::-1], gateways[:1] * 2):
            def serve():
                order = Worker(serving).ask(wait=30, calls=True).json
                return serving.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": serving.url})
            told, answer = at_once(serve, lambda: asked.post("/v1/agents/pull/call", {"name": "describe"}, seconds=60))
            equal((answer.status, answer.json), (200, {"answer": serving.url}), repr(told))


@case
def questions_of_all_shards_are_listed_in_the_order_of_their_jobs():
    with cluster(2, shards=SHARDS) as gateways:
        spread(gateways)
        a, b = gateways
        jobs = []
        for i in range(8):
            jobs.append(gateways[i % 2].submit())
            time.sleep(0.002)  # jobs of one millisecond are in the order of their keys
        for _ in jobs:
            lease = Worker(b).lease()
            lease.send(*OPENING, interrupt({"question": "go on?"}, "q-1"))
            equal(lease.finish("interrupted"), "waiting")
        for g in gateways:
            until("all are listed", lambda: [q["job_id"] for q in g.get("/v1/interrupts").json["interrupts"]] == jobs)
            page = g.get("/v1/interrupts?limit=3").json
            rest = g.get(f"/v1/interrupts?limit=100&after={page['next']}").json
            equal([q["job_id"] for q in page["interrupts"] + rest["interrupts"]], jobs)
            listed = g.get("/v1/jobs?limit=3").json
            rest = g.get(f"/v1/jobs?limit=100&after={listed['next']}").json
            equal([j["job_id"] for j in listed["jobs"] + rest["jobs"]], jobs[::-1])
        for job in jobs:
            equal(a.post(f"/v1/jobs/{job}/answer", {"value": "yes"}).status, 200)
        until("none is left", lambda: not b.get("/v1/interrupts").json["interrupts"])


@case
def a_database_with_shards_is_copied_and_checked():
    url, back = new_url(SHARDS), new_url(1)
    with cluster(2, url=url) as (a, b):
        jobs = [play((a, b)[i % 2]) for i in range(8)]
        want = {job: [f.json for f in a.read(job)] for job in jobs}
    for source, target in ((url, back), (back, new_url(SHARDS))):
        cli("db", "check", "--store", source)
        cli("db", "copy", "--from", source, "--to", target)
        verify(target)
        with cluster(2, url=target) as (a, b):
            equal({job: [f.json for f in b.read(job)] for job in jobs}, want)
            play(a)  # and goes on


@case
def ticks_of_crons_come_once_while_writers_die():
    url = new_url(SHARDS)
    with cluster(2, url=url) as gateways:
        spread(gateways)
        a, b = gateways
        for i in range(4):  # in threads of several shards
            equal(b.post("/threads", {"thread_id": f"t{i}"}).status, 200)
            equal(b.post(f"/threads/t{i}/runs/crons", {"assistant_id": "pull", "schedule": "* * * * * *"}).status, 200)
        equal(a.post("/runs/crons", {"assistant_id": "pull", "schedule": "* * * * * *"}).status, 200)
        runs = lambda g, i: g.get(f"/threads/t{i}/runs?limit=100").json  # noqa: E731
        until("each has a run", lambda: all(runs(a, i) for i in range(4)))
        first = a if writers(a)[0] == a.url else b
        first.kill()
        rest = b if first is a else a
        before = [len(runs(rest, i)) for i in range(4)]
        until("the other goes on", lambda: all(len(runs(rest, i)) > before[i] + 1 for i in range(4)))
        for cron in rest.post("/runs/crons/search", {}).json:
            equal(rest.request("DELETE", f"/runs/crons/{cron['cron_id']}").status, 204)
        for i in range(4):
            seconds = [run["created_at"][:19] for run in runs(rest, i)]
            equal(len(set(seconds)), len(seconds), "two runs of one tick")
    verify(url)


@case
def webhooks_of_all_shards_are_sent_by_one_gateway_in_order_while_writers_die():
    got, lock = [], threading.Lock()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                got.append((body["thread_id"], body["run_id"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hook = f"http://127.0.0.1:{server.server_address[1]}/"
    url, flags = new_url(SHARDS), ("--webhook-allow", "*", "--webhook-private", "127.0.0.1", "--webhook-timeout", "1s")
    with server, cluster(2, url=url, flags=flags) as gateways:
        spread(gateways)
        a, b = gateways

        def end_runs(g, n):
            made = [(f"t{i % 4}", g.post(f"/threads/t{i % 4}/runs", {"assistant_id": "pull", "if_not_exists": "create", "webhook": hook}).json["run_id"])
                    for i in range(n)]
            for _ in made:
                Worker(g).lease().finish()
            return made
        made = end_runs(b, 8)
        until("all are told", lambda: len(set(got)) == 8)
        equal(len(got), 8, "sent twice without a crash")
        first = a if writers(a)[0] == a.url else b
        rest = b if first is a else a
        made += [(f"t{i}", first.post(f"/threads/t{i}/runs", {"assistant_id": "pull", "webhook": hook}).json["run_id"]) for i in range(4)]
        for _ in range(4):
            Worker(first).lease().finish()
        first.kill()
        until("the other goes on", lambda: set(writers(rest).values()) == {rest.url})
        made += end_runs(rest, 4)
        until("all are told", lambda: len(set(got)) == len(made))
        for i in range(4):
            told = list(dict.fromkeys(run for thread, run in got if thread == f"t{i}"))  # the first time of each
            equal(told, [run for thread, run in made if thread == f"t{i}"])
        server.shutdown()
    verify(url)
