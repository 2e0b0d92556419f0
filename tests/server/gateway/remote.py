"""Http agents: a remote endpoint that gets each job by a POST and streams its events."""

import json
import os
import socket
import ssl
import subprocess
import threading
import time

from gateway import STORY, WAIT, Server, again, fixed_port, interrupt, lines, root_end, root_start, token, until
from harness import case, cases, check, contains, equal, spoolwire

SSE = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
JSONL = SSE.replace("text/event-stream", "application/x-ndjson")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


END = b"0\r\n\r\n"


def sse(*events, name="data", end="\n"):
    """As LangServe does: each event has a name, and its data may have several lines."""
    blocks = []
    for e in events:
        rows = json.dumps(e, indent=1 if name == "data" else None).split("\n")
        blocks.append(f"event: {name}{end}" + "".join(f"data: {row}{end}" for row in rows) + end)
    return "".join(blocks).encode()


class Request:
    def __init__(self, sock, head, body):
        self.sock, self.body = sock, body
        rows = head.split("\r\n")
        self.line = rows[0]
        self.headers = {k.lower(): v for k, v in (row.split(": ", 1) for row in rows[1:])}

    @property
    def json(self):
        return json.loads(self.body)

    def say(self, head, *parts):
        self.sock.sendall(head.encode() + b"".join(parts))

    def is_cut(self, seconds=WAIT):
        """Has the other side closed it?"""
        self.sock.settimeout(seconds)
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True


class Endpoint:
    """Answers one request after another with @play(request), each on a thread."""

    def __init__(self, play, context=None):
        self.play, self.context = play, context
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}/run/stream"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[sock], daemon=True).start()

    def serve(self, sock):
        try:
            with sock if self.context is None else self.context.wrap_socket(sock, server_side=True) as s:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += s.recv(65536)
                head, _, body = data.partition(b"\r\n\r\n")
                request = Request(s, head.decode(), body)
                while len(request.body) < int(request.headers["content-length"]):
                    request.body += s.recv(65536)
                self.requests.append(request)
                self.play(request)
        except (OSError, ssl.SSLError):
            pass  # the server may close at any time

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def run(play, want, input="x", agent=(), **more):
    """One job at an endpoint that plays so."""
    with Endpoint(play) as e, Server(agents={"a": {"http": dict({"url": e.url}, **dict(agent)), **more}}) as s:
        id = s.submit("a", input)
        job = s.until_state(id, want)
        frames = s.read(id, "agent") if want != "waiting" else []
        return job, frames, e.requests


def tokens(frames):
    return [f.json["token"] for f in frames if f.event == "agent.token"]


FRAMED = {
    "sse": lambda: (SSE, chunk(sse(*STORY)), END),
    "sse crlf": lambda: (SSE, chunk(sse(*STORY, end="\r\n")), END),
    "json lines": lambda: (JSONL, chunk(lines(*STORY)), END),
    "no last newline": lambda: (JSONL, chunk(lines(*STORY)[:-1]), END),
    "pieces of 7 bytes": lambda: (SSE, *[chunk(sse(*STORY)[i:i + 7]) for i in range(0, len(sse(*STORY)), 7)], END),
    "until it closes": lambda: ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", sse(*STORY)),
    "with comments and an end": lambda: (SSE, chunk(b": hello\n\n" + sse(*STORY) + b"event: end\n\n"), END),
}


@cases(FRAMED)
def a_stream_is_taken(how):
    job, frames, requests = run(lambda r: r.say(*FRAMED[how]()), "succeeded", {"q": [1.0, "ä"]})
    equal((job["error"], job["attempt"], frames[-1].event), (None, 1, "job.done"))
    equal(tokens(frames), ["a", "b", "c"])
    equal((len(requests), requests[0].line, requests[0].json),
          (1, "POST /run/stream HTTP/1.1", {"q": [1.0, "ä"]}))


@case
def a_line_that_is_no_event_is_told_as_what_it_is():
    with Endpoint(lambda r: r.say(JSONL, chunk(b'{"no":"event"}\n' + lines(*STORY)), END)) as e, \
            Server(agents={"a": {"http": e.url}}) as s:
        s.until_state(s.submit("a", "x"), "succeeded")
        (said,) = until("it is said", lambda: [row for row in s.err().splitlines() if "no known event" in row])
        contains(said, "the answer of the endpoint: line 1")


