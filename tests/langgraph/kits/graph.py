"""A graph with all that dialects show of tools and steps: two calls at once, one that fails, a subgraph
with a tool of its own.  graph.mjs is the same in JavaScript."""

from collections.abc import Iterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


def call(id: str, name: str, args: str, index: int) -> dict[str, Any]:
    return {"id": id, "name": name, "args": args, "index": index, "type": "tool_call_chunk"}


SCRIPTS = {
    "first": [{"content": "Let me "}, {"content": "look. "},
              {"content": "", "tool_call_chunks": [call("call_1", "weather", '{"city":"Oslo"}', 0)]},
              {"content": "", "tool_call_chunks": [call("call_2", "broken", '{"city":"Rome"}', 1)]}],
    "last": [{"content": "It "}, {"content": "is "}, {"content": "sunny."}],
    "inner": [{"content": "", "tool_call_chunks": [call("call_3", "weather", '{"city":"Bern"}', 0)]}],
}


class Scripted(BaseChatModel):
    which: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _stream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None,
                **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for part in SCRIPTS[self.which]:
            chunk = ChatGenerationChunk(message=AIMessageChunk(id="ai-" + self.which, **part))
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None,
                  **kwargs: Any) -> ChatResult:
        whole: Any = None
        for chunk in self._stream(messages, stop, run_manager):
            whole = chunk if whole is None else whole + chunk
        m = whole.message
        return ChatResult(generations=[ChatGeneration(message=AIMessage(
            content=m.content, id=m.id, tool_calls=m.tool_calls))])


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}"


@tool
def broken(city: str) -> str:
    """Fails."""
    raise ValueError(f"no weather in {city}")


def asks(which: str) -> Any:
    return lambda state: {"messages": [Scripted(which=which).invoke(state["messages"])]}


def agent(state: Any) -> Any:
    called = any(m.type == "tool" for m in state["messages"])
    return asks("last" if called else "first")(state)


def next_node(state: Any) -> str:
    return "tools" if state["messages"][-1].tool_calls else "inner"


tools = ToolNode([weather, broken], handle_tool_errors=True)
inner = StateGraph(MessagesState).add_node("model", asks("inner")).add_node("look", tools) \
    .add_edge(START, "model").add_edge("model", "look").compile()
graph = StateGraph(MessagesState).add_node("agent", agent).add_node("tools", tools).add_node("inner", inner) \
    .add_edge(START, "agent").add_conditional_edges("agent", next_node, ["tools", "inner"]) \
    .add_edge("tools", "agent").add_edge("inner", END).compile()
