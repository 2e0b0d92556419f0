"""Receivers of webhooks, and runs that name one."""

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gateway import WAIT, Worker, until
from harness import equal


class Receiver:
    """A receiver of webhooks on a port of its own.  @answer gets the handler and the number of the request, from 0; it answers."""

    def __init__(self, answer=None, port=0, address="127.0.0.1"):
        self.got, self.answer = [], answer or (lambda handler, n: handler.say(200))
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def say(self, status, headers=(), body=b"{}"):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.lock:
                    n = len(receiver.got)
                    receiver.got.append((self.path, dict(self.headers), body))
                with contextlib.suppress(OSError):
                    receiver.answer(self, n)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Threads(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
            daemon_threads = True

        self.lock = threading.Lock()
        self.server = Threads((address, port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def bodies(self):
        with self.lock:
            return [json.loads(body) for _, _, body in self.got]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def start(s, hook, thread="t", **more):
    a = s.post(f"/threads/{thread}/runs", {"assistant_id": "agent", "input": {}, "webhook": hook, "if_not_exists": "create", **more})
    equal(a.status, 200, a)
    return a.json["run_id"]


def finish(s, how="success", values=None):
    lease = Worker(s, "agent").lease()
    if values is not None:
        lease.send([[], "values", values])
    lease.finish(how)
    return lease.job


def one(s, run):
    a = s.get(f"/v1/webhooks/{run}")
    return a.json if a.status == 200 else None


def in_state(s, run, state, seconds=WAIT):
    return until(f"its webhook is {state}", lambda: (one(s, run) or {}).get("state") == state and one(s, run), seconds)
