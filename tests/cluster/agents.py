"""Agents that a server runs, on every gateway that has them: pools, processes and remote endpoints."""

import contextlib
import http.server
import json
import os
import sys
import threading

from gateways import AGENTS, Gateway, check, database, equal, until, verify, writer_of
from harness import case, cases

POOL_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agents", "pools", "worker.py")
PULL = {"pull": True, "lease": "600s", "attempts": 3}
DONE = json.dumps({"event": "job.done", "data": {}})


def pool(**more):
    return {"command": [sys.executable, POOL_WORKER], "pool": {"size": 2, "concurrency": 2}, "lease": "600s", "attempts": 3, **more}


@contextlib.contextmanager
def gateways(*agents):
    """One gateway for each of @agents, all over one database."""
    url = database().url()
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Gateway(url, agents={**AGENTS, **a})) for a in agents]


class Endpoint:
    """A remote endpoint that holds each job until it is told to go on."""

    def __init__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.n += 1
                self.send_response(200)
                self.send_header("Content-Type", "application/x-ndjson")
                self.end_headers()
                outer.go.wait(120)
                with contextlib.suppress(OSError):  # the gateway may be gone
                    self.wfile.write(f"{DONE}\n".encode())

            def log_message(self, *_):
                pass

        self.n, self.go = 0, threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()


@case
def pools_of_every_gateway_do_jobs():
    with gateways(*[{"pooled": pool()}] * 3) as all_of_them:
        jobs = [all_of_them[i % 3].submit("pooled", {"steps": [["say", f"x{i}"], ["sleep", 0.2]]}) for i in range(36)]
        for job in jobs:
            equal(all_of_them[0].until_state(job, "succeeded", "failed")["state"], "succeeded")
        begun = []
        for g in all_of_them:
            with open(f"{g.folder}/jobs") as f:
                mine = [row.split()[1] for row in f]
            check(mine, "every gateway has done some")
            begun += mine
        equal(sorted(begun), sorted(jobs), "each once")
        verify(all_of_them[0].data)


def lose_runner(writes, agent, steps=None, has_begun=None):
    """The gateway that runs the job is killed; it writes, or another one does."""
    first, last = ({"slow": agent}, {"slow": PULL})
    with gateways(*((first, last) if writes else (last, first))) as (a, b):
        runner, other = (a, b) if writes else (b, a)
        equal(writer_of([a, b]).url, a.url)
        job = other.submit("slow", {"steps": steps or []})
        runner.until_state(job, "running")
        if has_begun:
            until("it has begun", lambda: has_begun(runner))
        runner.kill()
        # Long before the lease ends, which is ten minutes.
        row = other.until_state(job, "queued", seconds=60)
        equal(row["attempt"], 1)
        equal(row["state"], "queued")


@cases([True, False], name=lambda writes: "the writer" if writes else "another one")
def jobs_of_a_pool_whose_gateway_dies_cost_an_attempt_at_once(writes):
    lose_runner(writes, pool(), [["until", "never"]], lambda g: os.path.exists(f"{g.folder}/jobs"))


@cases([True, False], name=lambda writes: "the writer" if writes else "another one")
def a_request_to_an_endpoint_whose_gateway_dies_costs_an_attempt_at_once(writes):
    with Endpoint() as endpoint:
        lose_runner(writes, {"http": {"url": endpoint.url}, "lease": "600s", "attempts": 3}, None, lambda _: endpoint.n == 1)


@case
def a_job_whose_gateways_die_fails_after_its_attempts():
    slow = pool(attempts=2)
    with gateways({"slow": {**PULL, "attempts": 2}}, {"slow": slow}, {"slow": slow}) as (a, b, c):
        job = a.submit("slow", {"steps": [["until", "never"]]})
        alive = [b, c]
        for attempt in (1, 2):
            def begun():
                for g in alive:
                    with contextlib.suppress(FileNotFoundError):
                        if any(row.split()[1:] == [job, str(attempt)] for row in open(f"{g.folder}/jobs")):
                            return g
                return None
            runner = until(f"attempt {attempt} has begun", begun)
            alive.remove(runner)
            runner.kill()
        equal(a.until_state(job, "failed", seconds=60)["attempt"], 2)


@case
def a_pool_goes_on_when_the_gateway_that_writes_dies():
    with gateways({"slow": PULL}, {"slow": pool()}, {"slow": PULL}) as (a, b, c):
        jobs = [c.submit("slow", {"steps": [["say", "a"], ["until", "go"], ["say", "b"]]}) for _ in range(4)]
        for job in jobs:
            b.until_state(job, "running")
        a.kill()
        open(f"{b.folder}/go", "w").close()
        for job in jobs:
            row = c.until_state(job, "succeeded", "failed")
            equal((row["state"], row["attempt"]), ("succeeded", 1))
            chunks = [f.json["text"] for f in c.read(job, "raw") if f.json.get("kind") == "llm.delta"]
            equal(chunks, ["a", "b"])
        verify(a.data)
