"""/openapi.json: a valid document, the same routes as the router's, and true: every answer that
a test of this suite gets is held against it.

openapi-3.1.schema.json is the OpenAPI Initiative's own (Apache-2.0), unchanged."""

import json
import os
import re
import tempfile
import threading

from jsonschema import Draft202012Validator

import gateway
from gateway import PULL, STORY, Server, Worker, interrupt, root_start
from harness import case, cases, check, equal
from wires import Lines

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
# What every route may answer, because of the request itself or of the server's state.
ANYWHERE = {400, 401, 403, 405, 408, 413, 417, 422, 429, 431, 500, 503, 505}


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


API = json.loads(read("src", "api", "openapi.json"))


def resolve(thing):
    while "$ref" in thing:
        at = API
        for key in thing["$ref"][2:].split("/"):
            at = at[key.replace("~1", "/").replace("~0", "~")]
        thing = at
    return thing


# --- holding an answer against the document --------------------------------------------------


def closed(schema, is_whole=True):
    """The schema with its objects closed: clients must not mind a member that they do not know,
    but the document must know it."""
    s = {k: v for k, v in schema.items()}
    for word in ("oneOf", "anyOf"):
        if word in s:
            s[word] = [closed(one) for one in s[word]]
    if "allOf" in s:
        s["allOf"] = [closed(one, False) for one in s["allOf"]]
    if "properties" in s:
        s["properties"] = {k: closed(v) for k, v in s["properties"].items()}
    if "items" in s:
        s["items"] = closed(s["items"])
    if is_whole and ("$ref" in s or "allOf" in s or "properties" in s) and "additionalProperties" not in s:
        s["unevaluatedProperties"] = False
    return s


CLOSED = {name: closed(s, False) for name, s in API["components"]["schemas"].items()}


def errors_of(value, schema, is_answer):
    components = CLOSED if is_answer else API["components"]["schemas"]
    whole = {**(closed(schema) if is_answer else schema), "components": {"schemas": components}}
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}"
            for e in Draft202012Validator(whole).iter_errors(value)]


def pattern_of(path):
    return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part)
                              for part in re.split(r"(\{[^}]*\})", path)))


# Literal segments go before {names}.
PATHS = sorted(((pattern_of(path), path) for path in API["paths"]), key=lambda p: p[1].replace("{", "\x7f"))


def path_of(target):
    target = target.partition("?")[0]
    return next((path for pattern, path in PATHS if pattern.fullmatch(target)), None)


def media_type(headers):
    return headers.get("content-type", "").partition(";")[0]


class Seen:
    """Which answers of which operations were met."""

    def __init__(self):
        self.all, self.lock = set(), threading.Lock()

    def add(self, *what):
        with self.lock:
            self.all.add(what)


SEEN = Seen()


def hold(method, target, sent, status, headers, body):
    """Raises when an answer is not as described; @body is None for a stream."""
    path = path_of(target)
    what = f"{method} {target[:100]} {status} {body[:300] if body else ''!r}"
    if method == "OPTIONS":
        return
    operation = API["paths"].get(path, {}).get("get" if method == "HEAD" else method.lower())
    if operation is None:
        check(status in (400, 403, 404, 405, 414, 431, 501, 503, 505), f"undescribed: {what}")
        return
    SEEN.add(operation["operationId"], status)
    given = operation["responses"].get(str(status))
    if given is None and status == 304:
        return
    if given is None:
        check(status in ANYWHERE, f"undescribed: {what}")
        given = operation["responses"]["default"]
    content = resolve(given).get("content", {})
    kind = media_type(headers)
    check(kind in content or (not content and kind == ""), f"{kind!r} is not described: {what}")
    for name in resolve(given).get("headers", {}):
        check(name.lower() in headers or status == 503, f"no {name}: {what}")
    if "json" in kind and body is not None and method != "HEAD":
        equal(errors_of(json.loads(body), content[kind]["schema"], True), [], what)
    if 200 <= status < 300 and sent is not None and "requestBody" in operation:
        kind, wanted = next(iter(operation["requestBody"]["content"].items()))
        if kind == "application/json":
            equal(errors_of(json.loads(sent), wanted["schema"], False), [], f"the request of {what}: {sent[:300]!r}")


