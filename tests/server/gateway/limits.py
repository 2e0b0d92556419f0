"""Limits: slow clients, large requests, and requests from other hosts and origins."""

import contextlib
import json
import os
import pty
import re
import resource
import select
import time

from gateway import (OPENING, PULL, WAIT, Server, Stream, Worker, play, read_answer, request_bytes, token,
                     until)
from harness import case, cases, check, contains, equal


def until_closed(sock, seconds):
    """What still came, once the peer has closed or cut."""
    sock.settimeout(seconds)
    data = b""
    try:
        while True:
            more = sock.recv(65536)
            if not more:
                return data
            data += more
    except ConnectionResetError:
        return data
    except TimeoutError:
        raise AssertionError(f"still open after {seconds} s; {data[:200]!r}")


@case
def a_slow_head_is_cut():
    with Server("--head-timeout", "1s") as s:
        with s.connect() as quiet, s.connect() as drip:
            drip.sendall(b"GET /livez HTTP/1.1\r\n")
            drip.settimeout(0.1)

            def is_cut():  # a byte now and then does not help
                try:
                    drip.sendall(b"X")
                    return drip.recv(1000) is not None
                except TimeoutError:
                    return False
                except OSError:
                    return True
            until("it is cut", is_cut)
            equal(s.get("/livez").status, 200)


def lines_on_a_terminal(*flags):
    """What a server with a terminal as its stderr writes for one request."""
    master, slave = pty.openpty()
    with Server(*flags, start=False) as s, open(master, "rb", buffering=0) as terminal:
        try:
            s.start(stderr=slave)
        finally:
            os.close(slave)
        equal(s.get("/v1/jobs/nope?secret=1").status, 404)
        seen = b""
        while b"/v1/jobs/nope" not in seen or not seen.endswith(b"\n"):
            check(select.select([terminal], [], [], WAIT)[0], f"no line: {seen!r}")
            seen += terminal.read(4096)
        return [row for row in seen.decode().splitlines() if "/v1/jobs/nope" in row]


def is_json(row):
    return row.startswith("{") and isinstance(json.loads(row), dict)


@case
def the_log_is_text_on_a_terminal_and_json_lines_elsewhere():
    text, = lines_on_a_terminal()
    check(not is_json(text), text)
    contains(text, "GET /v1/jobs/nope", "404")
    check("secret" not in text, "no query")
    forced, = lines_on_a_terminal("--access-log", "json")
    check(is_json(forced), forced)
    with Server() as s:  # a file
        s.get("/v1/jobs/nope")
        row = until("a line", lambda: [r for r in s.err().splitlines() if "/v1/jobs/nope" in r])[0]
        check(is_json(row), row)
        equal((json.loads(row)["path"], json.loads(row)["status"]), ("/v1/jobs/nope", 404))
    with Server("--access-log", "text") as s:
        s.get("/v1/jobs/nope")
        row = until("a line", lambda: [r for r in s.err().splitlines() if "/v1/jobs/nope" in r])[0]
        check(not is_json(row), row)


