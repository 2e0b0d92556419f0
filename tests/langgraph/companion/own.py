"""`store.path` and `checkpointer.path`: where the project's own graphs keep things."""

import json
import os
import sqlite3

from harness import case, check, contains, equal
from project import Project, shared
from start import refused

GRAPH = '''
import operator
from typing import Annotated
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    n: Annotated[int, operator.add]
    found: list

async def node(state, config, *, store):
    found = await store.aget(("from", "client"), "a")
    await store.aput(("from", "graph"), config["configurable"]["thread_id"], {"n": state.get("n", 0), "of": "graph"})
    return {"n": 1, "found": [found and found.value, type(store).__name__]}

builder = StateGraph(State).add_node("n", node).add_edge(START, "n")
graph = builder.compile()
'''

STORE = '''
from contextlib import asynccontextmanager
from langgraph.store.memory import InMemoryStore

class Mine(InMemoryStore):
    pass

@asynccontextmanager
async def make():
    yield Mine()
'''

SAVER = '''
import json
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from graph import builder

class Mine(InMemorySaver):
    async def aput(self, config, checkpoint, metadata, new_versions):
        with open("written", "a") as f:
            f.write(json.dumps([config["configurable"]["thread_id"], checkpoint["id"]]) + "\\n")
        return await super().aput(config, checkpoint, metadata, new_versions)

async def make():
    """With a thread from before."""
    saver = Mine()
    graph = builder.compile(checkpointer=saver, store=InMemoryStore())
    await graph.ainvoke({"n": 40}, {"configurable": {"thread_id": "11111111-1111-4111-8111-111111111111"}})
    return saver
'''
OLD = "11111111-1111-4111-8111-111111111111"
ABOUT = {"store": {"path": "./store.py:make", "index": {"embed": "none:none"}}, "checkpointer": {"path": "./saver.py:make"},
         "dependencies": ["."]}
FILES = {"graph.py": GRAPH, "store.py": STORE, "saver.py": SAVER}


def rows(p, table):
    with sqlite3.connect(os.path.join(p.folder, ".spoolwire", "spoolwire.db")) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def wait(p, thread, **more):
    a = p.post(f"/threads/{thread}/runs/wait", {"assistant_id": "agent", **more})
    equal(a.status, 200, repr(a))
    return a.json


@case
def graphs_and_clients_share_a_store_of_the_projects_own():
    p = shared("python", ABOUT, FILES)
    thread = p.post("/threads", {}).json["thread_id"]
    equal(p.get("/store/items?namespace=from.client&key=a").json, None)
    equal(p.ask("PUT", "/store/items", {"namespace": ["from", "client"], "key": "a", "value": {"x": 1}}).status, 204)
    equal(wait(p, thread, input={"n": 1})["found"], [{"x": 1}, "Mine"])
    item = p.get(f"/store/items?namespace=from.graph&key={thread}").json
    equal((item["namespace"], item["key"], item["value"]), (["from", "graph"], thread, {"n": 1, "of": "graph"}))
    found = p.post("/store/items/search", {"namespace_prefix": ["from"], "filter": {"of": "graph"}, "limit": 100}).json["items"]
    contains([(i["key"], i["score"]) for i in found], (thread, None))
    equal(p.post("/store/namespaces", {"prefix": ["from"], "max_depth": 2}).json, {"namespaces": [["from", "client"], ["from", "graph"]]})
    equal(p.ask("DELETE", "/store/items", {"namespace": ["from", "client"], "key": "a"}).status, 204)
    equal(p.get("/store/items?namespace=from.client&key=a").json, None)
    for body in ({"namespace": ["a"], "key": "k"}, {"namespace": [], "key": "k", "value": {}}, {"namespace": ["a"], "value": {}}):
        equal(p.ask("PUT", "/store/items", body).status, 400, body)
    equal(rows(p, "items"), 0)
    contains(p.log(), "'store.index' is ignored")


@case
def a_checkpointer_of_the_projects_own_gets_every_checkpoint():
    p = shared("python", ABOUT, FILES)
    thread = p.post("/threads", {}).json["thread_id"]
    for n in (2, 3):
        equal(wait(p, thread, input={"n": 0 if n > 2 else 1})["n"], n)
    shown = [s["checkpoint"]["checkpoint_id"] for s in p.post(f"/threads/{thread}/history", {}).json]
    with open(os.path.join(p.folder, "written")) as f:
        written = [id for t, id in map(json.loads, f) if t == thread]
    equal(sorted(written), sorted(shown))
    check(len(shown) >= 6, shown)
    # What was rolled back, copied or changed by a client is what the next run begins with.
    copy = p.post(f"/threads/{thread}/copy", {}).json["thread_id"]
    equal(wait(p, copy, input={"n": 0})["n"], 4)
    equal(p.post(f"/threads/{thread}/state", {"values": {"n": 10}}).status, 200)
    equal(wait(p, thread, input={"n": 0})["n"], 14)


@case
def a_thread_that_only_the_projects_checkpointer_knows_goes_on():
    p = shared("python", ABOUT, FILES)
    p.post("/threads", {"thread_id": OLD})
    equal(wait(p, OLD, input={"n": 0})["n"], 42)
    equal(wait(p, OLD, input={"n": 0})["n"], 43)


@case
def what_cannot_be_a_store_or_a_checkpointer_is_said():
    refused("javascript", {"store": {"path": "./store.py:make"}}, {}, "'store.path': there is no graph in Python")
    refused("python", {"checkpointer": {"path": "./saver.mjs:make"}}, {}, "'checkpointer.path': ./saver.mjs:make is no Python")
    refused("python", {"checkpointer": {"backend": "mongo"}}, {}, "'checkpointer.backend': mongo is not supported")
    with Project("python", {"store": {"path": "./store.py:nothing"}}, {"store.py": "nothing = 1\n"}) as p:
        said = p.post("/runs/wait", {"assistant_id": "agent", "input": {}})
        contains(said.text, "./store.py:nothing gives int, and not a BaseStore of langgraph")
        contains(p.get("/store/items?namespace=a&key=b").text, "not a BaseStore")
