"""`auth`: who may do what is the project's decision, on every route."""

import json
import os
import signal
import subprocess

from gateway import until
from harness import PROGRAM, case, check, contains, equal
from project import WebSocket, shared

AUTH = {"auth": {"path": "./auth.END:auth"}}
FAILING = {"auth": {"path": "./auth.END:auth", "disable_studio_auth": True}, "http": {"app": "./app.END:app", "disable_runs": True}}
YEARLY = "0 0 1 1 *"


def for_each(test):
    """A case for each language."""
    for language in ("python", "javascript"):
        def one(language=language):
            test(language)
        one.__name__, one.__module__ = f"{test.__name__}_in_{language}", test.__module__
        case(one)
    return test


def routes():
    """All of the program's: (method, pattern, access)."""
    folder = os.path.dirname(PROGRAM)
    lines = subprocess.run([os.path.join(folder, "tests", "routes")], capture_output=True, text=True, check=True).stdout
    return [line.split()[:3] for line in lines.splitlines()]


def ids(thread, assistant, run, cron):
    return lambda pattern: pattern.replace("{thread}", thread).replace("{assistant}", assistant) \
        .replace("{run}", run).replace("{checkpoint}", "1f000000-0000-6000-8000-000000000000").replace("{namespace}", "x") \
        .replace("{cron}", cron).replace("{id}", thread)


def is_langgraphs(pattern):
    return not pattern.startswith("/v1/") and not pattern.startswith("/cluster/")


def token_of(p):
    """A token of the server's own."""
    made = subprocess.run([PROGRAM, "token", "create", "--data", os.path.join(p.folder, ".spoolwire", "spoolwire.db"),
                           "--scope", "admin", "--name", "t"], capture_output=True, text=True, check=True)
    return made.stdout.strip()


@for_each
def every_route_asks_the_handlers(language):
    p, ann, bob = shared(language, AUTH), "ann-walks", "bob-walks"
    thread = p.post("/threads", {}, ann).json["thread_id"]
    assistant = p.post("/assistants", {"graph_id": "agent"}, ann).json["assistant_id"]
    run = p.post(f"/threads/{thread}/runs", {"assistant_id": "agent", "input": {}}, ann).json["run_id"]
    cron = p.post("/runs/crons", {"assistant_id": "agent", "schedule": YEARLY}, ann).json["cron_id"]
    fill = ids(thread, assistant, run, cron)
    n = 0
    for method, pattern, access in routes():
        if access in ("public", "metrics", "admin", "worker"):
            continue
        body = {} if method in ("POST", "PUT", "PATCH") else None
        nobody = p.ask(method, fill(pattern), body)
        equal(nobody.status, 401, f"{method} {pattern}: {nobody}")
        known = is_langgraphs(pattern)
        equal("who are you?" in nobody.text, known, f"{method} {pattern}: {nobody}")
        # A token of ours that is invalid is refused by us, and not by the handlers.
        contains(p.ask(method, fill(pattern), body, "spw_000000000000_x").text, "no token")
        if not known or not any(part in pattern for part in ("{thread}", "{assistant}", "{run}", "{cron}")):
            continue
        n += 1
        if "/commands" in pattern:
            body = {"id": 1, "method": "state.get"}
        if pattern.endswith(("/runs", "/runs/stream", "/runs/wait", "/runs/crons")) and method == "POST":
            body = {"assistant_id": "agent", "input": {}, "schedule": YEARLY}
        if "{cron}" in pattern and method == "PATCH":
            body = {"enabled": False}
        other = p.ask(method, fill(pattern), body, bob)
        if pattern.endswith("/runs/{run}/stream") and "{thread}" in pattern:
            contains(other.text, "404: Thread not found")
        else:
            check(other.status in (404, 409), f"{method} {pattern}: {other}")
    check(n > 28, n)
    equal(p.get(f"/threads/{thread}", ann).json["metadata"]["owner"], ann)
    equal(p.get(f"/runs/crons/{cron}", ann).json["enabled"], True)


