"""Threads: made, changed, searched, counted, copied, pruned; whose they are; pages of other origins."""

import subprocess

from database import database
from gateway import Server, Worker, until
from harness import PROGRAM, case, check, equal
from graphs import UNTIL_QUESTION, VALUES, Player, create, history, new_thread, save, serve, thread


@case
def made_once():
    with serve() as s:
        a = s.post("/threads", {"metadata": {"a": 1}, "thread_id": "t-1"})
        equal(a.status, 200)
        made = a.json
        equal({k: v for k, v in made.items() if not k.endswith("_at")},
              {"thread_id": "t-1", "metadata": {"a": 1}, "status": "idle", "config": {}, "values": None, "interrupts": {}})
        equal(s.post("/threads", {"thread_id": "t-1"}).status, 409)
        equal(s.post("/threads", {"thread_id": "t-1", "if_exists": "do_nothing"}).json, made)
        equal(s.get("/threads/t-1").json, made)
        equal(s.get("/threads/t-2").status, 404)
        for body in ({"thread_id": "no spaces"}, {"metadata": 5}, {"if_exists": "explode"}, []):
            equal(s.post("/threads", body).status, 422, body)
        s.restart(s.kill)
        equal(s.get("/threads/t-1").json, made)


@case
def no_thread_has_the_id_of_a_job():
    """What a job saves stands under its own id."""
    with serve() as s:
        s.submit("agent", job_id="x")
        equal(s.post("/threads", {"thread_id": "x"}).status, 409)
        equal(s.post("/threads/x/runs", {"assistant_id": "agent", "if_not_exists": "create"}).status, 409)
        t = new_thread(s, thread_id="y")
        s.submit("agent", job_id=t, want=409)


@case
def changed():
    with serve() as s:
        t = new_thread(s, metadata={"a": 1, "b": {"c": 2}})
        a = s.request("PATCH", f"/threads/{t}", {"metadata": {"b": 3, "d": 4}})
        equal((a.status, a.json["metadata"]), (200, {"a": 1, "b": 3, "d": 4}))
        a = s.request("PATCH", f"/threads/{t}", {"metadata": {}}, headers={"Prefer": "return=minimal"})
        equal(a.status, 204)
        equal(thread(s, t)["metadata"], {"a": 1, "b": 3, "d": 4})
        equal(s.request("PATCH", "/threads/none", {"metadata": {}}).status, 404)


@case
def searched_and_counted():
    with serve() as s:
        ids = [new_thread(s, metadata={"user": n % 2, "n": n, "deep": {"a": n, "b": 1}}) for n in range(5)]

        def search(**body):
            a = s.post("/threads/search", body)
            equal(a.status, 200, repr(a))
            return [t["thread_id"] for t in a.json], a.headers

        equal(search()[0], ids[::-1], "newest first")
        equal(search(sort_by="created_at", sort_order="asc")[0], ids)
        found, headers = search(metadata={"user": 0}, limit=2)
        equal((found, headers["x-pagination-total"], headers["x-pagination-next"]), ([ids[4], ids[2]], "3", "2"))
        found, headers = search(metadata={"user": 0}, limit=2, offset=2)
        equal((found, "x-pagination-next" in headers), ([ids[0]], False))
        equal(search(metadata={"deep": {"a": 3}})[0], [ids[3]])
        equal(search(ids=ids[1:3])[0], [ids[2], ids[1]])
        create(s, ids[1])
        equal(search(status="busy")[0], [ids[1]])
        equal(search(sort_by="updated_at")[0][0], ids[1])
        Worker(s, "agent").lease().send(UNTIL_QUESTION[2])
        equal(search(values=VALUES[0])[0], [ids[1]])
        equal(s.post("/threads/search", {"select": ["thread_id", "status"], "limit": 1}).json,
              [{"thread_id": ids[4], "status": "idle"}])
        equal(s.post("/threads/count", {"metadata": {"user": 1}}).json, 2)
        equal(s.post("/threads/count", {}).json, 5)
        for body in ({"limit": 0}, {"sort_by": "colour"}, {"offset": -1}, []):
            equal(s.post("/threads/search", body).status, 422, body)


