"""redis_subscribe: events that existing workers publish on their jobs' channels are stored in the journal."""

import json

import recorded
from broker import Broker, Listener, metric, own_channel, shared
from gateway import (CLOSING, OPENING, PULL, STORY, Server, again, interrupt, node_end, play, root_end, token,
                     until)
from harness import case, cases, check, contains, equal

FED = {"channel": True}


def flags(broker, pattern, *more):
    return ["--redis-url", broker.url, "--redis-subscribe", "--redis-subscribe-channel", pattern, *more]


class Channel:
    """An existing worker: json.dumps and PUBLISH."""

    def __init__(self, broker, pattern, job):
        self.redis, self.name = broker.client(), pattern.replace("{job_id}", job)

    def say(self, *events):
        """Publishes all events in one write, as fast as Redis takes them."""
        pipe = self.redis.pipeline(transaction=False)
        for e in events:
            pipe.publish(self.name, e if isinstance(e, (str, bytes)) else json.dumps(e))
        return pipe.execute()


def heard(server):
    until("it listens", lambda: metric(server, "spoolwire_redis_connected", 'part="subscribe"') == 1)
    return server


def serve(pattern, *more, broker=None, agents=None):
    return Server(*flags(broker or shared(), pattern, *more), agents=agents or {"fed": FED, "pull": PULL})


DONE, FAILED = {"type": "job.done"}, {"type": "job.failed", "error": "it broke"}


@case
def a_job_is_what_its_channel_says():
    pattern = own_channel()
    with serve(pattern) as s:
        heard(s)
        job = s.submit("fed")
        equal(s.state(job), "queued")
        voice = Channel(shared(), pattern, job)
        voice.say(*OPENING)
        equal(s.until_state(job, "running")["worker"], "channel")
        voice.say(token("a"), token("b"), *CLOSING, DONE)
        s.until_state(job, "succeeded")
        tokens = [f.json["token"] for f in s.read(job, "agent") if f.event == "agent.token"]
        equal(tokens, ["a", "b"])
        equal(s.read(job, "agent")[-1].event, "job.done")


@case
def a_failure_on_the_channel_is_the_jobs():
    pattern = own_channel()
    with serve(pattern) as s:
        heard(s)
        job = s.submit("fed")
        Channel(shared(), pattern, job).say(*OPENING, FAILED, token("too late"))
        s.until_state(job, "failed")
        equal(s.job(job)["error"], "it broke")
        until("what came later is counted",
              lambda: metric(s, "spoolwire_redis_ignored_messages_total", 'reason="bad"') +
              metric(s, "spoolwire_redis_ignored_messages_total", 'reason="late"') == 1)


# What translate says at the end of a file, and a channel that has only fallen silent does not.
CLOSED = {"agent.done", "agent.tool_result", "output.section_done", "graph.node_complete", "job.done", "job.failed"}


@case
def recordings_published_flat_out_arrive_exactly():
    """All at once, each on its own channel: every reader gets what translate makes of the file."""
    pattern = own_channel()
    files = [f for f in zip(recorded.FILES, recorded.translated("agent").items()) if f[0].endswith(".ndjson")]
    pipe, total = shared().client().pipeline(transaction=False), 0
    for path, (job, want) in files:
        with open(path, encoding="utf-8") as f:
            rows = [row for row in f.read().split("\n") if row.strip()]
        rows += [json.dumps(DONE)] if want[-1][1] == "job.done" else []
        total += len(rows)
        for row in rows:
            pipe.publish(pattern.replace("{job_id}", job), row)
    with serve(pattern, "--redis-subscribe-agent", "play", agents={"play": FED}) as s:
        heard(s)
        pipe.execute()
        until("all have come", lambda: metric(s, "spoolwire_redis_received_messages_total") == total)
        until("all are stored", lambda: metric(s, "spoolwire_redis_waiting_bytes") == 0)
        equal(metric(s, "spoolwire_redis_jobs_made_total"), len(files))
        for path, (job, want) in files:
            got = [recorded.plain(f.id, f.event, f.data) for f in _frames(s, job)]
            equal(got, want[:len(got)], path)
            missing = {event for _, event, _ in want[len(got):]}
            check(missing <= (CLOSED if want[-1][1] != "job.done" else set()), f"{path}: {missing}")


