"""A job's events over its own WebSocket."""

import json
import time

import gateway
from gateway import STORY, Server, Worker, play
from harness import DIALECTS, NAMING, case, cases, check, contains, equal
from websocket import events_socket, frame, PING, is_open
from wires import PULL, unwrap

CURSOR = "stream.cursor"


def is_cursor(text):
    return text.startswith('{"type":"stream.cursor",')


def payloads(messages):
    return [m for m in messages if not is_cursor(m)]


@case
def messages_have_the_payloads_of_sse():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        for dialect in DIALECTS:
            want = [f for f in server.read(job, dialect) if f.id]
            with events_socket(server, job, dialect) as ws:
                ws.until_closed(1000, "the job has ended")
            if dialect not in NAMING:
                equal([unwrap(m) for m in ws.messages], want, dialect)
            else:
                got = [m for m in payloads(ws.messages) if '"stream.mode"' not in m[:30]]
                equal(got, [f.data for f in want], dialect)
            with events_socket(server, job, dialect, query={"envelope": 1}) as ws:
                ws.until_closed(1000)
            equal([f for f in map(unwrap, ws.messages) if f.id], want, f"{dialect} in envelopes")


@cases(DIALECTS)
def nothing_comes_after_the_last_id(dialect):
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        last = str(server.job(job)["events"])
        for cursor in {last, server.read(job, dialect)[-1].id}:
            for envelope in (0, 1):
                with events_socket(server, job, dialect, after=cursor, query={"envelope": envelope}) as ws:
                    ws.until_closed(1000, "the job has ended")
                equal(ws.messages, [], f"{cursor} {envelope}")


@case
def a_cursor_follows_what_came():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        with events_socket(server, job) as ws:
            n = 0
            for event in STORY[:8]:
                lease.send(event)
                if event["event"].endswith(("_stream", "_tool_start")):  # which readers see
                    ws.until("it and a cursor", lambda s: len(payloads(s.messages)) > n and is_cursor(s.messages[-1]))
                    n = len(payloads(ws.messages))
            messages = list(ws.messages)
        for event in STORY[8:]:
            lease.send(event)
        lease.finish()
        whole = [f.data for f in server.read(job, "agent")]
        equal(payloads(messages), whole[:len(payloads(messages))])
        for i, m in enumerate(messages):
            if not is_cursor(m):
                continue
            seen = len(payloads(messages[:i]))
            with events_socket(server, job, after=json.loads(m)["id"]) as ws:
                ws.until_closed(1000)
                equal(payloads(ws.messages), whole[seen:], f"after {m}")
        check(sum(map(is_cursor, messages)) >= 3, f"{messages}")


@case
def a_replay_has_a_cursor_too():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        lease.send(*STORY[:6])
        with events_socket(server, job) as ws:
            ws.until("a cursor", lambda s: s.messages and is_cursor(s.messages[-1]))
            equal(json.loads(ws.messages[-1]), {"type": CURSOR, "id": str(server.job(job)["events"])})
            equal(sum(map(is_cursor, ws.messages)), 1)


@case
def json_lines_without_envelopes_have_cursors():
    from wires import BareLines, events
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        lease.send(*STORY[:6])
        with BareLines(server, events(job, "agent", envelope=0)) as st:
            st.until("a cursor", lambda s: s.frames and is_cursor(s.frames[-1]))


@case
def a_gap_is_said():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with events_socket(server, job, after=9999) as ws:
            ws.until_closed(1000)
        equal(json.loads(ws.messages[0])["type"], "stream.gap")


@case
def aiq_says_what_it_says_over_sse():
    with Server("--heartbeat", "300ms", agents={"pull": PULL}) as server:
        job = server.submit()
        with events_socket(server, job, "aiq") as ws:
            ws.until("a heartbeat", lambda s: any("job.heartbeat" in m for m in s.messages))
            types = [json.loads(m)["type"] for m in ws.messages]
            equal(types[:3], ["stream.mode", "stream.mode", "job.status"])
            lease = Worker(server).lease()
            lease.send(*STORY)
            lease.finish()
            ws.until_closed(1000)
            equal(json.loads(payloads(ws.messages)[-1])["status"], "SUCCESS")


@case
def a_deleted_job_closes_with_4404():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        Worker(server).lease()
        with events_socket(server, job, "raw") as ws:
            ws.until("its start", lambda s: s.messages)
            equal(server.request("DELETE", f"/v1/jobs/{job}").status, 204)
            ws.until("the close", lambda s: s.closed)
            # Deleting a running job cancels it first: who reads fast enough sees it end.
            check(ws.closed in ((4404, "the job was deleted"), (1000, "the job has ended")), f"{ws.closed}")


