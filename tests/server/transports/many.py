"""Many jobs, and the states of all, over one connection."""

import json
import re

import gateway
from gateway import STORY, Server, Worker, interrupt, play, root_start, token
from harness import DIALECTS, case, cases, check, contains, equal
from websocket import PING, TEXT, Socket, frame, is_open
from wires import PULL, Lines, unwrap

PLACES = re.compile(r"[0-9a-f]{8}:[0-9.,]+")


def stored(server, job, dialect="agent"):
    return [f for f in server.read(job, dialect) if f.id]


class Many(Socket):
    """A socket on /v1/stream; its messages by job."""

    def __init__(self, server, path="/v1/stream", **more):
        super().__init__(server, path, **more)

    @property
    def frames(self):
        return [unwrap(m) for m in self.messages]

    def of(self, job):
        return [f for f in self.frames if f.job == job]

    def events_of(self, job):
        return [f for f in self.of(job) if f.id]

    def subscribe(self, job, **more):
        self.say({"type": "subscribe", "job": job, **more})
        return self

    def until_event(self, event, job=None, seconds=gateway.WAIT):
        self.until(f"{event} of {job}", lambda s: any(f.event == event and f.job == job for f in s.frames), seconds)
        return next(f for f in self.frames if f.event == event and f.job == job)


@case
def a_socket_has_many_jobs():
    with Server(agents={"pull": PULL}) as server:
        jobs = {play(server): d for d in DIALECTS}
        with Many(server) as ws:
            for job, dialect in jobs.items():
                ws.subscribe(job, dialect=dialect)
            for job in jobs:
                ws.until_event("stream.ended", job)
            for job, dialect in jobs.items():
                equal(ws.events_of(job), stored(server, job, dialect), dialect)
                names = [f.event for f in ws.of(job) if not f.id]
                equal((names[0], names[-1]), ("stream.subscribed", "stream.ended"), dialect)
            ws.close()
            ws.until_closed(1000)


@case
def jobs_come_and_go_on_a_socket():
    with Server(agents={"pull": PULL}) as server:
        first, second = server.submit(), server.submit()
        leases = {lease.job: lease for lease in (Worker(server).lease(), Worker(server).lease())}
        with Many(server) as ws:
            ws.subscribe(first)
            ws.until_event("stream.subscribed", first)
            leases[first].send(*STORY[:6])
            leases[second].send(*STORY[:6])
            ws.until("its tokens", lambda s: sum(f.event == "agent.token" for f in s.of(first)) == 3)
            equal(ws.of(second), [])
            ws.subscribe(second)
            ws.say({"type": "unsubscribe", "job": first})
            ws.until_event("stream.unsubscribed", first)
            leases[first].send(*STORY[6:])
            n = len(ws.of(first))
            ws.until("the other's tokens", lambda s: sum(f.event == "agent.token" for f in s.of(second)) == 3)
            equal(len(ws.of(first)), n)
            last = ws.events_of(first)[-1].id
            ws.subscribe(first, after=last)
            for lease in leases.values():
                lease.finish()
            ws.until_event("stream.ended", first)
            ws.until_event("stream.ended", second)
            equal(ws.events_of(first), stored(server, first))
            equal(ws.events_of(second), stored(server, second))


BAD = {
    "no JSON": ("hello", 422, "a message must be a JSON object"),
    "a list": ("[]", 422, "a message must be a JSON object"),
    "no type": ({}, 422, '"type" must be subscribe or unsubscribe'),
    "another type": ({"type": "dance", "job": "x"}, 422, '"type" must be'),
    "no job": ({"type": "subscribe"}, 422, 'either "job" or'),
    "both": ({"type": "subscribe", "job": "x", "topic": "system"}, 422, 'either "job" or'),
    "another topic": ({"type": "subscribe", "topic": "weather"}, 422, 'either "job" or'),
    "a bad id": ({"type": "subscribe", "job": "é x"}, 422, '"job" must be the id of a job'),
    "a number": ({"type": "subscribe", "job": 5}, 422, 'either "job" or'),
    "a bad dialect": ({"type": "subscribe", "job": "x", "dialect": "latin"}, 422, "there is no such dialect"),
    "a bad mode": ({"type": "subscribe", "job": "x", "modes": "values,upates"}, 422, "there is no stream mode 'upates'"),
    "modes that are a list": ({"type": "subscribe", "job": "x", "modes": ["values"]}, 422, '"modes" must be a text'),
    "a flag that is none": ({"type": "subscribe", "job": "x", "subgraphs": "yes"}, 422, '"subgraphs" must be true or false'),
    "a bad place": ({"type": "subscribe", "job": "x", "after": "57.x"}, 422, '"after" must be an id'),
    "a place that is a number": ({"type": "subscribe", "job": "x", "after": 57}, 422, '"after" must be an id'),
    "an absent job": ({"type": "subscribe", "job": "x"}, 404, "Job not found: x"),
    "not subscribed": ({"type": "unsubscribe", "job": "x"}, 404, "there is no such subscription"),
    "not listening": ({"type": "unsubscribe", "topic": "system"}, 404, "there is no such subscription"),
    "too deep": ("[" * 30 + "]" * 30, 422, "a message must be a JSON object"),
}