@case
def documents_own_events_are_understood():
    """What workers with the `agent` events publish: transformed, with its own agent ids."""
    pattern = own_channel()
    events = [{"type": "agent.spawned", "agent_id": "1", "agent_name": "investigator", "node": "investigator"},
              {"type": "agent.token", "agent_id": "1", "token": "hello"},
              {"type": "agent.tool_call", "agent_id": "1", "tool_name": "grep", "input_preview": "{}"},
              {"type": "agent.tool_result", "agent_id": "1", "tool_name": "grep", "result_summary": "found"},
              {"type": "agent.done", "agent_id": "1", "node": "investigator"},
              {"type": "graph.node_complete", "node": "investigator", "step": 1}]
    with serve(pattern) as s:
        heard(s)
        job = s.submit("fed")
        Channel(shared(), pattern, job).say(*events, DONE)
        s.until_state(job, "succeeded")
        got = [f.json for f in s.read(job, "agent")]
        equal([g["type"] for g in got], [e["type"] for e in events] + ["job.done"])
        for g, e in zip(got, events):
            for key in ("token", "tool_name", "node", "result_summary"):
                equal(g.get(key), e.get(key), repr(g))


@cases(["refused", "created"])
def a_job_that_nobody_knows_is(what):
    pattern = own_channel()
    more = ["--redis-subscribe-agent", "fed"] if what == "created" else []
    with serve(pattern, *more) as s:
        heard(s)
        Channel(shared(), pattern, "unheard-of").say(*STORY, DONE)
        if what == "created":
            until("the job is there", lambda: s.get("/v1/jobs/unheard-of").status == 200)
            equal(s.until_state("unheard-of", "succeeded")["agent"], "fed")
            equal(metric(s, "spoolwire_redis_jobs_made_total"), 1)
            return
        refused = lambda: metric(s, "spoolwire_redis_ignored_messages_total", 'reason="refused"')  # noqa: E731
        until("they are refused", lambda: refused() == len(STORY) + 1)
        equal(s.get("/v1/jobs/unheard-of").status, 404)
        warning = next(json.loads(r) for r in s.err().splitlines() if '"refused":' in r)
        equal((warning["event"], warning["job"]), ("redis", "unheard-of"))
        contains(warning["why"], "Job not found")


@case
def a_job_that_a_worker_holds_cannot_be_written_to_from_a_channel():
    pattern = own_channel()
    with serve(pattern) as s:
        heard(s)
        job = s.submit("pull")
        Channel(shared(), pattern, job).say(*STORY, DONE)
        until("it is refused",
              lambda: metric(s, "spoolwire_redis_ignored_messages_total", 'reason="refused"') == len(STORY) + 1)
        equal(s.state(job), "queued")
        contains(s.err(), "not fed from a channel")


@case
def names_that_are_no_jobs_are_counted():
    pattern = own_channel()
    with serve(pattern, "--redis-subscribe-agent", "fed") as s:
        heard(s)
        for name in ("", "with space", "a" * 65, "../x", "é"):
            Channel(shared(), pattern, name).say(DONE)
        until("they are counted", lambda: metric(s, "spoolwire_redis_ignored_messages_total", 'reason="bad"') == 5)
        equal(s.get("/v1/jobs").json["jobs"], [])


@case
def what_is_not_an_event_is_counted_and_harms_nothing():
    pattern = own_channel()
    with serve(pattern) as s:
        heard(s)
        job = s.submit("fed")
        Channel(shared(), pattern, job).say(*OPENING, "not JSON", '{"a": 1', b"\xff\xfe", "", json.dumps(token("pretty"), indent=2),
                                            *CLOSING, DONE)
        s.until_state(job, "succeeded")
        equal([f.json["token"] for f in s.read(job, "agent") if f.event == "agent.token"], ["pretty"])
        check(metric(s, "spoolwire_redis_ignored_messages_total", 'reason="bad"') >= 3)


