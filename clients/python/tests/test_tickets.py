"""Workers that engines start: one job and exit, executors, silent jobs that are cancelled, going down."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from gateway import PULL, WAIT, Server, Worker as Raw
from support import COMMAND, custom, say, until_in, working

import spoolwire
from spoolwire import Worker
from spoolwire.http import Connection
from spoolwire.ticket import Ticket, run as run_ticket


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


# What SIGTERM makes of a job that has no other attempt, by the worker's flags.
STOPPED = {"return": (["--on-stop", "return"], "queued"), "lose": (["--on-stop", "lose"], "failed"),
           "the grace ends": (["--grace", "0.5"], "queued"), "within the grace": (["--grace", "60"], "succeeded")}


@pytest.mark.parametrize("process", ["ticket", "pull"])
@pytest.mark.parametrize("way", STOPPED)
def test_a_worker_that_is_told_to_go(tmp_path, process, way):
    flags, state = STOPPED[way]
    gate = tmp_path / "gate"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ["ticket", "--agent", f"graph={GRAPHS}:graph"] if process == "ticket" else \
        ["run", f"{GRAPHS}:graph", "--pull", "--name", "graph"]
    with Server(agents={"graph": dict(PULL, attempts=1, lease="10m")}) as server:
        job = server.submit("graph", {"gate": str(gate)})
        with subprocess.Popen([*COMMAND[:-1], *words, "--url", server.url, *flags], env=env) as started:
            until_in(server, job, "slow")
            started.send_signal(signal.SIGTERM)
            if state == "succeeded":
                gate.touch()
            assert started.wait(WAIT) == 0
        assert server.get(f"/v1/jobs/{job}").json["state"] == state


def test_on_stop_must_be_known():
    with pytest.raises(ValueError, match="on_stop must be one of"):
        Worker({}, on_stop="never", url="http://127.0.0.1:1")


HANDLER = """
async def talk(job):
    await job.emit({"namespace": [], "mode": "custom", "payload": {"n": 1}})
    return "said"
"""


@pytest.fixture
def opened(monkeypatch):
    """One entry for each connection to a server."""
    real, all_of_them = Connection.open, []

    async def count(address, tls):
        all_of_them.append(address)
        return await real(address, tls)

    monkeypatch.setattr(Connection, "open", count)
    return all_of_them


def in_a_thread(work):
    """A thread of an engine, whose loop and connections begin and end with it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result(2 * WAIT)


def test_tickets_of_a_thread_keep_their_connection(server, tmp_path, opened):
    (tmp_path / "kept_agent.py").write_text(HANDLER)
    one = Ticket("pull", f"{tmp_path}/kept_agent.py:talk", server.url)
    jobs = [server.submit("pull") for _ in range(3)]

    def work():
        assert run_ticket(one, "w") == {"jobs": 1}
        assert run_ticket(one, "w") == {"jobs": 1}
        assert len(opened) == 1
        server.restart()  # the connection is closed while no loop looks at it
        assert run_ticket(one, "w") == {"jobs": 1}
        assert len(opened) == 2, "it was not used again"
        assert run_ticket(one, "w") == {"jobs": 0}

    in_a_thread(work)
    for job in jobs:
        assert server.until_state(job, "succeeded")["attempt"] == 1
        assert custom(server, job) == [{"n": 1}]


def test_what_a_ticket_leaves_behind_is_cancelled(server, tmp_path):
    (tmp_path / "leaving_agent.py").write_text("""
import asyncio

ended = []

async def wait():
    try:
        await asyncio.sleep(3600)
    finally:
        ended.append("cancelled")

async def talk(job):
    talk.task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    return list(ended)
""")
    one = Ticket("pull", f"{tmp_path}/leaving_agent.py:talk", server.url)
    jobs = [server.submit("pull") for _ in range(2)]
    in_a_thread(lambda: [run_ticket(one, "w") for _ in jobs])
    assert [server.until_state(job, "succeeded")["output"] for job in jobs] == [[], ["cancelled"]]


def test_an_agent_is_named_not_sent():
    with pytest.raises(spoolwire.SpoolwireError, match="the agent 'mine' must be named, as module:graph, not given as function"):
        Ticket("mine", lambda job: job, "http://127.0.0.1:1")