@case
def each_kind_of_body_has_its_limit():
    """max_body, max_input and max_batch: each one alone decides for its routes."""
    flags = ["--max-body", "1K", "--max-input", "3K", "--max-batch", "5K"]
    with Server(*flags, agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        event = b'{"type":"custom","data":"%s"}\n'
        for path, good, limit in (("/v1/tickets", 404, 1024), ("/v1/jobs/nope/cancel", 404, 1024), ("/v1/worker/lease", 204, 1024),
                                  ("/v1/jobs", 202, 3072), ("/v1/jobs/async/submit", 202, 3072),
                                  (lease.path("events"), 200, 5120)):
            filled = {"/v1/worker/lease": b'{"agents":["pull"],"wait":0,"x":"%s"}', lease.path("events"): event,
                      "/v1/tickets": b'{"job_id":"nope","x":"%s"}'}.get(path, b'{"agent":"pull","agent_type":"pull","input":"%s"}')
            fits = filled.replace(b"%s", b"x" * (limit - len(filled) + 2))
            equal(len(fits), limit)
            equal((path, s.post(path, fits).status), (path, good))
            equal((path, s.post(path, fits + b" ").status), (path, 413))
        equal(s.post(lease.path("finish"), b'{"status":"success"%s}' % (b" " * 5120)).status, 413)
        equal(lease.finish(), "succeeded")


@case
def how_slow_a_body_may_be_is_an_option():
    with Server("--body-min-rate", "1") as s, s.connect() as sock:
        sock.sendall(request_bytes(s, "POST", "/v1/jobs/nope/cancel", None, {"Content-Length": "40"}))
        start = time.monotonic()
        for _ in range(40):  # 5 bytes a second: for a second window of 5 s
            time.sleep(0.2)
            sock.sendall(b" ")
        equal(read_answer(sock).status, 404)
        check(time.monotonic() - start > 7)


@case
def a_slow_body_is_cut():
    with Server("--head-timeout", "1s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "POST", lease.path("events"), None, {"Content-Length": "1000000"}))
            start = time.monotonic()
            sock.settimeout(0.2)
            data = None
            while data is None:
                check(time.monotonic() - start < 2 * WAIT, "it is not cut")
                try:
                    sock.sendall(b" ")
                    data = sock.recv(1000)
                except TimeoutError:
                    continue
                except OSError:
                    data = b""
            check(data == b"" or b" 408 " in data, data)
        equal(lease.finish(), "succeeded")
        equal(s.job("j")["events"], 2)


def leave_descriptors(server, n):
    """From now on @server can open @n more files."""
    limit = len(os.listdir(f"/proc/{server.pid}/fd")) + n
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (limit, resource.prlimit(server.pid, resource.RLIMIT_NOFILE)[1]))


def asked_at_once(server, path):
    """Before the time of the silent ones is over, which is 3 s."""
    start = time.monotonic()
    status = server.get(path, seconds=5).status
    check(time.monotonic() - start < 2.5, "it had to wait")
    return status


@cases(["descriptors", "connections"])
def the_silent_do_not_hold_the_reserve(what):
    """Three times as many as there is room for, on every loop: health is still answered at once."""
    flags = ["--max-connections", "16"] if what == "connections" else []
    with Server("--loops", "2", *flags) as s, contextlib.ExitStack() as open_sockets:
        if what == "descriptors":
            leave_descriptors(s, 30)
        for i in range(150):
            sock = open_sockets.enter_context(s.connect())
            if i % 3 == 1:
                sock.sendall(b"GET /livez HTTP/1.1\r\n")  # half a head
            elif i % 3 == 2:
                sock.sendall(request_bytes(s, "GET", "/v1/jobs"))  # 503, and it does not close
        for _ in range(20):
            equal(asked_at_once(s, "/livez"), 200)
        equal(asked_at_once(s, "/readyz"), 200)
        a = s.get("/v1/jobs")
        check((a.status, a.headers.get("retry-after")) == (503, "1") or what == "descriptors", a)  # else one may be free
        open_sockets.close()
        until("everything is served again", lambda: s.get("/v1/jobs").status == 200)


@case
def an_idle_connection_is_closed():
    with Server("--idle-timeout", "1s") as s:
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "GET", "/livez"))
            equal(read_answer(sock).status, 200)
            equal(until_closed(sock, WAIT), b"")


@case
def a_reader_that_takes_nothing_is_cut_and_logged():
    with Server("--write-timeout", "1s", "--durability", "relaxed", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING, *[token("x" * 2000)] * 8000)
        stuck = Stream(s, "/v1/jobs/j/events?dialect=raw", receive_buffer=4096)
        until("the log says so", lambda: any('"event":"stream"' in row and '"why"' in row for row in s.err().splitlines()))
        row = [json.loads(row) for row in s.err().splitlines() if '"event":"stream"' in row][-1]
        check(row["why"] and row["path"].endswith("/events"), row)
        stuck.rest()
        check(stuck.ended != "clean", "it is not told that this was all")
        full = s.stream("j", "raw", after=stuck.stored[-1].id)
        full.until_id(s.job("j")["events"])
        equal(full.stored[0].id, str(int(stuck.stored[-1].id) + 1), "it goes on where it was")


