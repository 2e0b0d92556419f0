"""Limits per token: 429 with Retry-After."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

from callers import Caller, Locked, challenge
from gateway import OPENING, PULL, WAIT, Server, Worker, interrupt, token, until
from harness import case, check, contains, equal


def too_many(a, form="problem"):
    challenge(a, 429, form)
    check(1 <= int(a.headers["retry-after"]) <= 60, repr(a))
    return a


@case
def jobs_that_have_not_ended():
    with Locked() as s:
        client = s.caller("client", "--max-jobs", "2")
        other = s.caller("client", "--max-jobs", "1")
        key = {"Idempotency-Key": "k"}
        client.submit(job_id="a", headers=key)
        client.submit(job_id="b")
        contains(too_many(client.post("/v1/jobs", {"agent": "pull"})).detail, "2 jobs")
        too_many(client.post("/v1/jobs/async/submit", {"agent_type": "pull", "input": "x"}), "detail")
        equal(client.submit(job_id="a", headers=key), "a", "the same request is no new job")
        other.submit()
        too_many(other.post("/v1/jobs", {"agent": "pull"}))
        lease = Worker(s.caller("worker")).lease()
        too_many(client.post("/v1/jobs", {"agent": "pull"}))
        lease.finish()
        client.submit(job_id="c")
        too_many(client.post("/v1/jobs", {"agent": "pull"}))
        client.post("/v1/jobs/b/cancel")
        client.submit(job_id="d")
        client.request("DELETE", "/v1/jobs/c")
        client.submit(job_id="e")
        s.restart(s.kill)
        too_many(client.post("/v1/jobs", {"agent": "pull"}))
        s.admin.submit()


@case
def jobs_that_are_queued():
    with Locked() as s:
        client = s.caller("client", "--max-queued", "2")
        client.submit(job_id="a")
        client.submit(job_id="b")
        contains(too_many(client.post("/v1/jobs", {"agent": "pull"})).detail, "2 jobs of yours wait for a worker")
        too_many(client.post("/v1/jobs/async/submit", {"agent_type": "pull", "input": "x"}), "detail")
        lease = Worker(s.caller("worker")).lease()
        client.submit(job_id="c")
        too_many(client.post("/v1/jobs", {"agent": "pull"}))
        lease.hand_back()
        too_many(client.post("/v1/jobs", {"agent": "pull"}))
        for id in ("a", "b"):
            client.post(f"/v1/jobs/{id}/cancel")
        client.submit(job_id="d")
        s.restart(s.kill)
        too_many(client.post("/v1/jobs", {"agent": "pull"}))


def ids_of(leases):
    return [lease.job for lease in leases]


@case
def jobs_that_run():
    with Locked() as s:
        client, other = s.caller("client", "--max-running", "2"), s.caller("client")
        for i in range(5):
            client.submit(job_id=f"c{i}")
        other.submit(job_id="o0")
        crew = s.caller("worker")
        leases = [Worker(crew).lease() for _ in range(3)]
        equal(ids_of(leases), ["c0", "c1", "o0"], "whose owner has enough at work is passed over")
        equal(Worker(crew).ask(wait=0).status, 204)
        equal(s.admin.get("/healthz").json["journal"]["jobs_queued"], 3)
        leases[0].finish()
        third = Worker(crew).lease()
        equal(third.job, "c2")
        equal(Worker(crew).ask(wait=0).status, 204)
        leases[1].send(*OPENING, interrupt())
        leases[1].finish("interrupted")
        equal(Worker(crew).lease().job, "c3", "whoever waits for an answer is not at work")
        equal(Worker(crew).ask(wait=0).status, 204)
        third.hand_back()
        third = Worker(crew).lease()
        check(third.job in ("c2", "c4"), third.job)
        equal(Worker(crew).ask(wait=0).status, 204)
        third.finish()
        client.post(f"/v1/jobs/{'c4' if third.job == 'c2' else 'c2'}/cancel")
        client.submit(job_id="c5")
        equal(Worker(crew).lease().job, "c5", "one that is cancelled in the queue takes no place")


@case
def the_first_of_those_that_have_to_wait_is_the_next():
    with Locked() as s:
        client, crew = s.caller("client", "--max-running", "1"), s.caller("worker")
        for i in range(3):
            client.submit(job_id=f"c{i}")
        first = Worker(crew).lease()
        client.submit(job_id="c3")  # has to wait from the beginning,
        equal(Worker(crew).ask(wait=0).status, 204, "and those before it from here on")
        client.submit(job_id="c4")
        order = []
        for lease in [first, *(None,) * 4]:
            lease = lease or Worker(crew).lease()
            order.append(lease.job)
            lease.finish()
        equal(order, [f"c{i}" for i in range(5)])


@case
def one_who_waits_gets_the_job_that_may_begin():
    with Locked(agents={"pull": PULL, "rare": PULL}) as s:
        client = s.caller("client", "--max-running", "1")
        crew = s.caller("worker")
        client.submit(job_id="a")
        lease = Worker(crew).lease()
        client.submit("rare", job_id="nobody-comes-for-this")
        client.submit(job_id="b")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(Worker(crew).lease, 20)
            lease.finish()
            next = waiting.result()
        equal(next.job, "b", "though another came first, for whose agent there is no worker")
        next.finish()
        equal(Worker(crew, "rare").lease().job, "nobody-comes-for-this")


@case
def it_stays_so_through_a_restart():
    with Locked() as s:
        client = s.caller("client", "--max-running", "1")
        for i in range(3):
            client.submit(job_id=f"c{i}")
        crew = s.caller("worker")
        lease = Worker(crew).lease()
        s.restart(s.kill)
        equal(Worker(crew).ask(wait=0).status, 204)
        lease.finish()
        equal(Worker(crew).lease().job, "c1")


@case
def processes_of_agents_wait_too():
    with Locked(agents={}) as s:
        client = s.caller("client", "--max-running", "1")
        for i in range(3):
            client.submit("demo", job_id=f"c{i}", input={"speed": 0, "question": False})
        for i in range(3):
            until(f"c{i} ends", lambda: s.admin.get(f"/v1/jobs/c{i}").json["state"] == "succeeded", WAIT)
        spans = [(j["started_at"], j["finished_at"]) for j in (s.admin.get(f"/v1/jobs/c{i}").json for i in range(3))]
        check(all(before[1] <= after[0] for before, after in zip(spans, spans[1:])), spans)


@case
def owners_share_their_jobs_limit():
    with Locked() as s:
        one, two = (s.caller("client", "--owner", "acme", "--max-jobs", n) for n in ("2", "3"))
        one.submit()
        two.submit()
        too_many(one.post("/v1/jobs", {"agent": "pull"}))
        two.submit()
        too_many(two.post("/v1/jobs", {"agent": "pull"}))


@case
def streams_that_are_open():
    with Locked() as s:
        reader = s.caller("read", "--max-streams", "2")
        s.admin.submit(job_id="j")
        one, two = reader.stream("j"), reader.stream("j")
        equal((one.status, two.status), (200, 200))
        too_many(reader.get("/v1/jobs/j/events"))
        too_many(reader.get("/v1/jobs/async/job/j/stream"), "detail")
        ticket = reader.post("/v1/tickets", {"job_id": "j"}).json["url"]
        too_many(s.stranger().get(ticket))
        cookie = Caller(s, Cookie=reader.post("/v1/session").headers["set-cookie"].partition(";")[0])
        too_many(cookie.get("/v1/jobs/j/events"))
        equal(reader.get("/v1/session").json["streams"], 2)
        equal(s.admin.stream("j").status, 200, "others have their own")
        one.close()
        until("one is free", lambda: reader.get("/v1/session").json["streams"] == 1)
        with reader.stream("j") as st:
            equal(st.status, 200)
        two.close()
        until("all are free", lambda: reader.get("/v1/session").json["streams"] == 0)
        # Those that come to nothing do not count.
        for _ in range(10):
            equal(reader.get("/v1/jobs/absent/events").status, 404)
        until("all are free", lambda: reader.get("/v1/session").json["streams"] == 0)


@case
def events_a_second():
    with Locked() as s:
        s.admin.submit(job_id="j")
        worker = s.caller("worker", "--max-events", "20")
        lease = Worker(worker).lease()
        lease.send(*[token("x")] * 120)  # one batch may go beyond
        began = time.monotonic()
        a = too_many(lease.try_append(token("y"), seq=1))
        equal(lease.try_beat().status, 200, "a heartbeat is no event")
        check(int(a.headers["retry-after"]) <= 6, repr(a))
        until("it may go on", lambda: lease.try_append(token("y"), seq=1).status == 200, every=0.1)
        check(time.monotonic() - began > 1, "it was not held up")
        lease.seq = 1
        lease.finish()


@case
def the_servers_limits_are_for_tokens_that_say_nothing():
    with Locked("--max-jobs-per-token", "1", "--max-queued-per-token", "5", "--max-running-per-token", "6", "--max-streams-per-token", "1", "--max-events-per-token", "7") as s:
        usual, free = s.caller("client"), s.caller("client", "--max-jobs", "0", "--max-streams", "0")
        usual.submit(job_id="j")
        too_many(usual.post("/v1/jobs", {"agent": "pull"}))
        for _ in range(5):
            free.submit()
        me = usual.get("/v1/session").json
        equal([me["max_" + n] for n in ("jobs", "queued", "running", "streams", "events")], [1, 5, 6, 1, 7])
        with usual.stream("j"):
            too_many(usual.get("/v1/jobs/j/events"))


@case
def without_a_lock_there_are_no_limits():
    with Server("--max-jobs-per-token", "1", "--max-streams-per-token", "1", agents={"pull": PULL}) as s:
        for i in range(3):
            s.submit(job_id=f"j{i}")
        with s.stream("j0"), s.stream("j0") as st:
            equal(st.status, 200)


@case
def refusals_are_counted():
    with Locked("--loops", "2") as s:
        client = s.caller("client", "--max-jobs", "1", "--max-streams", "1")

        def numbers():
            text = s.admin.get("/metrics").body.decode()
            return {k: int(v) for k, v in re.findall(r"^spoolwire_((?:auth|rate)_\S+) (\d+)$", text, re.M)}
        before = numbers()
        equal({k.partition("=")[2].strip('"}') for k in before if "=" in k},
              {"missing", "unknown", "expired", "scope", "origin", "jobs", "streams", "events"})
        equal(before["auth_required"], 1)
        for _ in range(3):
            s.stranger().get("/v1/jobs")
        Caller(s, "x").get("/v1/jobs")
        client.get("/metrics")
        client.submit(job_id="j")
        too_many(client.post("/v1/jobs", {"agent": "pull"}))
        with client.stream("j"):
            too_many(client.get("/v1/jobs/j/events"))
        s.revoke(client)
        until("revoked", lambda: client.get("/v1/jobs").status == 401)
        after = numbers()
        rise = {k: after[k] - before[k] for k in before if after[k] != before[k]}
        equal(rise, {'auth_failures_total{reason="missing"}': 3, 'auth_failures_total{reason="unknown"}': 1,
                     'auth_failures_total{reason="expired"}': 1, 'auth_failures_total{reason="scope"}': 1,
                     'rate_limited_total{limit="jobs"}': 1, 'rate_limited_total{limit="streams"}': 1})
