"""What the tests of ARQ share: a Redis, Python's workers and clients, and servers of ours."""

import asyncio
import contextlib
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading

import broker
from arq import create_pool
from arq.connections import RedisSettings
from gateway import Server, until
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
DB = 3
_numbers = itertools.count(1)
_lock = threading.Lock()
RESULT_WAIT = 60  # seconds; a deadline, never a pause


class Durable(broker.Broker):
    """A Redis that keeps its data when it is killed."""

    more = ("--appendonly", "yes", "--appendfsync", "always")


def own_name(what):
    with _lock:
        return f"{what}-{os.getpid()}-{next(_numbers)}"


def own_queue():
    return own_name("queue")


class PythonWorker:
    """tests/agents/arq/worker.py, or another program with the same arguments."""

    def __init__(self, redis, queue, *more, program="worker.py"):
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, program), redis.path, broker.PASSWORD, str(DB), queue, *more],
            stdin=subprocess.DEVNULL, stdout=self.err, stderr=self.err)
        key = f"{queue}:health-check"
        until("the worker is there", lambda: self.process.poll() is not None or redis.client().exists(key), 120)
        check(self.process.poll() is None, self.text())

    def text(self):
        fd = self.err.fileno()  # whose place in the file is also the worker's
        return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")[-3000:]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.kill()
        self.err.close()


class Gate:
    """A proxy between our server and Redis: holds back messages to the subscriber while it is shut."""

    def __init__(self, redis):
        self.redis = redis
        self.path = os.path.join(tempfile.mkdtemp(prefix="spoolwire-gate-"), "s")
        self.url = redis.unix_url.replace(redis.path, self.path)
        self.is_open, self.saw_mark = threading.Event(), threading.Event()
        self.is_open.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, far, names = self.listener.accept()[0], socket.socket(socket.AF_UNIX), []
                far.connect(self.redis.path)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._relay, args=(*pair, names, pair[0] is near), daemon=True).start()

    def _relay(self, source, target, names, is_ours):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_ours and b"spoolwire-subscriber" in data:
                    names.append("subscriber")
                if is_ours and b"!mark" in data:
                    self.saw_mark.set()
                if not is_ours and names:
                    self.is_open.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_open.set()
        self.listener.close()


def settings(redis):
    return RedisSettings(unix_socket_path=redis.path, password=broker.PASSWORD, database=DB, conn_timeout=RESULT_WAIT)


def python(redis, queue, do, **more):
    """Runs @do with ARQ's own client."""
    async def run():
        pool = await create_pool(settings(redis), default_queue_name=queue, **more)
        try:
            return await do(pool)
        finally:
            await pool.aclose()
    return asyncio.run(run())


def arq_agent(queue, **more):
    agent = {k: more.pop(k) for k in ("lease", "attempts", "grace", "concurrency") if k in more}
    return {"arq": {"function": "run_triage", "queue": queue, "poll": "50ms", "settle": "60s", **more}, **agent}


def producer(redis, queue, *flags, agents=None, **more):
    """A server whose agent `triage` is the queue."""
    return Server("--redis-url", redis.url, "--redis-subscribe", *flags,
                  agents={"triage": arq_agent(queue, **more), **(agents or {})})


def consumer(redis, queue, *flags, top="", serves=None, lease="60s", **agent):
    """A server that serves the queue with processes.  Others may take its calls when it is silent for @lease."""
    worker = {} if "pull" in agent else {"command": [sys.executable, os.path.join(HERE, "agent.py")]}
    return Server("--redis-url", redis.url, "--redis-publish", "agent", "--arq-queue", queue, "--arq-poll", "50ms",
                  "--arq-lease", lease, *flags, top=top,
                  agents={"triage": {**worker, **agent,
                                     "serves": {"function": "run_triage", "resume_function": "resume_triage", **(serves or {})}}})


def keys(redis, id):
    """The keys of a job that are left in Redis."""
    client = redis.client()
    return sorted(k.decode() for k in client.keys(f"arq:*:{id}")) + (["arq:abort"] if client.zscore("arq:abort", id) else [])