@cases(BAD)
def a_bad_message_is_answered(name):
    message, status, text = BAD[name]
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with Many(server) as ws:
            ws.say(message)
            ws.until_messages(1)
            equal(ws.frames[0].event, "stream.error")
            equal(ws.frames[0].json["status"], status)
            contains(ws.frames[0].json["message"], text)
            ws.subscribe(job)
            ws.until_event("stream.ended", job)


@case
def subscriptions_are_limited():
    with Server("--max-subscriptions", "3", agents={"pull": PULL}) as server:
        jobs = [server.submit() for _ in range(4)]
        with Many(server) as ws:
            for job in jobs:
                ws.subscribe(job)
            equal(ws.until_event("stream.error", jobs[3]).json["status"], 429)
            ws.subscribe(jobs[0])
            equal(ws.until_event("stream.error", jobs[0]).json["status"], 409)
            ws.say({"type": "unsubscribe", "job": jobs[0]})
            ws.until_event("stream.unsubscribed", jobs[0])
            ws.subscribe(jobs[3])
            ws.until_event("stream.subscribed", jobs[3])
        a = server.get("/v1/stream?jobs=" + ",".join(jobs))
        equal((a.status, a.detail), (422, "at most 3 jobs share a connection"))


@case
def a_socket_leaves_nothing_behind():
    with Server(agents={"pull": PULL}) as server:
        jobs = [server.submit() for _ in range(20)]
        sockets = [Many(server) for _ in range(5)]
        for ws in sockets:
            for job in jobs:
                ws.subscribe(job)
            ws.say({"type": "subscribe", "topic": "system"})
        gateway.until("all are there", is_open(server, 100))
        for i, ws in enumerate(sockets):
            if i % 2:
                ws.close()
            ws.sock.close()
        gateway.until("all are gone", is_open(server, 0))


@case
def the_states_of_all_jobs():
    with Server(agents={"pull": PULL}) as server:
        with Many(server) as ws:
            ws.say({"type": "subscribe", "topic": "system"})
            ws.until_event("stream.subscribed")
            job = server.submit()
            lease = Worker(server).lease()
            lease.send(*STORY)
            lease.finish()
            other = server.submit()
            equal(server.post(f"/v1/jobs/{other}/cancel").status, 200)
            equal(server.request("DELETE", f"/v1/jobs/{other}").status, 204)
            ws.until("the deletion", lambda s: any(f.json.get("state") == "deleted" for f in s.of(other)))

            def states(of):
                return [f.json["state"] for f in ws.of(of) if f.event == "job.state"]
            equal(states(job), ["queued", "running", "succeeded"])
            equal(states(other), ["queued", "cancelled", "deleted"])
            check(all(f.id is None for f in ws.frames))
            equal(ws.of(job)[1].json["agent"], "pull")
            ws.say({"type": "unsubscribe", "topic": "system"})
            ws.until_event("stream.unsubscribed")
            n = len(ws.messages)
            server.submit()
            ws.send(frame(PING, "x"))
            ws.until("the pong", lambda s: s.pongs)
            equal(len(ws.messages), n)


