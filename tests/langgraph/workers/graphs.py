"""Real LangGraph graphs with a fake model, and how a job runs one of them.

Every worker of the suite uses run(): a job's input names a graph, its id is the thread, and what
it goes on with is a Command.  Checkpoints are in a file for each job, because the process that
goes on is not always the one that asked.
"""

import dataclasses
import os
import pickle
from typing import Annotated, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict, total=False):
    graph: str
    notes: Annotated[list, lambda old, new: (old or []) + (new or [])]


def says(name, text):
    """A node whose model streams @text, word by word."""
    async def node(state: State):
        model = GenericFakeChatModel(messages=iter([AIMessage(content=text)]))
        answer = await model.ainvoke([("user", f"{len(state.get('notes', []))} notes")])
        return {"notes": [f"{name}: {answer.content}"]}
    return node


def asks(name, value):
    async def node(state: State):
        return {"notes": [f"{name}: {interrupt(value)!r}"]}
    return node


@tool
def search(query: str) -> str:
    """Looks something up."""
    return f"3 results for {query}"


async def researcher(state: State):
    found = await search.ainvoke({"query": "spools"})
    return {"notes": [found], **await says("researcher", "I looked it up.")(state)}


def chain(*nodes, **more):
    graph = StateGraph(State)
    before = START
    for name, node in nodes:
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph.compile(**more)


def two(saver):
    graph = StateGraph(State)
    for name in ("left", "right"):
        graph.add_node(name, asks(name, {"question": f"{name}?"}))
        graph.add_edge(START, name)
        graph.add_edge(name, "writer")
    graph.add_node("writer", says("writer", "Both are known."))
    graph.add_edge("writer", END)
    return graph.compile(checkpointer=saver)


WRITER = ("writer", says("writer", "This is the report."))

GRAPHS = {
    "plain": lambda saver: chain(("researcher", researcher), WRITER, checkpointer=saver),
    "subgraph": lambda saver: chain(
        ("planner", says("planner", "First I ask.")),
        ("team", chain(("asker", asks("asker", {"question": "Which one?", "context": {"n": 2}})),
                       ("doer", says("doer", "It is done.")))),
        WRITER, checkpointer=saver),
    "breakpoint": lambda saver: chain(("researcher", researcher), WRITER, checkpointer=saver, interrupt_before=["writer"]),
    "two": two,
    "falsy": lambda saver: chain(("asker", asks("asker", 0)), WRITER, checkpointer=saver),
    "broken": lambda saver: chain(("researcher", researcher), ("breaker", breaks), checkpointer=saver),
}


async def breaks(state: State):
    raise ValueError("it broke")


class FileSaver(InMemorySaver):
    """One thread's checkpoints, in a file."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        if os.path.exists(path):
            with open(path, "rb") as f:
                storage, writes, self.blobs = pickle.load(f)
            for thread, spaces in storage.items():
                self.storage[thread].update(spaces)
            self.writes.update(writes)

    def keep(self):
        storage = {thread: {ns: dict(points) for ns, points in spaces.items()} for thread, spaces in self.storage.items()}
        with open(self.path + ".new", "wb") as f:
            pickle.dump((storage, {k: dict(v) for k, v in self.writes.items()}, dict(self.blobs)), f)
        os.replace(self.path + ".new", self.path)


def command(order):
    """What the graph is called with: the input; nothing, at a breakpoint; or the answers."""
    if "resume" not in order:
        return order["input"]
    return Command(resume=order["resume"]) if order["resume"] else None


async def run(order, config=None):
    """The events of a job, as LangGraph has them."""
    saver = FileSaver(os.path.join(os.environ["GRAPHS_FOLDER"], order["job"]))
    graph = GRAPHS[order["input"]["graph"]](saver)
    config = {**(config or {}), "configurable": {"thread_id": order["job"]}}
    try:
        async for event in graph.astream_events(command(order), config, version="v2"):
            yield event
    finally:
        saver.keep()


def plain(value):
    """For json.dumps."""
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    return value.model_dump() if hasattr(value, "model_dump") else str(value)
