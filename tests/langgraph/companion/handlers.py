"""`auth`: who may do what is the project's decision, on every route."""

import json
import os
import subprocess
import sys

from gateway import until
from harness import PROGRAM, case, check, contains, equal
from project import Project, WebSocket

AUTH = {"auth": {"path": "./auth.END:auth"}}


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


def ids(thread, assistant, run):
    return lambda pattern: pattern.replace("{thread}", thread).replace("{assistant}", assistant) \
        .replace("{run}", run).replace("{checkpoint}", "1f000000-0000-6000-8000-000000000000").replace("{namespace}", "x") \
        .replace("{cron}", thread).replace("{id}", thread)


def is_langgraphs(pattern):
    return not pattern.startswith("/v1/") and not pattern.startswith("/cluster/")


@for_each
def every_route_asks_the_handlers(language):
    with Project(language, AUTH) as p:
        thread = p.post("/threads", {}, "ann").json["thread_id"]
        assistant = p.post("/assistants", {"graph_id": "agent"}, "ann").json["assistant_id"]
        run = p.post(f"/threads/{thread}/runs", {"assistant_id": "agent", "input": {}}, "ann").json["run_id"]
        fill = ids(thread, assistant, run)
        n = 0
        for method, pattern, access in routes():
            if access in ("public", "metrics", "admin", "worker"):
                continue
            body = {} if method in ("POST", "PUT", "PATCH") else None
            nobody = p.ask(method, fill(pattern), body)
            equal(nobody.status, 401, f"{method} {pattern}: {nobody}")
            known = is_langgraphs(pattern) and not pattern.startswith(("/mcp", "/ui")) and "crons" not in pattern
            equal("who are you?" in nobody.text, known, f"{method} {pattern}: {nobody}")
            # A token of ours that is invalid is refused by us, and not by the handlers.
            contains(p.ask(method, fill(pattern), body, "spw_000000000000_x").text, "no token")
            if not known or not ("{thread}" in pattern or "{assistant}" in pattern or "{run}" in pattern):
                continue
            n += 1
            if "/commands" in pattern:
                body = {"id": 1, "method": "state.get"}
            if pattern.endswith(("/runs", "/runs/stream", "/runs/wait")) and method == "POST":
                body = {"assistant_id": "agent", "input": {}}
            other = p.ask(method, fill(pattern), body, "bob")
            if pattern.endswith("/runs/{run}/stream") and "{thread}" in pattern:
                contains(other.text, "404: Thread not found")
            else:
                check(other.status in (404, 409), f"{method} {pattern}: {other}")
        check(n > 25, n)
        equal(p.get(f"/threads/{thread}", "ann").json["metadata"]["owner"], "ann")


