"""Where a reader begins: cursors by header, query and path, and what becomes of bad ones."""

import urllib.parse

from gateway import (OPENING, PULL, STORY, Server, Worker, play, seq, token, with_ids, unmarked)
from harness import DIALECTS, REGISTRY, case, cases, check, equal


def tail(full, id):
    """What comes after the frame @id."""
    ids = [f.id for f in full]
    return full[ids.index(id) + 1:]


# Edge case 19.
@cases(DIALECTS)
def resuming_at_every_id_gives_exactly_the_tail(dialect):
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        full = with_ids(s.read(id, dialect))
        check(len(full) > 4, full)
        for f in full[:-1]:
            equal(unmarked(with_ids(s.read(id, dialect, after=f.id))), tail(full, f.id), f"query {f.id}")
            equal(unmarked(with_ids(s.read(id, dialect, header=f.id))), tail(full, f.id), f"header {f.id}")
            if dialect == "aiq":
                with s.aiq(id, f.id) as st:
                    equal(unmarked(st.rest().stored), tail(full, f.id), f"path {f.id}")
                with s.aiq(id, header=f.id) as st:
                    equal(unmarked(st.rest().stored), tail(full, f.id), f"header, on the asynchronous route {f.id}")
        # Also ids that no frame of this dialect has: a reader may change dialects.
        last = seq(full[-1])
        for n in range(1, last):
            want = [f for f in full if seq(f) > n]
            if want:
                equal(unmarked(with_ids(s.read(id, dialect, after=n))), want, f"record {n}")


# Edge case 22.
@cases(DIALECTS)
def the_beginning_has_many_names(dialect):
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        full = with_ids(s.read(id, dialect))
        for name in ("-1", "0", ""):
            equal(with_ids(s.read(id, dialect, after=name)), full, f"query {name!r}")
            equal(with_ids(s.read(id, dialect, header=name)), full, f"header {name!r}")
        for junk in ("abc", "5.5.5", "1e9", "another-servers-id", "é", "99999999999999999999x"):
            equal(with_ids(s.read(id, dialect, header=junk)), full, f"some other server's id {junk!r}")


@case
def the_header_wins():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        full = with_ids(s.read(id, "aiq"))
        equal(unmarked(with_ids(s.read(id, "aiq", after="2", header="9"))), tail(full, "9"))
        with s.aiq(id, 2, header="9") as st:
            equal(unmarked(st.rest().stored), tail(full, "9"))
        with s.aiq(id, 9, header="0") as st:
            equal(st.rest().stored, full, "a browser's 0 is a place, too")
        with s.aiq(id, 9, header="") as st:
            equal(unmarked(st.rest().stored), tail(full, "9"), "an empty header is none")
        with s.aiq(id, 9, header="nonsense") as st:
            equal(unmarked(st.rest().stored), tail(full, "9"), "nor is one that cannot be read")


# Edge case 20.
@cases(DIALECTS)
def at_the_end_of_a_finished_job(dialect):
    """Nothing comes twice.  By header it is 204, which stops a browser; by query a clean end without a
    frame.  By path, on the asynchronous route, it is a person who asks: the terminal frame again."""
    with Server(agents={"pull": PULL}) as s:
        w = Worker(s)
        for end in ("success", "failure", "cancelled"):
            s.submit(job_id=end)
            lease = w.lease()
            lease.send(*STORY)
            if end == "cancelled":
                s.post(f"/v1/jobs/{end}/cancel")
            lease.finish(end, error="it broke" if end == "failure" else None)
            full = with_ids(s.read(end, dialect))
            last = str(s.job(end)["events"])
            for cursor in {last, full[-1].id}:
                with s.stream(end, dialect, header=cursor) as st:
                    equal((st.status, st.body), (204, b""), f"{end}: header {cursor}")
            terminal = [f for f in full if f.id.partition(".")[0] == last]
            if dialect != "messages":
                check(terminal, f"{end}: the last record has a frame")
            for cursor in {last, full[-1].id}:
                equal(s.read(end, dialect, after=cursor), [], f"{end}: query {cursor}")
            if dialect == "aiq":
                with s.aiq(end, last) as st:
                    st.rest()
                    equal((st.status, st.ended, unmarked(st.stored)), (200, "clean", terminal))
                    equal(st.frames[0].event, "stream.mode")
                with s.aiq(end, header=last) as st:
                    equal(st.status, 204)
                with s.aiq(end, 2, header=last) as st:
                    equal(st.status, 204, "a browser that came by path reconnects to the same URL")


