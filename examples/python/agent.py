"""A graph that chats, and asks before it sends anything: say "send it".

The model is made up, so that no key is needed. Put a real one in its place:

    from langchain.chat_models import init_chat_model
    model = init_chat_model("openai:gpt-4o-mini")
"""

import re

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


async def chat(state: MessagesState):
    last = state["messages"][-1].text
    model = GenericFakeChatModel(messages=iter([AIMessage(f"You said: {last}. What else?")]))
    return {"messages": [await model.ainvoke(state["messages"])]}


async def approve(state: MessagesState):
    answer = interrupt({"question": "Shall I send it?", "schema": {"enum": ["yes", "no"]}})
    return {"messages": [AIMessage("It is sent." if answer == "yes" else "I have thrown it away.")]}


def route(state: MessagesState):
    return "approve" if re.search(r"\bsend\b", state["messages"][-1].text, re.I) else "chat"


graph = (
    StateGraph(MessagesState)
    .add_node("chat", chat)
    .add_node("approve", approve)
    .add_conditional_edges(START, route, ["chat", "approve"])
    .add_edge("chat", END)
    .add_edge("approve", END)
    .compile()
)
