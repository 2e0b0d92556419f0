"""Memory that runs out for a moment: no answer may be one that clients take as final."""

import mmap
import os
import struct

from gateway import PROGRAM, PULL, SLOW_BUILD, Server, Worker, play
from harness import cases, check, equal

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), "tests", "failing_alloc.so")
MOST = 400  # allocations of one request


class Allocations:
    """The number that the preloaded library counts down."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "allocations")
        with open(self.path, "wb") as f:
            f.write(bytes(4096))
        with open(self.path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), 4096)

    def fail(self, n):
        self.page[:8] = struct.pack("q", n)

    def failed(self):
        """Stops failing allocations; has one failed?"""
        n = struct.unpack("q", self.page[:8])[0]
        self.fail(0)
        return n <= 0


def ask(s, method, path, body=None, **more):
    return lambda: s.request(method, path, body, **more)


# What is asked, and the answer that it gets when there is memory.
ROUTES = {
    "a job": lambda s: ask(s, "GET", "/v1/jobs/done"),
    "jobs": lambda s: ask(s, "GET", "/v1/jobs?state=succeeded&agent=pull"),
    "submit": lambda s: ask(s, "POST", "/v1/jobs", {"agent": "pull", "input": {"a": ["x" * 3000]}}),
    "submit, asynchronous": lambda s: ask(s, "POST", "/v1/jobs/async/submit", {"agent_type": "pull", "input": "x" * 3000}),
    "state": lambda s: ask(s, "GET", "/v1/jobs/async/job/done/state"),
    "events": lambda s: ask(s, "GET", "/v1/jobs/done/events?wait=0&dialect=raw"),
    "interrupts": lambda s: ask(s, "GET", "/v1/interrupts"),
    "cancel": lambda s: ask(s, "POST", "/v1/jobs/at-work/cancel"),
    "lease": lambda s: ask(s, "POST", "/v1/worker/lease", {"agents": ["pull", "b"], "worker": "w", "request_id": "r"}),
    "append": lambda s: ask(s, "POST", f"/v1/worker/jobs/at-work/events?lease={s.lease.token}", b'{"type":"custom","data":1}\n'),
    "heartbeat": lambda s: ask(s, "POST", f"/v1/worker/jobs/at-work/heartbeat?lease={s.lease.token}"),
    "checkpoint": lambda s: ask(s, "POST", f"/v1/worker/threads/at-work/checkpoints/list?job=at-work&lease={s.lease.token}", {}),
    "ticket": lambda s: ask(s, "POST", "/v1/tickets", {"job_id": "done"}),
    "wait": lambda s: ask(s, "GET", "/v1/jobs/done?wait=1"),
    "many": lambda s: ask(s, "GET", "/v1/stream?jobs=done&format=ndjson"),
    "dialects": lambda s: ask(s, "GET", "/v1/dialects"),
    "workers": lambda s: ask(s, "GET", "/v1/workers"),
    "info": lambda s: ask(s, "GET", "/info"),
    "assistants, counted": lambda s: ask(s, "POST", "/assistants/count", {}),
    "thread": lambda s: ask(s, "POST", "/threads", {"metadata": {"a": 1}}),
    "threads": lambda s: ask(s, "POST", "/threads/search", {"metadata": {"a": 1}}),
    "run": lambda s: ask(s, "POST", "/runs", {"assistant_id": "pull", "input": {"a": 1}}),
    "batch": lambda s: ask(s, "POST", "/runs/batch", [{"assistant_id": "pull", "input": {"a": 1}}]),
    "assistants": lambda s: ask(s, "POST", "/assistants/search", {}),
    "an item": lambda s: ask(s, "PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {"v": 1}}),
    "items": lambda s: ask(s, "POST", "/store/items/search", {"namespace_prefix": ["a"], "filter": {"v": 1}}),
    "ready": lambda s: ask(s, "GET", "/readyz"),
    "health": lambda s: ask(s, "GET", "/healthz"),
    "metrics": lambda s: ask(s, "GET", "/metrics"),
    "tokens": lambda s: ask(s, "GET", "/v1/tokens"),
}


@cases([] if SLOW_BUILD else list(ROUTES))
def without_memory_nothing_is_final(name):
    """Each allocation of the request fails in its turn: it is answered as ever, or with 5xx, or cut."""
    s = Server(agents={"pull": PULL, "b": PULL}, start=False)
    memory = Allocations(s.folder)
    s.env = {"LD_PRELOAD": LIBRARY, "FAILING_ALLOC": memory.path}
    with s.start():
        play(s, job_id="done")
        s.submit(job_id="at-work")
        s.lease = Worker(s).lease()
        go = ROUTES[name](s)
        good = go().status
        check(good < 300, good)
        for n in range(1, MOST):
            memory.fail(n)
            try:
                a = go()
                check(a.status == good or a.status >= 500, f"allocation {n}: {a!r}")
            except (OSError, AssertionError) as e:
                check("the connection ended" in str(e) or isinstance(e, OSError), f"allocation {n}: {e}")
            if not memory.failed():
                break
        else:
            raise AssertionError("it never ends")
        check(n > 1, "nothing was allocated, or the library is not there")
        equal(go().status, good, "it goes on")
