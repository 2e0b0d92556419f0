"""Two endpoints that stream: LangServe, and plain server-sent events.  Prints its port."""

import json
import socket

import uvicorn
from fastapi import FastAPI, Request
from langchain_core.runnables import ConfigurableFieldSpec, Runnable
from langserve import add_routes
from sse_starlette import EventSourceResponse

import graphs


class Served(Runnable):
    """What LangServe serves: a graph that also takes {"resume": …}."""

    @property
    def config_specs(self):
        """What of a request's config LangServe lets through."""
        return [ConfigurableFieldSpec(id="thread_id", annotation=str)]

    def invoke(self, input, config=None, **more):
        raise NotImplementedError("only /stream_events")

    async def astream_events(self, input, config=None, **more):
        order = {"job": config["configurable"]["thread_id"], "input": input}
        if "resume" in input:
            order.update(resume=input["resume"], input=inputs[order["job"]])
        inputs[order["job"]] = order["input"]
        async for event in graphs.run(order, config):
            yield event


inputs = {}  # by job: a job that goes on says no more than its answers
app = FastAPI()
add_routes(app, Served(), path="/graph", input_type=dict, output_type=dict)


@app.post("/sse")
async def sse(request: Request):
    order = await request.json()

    async def lines():
        async for event in graphs.run(order):
            yield {"event": "events", "data": json.dumps(event, default=graphs.plain)}
    return EventSourceResponse(lines())

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