@case
def copied_and_pruned():
    with serve() as s, Player(s):
        t = new_thread(s, metadata={"a": 1})
        create(s, t)
        s.until_state(s.get(f"/threads/{t}/runs").json[0]["run_id"], "succeeded")
        copy = s.post(f"/threads/{t}/copy").json
        one = thread(s, t)
        check(copy["thread_id"] != t)
        equal([copy[k] for k in ("values", "metadata", "interrupts", "status")],
              [one[k] for k in ("values", "metadata", "interrupts", "status")])
        equal(s.get(f"/threads/{copy['thread_id']}/runs").json, [])
        a = s.post("/threads/prune", {"thread_ids": [t, "none", copy["thread_id"]], "strategy": "delete"})
        equal((a.status, a.json), (200, {"pruned_count": 2}))
        equal(s.post("/threads/count", {}).json, 0)
        equal(s.post("/threads/none/copy").status, 409, "as both of LangGraph's servers")


@case
def only_the_latest_is_kept():
    with serve() as s:
        t = new_thread(s)
        create(s, t)
        lease = Worker(s, "agent").lease()
        for id in "123":
            save(s, lease, id)
        a = s.post("/threads/prune", {"thread_ids": [t, "none"], "strategy": "keep_latest"})
        equal((a.status, a.json), (200, {"pruned_count": 1}))
        equal(history(s, t), ["3"])
        a = s.post(f"/v1/worker/threads/{t}/checkpoints/get?job={lease.job}&lease={lease.order['lease']}", {"ns": ""})
        kept = a.json["checkpoint"]
        equal((kept["id"], list(kept["blobs"]), len(kept["writes"])), ("3", ["x"], 1))
        equal(s.get(f"/v1/jobs/{lease.job}").status, 200)


@case
def threads_live_as_long_as_the_server_says():
    with serve("--thread-ttl", "700ms") as s:
        kept, idle, ended, busy = new_thread(s, ttl=60), new_thread(s), new_thread(s), new_thread(s)
        crew = Worker(s, "agent")
        for t in (ended, busy):
            create(s, t)
            lease = crew.lease()
            save(s, lease, "1")
            if t == ended:
                lease.finish()
        until("those without a run are gone", lambda: s.get(f"/threads/{idle}").status == s.get(f"/threads/{ended}").status == 404)
        equal({thread(s, t)["status"] for t in (kept, busy)}, {"idle", "busy"})
        equal(database(s).do("SELECT count(*) FROM checkpoints")[0][0] in (1, "1"), True)
        lease.finish()
        until("its time begins with the end of its run", lambda: s.get(f"/threads/{busy}").status == 404)
        for table in ("checkpoints", "jobs"):
            equal(database(s).do(f"SELECT 1 FROM {table}"), [], table)
        s.restart(s.kill)
        equal([t["thread_id"] for t in s.post("/threads/search", {}).json], [kept])


@case
def one_with_a_time_to_live_goes_by_itself():
    with serve() as s:
        short = {"ttl": 0.01, "strategy": "delete"}
        t, busy = new_thread(s, ttl=60), new_thread(s)
        run = create(s, busy)["run_id"]
        lease = Worker(s, "agent").lease()
        save(s, lease, "1")
        equal(s.request("PATCH", f"/threads/{busy}", {"ttl": short}).status, 200)
        new_thread(s, ttl=0.01)
        kept = new_thread(s)
        until("one is gone", lambda: s.post("/threads/count", {}).json == 3)
        equal(thread(s, busy)["status"], "busy", "it stays as long as a run is at work")
        lease.finish()
        until("and the other", lambda: s.get(f"/threads/{busy}").status == 404)
        equal(s.get(f"/v1/jobs/{run}").status, 404)
        equal(s.post(f"/v1/worker/threads/{busy}/checkpoints/list", {"limit": 9}).json, {"checkpoints": []})
        equal(s.request("PATCH", f"/threads/{t}", {"metadata": {"a": 1}}).status, 200)
        s.restart(s.kill)
        equal(s.post("/threads/count", {}).json, 2)
        equal(s.request("PATCH", f"/threads/{t}", {"ttl": short}).json["metadata"], {"a": 1})
        until("it was told later", lambda: s.get(f"/threads/{t}").status == 404)
        equal(s.get(f"/threads/{kept}").status, 200)
        for ttl in (0, -1, "5", [], {}, {"ttl": 0}, {"ttl": 5, "strategy": "keep_latest"}, 1e-9, 1e99):
            equal(s.post("/threads", {"ttl": ttl}).status, 422, ttl)
            equal(s.request("PATCH", f"/threads/{kept}", {"ttl": ttl}).status, 422, ttl)