@case
def large_heads_and_bodies():
    with Server("--max-head", "4K", "--max-body", "2K", agents={"pull": PULL}) as s:
        a = s.get("/livez", headers={"X-Large": "x" * 6000})
        equal((a.status, a.detail), (431, "The request's head is too large: at most 4096 bytes"))
        a = s.get("/livez?" + "x" * 6000)
        equal(a.status, 414, repr(a))
        s.submit(job_id="j")
        lease = Worker(s).lease()
        a = s.post("/v1/jobs/j/cancel", b"x" * 3000)
        equal((a.status, a.detail), (413, "The request's body is too large: at most 2048 bytes"))
        a = s.post("/v1/worker/lease", b"x" * 70000)
        equal(a.status, 413, repr(a))
        a = s.post("/v1/jobs", b'{"agent":"pull","input":"' + b"x" * 5_000_000 + b'"}')
        equal(a.status, 413, repr(a))
        equal(s.get("/livez").status, 200)
        equal(s.state("j"), "running")
        a = s.get("/livez", headers={f"X-{i}": "y" for i in range(1000)})
        equal(a.status, 431, repr(a))


@case
def hosts_are_checked():
    with Server("--hosts", "gateway.example,other.example:99", agents={"pull": PULL}) as s:
        for host in (f"127.0.0.1:{s.port}", f"localhost:{s.port}", "gateway.example", "other.example:99"):
            equal(s.get("/v1/jobs", headers={"Host": host}).status, 200, host)
        for host in ("evil.example", f"evil.example:{s.port}", "127.0.0.1.evil.example", f"127.0.0.1:{s.port}.evil.example",
                     "other.example", "localhost.evil.example"):
            for path in ("/v1/jobs", "/v1/jobs/async/agents", "/livez"):
                equal(s.get(path, headers={"Host": host}).status, 403, f"{host}: DNS rebinding")
            equal(s.post("/v1/jobs", {"agent": "pull"}, headers={"Host": host}).status, 403, host)
        with s.connect() as sock:
            sock.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
            equal(read_answer(sock).status, 400, "HTTP/1.1 has a Host")
        equal(s.get("/v1/jobs").json["jobs"], [])


@case
def origins_are_checked():
    with Server("--origins", "https://app.example.com", agents={"pull": PULL}) as s:
        here = f"http://127.0.0.1:{s.port}"
        for origin in ("https://app.example.com", here):
            a = s.post("/v1/jobs", {"agent": "pull"}, headers={"Origin": origin})
            equal(a.status, 202, origin)
        a = s.get("/v1/jobs", headers={"Origin": "https://app.example.com"})
        equal(a.headers["access-control-allow-origin"], "https://app.example.com")
        n = len(s.get("/v1/jobs").json["jobs"])
        for origin in ("https://evil.example", "http://app.example.com", "https://app.example.com.evil.example", "null",
                       f"https://127.0.0.1:{s.port}", "https://app.example.com:8443"):
            for path, body in (("/v1/jobs", {"agent": "pull"}), ("/v1/jobs/async/submit", {"agent_type": "pull", "input": "x"}),
                               ("/v1/worker/lease", {"agents": ["pull"]})):
                a = s.post(path, body, headers={"Origin": origin, "Content-Type": "text/plain"})
                equal(a.status, 403, f"{origin}: a page of somebody else's")
            a = s.get("/v1/jobs", headers={"Origin": origin})
            check("access-control-allow-origin" not in a.headers, f"{origin} may not read")
        a = s.post("/v1/jobs", {"agent": "pull"}, headers={"Sec-Fetch-Site": "cross-site"})
        equal(a.status, 403)
        equal(len(s.get("/v1/jobs").json["jobs"]), n)


