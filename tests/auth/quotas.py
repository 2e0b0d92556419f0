"""How much of it: 429, and when to come again."""

import re
import time

from callers import Caller, Locked, challenge
from gateway import PULL, Server, Worker, token, until
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
        until("one is free", lambda: reader.get("/v1/session").json["streams"] == 1, 5)
        with reader.stream("j") as st:
            equal(st.status, 200)
        two.close()
        # Those that come to nothing do not count.
        for _ in range(10):
            equal(reader.get("/v1/jobs/absent/events").status, 404)
        until("all are free", lambda: reader.get("/v1/session").json["streams"] == 0, 5)


@case
def events_a_second():
    with Locked() as s:
        s.admin.submit(job_id="j")
        worker = s.caller("worker", "--max-events", "20")
        lease = Worker(worker).lease()
        lease.send(*[token("x")] * 60)  # one batch may go beyond
        began = time.monotonic()
        a = too_many(lease.try_append(token("y"), seq=1))
        equal(lease.try_beat().status, 200, "a heartbeat is no event")
        check(int(a.headers["retry-after"]) <= 3, repr(a))
        until("it may go on", lambda: lease.try_append(token("y"), seq=1).status == 200, 10, every=0.1)
        check(time.monotonic() - began > 1, "it was not held up")
        lease.seq = 1
        lease.finish()


@case
def the_servers_limits_are_for_tokens_that_say_nothing():
    with Locked("--max-jobs-per-token", "1", "--max-streams-per-token", "1", "--max-events-per-token", "7") as s:
        usual, free = s.caller("client"), s.caller("client", "--max-jobs", "0", "--max-streams", "0")
        usual.submit(job_id="j")
        too_many(usual.post("/v1/jobs", {"agent": "pull"}))
        for _ in range(5):
            free.submit()
        me = usual.get("/v1/session").json
        equal((me["max_jobs"], me["max_streams"], me["max_events"]), (1, 1, 7))
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
        until("revoked", lambda: client.get("/v1/jobs").status == 401, 5)
        after = numbers()
        rise = {k: after[k] - before[k] for k in before if after[k] != before[k]}
        equal(rise, {'auth_failures_total{reason="missing"}': 3, 'auth_failures_total{reason="unknown"}': 1,
                     'auth_failures_total{reason="expired"}': 1, 'auth_failures_total{reason="scope"}': 1,
                     'rate_limited_total{limit="jobs"}': 1, 'rate_limited_total{limit="streams"}': 1})