@case
def a_maximum_age_closes_with_1001():
    with Server("--max-age", "1s", agents={"pull": PULL}) as server:
        with events_socket(server, server.submit()) as ws:
            ws.until_closed(1001, "the connection has reached its maximum age")


@case
def going_down_is_1001_spread_over_the_window():
    with Server("--shutdown-window", "6s", agents={"pull": PULL}) as server:
        job = server.submit()
        sockets = [events_socket(server, job, "raw") for _ in range(30)]
        gateway.until("all are there", is_open(server, 30))
        times = []

        def watch():
            start = time.monotonic()
            for ws in sockets:
                ws.times = None
            left = list(sockets)
            while left:
                for ws in list(left):
                    ws.pump(0.01)
                    if ws.closed:
                        times.append(time.monotonic() - start)
                        left.remove(ws)
                check(time.monotonic() - start < 20, f"{len(left)} are left")
        gateway.at_once(watch, server.terminate)
        for ws in sockets:
            equal(ws.closed, (1001, "the server is going down"))
            contains(payloads(ws.messages)[-1], '"job.shutdown"')
            ws.sock.close()
        check(max(times) - min(times) > 1, f"all at once: {min(times):.2f} to {max(times):.2f} s")


@case
def a_slow_reader_is_cut_and_resumes():
    big = {"event": "on_custom_event", "name": "big", "run_id": "r", "data": {"x": "y" * 60000}}
    with Server("--write-timeout", "2s", agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        lease.send(*STORY[:3])
        for _ in range(10):
            lease.send(*[big] * 20)
        with events_socket(server, job, "raw", receive_buffer=4096) as ws:
            gateway.until("it is cut", is_open(server, 0), 20)
            ws.until("the end", lambda s: s.ended)
            equal(ws.ended, "reset")
        lease.finish()
        cursor = [json.loads(m)["id"] for m in ws.messages if is_cursor(m)][-1:] or [0]
        seen = [m for m in payloads(ws.messages) if json.loads(m)["seq"] <= int(cursor[0])]
        with events_socket(server, job, "raw", after=cursor[0]) as ws:
            ws.until_closed(1000)
        equal(seen + payloads(ws.messages), [f.data for f in server.read(job, "raw")])


@case
def a_slow_peer_that_reads_is_not_cut_for_its_pongs():
    """Its ping lies behind megabytes: nobody may say that it does not answer."""
    big = {"event": "on_custom_event", "name": "big", "run_id": "r", "data": {"x": "y" * 60000}}
    with Server("--keep-alive", "200ms", "--pong-timeout", "2s", agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        for _ in range(5):
            lease.send(*[big] * 20)
        lease.finish()
        with events_socket(server, job, "raw", receive_buffer=4096) as ws:
            end = time.monotonic() + 4
            while time.monotonic() < end and not ws.closed:
                ws.sock.settimeout(1)
                ws._take(ws.sock.recv(8192))
                time.sleep(0.02)
            ws.until_closed(1000, "the job has ended")


@case
def two_sockets_share_nothing_but_bytes():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        with events_socket(server, job) as a, events_socket(server, job, query={"envelope": 1}) as b:
            gateway.until("both are there", is_open(server, 2))
            a.send(frame(PING, "a"))
            lease.send(*STORY)
            lease.finish()
            a.until_closed(1000)
            b.until_closed(1000)
            equal(payloads(a.messages), [unwrap(m).data for m in b.messages])
            equal((a.pongs, b.pongs), ([b"a"], []))


@cases(["running", "ended"])
def tokens_are_asked_for(when):
    with Server(agents={"pull": PULL}) as server:
        job = play(server) if when == "ended" else server.submit()
        token = server.post("/v1/tokens", {"scope": "admin"}).json["token"]
        with events_socket(server, job) as ws:
            equal(ws.status, 401)
        with events_socket(server, job, Authorization=f"Bearer {token}") as ws:
            equal(ws.status, 101)
        a = server.post("/v1/tickets", {"job_id": job}, headers={"Authorization": f"Bearer {token}"})
        equal(a.status, 201, repr(a))
        with events_socket(server, job, query={"ticket": a.json["ticket"]}) as ws:
            equal(ws.status, 101)


@case
def a_revoked_token_closes_with_1008():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        admin = {"Authorization": f"Bearer {server.post('/v1/tokens', {'scope': 'admin'}).json['token']}"}
        made = server.post("/v1/tokens", {"scope": "read", "jobs": "all"}, headers=admin).json
        with events_socket(server, job, Authorization=f"Bearer {made['token']}") as ws:
            equal(ws.status, 101)
            a = server.request("DELETE", f"/v1/tokens/{made.get('token_id') or made.get('id')}", headers=admin)
            check(a.status in (200, 204), repr(a))
            ws.until_closed(1008, "its token or ticket is good no longer")