@case
def what_is_said_in_the_head():
    def play(r):
        r.say(JSONL, chunk(lines(*STORY)), END)

    with Endpoint(play) as e, Server(env={"REMOTE_KEY": "s3cret"}, agents={"a": {"http": {
            "url": e.url + "/{job}?v=1", "headers": {"X-Api-Key": "Bearer ${REMOTE_KEY}"}}}}) as s:
        s.submit("a", job_id="my-job")
        s.until_state("my-job", "succeeded")
        (r,) = e.requests
        equal(r.line, "POST /run/stream/my-job?v=1 HTTP/1.1")
        equal({k: r.headers.get(k) for k in ("x-api-key", "content-type", "spoolwire-job", "spoolwire-attempt", "expect")},
              {"x-api-key": "Bearer s3cret", "content-type": "application/json", "spoolwire-job": "my-job",
               "spoolwire-attempt": "1", "expect": None})


BODIES = {
    "input": ({"q": 1}, {"resume": {"q-1": "yes"}}),
    "order": ({"job": "j", "attempt": 1, "agent": "a", "input": {"q": 1}, "lease_seconds": 60},
              {"job": "j", "attempt": 2, "agent": "a", "input": {"q": 1}, "resume": {"q-1": "yes"},
               "lease_seconds": 60}),
    "langserve": ({"input": {"q": 1}, "config": {"configurable": {"thread_id": "j"}}},
                  {"input": {"resume": {"q-1": "yes"}}, "config": {"configurable": {"thread_id": "j"}}}),
    "langgraph": ({"assistant_id": "triage", "input": {"q": 1}, "stream_mode": ["updates", "custom"],
                   "stream_subgraphs": True, "on_disconnect": "cancel", "if_not_exists": "create"},
                  {"assistant_id": "triage", "input": None, "command": {"resume": {"q-1": "yes"}},
                   "stream_mode": ["updates", "custom"], "stream_subgraphs": True, "on_disconnect": "cancel",
                   "if_not_exists": "create"}),
}


@cases(BODIES)
def a_question_and_its_answer(body):
    def play(r):
        asks = [root_start(), interrupt("sure?", "q-1")]
        told = asks if r.headers["spoolwire-attempt"] == "1" else again(2, [root_start(), root_end()])
        r.say(SSE, chunk(sse(*told)), END)

    with Endpoint(play) as e, Server(agents={"a": {"http": {
            "url": f"http://127.0.0.1:{e.port}/threads/{{job}}/runs/stream", "body": body, "assistant": "triage",
            "modes": ["updates", "custom"]}}}) as s:
        s.submit("a", {"q": 1}, job_id="j")
        s.until_state("j", "waiting")
        equal(s.post("/v1/jobs/j/answer", {"value": "yes"}).status, 200)
        s.until_state("j", "succeeded")
        equal([r.json for r in e.requests], list(BODIES[body]))


@case
def a_breakpoint_is_passed_without_an_answer():
    def play(r):
        if r.headers["spoolwire-attempt"] == "1":
            r.say(SSE, chunk(sse({"__interrupt__": []}, name="updates")), END)
        else:
            r.say(SSE, chunk(sse({"writer": {"n": 1}}, name="updates")), END)

    with Endpoint(play) as e, Server(agents={"a": {"http": {"url": e.url, "body": "langgraph"}}}) as s:
        s.submit("a", {"q": 1}, job_id="j")
        s.until_state("j", "waiting")
        equal(s.post("/v1/jobs/j/answer", {"value": 1}).status, 409)
        equal(s.post("/v1/jobs/j/resume").status, 200)
        s.until_state("j", "succeeded")
        last = e.requests[1].json
        equal((last["input"], "command" in last, "if_not_exists" in last), (None, False, False))


