"""A model that says so many tokens, with a pause between them (or none), in a graph of one node."""

import asyncio
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph


class Talker(BaseChatModel):
    tokens: int
    ms: int

    @property
    def _llm_type(self) -> str:
        return "talker"

    async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        for _i in range(self.tokens):
            if self.ms:
                await asyncio.sleep(self.ms / 1000)
            chunk = ChatGenerationChunk(message=AIMessageChunk(content="token "))
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="token " * self.tokens))])


async def talk(state: MessagesState) -> dict[str, Any]:
    tokens, ms = map(int, state["messages"][-1].text.split())
    return {"messages": [await Talker(tokens=tokens, ms=ms).ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk").add_edge("talk", END).compile()
