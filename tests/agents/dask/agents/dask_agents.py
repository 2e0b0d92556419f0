"""The agents of the suite, as a package that the workers of the cluster have."""

import asyncio
import os
import signal
import threading
import time

import spoolwire


def event(n):
    return {"namespace": [], "mode": "custom", "payload": {"n": n}}


async def talk(job):
    """Says the numbers up to `n`, one every `every` seconds."""
    asked = job.input if isinstance(job.input, dict) else {}
    for n in range(asked.get("n", 3)):
        await job.emit(event(n))
        if asked.get("every"):
            await job.flush()
            await asyncio.sleep(asked["every"])
    return {"attempt": job.assignment.attempt, "pid": os.getpid(), "ppid": os.getppid(), "env": os.environ.get("DASK_TEST")}


async def told(job):
    """What Dask tells its tasks; the thread, whose stack it does not look at."""
    from distributed import get_worker

    worker = get_worker()
    return {"address": worker.address, "watched": threading.get_ident() in worker.active_threads,
            "every": worker.periodic_callbacks["profile"].callback_time}


async def silent(job):
    """Waits; with `look` it ends in its own way when it is cancelled."""
    await job.emit(event(0))
    await job.flush()
    if job.input.get("look"):
        await spoolwire.cancelled().wait()
        await job.emit(event("stopped"))
        raise asyncio.CancelledError
    await asyncio.sleep(3600)


async def blocking(job):
    """Never gives the loop back."""
    await job.emit(event(0))
    await job.flush()
    time.sleep(job.input.get("seconds", 3600))
    return "done"


def _unpicklable():
    lock = threading.Lock()

    async def locked(job):
        with lock:
            return "locked"

    return locked


unpicklable = _unpicklable()
NUMBER = 7


async def deadly(job):
    """Kills the process that runs it."""
    with open(job.input["notes"], "a") as f:
        f.write(f"{job.assignment.attempt}\n")
    await job.emit(event(job.assignment.attempt))
    await job.flush()
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(3600)


def _graph():
    from typing import TypedDict

    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    class State(TypedDict, total=False):
        count: int
        answer: str

    def ask(state):
        return {"answer": interrupt({"question": "go on?"}), "count": state.get("count", 0) + 1}

    def add(state):
        return {"count": state.get("count", 0) + 1}

    asking = StateGraph(State)
    asking.add_node("ask", ask)
    asking.add_edge(START, "ask")
    asking.add_edge("ask", END)
    counting = StateGraph(State)
    counting.add_node("add", add)
    counting.add_edge(START, "add")
    counting.add_edge("add", END)
    return asking.compile(), counting.compile()


def asking():
    return _graph()[0]


def counting():
    return _graph()[1]
