"""redis_publish: committed records are published in order, in the configured dialect."""

import json

from broker import Broker, Listener, metric, own_channel, shared
from gateway import CLOSING, OPENING, PULL, STORY, Server, Worker, at_once, play, token, until
from harness import NAMING, case, cases, check, contains, equal, spoolwire


def flags(broker, pattern, dialect="agent", *more):
    return ["--redis-url", broker.url, "--redis-publish", dialect, "--redis-publish-channel", pattern, *more]


def frames(server, job, dialect="agent"):
    return [f.data for f in server.read(job, dialect)]


@cases(NAMING)
def what_is_published_is_what_a_reader_gets(dialect):
    pattern = own_channel()
    with Listener(shared(), pattern) as ear, \
            Server(*flags(shared(), pattern, dialect), agents={"pull": PULL}) as s:
        job = play(s)
        want = [f.data for f in s.read(job, dialect) if f.id]
        ear.until("all of it", lambda e: len(e.payloads(job)) >= len(want))
        equal(ear.payloads(job), want)
        equal({c for c, _ in ear.messages}, {pattern.replace("{job_id}", job)})


@case
def a_socket_is_as_good_as_a_port():
    pattern = own_channel()
    with Listener(shared(), pattern) as ear, \
            Server("--redis-url", shared().unix_url, *flags(shared(), pattern)[2:], agents={"pull": PULL}) as s:
        job = play(s)
        equal(ear.until_end(job), frames(s, job))
        names = {c["name"] for c in shared().client().client_list() if c["db"] == "3"}
        check("spoolwire-publisher" in names, names)


@case
def many_jobs_at_once_keep_their_order():
    pattern = own_channel()
    tokens = [token(str(i)) for i in range(200)]
    with Listener(shared(), pattern) as ear, Server(*flags(shared(), pattern), agents={"pull": PULL}) as s:
        def one():
            id = s.submit()
            lease = Worker(s).lease()
            lease.send(*OPENING)
            for i in range(0, len(tokens), 20):
                lease.send(*tokens[i:i + 20])
            lease.send(*CLOSING)
            lease.finish()
            return id
        jobs = at_once(*[one] * 8)
        for job in jobs:
            equal(ear.until_end(job), frames(s, job))
        until("nothing is left", lambda: metric(s, "spoolwire_redis_lag_records") == 0)
        equal(metric(s, "spoolwire_redis_skipped_records_total"), 0)
        equal(metric(s, "spoolwire_redis_published_messages_total"), len(ear.messages))
        equal(metric(s, "spoolwire_redis_connected", 'part="publish"'), 1)


@case
def a_redis_that_goes_away_misses_nothing():
    """Every message that the first subscriber had, and then, to one that comes back with Redis,
    all that came meanwhile, in order."""
    pattern = own_channel()
    with Broker() as broker, Server(*flags(broker, pattern), agents={"pull": PULL}) as s:
        job = s.submit()
        lease = Worker(s).lease()
        with Listener(broker, pattern) as ear:
            lease.send(*OPENING, token("a"))
            ear.until("the first token", lambda e: any('"token":"a"' in p for p in e.payloads()))
            before = ear.payloads()
        until("that is acknowledged", lambda: metric(s, "spoolwire_redis_lag_records") == 0)
        broker.stop()
        until("it is missed", lambda: metric(s, "spoolwire_redis_connected", 'part="publish"') == 0)
        for i in range(50):
            lease.send(token(f"while away {i}"))  # commits go on
        until("it is behind", lambda: metric(s, "spoolwire_redis_lag_records") >= 50)
        broker.start()
        with Listener(broker, pattern) as ear:
            lease.send(*CLOSING)
            equal(lease.finish(), "succeeded")
            after = ear.until_end(job)
        want = frames(s, job)
        # The subscriber may have come after we did: what it has is the end of it, without a gap.
        equal(after, want[len(want) - len(after):])
        equal(before, want[:len(before)])
        equal(metric(s, "spoolwire_redis_skipped_records_total"), 0)
        warnings = [json.loads(r) for r in s.err().splitlines() if '"event":"redis"' in r]
        equal([w["connected"] for w in warnings], [True, False, True], "one warning, however long it took")
        check(warnings[1]["why"], repr(warnings))
        check("hush" not in s.err(), "the password is in the log")


@case
def what_redis_refuses_is_published_when_it_does_not():
    pattern = own_channel()
    with Broker() as broker, Listener(broker, pattern) as ear, \
            Server(*flags(broker, pattern), agents={"pull": PULL}) as s:
        job = s.submit()
        lease = Worker(s).lease()
        lease.send(*OPENING)
        until("that is acknowledged", lambda: metric(s, "spoolwire_redis_lag_records") == 0)
        broker.client().execute_command("ACL", "SETUSER", "default", "-publish")
        lease.send(*[token(f"refused {i}") for i in range(20)])
        until("it is refused", lambda: metric(s, "spoolwire_redis_publish_errors_total") > 0)
        check(metric(s, "spoolwire_redis_lag_records") >= 20)
        broker.client().execute_command("ACL", "SETUSER", "default", "+publish")
        lease.send(*CLOSING)
        equal(lease.finish(), "succeeded")
        want = frames(s, job)
        equal(without_repeats(ear.until_end(job), want), want)
        equal(metric(s, "spoolwire_redis_skipped_records_total"), 0)


