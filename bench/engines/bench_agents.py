"""The agents of the bench."""

import asyncio
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


def graph():
    """A LangGraph graph whose node says `n` tokens; its state has how long that took."""
    from typing import TypedDict

    from langgraph.config import get_stream_writer
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict, total=False):
        n: int
        seconds: float

    async def say(state: State) -> State:
        began = time.monotonic()
        write = get_stream_writer()
        for n in range(state["n"]):
            write({"n": n})
            await asyncio.sleep(0)  # as between two tokens of a model
        return {"seconds": time.monotonic() - began}

    made = StateGraph(State)
    made.add_node("say", say)
    made.add_edge(START, "say")
    made.add_edge("say", END)
    return made.compile()
