"""`http`: the project's own app, and its settings of the server."""

import http.client
import socket
import time

from gateway import WAIT, until
from handlers import for_each
from harness import case, check, contains, equal
from project import WebSocket, shared

APP = {"http": {"app": "./app.END:app"}}
MARKED = {"http": {"app": "./marked.END:app"}}
GUARDED = {"auth": {"path": "./auth.END:auth", "cache": {"cache_keys": ["authorization"], "ttl_seconds": 60}},
           "http": {"app": "./app.END:app", "enable_custom_route_auth": True}}


@for_each
def the_app_answers_what_it_has_a_route_for(language):
    p = shared(language, APP)
    hello = p.get("/hello/ann?a=1%202", Origin="https://page.example.com")
    equal((hello.status, hello.json["hello"], hello.json["query"], hello.json["began"]), (200, "ann", "a=1%202", True), repr(hello))
    equal(hello.headers["access-control-allow-origin"], "*")
    equal(p.get("/threads/mine").json, {"mine": True})  # before a route of ours
    equal(p.get("/hello").status, 404)
    equal(p.get("/fails").status, 500)
    equal(p.get("/info").status, 200)
    inside = p.get("/inside")
    equal((inside.status, inside.json.get("text")), (200, "inside!"), repr(inside))
    equal(p.ask("OPTIONS", "/hello/x", Origin="https://page.example.com", Access_Control_Request_Method="POST").status, 204)


@for_each
def a_webhook_that_is_a_path_is_posted_to_the_app(language):
    p = shared(language, APP)
    thread = p.post("/threads", {}).json["thread_id"]
    run = p.post(f"/threads/{thread}/runs", {"assistant_id": "agent", "input": {"text": "a"}, "webhook": "/hook"}).json["run_id"]
    said, id = until("the app has it", lambda: p.get("/hook").json)
    equal((said["run_id"], said["thread_id"], said["status"], id), (run, thread, "success", run))
    refused = p.post("/runs", {"assistant_id": "agent", "input": {}, "webhook": "http://127.0.0.1:1/"})
    equal(refused.status, 422)
    contains(refused.json["detail"], "webhook_private")


