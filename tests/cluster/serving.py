"""Every gateway serves everybody."""

import json
import time

from gateway import OPENING, STORY, Stream, Worker, at_once, interrupt, play, token
from gateways import AGENTS, SHARDS, Gateway, check, cluster, database, equal, new_url, os, texts, until, verify, writer_of
from harness import case, cases, contains, spoolwire


@case
def a_job_is_submitted_leased_read_and_cancelled_on_any_gateway():
    with cluster() as (a, b, c):
        equal(writer_of([a, b, c]).url, a.url, "the first one writes")
        job = b.submit()
        with a.stream(job) as on_a, b.stream(job) as on_b, c.stream(job) as on_c:
            lease = Worker(c).lease()
            equal(lease.job, job)
            lease.send(*STORY)
            equal(lease.finish(), "succeeded")
            for stream in (on_a, on_b, on_c):
                stream.rest()
                equal(stream.ended, "clean")
            equal(on_b.frames, on_a.frames)
            equal(on_c.frames, on_a.frames)
            equal(texts(on_a.frames), ["a", "b", "c"])
        job = c.submit()
        equal(b.post(f"/v1/jobs/{job}/cancel").status, 200)
        equal(a.job(job)["state"], "cancelled")
        verify(a.data)


@case
def gateways_that_start_at_once_make_the_tables_once():
    url = database().url()
    gateways = [Gateway(url, start=False) for _ in range(3)]
    with gateways[0], gateways[1], gateways[2]:
        at_once(*[g.start for g in gateways])
        writer_of(gateways)
        jobs = [g.submit() for g in gateways]
        for g, job in zip(gateways[1:] + gateways[:1], jobs):
            equal(g.job(job)["state"], "queued")
        verify(url)


@case
def a_worker_that_waits_gets_the_job_of_another_gateway():
    with cluster() as (a, b, c):
        lease, job = at_once(lambda: Worker(b).lease(), lambda: c.submit())
        equal(lease.job, job)
        lease.worker.server = c  # and goes on elsewhere
        lease.send(*STORY)
        equal(a.job(job)["worker"], "w1")
        equal(lease.finish(), "succeeded")


@case
def readers_see_records_live_on_a_gateway_that_does_not_write():
    with cluster(2) as (a, b):
        job = a.submit()
        lease = Worker(a).lease()
        lease.send(*OPENING)
        with b.stream(job) as stream:
            for i in range(20):
                lease.send(token(f"t{i} "))
                stream.until("tokens", lambda s: len(texts(s.frames)) > i)
            equal(texts(stream.frames), [f"t{i} " for i in range(20)])


@case
def every_answer_of_a_refusal_is_the_writers():
    with cluster(2) as (a, b):
        job = play(b)
        for path, body in ((f"/v1/jobs/{job}/answer", {"answer": 1}), ("/v1/jobs/none/cancel", None),
                           ("/v1/jobs", {"agent": "nobody", "input": 1})):
            mine, other = a.post(path, body), b.post(path, body)
            equal(other.status, mine.status, path)
            equal(other.body, mine.body, path)


@case
def lines_that_a_batch_has_wrong_are_named_on_any_gateway():
    with cluster(2) as gateways:
        job = gateways[0].submit()
        lease = Worker(gateways[0]).lease()
        equal(lease.job, job)
        for g in gateways:
            lease.worker.server = g
            told = lease.send(token("x"), "not JSON")
            equal((told["rejected"], told["error"]), (1, "line 2: not JSON and not an SSE field"), g.url)


@case
def an_idempotency_key_holds_on_all_gateways():
    with cluster() as gateways:
        key = {"Idempotency-Key": "k1"}
        first = gateways[0].submit(headers=key)
        for g in gateways[1:]:
            a = g.post("/v1/jobs", {"agent": "pull", "input": "x"}, headers=key)
            check(a.status in (200, 202), repr(a))
            equal(a.json["job_id"], first)


