"""Chromium's own EventSource, on a page of another origin, through a restart of the server.

The page posts what it got to the server it came from: nothing else looks into the browser.
"""

import contextlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse

import gateway
from harness import cases, check, equal

HERE = os.path.dirname(os.path.abspath(__file__))
SPEED = 2  # nine seconds of the demo
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage"]
OPEN, CLOSED = 1, 2
# What a connection says for itself; these have no ids.
OWN = {"stream.mode", "job.status", "job.heartbeat", "job.shutdown"}


class Page(http.server.ThreadingHTTPServer):
    """Serves page.html, and keeps what it tells."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.events, self.errors, self.state = [], [], None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if not self.path.startswith("/page"):
            self.send_error(404)
            return
        with open(os.path.join(HERE, "page.html"), "rb") as f:
            self.answer(f.read(), "text/html")

    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.events += told["events"]
        self.server.errors, self.server.state = told["errors"], told["state"]
        self.answer(b"", "text/plain")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def chromium(url):
    profile = tempfile.mkdtemp(prefix="spoolwire-chromium-")
    with open(os.path.join(profile, "stderr"), "wb") as err:
        # A session of its own: its helpers end with it.
        p = subprocess.Popen(["chromium", *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", url],
                             stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True)
    try:
        yield p
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, 9)
        p.wait()
        shutil.rmtree(profile, ignore_errors=True)


def requests_of(server, job):
    """The statuses of the page's requests so far, from the access logs of all runs."""
    found = []
    for n in range(1, server.n + 1):
        with open(os.path.join(server.folder, f"stderr.{n}"), errors="replace") as f:
            for line in f:
                if line.startswith("{") and f"/{job}/stream" in line:
                    found.append(json.loads(line)["status"])
    return found


@cases(["terminate", "kill"])
def event_source_through_a_restart(how):
    page = Page()
    with gateway.Server("--origins", page.origin, "--access-log", "json", "--shutdown-window", "2s",
                        agents={"pull": gateway.PULL}, port=gateway.fixed_port()) as server, \
            gateway.running(gateway.PROGRAM, "demo-agent", "--pull", server.url, "--agent", "pull"):
        # One of the same kind tells the names to listen for.
        first = server.submit("pull", {"issue": "x", "speed": 0, "seed": 5})
        server.until_state(first, "succeeded")
        names = {f.event for f in server.aiq(first).rest().frames} | OWN | {"stream.gap", "job.error"}
        job = server.submit("pull", {"issue": "x", "speed": SPEED, "seed": 5})
        url = f"{page.origin}/page?" + urllib.parse.urlencode(
            {"stream": f"{server.url}/v1/jobs/async/job/{job}/stream", "names": ",".join(sorted(names))})
        with chromium(url) as browser:
            gateway.until("the page has some events", lambda: len(page.events) > 50, 30)
            check(browser.poll() is None, "chromium ended")
            equal(server.state(job), "running")
            n = len(page.events)
            server.restart(getattr(server, how))
            gateway.until("the page goes on", lambda: len(page.events) > n + 20, 15)
            server.until_state(job, "succeeded")
            gateway.until("the page's EventSource is closed", lambda: page.state == CLOSED, 15)
            statuses = requests_of(server, job)
            time.sleep(4)  # Chromium comes again after three seconds, when it does
            equal(requests_of(server, job), statuses, "requests after the end")
        events = page.events
        whole = server.aiq(job).rest().frames
    page.shutdown()
    page.server_close()
    equal({f.event for f in whole} - names, set(), "names that nobody listened for")
    equal(statuses[-1:], [204], "how the last request was answered")
    stored, own, last = [], [], ""
    for id, event, data in events:
        # Without an id of its own an event has the one before.
        (own if id == last and event in OWN else stored).append((id, event, data))
        last = id
    equal(stored, [(f.id, f.event, f.data) for f in whole if f.id], "what the page got")
    texts = {f.data for f in whole if f.id}
    equal([o for o in own if o[2] in texts], [], "events that came twice")
    check(page.errors.count(0) >= 1 and page.errors[-1] == CLOSED, f"errors on the page: {page.errors}")