@case
def everyone_has_their_own():
    with Server("--auth", "required", agents={"agent": {"pull": True}}) as s:
        def token(owner):
            done = subprocess.run([PROGRAM, "token", "create", "--data", s.data, "--scope", "client", "--owner", owner],
                                  capture_output=True, text=True, check=True)
            return {"X-Api-Key": done.stdout.strip()}

        ann, bob = token("ann"), token("bob")
        t = s.post("/threads", {}, headers=ann).json["thread_id"]
        run = s.post(f"/threads/{t}/runs", {"assistant_id": "agent"}, headers=ann).json["run_id"]
        equal(s.post("/threads", {}).status, 401)
        for method, path, body in (("GET", f"/threads/{t}", None), ("PATCH", f"/threads/{t}", {"metadata": {}}),
                                   ("DELETE", f"/threads/{t}", None),
                                   ("GET", f"/threads/{t}/runs", None), ("GET", f"/threads/{t}/runs/{run}", None),
                                   ("DELETE", f"/threads/{t}/runs/{run}", None), ("GET", f"/runs/{run}/stream", None),
                                   ("POST", f"/threads/{t}/runs/{run}/cancel", None),
                                   ("GET", f"/threads/{t}/runs/{run}/join", None),
                                   ("GET", f"/threads/{t}/runs/{run}/stream", None),
                                   ("POST", f"/threads/{t}/runs", {"assistant_id": "agent"}),
                                   ("POST", f"/threads/{t}/runs/stream", {"assistant_id": "agent"}),
                                   ("POST", f"/threads/{t}/runs/wait", {"assistant_id": "agent"})):
            equal(s.request(method, path, body, headers=bob).status, 404, (method, path))
        equal(s.post(f"/threads/{t}/copy", headers=bob).status, 409)
        equal(s.post("/threads", {"thread_id": t}, headers=bob).status, 409)
        a = s.post(f"/threads/{t}/runs", {"assistant_id": "agent", "if_not_exists": "create"}, headers=bob)
        equal(a.status, 409, repr(a))
        equal(s.post("/threads/search", {}, headers=bob).json, [])
        equal(s.post("/threads/count", {}, headers=bob).json, 0)
        equal(s.post("/threads/prune", {"thread_ids": [t], "strategy": "delete"}, headers=bob).json, {"pruned_count": 0})
        equal([x["thread_id"] for x in s.post("/threads/search", {}, headers=ann).json], [t])


@case
def pages_of_other_origins_see_where_the_run_is():
    with serve(top="origins: [https://chat.example]\n") as s:
        origin = {"Origin": "https://chat.example"}
        a = s.request("OPTIONS", "/threads/x/runs/stream", headers={
            **origin, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,last-event-id,x-api-key,x-auth-scheme",
            "Access-Control-Request-Private-Network": "true"})
        check(a.status in (200, 204), repr(a))
        allowed = a.headers["access-control-allow-headers"].lower()
        for name in ("content-type", "last-event-id", "x-api-key", "authorization", "accept", "prefer", "x-auth-scheme"):
            check(name in allowed, allowed)
        equal(a.headers["access-control-allow-private-network"], "true")
        a = s.post("/runs", {"assistant_id": "agent"}, headers=origin)
        exposed = a.headers["access-control-expose-headers"].lower()
        for name in ("content-location", "location", "x-pagination-total", "x-pagination-next"):
            check(name in exposed, exposed)
        equal(a.headers["access-control-allow-origin"], "https://chat.example")
