"""Small streams for these tests: a graph with one node, as a Python worker sends it."""

from harness import lines

ROOT, NODE, MODEL, TOOL = "run-root", "run-node", "run-model", "run-tool"


def event(kind, name, run, parents, data, node="investigator", **metadata):
    meta = {"langgraph_node": node, "langgraph_step": 1, "langgraph_checkpoint_ns": f"{node}:1"} if parents else {}
    meta.update(metadata)
    return {"event": kind, "name": name, "run_id": run, "parent_ids": parents,
            "tags": ["graph:step:1"] if name == node and parents else [], "metadata": meta, "data": data}


def root_start():
    return event("on_chain_start", "LangGraph", ROOT, [], {"input": {"issue": "x"}})


def root_end(output=None):
    return event("on_chain_end", "LangGraph", ROOT, [], {"output": output if output is not None else {"ok": True}})


def node_start(node="investigator"):
    return event("on_chain_start", node, NODE, [ROOT], {"input": {}}, node)


def node_end(node="investigator", output=None):
    return event("on_chain_end", node, NODE, [ROOT], {"output": output or {}}, node)


def token(text, run=MODEL, message="msg-1", node="investigator", **more):
    return event("on_chat_model_stream", "ChatX", run, [ROOT, NODE],
                 {"chunk": dict({"content": text, "type": "AIMessageChunk", "id": message}, **more)}, node)


def model_start(run=MODEL):
    return event("on_chat_model_start", "ChatX", run, [ROOT, NODE], {"input": {"messages": [[]]}})


def model_end(text, run=MODEL, message="msg-1"):
    return event("on_chat_model_end", "ChatX", run, [ROOT, NODE],
                 {"output": {"content": text, "type": "ai", "id": message}})


def tool_start(name="grep", data=None, run=TOOL):
    return event("on_tool_start", name, run, [ROOT, NODE], {"input": data if data is not None else {"q": 1}})


def tool_end(name="grep", output="found", run=TOOL):
    return event("on_tool_end", name, run, [ROOT, NODE], {"output": output})


def custom(name, data, run=NODE):
    return event("on_custom_event", name, run, [ROOT], data)


def whole_job(*inside):
    """A job that goes well, with @inside in its one node."""
    return lines(root_start(), node_start(), *inside, node_end(), root_end())


def types(frames):
    return [f["type"] for f in frames]


def tokens(frames):
    return [f["token"] for f in frames if f["type"] == "agent.token"]
