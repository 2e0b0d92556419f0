"""Behind nginx as Debian sets it up, with buffering on: tokens still come one by one."""

import contextlib
import os
import tempfile
import time

import gateway
from gateway import Stream, fixed_port
from harness import case, cases, check, equal

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
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://127.0.0.1:{server}; }}
    }}
}}
"""
LATE = 0.15  # seconds behind a reader that asks the server itself


class Front:
    """What Stream needs of a server."""

    def __init__(self, port):
        self.port = port

    connect = gateway.Server.connect


@contextlib.contextmanager
def nginx(server):
    with tempfile.TemporaryDirectory(prefix="spoolwire-nginx-") as folder:
        port = fixed_port()
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w") as f:
            f.write(CONFIG.format(folder=folder, port=port, server=server.port))
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


def follow(server, job, dialect):
    """The frames of a job with the times when they came."""
    times = []
    with Stream(server, f"/v1/jobs/{job}/events?dialect={dialect}") as st:
        while not st.ended:
            st.pump(1)
            times += [time.monotonic()] * (len(st.frames) - len(times))
        return st.frames, times


@case
def behind_nginx_tokens_come_one_by_one():
    with gateway.Server() as server, nginx(server) as front:
        job = server.submit("demo", {"issue": "x", "speed": 3})
        (direct, t1), (proxied, t2) = gateway.at_once(lambda: follow(server, job, "agent"), lambda: follow(front, job, "agent"))
        equal([f for f in proxied if f.id], [f for f in direct if f.id], "the frames")
        late = sorted(b - a for a, b in zip(t1, t2))
        check(late[int(len(late) * 0.98)] < LATE, f"behind the server's own, in seconds: {late[-10:]}")
        own, through = moments(direct, t1), moments(proxied, t2)
        check(own > 100, f"tokens came at {own} moments; the events: {sorted({f.event for f in direct})}")
        check(through > 0.8 * own, f"tokens came at {own} moments, through nginx at {through}")
        print(f"     tokens at {own} moments, through nginx at {through}, median {late[len(late) // 2] * 1000:.1f} ms later")


def moments(frames, times):
    """How often tokens came: those of parallel sections come together."""
    tokens = [t for f, t in zip(frames, times) if "token" in f.event]
    return 1 + sum(b - a > 0.002 for a, b in zip(tokens, tokens[1:]))


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
        equal(frames, [f for f in server.read(job, "aiq") if f.id])
        with Stream(front, f"/v1/jobs/async/job/{job}/stream", frames[-1].id) as st:
            equal(st.status, 204)
