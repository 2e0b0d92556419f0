"""Items of the store: put, get, delete, search, namespaces, time to live, owners."""

import sys


from callers import Locked  # noqa: E402
from database import database  # noqa: E402
from gateway import PULL, Server, Worker, until  # noqa: E402
from harness import case, cases, check, contains, equal  # noqa: E402


def put(s, ns, key, value, **more):
    a = s.request("PUT", "/store/items", {"namespace": ns, "key": key, "value": value, **more})
    equal((a.status, a.body), (204, b""), repr(a))


def get(s, ns, key, more=""):
    a = s.get(f"/store/items?namespace={'.'.join(ns)}&key={key}{more}")
    equal(a.status, 200, repr(a))
    return a.json


def search(s, *prefix, **more):
    a = s.post("/store/items/search", {"namespace_prefix": list(prefix), **more})
    equal(a.status, 200, repr(a))
    return a.json["items"]


def keys(s, *prefix, **more):
    return [i["key"] for i in search(s, *prefix, **more)]


def namespaces(s, **more):
    a = s.post("/store/namespaces", more)
    equal(a.status, 200, repr(a))
    return [".".join(n) for n in a.json["namespaces"]]


@case
def an_item_is_put_read_changed_and_deleted():
    with Server() as s:
        equal(get(s, ["users", "ann"], "x"), None)
        put(s, ["users", "ann"], "x", {"n": 1.0, "t": "ä"})
        item = get(s, ["users", "ann"], "x")
        equal((item["namespace"], item["key"], item["value"]), (["users", "ann"], "x", {"n": 1.0, "t": "ä"}))
        check(item["created_at"] == item["updated_at"] and item["created_at"].endswith("Z"), item)
        until("time goes on", lambda: put(s, ["users", "ann"], "x", {"n": 2}) or
              get(s, ["users", "ann"], "x")["updated_at"] > item["updated_at"])
        again = get(s, ["users", "ann"], "x")
        equal((again["value"], again["created_at"]), ({"n": 2}, item["created_at"]))
        s.restart(s.kill)
        equal(get(s, ["users", "ann"], "x"), again)
        for _ in range(2):
            equal(s.request("DELETE", "/store/items", {"namespace": ["users", "ann"], "key": "x"}).status, 204)
        equal(get(s, ["users", "ann"], "x"), None)


@case
def items_are_searched_by_prefix_filter_and_words():
    with Server() as s:
        for n, (ns, key, value) in enumerate([(["a"], "one", {"n": 1, "color": "red", "text": "a Brown fox"}),
                                              (["a", "b"], "two", {"n": 2, "color": "blue", "text": "jumps over"}),
                                              (["a", "b", "c"], "three", {"n": 3, "color": "blue", "text": "the brown dog jumps"}),
                                              (["ab"], "four", {"n": 4}), (["b"], "five", {"n": 5})]):
            put(s, ns, key, value)
            until("a millisecond", lambda: get(s, ns, key) and True)
        equal(set(keys(s)), {"one", "two", "three", "four", "five"})
        equal(set(keys(s, "a")), {"one", "two", "three"})
        equal(set(keys(s, "a", "b")), {"two", "three"})
        equal(keys(s, "nothing"), [])
        equal(len(keys(s, limit=2)), 2)
        equal(len(keys(s, limit=10, offset=3)), 2)
        equal(set(keys(s, filter={"color": "blue"})), {"two", "three"})
        equal(set(keys(s, filter={"n": {"$gt": 1, "$lte": 4}})), {"two", "three", "four"})
        equal(set(keys(s, filter={"n": {"$ne": 1}, "color": {"$eq": "blue"}})), {"two", "three"})
        found = search(s, query="brown JUMPS")
        equal((found[0]["key"], found[0]["score"]), ("three", 1.0))
        equal({i["key"]: i["score"] for i in found[1:]}, {"one": 0.5, "two": 0.5})
        equal(search(s)[0]["score"], None)
        equal(set(search(s)[0]), {"namespace", "key", "value", "created_at", "updated_at", "score"})


