"""The stock Python SDK."""

from langgraph_sdk import get_sync_client

from assistants import AGENT
from checkpoints import ok
from gateway import PULL, Server, Worker, at_once
from harness import case, equal
from states import run, serve_update


def client_of(s):
    return get_sync_client(url=s.url)


@case
def items_with_the_sdk():
    with Server() as s:
        store = client_of(s).store
        store.put_item(["users", "ann"], key="name", value={"first": "Ann", "age": 30})
        store.put_item(["users", "bob"], key="name", value={"first": "Bob", "age": 3}, ttl=10)
        equal(store.get_item(["users", "ann"], key="name")["value"], {"first": "Ann", "age": 30})
        equal([i["value"]["first"] for i in store.search_items(["users"], filter={"age": {"$gte": 18}})["items"]], ["Ann"])
        equal(len(store.search_items(["users"], limit=1, offset=1)["items"]), 1)
        equal(store.search_items(["users"], query="bob")["items"][0]["namespace"], ["users", "bob"])
        equal(store.list_namespaces(prefix=["users"], max_depth=1)["namespaces"], [["users"]])
        store.delete_item(["users", "ann"], key="name")
        equal(store.get_item(["users", "ann"], key="name"), None)


@case
def states_with_the_sdk():
    with Server(agents={"pull": PULL}) as s:
        client = client_of(s)
        t = client.threads.create()["thread_id"]
        equal(client.threads.get_state(t)["checkpoint"], None)
        saver, lease = run(s, t)
        ok(saver.put("1", metadata={"step": 0}), saver.state("1", values={"n": 1}), saver.put("2", parent="1"),
           saver.state("2", values={"n": 2}, next=["ask"]))
        lease.finish()
        equal(client.threads.get_state(t, subgraphs=True)["values"], {"n": 2})
        equal(client.threads.get_state(t, checkpoint_id="1")["values"], {"n": 1})
        equal(client.threads.get_state(t, checkpoint={"thread_id": t, "checkpoint_ns": "", "checkpoint_id": "1", "checkpoint_map": {}})["values"],
              {"n": 1})
        equal([h["values"]["n"] for h in client.threads.get_history(t)], [2, 1])
        equal([h["values"]["n"] for h in client.threads.get_history(t, limit=1, before="2")], [1])
        equal([h["values"]["n"] for h in client.threads.get_history(t, metadata={"step": 0})], [1])
        _, changed = at_once(lambda: serve_update(s, t), lambda: client.threads.update_state(t, {"n": 9}, as_node="ask"))
        equal(changed["checkpoint"]["checkpoint_id"], "9")
        equal(client.threads.get_state(t)["values"], {"n": 9})


@case
def assistants_with_the_sdk():
    def serve(s):
        order = Worker(s, "agent").ask(wait=20, calls=True).json
        s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": {"nodes": [], "edges": []}})

    with Server("--demo=false", agents={"agent": PULL}) as s:
        assistants = client_of(s).assistants
        equal([a["assistant_id"] for a in assistants.search(graph_id="agent")], [AGENT])
        equal(assistants.get("agent")["assistant_id"], AGENT)
        equal(assistants.count(), 1)
        made = assistants.create("agent", config={"configurable": {"n": 1}}, name="mine")["assistant_id"]
        equal(assistants.update(made, name="yours")["version"], 2)
        equal([v["name"] for v in assistants.get_versions(made)], ["yours", "mine"])
        equal(assistants.set_latest(made, 1)["name"], "mine")
        equal(len(assistants.search()), 2)
        assistants.delete(made)
        equal(assistants.count(), 1)
        for ask in (lambda: assistants.get_graph(AGENT, xray=True), lambda: assistants.get_schemas(AGENT),
                    lambda: assistants.get_subgraphs(AGENT, recurse=True)):
            _, answer = at_once(lambda: serve(s), ask)
            equal(answer, {"nodes": [], "edges": []})