@case
def the_questions_of_all_jobs():
    with Server(agents={"pull": dict(PULL, attempts=9)}) as server:
        with Many(server) as ws:
            ws.say({"type": "subscribe", "topic": "system"})
            ws.until_event("stream.subscribed")
            job = server.submit()
            lease = Worker(server).lease()
            lease.append(root_start(), interrupt({"question": "Which?", "expires_in": 0}, "q-1"),
                         interrupt({"expires_in": 1, "on_expiry": "default", "default": 7}, "q-2"),
                         interrupt({"question": "x" * 5000}, "q-3"))
            lease.finish("interrupted")

            def told():
                return [f.json for f in ws.of(job) if f.event == "interrupt.state"]
            ws.until("the expiry", lambda _: any(q["state"] == "expired" for q in told()))
            equal(server.post(f"/v1/jobs/{job}/answer", {"answers": {"q-1": 1, "q-3": 2}}).status, 200)
            ws.until("the answers", lambda _: len(told()) == 6)
            equal([(q["interrupt_id"], q["state"]) for q in told()],
                  [("q-1", "open"), ("q-2", "open"), ("q-3", "open"), ("q-2", "expired"), ("q-1", "answered"),
                   ("q-3", "answered")])
            first, second, third = told()[:3]
            equal((first["question"], first["agent"], "expires_at" in first), ("Which?", "pull", False))
            equal((second["question"], "expires_at" in second, third["question"]), (None, True, None))
            equal(server.post(f"/v1/jobs/{job}/answer", {"interrupt_id": "q-1", "value": 1}).status, 409)
            names = [f.event for f in ws.of(job)]
            check(names.index("interrupt.state") < names.index("job.state", names.index("interrupt.state")),
                  "a question comes before the state that it leads to")


@case
def only_the_jobs_that_a_token_may_see():
    with Server(agents={"pull": PULL}) as server:
        admin = {"Authorization": f"Bearer {server.post('/v1/tokens', {'scope': 'admin'}).json['token']}"}

        def token_of(**more):
            return {"Authorization": f"Bearer {server.post('/v1/tokens', more, headers=admin).json['token']}"}
        alice, bob = token_of(scope="client", owner="alice"), token_of(scope="client", owner="bob")
        with Many(server, Authorization=alice["Authorization"]) as ws:
            ws.say({"type": "subscribe", "topic": "system"})
            ws.until_event("stream.subscribed")
            theirs = server.submit(headers=bob)
            order = server.post("/v1/worker/lease", {"agents": ["pull"], "worker": "w"}, headers=admin).json
            asks = gateway.lines(root_start(), interrupt("?", "q"))
            equal(server.post(f"/v1/worker/jobs/{theirs}/events?lease={order['lease']}&seq=0", asks, headers=admin).status,
                  200)
            mine = server.submit(headers=alice)
            ws.until_event("job.state", mine)
            equal(ws.of(theirs), [])
            ws.subscribe(theirs).subscribe(mine)
            equal(ws.until_event("stream.error", theirs).json["message"], f"Job not found: {theirs}")
            ws.until_event("stream.subscribed", mine)
        with gateway.Stream(server, f"/v1/stream?jobs={theirs}", headers=alice) as st:
            equal(st.status, 404)
        with Many(server) as ws:
            equal(ws.status, 401)


# --- over SSE ---------------------------------------------------------------------------------


class Events(gateway.Stream):
    """/v1/stream over SSE, as an EventSource reads it: messages with ids, and no names."""

    def _dispatch(self, block):
        if block.startswith(":") or block.startswith("retry: "):
            return
        m = re.fullmatch(r"(?:id: ([^\n]*)\n)?data: ([^\n]*)", block)
        check(m, f"not an event of ours: {block[:300]!r}")
        if m[1]:
            check(PLACES.fullmatch(m[1]), f"not an id of ours: {m[1]!r}")
        f = unwrap(m[2])
        equal(bool(m[1]), bool(f.id), "an event has both ids or none")
        f.places = m[1]
        self.frames.append(f)

    def of(self, job):
        return [f for f in self.frames if f.job == job and f.id]


@case
def sse_has_many_jobs_and_ends_with_the_last():
    with Server(agents={"pull": PULL}) as server:
        jobs = [play(server) for _ in range(3)]
        for dialect in DIALECTS:
            with Events(server, f"/v1/stream?jobs={','.join(jobs)}&dialect={dialect}") as st:
                equal(st.rest().ended, "clean")
            for job in jobs:
                equal(st.of(job), stored(server, job, dialect), dialect)