@case
def our_own_words_are_not_taken_in_again():
    """Out and in on the same channels: a job of ours is published once, a fed one not at all."""
    pattern = own_channel()
    both = ["--redis-publish", "agent", "--redis-publish-channel", pattern, "--redis-subscribe-agent", "fed"]
    with Listener(shared(), pattern) as ear, serve(pattern, *both) as s:
        heard(s)
        ours = play(s)
        want = [f.data for f in s.read(ours, "agent")]
        equal(ear.until_end(ours), want)
        until("they have come back", lambda: metric(s, "spoolwire_redis_ignored_messages_total", 'reason="own"') == len(want))
        fed = s.submit("fed")
        Channel(shared(), pattern, fed).say(*[json.dumps(e) for e in STORY], DONE)
        s.until_state(fed, "succeeded")
        ear.until("all of it", lambda e: len(e.payloads(fed)) >= len(STORY) + 1)
        other = play(s)
        ear.until_end(other)
        equal(ear.payloads(fed), [json.dumps(e) for e in STORY] + [json.dumps(DONE)], "only what its worker said")
        equal([f.data for f in s.read(ours, "agent")], want)
        equal(metric(s, "spoolwire_redis_jobs_made_total"), 0)


@case
def from_one_channel_to_another_is_a_bridge():
    heard_on, spoken_on = own_channel(), own_channel()
    both = ["--redis-publish", "agent", "--redis-publish-channel", spoken_on]
    with Listener(shared(), spoken_on) as ear, serve(heard_on, *both) as s:
        heard(s)
        job = s.submit("fed")
        Channel(shared(), heard_on, job).say(*STORY, DONE)
        equal(ear.until_end(job), [f.data for f in s.read(job, "agent")])


@case
def repeats_by_number_are_dropped():
    pattern = own_channel()
    numbered = lambda events, first=0: [{**e, "producer_seq": first + i} for i, e in enumerate(events)]  # noqa: E731
    with serve(pattern) as s:
        heard(s)
        job = s.submit("fed")
        voice = Channel(shared(), pattern, job)
        first = numbered([*OPENING, token("a"), token("b")])
        voice.say(*first)
        voice.say(*first[2:], {**token("c"), "producer_seq": 5})
        until("they are stored", lambda: metric(s, "spoolwire_redis_ignored_messages_total", 'reason="repeated"') == 3)
        s.restart(s.kill)
        heard(s)
        voice.say({**token("c"), "producer_seq": 5}, {**token("d"), "producer_seq": 8})
        voice.say(*numbered([*CLOSING, DONE], 9))
        s.until_state(job, "succeeded")
        equal([f.json["token"] for f in s.read(job, "agent") if f.event == "agent.token"], ["a", "b", "c", "d"])
        equal(metric(s, "spoolwire_redis_missing_messages_total"), 2)
        equal(metric(s, "spoolwire_redis_ignored_messages_total", 'reason="repeated"'), 1)


@case
def silence_is_the_end_of_the_lease():
    pattern = own_channel()
    with serve(pattern, agents={"fed": {**FED, "lease": "300ms"}}) as s:
        heard(s)
        job = s.submit("fed")
        Channel(shared(), pattern, job).say(*OPENING)
        equal(s.until_state(job, "failed")["error_type"], "LeaseExpired")


@case
def a_redis_that_is_away_is_not_silence():
    pattern = own_channel()
    with Broker() as broker, serve(pattern, broker=broker, agents={"fed": {**FED, "lease": "3s"}}) as s:
        heard(s)
        job = s.submit("fed")
        Channel(broker, pattern, job).say(*OPENING)
        s.until_state(job, "running")
        broker.stop()
        until("it is missed", lambda: metric(s, "spoolwire_redis_connected", 'part="subscribe"') == 0)
        s.kill()
        s.start()
        broker.start()
        heard(s)
        equal(s.state(job), "running")
        Channel(broker, pattern, job).say(token("a"), *CLOSING, DONE)
        s.until_state(job, "succeeded")


