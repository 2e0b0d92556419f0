"""A redis-server of the test's own, and a subscriber to its channels."""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import threading

import redis
from gateway import WAIT, fixed_port, until
from harness import check

PASSWORD = "hush-hush-hush"


class Broker:
    """A redis-server on a port and a socket of its own; it can be stopped and started again."""

    more = ()

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="spoolwire-redis-")
        self.path = os.path.join(self.folder, "redis.sock")
        self.port = fixed_port()
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}/3"
        self.unix_url = f"unix://:{PASSWORD}@{self.path}?db=3"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.path, "--save", "", "--dir", self.folder,
             "--requirepass", PASSWORD, "--client-output-buffer-limit", "pubsub 0 0 0", *self.more],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until("redis answers", self._answers)

    def _answers(self):
        check(self.process.poll() is None, "redis-server ended")
        with contextlib.suppress(redis.ConnectionError):
            return self.client().ping()

    def stop(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def client(self):
        return redis.Redis(host="127.0.0.1", port=self.port, password=PASSWORD, db=3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


_shared = []
_lock = threading.Lock()


def shared():
    """One server for all cases that do not stop or configure it."""
    import atexit
    with _lock:
        if not _shared:
            _shared.append(Broker())
            atexit.register(_shared[0].__exit__)
        return _shared[0]


_names = itertools.count()


def own_channel():
    """A channel pattern that no other case uses."""
    return f"case{os.getpid()}-{next(_names)}:{{job_id}}:events"


class Listener:
    """Subscribes to a job's channel with redis-py, as existing subscribers do."""

    def __init__(self, broker, pattern, job="*"):
        self.pubsub = broker.client().pubsub()
        self.pubsub.psubscribe(pattern.replace("{job_id}", job))
        self.messages = []  # (channel, payload)
        until("the subscription is confirmed", lambda: (self.pubsub.get_message(timeout=1) or {}).get("type") == "psubscribe")

    def pump(self, seconds=0.2):
        with contextlib.suppress(redis.ConnectionError):
            while (m := self.pubsub.get_message(timeout=seconds)) is not None:
                if m["type"] == "pmessage":
                    self.messages.append((m["channel"].decode(), m["data"].decode()))
                seconds = 0

    def until(self, what, condition, seconds=WAIT):
        def look():
            self.pump()
            return condition(self)
        return until(what, look, seconds)

    def payloads(self, job=None):
        return [p for c, p in self.messages if job is None or f":{job}:" in c or c.endswith(job)]

    def until_end(self, job):
        self.until(f"the end of {job}", lambda s: any('"job.done"' in p or '"job.failed"' in p for p in s.payloads(job)))
        return self.payloads(job)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pubsub.close()


def metric(server, name, labels=""):
    a = server.get("/metrics")
    check(a.status == 200, repr(a))
    want = f"{name}{{{labels}}} " if labels else f"{name} "
    for line in a.body.decode().splitlines():
        if line.startswith(want):
            return int(float(line[len(want):]))
    raise AssertionError(f"no metric {want!r}")
