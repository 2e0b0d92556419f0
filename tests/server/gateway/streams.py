"""Live streams: what a connection is told, when, and how it ends."""

import os
import random
import socket
import struct
import time

from gateway import (CLOSING, OPENING, PULL, STORY, Server, Stream, Worker, at_once, interrupt, play, read_answer,
                     request_bytes, root_start, token, until, with_ids)
from harness import BEATING, DIALECTS, REGISTRY, case, cases, check, contains, equal


def statuses(st):
    return [f.json["status"] for f in st.frames if f.event == "job.status"]


def modes(st):
    return [f.json["mode"] for f in st.frames if f.event == "stream.mode"]


@cases(DIALECTS)
def the_head_of_a_stream(dialect):
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        with s.stream("j", dialect) as st:  # the head comes at once, also when there is nothing to say
            equal(st.status, 200)
            equal(st.headers["content-type"], "text/event-stream; charset=utf-8")
            equal(st.headers["cache-control"], "no-cache, no-transform")
            equal(st.headers["x-accel-buffering"], "no")
            equal(st.headers["transfer-encoding"], "chunked")
            check("content-length" not in st.headers and "content-encoding" not in st.headers, st.headers)


# Edge case 29.
@cases(DIALECTS)
def live_and_replayed_are_the_same_bytes(dialect):
    """Frames with ids, of a reader from the start, one from the middle, and one afterwards."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        with s.stream("j", dialect) as early:
            lease = Worker(s).lease()
            lease.send(*STORY[:3])
            lease.send(*STORY[3:6])
            with s.stream("j", dialect) as late:
                for e in STORY[6:]:
                    lease.send(e)
                lease.finish("failure", error="it\nbroke")
                for st in (early, late):
                    st.rest()
                    equal(st.ended, "clean")
        again = s.stream("j", dialect).rest()
        equal(early.stored, again.stored)
        equal(late.stored, again.stored)
        s.restart()
        equal(s.stream("j", dialect).rest().stored, again.stored, "also after a restart")
        if not REGISTRY[dialect]["connection"]:
            equal([f for f in again.frames if not f.id], [], "nothing is made for the connection")


@case
def two_frames_come_one_by_one():
    """Each event is there before the next is sent: nothing waits in a buffer."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        readers = [s.stream("j", d) for d in ("agent", "aiq", "messages")]
        for i in range(20):
            lease.send(token(f"t{i}"))
            for r in readers:
                r.until(f"t{i}", lambda r: f'"t{i}"' in r.frames[-1].data if r.frames else False)
        for r in readers:
            r.close()


# --- aiq: frames made for the connection ------------------------------------------------------


# Edge case 17.
@case
def a_queued_job_says_submitted_then_running():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        with s.aiq("j") as st:
            st.until_event("job.status")
            equal((modes(st), statuses(st)), (["polling", "live"], ["SUBMITTED"]))
            lease = Worker(s).lease()
            st.until("RUNNING", lambda st: "RUNNING" in statuses(st))
            lease.send(*STORY)
            lease.finish()
            st.rest()
            equal(statuses(st), ["SUBMITTED", "RUNNING", "SUCCESS"])
            equal([f.id for f in st.frames if f.event == "job.status"], [None, None, "13"])
            equal([i for i, f in enumerate(st.frames) if f.event == "job.status"][1], 3, "before the first event")


@case
def a_running_job_says_polling_live_running():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.aiq("j") as st:
            st.until_event("job.status")
            equal([f.event for f in st.frames],
                  ["stream.mode", "workflow.start", "workflow.start", "llm.start", "stream.mode", "job.status"])
            equal((modes(st), statuses(st)), (["polling", "live"], ["RUNNING"]))
            check("reconnected" not in st.frames[-1].json, "a first visit is none")
            for f in st.frames:
                equal(list(f.json)[:6], ["type", "id", "name", "timestamp", "data", "metadata"], f.event)
                equal(f.json["type"], f.event)
                check(bool(f.id) != (f.event in ("stream.mode", "job.status")), repr(f))
        for header, last in (("3", None), (None, "3")):
            with s.aiq("j", last, header) as st:
                st.until_event("job.status")
                equal([f.event for f in st.frames], ["stream.mode", "llm.start", "stream.mode", "job.status"])
                equal(st.frames[-1].json["reconnected"], True)
        for beginning in ("0", "-1"):
            with s.aiq("j", beginning) as st:
                st.until_event("job.status")
                check("reconnected" not in st.frames[-1].json, beginning)


