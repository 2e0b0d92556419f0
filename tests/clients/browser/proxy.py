"""Behind nginx as Debian sets it up, with buffering on: tokens still come one by one."""

import contextlib
import os
import tempfile

import gateway
from document import Document
from gateway import Stream, fixed_port, read_answer, request_bytes
from harness import case, cases, check, equal

PLAIN = """
server {
    listen 80;
    location / { proxy_pass http://127.0.0.1:8400; }
}
"""
PRINTED = next(b.text for b in Document("docs/operations.md").blocks if b.kind == "nginx")
CONFIG = """
daemon off;
pid {folder}/pid;
error_log stderr;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""
TOKENS = 100


class Front:
    """What Stream needs of a server."""

    def __init__(self, port):
        self.port = port

    connect = gateway.Server.connect


@contextlib.contextmanager
def nginx(server, config=PLAIN):
    with tempfile.TemporaryDirectory(prefix="spoolwire-nginx-") as folder:
        port = fixed_port()
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w") as f:
            here = config.replace("127.0.0.1:8400", f"127.0.0.1:{server.port}").replace("listen 80;", f"listen 127.0.0.1:{port};")
            f.write(CONFIG.format(folder=folder, server=here))
        with gateway.running("nginx", "-c", path, "-p", folder, "-e", "stderr") as p:
            front = Front(port)

            def up():
                check(p.poll() is None, "nginx ended")
                with contextlib.suppress(OSError):
                    front.connect().close()
                    return True
            gateway.until("nginx listens", up)
            yield front
            p.terminate()
            p.wait(10)


@case
def behind_nginx_tokens_come_one_by_one():
    """The next one is sent when the one before has come: nothing else could push it through."""
    with gateway.Server(agents={"pull": gateway.PULL}) as server, nginx(server) as front:
        job = server.submit()
        lease = gateway.Worker(server).lease()
        lease.send(*gateway.OPENING)
        with Stream(front, f"/v1/jobs/{job}/events?dialect=agent") as st:
            for i in range(TOKENS):
                lease.send(gateway.token(f"word{i} "))
                st.until(f"word{i}", lambda s: s.frames and s.frames[-1].json.get("token") == f"word{i} ")
            lease.send(*gateway.CLOSING)
            lease.finish()
            equal([f for f in st.rest().frames if f.id], [f for f in server.read(job, "agent") if f.id], "the frames")


@cases(["finished", "running"])
def through_nginx_a_dropped_reader_resumes(when):
    with gateway.Server() as server, nginx(server) as front:
        job = server.submit("demo", {"issue": "x", "speed": 0 if when == "finished" else 8})
        if when == "finished":
            server.until_state(job, "succeeded")
        frames, last = [], None
        for n in (40, 90, 140):
            with Stream(front, f"/v1/jobs/async/job/{job}/stream", last) as st:
                equal(st.status, 200)
                st.until(f"{n} frames", lambda s: len(s.stored) >= n)
                frames += st.stored[:n]
            last = frames[-1].id
        with Stream(front, f"/v1/jobs/async/job/{job}/stream", last) as st:
            frames += st.rest().stored
        equal(gateway.unmarked(frames), [f for f in server.read(job, "aiq") if f.id])
        with Stream(front, f"/v1/jobs/async/job/{job}/stream", frames[-1].id) as st:
            equal(st.status, 204)


@case
def behind_the_printed_configuration_pages_and_websockets_work():
    here = "agents.example.com"
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    with gateway.Server("--hosts", here, "--origins", f"https://{here}") as server, nginx(server, PRINTED) as front:
        def answer(method, path, body=None, **headers):
            with front.connect() as s:
                s.sendall(request_bytes(front, method, path, body, headers))
                return read_answer(s, method)

        equal(answer("GET", "/v1/jobs", Host="other.example").status, 403)
        for origin in (f"http://{here}", f"https://{here}"):
            submitted = answer("POST", "/v1/jobs", {"agent": "demo", "input": {"speed": 0}}, Host=here, Origin=origin)
            equal(submitted.status, 202, f"{origin}: {submitted!r}")
        job = submitted.json["job_id"]
        server.until_state(job, "succeeded")
        with front.connect() as s:
            s.sendall(request_bytes(front, "GET", f"/v1/jobs/{job}/events", headers={**upgrade, "Host": here, "Origin": f"https://{here}"}))
            said = b""
            while b"job.done" not in said:
                more = s.recv(65536)
                check(more, f"it ended: {said[:300]!r}")
                said += more
            check(said.startswith(b"HTTP/1.1 101 "), said[:100])