@case
def a_browsers_last_id_resumes_them_all():
    with Server(agents={"pull": PULL}) as server:
        jobs = [play(server) for _ in range(3)]
        path = f"/v1/stream?jobs={','.join(jobs)}"
        with Events(server, path) as st:
            whole = st.rest().frames
        ids = [i for i, f in enumerate(whole) if f.places]
        for i in ids[::3]:
            with Events(server, path, header=whole[i].places) as st:
                if i == ids[-1]:
                    equal(st.status, 204)
                    break
                st.rest()
            for job in jobs:
                equal([f for f in whole[:i + 1] if f.job == job and f.id] + st.of(job), stored(server, job), f"after {i}")
        with Events(server, path, header=whole[ids[-1]].places) as st:
            equal(st.status, 204)


@case
def sse_follows_jobs_that_run():
    with Server(agents={"pull": PULL}) as server:
        jobs = [server.submit() for _ in range(3)]
        path = f"/v1/stream?jobs={','.join(jobs)}&topics=system"
        leases = [Worker(server).lease() for _ in jobs]
        with Events(server, path) as st:
            gateway.until("it is there", is_open(server, 3))
            for lease in leases:
                lease.send(*STORY[:6])
            st.until("all tokens", lambda s: sum(f.event == "agent.token" for f in s.frames) == 9)
            last = [f.places for f in st.frames if f.places][-1]
            seen = {job: st.of(job) for job in jobs}
        for lease in leases:
            lease.send(*STORY[6:])
            lease.finish()
        with Events(server, path, header=last) as st:
            st.until("all ends", lambda s: sum(f.event == "stream.ended" for f in s.frames) == 3)
            check(not st.ended, "states may still come")
            for job in jobs:
                equal(seen[job] + st.of(job), stored(server, job))


@cases(["x", "0", "57", "00000000:1,1", "zz:1,1", ":1,1", "", "-1"])
def a_foreign_last_id_begins_again(last):
    with Server(agents={"pull": PULL}) as server:
        jobs = [play(server) for _ in range(2)]
        with Events(server, f"/v1/stream?jobs={','.join(jobs)}", header=last) as st:
            st.rest()
        for job in jobs:
            equal(st.of(job), stored(server, job))


@case
def places_may_stand_in_the_list():
    with Server(agents={"pull": PULL}) as server:
        a, b = play(server), play(server)
        after = stored(server, a)[4].id
        with Events(server, f"/v1/stream?jobs={a}@{after},{b}") as st:
            st.rest()
        equal((st.of(a), st.of(b)), (stored(server, a)[5:], stored(server, b)))
        with Lines(server, f"/v1/stream?jobs={a}@{after},{b}") as st:
            st.rest()
        equal([f for f in st.frames if f.job == a and f.id], stored(server, a)[5:])
        with Many(server, f"/v1/stream?jobs={a}@{after},{b}") as ws:
            ws.until_event("stream.ended", a)
            ws.until_event("stream.ended", b)
            equal((ws.events_of(a), ws.events_of(b)), (stored(server, a)[5:], stored(server, b)))


@cases([("", 422, "jobs or topics must be given"), ("?jobs=,", 422, "jobs must be ids"), ("?jobs=a@x", 422, "jobs must be ids"),
        ("?jobs=none", 404, "none of these jobs"), ("?topics=weather", 422, "the only topic is system"),
        ("?jobs=a,a", 422, "a job is in the list twice: a"), ("?jobs=a%0ab", 422, "jobs must be ids"),
        ("?jobs=a&dialect=latin", 422, "no dialect"), ("?jobs=a&format=xml", 422, "format must be")], name=lambda c: c[0])
def bad_lists(c):
    query, status, text = c
    with Server(agents={"pull": PULL}) as server:
        a = server.get(f"/v1/stream{query}")
        equal(a.status, status, repr(a))
        contains(a.detail, text)


@case
def one_of_the_jobs_may_be_missing():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        with Events(server, f"/v1/stream?jobs=none,{job}") as st:
            equal(st.rest().ended, "clean")
        equal([(f.event, f.job) for f in st.frames if f.event == "stream.error"], [("stream.error", "none")])
        equal(st.of(job), stored(server, job))


# --- fairness, slowness, ends --------------------------------------------------------------------


