"""What these tests share: a database, and gateways over it."""

import contextlib
import functools
import atexit
import os
import signal
import threading

import postgres
from gateway import PULL, SHARDS, Server, WAIT, until
from harness import check, equal, spoolwire

AGENTS = {"pull": {**PULL, "lease": "60s", "attempts": 3}}


_lock = threading.Lock()  # suites may run cases side by side


@functools.cache
def _database():
    server = postgres.Postgres()
    atexit.register(server.__exit__)
    return server


def database():
    with _lock:
        return _database()



def new_url(shards=None):
    """An empty database with so many shards."""
    url, n = database().url(), shards or SHARDS
    if n > 1:
        done = spoolwire("db", "init", "--shards", str(n), "--store", url, timeout=WAIT)
        equal(done.code, 0, done.err)
    return url


class Gateway(Server):
    """One of several over the database @url."""

    def __init__(self, url, *flags, agents=None, start=True, **more):
        super().__init__(*flags, agents=agents or AGENTS, start=False, **more)
        self.data, self.data_flag = url, "--store"
        self.advertised = None
        if start:
            self.start()

    def advertise(self, url):
        """Others reach it there; before it is started."""
        self.advertised = url
        self.flags += ["--advertise", url]

    def freeze(self):
        """The signal takes a moment until every thread has stopped."""
        self.signal(signal.SIGSTOP)
        until("it stands still", lambda: is_still(self.process.pid))

    def thaw(self):
        self.signal(signal.SIGCONT)

    def is_writer(self):
        """It says so itself, once the jobs are recovered."""
        return self.get("/v1/gateways").json["writer"] == (self.advertised or self.url)


def is_still(pid):
    def state(task):
        with open(f"/proc/{pid}/task/{task}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    return all(state(task) == "T" for task in os.listdir(f"/proc/{pid}/task"))


@contextlib.contextmanager
def cluster(n=3, url=None, flags=(), shards=None, **more):
    """@n gateways; the first one writes."""
    with contextlib.ExitStack() as stack:
        url = url or new_url(shards)
        yield [stack.enter_context(Gateway(url, *flags, **more)) for _ in range(n)]


def writer_of(gateways):
    """Whoever writes, as all of them see it."""
    def agreed():
        urls = {g.get("/v1/gateways").json["writer"] for g in gateways}
        return next((g for g in gateways if urls == {g.url}), None)
    return until("all gateways agree on who writes", agreed)


def verify(url):
    """All journals of the database are sound."""
    done = spoolwire("verify", "--store", url, timeout=WAIT)
    equal(done.code, 0, f"{done.err} {done.out}")


def texts(frames):
    """The tokens of a `raw` stream."""
    return [f.json["text"] for f in frames if f.json.get("kind") == "llm.delta"]


__all__ = ["AGENTS", "Gateway", "SHARDS", "check", "cluster", "database", "equal", "new_url", "os", "texts", "until", "verify", "writer_of"]
