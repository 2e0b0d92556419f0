"""Events in which every name, id and text is the same hostile string; and the names that frames may have."""

# Every name that a dialect may give a frame.
NAMES = {
    "agent": "agent.spawned agent.token agent.tool_call agent.tool_result agent.done graph.node_complete "
             "graph.interrupt graph.resumed graph.paused output.token output.section_done job.done job.failed",
    "envelope": "on_chain_start on_chain_stream on_chain_end on_chat_model_start on_chat_model_stream on_chat_model_end "
                "on_tool_start on_tool_stream on_tool_end on_retriever_start on_retriever_end on_error on_progress "
                "on_interrupt on_resume on_custom_event",
    "messages": "metadata messages values updates custom events tasks checkpoints debug error",
    "nodes": "run.start run.end node.start node.end tool.start tool.end progress",
    "aiq": "workflow.start workflow.end llm.start llm.chunk llm.end tool.start tool.end artifact.update job.status "
           "job.error job.cancelled job.cancellation_requested job.update job.heartbeat job.shutdown stream.mode",
}


class Forgery:
    """The events of a graph with one node, which calls a model and a tool."""

    def __init__(self, evil):
        self.evil, self.root, self.node = evil, evil + "root", evil + "node"
        self.inside = [self.root, self.node]  # the parents of what the node calls
        self.message = {"content": evil, "type": "AIMessageChunk", "id": evil, "name": evil,
                        "tool_call_chunks": [{"name": evil, "id": evil, "args": evil, "index": 0}],
                        "response_metadata": {"finish_reason": evil, "model_name": evil}}

    def at(self, kind, run, parents, data, name=None):
        evil = self.evil
        meta = {"langgraph_node": evil, "langgraph_step": 1, "langgraph_checkpoint_ns": f"{evil}:1|{evil}:2",
                "section": evil, "ls_model_name": evil, evil: evil}
        return {"event": kind, "name": name or evil, "run_id": run, "parent_ids": parents,
                "tags": ["graph:step:1", evil], "metadata": meta, "data": data}

    def story(self):
        """The events until the tool has ended; the node is still open."""
        evil, inside = self.evil, self.inside
        return [
            {"event": "on_chain_start", "name": evil, "run_id": self.root, "parent_ids": [], "tags": [evil],
             "metadata": {"thread_id": evil}, "data": {"input": {evil: evil}}},
            self.at("on_chain_start", self.node, [self.root], {"input": {evil: evil}}),
            self.at("on_chat_model_stream", evil + "model", inside, {"chunk": self.message}),
            self.at("on_chat_model_end", evil + "model", inside, {"output": dict(self.message, type="ai")}),
            self.at("on_tool_start", evil + "tool", inside, {"input": {evil: evil}}),
            self.at("on_custom_event", evil + "tool", inside, evil),
            self.at("on_tool_end", evil + "tool", inside, {"output": {"content": evil, "type": "tool", "name": evil,
                                                                     "tool_call_id": evil, "id": evil}}),
        ]
