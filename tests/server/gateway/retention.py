"""What is kept of a finished job, and for how long: its events until it expires, its ending for a
while longer, and nothing of it is ever told as if it were all."""

import json

from database import database
from gateway import (CLOSING, OPENING, PULL, STORY, Server, Stream, Worker, play, seq, token, until, with_ids, unmarked)
from harness import DIALECTS, case, cases, check, equal

SOON = 90  # seconds; the server looks every ten


def until_expired(s, *ids):
    for id in ids:
        until(f"{id} has expired", lambda: s.job(id)["expired"], SOON, 0.1)


def finish(s, end, **more):
    """A job that came to this end."""
    s.submit(job_id=end, **more)
    lease = Worker(s).lease()
    lease.send(*STORY)
    if end == "cancelled":
        s.post(f"/v1/jobs/{end}/cancel")
    lease.finish(end, error="it broke" if end == "failure" else None)


ENDS = ("success", "failure", "cancelled")


# Edge cases 36, 54.
@cases(DIALECTS)
def an_expired_job_says_what_is_gone_and_how_it_ended(dialect):
    with Server(agents={"pull": PULL}) as s:
        before, last = {}, {}
        for end in ENDS:
            finish(s, end, expiry_seconds=1)
            before[end], last[end] = with_ids(s.read(end, dialect)), s.job(end)["events"]
        until_expired(s, *ENDS)
        for end in ENDS:
            tail = last[end]
            oldest = tail if end == "success" else tail - 1
            ending = [f for f in before[end] if seq(f) >= oldest]
            check(ending or dialect == "messages", before[end])
            for how in ({}, {"after": 0}, {"after": 3}, {"after": oldest - 2}, {"header": "3"}):
                st = s.stream(end, dialect, **how).rest()
                if dialect == "messages" and end != "failure" and "header" in how:
                    equal(st.status, 204, "a browser that could get nothing but the gap is stopped")
                    continue
                equal((st.status, st.ended), (200, "clean"), f"{end} {how}: {st.body[:200]}")
                own = [f for f in st.frames if f.event != "stream.mode"]
                equal((own[0].event, own[0].id), ("stream.gap", None), f"{end} {how}")
                asked = int(how.get("after", how.get("header", 0)))
                equal(own[0].json, {"type": "stream.gap", "requested": asked, "oldest": oldest, "tail": tail})
                equal(unmarked(own[1:]), ending, f"{end} {how}: the bytes of before, with their ids")
            for how in ({"after": tail + 5}, {"header": str(tail + 5)}):
                st = s.stream(end, dialect, **how).rest()
                equal([f.json["oldest"] for f in st.frames if f.event == "stream.gap"], [oldest], "foreign, and gone")
                equal(unmarked(st.stored), ending)
            equal(s.stream(end, dialect, header=str(tail)).status, 204, "who had all is told so")
            st = s.stream(end, dialect, after=oldest - 1).rest()
            check("stream.gap" not in st.events, "who has seen all but the ending misses nothing")
            equal(unmarked(st.stored), ending)


# Edge case 36.
@case
def an_expired_job_on_the_asynchronous_routes():
    with Server(agents={"pull": PULL}) as s:
        for end in ENDS:
            finish(s, end, expiry_seconds=1)
        until_expired(s, *ENDS)
        for end, word in zip(ENDS, ("SUCCESS", "FAILURE", "INTERRUPTED")):
            path = f"/v1/jobs/async/job/{end}"
            equal((s.get(path).status, s.get(path).json["status"]), (200, word))
            equal(s.get(path + "/state").json, {"job_id": end, "has_state": False, "state": None, "artifacts": None})
            equal(s.get(path + "/report").json, {"job_id": end, "has_report": False, "report": None})
            for last in (None, 2):
                with s.aiq(end, last) as st:
                    st.rest()
                    equal(st.ended, "clean")
                    equal([st.events[0], st.frames[0].json["mode"]], ["stream.mode", "polling"])
                    equal(st.events[1], "stream.gap")
                    equal((st.frames[-1].event, st.frames[-1].json["status"]), ("job.status", word))
            a = s.post(path + "/cancel")
            equal(a.status, 200 if end == "cancelled" else 409)


