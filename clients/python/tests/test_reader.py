"""Readers: from anywhere to the end, over restarts."""

import asyncio
import threading

import pytest
from gateway import WAIT, until
from support import run, say, working

from spoolwire import Client, Refused, subscribe


async def read(server, job, **how):
    return [e async for e in subscribe(job, client=Client(server.url), **how)]


def test_all_of_a_job_and_the_rest_of_it(server):
    async def handler(job):
        for i in range(100):
            await job.emit(say(i))

    with working(server, {"pull": handler}):
        job = server.submit("pull")
        server.until_state(job, "succeeded")
    events = run(read(server, job, dialect="raw"))
    assert [e.id for e in events] == [f.id for f in server.read(job, "raw")]
    assert [e.data for e in events] == [f.json for f in server.read(job, "raw")]
    assert run(read(server, job, dialect="raw", after=events[40].id)) == events[41:]


def test_a_server_that_is_killed_is_not_noticed(own_server):
    async def handler(job):
        for i in range(400):
            await job.emit(say(i))
            await asyncio.sleep(0.004)

    got = []

    async def reading(job):
        async for event in subscribe(job, dialect="raw", client=Client(own_server.url)):
            got.append(event)

    with working(own_server, {"pull": handler}):
        job = own_server.submit("pull")
        reader = threading.Thread(target=lambda: asyncio.run(reading(job)))
        reader.start()
        for n in (50, 200):
            until("it has read some", lambda: len(got) > n)
            own_server.restart(own_server.kill)
        reader.join(WAIT)
        assert not reader.is_alive()
    assert [e.data["data"] for e in got if e.data["kind"] == "custom"] == [{"n": i} for i in range(400)]
    assert len({e.id for e in got}) == len(got)


def test_a_job_that_is_not_there(server):
    with pytest.raises(Refused, match="404"):
        run(read(server, "none"))
