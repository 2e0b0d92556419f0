"""Random valid requests: few ids, so that they collide, and what earlier answers have told.

Nothing in them depends on how fast a place is: leases are long, nobody waits, and only what is stored is read.
"""

import base64
import json

from gateway import STORY, interrupt, lines, root_start, token
from harness import DIALECTS
from places import Request

JOBS = [f"job-{i}" for i in range(10)]
KEYS = [f"key-{i}" for i in range(4)]
ASKED = [f"request-{i}" for i in range(6)]
THREADS = ["00000000-0000-4000-8000-00000000000%d" % i for i in range(3)]
ASSISTANTS = ["00000000-0000-4000-9000-00000000000%d" % i for i in range(3)]
STRATEGIES = ["enqueue", "enqueue", "reject", "interrupt", "rollback"]
SPACES = [["a"], ["a", "b"], ["c"]]
RECENT = 8


class Lease:
    def __init__(self, order):
        self.job, self.lease, self.seq = order["job"], order["lease"], -1
        self.thread = order.get("thread")

    def path(self, what, **query):
        more = "".join(f"&{k}={v}" for k, v in query.items())
        return f"/v1/worker/jobs/{self.job}/{what}?lease={self.lease}{more}"


class Operations:
    def __init__(self, chance, with_workers):
        self.chance = chance
        self.leases, self.runs, self.questions, self.cursors = [], [], [], []
        self.n_checkpoints = 0
        workers = [self.lease] * 8 + [self.append] * 9 + [self.finish] * 5 + [self.on_lease] * 3
        self.acts = [self.submit] * 6 + workers * with_workers + [self.on_job] * 5 + [self.read] * 6 + \
            [self.list_jobs] * 3 + [self.answer] * 3 + [self.thread] * 5 + [self.run] * 5 + [self.batch] + [self.on_run] * 4 + [self.checkpoint] * 3 + [self.state] * 3 + \
            [self.assistant] * 4 + [self.item] * 5 + [self.look] * 2

    def next(self):
        while True:
            request = self.chance.choice(self.acts)()
            if request is not None:
                return request

    def learn(self, request, answer):
        if request.learn is not None and answer.status == 200:
            request.learn(json.loads(answer.text))

    def maybe(self, p=0.3):
        return self.chance.random() < p

    def some_job(self):
        runs = [run for _, run in self.runs[-RECENT:]]
        return self.chance.choice(JOBS + runs)

    # jobs

    def submit(self):
        c = self.chance
        body = {"agent": c.choice("ab"), "input": c.choice(({"n": 1}, "text", [1, 2.5, None], {"ä": "\0"}))}
        if self.maybe(0.8):
            body["job_id"] = c.choice(JOBS)
        if self.maybe():
            body["expiry_seconds"] = c.choice((3600, 86400))
        return Request("POST", "/v1/jobs", body, {"Idempotency-Key": c.choice(KEYS)} if self.maybe() else {})

    def on_job(self):
        what = self.chance.choice(("cancel", "pause", "resume", "look", "look", "delete", "state", "report", "release"))
        path = f"/v1/jobs/{self.some_job()}"
        if what in ("state", "report"):
            return Request("GET", path.replace("jobs/", "jobs/async/job/") + f"/{what}")
        if what in ("look", "delete"):
            return Request("GET" if what == "look" else "DELETE", path)
        return Request("POST", f"{path}/{what}")

    def read(self):
        """One page of what is there."""
        c = self.chance
        query = f"dialect={c.choice(DIALECTS)}&wait=0&limit={c.choice((1, 3, 500))}"
        if self.maybe():
            query += f"&after={c.choice((0, 1, 4, 7, '5.1'))}"
        return Request("GET", f"/v1/jobs/{self.some_job()}/events?{query}")

    def list_jobs(self):
        c = self.chance
        query = [f"limit={c.choice((1, 3, 100))}"]
        if self.maybe():
            query.append(f"state={c.choice(('queued', 'running', 'waiting', 'succeeded', 'cancelled'))}")
        if self.maybe():
            query.append(f"agent={c.choice('ab')}")
        if self.cursors and self.maybe():
            query.append(f"after={c.choice(self.cursors[-RECENT:])}")

        def learn(told):
            if told.get("next"):
                self.cursors.append(told["next"])
        return Request("GET", "/v1/jobs?" + "&".join(query), learn=learn)

    def answer(self):
        c = self.chance
        if not self.questions or self.maybe(0.4):
            def learn(told):
                self.questions = [(q["job_id"], q["interrupt_id"]) for q in told["interrupts"]]
            return Request("GET", f"/v1/interrupts?limit={c.choice((1, 100))}", learn=learn)
        job, id = c.choice(self.questions)
        return Request("POST", f"/v1/jobs/{job}/answer", {"value": c.choice((1, "yes", {"a": None})),
                                                         **({"interrupt_id": id} if self.maybe(0.7) else {})})

    def look(self):
        return Request("GET", self.chance.choice(("/v1/dialects", "/v1/jobs/async/agents", "/info", "/ok")))

    # workers

    def lease(self):
        c = self.chance
        body = {"agents": [c.choice("ab")], "worker": f"w{c.randrange(3)}", "wait": 0}
        if self.maybe(0.4):
            body["request_id"] = c.choice(ASKED)

        def learn(order):
            if "job" in order and all(held.lease != order["lease"] for held in self.leases):
                self.leases.append(Lease(order))
        return Request("POST", "/v1/worker/lease", body, learn=learn)

    def held(self):
        return self.chance.choice(self.leases[-RECENT:]) if self.leases else None

    def append(self):
        c, held = self.chance, self.held()
        if held is None:
            return None
        if not self.maybe(0.15):  # else a repeated number
            held.seq += 1
        events = c.choice((STORY, STORY[:4], STORY[4:], [token("x")], [root_start(), interrupt(id=f"q{c.randrange(2)}")],
                           [{"event": "on_custom_event", "name": "mark", "run_id": "r", "data": {"x": c.randrange(9)}}], ["not JSON"]))
        return Request("POST", held.path("events", seq=max(held.seq, 0)), lines(*events), {"Content-Type": "application/x-ndjson"})

    def finish(self):
        c, held = self.chance, self.held()
        if held is None:
            return None
        status = c.choice(("success", "success", "failure", "interrupted", "cancelled"))
        more = {"error": "it broke"} if status == "failure" else {"output": {"n": 1}} if status == "success" and self.maybe() else {}
        return Request("POST", held.path("finish"), {"status": status, **more})

    def on_lease(self):
        held = self.held()
        what = self.chance.choice(("heartbeat", "heartbeat", "return", "lose"))
        return Request("POST", held.path(what)) if held is not None else None

    # LangGraph

    def thread(self):
        c, t = self.chance, self.chance.choice(THREADS)
        what = c.choice(("make", "make", "look", "change", "delete", "search", "count", "copy"))
        metadata = {"m": c.randrange(3)}
        if what == "make":
            return Request("POST", "/threads", {"thread_id": t, "metadata": metadata, "if_exists": c.choice(("raise", "do_nothing"))})
        if what in ("search", "count"):
            return Request("POST", f"/threads/{what}", {"metadata": metadata} if self.maybe() else {})
        if what == "copy":
            return Request("POST", f"/threads/{t}/copy") if self.maybe(0.3) else None
        method = {"look": "GET", "change": "PATCH", "delete": "DELETE"}[what]
        return Request(method, f"/threads/{t}", {"metadata": metadata} if what == "change" else None)

    def _run_body(self):
        return {"assistant_id": self.chance.choice([*"ab", *ASSISTANTS]), "input": {"n": self.chance.randrange(5)}}

    def run(self):
        c = self.chance
        t = c.choice(THREADS)
        body = {**self._run_body(), "multitask_strategy": c.choice(STRATEGIES), "if_not_exists": c.choice(("create", "reject"))}
        if self.maybe():
            body["metadata"] = {"m": c.randrange(3)}
        return Request("POST", f"/threads/{t}/runs", body, learn=lambda run: self.runs.append((t, run["run_id"])))

    def batch(self):
        def learn(made):
            self.runs += [(run["thread_id"], run["run_id"]) for run in made]
        return Request("POST", "/runs/batch", [self._run_body() for _ in range(self.chance.randrange(1, 4))], learn=learn)

    def on_run(self):
        c = self.chance
        t, run = c.choice(self.runs[-RECENT:]) if self.runs else (c.choice(THREADS), "none")
        what = c.choice(("look", "look", "list", "list", "cancel", "roll back", "delete"))
        if what == "list":
            return Request("GET", f"/threads/{t}/runs?limit={c.choice((1, 10))}&offset={c.choice((0, 1))}")
        if what in ("look", "delete"):
            return Request("GET" if what == "look" else "DELETE", f"/threads/{t}/runs/{run}")
        return Request("POST", f"/threads/{t}/runs/{run}/cancel?wait=0&action={'interrupt' if what == 'cancel' else 'rollback'}")

    def checkpoint(self):
        """What the worker of a run saves."""
        c = self.chance
        of_threads = [held for held in self.leases[-RECENT:] if held.thread]
        if not of_threads:
            return None
        held = c.choice(of_threads)
        if self.maybe(0.6):
            self.n_checkpoints += 1
        id, blob = str(self.n_checkpoints), {"type": "json", "data": base64.b64encode(b"{}").decode()}
        path, body = c.choice((
            ("checkpoints", {"id": id, "parent": str(self.n_checkpoints - 1), "checkpoint": blob, "metadata": {"step": self.n_checkpoints},
                             "versions": {"a": "1"}, "blobs": {"a": {"version": "1", **blob}}}),
            ("writes", {"id": id, "task": "t", "writes": [{"idx": 0, "channel": "a", **blob}]}),
            ("state", {"id": id, "state": {"values": {"n": self.n_checkpoints}, "next": ["x"]}}),
            ("checkpoints/get", {}), ("checkpoints/list", {"limit": 3})))
        return Request("POST", f"/v1/worker/threads/{held.thread}/{path}?job={held.job}&lease={held.lease}", body)

    def state(self):
        t, id = self.chance.choice(THREADS), self.chance.randrange(self.n_checkpoints + 2)
        return self.chance.choice((Request("GET", f"/threads/{t}/state"), Request("GET", f"/threads/{t}/state/{id}"),
                                   Request("POST", f"/threads/{t}/history", {"limit": 3})))

    def assistant(self):
        c, a = self.chance, self.chance.choice(ASSISTANTS)
        what = c.choice(("make", "make", "look", "change", "delete", "search", "count", "versions", "latest"))
        if what == "make":
            return Request("POST", "/assistants", {"assistant_id": a, "graph_id": c.choice("ab"), "name": f"n{c.randrange(3)}",
                                                   "metadata": {"m": c.randrange(3)}, "if_exists": c.choice(("raise", "do_nothing"))})
        if what in ("search", "count"):
            return Request("POST", f"/assistants/{what}", {"graph_id": c.choice("ab")} if self.maybe() else {})
        if what in ("versions", "latest"):
            return Request("POST", f"/assistants/{a}/{what}", {"version": c.randrange(1, 4)} if what == "latest" else {})
        method = {"look": "GET", "change": "PATCH", "delete": "DELETE"}[what]
        return Request(method, f"/assistants/{a}", {"name": f"n{c.randrange(3)}", "metadata": {"k": 1}} if what == "change" else None)

    def item(self):
        c = self.chance
        space, key = c.choice(SPACES), c.choice("xyz")
        what = c.choice(("put", "put", "look", "delete", "search", "spaces"))
        if what == "put":
            return Request("PUT", "/store/items", {"namespace": space, "key": key, "value": {"n": c.randrange(4), "t": "ä\0"}})
        if what == "look":
            return Request("GET", f"/store/items?namespace={'.'.join(space)}&key={key}")
        if what == "delete":
            return Request("DELETE", "/store/items", {"namespace": space, "key": key})
        if what == "search":
            return Request("POST", "/store/items/search", {"namespace_prefix": space[:1], "limit": c.choice((1, 10)),
                                                           **({"filter": {"n": c.randrange(4)}} if self.maybe() else {})})
        return Request("POST", "/store/namespaces", {"prefix": space[:1]} if self.maybe() else {})