@case
def processes_of_every_gateway_do_jobs():
    line = "echo '{\"event\":\"job.done\",\"data\":{}}'"
    agents = {"one": {"command": ["sh", "-c", f"cat >/dev/null; echo >>worked; sleep 0.05; {line}"], "concurrency": 1}}
    with cluster(agents=agents) as gateways:
        jobs = [gateways[i % 3].submit("one") for i in range(60)]
        for job in jobs:
            equal(gateways[0].until_state(job, "succeeded", "failed")["state"], "succeeded")
        counts = [os.path.getsize(f"{g.folder}/worked") for g in gateways if os.path.exists(f"{g.folder}/worked")]
        equal((len(counts), sum(counts)), (3, 60), "jobs that each has done")


@case
def readers_of_aiq_are_told_where_their_events_come_from():
    def modes(stream):
        return [f.json["mode"] for f in stream.frames if f.event == "stream.mode"]
    with cluster() as (a, b, c):
        job = c.submit()
        for g, want in ((a, "live"), (b, "pubsub"), (c, "pubsub")):
            with g.stream(job, "aiq") as stream:
                stream.until("it has caught up", lambda s: "job.status" in s.events)
                equal(modes(stream), ["polling", want], g.url)
        a.kill()
        writer = writer_of([b, c])
        for g in (b, c):
            with g.stream(job, "aiq") as stream:
                stream.until("it has caught up", lambda s: "job.status" in s.events)
                equal(modes(stream), ["polling", "live" if g is writer else "pubsub"], "after a takeover")
        lease = Worker(b).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        with b.stream(job, "aiq") as stream:
            stream.rest()
            equal(modes(stream), ["polling"], "of a job that has ended")


@case
def heartbeats_name_the_worker_on_every_gateway():
    def is_named(name):
        return lambda st: any(f.json["data"].get("worker") == name for f in st.frames if f.event == "job.heartbeat")
    with cluster(2, flags=("--heartbeat", "1s")) as (a, b):
        job = a.submit()
        with a.stream(job, "aiq") as here, b.stream(job, "aiq") as there:
            for name in ("first", "second"):
                lease = Worker(b, name=name).lease()
                lease.send(*STORY[:1])
                for stream in (here, there):
                    stream.until(f"{name} is named", is_named(name))
                lease.hand_back()


def shards_of(gateway):
    return sorted(n for x in gateway.get("/v1/gateways").json["gateways"] for n in x["shards"])


@case
def the_gateways_are_listed():
    with cluster() as gateways:
        writer = writer_of(gateways)
        for g in gateways:
            until("all are listed", lambda: len(g.get("/v1/gateways").json["gateways"]) == 3)
            listed = g.get("/v1/gateways").json
            equal({x["url"] for x in listed["gateways"]}, {x.url for x in gateways})
            check(writer.url in [x["url"] for x in listed["gateways"] if x["writes"] and 0 in x["shards"]], listed)
            until("each shard has one writer", lambda: shards_of(g) == list(range(SHARDS)))
        done = spoolwire("gateways", "--url", gateways[2].url)
        equal(done.code, 0, done.err)
        rows = done.out.decode().splitlines()
        equal(rows[0].split()[:3], ["GATEWAY", "WRITES", "SHARDS"])
        written = [n for row in rows[1:] if row.split()[1] == "true" for n in row.split()[2].split(",")]
        equal(sorted(written), [str(n) for n in range(SHARDS)])
        for g in gateways:
            check(g.url.encode() in done.out, done.out)


@case
def workers_are_listed_wherever_they_wait():
    with cluster() as gateways:
        def waiting(g):
            return sorted(w["worker"] for w in g.get("/v1/workers").json["workers"] if w["job_id"] is None)

        def look():
            for g in gateways:
                until("all are listed", lambda: waiting(g) == ["w0", "w1", "w2"])
                equal([w["agents"] for w in g.get("/v1/workers").json["workers"]], [["pull"]] * 3)
            jobs = [gateways[0].submit() for _ in range(3)]
            until("they have jobs", lambda: waiting(gateways[1]) == [])
            equal(sorted(w["job_id"] for w in gateways[2].get("/v1/workers").json["workers"]), sorted(jobs))
        at_once(look, *[lambda i=i: Worker(gateways[i], name=f"w{i}").lease(wait=30) for i in range(3)])


