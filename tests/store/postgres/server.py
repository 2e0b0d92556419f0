"""The server of this suite, and the process that stores and reads at our request."""

import atexit
import contextlib
import os
import re
import subprocess
import sys
import threading
import time

from harness import PROGRAM, check, contains, equal
from postgres import Postgres, binary

TESTS = os.path.join(os.path.dirname(PROGRAM), "tests")
DRIVER = os.path.join(TESTS, "store_driver")
SECONDS = 120
PASSWORD = "s3kr1t-w0rd"

if binary("initdb") is None:
    print("PostgreSQL is missing (scripts/deps check)")
    sys.exit(77)

SERVER = Postgres(durable=True)
atexit.register(SERVER.__exit__)


def driver(*args, env=None):
    done = subprocess.run([DRIVER, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout.decode()


def refuses(url, *words, env=None):
    status, text = driver("open", url, env=env)
    equal(status, 1, text)
    contains(text, "error ", *words)
    check(PASSWORD not in text, text)
    equal(len(text.strip().splitlines()), 1, text)


class Appending:
    """A driver that appends until the end of the `with`; what it says is read all the time."""

    def __init__(self, url, batch=2):
        self.lines = []
        self.process = subprocess.Popen([DRIVER, "append", url, str(batch), "50", "1"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def __enter__(self):
        self.wait_acked(4)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(SECONDS)
        self.process.kill()
        self.process.wait()
        self.thread.join()

    def acked(self):
        return max([int(line.split()[1]) for line in list(self.lines) if line.startswith("acked ")], default=0)

    def errors(self):
        return [line for line in list(self.lines) if not line.startswith("acked ")]

    def wait_acked(self, n):
        self.wait(lambda: self.acked() >= n, f"{n} acknowledged")

    def wait(self, condition, what):
        deadline = time.monotonic() + SECONDS
        while not condition():
            check(time.monotonic() < deadline, f"not in time: {what}; said {self.lines[-5:]}")
            time.sleep(0.01)


def stored(url):
    status, text = driver("verify", url)
    equal(status, 0, text)
    return min(int(n) for n in re.findall(r"seq (\d+)", text))


def name_of(url):
    return re.search(r"/(\w+)(\?|$)", url)[1]