@case
def a_get_that_changes_something_is_checked_as_any_other_request():
    """An image of somebody's page is a GET without Origin; nothing must come of it."""
    with Server("--origins", "https://app.example.com", agents={"pull": PULL}) as s:
        here = f"http://127.0.0.1:{s.port}"
        t = s.post("/threads", {}).json["thread_id"]
        run = s.post(f"/threads/{t}/runs", {"assistant_id": "pull", "input": {}}).json["run_id"]
        s.request("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {}})
        acts = [f"/runs/{run}/stream?cancel_on_disconnect=1", f"/threads/{t}/runs/{run}/stream?cancel_on_disconnect=true",
                f"/threads/{t}/runs/{run}/join?cancel_on_disconnect=1", "/store/items?namespace=a&key=k&refresh_ttl=true",
                "/assistants/pull/schemas", "/assistants/pull/graph", "/assistants/pull/subgraphs"]
        for path in acts:
            for page in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
                         {"Origin": "null"}, {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}):
                equal(s.get(path, headers=page).status, 403, f"{path} {page}")
        with Stream(s, f"/runs/{run}/stream", headers={"Sec-Fetch-Site": "cross-site"}) as st:
            equal(st.status, 200, "to read is no act")
        equal(s.get("/store/items?namespace=a&key=k", headers={"Sec-Fetch-Site": "cross-site"}).status, 200)
        equal(s.state(run), "queued")
        for page in ({"Origin": "https://app.example.com", "Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}, {}):
            equal(s.get(acts[3], headers=page).status, 200, page)
        with Stream(s, acts[0], headers={"Origin": here, "Sec-Fetch-Site": "same-origin"}) as st:
            equal(st.status, 200)
        s.until_state(run, "cancelled")


@case
def preflights():
    with Server("--origins", "https://app.example.com", agents={"pull": PULL}) as s:
        ask = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "content-type,idempotency-key,authorization,last-event-id"}
        a = s.request("OPTIONS", "/v1/jobs", headers=ask)
        equal(a.status, 204)
        equal(a.headers["access-control-allow-origin"], "https://app.example.com")
        allowed = a.headers["access-control-allow-headers"].lower()
        for name in ("content-type", "idempotency-key", "authorization", "last-event-id"):
            contains(allowed, name)
        contains(a.headers["access-control-allow-methods"], "POST")
        a = s.request("OPTIONS", "/v1/jobs", headers=dict(ask, Origin="https://evil.example"))
        check("access-control-allow-origin" not in a.headers, a.headers)
        s.submit(job_id="j")
        with Stream(s, "/v1/jobs/j/events", headers={"Origin": "https://app.example.com"}) as st:
            equal(st.headers["access-control-allow-origin"], "https://app.example.com")
            contains(st.headers.get("vary", ""), "Origin")


@case
def malformed_requests_are_400_and_closed():
    with Server(agents={"pull": PULL}) as s:
        host = f"Host: 127.0.0.1:{s.port}\r\n"
        for text in (f"POST /v1/jobs HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     f"POST /v1/jobs HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                     f"POST /v1/jobs HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                     f"GET /livez HTTP/1.1\n{host}\n\n", f"GET /livez HTTP/1.1\r\n{host}X: a\r\n b\r\n\r\n",
                     f"GET /livez HTTP/1.1\r\n{host}X: a\0b\r\n\r\n", f"GET /liv\0ez HTTP/1.1\r\n{host}\r\n",
                     f"GET /%00 HTTP/1.1\r\n{host}Connection: close\r\n\r\n", f"GET /%zz HTTP/1.1\r\n{host}Connection: close\r\n\r\n",
                     "nonsense\r\n\r\n"):
            with s.connect() as sock:
                sock.sendall(text.encode())
                data = until_closed(sock, WAIT)
                contains(data[:20].decode(), " 400 ")
                equal(data.count(b"HTTP/1.1 "), 1, "one answer, and the connection is over")
        equal(s.get("/livez").status, 200)


@case
def connections_are_limited_and_health_is_answered():
    with Server("--max-connections", "12", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        until("earlier ones are closed", lambda: len(os.listdir(f"/proc/{s.pid}/fd")))
        held = [s.stream("j", "agent") for _ in range(12)]
        equal(s.get("/readyz").status, 200, "health checks still get through")
        a = s.get("/v1/jobs")
        equal(a.status, 503, repr(a))
        check("retry-after" in a.headers, a.headers)
        for st in held:
            st.close()
        until("there is room again", lambda: s.get("/v1/jobs").status == 200)


@case
def overload_is_no_503_for_streams():
    with Server("--max-connections", "8", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        held = [s.stream("j", "agent") for _ in range(8)]
        for path in ("/v1/jobs/j/events?dialect=agent", "/v1/jobs/j/events?dialect=aiq", "/v1/jobs/async/job/j/stream",
                     "/v1/jobs/async/job/j/stream/3"):
            with Stream(s, path) as st:
                equal((st.status, st.headers["content-type"]), (200, "text/event-stream; charset=utf-8"), path)
                st.rest()
                check(st.ended != "clean", "cut, not ended")
                equal(len(st.retries), 1, path)
                equal(st.frames, [])
        for st in held:
            st.close()


@case
def connections_of_one_address_are_limited():
    with Server("--max-connections-per-address", "5", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        held = []
        for _ in range(5):
            held.append(until("a place", lambda: _open(s)))
        with s.connect() as sock:
            try:
                sock.sendall(request_bytes(s, "GET", "/v1/jobs"))
                data = until_closed(sock, WAIT)
            except OSError:
                data = b""
            check(data == b"" or b" 503 " in data[:20] or b" 429 " in data[:20], data)
        for st in held:
            st.close()
        until("there is room again", lambda: _open(s)).close()


def _open(s):
    try:
        st = s.stream("j", "agent")
    except (OSError, AssertionError):
        return None
    if st.status == 200 and not st.ended:
        return st
    st.close()
    return None


@case
def request_ids_come_back():
    with Server() as s:
        equal(s.get("/livez", headers={"X-Request-Id": "my-id.7"}).headers["x-request-id"], "my-id.7")
        check(s.get("/livez", headers={"X-Request-Id": "a b\"c"}).headers["x-request-id"] != "a b\"c")
        ids = {s.get("/livez").headers["x-request-id"] for _ in range(10)}
        equal(len(ids), 10)
        until("the log has it", lambda: "my-id.7" in s.err())


@case
def pipelined_requests_are_answered_in_order():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        with s.connect() as sock:
            paths = [f"/v1/jobs/{id}", "/livez", "/v1/jobs/nope", "/v1/dialects", f"/v1/jobs/async/job/{id}/state"] * 10
            sock.sendall(b"".join(request_bytes(s, "GET", p, None, {"Connection": "close"} if i == len(paths) - 1 else None)
                                  for i, p in enumerate(paths)))
            data = until_closed(sock, WAIT)
        statuses = re.findall(rb"HTTP/1\.1 (\d+) ", data)
        equal(statuses, [b"200", b"200", b"404", b"200", b"200"] * 10)


@case
def pipelined_requests_that_wait_for_the_journal_do_not_wait_for_the_clock():
    """Each waits for the answer before it.  The loop's tick is 250 ms: that is what each one cost when nothing
    else woke the loop."""
    n = 20
    with Server("--loops", "1", agents={"pull": PULL}) as s, s.connect() as sock:
        wire = b"".join(request_bytes(s, "POST", "/threads", {}) for _ in range(n))

        def took_less_than_a_tick_each():
            began, data = time.monotonic(), b""
            sock.sendall(wire)
            while data.count(b"HTTP/1.1 200 ") < n or not data.endswith(b"}"):
                data += sock.recv(1 << 20)
            return time.monotonic() - began < n * 0.1

        until("the requests are answered at once", took_less_than_a_tick_each)