@case
def only_gateways_may_speak_to_the_journal():
    upgrade = {"Connection": "Upgrade", "Upgrade": "spoolwire-journal/1"}
    with cluster(1, flags=["--auth", "required"]) as (a,):
        secret = database().sql("SELECT encode(value, 'hex') FROM secrets WHERE name = 'cluster'",
                                a.data.rpartition("/")[2])
        equal(len(secret), 64)
        for shown in ("0" * 64, secret[:-1], "", secret.upper()):
            equal(a.get("/cluster/journal", headers={**upgrade, "Authorization": f"Bearer {shown}"}).status, 403)
        equal(a.get("/cluster/journal", headers=upgrade).status, 403)
        newer = {**upgrade, "Upgrade": "spoolwire-journal/999", "Authorization": f"Bearer {secret}"}
        equal(a.get("/cluster/journal", headers=newer).status, 426)
        # Nor is the secret good for anything else.
        equal(a.get("/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status, 401)


@case
def a_gateway_with_sqlite_has_no_others():
    from gateway import Server
    with Server(agents=AGENTS) as server:
        if server.data_flag == "--data":
            equal(server.get("/v1/gateways").json["gateways"], [])
            equal(server.get("/cluster/journal").status, 404)


@case
def a_gateway_that_starts_alone_writes_again():
    url = new_url()
    with Gateway(url) as a:
        job = play(a)
        a.restart(a.kill)
        equal(a.job(job)["state"], "succeeded")
        play(a)
        verify(url)


def make_token(gateway, headers):
    a = gateway.post("/v1/tokens", {"scope": "client", "owner": "alice"}, headers=headers)
    check(a.status in (200, 201), repr(a))
    return a.json["id"], {"Authorization": f"Bearer {a.json['token']}"}


def until_all(gateways, headers, status):
    """Until all answer so; the seconds until then."""
    begin = time.monotonic()
    for g in gateways:
        until(f"it is answered {status}", lambda: g.get("/v1/jobs", headers=headers).status == status)
    return time.monotonic() - begin


@cases([1, 4])
def a_token_made_on_one_gateway_is_known_to_all(shards):
    with cluster(flags=["--auth", "required"], shards=shards) as gateways:
        made = spoolwire("token", "create", "--store", gateways[0].data, "--scope", "admin", "--owner", "root", "--json")
        equal(made.code, 0, made.err)
        admin = {"Authorization": f"Bearer {json.loads(made.out)['token']}"}
        until_all(gateways, admin, 200)

        def takes(here, there):
            """How long a token that is made here and revoked there takes to be known, and refused."""
            id, hers = make_token(here, admin)
            known = until_all(gateways, hers, 200)
            job = there.submit(headers=hers)
            equal(here.get(f"/v1/jobs/{job}", headers=hers).status, 200)
            gone = there.request("DELETE", f"/v1/tokens/{id}", headers=admin)
            check(gone.status in (200, 204), repr(gone))
            return known, until_all(gateways, hers, 401)

        for i in range(3):  # a machine that is busy may be slower, but not every time
            def is_quick(i=i):
                known, refused = takes(gateways[i], gateways[(i + 1) % 3])
                print(f"    known to all after {known:.3f} s, refused after {refused:.3f} s", flush=True)
                return max(known, refused) < 1
            until("it takes less than a second", is_quick)


@case
def a_question_is_answered_on_any_gateway():
    with cluster() as (a, b, c):
        job = a.submit()
        lease = Worker(b).lease()
        lease.send(*OPENING, interrupt({"question": "go on?"}, "q-1"))
        equal(lease.finish("interrupted"), "waiting")
        until("it is asked", lambda: c.get("/v1/interrupts").json["interrupts"])
        answered = c.post(f"/v1/jobs/{job}/answer", {"value": "yes"})
        equal(answered.status, 200, repr(answered))
        until("it is answered", lambda: not a.get("/v1/interrupts").json["interrupts"])


def joined(gateway, thread, run):
    """The events of an ended run's stream."""
    with Stream(gateway, f"/threads/{thread}/runs/{run}/stream") as stream:
        events = [f.event for f in stream.rest().frames]
        equal(stream.ended, "clean")
        return events


@case
def a_run_that_was_read_on_one_gateway_gives_its_end_alone_on_the_others():
    """Nobody had read it before it ended: the first one who joins it gets everything, wherever that is."""
    with cluster() as (a, b, c):
        for first, second in ((b, c), (c, a), (a, b)):
            thread = a.post("/threads", {}).json["thread_id"]
            run = c.post(f"/threads/{thread}/runs", {"assistant_id": "pull", "input": {}, "stream_mode": "custom"}).json["run_id"]
            lease = Worker(b).lease()
            lease.send({"namespace": [], "mode": "custom", "payload": {"n": 1}})
            equal(lease.finish(), "succeeded")
            equal(joined(first, thread, run), ["metadata", "custom"])
            for g in (second, first):  # the mark is stored while the first one reads
                until("it is known there", lambda g=g, t=thread, r=run: joined(g, t, r) == [])


@case
def runs_of_a_thread_take_turns_on_all_gateways():
    with cluster() as (a, b, c):
        thread = b.post("/threads", {}).json["thread_id"]
        runs = [g.post(f"/threads/{thread}/runs", {"assistant_id": "pull", "input": {}}) for g in (a, b, c)]
        for run in runs:
            equal(run.status, 200, repr(run))
        for n, run in enumerate(runs):
            lease = Worker((c, a, b)[n]).lease()
            equal(lease.job, run.json["run_id"], "in the order in which they came")
            lease.send(*STORY)
            equal(lease.finish(), "succeeded")
        for g in (a, b, c):
            listed = g.get(f"/threads/{thread}/runs").json
            equal({r["run_id"]: r["status"] for r in listed}, {r.json["run_id"]: "success" for r in runs})


@case
def every_gateway_says_who_writes():
    with cluster(2) as (a, b):
        writer_of([a, b])
        until("the link is up", lambda: b.get("/readyz").json["writer_reachable"])
        for g in (a, b):
            ready = g.get("/readyz")
            equal((ready.status, ready.json["writes"], ready.json["writer"]), (200, g is a, a.url))
        until("both see both", lambda: [len(g.get("/v1/gateways").json["gateways"]) for g in (a, b)] == [2, 2])
        play(b)
        for g in (a, b):
            health = g.get("/healthz")
            equal((health.status, health.json["journal"]["status"]), (200, "ok"), repr(health))

        def metrics(g):
            rows = [row.split(" ") for row in g.get("/metrics").body.decode().splitlines() if row.startswith("spoolwire_cluster_")]
            return {name.removeprefix("spoolwire_cluster_"): float(value) for name, value in rows}
        equal([metrics(g)["writer"] for g in (a, b)], [1, 0])
        equal([metrics(g)["writer_reachable"] for g in (a, b)], [1, 1])
        equal([metrics(g)["gateways"] for g in (a, b)], [2, 2])
        check(metrics(b)["forwarded_total"] >= 3, metrics(b))
        until("it has heard hints", lambda: metrics(b)["hints_total"] > 0, seconds=60)
        check(metrics(b)["hint_lag_seconds"] < 60, metrics(b))
        check(metrics(b)["beat_age_seconds"] < 60, metrics(b))


@case
def a_newer_schema_is_refused_and_the_old_writer_stores_nothing():
    with cluster(2) as gateways:
        a = writer_of(gateways)
        b = next(g for g in gateways if g is not a)
        job = b.submit()
        name = a.data.rpartition("/")[2]
        version = int(database().sql("SELECT version FROM spoolwire", name))
        database().sql("UPDATE spoolwire SET version = 999", name)  # as a newer one does
        late = Gateway(a.data, start=False)
        try:
            late.start()
            check(False, "it has started")
        except AssertionError as e:
            contains(str(e), "newer spoolwire", "schema 999")
        refused = a.post("/v1/jobs", {"agent": "pull", "input": 1})
        equal(refused.status, 503, repr(refused))
        equal(b.job(job)["state"], "queued", "it can still be read")
        database().sql(f"UPDATE spoolwire SET version = {version}", name)