REFUSALS = {
    "a status": (lambda r: r.say("HTTP/1.1 422 Unprocessable Entity\r\nContent-Length: 25\r\n\r\n",
                                 b'{"detail":"no\x1b[31m such"}'),
                 "RemoteRefused", ['HTTP 422 from http://127.0.0.1:', '{"detail":"no [31m such"}']),
    "a status without a body": (lambda r: r.say("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
                                "RemoteRefused", ["HTTP 500 from"]),
    "a long body": (lambda r: r.say("HTTP/1.1 400 Bad\r\nContent-Length: 9999999\r\n\r\n", b"why " * 9000),
                    "RemoteRefused", ["HTTP 400 from", "why why"]),
    "a redirect": (lambda r: r.say("HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"),
                   "RemoteRefused", ["HTTP 307 from", "redirects are not followed"]),
    "a page": (lambda r: r.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n", b"<html>"),
               "RemoteRefused", ["answered with text/html", "no stream of events"]),
    "plain words": (lambda r: r.say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n", b"hello\n"),
                    "RemoteRefused", ["answered with text/plain", "no stream of events"]),
    "its own error": (lambda r: r.say(SSE, chunk(b'event: error\ndata: {"status_code":500,"message":"it broke"}\n\n'),
                                      END), None, ["it broke"]),
    "no HTTP": (lambda r: r.say("SSH-2.0-what\r\n"), "RemoteUnreachable", ["no answer: http://127.0.0.1:"]),
    "cut in the middle": (lambda r: r.say(SSE, chunk(sse(*STORY[:4]))), "RemoteCut", ["cut: http://127.0.0.1:"]),
    "cut before": (lambda r: r.sock.close(), "RemoteUnreachable", ["no answer: http://127.0.0.1:"]),
    "runs left open": (lambda r: r.say(SSE, chunk(sse(*STORY[:4])), END), None, []),
    "a long line": (lambda r: [r.say(SSE)] + [r.say("", chunk(b"x" * (1 << 20))) for _ in range(18)],
                    "LineTooLong", ["more than 16 MiB"]),
}


@cases(REFUSALS)
def the_reason_is_told(why):
    play, kind, words = REFUSALS[why]
    job, frames, requests = run(play, "failed", attempts=1)
    contains(job["error"], *words)
    check("\x1b" not in job["error"] and len(job["error"]) < 2000, job["error"])
    if kind is not None:
        equal(job["error_type"], kind)
    equal((len(requests), frames[-1].event), (1, "job.failed"))


@case
def nobody_listens():
    with Server(agents={"a": {"http": f"http://127.0.0.1:{fixed_port()}/x?key=secret"}}) as s:
        id = s.submit("a")
        job = s.until_state(id, "failed")
        contains(job["error"], "no answer: http://127.0.0.1:", "/x: ", "onnect")
        check("secret" not in job["error"] + s.err(), "what follows a '?' is not shown")


@cases(["first", "idle"])
def a_slow_one_is_left(which):
    gone = []

    def play(r):
        if which == "idle":
            r.say(SSE, chunk(sse(*STORY[:4])))
        gone.append(r.is_cut())

    job, _, _ = run(play, "failed", agent={which: "300ms"})
    equal(job["error_type"], "RemoteSlow")
    contains(job["error"], {"first": "did not answer within 0.3 s", "idle": "sent nothing for 0.3 s"}[which])
    until("it is closed", lambda: gone == [True])


@case
def comments_are_signs_of_life():
    def play(r):
        r.say(SSE, chunk(sse(*STORY[:4])))
        for _ in range(8):
            time.sleep(0.5)
            r.say("", chunk(b": ping\n\n"))
        r.say("", chunk(sse(*STORY[4:])), END)

    _, frames, _ = run(play, "succeeded", agent={"idle": "3s"})
    equal(tokens(frames), ["a", "b", "c"])


@case
def another_try_when_it_was_not_the_jobs_fault():
    def play(r):
        n = int(r.headers["spoolwire-attempt"])
        if n == 1:
            r.say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        elif n == 2:
            r.say(SSE, chunk(sse(*STORY[:4])))
        else:
            r.say(SSE, chunk(sse(*again(3, STORY))), END)

    job, _, requests = run(play, "succeeded", attempts=3)
    equal((job["attempt"], len(requests)), (3, 3))


@case
def a_cancel_closes_the_connection():
    gone = []

    def play(r):
        r.say(SSE, chunk(sse(*STORY[:6])))
        gone.append(r.is_cut())

    with Endpoint(play) as e, Server(agents={"a": {"http": e.url}}) as s:
        id = s.submit("a")
        with s.stream(id, "agent") as stream:
            stream.until_event("agent.token")
            equal(s.post(f"/v1/jobs/{id}/cancel").status, 200)
            s.until_state(id, "cancelled")
        until("it is closed", lambda: gone == [True])


@case
def places_are_kept_to():
    most, now, lock = [0], [0], threading.Lock()

    def play(r):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        r.say(SSE, chunk(sse(*STORY)), END)

    with Endpoint(play) as e, Server(agents={"a": {"http": e.url, "concurrency": 3}}) as s:
        ids = [s.submit("a") for _ in range(12)]
        for id in ids:
            s.until_state(id, "succeeded")
        equal(len(e.requests), 12)
        check(most[0] <= 3, most)


@case
def a_flood_waits_for_the_journal():
    """More than fits anywhere: all of it arrives, in order, and the server stays small."""
    n, size = 6000, 4000
    opening, closing = STORY[:6], STORY[-4:]

    def play(r):
        r.say(JSONL, chunk(lines(*opening)))
        for i in range(n):
            r.say("", chunk(lines(token(f"{i:06} " + "x" * size))))
        r.say("", chunk(lines(*closing)), END)

    with Endpoint(play) as e, Server(agents={"a": {"http": e.url}}) as s:
        id = s.submit("a")
        s.until_state(id, "succeeded", seconds=120)
        got = [t[:6] for t in tokens(s.read(id, "agent", seconds=60)) if t[:6].isdigit()]
        equal(got, [f"{i:06}" for i in range(n)])


@case
def a_server_that_stops_hands_the_job_back():
    gone = []

    def play(r):
        if r.headers["spoolwire-attempt"] != "1":
            r.say(SSE, chunk(sse(*again(2, STORY))), END)
            return
        r.say(SSE, chunk(sse(*STORY[:6])))
        gone.append(r.is_cut())

    with Endpoint(play) as e, Server(agents={"a": {"http": e.url}}) as s:
        id = s.submit("a")
        with s.stream(id, "agent") as stream:
            stream.until_event("agent.token")
        s.restart()
        s.until_state(id, "succeeded")
        until("it was closed", lambda: gone == [True])


@case
def certificates_are_looked_at():
    with Server(start=False) as s:
        cert, key = os.path.join(s.folder, "cert.pem"), os.path.join(s.folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", cert], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        with Endpoint(lambda r: r.say(SSE, chunk(sse(*STORY)), END), context) as e, Server(
                agents={"known": {"http": {"url": e.url, "ca": cert}}, "unknown": {"http": e.url}}) as t:
            known, unknown = t.submit("known"), t.submit("unknown")
            t.until_state(known, "succeeded")
            contains(t.until_state(unknown, "failed")["error"], "certificate")
            equal(len(e.requests), 1)


WRONG = {
    "url: ftp://x/": "must begin with http",
    "url: http://u:p@x/": "no user or password",
    "{}": "needs a 'command'",
    "url: http://x/\n      bodi: input": "did you mean 'body'",
    "url: http://x/\n      headers: {'a b': c}": "HTTP does not allow",
    "url: http://x/\n    pull: true": "has an 'http' url and 'pull: true'",
    "url: http://x/\n    pool: 2": "has a 'pool' and an 'http' url",
}


@cases(WRONG, name=lambda text: text.replace("\n", " "))
def settings_are_checked(text):
    with Server(start=False) as s:
        path = os.path.join(s.folder, "bad.yaml")
        with open(path, "w") as f:
            f.write(f"agents:\n  a:\n    http:\n      {text}\n")
        done = spoolwire("serve", "--config", path, "--listen", "127.0.0.1:0", cwd=s.folder)
        equal(done.code, 2)
        contains(done.err, WRONG[text])
        check("u:p" not in done.err, done.err)