@for_each
def what_has_no_route_asks_the_handlers_too(language):
    p = shared(language, AUTH)
    for method, path, status in (("GET", "/nowhere", 404), ("POST", "/nowhere", 404), ("GET", "/threads", 405), ("DELETE", "/assistants", 405)):
        body = {"a": 1} if method == "POST" else None
        nobody = p.ask(method, path, body)
        equal((nobody.status, "who are you?" in nobody.text), (401, True), f"{method} {path}: {nobody}")
        equal(p.ask(method, path, body, "nobody").status, 403)
        equal(p.ask(method, path, body, "spw_000000000000_x").status, 401)
        known = p.ask(method, path, body, "ann-asks")
        equal((known.status, "allow" in known.headers), (status, status == 405), f"{method} {path}: {known}")
    # Ours alone, and preflights of browsers, are nobody's secret.
    equal(p.get("/v1/nowhere").status, 404)
    equal(p.ask("OPTIONS", "/threads").status, 204)


@for_each
def filters_and_changed_values_decide_what_is_found(language):
    p, both = shared(language, AUTH), ("ann-finds", "bob-finds")
    ann, bob = both
    for who in both:
        p.post("/threads", {"metadata": {"n": who}}, who)
        p.post("/assistants", {"graph_id": "agent", "metadata": {"owner": "somebody"}}, who)
    for who in both:
        equal([t["metadata"] for t in p.post("/threads/search", {}, who).json], [{"n": who, "owner": who}])
        equal(p.post("/threads/count", {}, who).json, 1)
        equal([a["metadata"]["owner"] for a in p.post("/assistants/search", {}, who).json], [who])
        equal(p.post("/assistants/count", {}, who).json, 1)
    equal(p.post("/threads/search", {"metadata": {"owner": ann}}, bob).json, [])
    # $or, $contains: a reader that is not the owner.
    thread = p.post("/threads", {"metadata": {"readers": [bob, "eve"]}}, ann).json["thread_id"]
    equal(p.get(f"/threads/{thread}", bob).status, 200)
    equal(p.get(f"/threads/{thread}", "joe").status, 404)
    equal(p.ask("PATCH", f"/threads/{thread}", {"metadata": {"a": 1}}, bob).status, 404)
    equal(p.ask("DELETE", f"/threads/{thread}", None, ann).status, 403)
    contains(p.ask("DELETE", f"/threads/{thread}", None, ann).text, "ann deletes nothing")
    # Ids of others are taken.
    mine = p.post("/threads", {"thread_id": thread, "if_exists": "do_nothing"}, bob)
    equal(mine.status, 409, repr(mine))
    equal(p.post("/threads/prune", {"thread_ids": [thread]}, bob).status // 100 in (2, 4), True)


@for_each
def a_run_knows_its_user_and_what_the_handlers_add(language):
    p, ann, bob = shared(language, AUTH), "ann-runs", "bob-runs"
    for path, body in (("/runs/wait", {}), ("/runs/stream", {"stream_mode": "values"})):
        said = p.post(path, {"assistant_id": "agent", "input": {"text": "hi"}, **body}, ann).text
        contains(said, '"text":"hi!"')
        contains(said.replace(" ", ""), f'"user_id":"{ann}"')
        contains(said, ann + "@example.com")
        contains(said, "tenant of " + ann)
    made = "01a1e6c5-a441-7f0f-94a9-724cd585f744"
    p.post(f"/threads/{made}/runs/wait", {"assistant_id": "agent", "input": {}, "if_not_exists": "create"}, ann)
    equal(p.get(f"/threads/{made}", ann).json["metadata"].get("owner"), ann)
    equal(p.get(f"/threads/{made}/state", bob).status, 404)
    run = p.get(f"/threads/{made}/runs", ann).json[0]
    equal(run["metadata"]["owner"], ann)
    batch = p.post("/runs/batch", [{"assistant_id": "agent", "input": {}}] * 2, bob).json
    equal([r["metadata"]["owner"] for r in batch], [bob, bob])
    # An assistant of somebody else cannot be used.
    theirs = p.post("/assistants", {"graph_id": "agent"}, ann).json["assistant_id"]
    equal(p.post("/runs/wait", {"assistant_id": theirs, "input": {}}, bob).status, 404)
    equal(p.post("/runs/wait", {"assistant_id": theirs, "input": {}}, ann).status, 200)
    studio = p.post("/runs/wait", {"assistant_id": "agent", "input": {}}, x_auth_scheme="langsmith")
    contains(studio.text, "langgraph-studio-user")


@for_each
def the_store_has_a_namespace_for_each_user(language):
    p, both = shared(language, AUTH), ("ann-stores", "bob-stores")
    ann, bob = both
    for who in both:
        equal(p.ask("PUT", "/store/items", {"namespace": ["notes"], "key": "k", "value": {"of": who}}, who).status, 204)
    for who in both:
        equal(p.get("/store/items?namespace=notes&key=k", who).json["value"], {"of": who})
        equal(p.get("/store/items?namespace=notes&key=k&refresh_ttl=true", who).json["value"], {"of": who})
        equal([i["value"] for i in p.post("/store/items/search", {"namespace_prefix": []}, who).json["items"]], [{"of": who}])
        equal(p.post("/store/namespaces", {}, who).json, {"namespaces": [[who, "notes"]]})
    equal(p.ask("PUT", "/store/items", {"namespace": ["forbidden"], "key": "k", "value": {}}, ann).status, 403)
    equal(p.ask("DELETE", "/store/items", {"namespace": ["notes"], "key": "k"}, ann).status, 204)
    equal(p.get("/store/items?namespace=notes&key=k", ann).json, None)
    equal(p.get("/store/items?namespace=notes&key=k", bob).json["value"], {"of": bob})


@for_each
def commands_over_a_websocket_are_the_callers(language):
    p, ann, bob = shared(language, AUTH), "ann-talks", "bob-talks"
    thread = p.post("/threads", {}, ann).json["thread_id"]
    path = f"/threads/{thread}/stream/events"
    equal(WebSocket(p, path).status, 401)
    equal(WebSocket(p, path, Authorization="Bearer " + bob).status, 404)
    ws = WebSocket(p, path, Authorization="Bearer " + ann)
    equal(ws.status, 101)
    ws.send(json.dumps({"id": 1, "method": "run.start", "params": {"assistant_id": "agent", "input": {"text": "x"}}}))
    answer = json.loads(ws.receive())
    equal(answer["type"], "success", answer)
    until("the run has ended", lambda: p.get(f"/threads/{thread}", ann).json["status"] == "idle" and
          p.get(f"/threads/{thread}/state", ann).json["values"])
    said = p.get(f"/threads/{thread}/state", ann).json["values"]
    equal((said["user"]["user_id"], said["header"]), (ann, "tenant of " + ann))
    ws.close()
    refused = p.post(f"/threads/{thread}/commands", {"id": 1, "method": "run.start", "params": {"assistant_id": "agent"}}, bob)
    equal(refused.status, 404)


@for_each
def crons_are_those_of_the_user_who_created_them(language):
    p, ann, bob = shared(language, AUTH), "ann-plans", "bob-plans"
    thread = p.post("/threads", {"metadata": {"readers": [bob]}}, ann).json["thread_id"]
    body = {"assistant_id": "agent", "schedule": YEARLY, "metadata": {"n": 1}, "langgraph_auth": {"user": {"identity": "eve"}}}
    alone = p.post("/runs/crons", body, ann).json
    equal((alone["user_id"], alone["metadata"]), (ann, {"n": 1, "owner": ann}), alone)
    check("langgraph_auth" not in alone["payload"], alone)
    equal(alone["payload"]["config"]["configurable"]["accept-language"], "of " + ann)
    one = f"/runs/crons/{alone['cron_id']}"
    equal(p.get(one, ann).json["payload"], alone["payload"])
    with_thread = p.post(f"/threads/{thread}/runs/crons", {**body, "metadata": {"n": 2}}, ann).json
    # A reader of the thread may create a cron there as well: it is the reader's.
    equal(p.post(f"/threads/{thread}/runs/crons", body, bob).json["user_id"], bob)
    equal(p.post(f"/threads/{thread}/runs/crons", body, "joe").status, 404)
    theirs = p.post("/assistants", {"graph_id": "agent"}, ann).json["assistant_id"]
    equal(p.post("/runs/crons", {**body, "assistant_id": theirs}, bob).status, 404)

    def found(who, **more):
        return [c["metadata"]["n"] for c in p.post("/runs/crons/search", {"sort_by": "created_at", "sort_order": "asc", **more}, who).json]
    # A thread's crons are found with the thread: by whoever finds it in a search, or may read the one that is named.
    equal((found(ann), found(bob), found("joe")), ([1, 2], [], []))
    equal([found(who, thread_id=thread) for who in (ann, bob, "joe")], [[2], [1], []])
    equal([p.post("/runs/crons/count", {}, who).json for who in (ann, bob, "joe")], [2, 0, 0])
    for method in ("GET", "PATCH", "DELETE"):
        refused = p.ask(method, one, {"enabled": False} if method == "PATCH" else None, bob)
        equal((refused.status, "not found" in refused.text), (404, True), f"{method}: {refused}")
    changed = p.ask("PATCH", one, {"input": {"a": 1}, "langgraph_auth": {"user": {"identity": "eve"}}}, ann).json
    equal((changed["user_id"], changed["payload"]["input"], changed["metadata"]["owner"]), (ann, {"a": 1}, ann))
    equal(p.ask("PATCH", one, {}, ann).status, 400)
    # The crons of a thread that the user may not read any more are not found.
    equal(p.ask("PATCH", f"/threads/{thread}", {"metadata": {"owner": "eve", "readers": []}}, token_of(p)).status, 200)
    equal((found(ann), p.post("/runs/crons/count", {}, ann).json, found(bob)), ([1], 1, []))
    for cron in (alone, with_thread):
        equal(p.ask("DELETE", f"/runs/crons/{cron['cron_id']}", None, ann).status, 204)
    equal(found(ann), [])


@for_each
def the_runs_of_a_cron_are_its_users(language):
    p, ann = shared(language, AUTH), "ann-ticks"
    every_second = {"assistant_id": "agent", "schedule": "* * * * * *", "input": {"text": "tick"}, "on_run_completed": "keep"}
    crons = [(who, p.post("/runs/crons", every_second, who).json) for who in (ann, "late-ticks")]

    def values():
        threads = p.post("/threads/search", {"status": "idle"}, ann).json
        return threads[0]["values"] if threads and threads[0].get("values") else None
    until("a tick's run has ended", values)
    said = values()
    equal((said["text"], said["user"]["user_id"], said["user"]["email"]), ("tick!", ann, ann + "@example.com"), said)
    equal((said["user"]["permissions"], said["header"]), (["of:" + ann], "tenant of " + ann), said)
    # Whoever may not create runs has no ticks: they are left out.
    late = crons[1][1]
    until("the next tick is another", lambda: p.get(f"/runs/crons/{late['cron_id']}", "late-ticks").json["next_run_date"] > late["next_run_date"])
    equal(p.post("/threads/count", {}, "late-ticks").json, 0)
    for who, cron in crons:
        equal(p.ask("DELETE", f"/runs/crons/{cron['cron_id']}", None, who).status, 204)


@for_each
def tools_are_the_assistants_of_the_caller(language):
    p, ann, bob, blind = shared(language, AUTH), "ann-tools", "bob-tools", "blind-tools"

    def mcp(who, method, **params):
        return p.post("/mcp", {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, who)

    def tools(who):
        return [t["name"] for t in mcp(who, "tools/list").json["result"]["tools"]]
    equal(mcp(None, "initialize").status, 401)
    equal(mcp(ann, "initialize").json["result"]["serverInfo"]["name"], "spoolwire")
    equal(mcp(ann, "ping").json, {"jsonrpc": "2.0", "id": 7, "result": {}})
    equal(p.ask("POST", "/mcp", None, ann).status, 400)
    for who in (ann, bob, blind):
        equal(p.post("/assistants", {"graph_id": "agent", "name": who}, who).status, 200)
    # Blind may search assistants, and not read one.
    equal((tools(ann), tools(bob), tools(blind)), ([ann], [bob], []))
    called = mcp(ann, "tools/call", name=ann, arguments={"text": "mine"}).json
    equal(called["id"], 7)
    said = json.loads(called["result"]["content"][0]["text"])
    equal((said["text"], said["user"]["user_id"], said["header"]), ("mine!", ann, "tenant of " + ann), said)
    contains(mcp(bob, "tools/call", name=ann).text, "Unknown tool")
    equal(mcp(blind, "tools/call", name=blind).status, 403)
    equal(p.post("/assistants", {"graph_id": "agent", "name": "late-tools"}, "late-tools").status, 200)
    refused = mcp("late-tools", "tools/call", name="late-tools")
    equal((refused.status, "too late" in refused.text), (403, True), repr(refused))


@for_each
def what_handlers_refuse_or_fail_is_answered(language):
    p = shared(language, FAILING, SPOOLWIRE_COMPANION_TIMEOUT="1s")
    equal(p.post("/threads", {}, "nobody").status, 403)
    contains(p.post("/threads", {}, "nobody").text, "not you")
    broken = p.post("/threads", {}, "broken")
    equal(broken.status, 500)
    check("a secret" not in broken.text, broken)
    equal(p.post("/threads", {}, x_auth_scheme="langsmith").status, 401)
    slow = p.post("/threads", {}, "slow")
    equal((slow.status, "did not answer in time" in slow.text), (503, True), repr(slow))
    # A crash is answered, and the process started again.
    before = p.pid()
    crash = p.post("/threads", {}, "crash")
    equal((crash.status, crash.headers.get("retry-after")), (503, "1"), repr(crash))
    until("it is up again", lambda: p.post("/threads", {}, "ann").status == 200)
    check(p.pid() != before)
    contains(p.log(), "the companion has ended")
    # A changed file is loaded.
    name = f"auth.{p.end}"
    with open(os.path.join(p.folder, name)) as f:
        text = f.read()
    p.write(name, text.replace("who are you?", "and who are you?"))
    until("the new handlers answer", lambda: "and who are you?" in p.post("/threads", {}).text)
    # An app that is away comes back.
    os.kill(p.pid(), signal.SIGKILL)
    away = p.get("/hello/x", "ann")
    check(away.status in (200, 502), away)
    until("it is back", lambda: p.get("/hello/x", "ann").status == 200)
    equal(p.get("/info").status, 200)
    # Runs are disabled, and threads are not.
    thread = p.post("/threads", {}, "ann").json["thread_id"]
    for path in ("/runs/wait", "/runs/crons", f"/threads/{thread}/runs"):
        equal(p.post(path, {"assistant_id": "agent"}, "ann").status, 404, path)
    equal(p.get(f"/threads/{thread}", "ann").status, 200)


@case
def tokens_of_ours_still_work_and_the_job_api_needs_them():
    p = shared("python", AUTH)
    token = token_of(p)
    thread = p.post("/threads", {"metadata": {"owner": "ann-tokens"}}, token)
    equal(thread.status, 200, repr(thread))
    equal(p.get("/v1/jobs", token).status, 200)
    equal(p.get("/v1/jobs", "ann-tokens").status, 401)
    equal(p.get("/info").status, 200)
    equal(p.get("/ok").status, 200)