def watch(request, stream_init):
    def held_request(self, method, path, body=None, headers=None, **more):
        answer = request(self, method, path, body, headers, **more)
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        hold(method, path, sent, answer.status, answer.headers, answer.body)
        return answer

    def held_stream(self, server, path, *args, **more):
        stream_init(self, server, path, *args, **more)
        hold(more.get("method", "GET"), path, None, self.status, self.headers, self.body if "content-length" in self.headers else None)

    return held_request, held_stream


Server.request, gateway.Stream.__init__ = watch(Server.request, gateway.Stream.__init__)


# --- the document --------------------------------------------------------------------------


def schemas_in(thing):
    if isinstance(thing, dict):
        for key, value in thing.items():
            if key == "schema":
                yield value
            yield from schemas_in(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from schemas_in(value)


def operations():
    for path, item in API["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield path, method.upper(), item, operation


@case
def the_document_is_openapi_3_1():
    with open(os.path.join(HERE, "openapi-3.1.schema.json")) as f:
        schema = json.load(f)
    equal([e.message for e in Draft202012Validator(schema).iter_errors(API)], [])
    broken = json.loads(json.dumps(API))
    del broken["info"]["title"]
    check(list(Draft202012Validator(schema).iter_errors(broken)), "an error is not seen")
    schemas = {json.dumps(s): s for s in [*schemas_in(API["paths"]), *API["components"]["schemas"].values()]}
    Draft202012Validator.check_schema({"$defs": schemas})


@case
def everything_that_is_named_is_there_and_everything_there_is_named():
    text = json.dumps(API)
    refs = set(re.findall(r'"\$ref": "#/components/([^"]*)"', text))
    there = {f"{kind}/{name}" for kind in ("schemas", "responses", "parameters") for name in API["components"][kind]}
    equal(refs, there)
    ids = [operation["operationId"] for *_, operation in operations()]
    equal(len(ids), len(set(ids)))
    tags = {tag["name"] for tag in API["tags"]}
    for path, method, item, operation in operations():
        check(set(operation["tags"]) <= tags, f"{method} {path}")
        named = {p["name"] for p in map(resolve, item.get("parameters", [])) if p["in"] == "path"}
        equal(named, set(re.findall(r"\{(\w+)\}", path)), path)


@case
def the_routes_are_the_routers():
    text = re.sub(r"/\*.*?\*/", "", read("src", "api", "routes.c"), flags=re.S)
    table = re.search(r"api_routes\[\] = \{(.*?)\n\};", text, re.S)[1]
    names = dict(re.findall(r'#define (\w+)\s+"([^"]*)"', text))
    routes = set()
    for row in re.findall(r"\{\s*(\"\w+\".*?ACCESS_\w+)\s*\}", table, re.S):
        method, path, *_, access = [part.strip() for part in row.split(",")]
        path = "".join(names.get(word, word.strip('"')) for word in path.split())
        routes.add((method.strip('"'), path, access[len("ACCESS_"):].lower()))
    equal(len(routes), table.count('{ "'), "rows of the table that were read")
    described = set()
    for path, method, _, operation in operations():
        scopes = [scope for s in operation["security"] for scope in s["bearer"]] or ["public"]
        described.add((method, path, {"client worker": "items", "read worker": "queues"}.get(" ".join(scopes), " ".join(scopes))))
    equal(described - routes, set(), "described, but not in src/api/routes.c")
    equal(routes - described, set(), "in src/api/routes.c, but not in src/api/openapi.json")


@case
def the_router_says_the_same():
    with Server() as s:
        for path in API["paths"]:
            target = re.sub(r"\{\w+\}", "1", path)
            items = [API["paths"][other] for pattern, other in PATHS if pattern.fullmatch(target)]
            methods = {m.upper() for item in items for m in item if m != "parameters"}
            answer = s.request(next(m for m in ("PUT", "PATCH", "DELETE") if m not in methods), target)
            equal(answer.status, 405, target)
            want = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
            equal(set(answer.headers["allow"].split(", ")), want, target)


@case
def it_is_served_as_it_is_written():
    with Server() as s:
        answer = s.get("/openapi.json")
        equal(answer.json, API)
        equal(answer.headers["content-type"], "application/json")
        again = s.get("/openapi.json", headers={"If-None-Match": answer.headers["etag"]})
        equal((again.status, again.body), (304, b""))
    version = re.search(r"version: '([^']*)'", read("meson.build"))[1]
    equal(API["info"]["version"], version)


@case
def a_false_answer_would_be_seen():
    job = {"job_id": "x", "agent": "a", "owner": None, "state": "queued", "outcome": None, "error": None, "error_type": None, "attempt": 0,
           "worker": None, "cancel_requested": False, "events": 1, "created_at": None, "started_at": None, "finished_at": None,
           "expires_at": None, "expired": False, "set_aside": None, "details": None, "output": None}

    def ok(body, status=200, kind="application/json"):
        try:
            hold("GET", "/v1/jobs/x", None, status, {"content-type": kind}, json.dumps(body).encode())
            return True
        except AssertionError:
            return False

    check(ok(job))
    check(not ok({**job, "more": 1}), "a member too many")
    check(not ok({k: v for k, v in job.items() if k != "state"}), "a member too few")
    check(not ok({**job, "state": "dreaming"}), "a value that is not listed")
    check(not ok(job, 201), "a status that is not described")
    check(not ok(job, kind="text/plain"), "a type that is not described")


# --- every operation, once -------------------------------------------------------------------


def components(s, folder):
    os.mkdir(os.path.join(folder, "page"))
    for name in ("entrypoint.js", "entrypoint.css"):
        with open(os.path.join(folder, "page", name), "w") as f:
            f.write("/* */")
        equal(s.get(f"/ui/page/{name}").body, b"/* */")
    html = s.post("/ui/page", {"name": "x"})
    check(html.body.endswith(b"</script>"), repr(html))
    for path in ("/ui/page/none.js", "/ui/none/entrypoint.js"):
        equal(s.get(path).status, 404, path)


def tour(s):
    for path in ("/", "/livez", "/readyz", "/healthz", "/metrics", "/openapi.json", "/docs", "/docs/api.js", "/docs/api.css",
                 "/console/app.js", "/console/app.css", "/console/icon.svg", "/v1/workers", "/v1/gateways", "/v1/dialects", "/v1/jobs/async/agents"):
        equal(s.get(path).status, 200, path)
    id = s.submit(input={"question": "why?"})
    lease = Worker(s).lease()
    lease.beat()
    check(id in [w["job_id"] for w in s.get("/v1/workers").json["workers"]])
    equal(lease.hand_back().status, 200)
    lease = Worker(s).lease()
    checkpoints(s, lease)
    items(s)
    states(s)
    assistants(s)
    crons(s)
    webhooks(s)
    lease.send(*STORY, "no JSON")
    lease.finish()
    equal(Worker(s).ask(wait=0).status, 204)
    s.submit()
    equal(s.get("/v1/agents/pull/queue?wait=1").json["queued"], 1)
    bound = Worker(s).lease(executor="e-1")
    equal(s.post(bound.path("heartbeat", executor="e-1", wait=0)).status, 200)
    equal(s.post(bound.path("lose", executor="e-1"), {"error": "it goes down"}).status, 200)
    call(s)
    job = f"/v1/jobs/async/job/{id}"
    for path in ("/v1/jobs", "/v1/jobs?limit=1", f"/v1/jobs/{id}", f"/v1/jobs/{id}/events?wait=0&limit=3", job, f"{job}/state", f"{job}/report"):
        equal(s.get(path).status, 200, path)
    for path in (f"/v1/jobs/{id}/events", f"{job}/stream", f"{job}/stream/3"):
        gateway.Stream(s, path).rest().close()
    Lines(s, f"/v1/stream?jobs={id}").rest().close()
    equal(s.post(f"/v1/jobs/{id}/cancel").status, 409)
    other = s.submit()
    equal(s.post(f"/v1/jobs/{other}/release").status, 200)
    equal(s.post(f"/v1/jobs/{other}/cancel").status, 200)
    equal(s.request("DELETE", f"/v1/jobs/{other}").status, 204)
    a = s.post("/v1/jobs/async/submit", {"agent_type": "pull", "input": "x"})
    equal(s.post(f"/v1/jobs/async/job/{a.json['job_id']}/cancel").status, 200)
    equal(s.post("/v1/tickets", {"job_id": id, "ttl": 60}).status, 201)
    equal(s.post("/v1/session").status, 201)
    threads(s)
    thread_protocol(s)
    mcp(s)
    cards(s)
    tokens(s)


def threads(s):
    t = s.post("/threads", {"metadata": {"a": 1}}).json["thread_id"]
    equal(s.post("/threads", {"thread_id": t}).status, 409)
    for method, path, body in (("GET", "", None), ("PATCH", "", {"metadata": {"b": 2}}), ("POST", "/copy", None)):
        equal(s.request(method, f"/threads/{t}{path}", body).status, 200, path)
    for path in ("search", "count"):
        equal(s.post(f"/threads/{path}", {"metadata": {"a": 1}}).status, 200)
    for path in (f"/threads/{t}/runs", "/runs"):
        id = s.post(path, {"assistant_id": "pull", "input": 1}).json["run_id"]
        lease = Worker(s).lease()
        check("run" in lease.order and "thread" in lease.order, lease.order)
        lease.finish()
        gateway.Stream(s, f"{path}/{id}/stream").rest().close()
        for kind in ("stream", "wait"):
            a, _ = gateway.at_once(lambda: s.post(f"{path}/{kind}", {"assistant_id": "pull", "input": 1}),
                                   lambda: Worker(s).lease().finish())
            equal(a.status, 200)
    first = s.get(f"/threads/{t}/runs").json[0]["run_id"]
    for path in ("", "/join"):
        equal(s.get(f"/threads/{t}/runs/{first}{path}").status, 200, path)
    equal(s.post(f"/threads/{t}/runs/{first}/cancel").status, 404)
    open_one = s.post(f"/threads/{t}/runs", {"assistant_id": "pull", "input": 1}).json["run_id"]
    for wait in "01":
        equal(s.post(f"/threads/{t}/runs/{open_one}/cancel?wait={wait}").status, (202, 200)[int(wait)])
    equal(s.request("DELETE", f"/threads/{t}/runs/{first}").status, 204)
    equal(s.post("/runs/batch", [{"assistant_id": "pull"}]).status, 200)
    equal(s.post("/runs/cancel", {"thread_id": t, "run_ids": []}).status, 204)
    equal(s.post("/threads/prune", {"thread_ids": []}).status, 200)
    equal(s.request("DELETE", f"/threads/{t}").status, 204)


def thread_protocol(s):
    thread = "/threads/" + s.post("/threads", {}).json["thread_id"]
    command = {"id": 1, "method": "run.start", "params": {"assistant_id": "pull", "input": {}}}
    equal(s.post(f"{thread}/commands", command).json["type"], "success")
    Worker(s).lease().finish()
    equal(s.post(f"{thread}/commands", {"id": 2, "method": "no.such"}).json["type"], "error")
    # Frames of threads have their id last, which Stream does not read: of these channels there are none.
    with gateway.Stream(s, f"{thread}/stream/events", method="POST", body={"channels": ["tools"]}) as events:
        equal(events.status, 200)
    with gateway.Stream(s, f"{thread}/stream") as joined:
        equal(joined.status, 200)
    equal(s.get("/threads/00000000-0000-4000-8000-000000000000/stream").status, 404)
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    with gateway.Stream(s, f"{thread}/stream/events", headers=upgrade) as socket:
        equal(socket.status, 101)
    equal(s.get(f"{thread}/stream/events").status, 426)


def cards(s):
    for folder, query in ("", "?assistant_id=pull"), ("/a2a/pull", ""):
        for name in "agent-card.json", "agent.json":
            equal(s.get(f"{folder}/.well-known/{name}{query}").status, 200, folder + name)
    equal(s.get("/a2a/pull").status, 200)
    equal(s.post("/a2a/pull", {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}).json["error"]["code"], -32004)


def mcp(s):
    for body, status in (({"id": 1, "method": "ping"}, 200), ({"id": "a", "method": "tools/list"}, 200),
                         ({"method": "notifications/initialized"}, 202)):
        equal(s.post("/mcp", {"jsonrpc": "2.0", **body}).status, status, body)


def crons(s):
    body = {"assistant_id": "pull", "schedule": "0 0 1 1 *", "timezone": "Europe/Berlin"}
    thread = s.post("/threads", {}).json["thread_id"]
    equal(s.post(f"/threads/{thread}/runs/crons", body).status, 200)
    path = "/runs/crons/" + s.post("/runs/crons", body).json["cron_id"]
    equal(s.get(path).status, 200)
    equal(s.request("PATCH", path, {"enabled": False}).status, 200)
    for find in ("search", "count"):
        equal(s.post(f"/runs/crons/{find}", {"thread_id": thread}).status, 200, find)
    equal(s.request("DELETE", path).status, 204)
    equal(s.get(path).status, 404)


def webhooks(s):
    body = {"assistant_id": "pull", "input": {}, "webhook": "http://hooks.invalid/"}
    thread = "/threads/" + s.post("/threads", {}).json["thread_id"]
    run = s.post(f"{thread}/runs", body).json["run_id"]
    equal(s.post("/runs", {**body, "webhook": "http://other.invalid/"}).status, 422)
    equal(s.post(f"/v1/webhooks/{run}/resend").status, 409)
    equal(s.post(f"{thread}/runs/{run}/cancel").status, 202)
    for path in ("/v1/webhooks", "/v1/webhooks?state=pending&limit=1", f"/v1/webhooks/{run}"):
        equal(s.get(path).status, 200, path)
    equal(s.post(f"/v1/webhooks/{run}/resend").status, 200)
    for path in ("/v1/webhooks/none", "/v1/webhooks/none/resend"):
        equal(s.request("POST" if path.endswith("resend") else "GET", path).status, 404)


def assistants(s):
    for path in ("/ok", "/info", "/assistants/pull"):
        equal(s.get(path).status, 200, path)
    made = s.post("/assistants", {"graph_id": "pull", "config": {"configurable": {"a": 1}}}).json["assistant_id"]
    equal(s.request("PATCH", f"/assistants/{made}", {"name": "mine"}).json["version"], 2)
    for path, body in (("versions", {}), ("latest", {"version": 1})):
        equal(s.post(f"/assistants/{made}/{path}", body).status, 200, path)
    equal(s.request("DELETE", f"/assistants/{made}").status, 204)
    for path in ("search", "count"):
        equal(s.post(f"/assistants/{path}", {"graph_id": "pull"}).status, 200, path)

    def answer():
        order = Worker(s).ask(calls=True).json
        s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": {}})
    for path in ("graph", "schemas", "subgraphs", "subgraphs/x"):
        _, a = gateway.at_once(answer, lambda: s.get(f"/assistants/pull/{path}"))
        equal(a.status, 200, path)


def states(s):
    thread = s.post("/threads", {}).json["thread_id"]
    equal(s.post(f"/threads/{thread}/runs", {"assistant_id": "pull", "input": {}}).status, 200)
    lease = Worker(s).lease()
    path, fence = f"/v1/worker/threads/{thread}", f"?job={lease.job}&lease={lease.token}"
    s.post(f"{path}/checkpoints{fence}", {"id": "1", "checkpoint": {"type": "json", "data": "e30="}})
    s.post(f"{path}/state{fence}", {"id": "1", "state": {"values": {}}})
    lease.finish()
    for path in ("state", "state?subgraphs=true", "state/1"):
        equal(s.get(f"/threads/{thread}/{path}").status, 200, path)
    equal(s.post(f"/threads/{thread}/state/checkpoint", {"checkpoint": {"checkpoint_id": "1"}}).status, 200)
    equal(len(s.post(f"/threads/{thread}/history", {"limit": 5}).json), 1)

    def answer():
        order = Worker(s).ask(calls=True).json
        s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": {"checkpoint": {"checkpoint_id": "1"}}})
    _, a = gateway.at_once(answer, lambda: s.post(f"/threads/{thread}/state", {"values": {"n": 1}}))
    equal(a.status, 200, repr(a))


def items(s):
    place = {"namespace": ["a", "b"], "key": "k"}
    equal(s.request("PUT", "/store/items", {**place, "value": {"n": 1}, "ttl": 5}).status, 204)
    equal(s.get("/store/items?namespace=a.b&key=k").json["value"], {"n": 1})
    for path, body in (("items/search", {"namespace_prefix": ["a"], "query": "n"}), ("namespaces", {"prefix": ["a"]})):
        equal(s.post(f"/store/{path}", body).status, 200, path)
    equal(s.request("DELETE", "/store/items", place).status, 204)
    equal(s.get("/store/items?namespace=a.b&key=k").json, None)


def checkpoints(s, lease):
    thread, fence = f"/v1/worker/threads/{lease.job}", f"?job={lease.job}&lease={lease.token}"
    value = {"type": "json", "data": "e30="}
    for path, body in (("checkpoints", {"id": "1", "checkpoint": value, "metadata": {"step": 1}, "versions": {"a": "1"},
                                        "blobs": {"a": {"version": "1", **value}}}),
                       ("writes", {"id": "1", "task": "t", "writes": [{"idx": 0, "channel": "a", **value}]}),
                       ("state", {"id": "1", "state": {"values": {}}}), ("checkpoints/get", {}), ("checkpoints/list", {"limit": 1})):
        equal(s.post(f"{thread}/{path}{fence}", body).status, 200, path)
    equal(s.request("DELETE", f"{thread}/checkpoints{fence}").status, 204)


def call(s):
    def answer():
        order = Worker(s).ask(calls=True).json
        equal(s.post(f"/v1/worker/calls/{order['call']['id']}", {"answer": 1}).status, 200)
    _, a = gateway.at_once(answer, lambda: s.post("/v1/agents/pull/call", {"name": "x"}))
    equal(a.status, 200)
    for error in ("import error: no module", None, 7):
        s.post("/v1/worker/agents/pull/state", {"worker": "w", "error": error})
        s.get("/v1/agents")


def tokens(s):
    """Makes tokens; from the first one on the server requires them."""
    made = s.post("/v1/tokens", {"scope": "admin"})
    equal(made.status, 201)
    me = {"Authorization": f"Bearer {made.json['token']}"}
    other = s.post("/v1/tokens", {"scope": ["read", "worker"], "name": "x", "jobs": "a*", "agents": ["a", "b"],
                                  "expires_seconds": 60, "max_jobs": 1, "max_streams": 0}, headers=me)
    equal(other.status, 201)
    equal(len(s.get("/v1/tokens", headers=me).json["tokens"]), 2)
    equal(s.request("DELETE", f"/v1/tokens/{other.json['id']}", headers=me).status, 204)
    equal(s.request("DELETE", "/v1/tokens/nope", headers=me).status, 404)
    login = s.post("/v1/session", headers=me)
    equal(login.status, 201)
    cookie = {"Cookie": login.headers["set-cookie"].partition(";")[0], "Origin": s.url}
    equal(s.get("/v1/session", headers=cookie).status, 200)
    equal(s.request("DELETE", "/v1/session", headers=cookie).status, 204)


def questions(s):
    s.submit(job_id="asks")
    lease = Worker(s).lease()
    lease.append(root_start(), interrupt({"question": "?", "schema": {"type": "string"}, "expires_in": 60,
                                          "on_expiry": "default", "default": "x"}))
    lease.finish("interrupted")
    equal(len(s.get("/v1/interrupts").json["interrupts"]), 1)
    for body in ({}, {"value": 1}, {"value": "yes"}, {"value": "late"}, {"answers": {"none": 1}}):
        s.post("/v1/jobs/asks/answer", body)
    check("resume" in Worker(s).ask().json)
    s.post("/v1/jobs/asks/pause")
    s.post("/v1/worker/jobs/asks/heartbeat?lease=%s" % lease.token)
    s.post("/v1/jobs/asks/resume")
    s.post("/v1/jobs/asks/resume")
    s.post("/v1/jobs/asks/cancel")


@case
def every_operation_answers_as_described():
    with tempfile.TemporaryDirectory() as folder, Server("--ui", folder, "--webhook-allow", "hooks.invalid", agents={"pull": PULL}) as s:
        questions(s)
        components(s, folder)
        tour(s)
    good = {id for id, status in SEEN.all if status < 300}
    # Only gateways that share a database use it: tests/cluster.
    equal({operation["operationId"] for *_, operation in operations()} - good, {"clusterJournal"}, "never seen to succeed")


@cases(["/v1/jobs", "/v1/worker/lease", "/v1/jobs/async/submit"])
def bodies_that_are_wrong_get_the_errors_that_are_described(path):
    with Server(agents={"pull": PULL}) as s:
        for body in (b"", b"{", b"[]", b"null", b"{}", b'{"agent":1}', b'{"agent":"none"}', b'{"agents":[]}',
                     b'{"agent":"pull","job_id":"a b"}', b'{"agent_type":"none","input":"x"}',
                     b'{"agent_type":"pull","input":"","job_id":"a b","expiry_seconds":1}'):
            answer = s.post(path, body)
            check(answer.status in (400, 422), repr(answer))
