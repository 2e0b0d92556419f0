"""doctor: a clean path, and one fault at a time, made by nginx and by a proxy of our own."""

import contextlib
import json
import os
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading

from gateway import PROGRAM, Server, fixed_port, until
from harness import case, cases, check, contains, equal

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"


def doctor(url, *flags, want=0):
    p = subprocess.run([PROGRAM, "doctor", url, "--json", *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    equal(p.returncode, want, f"{p.stdout.decode()} {p.stderr.decode()}")
    answer = json.loads(p.stdout)
    equal(answer["ok"], want == 0)
    return {c["check"]: c for c in answer["checks"]}


def bad(checks):
    return {name for name, c in checks.items() if not c["ok"]}


def listening(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def nginx(server, location, http=""):
    """An nginx in front of @server."""
    port = fixed_port()
    folder = tempfile.mkdtemp(prefix="spoolwire-nginx-")
    config = os.path.join(folder, "nginx.conf")
    with open(config, "w") as f:
        f.write(f"""
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 100; }}
http {{
    access_log off;
    client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
    uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
    {http}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{server.port};
            proxy_set_header Host 127.0.0.1:{server.port};
            {location}
        }}
    }}
}}
""")
    p = subprocess.Popen([NGINX, "-p", folder, "-c", config], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until("nginx listens", lambda: listening(port) or p.poll() is not None)
        check(p.poll() is None, p.stderr)
        yield f"http://127.0.0.1:{port}"
    finally:
        p.terminate()
        p.wait()
        p.stderr.close()
        shutil.rmtree(folder, ignore_errors=True)


GOOD = "proxy_http_version 1.1; proxy_set_header Connection ''; proxy_buffering off; proxy_read_timeout 1h;"


@case
def a_clean_path():
    with Server() as s:
        checks = doctor(s.url, "--idle", "2s")
        equal(bad(checks), set())
        equal(set(checks), {"server", "hops", "type", "encoding", "version", "no-transform", "length", "first byte", "buffering", "end",
                            "silence"})
        equal(s.get("/v1/jobs").json["jobs"], [], "nothing is left behind")
        with nginx(s, GOOD) as url:
            checks = doctor(url, "--idle", "2s")
            equal(bad(checks), set())
            contains(checks["hops"]["what"], "nginx/", "(Server)")
        with nginx(s, "proxy_http_version 1.1;") as url:
            equal(bad(doctor(url, "--idle", "2s")), set(), "our own headers switch nginx's buffering off")


@case
def forced_buffering():
    """To the server nginx speaks HTTP/1.0 here, as it does unless told otherwise: of chunks it
    passes on each that is whole."""
    with Server() as s:
        with nginx(s, "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;"
                      "proxy_buffers 8 64k; proxy_buffer_size 64k;") as url:
            checks = doctor(url, "--idle", "0", want=1)
            check("buffering" in bad(checks), checks)
            contains(checks["buffering"]["what"], "held back")
            contains(checks["buffering"]["advice"], "proxy_buffering off")


@case
def forced_compression():
    with Server() as s:
        with nginx(s, GOOD, http="gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;") as url:
            checks = doctor(url, "--idle", "0", want=1)
            check("encoding" in bad(checks), checks)
            contains(checks["encoding"]["what"], "gzip")
            contains(checks["encoding"]["advice"], "gzip_types")


@case
def a_short_limit_for_silence():
    with Server("--keep-alive", "1h") as s:
        with nginx(s, "proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout 2s;") as url:
            checks = doctor(url, "--idle", "15s", want=1)
            equal(bad(checks), {"silence"})
            contains(checks["silence"]["what"], "is cut after")
            contains(checks["silence"]["advice"], "proxy_read_timeout")


@case
def a_keep_alive_below_the_limit_helps():
    with Server("--keep-alive", "500ms") as s:
        with nginx(s, "proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout 4s;") as url:
            equal(bad(doctor(url, "--idle", "8s")), set())


@case
def a_header_that_is_lost():
    with Server() as s:
        with nginx(s, GOOD + "proxy_hide_header Cache-Control;") as url:
            equal(bad(doctor(url, "--idle", "0", want=1)), {"no-transform"})


class OldProxy(socketserver.StreamRequestHandler):
    """Speaks HTTP/1.0 to both sides, one request a connection."""

    def handle(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        rows = [r for r in head.split(b"\r\n") if r and not r.lower().startswith((b"host:", b"connection:"))]
        length = next((int(r.split(b":")[1]) for r in rows if r.lower().startswith(b"content-length:")), 0)
        body = self.rfile.read(length)
        rows[0] = rows[0].replace(b"HTTP/1.1", b"HTTP/1.0")
        with socket.create_connection(("127.0.0.1", self.server.upstream)) as up:
            up.sendall(b"\r\n".join([*rows, b"Host: 127.0.0.1:%d" % self.server.upstream, b"", b""]) + body)
            first = True
            while data := up.recv(65536):
                if first:
                    data, first = data.replace(b"HTTP/1.1", b"HTTP/1.0", 1), False
                self.wfile.write(data)


@case
def a_hop_that_speaks_http_1_0():
    with Server() as s:
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), OldProxy) as proxy:
            proxy.daemon_threads = True
            proxy.upstream = s.port
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            try:
                checks = doctor(f"http://127.0.0.1:{proxy.server_address[1]}", "--idle", "0", want=1)
            finally:
                proxy.shutdown()
            check("version" in bad(checks), checks)


@case
def in_words():
    with Server() as s:
        p = subprocess.run([PROGRAM, "doctor", s.url, "--idle", "0"], stdout=subprocess.PIPE, timeout=60)
        equal(p.returncode, 0)
        contains(p.stdout.decode(), "ok   a server answers after", "ok   events come when they are made")


@cases(["nobody", "another", "no agent", "usage"])
def it_cannot_be_examined(how):
    with Server("--no-demo") as s:
        url, want, text = {"nobody": ("http://127.0.0.1:1", 4, "cannot reach the server"),
                           "another": (s.url + "/v1", 3, ""),
                           "no agent": (s.url, 3, "demo"),
                           "usage": ("ftp://x", 2, "is not an http:// or https:// URL")}[how]
        p = subprocess.run([PROGRAM, "doctor", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        equal(p.returncode, want, p.stderr)
        contains(p.stderr.decode(), text)