@case
def a_question_on_the_channel_waits_for_its_answer_there():
    """graph.interrupt is the worker's last word, and graph.resumed the answer's."""
    pattern = own_channel()
    with serve(pattern, agents={"fed": {**FED, "lease": "60s"}}) as s:
        heard(s)
        job = s.submit("fed")
        voice = Channel(shared(), pattern, job)
        voice.say(*OPENING, token("a"), {"type": "graph.interrupt", "question": "go on?", "context": "x"},
                  {"type": "graph.interrupt", "question": "and then?", "context": "y"})
        s.until_state(job, "waiting")
        until("both are there", lambda: len([f for f in _frames(s, job) if f.event == "graph.interrupt"]) == 2)
        voice.say({"type": "graph.resumed"}, *again(2, OPENING + [token("b")] + CLOSING), DONE)
        s.until_state(job, "succeeded")
        events = [f.event for f in s.read(job, "agent")]
        equal(events.count("graph.resumed"), 1)
        equal(events[-1], "job.done")
        equal(s.get("/v1/interrupts").json["interrupts"], [])


def _frames(server, job):
    """All that there are now."""
    last, after, page = None, None, {"next": "0", "ended": False}
    while page["next"] != after and not page["ended"]:
        after = page["next"]
        page = server.get(f"/v1/jobs/{job}/events?dialect=agent&wait=0&limit=5000&after={after}").json
        last = page["events"][-1]["id"] if page["events"] else last
    with server.stream(job, "agent") as st:
        return (st.until_id(last) if last else st).frames


@case
def a_raw_interrupt_waits_when_its_run_has_ended():
    pattern = own_channel()
    with serve(pattern) as s:
        heard(s)
        job = s.submit("fed")
        voice = Channel(shared(), pattern, job)
        voice.say(*OPENING, interrupt("go on?"), root_end())
        s.until_state(job, "waiting")
        voice.say(*again(2, OPENING + [token("b"), node_end(), root_end()]), DONE)
        s.until_state(job, "succeeded")
        equal([f.event for f in s.read(job, "agent")].count("graph.resumed"), 1)


@case
def what_waits_for_the_disk_has_a_limit():
    """Reading stops, and nothing is lost: Redis keeps the rest."""
    pattern = own_channel()
    n, text = 400, "x" * 4000
    with serve(pattern, "--redis-subscribe-buffer", "64K") as s:
        heard(s)
        job = s.submit("fed")
        voice = Channel(shared(), pattern, job)
        voice.say(*OPENING, *[token(f"{i} {text}") for i in range(n)], *CLOSING, DONE)
        s.until_state(job, "succeeded")
        tokens = [f.json["token"] for f in s.read(job, "agent") if f.event == "agent.token"]
        equal([int(t.split()[0]) for t in tokens], list(range(n)))
        check(metric(s, "spoolwire_redis_holds_total") >= 1)


@case
def nobody_leases_a_job_that_is_fed():
    pattern = own_channel()
    with serve(pattern) as s:
        s.submit("fed")
        a = s.post("/v1/worker/lease", {"agents": ["fed"], "worker": "w", "wait": 0})
        check(a.status in (400, 422), repr(a))


@case
def a_cancel_is_carried_out_without_a_worker():
    pattern = own_channel()
    with serve(pattern, agents={"fed": {**FED, "cancel_grace": "100ms"}}) as s:
        heard(s)
        job = s.submit("fed")
        Channel(shared(), pattern, job).say(*OPENING)
        s.until_state(job, "running")
        equal(s.post(f"/v1/jobs/{job}/cancel").status, 200)
        s.until_state(job, "cancelled")