@for_each
def bodies_and_answers_are_streamed(language):
    p = shared(language, APP)
    connection = http.client.HTTPConnection("127.0.0.1", p.port, timeout=WAIT)
    connection.request("GET", "/count")
    answer = connection.getresponse()
    first = answer.read(2)
    began = time.monotonic()
    rest = answer.read()
    equal(first + rest, b"0\n1\n2\n3\n")
    check(time.monotonic() - began > 0.3, "it came at once")
    connection.close()

    # The app sees a piece of the body before the next one is sent.
    s = socket.create_connection(("127.0.0.1", p.port), WAIT)
    s.sendall(f"POST /length HTTP/1.1\r\nHost: 127.0.0.1:{p.port}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    s.sendall(b"5\r\nhello\r\n")
    got = b""
    while b"5 " not in got.partition(b"\r\n\r\n")[2]:
        got += s.recv(65536)
    s.sendall(b"3\r\nyou\r\n0\r\n\r\n")
    while b"3 " not in got.partition(b"\r\n\r\n")[2]:
        more = s.recv(65536)
        check(more, got)
        got += more
    s.close()

    # Much more than any buffer.
    connection = http.client.HTTPConnection("127.0.0.1", p.port, timeout=WAIT)
    connection.request("POST", "/length", b"x" * 8_000_000)
    equal(sum(map(int, connection.getresponse().read().split())), 8_000_000)
    connection.close()


@for_each
def middleware_sees_our_routes_too(language):
    p = shared(language, MARKED)
    for path in ("/info", "/hello/x", "/nothing"):
        equal(p.get(path).headers.get("x-mine"), "yes", path)
    equal(p.get("/info?stop=1").json, {"stopped": True})
    equal(p.get("/livez").headers.get("x-mine"), None)
    run = p.post("/runs/wait", {"assistant_id": "agent", "input": {"text": "a"}})
    equal((run.json["text"], run.headers.get("x-mine")), ("a!", "yes"), repr(run))
    stream = p.post("/runs/stream", {"assistant_id": "agent", "input": {"text": "a"}, "stream_mode": "values"})
    contains(stream.text, '"text":"a!"')
    thread = p.post("/threads", {}).json["thread_id"]
    equal(WebSocket(p, f"/threads/{thread}/stream/events").status, 101)


@case
def a_websocket_of_the_app_is_passed_on():
    p = shared("python", APP)
    ws = WebSocket(p, "/echo/well")
    equal(ws.status, 101)
    for text in ("one", "two", "x" * 300):
        ws.send(text)
        equal(ws.receive(), "well " + text)
    ws.close()


@for_each
def authentication_is_asked_for_the_apps_routes_too(language):
    p = shared(language, GUARDED)
    equal(p.get("/hello/x").status, 401)
    equal(p.get("/hello/x", "ann").json["user"], "ann")
    equal(p.post("/threads", {}).status, 401)
    equal(p.post("/threads", {}, "ann").status, 200)
    # The project's own code needs no credentials.
    equal(p.get("/inside", "ann").json["text"], "inside!")


@for_each
def callers_are_remembered_by_the_headers_that_the_project_names(language):
    p = shared(language, GUARDED)

    def calls(who):
        """How often the handler was called before it knew @who, as the run's user says."""
        return p.post("/runs/wait", {"assistant_id": "agent", "input": {}}, who).json["user"]["calls"]
    first = calls("ann-again")
    equal([calls("ann-again"), calls("bob-again") > first, calls("ann-again")], [first, True, first])


@case
def what_is_stored_lives_as_long_as_the_project_says():
    about = {"store": {"ttl": {"default_ttl": 0.02, "refresh_on_read": False, "sweep_interval_minutes": 1}},
             "checkpointer": {"ttl": {"default_ttl": 0.02, "strategy": "delete", "sweep_interval_minutes": 1}}}
    p = shared("python", about)
    kept = p.post("/threads", {"ttl": 60}).json["thread_id"]
    thread = p.post("/threads", {}).json["thread_id"]
    p.ask("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {}})
    equal(p.get("/store/items?namespace=a&key=k").status, 200)
    p.post(f"/threads/{thread}/runs/wait", {"assistant_id": "agent", "input": {}})
    until("the item is gone, although it is read", lambda: p.get("/store/items?namespace=a&key=k").json is None)
    until("the thread is gone", lambda: p.get(f"/threads/{thread}").status == 404)
    equal([t["thread_id"] for t in p.post("/threads/search", {}).json], [kept])


@case
def parts_prefix_origins_and_headers_are_as_the_project_says():
    about = {"http": {"disable_store": True, "disable_assistants": True, "disable_meta": True, "disable_mcp": True,
                      "disable_ui": True, "disable_a2a": True, "disable_event_streaming": True, "mount_prefix": "/api",
                      "cors": {"allow_origins": ["https://a.example.com"], "max_age": 5},
                      "configurable_headers": {"includes": ["x-*", "accept-language"], "excludes": ["x-tenant"]},
                      "logging_headers": {}},
             "auth": {"openapi": {}}}
    p = shared("python", about)
    thread = p.post("/threads", {}).json["thread_id"]
    for path in ("/store/namespaces", "/assistants/search", "/mcp", "/api/mcp", "/a2a/agent", "/ui/agent", f"/threads/{thread}/commands",
                 f"/threads/{thread}/stream/events"):
        answer = p.post(path, {})
        equal((answer.status, "Not Found" in answer.text), (404, True), f"{path}: {answer}")
    equal(p.get(f"/threads/{thread}/runs").json, [])
    check("disable" not in p.log(), p.log())
    equal(p.get("/info").status, 404)
    equal(p.get("/ok").status, 200)
    run = p.post("/api/runs/wait", {"assistant_id": "agent", "input": {}}, x_tenant="no", accept_language="de")
    equal(run.json["header"], "de", repr(run))
    equal(p.get("/apis").status, 404)
    equal(p.get("/api/ok", Origin="https://a.example.com").headers["access-control-allow-origin"], "https://a.example.com")
    check("access-control-allow-origin" not in p.get("/ok", Origin="https://b.example.com").headers)
    for name in ("http.cors.max_age", "http.logging_headers", "auth.openapi"):
        equal(p.log().count(f"'{name}' is ignored"), 1, name)