@case
def namespaces_are_listed():
    with Server() as s:
        for ns in (["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["b", "y"], ["ab"]):
            put(s, ns, "k", {})
        equal(namespaces(s), ["a.b.c", "a.b.d", "a.x.c", "ab", "b.y"])
        equal(namespaces(s, prefix=["a"]), ["a.b.c", "a.b.d", "a.x.c"])
        equal(namespaces(s, prefix=["a", "*", "c"]), ["a.b.c", "a.x.c"])
        equal(namespaces(s, suffix=["c"]), ["a.b.c", "a.x.c"])
        equal(namespaces(s, suffix=["*", "d"]), ["a.b.d"])
        equal(namespaces(s, max_depth=1), ["a", "ab", "b"])
        equal(namespaces(s, max_depth=2, limit=2, offset=1), ["a.x", "ab"])


@case
def an_item_lives_as_long_as_it_was_told():
    with Server() as s:
        put(s, ["a"], "long", {})
        put(s, ["a"], "kept", {}, ttl=0.08)
        put(s, ["a"], "short", {}, ttl=0.03)
        equal(set(keys(s, "a")), {"short", "kept", "long"})
        until("the short one is gone", lambda: get(s, ["a"], "kept", "&refresh_ttl=true") and get(s, ["a"], "short") is None)
        equal(set(keys(s, "a")), {"kept", "long"})
        until("and the other, when nobody reads it", lambda: keys(s, "a") == ["long"])
        equal(namespaces(s), ["a"])


@case
def items_live_as_long_as_the_server_says():
    with Server("--item-ttl", "900ms") as s:
        put(s, ["a"], "long", {}, ttl=10)
        put(s, ["a"], "read", {})
        put(s, ["b"], "found", {})
        put(s, ["c"], "unread", {})
        # Reading and finding both restart the time; looking without that does not.
        until("the one that nobody reads is gone", lambda: get(s, ["a"], "read") and search(s, "b") and
              get(s, ["c"], "unread", "&refresh_ttl=false") is None)
        equal(set(keys(s, refresh_ttl=False)), {"long", "read", "found"})
        until("they are gone when nobody reads them", lambda: keys(s, refresh_ttl=False) == ["long"])
        until("their rows are gone, too", lambda: database(s).column("items", "key") == ["long"])
        s.restart(s.kill)
        equal(keys(s), ["long"])


@case
def reading_does_not_keep_items_when_the_server_says_so():
    with Server(top="item_ttl: 900ms\nitem_ttl_refresh: false\n") as s:
        for key in ("read", "asked"):
            put(s, ["a"], key, {})
        put(s, ["b"], "found", {})
        until("it is gone, although it is read and found", lambda: get(s, ["a"], "asked", "&refresh_ttl=true") and
              keys(s, "b", refresh_ttl=True) and get(s, ["a"], "read") is None)
        equal(set(keys(s)), {"asked", "found"})


@cases([{"key": "k", "value": {}}, {"namespace": [], "key": "k", "value": {}}, {"namespace": ["a.b"], "key": "k", "value": {}},
        {"namespace": [""], "key": "k", "value": {}}, {"namespace": "a", "key": "k", "value": {}}, {"namespace": ["a"], "value": {}},
        {"namespace": ["a"], "key": "", "value": {}}, {"namespace": ["a"], "key": "k"}, {"namespace": ["a"], "key": "k", "value": [1]},
        {"namespace": ["a"], "key": "k", "value": {}, "ttl": 0}, {"namespace": ["a"], "key": "k", "value": {}, "ttl": "1"},
        {"namespace": ["a"] * 33, "key": "k", "value": {}}, {"namespace": ["x" * 2000], "key": "k", "value": {}}], lambda v: repr(v)[:80])
def a_bad_item_is_422(body):
    with Server() as s:
        a = s.request("PUT", "/store/items", body)
        equal(a.status, 422, repr(a))
        check(len(a.detail) > 10)
        equal(search(s), [])


@case
def bad_questions_are_422():
    with Server() as s:
        for path in ("namespace=a..b&key=k", "namespace=a", "key=k", "namespace=.a&key=k", "namespace=a.&key=k"):
            equal(s.get(f"/store/items?{path}").status, 422, path)
        for body in ({"limit": 0}, {"limit": 1001}, {"offset": -1}, {"filter": 1}, {"namespace_prefix": "a"}, [], {"filter": {"a": {"$in": [1]}}}):
            equal(s.post("/store/items/search", body).status, 422, repr(body))
        contains(s.post("/store/items/search", {"filter": {"a": {"$in": [1]}}}).detail, "$in")
        for body in ({"max_depth": 0}, {"prefix": [1]}, {"suffix": "a"}):
            equal(s.post("/store/namespaces", body).status, 422, repr(body))


@case
def everybody_has_their_own():
    with Locked(agents={"pull": PULL}) as s:
        ann, bob, worker, reader = s.caller("client"), s.caller("client"), s.caller("worker"), s.caller("read")
        put(ann, ["a"], "k", {"of": "ann"})
        put(bob, ["a"], "k", {"of": "bob"})
        equal((get(ann, ["a"], "k")["value"], get(bob, ["a"], "k")["value"]), ({"of": "ann"}, {"of": "bob"}))
        equal(len(search(ann)), 1)
        equal((get(worker, ["a"], "k"), search(worker), namespaces(worker)), (None, [], []))
        equal(reader.get("/store/items?namespace=a&key=k").status, 403)
        # A worker asks for the job that it has.
        ann.submit(job_id="j")
        lease = Worker(worker).lease()
        fence = f"job=j&lease={lease.token}"
        equal(get(worker, ["a"], "k", "&" + fence)["value"], {"of": "ann"})
        equal(worker.request("PUT", f"/store/items?{fence}", {"namespace": ["b"], "key": "k", "value": {"by": "the graph"}}).status, 204)
        equal(get(ann, ["b"], "k")["value"], {"by": "the graph"})
        equal(len(worker.post(f"/store/items/search?{fence}", {}).json["items"]), 2)
        equal(worker.post(f"/store/namespaces?{fence}", {}).json["namespaces"], [["a"], ["b"]])
        equal(worker.request("DELETE", f"/store/items?{fence}", {"namespace": ["b"], "key": "k"}).status, 204)
        equal(get(ann, ["b"], "k"), None)
        # Nobody else has it.
        other = s.caller("worker")
        equal(other.get(f"/store/items?namespace=a&key=k&{fence}").status, 404)
        equal(other.request("PUT", f"/store/items?{fence}", {"namespace": ["b"], "key": "k", "value": {}}).status, 404)
        bobs = bob.get(f"/store/items?namespace=a&key=k&{fence}")
        equal(bobs.json["value"], {"of": "bob"}, "a client has no job")
        lease.finish()
        equal(worker.request("PUT", f"/store/items?{fence}", {"namespace": ["b"], "key": "k", "value": {}}).status, 409)
