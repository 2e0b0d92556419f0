"""RemoteGraph, alone and as a node of a graph of this process; prints what it got as one JSON object.

    remote_graph.py URL
"""

import json
import sys

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client

URL = sys.argv[1]
remote = RemoteGraph("python", url=URL)
client = get_sync_client(url=URL)


def in_thread():
    return {"configurable": {"thread_id": client.threads.create()["thread_id"]}}


def said(state):
    return [m["content"] if isinstance(m, dict) else m.content for m in state["messages"]]


def near(state):
    return {"messages": [("ai", f"near: {state['messages'][-1].content}")]}


def alone():
    at = in_thread()
    asked = remote.invoke({"messages": "send it"}, at)
    state = remote.get_state(at)
    answered = remote.invoke(Command(resume="yes"), at)
    stopped = remote.invoke({"messages": "hello"}, in_thread(), interrupt_before=["chat"])
    changed = remote.update_state(at, {"messages": [{"role": "user", "content": "more"}]}, as_node="chat")
    return {"said": said(remote.invoke({"messages": "hello"})), "asked": asked["__interrupt__"][0]["value"],
            "next": state.next, "questions": [i.value for i in state.interrupts], "answered": said(answered),
            "stopped": [sorted(stopped), said(stopped)], "steps": [s.metadata["step"] for s in remote.get_state_history(at)],
            "changed": sorted(changed["configurable"]), "nodes": sorted(remote.get_graph().nodes)}


def as_node():
    graph = (StateGraph(MessagesState).add_node("far", remote).add_node("near", near).add_edge(START, "far")
             .add_edge("far", "near").add_edge("near", END).compile(checkpointer=InMemorySaver()))
    a, b = in_thread(), in_thread()
    parts = list(graph.stream({"messages": "hello"}, a, stream_mode=["messages", "updates"], subgraphs=True))
    tokens = [d[0] for ns, mode, d in parts if ns and mode == "messages"]
    asked = graph.invoke({"messages": "send it"}, b)
    return {"said": said(graph.get_state(a).values), "tokens": [t["content"] for t in tokens if t["type"] != "human"],
            "updates": [[bool(ns), sorted(d)] for ns, mode, d in parts if mode == "updates"],
            "asked": asked["__interrupt__"][0].value, "next": graph.get_state(b).next}


print(json.dumps({"alone": alone(), "node": as_node()}))
