"""The store: what a graph does with it is what it does with LangGraph's own."""

import graphs
from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore
from support import run, working

from spoolwire import Client, SpoolwireStore


async def story(store):
    await store.aput(("a", "b"), "k1", {"n": 1, "who": "ada"})
    await store.aput(("a", "b"), "k2", {"n": 2, "who": "bob"})
    await store.aput(("a", "c"), "k3", {"n": 3, "who": "ada"})
    await store.aput(("z",), "k4", {"list": [1, {"x": None}]})
    await store.aput(("a", "b"), "k2", {"n": 20, "who": "bob"})
    await store.adelete(("z",), "none")
    found = {
        "one": (await store.aget(("a", "b"), "k2")).value,
        "none": await store.aget(("a", "b"), "none"),
        "list": (await store.aget(("z",), "k4")).value,
        "below": sorted(i.key for i in await store.asearch(("a",))),
        "filter": sorted(i.key for i in await store.asearch(("a",), filter={"who": "ada"})),
        "page": len(await store.asearch(("a",), limit=2)) + len(await store.asearch(("a",), limit=2, offset=2)),
        "spaces": sorted(await store.alist_namespaces()),
        "prefix": sorted(await store.alist_namespaces(prefix=("a",))),
        "suffix": sorted(await store.alist_namespaces(suffix=("c",))),
        "depth": sorted(await store.alist_namespaces(max_depth=1)),
    }
    batch = await store.abatch([PutOp(("y",), "k", {"v": 1}), GetOp(("a", "c"), "k3"), PutOp(("y",), "k", {"v": 2})])
    found["batch"] = batch[1].value, (await store.aget(("y",), "k")).value
    await store.adelete(("z",), "k4")
    found["deleted"] = await store.aget(("z",), "k4")
    return found


def test_items_are_those_of_langgraphs_own_store(own_server):
    assert run(story(SpoolwireStore(Client(own_server.url)))) == run(story(InMemoryStore()))


def test_items_have_their_times_and_the_same_without_asyncio(server):
    store = SpoolwireStore(Client(server.url))
    store.put(("times",), "k", {"v": 1})
    first = store.get(("times",), "k")
    store.put(("times",), "k", {"v": 2})
    second = store.get(("times",), "k")
    assert first.created_at == second.created_at <= second.updated_at
    assert [i.value for i in store.search(("times",))] == [{"v": 2}]


def test_a_graph_is_given_the_servers_store(server):
    with working(server, {"graph": graphs.with_store}):
        ended = server.until_state(server.submit("graph", {"log": []}), "succeeded", "failed")
    assert ended["error"] is None
    assert ended["output"]["log"] == ["remembered blue"]