@case
def no_204_while_a_job_runs():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        for dialect in DIALECTS:
            with s.stream("j", dialect, header="4") as st:
                equal(st.status, 200, dialect)
        with s.stream("j", "agent", header="4") as st:
            lease.send(token("x"))
            st.until_event("agent.token")
            equal(len(st.stored), 1)


# Edge case 21.
@cases(DIALECTS)
def a_foreign_cursor_is_told_and_starts_over(dialect):
    with Server(agents={"pull": PULL}) as s:
        done = play(s)
        s.submit(job_id="open")
        lease = Worker(s).lease()
        lease.send(*STORY)
        full = with_ids(s.read(done, dialect))
        last = s.job(done)["events"]
        for n in (last + 1, 10 ** 6, 2 ** 53 + 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64, 10 ** 30):
            for how in ({"after": n}, {"header": str(n)}):
                st = s.stream(done, dialect, **how).rest()
                equal((st.status, st.ended), (200, "clean"), f"{how}: {st.body[:200]}")
                gaps = [f for f in st.frames if f.event == "stream.gap"]
                equal([f.id for f in gaps], [None], f"{how}")
                g = gaps[0].json
                equal((g["type"], g["tail"]), ("stream.gap", last), f"{how}")
                if n < 2 ** 63:
                    equal(g["requested"], n, f"{how}")
                order = [f for f in st.frames if f.event != "stream.mode"]
                equal(order[0].event, "stream.gap", "before the first event")
                equal(unmarked(st.stored), full, f"{how}: all of it")
            if dialect == "aiq":
                with s.aiq(done, n) as st:
                    st.rest()
                    equal(st.status, 200, f"path {n}: {st.body[:300]}")
                    equal(unmarked(st.stored), full, f"path {n}")
                    check("stream.gap" in st.events, f"path {n}")
        with s.stream("open", dialect, after=10 ** 6) as st:
            st.until("all", lambda st: len(st.stored) >= len(full) - (dialect != "messages"))
            equal(st.frames["stream.mode" in REGISTRY[dialect]["connection"]].event, "stream.gap")
            lease.finish()
            st.rest()
            equal([f.id for f in st.stored], [f.id for f in full], "then it goes on live")


# Edge case 23.
@case
def another_jobs_id_is_just_a_number():
    """Ids are dense and per job: one of another job is a place in this one, or beyond its end."""
    with Server(agents={"pull": PULL}) as s:
        one, two = play(s), play(s)
        equal([f.id for f in s.read(one)], [str(n) for n in range(1, 14)], "dense, from 1")
        equal([f.id for f in s.read(two)], [str(n) for n in range(1, 14)])
        equal([f.id for f in s.read(two, after="7")], [str(n) for n in range(8, 14)])


# Edge case 25.
@case
def frames_of_the_connection_are_no_place_to_resume_from():
    """Upstream's known bug: an id taken from a synthetic frame loses events."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.aiq("j") as st:
            st.until_event("job.status")
            lines = st.body.decode().split("\n\n")
            for block in lines:
                if any(f"event: {e}" in block for e in ("stream.mode", "job.heartbeat")) or '"status":"RUNNING"' in block:
                    check("id:" not in block.split("\n")[0], block)
            equal([f.id for f in st.frames if f.event in ("stream.mode", "job.status")], [None] * 3)
            last = st.stored[-1].id
        lease.send(*STORY[3:])
        lease.finish()
        full = with_ids(s.read("j", "aiq"))
        equal(unmarked(with_ids(s.read("j", "aiq", header=last))), tail(full, last))


# Edge case 24.
@cases(["57.", ".5", "5.0", "1.2.3", "5 ", " 5", "+5", "0x5", "5.-1", "١"])
def bad_cursors_in_the_query_are_422(text):
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        a = s.get(f"/v1/jobs/{id}/events?dialect=raw&after={urllib.parse.quote(text)}")
        equal(a.status, 422, repr(a))


@case
def inside_a_record():
    """`agent` says the end of an execution in two frames: 11.1 and 11."""
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        full = with_ids(s.read(id, "agent"))
        parts = [f.id for f in full if seq(f) == 11]
        equal(parts, ["11.1", "11"])
        equal([f.id for f in s.read(id, "agent", after="11.1")], ["11", "13"])
        equal([f.id for f in s.read(id, "agent", after="11")], ["13"])
        equal([f.id for f in s.read(id, "agent", after="11.2")], ["13"], "past the last frame of a record is past the record")
        equal([f.id for f in s.read(id, "raw", after="11.1")][-2:], ["12", "13"])