# Edge case 3.
@case
def its_id_and_its_key_are_still_taken():
    with Server(agents={"pull": PULL}) as s:
        key = {"Idempotency-Key": "k"}
        id = s.submit(input="x", expiry_seconds=1, job_id="old", headers=key)
        Worker(s).lease().finish()
        until_expired(s, id)
        a = s.post("/v1/jobs/async/submit", {"agent_type": "pull", "input": "x", "job_id": "old"})
        equal((a.status, a.json), (409, {"detail": "Job already exists: old"}))
        equal(s.submit(input="x", expiry_seconds=1, job_id="old", headers=key), "old", "the same request: the same job")
        s.restart(s.kill)
        equal(s.job("old")["expired"], True)
        equal(s.request("DELETE", "/v1/jobs/old").status, 204)
        equal(s.submit(job_id="old"), "old", "free again")
        equal(s.job("old")["expired"], False)


@case
def a_jobs_own_expiry_goes_over_the_servers():
    with Server("--expiry", "1s", agents={"pull": PULL}) as s:
        finish(s, "success", expiry_seconds=3600)
        s.submit(job_id="servers")
        Worker(s).lease().finish()
        j = s.job("success")
        check(j["expires_at"] > j["finished_at"] and not j["expired"], j)
        until_expired(s, "servers")
        equal(len(s.read("success")), 13)


# Edge case 53.
@case
def what_is_not_final_keeps_everything():
    """However old: events of a running job, and one that waits for an answer."""
    with Server("--expiry", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="busy")
        busy = Worker(s).lease()
        busy.send(*OPENING)
        s.submit(job_id="done")
        Worker(s).lease().finish()
        s.submit(job_id="queued")
        until_expired(s, "done")
        equal(s.job("busy")["expires_at"], None)
        busy.send(*STORY[3:])
        equal(busy.finish(), "succeeded")
        equal([seq(f) for f in s.read("busy")], list(range(1, 14)), "from the first on")
        equal(Worker(s).lease().order["input"], "x", "nor does one lose its input that nobody has taken yet")


@case
def the_ending_goes_too_in_the_end():
    with Server("--history", "0", agents={"pull": PULL}) as s:
        finish(s, "success", expiry_seconds=1)
        s.submit(job_id="kept")
        Worker(s).lease().finish()
        until("it is gone", lambda: s.get("/v1/jobs/success").status == 404, SOON, 0.1)
        for path in ("/v1/jobs/success/events", "/v1/jobs/async/job/success/stream", "/v1/jobs/async/job/success/stream/3",
                     "/v1/jobs/async/job/success/state", "/v1/jobs/async/job/success/report"):
            equal(s.get(path).status, 404, path)
        equal([j["job_id"] for j in s.get("/v1/jobs").json["jobs"]], ["kept"])
        equal(s.submit(job_id="success"), "success", "its id is free again")


LONG = 20000


def start_long(s, id, **more):
    s.submit(job_id=id, **more)
    lease = Worker(s).lease()
    lease.send(*OPENING)
    for _ in range(LONG // 2000):
        lease.send(*[json.dumps(token("x" * 200))] * 2000)
    lease.send(*CLOSING)
    return lease


@case
def a_reader_whom_retention_overtakes_is_told():
    """It has read a part; the rest goes; it gets the ending, and is not told that this was all."""
    with Server("--durability", "relaxed", agents={"pull": PULL}) as s:
        lease = start_long(s, "j", expiry_seconds=1)
        with s.stream("j", "agent") as fast, Stream(s, "/v1/jobs/j/events?dialect=agent", receive_buffer=4096) as slow:
            slow.until("a part", lambda st: len(st.stored) > 10)
            fast.until("nearly all", lambda st: len(st.stored) > LONG)
            lease.finish()
            full = fast.rest().stored
            until_expired(s, "j")
            slow.rest(60)
            equal(slow.ended, "clean")
            at = slow.events.index("stream.gap")
            got, after = slow.frames[:at], slow.frames[at + 1:]
            check(got == full[:len(got)] and 10 < len(got) < len(full), f"a prefix: {len(got)}")
            equal(slow.frames[at].json["requested"], seq(got[-1]))
            equal([f.event for f in after], ["job.done"])
            equal(after, full[-1:])


@case
def what_is_gone_is_gone_from_the_database():
    """Of an expired job and of a deleted one."""
    with Server("--durability", "relaxed", agents={"pull": PULL}) as s:
        start_long(s, "deleted").finish()
        lease = start_long(s, "expired", expiry_seconds=1)
        check(database(s).count_chunks() > 1000)
        lease.finish()
        equal(s.request("DELETE", "/v1/jobs/deleted").status, 204)
        equal(s.get("/v1/jobs/deleted").status, 404, "out of sight at once")
        until_expired(s, "expired")
        until("only the ending of one is left", lambda: database(s).count_chunks() == 1, SOON)
        equal(len(s.read(play(s))), 13)
