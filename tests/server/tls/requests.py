"""Requests, as curl and others send them."""

import json
import os
import subprocess
import tempfile

import gateway
from gateway import PULL, Server, read_answer, request_bytes
from harness import case, cases, check, contains, equal
from secure_server import FIRST

TOKEN = "spw_0123456789ab_" + "0123456789abc" * 4  # of this file's servers


def curl(server, *args, stdin=None):
    done = subprocess.run(["curl", "-sS", "--cacert", FIRST[0], *args], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    equal(done.returncode, 0, done.stderr.decode())
    return done.stdout


@cases([["--tlsv1.2", "--tls-max", "1.2"], ["--tlsv1.3"], ["--http2"], ["--http1.0"]], name=" ".join)
def curl_submits_and_reads(flags):
    with Server() as s:
        job = json.loads(curl(s, *flags, "-d", '{"agent":"demo","input":{"issue":"x","speed":0}}', f"{s.url}/v1/jobs"))
        s.until_state(job["job_id"], "succeeded")
        text = curl(s, *flags, "-N", f"{s.url}/v1/jobs/{job['job_id']}/events?dialect=raw").decode()
        frames = s.read(job["job_id"])
        check(len(frames) > 100)
        equal(text.count("\nevent: ") + text.startswith("event: "), len(frames))


@case
def curl_keeps_its_connection():
    with Server() as s:
        urls = [f"{s.url}/livez"] * 20
        out = curl(s, "-w", "%{num_connects} ", *urls).decode()
        equal(sum(int(n) for n in out.replace('{"status":"alive"}', "").split()), 1)


@cases([1, 1000, 16384, 16385, 100_000, 1_000_000, 3_000_000])
def bodies_of_bytes(n):
    with Server(agents={"pull": PULL}) as s:
        id = s.submit(input="x" * n)
        lease = gateway.Worker(s).lease()
        equal((lease.job, len(lease.order["input"])), (id, n))


@case
def a_request_in_the_smallest_records():
    with Server() as s, s.connect() as sock:
        for byte in request_bytes(s, "GET", "/livez"):
            sock.sendall(bytes([byte]))
        equal(read_answer(sock).json, {"status": "alive"})


@case
def pipelined_requests_are_answered_in_order():
    with Server() as s, s.connect() as sock:
        paths = ["/livez", "/v1/dialects", "/readyz", "/nothing"] * 25
        sock.sendall(b"".join(request_bytes(s, "GET", path) for path in paths))
        sock.settimeout(gateway.WAIT)
        data = b""
        while data.count(b"HTTP/1.1 ") < len(paths) or not data.endswith(b"}\n"):
            data += sock.recv(1 << 16)
        statuses = [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:]]
        equal(statuses, [200, 200, 200, 404] * 25)


@case
def a_closed_connection_says_so():
    """close_notify: without it, reading would raise here."""
    with Server("--idle-timeout", "1s") as s:
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "GET", "/livez", headers={"Connection": "close"}))
            read_answer(sock)
            equal(sock.recv(1), b"")
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "GET", "/livez"))
            read_answer(sock)
            equal(sock.recv(1), b"", "the end of an idle connection")


@case
def our_own_pages_may_post_and_strangers_may_not():
    with Server(agents={"pull": PULL}) as s:
        body = {"agent": "pull", "input": 1}
        own = {"Origin": s.url, "Host": f"127.0.0.1:{s.port}"}
        equal(s.post("/v1/jobs", body, headers=own).status, 202)
        for origin in (s.url.replace("https", "http"), "https://evil.example"):
            equal(s.post("/v1/jobs", body, headers={**own, "Origin": origin}).status, 403, origin)


@case
def a_sessions_cookie_is_for_https_only():
    with Server(env={"SPOOLWIRE_TOKEN_ADMIN": TOKEN}, agents={"pull": PULL}) as s:
        a = s.post("/v1/session", headers={"Authorization": f"Bearer {TOKEN}"})
        equal(a.status, 201, repr(a))
        cookie = a.headers["set-cookie"]
        check(cookie.startswith("__Host-spoolwire=") and cookie.endswith("; Secure"), "not a secure cookie")
        page = {"Cookie": cookie.partition(";")[0], "Origin": s.url}
        equal(s.post("/v1/jobs", {"agent": "pull"}, headers=page).status, 202)
        plain = {**page, "Origin": s.url.replace("https:", "http:")}
        equal(s.post("/v1/jobs", {"agent": "pull"}, headers=plain).status, 403)


@case
def a_unix_socket_beside_it_is_plain():
    """Also for the server's own processes, which find it there: the certificate has other names."""
    agents = {"own": {"command": ["sh", "-c", 'echo "$SPOOLWIRE_URL" >&2; exit 3'], "attempts": 1}}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        with Server(agents=agents, start=False) as s:
            s.wanted_port = f"{s.wanted_port},unix:{path}"
            s.start()
            equal(s.get("/livez").status, 200)
            equal(curl(s, "--unix-socket", path, "http://localhost/livez"), b'{"status":"alive"}')
            job = s.submit("own")
            contains(s.until_state(job, "failed")["error"], f"unix:{path}")