@case
def reconnected_is_said_once():
    with Server(agents={"pull": dict(PULL, attempts=2)}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.aiq("j", 3) as st:
            st.until_event("job.status")
            equal(lease.hand_back().status, 200)
            st.until("queued again", lambda st: statuses(st)[-1:] == ["SUBMITTED"])
            Worker(s).lease()
            st.until("running again", lambda st: statuses(st)[-1:] == ["RUNNING"])
            equal(["reconnected" in f.json for f in st.frames if f.event == "job.status"][0], True)
            check(not any("reconnected" in f.json for f in st.frames if f.event == "job.status" and
                          f is not next(x for x in st.frames if x.event == "job.status")), "on the first only")


# Edge case 18.
@case
def a_finished_job_replays_and_ends():
    with Server(agents={"pull": PULL}) as s:
        for end, want in (("success", ["SUCCESS"]), ("failure", ["FAILURE"])):
            s.submit(job_id=end)
            lease = Worker(s).lease()
            lease.send(*STORY)
            lease.finish(end, error="it broke")
            st = s.aiq(end).rest()
            equal((st.ended, statuses(st), modes(st)[0]), ("clean", want, "polling"))
            equal(st.frames[-1].event, "job.status", "the last one")
            equal([f.event for f in st.frames].count("job.error"), end == "failure")
            equal(st.frames[-1].id, str(s.job(end)["events"]), "it is the frame of the terminal record")
        error = [f for f in s.aiq("failure").rest().frames if f.event == "job.error"][0].json
        contains(str(error), "it broke")


@case
def the_end_of_a_finished_job_says_that_its_reader_has_come_back():
    """The same frame otherwise, and only of a reader who names a place."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*STORY)
        lease.finish("failure", error="it broke")
        end = s.aiq("j").rest().frames[-1]
        check("reconnected" not in end.json, "a first visit is none")
        for header, last in (("3", None), (None, "3"), (None, end.id)):
            st = s.aiq("j", last, header).rest()
            equal((st.ended, st.frames[-1].id), ("clean", end.id))
            equal(st.frames[-1].json, dict(end.json, reconnected=True), (header, last))
        after = s.read("j", "aiq", after=3)
        equal(after[-1].json, dict(end.json, reconnected=True))
        for beginning in ("0", "-1"):
            equal(s.aiq("j", beginning).rest().frames[-1].data, end.data, beginning)


@case
def the_end_that_a_reader_sees_live_is_not_its_first_status():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.aiq("j", 3) as st:
            st.until_event("job.status")
            lease.finish()
            st.rest()
            equal([f.json.get("reconnected") for f in st.frames if f.event == "job.status"], [True, None])


@case
def a_waiting_job_stays_open_and_running():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(root_start(), interrupt("which one?"))
        equal(lease.finish("interrupted"), "waiting")
        with s.aiq("j") as st:
            st.until_event("job.status")
            equal(statuses(st), ["RUNNING"])
            update = [f for f in st.frames if f.event == "job.update"][0].json
            equal(update["name"], "interrupt")
            equal(st.ended, None)
        with s.stream("j", "agent") as st:
            st.until_event("graph.interrupt")
            equal(st.frames[-1].json["question"] if "question" in st.frames[-1].json else st.frames[-1].json["value"],
                  "which one?")
            check(not st.pump(0.2) and st.ended is None, "and nothing more")


# --- silence ------------------------------------------------------------------------------------


# Edge case 37.
@cases(DIALECTS)
def keep_alive_comments(dialect):
    with Server("--keep-alive", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        start = time.monotonic()
        with s.stream("j", dialect) as st:
            st.until("a comment", lambda st: st.comments)
            check(time.monotonic() - start > 0.8, "after a second of silence, not before")
            st.until("two comments", lambda st: len(st.comments) >= 2)
            equal(set(st.comments), {": keep-alive"})
            Worker(s).lease().finish()
            equal(st.rest().ended, "clean")


# Edge case 38.
@cases(BEATING)
def heartbeats(dialect):
    with Server("--keep-alive", "1s", "--heartbeat", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.stream("j", dialect) as st:
            st.until("two", lambda st: st.events.count("job.heartbeat") >= 2)
            beats = [f for f in st.frames if f.event == "job.heartbeat"]
            equal({f.id for f in beats}, {None}, "no place to resume from")
            check("uptime" in beats[0].data, beats[0])
            equal(lease.finish("interrupted") in ("waiting", "succeeded", "failed"), True)
        s.submit(job_id="w")
        lease = Worker(s).lease()
        lease.send(root_start(), interrupt())
        equal(lease.finish("interrupted"), "waiting")
        with s.stream("w", dialect) as st:
            st.until_event("job.heartbeat")
        check(not [f for f in s.read("j", dialect, after=4) if f.event == "job.heartbeat"], "they are not stored")


@cases(BEATING)
def heartbeats_name_the_worker(dialect):
    """Of the attempt that runs, and none while the job waits."""
    def beats_with(*workers):
        def last(st):
            beats = [f.json["data"] for f in st.frames if f.event == "job.heartbeat"]
            return beats and beats[-1].get("worker") in workers
        return last

    with Server("--heartbeat", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        with s.stream("j", dialect) as st:
            st.until("none while it is queued", beats_with(None))
            for name in ("first", "second \"2\""):
                lease = Worker(s, name=name).lease()
                lease.send(*OPENING)
                st.until(f"it is {name}", beats_with(name))
                with s.stream("j", dialect) as late:
                    late.until("also for a later reader", beats_with(name))
                lease.hand_back()
                st.until("none while it is queued again", beats_with(None))
            seen = [f.json["data"].get("worker") for f in st.frames if f.event == "job.heartbeat"]
            equal([w for i, w in enumerate(seen) if i == 0 or seen[i - 1] != w], [None, "first", None, 'second "2"', None])


@case
def heartbeats_alone():
    """Whatever the time of the comments is."""
    with Server("--heartbeat", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        with s.aiq("j") as st, s.stream("j", "agent") as other:
            st.until("two", lambda st: st.events.count("job.heartbeat") >= 2)
            equal(st.comments, [])
            check(not other.pump(0) and not other.frames, "only aiq and raw have them")


@case
def a_busy_stream_has_no_comments_but_beats():
    with Server("--keep-alive", "3s", "--heartbeat", "4s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.stream("j", "agent") as quiet, s.stream("j", "raw") as raw:
            n = 0
            end = time.monotonic() + 20
            while raw.events.count("job.heartbeat") < 1 and time.monotonic() < end:
                lease.send(token(f"{n}"))
                n += 1
                for st in (quiet, raw):
                    st.until(f"token {n}", lambda st: sum(f.event in ("agent.token", "llm.delta") for f in st.frames) >= n)
            check(raw.events.count("job.heartbeat") >= 1, "a heartbeat also while events come")
            equal(quiet.comments, [])


@case
def max_age_cuts_with_a_retry():
    with Server("--max-age", "1s", "--keep-alive", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        for dialect in ("agent", "aiq"):
            with s.stream("j", dialect) as st:
                st.rest()
                check(st.ended != "clean", "only a finished stream ends cleanly")
                equal(len(st.retries), 1)
                check(100 <= st.retries[0] <= 10000, st.retries)
                check("job.shutdown" not in st.events, st.events)
        until("the log says why", lambda: "maximum age" in s.err())


# --- ends ---------------------------------------------------------------------------------------


def raw_end(s, path, during=None, seconds=20):
    """Every byte of a connection, and whether it was reset."""
    with s.connect() as sock:
        sock.sendall(request_bytes(s, "GET", path, headers={"Connection": "close"}))
        sock.settimeout(seconds)
        data = sock.recv(65536)
        if during:
            during()
        try:
            while True:
                more = sock.recv(65536)
                if not more:
                    return data, "eof"
                data += more
        except ConnectionResetError:
            return data, "reset"


@case
def only_a_finished_stream_has_a_last_chunk():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        for d in DIALECTS:
            data, end = raw_end(s, f"/v1/jobs/{id}/events?dialect={d}")
            check(data.endswith(b"\r\n0\r\n\r\n"), f"{d}: {data[-50:]!r}")
        s.submit(job_id="j")
        data, end = raw_end(s, "/v1/jobs/j/events?dialect=agent", lambda: s.request("DELETE", "/v1/jobs/j"))
        check(not data.endswith(b"0\r\n\r\n"), data[-50:])
        equal(end, "reset", "hard")
        s.submit(job_id="k")
        data, end = raw_end(s, "/v1/jobs/k/events?dialect=aiq", s.kill)
        check(not data.endswith(b"0\r\n\r\n"), data[-50:])
        s.start()


@case
def http_10_gets_the_bytes_alone():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        want = s.stream(id, "agent").rest()
        with Stream(s, f"/v1/jobs/{id}/events?dialect=agent", version="1.0") as st:
            check("transfer-encoding" not in st.headers, st.headers)
            equal(st.rest().body, want.body)


@case
def a_stream_is_the_last_of_its_connection_or_the_next_request_is_answered():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        with Stream(s, f"/v1/jobs/{id}/events?dialect=agent") as st:
            st.rest()
            if st.headers.get("connection") == "close":
                equal(st.sock.recv(1), b"")
            else:
                st.sock.sendall(request_bytes(s, "GET", "/livez"))
                equal(read_answer(st.sock).status, 200)


# --- many ----------------------------------------------------------------------------------------


# Edge case 28.
@cases(["1", "4"], lambda n: f"with {n} loops")
def readers_that_come_while_events_are_written(loops):
    """Each has the whole, or exactly the tail behind its cursor: no gap, no double, in order."""
    with Server("--loops", loops, agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        results = []

        def read(i):
            rng = random.Random(i)
            dialect = DIALECTS[i % len(DIALECTS)]
            frames, after = [], None
            while True:  # drops out and resumes at random places
                with s.stream("j", dialect, header=after) as st:
                    if st.status == 204:
                        break
                    limit = len(st.stored) + rng.randrange(1, 400)
                    try:
                        st.until("some", lambda st: len(st.stored) >= limit or st.ended, 30)
                    except AssertionError:
                        if st.ended is None:
                            raise
                    frames += st.stored
                    after = frames[-1].id if frames else None
                    if st.ended == "clean":
                        break
            results.append((dialect, frames))

        def write():
            for i in range(100):
                lease.send(*[token(f"{i}.{k} ") for k in range(10)])
            lease.send(*CLOSING)
            lease.finish()

        at_once(write, *[lambda i=i: read(i) for i in range(12)])
        full = {d: with_ids(s.read("j", d)) for d in DIALECTS}
        equal(len(results), 12)
        for dialect, frames in results:
            equal([f.id for f in frames], [f.id for f in full[dialect]], f"{dialect}: no gap, no double")
            check(frames == full[dialect], f"{dialect}: the same bytes")


# Edge case 31.
@case
def readers_that_leave_are_forgotten():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*STORY[:4])

        def descriptors():
            return len(os.listdir(f"/proc/{s.pid}/fd"))
        s.get("/livez")
        before = descriptors()
        readers = [s.stream("j", DIALECTS[i % len(DIALECTS)]) for i in range(60)]
        for r in readers:
            r.until("a frame", lambda r: r.frames)
        until("sixty more", lambda: descriptors() >= before + 50)
        for r in readers[::2]:
            r.close()
        for r in readers[1::2]:  # hard, in the middle of what is sent
            r.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            r.close()
        lease.send(*[token("x" * 1000)] * 20)
        until("all descriptors are back", lambda: descriptors() <= before + 2)
        equal(s.state("j"), "running", "a reader that leaves stops nothing")
        lease.send(*CLOSING)
        equal(lease.finish(), "succeeded")


@case
def jobs_do_not_see_each_other():
    with Server(agents={"pull": PULL}) as s:
        ids = [s.submit(job_id=i) for i in ("a-b", "a_b", "A-B")]
        leases = {}
        for _ in ids:
            lease = Worker(s).lease()
            leases[lease.job] = lease
        streams = {i: s.stream(i, "agent") for i in ids}
        for i in ids:
            leases[i].send(*OPENING, token(f"of {i}"))
        for i in ids:
            leases[i].finish()
        for i in ids:
            st = streams[i].rest()
            equal([f.json["token"] for f in st.frames if f.event == "agent.token"], [f"of {i}"])


# Edge case 55.
@cases(["agent", "aiq", "raw"])
def a_reader_never_gets_into_another_job_of_the_same_id(dialect):
    """It is far behind when its job is deleted, and the same id is used again."""
    with Server("--durability", "relaxed", agents={"pull": PULL}) as s:
        def fill(text):
            s.submit(job_id="j")
            lease = Worker(s).lease()
            lease.send(*OPENING)
            for _ in range(10):
                lease.send(*[token(text * 200)] * 1000)
        fill("old ")
        slow = Stream(s, f"/v1/jobs/j/events?dialect={dialect}", receive_buffer=4096)
        slow.until("it has begun", lambda st: len(st.stored) > 3)
        equal(s.request("DELETE", "/v1/jobs/j").status, 204)
        fill("new ")
        slow.rest(30)
        check(slow.ended != "clean", "a deleted job has not ended")
        equal(sum('"new ' in f.data for f in slow.frames), 0, "frames of the other job")


@case
def variants_of_messages():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        def names(**q):
            return {f.event.partition("|")[0] for f in s.read(id, "messages", **q)} - {"metadata"}
        equal(names(modes="values"), {"values"})
        equal(names(modes="messages"), {"messages"})
        equal(names(modes="messages-tuple"), {"messages"})
        check("events" in names(modes="events,values"), names(modes="events,values"))
        full = with_ids(s.read(id, "messages", modes="values,updates,messages,custom,events,tasks,checkpoints,debug"))
        equal(with_ids(s.read(id, "messages", modes="all")), full)
        equal(with_ids(s.read(id, "messages", modes="values,all")), full)
        for mode in ("values", "messages", "events"):
            part = with_ids(s.read(id, "messages", modes=mode))
            have = {f.id: f for f in full}
            for f in part:
                equal(have[f.id], f, "a filter keeps ids and bytes")
