"""Chromium, driven over its debugging pipe: opens pages, evaluates expressions, and collects
errors."""

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--remote-debugging-pipe"]
WAIT = 60  # seconds; a deadline


class Browser:
    def __init__(self, *flags):
        self.profile = tempfile.mkdtemp(prefix="spoolwire-chromium-")
        from_us, self._write = os.pipe()
        self._read, to_us = os.pipe()
        with open(os.path.join(self.profile, "stderr"), "wb") as err:
            # It talks over the descriptors 3 and 4.  A session of its own: its helpers end with it.
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "-", "chromium", *FLAGS, *flags,
                 f"--user-data-dir={self.profile}", "about:blank"],
                pass_fds=(from_us, to_us), stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True)
        os.close(from_us)
        os.close(to_us)
        self._buffer, self._n = b"", 0
        self.complaints, self.urls = [], []
        self._session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _next(self, end):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError("chromium does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise AssertionError("chromium ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, message):
        params = message.get("params", {})
        if message["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif message["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif message["method"] == "Network.requestWillBeSent":
            self.urls.append(params["request"]["url"])

    def call(self, method, seconds=WAIT, **params):
        self._n += 1
        text = {"id": self._n, "method": method, "params": params}
        if self._session:
            text["sessionId"] = self._session
        os.write(self._write, json.dumps(text).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            message = self._next(end)
            if message.get("id") == self._n:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self._note(message)

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)
        return self

    def evaluate(self, expression):
        """Its value; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def _look(self, expression):
        """Its value, or None while the browser navigates."""
        try:
            return self.evaluate(expression)
        except AssertionError as e:
            if not re.search("context was destroyed|navigated or closed|Cannot find context", str(e)):
                raise
            return None

    def until(self, expression, seconds=WAIT):
        end = time.monotonic() + seconds
        while True:
            value = self._look(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {expression}; complaints: {self.complaints}")
            time.sleep(0.02)
