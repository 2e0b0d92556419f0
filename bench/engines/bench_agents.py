"""The agents of the bench."""

import time


def event(n):
    return {"namespace": [], "mode": "custom", "payload": {"n": n}}


async def work(job):
    """Holds its thread for as many milliseconds as the input says."""
    time.sleep(job.input["ms"] / 1000)


async def first(job):
    await job.emit(event(0))
    await job.flush()


async def tokens(job):
    """Says `n` tokens, and how long it took until all were stored."""
    began = time.monotonic()
    for n in range(job.input["n"]):
        await job.emit(event(n))
    await job.flush()
    return {"seconds": time.monotonic() - began}
