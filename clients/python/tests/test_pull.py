"""Pull workers, with plain functions: batches, wishes of the server, and a server that goes away."""

import asyncio
import threading

from gateway import WAIT, until
from support import custom, say, working

from spoolwire import HandBack, Interrupted


def test_what_a_handler_says_and_returns_is_the_jobs(server):
    async def handler(job):
        for i in range(500):
            await job.emit(say(i))
        return {"got": job.input}

    with working(server, {"pull": handler}):
        job = server.submit("pull", {"x": 1})
        assert server.until_state(job, "succeeded")["output"] == {"got": {"x": 1}}
    assert custom(server, job) == [{"n": i} for i in range(500)]


def test_a_handler_may_yield_its_events(server):
    async def handler(job):
        yield say(1)
        yield say(2)

    with working(server, {"pull": handler}):
        job = server.submit("pull")
        server.until_state(job, "succeeded")
    assert custom(server, job) == [{"n": 1}, {"n": 2}]


def test_a_handler_that_raises_has_failed(server):
    async def handler(job):
        raise KeyError("pool")

    with working(server, {"pull": handler}):
        ended = server.until_state(server.submit("pull"), "failed")
    assert (ended["error"], ended["error_type"]) == ("'pool'", "KeyError")


def test_an_interrupt_waits_and_its_answer_comes(server):
    async def handler(job):
        if job.assignment.resume is None:
            await job.emit({"type": "graph.interrupt", "question": "where?", "interrupt_id": "q1"})
            raise Interrupted
        return job.assignment.resume

    with working(server, {"pull": handler}):
        job = server.submit("pull")
        server.until_state(job, "waiting")
        server.post(f"/v1/jobs/{job}/answer", {"value": "here"})
        assert server.until_state(job, "succeeded")["output"] == {"q1": "here"}


def test_a_cancel_is_a_cancellation_of_the_task(server):
    seen = threading.Event()

    async def handler(job):
        await job.emit(say(1))
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            seen.set()
            await job.emit(say(2))
            raise

    with working(server, {"quick": handler}):
        job = server.submit("quick")
        until("it has begun", lambda: server.job(job)["events"])
        server.post(f"/v1/jobs/{job}/cancel")
        server.until_state(job, "cancelled")
    assert seen.is_set()
    assert custom(server, job)[0] == {"n": 1}


def test_many_jobs_at_a_time(server):
    together = {}

    async def handler(job):
        barrier = together.setdefault("all", asyncio.Event())
        together[job.id] = True
        if len(together) == 6:
            barrier.set()
        await barrier.wait()

    with working(server, {"pull": handler}, concurrency=5):
        for job in [server.submit("pull") for _ in range(5)]:
            server.until_state(job, "succeeded")


def test_a_silent_job_is_kept_by_heartbeats(server):
    async def handler(job):
        await asyncio.sleep(5)  # longer than a lease

    with working(server, {"silent": handler}):
        job = server.submit("silent")
        server.until_state(job, "succeeded")
    assert server.job(job)["attempt"] == 1


def test_a_job_may_be_handed_back(server):
    async def handler(job):
        if job.assignment.attempt == 1:
            raise HandBack
        return job.assignment.attempt

    with working(server, {"pull": handler}):
        assert server.until_state(server.submit("pull"), "succeeded")["output"] == 2


def test_a_worker_that_stops_hands_back_what_it_cannot_finish(server):
    begun = threading.Event()

    async def handler(job):
        begun.set()
        await asyncio.sleep(600)

    with working(server, {"pull": handler}, grace=0.1):
        job = server.submit("pull")
        assert begun.wait(WAIT)
    assert server.state(job) == "queued"
    server.post(f"/v1/jobs/{job}/cancel")


def test_a_worker_that_was_given_up_is_told_and_lets_go(server):
    """Its lease is another's: nothing that it says is stored any more."""
    first, stopped = [], threading.Event()

    async def handler(job):
        if job.assignment.attempt > 1:
            return "second"
        first.append(job)
        await job.emit(say(1))
        await job.flush()
        begun.set()
        try:
            while True:
                await asyncio.sleep(0.02)
                await job.emit(say(2))
        finally:
            stopped.set()

    begun = threading.Event()
    with working(server, {"quick": handler}):
        job = server.submit("quick")
        assert begun.wait(WAIT)
        lease = first[0].assignment.lease
        proof = f"lease={lease}&executor={first[0].assignment.executor}"
        server.post(f"/v1/worker/jobs/{job}/return?{proof}")  # as if it had run out
        assert server.until_state(job, "succeeded")["output"] == "second"
        assert stopped.wait(WAIT)
        a = server.post(f"/v1/worker/jobs/{job}/events?{proof}&seq=99", b"{}\n")
        assert a.status == 409


def test_ten_seconds_without_a_server_cost_nothing(absence):
    """kill -9 in the middle: what is said meanwhile waits, and is stored once and in order."""
    found = absence.result()
    assert (found.job["state"], found.job["attempt"]) == ("succeeded", 1)
    assert found.stored == [{"n": i} for i in range(found.job["output"])]


def test_a_server_that_is_killed_again_and_again(own_server):
    async def handler(job):
        for i in range(600):
            await job.emit(say(i))
            await asyncio.sleep(0.004)

    with working(own_server, {"pull": handler}):
        job = own_server.submit("pull")
        for least in (20, 150, 300):
            until("more is stored", lambda: own_server.job(job)["events"] > least)
            own_server.restart(own_server.kill)
        own_server.until_state(job, "succeeded")
    assert custom(own_server, job) == [{"n": i} for i in range(600)]


def test_a_lease_is_not_lost_with_its_answer(own_server):
    """The server dies while workers ask: whatever it has given away is asked for again."""
    async def handler(job):
        return job.assignment.attempt

    with working(own_server, {"pull": handler}):
        jobs = [own_server.submit("pull") for _ in range(10)]
        own_server.restart(own_server.kill)
        jobs += [own_server.submit("pull") for _ in range(10)]
        for job in jobs:
            assert own_server.until_state(job, "succeeded")["output"] == 1
