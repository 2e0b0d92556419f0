"""The graphs of the tests, with a model that needs no key and streams word by word."""

import asyncio
import operator
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Annotated, Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages, push_message
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from langgraph_sdk.runtime import ServerRuntime

ANSWER = "The pool is exhausted because sessions leak."


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    log: Annotated[list[str], operator.add]  # a line for each visit of a node
    gate: str  # a file that `slow` waits for
    ask: bool
    fail: bool


def model(text: str = ANSWER) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=cycle([AIMessage(text)]))


@tool
def search(query: str) -> str:
    """Looks it up."""
    return f"found {query}"


async def think(state: State) -> Any:
    note("think")
    found = await search.ainvoke({"query": "pool"})
    answer = await model().ainvoke(state.get("messages") or [("human", found)])
    return {"messages": [answer], "log": [f"think {found}"]}


async def slow(state: State) -> Any:
    note("slow")
    while state.get("gate") and not os.path.exists(state["gate"]):
        await asyncio.sleep(0.01)
    if state.get("fail"):
        raise ValueError("no such pool: ☠")
    return {"log": ["slow"]}


async def ask(state: State) -> Any:
    if not state.get("ask"):
        return {"log": ["ask"]}
    place = interrupt({"question": "Which environment?", "context": "staging or production"})
    return {"log": [f"ask {place}"]}


def write(state: State) -> Any:
    note("write")
    get_stream_writer()({"wrote": len(state["log"])})
    return {"log": ["write"]}


def note(word: str) -> None:
    """What was done, for tests that count it."""
    with open(os.environ.get("GRAPH_NOTES", os.devnull), "a") as f:
        f.write(f"{os.getpid()} {word}\n")


def line_of(*nodes: Any) -> Any:
    builder = StateGraph(State)
    before = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    builder.add_edge(before, END)
    return builder


builder = line_of(think, slow, ask, write)
graph = builder.compile()


async def make(config: Any) -> Any:
    assert config["configurable"]["thread_id"]
    return builder


async def make_with_runtime(config: RunnableConfig, runtime: "ServerRuntime") -> Any:
    """Says what it was called with."""
    ran = runtime.execution_runtime
    said = f"{runtime.access_context} {ran and ran.context} {config['configurable'].get('colour')}"

    async def tell(state: State) -> Any:
        await runtime.store.aput(("made",), "for", {"a": "run"})
        return {"log": [said]}

    note(f"made:{runtime.access_context}")
    return line_of(tell)


@asynccontextmanager
async def managed():
    note("open")
    yield graph
    note("close")


def nested(state: State) -> Any:
    return {"log": ["nested"]}


outer_builder = StateGraph(State)
outer_builder.add_node("inner", line_of(think, nested).compile())
outer_builder.add_edge(START, "inner")
outer = outer_builder.compile()


async def remember(state: State) -> Any:
    store = get_store()
    await store.aput(("people", "ada"), "colour", {"is": "blue", "n": len(state.get("log") or [])})
    found = await store.aget(("people", "ada"), "colour")
    return {"log": [f"remembered {found.value['is']}"]}


with_store = line_of(remember).compile()


async def count(state: State) -> Any:
    """Many small events, one of each kind of number."""
    write = get_stream_writer()
    for i in range(400):
        write({"n": i})
        await asyncio.sleep(0.005)
    return {"log": ["counted"]}


counting = line_of(count).compile()


class Context(TypedDict, total=False):
    colour: str


def configured(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> Any:
    return {"log": [f"{runtime.context['colour']} {config['configurable']['size']}"]}


context_builder = StateGraph(State, context_schema=Context)
context_builder.add_node("configured", configured)
context_builder.add_edge(START, "configured")
with_context = context_builder.compile()


def push(state: State) -> Any:
    for text in ("one", "two", "two", "three"):
        push_message(AIMessage(text, id="pushed"))
    push_message(RemoveMessage(id="pushed"), state_key=None)
    return {"log": ["push"]}


pushing = line_of(push).compile()


@dataclass
class Defaults:
    colour: str = "blue"
    size: int = 3


@dataclass
class Required:
    colour: str


class Model(BaseModel):
    colour: str = "green"


def show_context(state: State, runtime: Runtime[Any]) -> Any:
    return {"log": [repr(runtime.context)]}


def with_schema(schema: Any) -> Any:
    made = StateGraph(State, context_schema=schema)
    made.add_node("show_context", show_context)
    made.add_edge(START, "show_context")
    return made.compile()


with_defaults = with_schema(Defaults)


def fan_out(state: State) -> Any:
    return [Send("nested", {"log": ["sent"]}), Send("nested", {"log": ["sent"]})]


def many_steps() -> Any:
    """A node of each kind: called, sent, beside another, with a subgraph that asks, without a result."""
    made = StateGraph(State)
    made.add_node("write", write)
    made.add_node("nested", nested)
    made.add_node("sub", asking_below)
    made.add_node("beside", nested)
    made.add_node("nothing", lambda state: None)
    made.add_edge(START, "write")
    made.add_conditional_edges("write", fan_out, ["nested"])
    made.add_edge("nested", "sub")
    made.add_edge("nested", "beside")
    made.add_edge("sub", "nothing")
    return made.compile()


@task
async def add_one(n: int) -> int:
    return n + 1


@entrypoint()
async def functional(n: int) -> int:
    return await add_one(n)


asking_below = line_of(write, ask).compile()
steps = many_steps()
asks_below = StateGraph(State).add_node("sub", asking_below).add_edge(START, "sub").compile()