@case
def a_busy_job_holds_up_no_other():
    with Server(agents={"pull": PULL}) as server:
        busy, calm = server.submit(), server.submit()
        leases = {lease.job: lease for lease in (Worker(server).lease(), Worker(server).lease())}
        for i in range(40):
            leases[busy].send(*[token("x" * 500) for _ in range(100)])
        leases[calm].send(*STORY[:6])
        with Many(server) as ws:
            both = [{"type": "subscribe", "job": job, "dialect": "raw"} for job in (busy, calm)]
            ws.send(*[frame(TEXT, json.dumps(m)) for m in both])  # at once: a pause between them would be the busy one's
            ws.until("the calm one", lambda s: '"job":"' + calm + '","id"' in "".join(s.messages[-400:]))
            check(len(ws.of(busy)) < 4000, "the calm job had to wait for all of the busy one")


@case
def unsubscribing_from_what_is_being_sent():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        for i in range(30):
            lease.send(*[token("x" * 1000) for _ in range(100)])
        with Many(server, receive_buffer=4096) as ws:
            for _ in range(10):
                ws.subscribe(job, dialect="raw")
                ws.say({"type": "unsubscribe", "job": job})
            ws.until("ten goodbyes", lambda s: sum(f.event == "stream.unsubscribed" for f in s.of(job)) == 10, 60)
        gateway.until("all are gone", is_open(server, 0))


@case
def a_slow_reader_is_told_that_states_are_missing():
    agent = "a-name-that-makes-the-states-of-its-jobs-long"
    with Server("--access-log", "off", agents={agent: PULL}) as server:
        job = server.submit(agent)
        lease = Worker(server, agent).lease()
        for i in range(60):
            lease.send(*[token("x" * 1000) for _ in range(100)])
        before = gateway.rss_kb(server.pid)
        with Many(server, receive_buffer=4096) as ws:
            ws.say({"type": "subscribe", "topic": "system"})
            ws.until_event("stream.subscribed")
            ws.subscribe(job, dialect="raw")  # which is more than it takes
            for i in range(150):
                other = server.submit(agent, job_id=f"job-{i:060}")
                server.post(f"/v1/jobs/{other}/cancel")
                server.request("DELETE", f"/v1/jobs/{other}")
            if not gateway.SLOW_BUILD:
                check(gateway.rss_kb(server.pid) - before < 20_000, "it gathers states")
            ws.until("the gap", lambda s: any('{"event":"stream.gap"' in m for m in s.messages), 60)
            at = next(i for i, m in enumerate(ws.messages) if m.startswith('{"event":"stream.gap"'))
            heard = [unwrap(m).event for m in ws.messages[:at] if '"event":"job.state"' in m]
            check(100 < len(heard) < 450, f"{len(heard)} states before the gap")
        gateway.until("all are gone", is_open(server, 0))


@case
def going_down_closes_many_with_1001():
    with Server("--shutdown-window", "2s", agents={"pull": PULL}) as server:
        with Many(server) as ws:
            ws.subscribe(server.submit())
            ws.until_messages(1)
            gateway.at_once(lambda: ws.until_closed(1001, "the server is going down"), server.terminate)


@case
def an_idle_socket_without_jobs_stays():
    with Server("--keep-alive", "200ms", agents={"pull": PULL}) as server:
        with Many(server) as ws:
            ws.until("pings", lambda s: len(s.pings) >= 3)
            ws.subscribe(play(server))
            ws.until("its events", lambda s: any(f.event == "stream.ended" for f in s.frames))


@case
def resuming_after_kill_9():
    with Server(agents={"pull": PULL}, port=gateway.fixed_port()) as server:
        jobs = [server.submit() for _ in range(4)]
        leases = [Worker(server).lease() for _ in jobs]
        got = {job: [] for job in jobs}
        for part in (STORY[:3], STORY[3:5], STORY[5:8], STORY[8:]):
            with Many(server) as ws:
                for job in jobs:
                    ws.subscribe(job, after=got[job][-1].id if got[job] else "0")
                for lease in leases:
                    lease.send(*part)
                    if part[-1] is STORY[-1]:
                        lease.finish()
                ws.until("something of each", lambda s: all(len(s.of(j)) >= 2 for j in jobs))
                if part[-1] is STORY[-1]:
                    for job in jobs:
                        ws.until_event("stream.ended", job)
                for job in jobs:
                    got[job] += ws.events_of(job)
                server.restart(server.kill)
        for job in jobs:
            equal(got[job], stored(server, job))
