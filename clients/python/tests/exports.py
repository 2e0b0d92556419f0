"""Everything that LangChain's documentation exports as a graph, with models that need no key."""

import contextlib
import operator
from typing import Annotated, Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from langgraph_sdk.runtime import ServerRuntime
from typing_extensions import TypedDict


class Said(TypedDict):
    said: Annotated[list[str], operator.add]


def builder_of(word: str, node: str = "say") -> Any:
    built = StateGraph(Said)
    built.add_node(node, lambda state: {"said": [word]})
    built.add_edge(START, node)
    return built


class Repeats(GenericFakeChatModel):
    """Says the same each time."""

    messages: Any = None
    words: str = "one two"

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        self.messages = iter([AIMessage(self.words)])
        return super()._generate(*args, **kwargs)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


compiled = builder_of("compiled").compile()
configured = builder_of("configured").compile(checkpointer=InMemorySaver()).with_config(tags=["x"])
builder = builder_of("builder")


# Functions that make one


def makes():
    return builder_of("makes")


async def makes_later():
    return builder_of("makes_later").compile()


def makes_for(config: RunnableConfig):
    given = config["configurable"]
    return builder_of(f"for {given.get('colour')} {given.get('graph_id')}")


def makes_with(runtime: ServerRuntime):
    return builder_of(f"with {runtime.access_context}")


async def makes_for_with(runtime: ServerRuntime, config: RunnableConfig):
    return builder_of(f"both {config['configurable'].get('colour')} {runtime.access_context}")


@contextlib.contextmanager
def opens():
    yield builder_of("opens")


@contextlib.asynccontextmanager
async def opens_for(config: RunnableConfig):
    yield builder_of(f"opens for {config['configurable'].get('colour')}").compile()


def makes_node(config: RunnableConfig):
    return builder_of("node", config["configurable"].get("node") or "none")


class Maker:
    def __call__(self, config):
        return builder_of("maker")


maker = Maker()

# Agents

agent = create_agent(Repeats(), tools=[], checkpointer=InMemorySaver())
deep = create_deep_agent(Repeats())


def makes_agent():
    return create_agent(Repeats(), tools=[])


# The functional API


@task
def doubled(n: int) -> int:
    return n * 2


@entrypoint(checkpointer=InMemorySaver())
def functional(given: dict, *, previous: Any = None) -> Any:
    now = (previous or 0) + doubled(given["n"]).result()
    sure = interrupt({"question": "That much?"}) if given["n"] > 100 else "yes"
    return entrypoint.final(value={"now": now, "sure": sure}, save=now)


# Runnables that are no graph

lambda_ = RunnableLambda(lambda given: {"tripled": given["n"] * 3})
chain = RunnableLambda(lambda given: given["text"]) | Repeats()


def makes_lambda():
    return lambda_