@case
def a_subscriber_that_waits_for_redis_gets_all_that_was_missed():
    """Redis is not there at all when the jobs run."""
    pattern = own_channel()
    with Broker() as broker:
        broker.stop()
        with Server(*flags(broker, pattern), agents={"pull": PULL}) as s:
            jobs = [play(s) for _ in range(3)]
            broker.start()
            with Listener(broker, pattern) as ear:
                ear.until("all that can come", lambda e: metric(s, "spoolwire_redis_lag_records") == 0)
                for job in jobs:
                    want, got = frames(s, job), ear.payloads(job)
                    equal(got, want[len(want) - len(got):])


@case
def what_is_too_far_behind_is_skipped_and_counted():
    pattern = own_channel()
    with Broker() as broker:
        broker.stop()
        with Server(*flags(broker, pattern, "raw", "--redis-publish-backlog", "5"), agents={"pull": PULL}) as s:
            job = play(s)
            n = len(s.read(job, "raw"))
            broker.start()
            until("it is published", lambda: metric(s, "spoolwire_redis_lag_records") == 0)
            equal(metric(s, "spoolwire_redis_published_records_total"), 5)
            equal(metric(s, "spoolwire_redis_skipped_records_total"), n - 5)


@case
def a_server_that_is_killed_publishes_the_rest_when_it_is_back():
    """In order, and nothing left out; what was published in the last second may come again."""
    pattern = own_channel()
    with Listener(shared(), pattern) as ear, Server(*flags(shared(), pattern), agents={"pull": PULL}) as s:
        done = play(s)
        job = s.submit()
        lease = Worker(s).lease()
        lease.send(*OPENING, *[token(f"a{i}") for i in range(100)])
        ear.until("some", lambda e: len(e.payloads(job)) > 20)
        s.restart(s.kill)
        lease.send(*[token(f"b{i}") for i in range(100)], *CLOSING)
        equal(lease.finish(), "succeeded")
        got, want = ear.until_end(job), frames(s, job)
        equal(without_repeats(got, want), want)
        equal(without_repeats(ear.payloads(done), frames(s, done)), frames(s, done))


def without_repeats(got, want):
    """What is left of @got when going back to an earlier message is taken as a repeat."""
    at = end = 0
    for p in got:
        if at < len(want) and want[at] == p:
            at += 1
        else:
            check(p in want[:at], f"a gap, or a message that no reader gets: {p[:200]}")
            at = want.index(p) + 1
        end = max(at, end)
    return want[:end]


@case
def a_job_that_ended_unpublished_is_published_after_a_restart():
    pattern = own_channel()
    with Broker() as broker:
        broker.stop()
        with Server(*flags(broker, pattern), agents={"pull": PULL}) as s:
            job = play(s)
            s.terminate()
            broker.start()
            with Listener(broker, pattern) as ear:
                s.start()
                equal(ear.until_end(job), frames(s, job))
                until("that is stored", lambda: metric(s, "spoolwire_redis_lag_records") == 0)
                s.terminate()  # stores how far it came
                n = len(ear.messages)
                s.start()
                other = play(s)
                ear.until_end(other)
                equal(len(ear.payloads(job)), n, "nothing of it comes again")


@case
def jobs_from_before_it_was_switched_on_stay_unpublished():
    pattern = own_channel()
    with Listener(shared(), pattern) as ear, Server(agents={"pull": PULL}) as s:
        old = play(s)
        s.terminate()
        s.flags += flags(shared(), pattern)
        s.start()
        new = play(s)
        equal(ear.until_end(new), frames(s, new))
        equal(ear.payloads(old), [])


REFUSED = {
    ("--redis-publish", "agent"): "redis_publish is given without redis_url",
    ("--redis-subscribe",): "redis_subscribe is given without redis_url",
    ("--redis-url", "http://x"): "redis_url: it must begin with redis:// or unix:",
    ("--redis-url", "rediss://:hush@x"): "TLS",
    ("--redis-url", "redis://x", "--redis-publish-channel", "events"): "{job_id}",
    ("--redis-url", "redis://x", "--redis-subscribe-channel", "{job_id}{job_id}"): "{job_id}",
    ("--redis-url", "redis://x", "--redis-subscribe", "--redis-subscribe-agent", "nobody"): "no agent 'nobody' with 'channel: true'",
    ("--redis-url", "redis://x", "--redis-publish", "messages"): "off, agent, envelope, nodes, aiq or raw",
}


@cases(REFUSED, name=lambda v: " ".join(v))
def settings_that_cannot_be_meant_are_refused(given):
    done = spoolwire("serve", *given)
    equal(done.code, 2, repr(done))
    contains(done.err, REFUSED[given])
    check("hush" not in done.err, "the password is shown")


@case
def the_url_is_never_shown():
    done = spoolwire("config", "show", "--redis-url", "redis://:hush@127.0.0.1:1/0")
    equal(done.code, 0, repr(done))
    check(b"hush" not in done.out and "hush" not in done.err, repr(done.out))


@case
def a_wrong_password_is_a_warning_and_nothing_else():
    pattern = own_channel()
    with Broker() as broker:
        url = broker.url.replace("hush-hush-hush", "wrong")
        with Server("--redis-url", url, "--redis-publish", "agent", "--redis-publish-channel", pattern,
                    agents={"pull": PULL}) as s:
            play(s, STORY)
            until("the warning", lambda: "WRONGPASS" in s.err())
            equal(s.get("/readyz").status, 200)
