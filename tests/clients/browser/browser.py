"""Chromium, and a page in it that reports what it gets.

The page posts JSON to the server it came from: no driver, and nothing between us and the
browser as people have it.
"""

import contextlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage"]


class Page(http.server.ThreadingHTTPServer):
    """Serves one page, and keeps what it posts; @word is what it is told in return."""

    daemon_threads = True

    def __init__(self, html):
        super().__init__(("127.0.0.1", 0), Handler)
        self.html, self.told, self.word = html, [], ""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/page"):
            self.answer(self.server.html, "text/html")
        else:
            self.send_error(404)

    def do_POST(self):
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer(self.server.word.encode(), "text/plain")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        with contextlib.suppress(ConnectionError):  # the page may be gone
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def chromium(url, *flags):
    profile = tempfile.mkdtemp(prefix="spoolwire-chromium-")
    with open(os.path.join(profile, "stderr"), "wb") as err:
        # A session of its own: its helpers end with it.
        p = subprocess.Popen(["chromium", *FLAGS, *flags, f"--user-data-dir={profile}", "--remote-debugging-port=0", url],
                             stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True)
    try:
        yield p
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, 9)
        p.wait()
        shutil.rmtree(profile, ignore_errors=True)
