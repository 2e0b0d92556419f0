"""A triage graph with fake models: a supervisor that calls an investigator twice and a searcher with a tool once, asks a person, and has a writer write three sections at a time.

    input: {"issue": TEXT, "gate": PATH}     the investigator waits for the file at PATH, if there is one named
"""

import asyncio
import os
from typing import TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

ROUTE = ["investigator", "codebase_search", "investigator", "human_input"]
SECTIONS = ("report", "comment_draft", "ticket_draft")


class State(TypedDict, total=False):
    issue: str
    gate: str
    visits: int
    finding: str
    answer: str
    written: dict


def model(text):
    return GenericFakeChatModel(messages=iter([AIMessage(content=text)]))


@tool
async def grep_repo(pattern: str) -> str:
    """Searches the code."""
    return f"db/pool.py: {pattern}"


async def supervisor(state: State):
    visits = state.get("visits", 0)
    return Command(goto=ROUTE[visits], update={"visits": visits + 1})


async def investigator(state: State):
    while state.get("gate") and not os.path.exists(state["gate"]):
        await asyncio.sleep(0.02)
    answer = await model(f"looking into {state['issue']}").ainvoke(state["issue"])
    return Command(goto="supervisor", update={"finding": answer.content})


async def codebase_search(state: State):
    await grep_repo.ainvoke({"pattern": "pool.acquire"})
    return Command(goto="supervisor")


async def human_input(state: State):
    if state["issue"] == "broken":
        raise ValueError("the graph is broken")
    return {"answer": interrupt({"question": "which service?", "context": state["finding"]})}


def section(name):
    async def write(state):
        answer = await model(f"the {name}: it is {state['answer']}").ainvoke("write")
        return answer.content
    return RunnableLambda(write, name=name)


async def writer(state: State):
    return {"written": await RunnableParallel(**{name: section(name) for name in SECTIONS}).ainvoke(state)}


builder = StateGraph(State)
builder.add_node("supervisor", supervisor, destinations=("investigator", "codebase_search", "human_input"))
builder.add_node("investigator", investigator, destinations=("supervisor",))
builder.add_node("codebase_search", codebase_search, destinations=("supervisor",))
builder.add_node("human_input", human_input)
builder.add_node("writer", writer)
builder.add_edge(START, "supervisor")
builder.add_edge("human_input", "writer")
builder.add_edge("writer", END)
graph = builder.compile()