@for_each
def filters_and_changed_values_decide_what_is_found(language):
    with Project(language, AUTH) as p:
        for who in ("ann", "bob"):
            p.post("/threads", {"metadata": {"n": who}}, who)
            p.post("/assistants", {"graph_id": "agent", "metadata": {"owner": "somebody"}}, who)
        for who in ("ann", "bob"):
            equal([t["metadata"] for t in p.post("/threads/search", {}, who).json], [{"n": who, "owner": who}])
            equal(p.post("/threads/count", {}, who).json, 1)
            equal([a["metadata"]["owner"] for a in p.post("/assistants/search", {}, who).json], [who])
            equal(p.post("/assistants/count", {}, who).json, 1)
        equal(p.post("/threads/search", {"metadata": {"owner": "ann"}}, "bob").json, [])
        # $or, $contains: a reader that is not the owner.
        shared = p.post("/threads", {"metadata": {"readers": ["bob", "eve"]}}, "ann").json["thread_id"]
        equal(p.get(f"/threads/{shared}", "bob").status, 200)
        equal(p.get(f"/threads/{shared}", "joe").status, 404)
        equal(p.ask("PATCH", f"/threads/{shared}", {"metadata": {"a": 1}}, "bob").status, 404)
        equal(p.ask("DELETE", f"/threads/{shared}", None, "ann").status, 403)
        contains(p.ask("DELETE", f"/threads/{shared}", None, "ann").text, "ann deletes nothing")
        # Ids of others are taken.
        mine = p.post("/threads", {"thread_id": shared, "if_exists": "do_nothing"}, "bob")
        equal(mine.status, 409, repr(mine))
        equal(p.post("/threads/prune", {"thread_ids": [shared]}, "bob").status // 100 in (2, 4), True)


@for_each
def a_run_knows_its_user_and_what_the_handlers_add(language):
    with Project(language, AUTH) as p:
        for path, body in (("/runs/wait", {}), ("/runs/stream", {"stream_mode": "values"})):
            said = p.post(path, {"assistant_id": "agent", "input": {"text": "hi"}, **body}, "ann").text
            contains(said, '"text":"hi!"')
            contains(said.replace(" ", ""), '"user_id":"ann"')
            contains(said, "ann@example.com")
            contains(said, "tenant of ann")
        made = "01a1e6c5-a441-7f0f-94a9-724cd585f744"
        p.post(f"/threads/{made}/runs/wait", {"assistant_id": "agent", "input": {}, "if_not_exists": "create"}, "ann")
        equal(p.get(f"/threads/{made}", "ann").json["metadata"].get("owner"), "ann")
        equal(p.get(f"/threads/{made}/state", "bob").status, 404)
        run = p.get(f"/threads/{made}/runs", "ann").json[0]
        equal(run["metadata"]["owner"], "ann")
        batch = p.post("/runs/batch", [{"assistant_id": "agent", "input": {}}] * 2, "bob").json
        equal([r["metadata"]["owner"] for r in batch], ["bob", "bob"])
        # An assistant of somebody else cannot be used.
        theirs = p.post("/assistants", {"graph_id": "agent"}, "ann").json["assistant_id"]
        equal(p.post("/runs/wait", {"assistant_id": theirs, "input": {}}, "bob").status, 404)
        equal(p.post("/runs/wait", {"assistant_id": theirs, "input": {}}, "ann").status, 200)
        studio = p.post("/runs/wait", {"assistant_id": "agent", "input": {}}, x_auth_scheme="langsmith")
        contains(studio.text, "langgraph-studio-user")


@for_each
def the_store_has_a_namespace_for_each_user(language):
    with Project(language, AUTH) as p:
        for who in ("ann", "bob"):
            equal(p.ask("PUT", "/store/items", {"namespace": ["notes"], "key": "k", "value": {"of": who}}, who).status, 204)
        for who in ("ann", "bob"):
            equal(p.get("/store/items?namespace=notes&key=k", who).json["value"], {"of": who})
            equal(p.get("/store/items?namespace=notes&key=k&refresh_ttl=true", who).json["value"], {"of": who})
            equal([i["value"] for i in p.post("/store/items/search", {"namespace_prefix": []}, who).json["items"]], [{"of": who}])
            equal(p.post("/store/namespaces", {}, who).json, {"namespaces": [[who, "notes"]]})
        equal(p.ask("PUT", "/store/items", {"namespace": ["forbidden"], "key": "k", "value": {}}, "ann").status, 403)
        equal(p.ask("DELETE", "/store/items", {"namespace": ["notes"], "key": "k"}, "ann").status, 204)
        equal(p.get("/store/items?namespace=notes&key=k", "ann").json, None)
        equal(p.get("/store/items?namespace=notes&key=k", "bob").json["value"], {"of": "bob"})


@for_each
def commands_over_a_websocket_are_the_callers(language):
    with Project(language, AUTH) as p:
        thread = p.post("/threads", {}, "ann").json["thread_id"]
        path = f"/threads/{thread}/stream/events"
        equal(WebSocket(p, path).status, 401)
        equal(WebSocket(p, path, Authorization="Bearer bob").status, 404)
        ws = WebSocket(p, path, Authorization="Bearer ann")
        equal(ws.status, 101)
        ws.send(json.dumps({"id": 1, "method": "run.start", "params": {"assistant_id": "agent", "input": {"text": "x"}}}))
        answer = json.loads(ws.receive())
        equal(answer["type"], "success", answer)
        until("the run has ended", lambda: p.get(f"/threads/{thread}", "ann").json["status"] == "idle" and
              p.get(f"/threads/{thread}/state", "ann").json["values"])
        said = p.get(f"/threads/{thread}/state", "ann").json["values"]
        equal((said["user"]["user_id"], said["header"]), ("ann", "tenant of ann"))
        ws.close()
        refused = p.post(f"/threads/{thread}/commands", {"id": 1, "method": "run.start", "params": {"assistant_id": "agent"}}, "bob")
        equal(refused.status, 404)


@for_each
def what_handlers_refuse_or_fail_is_answered(language):
    about = {"auth": {"path": "./auth.END:auth", "disable_studio_auth": True}}
    with Project(language, about, SPOOLWIRE_COMPANION_TIMEOUT="1s") as p:
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


@for_each
def callers_are_remembered_by_the_headers_that_the_project_names(language):
    about = {"auth": {"path": "./auth.END:auth", "cache": {"cache_keys": ["authorization"], "ttl_seconds": 60}}}
    with Project(language, about) as p:
        def calls(who):
            """How often the handler was called before it knew @who, as the run's user says."""
            return p.post("/runs/wait", {"assistant_id": "agent", "input": {}}, who).json["user"]["calls"]
        equal([calls("ann"), calls("ann"), calls("bob"), calls("ann")], [1, 1, 2, 1])


@case
def tokens_of_ours_still_work_and_the_job_api_needs_them():
    with Project("python", AUTH) as p:
        made = subprocess.run([PROGRAM, "token", "create", "--data", os.path.join(p.folder, ".spoolwire", "spoolwire.db"),
                               "--scope", "client", "--name", "t"], capture_output=True, text=True, check=True)
        token = made.stdout.strip()
        thread = p.post("/threads", {"metadata": {"owner": "ann"}}, token)
        equal(thread.status, 200, repr(thread))
        equal(p.get("/v1/jobs", token).status, 200)
        equal(p.get("/v1/jobs", "ann").status, 401)
        equal(p.get("/info").status, 200)
        equal(p.get("/ok").status, 200)
        sys.stdout.flush()
