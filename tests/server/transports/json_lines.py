"""Events as JSON lines."""

import json

import gateway
from gateway import STORY, Server, Worker, play
from harness import BEATING, DIALECTS, NAMING, case, cases, check, contains, equal
from wires import PULL, BareLines, Lines, events


def stored(frames):
    return [f for f in frames if f.id]


@case
def lines_have_the_payloads_of_sse():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        for dialect in DIALECTS:
            with Lines(server, events(job, dialect)) as st:
                equal(st.headers["content-type"], "application/x-ndjson")
                contains(st.headers["vary"], "Accept")
                equal(st.rest().ended, "clean")
                equal(stored(st.frames), stored(server.read(job, dialect)), dialect)


@cases(["application/x-ndjson", "application/ndjson;q=0.9, */*", "application/jsonl", "text/html, application/X-NDJSON"])
def lines_are_asked_for(accept):
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with Lines(server, events(job, "agent"), headers={"Accept": accept}) as st:
            equal(st.headers["content-type"], "application/x-ndjson")
        with Lines(server, events(job, "agent", format="ndjson"), headers={"Accept": "text/event-stream"}) as st:
            equal(st.headers["content-type"], "application/x-ndjson")


@cases(["text/event-stream", "*/*", "text/event-stream, application/x-ndjson", "application/json", ""])
def sse_otherwise(accept):
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with gateway.Stream(server, events(job, "agent"), headers={"Accept": accept}) as st:
            equal(st.headers["content-type"], "text/event-stream; charset=utf-8")
        with gateway.Stream(server, events(job, "agent", format="sse"), headers={"Accept": "application/x-ndjson"}) as st:
            equal(st.headers["content-type"], "text/event-stream; charset=utf-8")


@case
def an_unknown_format_is_refused():
    with Server(agents={"pull": PULL}) as server:
        a = server.get(events(play(server), "agent", format="xml"))
        equal((a.status, a.detail), (422, "format must be sse, ndjson or json"))


@case
def lines_follow_and_resume():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        with Lines(server, events(job, "agent")) as st:
            lease.send(*STORY[:6])
            st.until("a token", lambda s: any(f.event == "agent.token" for f in s.frames))
            first = list(st.frames)
        lease.send(*STORY[6:])
        lease.finish()
        whole = server.read(job, "agent")
        for last in {f.id for f in first}:
            n = [f.id for f in whole].index(last) + 1
            with Lines(server, events(job, "agent", after=last)) as st:
                equal(st.rest().frames, whole[n:], f"after {last}")
            with Lines(server, events(job, "agent"), header=last) as st:
                equal(st.rest().frames, whole[n:], f"Last-Event-ID {last}")
        with Lines(server, events(job, "agent"), header=whole[-1].id) as st:
            equal(st.status, 204)


@cases(DIALECTS)
def nothing_comes_after_the_last_id(dialect):
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        last = str(server.job(job)["events"])
        for cursor in {last, server.read(job, dialect)[-1].id}:
            for more in ({}, {"envelope": 0}):
                with Lines(server, events(job, dialect, after=cursor, **more)) as st:
                    equal((st.status, st.rest().ended, st.body), (200, "clean", b""), f"{cursor} {more}")
                with Lines(server, events(job, dialect, **more), header=cursor) as st:
                    equal((st.status, st.body), (204, b""), f"{cursor} {more}")


@case
def the_data_alone_without_an_envelope():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with BareLines(server, events(job, "agent", envelope=0)) as st:
            equal(st.rest().frames, [f.data for f in server.read(job, "agent")])
        with Lines(server, events(job, "messages", envelope=0)) as st:
            equal(st.rest().frames, server.read(job, "messages"), "messages does not name itself")


@case
def silence_is_kept_alive_by_objects():
    with Server("--keep-alive", "200ms", agents={"pull": PULL}) as server:
        job = server.submit()
        with Lines(server, events(job, "agent")) as st:
            st.until("two keep-alives", lambda s: s.keep_alives >= 2)


@cases(DIALECTS)
def every_line_has_the_form_that_was_asked_for(dialect):
    """Also what is said through silence, of a gap, and of a heartbeat; `messages` always has envelopes.

    A heartbeat breaks the silence, and a deadline is up to half a second late: between two heartbeats there
    has to be time for a keep-alive, or there may never be one."""
    with Server("--keep-alive", "200ms", "--heartbeat", "2s", agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        lease.send(*STORY[:7])
        with BareLines(server, events(job, dialect, envelope=0, after=9999)) as st:
            st.until("silence", lambda s: sum("stream.keep_alive" in f for f in s.frames) >= 2)
            if dialect in BEATING:
                st.until("a heartbeat", lambda s: any("job.heartbeat" in f for f in s.frames))
            lease.send(*STORY[7:])
            lease.finish()
            lines = [json.loads(f) for f in st.rest().frames]
        if dialect not in NAMING:
            check(all("event" in f and "data" in f for f in lines), lines)
            return
        check(any(f.get("type") == "stream.gap" for f in lines[:2]), lines[:2])
        equal([f for f in lines if "stream.keep_alive" in f.values()][0], {"type": "stream.keep_alive"})
        for f in lines:
            check(not {"event", "data"} >= set(f) and not {"id", "event", "data"} >= set(f), f"an envelope: {f}")


@case
def http_1_0_gets_lines_without_chunks():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with Lines(server, events(job, "agent"), version="1.0") as st:
            check("transfer-encoding" not in st.headers)
            equal(st.rest().frames, server.read(job, "agent"))


@case
def a_gap_is_said():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with Lines(server, events(job, "agent", after=9999)) as st:
            st.rest()
        equal(st.frames[0].event, "stream.gap")
        equal(st.frames[0].json["requested"], 9999)
        equal(st.frames[1:], server.read(job, "agent"))


@case
def overload_is_said_with_503():
    with Server("--max-connections", "6", agents={"pull": PULL}) as server:
        job = play(server)
        held = [server.connect() for _ in range(6)]

        def refused():
            with Lines(server, events(job, "agent")) as st:
                return st.headers if st.status == 503 else None
        equal(gateway.until("the limit is reached", refused)["retry-after"], "1")
        for s in held:
            s.close()
