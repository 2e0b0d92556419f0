"""Workers that engines start: one job and exit, executors, silent jobs that are cancelled, going down."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from gateway import PULL, WAIT, Server, Worker as Raw
from support import COMMAND, custom, say, until_in, working

import spoolwire
from spoolwire import Worker


@pytest.fixture
def server(own_server):
    """Each test has the queues to itself."""
    return own_server


GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "graphs.py")


def ticket(server, *flags, agent=f"graph={GRAPHS}:counting"):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([*COMMAND[:-1], "ticket", "--agent", agent, "--url", server.url, *flags], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=2 * WAIT, text=True)


def run_once(server, handler, **how):
    async def main():
        return await Worker({"pull": handler}, url=server.url).run_once(**how)
    return asyncio.run(main())


async def answer(job):
    await job.emit(say(1))
    return {"got": job.input}


def test_one_job_and_no_more(server):
    first, second = server.submit("pull", 1), server.submit("pull", 2)
    assert run_once(server, answer)
    assert server.until_state(first, "succeeded")["output"] == {"got": 1}
    assert server.get(f"/v1/jobs/{second}").json["state"] == "queued"
    assert run_once(server, answer)
    assert not run_once(server, answer), "there is none"
    assert custom(server, second) == [{"n": 1}]


def test_a_failure_is_a_job_done(server):
    async def fail(job):
        raise KeyError("x")

    job = server.submit("pull")
    assert run_once(server, fail)
    server.until_state(job, "failed")


def test_it_waits_for_its_job(server):
    timer = threading.Timer(0.5, server.submit, ["pull"])
    timer.start()
    assert run_once(server, answer, wait=60)
    begin = time.monotonic()
    assert not run_once(server, answer, wait=1)
    assert time.monotonic() - begin >= 0.9


def test_exit_codes_that_an_engine_understands(server):
    assert ticket(server).returncode == 75
    job = server.submit("graph", {})
    assert ticket(server).returncode == 0
    server.until_state(job, "succeeded")
    job = server.submit("graph")
    broken = ticket(server, agent="graph=no_such_module:graph")
    assert broken.returncode == 1, broken
    assert "no_such_module" in broken.stderr.splitlines()[-1]
    assert server.get(f"/v1/jobs/{job}").json["state"] == "queued", "no job is burned"
    assert "NAME=GRAPH" in ticket(server, agent="graph").stderr


def test_no_other_process_can_use_its_lease(server):
    going = threading.Event()
    stop = threading.Event()

    async def slow(job):
        await job.emit(say(1))
        await job.flush()
        going.lease = job.assignment.lease
        going.set()
        await asyncio.to_thread(stop.wait)
        return "done"

    with working(server, {"pull": slow}) as worker:
        job = server.submit("pull")
        assert going.wait(WAIT)
        for query in ("", "&executor=another"):
            a = server.post(f"/v1/worker/jobs/{job}/events?lease={going.lease}&seq=1{query}", b'{"type":"x"}\n')
            assert a.status == 409 and "executor" in a.detail, a
        assert going.lease.endswith(worker.executor)
        stop.set()
        assert server.until_state(job, "succeeded")["output"] == "done"


@pytest.mark.parametrize("way", ["look", "be cancelled"])
def test_a_silent_job_hears_a_cancel(server, way):
    going = threading.Event()

    async def silent(job):
        going.set()
        if way == "look":
            await spoolwire.cancelled().wait()
            await job.emit(say("stopped"))
            raise asyncio.CancelledError
        await asyncio.sleep(3600)

    with working(server, {"pull": silent}):  # its lease is 60 s, so it beats every 15 s
        job = server.submit("pull")
        assert going.wait(WAIT)
        begin = time.monotonic()
        server.post(f"/v1/jobs/{job}/cancel")
        server.until_state(job, "cancelled")
        assert time.monotonic() - begin < 8, "not with the next heartbeat"
    assert custom(server, job) == ([{"n": "stopped"}] if way == "look" else [])


def test_one_that_looks_and_goes_on_is_cancelled_in_the_end(server):
    going = threading.Event()

    async def stubborn(job):
        job.patience = 0.3
        assert not job.cancelled.is_set()
        going.set()
        await asyncio.sleep(3600)

    with working(server, {"pull": stubborn}):
        job = server.submit("pull")
        assert going.wait(WAIT)
        server.post(f"/v1/jobs/{job}/cancel")
        server.until_state(job, "cancelled")


@pytest.mark.parametrize("on_stop, attempt", [("return", 2), ("lose", 2), ("finish", None)])
def test_what_becomes_of_jobs_when_it_stops(on_stop, attempt):
    going = threading.Event()

    async def slow(job):
        going.set()
        await asyncio.sleep(3600 if on_stop != "finish" else 1)
        return "done"

    with Server(agents={"pull": dict(PULL, attempts=2, lease="10m")}) as server:
        job = server.submit("pull")
        with working(server, {"pull": slow}, on_stop=on_stop, grace=30):
            assert going.wait(WAIT)
        if on_stop == "finish":
            assert server.until_state(job, "succeeded")["output"] == "done"
            return
        again = Raw(server).lease()
        assert (again.job, again.attempt) == (job, attempt)
        assert again.finish("failure", error="x") == "failed"


def test_a_ticket_that_is_told_to_go_hands_its_job_back(server, tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    job = server.submit("graph", {"gate": str(tmp_path / "never")})
    with subprocess.Popen([*COMMAND[:-1], "ticket", "--agent", f"graph={GRAPHS}:graph", "--url", server.url,
                           "--on-stop", "return"], env=env) as process:
        until_in(server, job, "slow")
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT)
    assert server.get(f"/v1/jobs/{job}").json["state"] == "queued"


def test_on_stop_must_be_known():
    with pytest.raises(ValueError, match="on_stop must be one of"):
        Worker({}, on_stop="never", url="http://127.0.0.1:1")
