"""Every request of the OpenAPI document, and every parameter that names something: objects of other
owners are answered as if they did not exist.

The places are found in the document: members of the path, the query and the body whose names say that they
name a job, a thread, a run, a checkpoint, an assistant, a lease, a namespace or a question.  For each of them two
requests are made that differ in nothing but the name, one with what somebody else has and one with what nobody
has, and the answers must be the same, byte for byte, but for the name itself."""

import functools
import itertools
import json
import os
import re
import uuid

from callers import Caller, Locked
from gateway import PULL, Stream, Worker, interrupt, until
from harness import case, cases, check, equal

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKPOINT = {"ns": "", "checkpoint": {"type": "t", "data": ""}, "metadata": {}, "versions": {}, "blobs": {}}

# Names of parameters and members, and what they name.
PATH = {"id": "job", "thread": "thread", "run": "run", "checkpoint": "checkpoint", "assistant": "assistant", "call": "call", "cron": "cron",
        "token": None, "file": None, "last": None, "agent": None, "namespace": None, "graph": None}
QUERY = {"job": "job", "jobs": "job", "lease": "lease", "call": "call", "namespace": "namespace", "ids": "thread"}
BODY = {
    "job_id": ("job", lambda x: x), "thread_id": ("thread", lambda x: x), "thread_ids": ("thread", lambda x: [x]),
    "ids": ("thread", lambda x: [x]), "run_ids": ("run", lambda x: [x]), "assistant_id": ("assistant", lambda x: x),
    "checkpoint_id": ("checkpoint", lambda x: x),
    "checkpoint": ("checkpoint", lambda x: {"checkpoint_id": x, "checkpoint_ns": ""}),
    "before": ("checkpoint", lambda x: x), "namespace": ("namespace", lambda x: [x]),
    "namespace_prefix": ("namespace", lambda x: [x]), "prefix": ("namespace", lambda x: [x]),
    "suffix": ("namespace", lambda x: [x]), "interrupt_id": ("question", lambda x: x),
    "answers": ("question", lambda x: {x: 1}), "request_id": ("request", lambda x: x),
    "params": ("thread", lambda x: {"thread": x}),
    "config": ("thread", lambda x: {"configurable": {"thread_id": x}}),
}
# Where the document's word means something else, or names nothing that is kept.
ELSEWHERE = {
    ("POST /v1/worker/threads/{thread}/checkpoints", "checkpoint"),  # a blob
    ("POST /assistants", "config"), ("PATCH /assistants/{assistant}", "config"),  # kept, and given to the owner's own runs
    ("POST /runs/crons", "config"), ("POST /threads/{thread}/runs/crons", "config"), ("PATCH /runs/crons/{cron}", "config"),  # the same
}
# Ids are the whole server's, so one that is taken cannot be had again: 409, and nothing more (docs/auth.md).
TAKEN = {("POST /v1/jobs", "job_id"), ("POST /v1/jobs/async/submit", "job_id"), ("POST /threads", "thread_id"),
         ("POST /assistants", "assistant_id")}
# What a request needs to get as far as what it names.
BODIES = {
    "POST /v1/jobs": {"agent": "pull", "input": 1}, "POST /v1/jobs/async/submit": {"agent_type": "pull", "input": "x"},
    "POST /v1/jobs/{id}/answer": {"value": 1}, "POST /v1/tickets": {}, "POST /v1/worker/lease": {"agents": ["pull"], "wait": 0},
    "POST /v1/worker/jobs/{id}/events": {"type": "x"}, "POST /v1/worker/jobs/{id}/finish": {"status": "success"},
    "POST /v1/worker/calls/{call}": {"answer": 1}, "POST /v1/agents/{agent}/call": {"name": "x", "timeout": 1},
    "POST /v1/worker/threads/{thread}/checkpoints": {**CHECKPOINT, "id": "1"},
    "POST /v1/worker/threads/{thread}/writes": {"id": "1", "task": "t", "writes": []},
    "POST /v1/worker/threads/{thread}/state": {"id": "1", "state": {"values": {}}},
    "POST /threads/{thread}/state": {"values": {}}, "POST /threads/{thread}/state/checkpoint": {"checkpoint": {"checkpoint_id": "1"}},
    "POST /assistants": {"graph_id": "pull"}, "POST /assistants/{assistant}/latest": {"version": 1},
    "PUT /store/items": {"namespace": ["n"], "key": "k", "value": {}}, "DELETE /store/items": {"namespace": ["n"], "key": "k"},
    "POST /runs/batch": [{"assistant_id": "pull"}], "POST /runs/cancel": {"thread_id": "{thread}", "run_ids": []},
    "POST /threads/prune": {"thread_ids": []},
    "POST /runs/crons": {"assistant_id": "pull", "schedule": "0 0 1 1 *"}, "PATCH /runs/crons/{cron}": {"enabled": False},
    "POST /threads/{thread}/runs/crons": {"assistant_id": "pull", "schedule": "0 0 1 1 *"},
}
RUNS = ("/runs", "/runs/stream", "/runs/wait")
QUERIES = {"GET /store/items": {"namespace": "n", "key": "k"}}


@functools.cache
def document():
    with open(os.path.join(HERE, "..", "..", "..", "src", "api", "openapi.json")) as f:
        return json.load(f)


def resolve(value):
    while "$ref" in value:
        value = functools.reduce(lambda at, part: at[part], value["$ref"].split("/")[1:], document())
    return value


def operations():
    for path, item in document()["paths"].items():
        for method, op in item.items():
            if method != "parameters":
                yield f"{method.upper()} {path}", op, [resolve(p) for p in item.get("parameters", []) + op.get("parameters", [])]


OPERATIONS = {name: (op, parameters) for name, op, parameters in operations()}


def scopes(name):
    return [s["bearer"][0] for s in OPERATIONS[name][0].get("security", [{"bearer": ["client"]}]) if "bearer" in s]


def members(name):
    body = OPERATIONS[name][0].get("requestBody")
    schema = resolve(next(iter(body["content"].values())).get("schema", {})) if body else {}
    return set(schema.get("properties", {}))


def places(name):
    """(where, what it is called, what it names)"""
    for p in OPERATIONS[name][1]:
        known = {"path": PATH, "query": QUERY}.get(p["in"], {})
        check(p["in"] != "path" or p["name"] in PATH, f"{name}: what does {p['name']} name?")
        if known.get(p["name"]):
            yield p["in"], p["name"], known[p["name"]]
    # A run that is let in goes on for ever; how it is read is that of POST …/runs.
    starts = re.fullmatch(r"POST (/threads/\{thread\})?/runs/(stream|wait)", name)
    for member in sorted(members(name) & set(BODY)):
        if (name, member) not in ELSEWHERE and not (starts and member != "assistant_id"):
            yield "body", member, BODY[member][0]


class World:
    """What somebody has, what nobody has, and those who ask."""

    def __init__(self, s):
        self.s, self.counter = s, itertools.count(1)
        self.owner, self.crew = s.caller("client", "--owner", "alpha"), s.caller("worker", "--owner", "crew", "--agents", "pull")
        self.foreign = s.caller("client", "--owner", "beta")
        self.workers = [s.caller("worker", "--owner", "beta"), s.caller("worker", "--owner", "crew", "--agents", "ax")]
        self.own_thread = self.foreign.post("/threads", {}).json["thread_id"]
        thread = self.owner.post("/threads", {}).json["thread_id"]
        run = self.owner.post(f"/threads/{thread}/runs", {"assistant_id": "pull", "input": {}}).json["run_id"]
        held = Worker(self.crew).lease()
        equal(held.job, run)
        place = "01999999-aaaa-7aaa-8aaa-999999999999"
        equal(self.crew.post(f"/v1/worker/threads/{thread}/checkpoints?job={run}&lease={held.token}", {**CHECKPOINT, "id": place}).status, 200)
        self.owner.submit(job_id="others-job")
        self.lease = Worker(self.crew).lease(request_id="their-request")
        equal(self.lease.job, "others-job")
        self.lease.send(interrupt(id="their-question"))
        assistant = self.owner.post("/assistants", {"graph_id": "pull", "name": "theirs"}).json["assistant_id"]
        equal(self.owner.request("PUT", "/store/items", {"namespace": ["their-space"], "key": "k", "value": {"v": 1}}).status, 204)
        cron = self.owner.post("/runs/crons", {"assistant_id": "pull", "schedule": "0 0 1 1 *"}).json["cron_id"]
        self.theirs = {"cron": cron, "job": "others-job", "thread": thread, "run": run, "checkpoint": place, "assistant": assistant,
                       "lease": self.lease.token, "namespace": "their-space", "question": "their-question",
                       "request": "their-request", "call": "00000000-0000-4000-8000-000000000000"}

    def nobodys(self, kind):
        """Of the same form, and another each time: what is made under it is there afterwards."""
        n = next(self.counter)
        if kind == "lease":
            return f"{self.lease.token[:-8]}{n:08x}"
        if kind in ("thread", "run", "assistant", "checkpoint", "call", "cron"):
            return str(uuid.UUID(int=uuid.uuid4().int & ~0xffff | n))
        return f"{n:03}-{'z' * 40}"[:len(self.theirs[kind])]

    def askers(self, name):
        for scope in scopes(name):
            if scope in ("client", "read"):
                yield self.foreign
            if scope == "worker":
                yield from self.workers


def build(w, name, where, called, kind, value):
    """Method, path and body, with @value in its place and what is harmless in the others."""
    method, pattern = name.split(" ")
    is_worker = "/worker/" in pattern
    filling = {"id": "own-job", "thread": "own-thread" if is_worker else w.own_thread, "run": str(uuid.UUID(int=1)),
               "checkpoint": "1", "assistant": "pull", "call": "c", "token": "0" * 12, "file": "api.js", "last": "0",
               "agent": "pull", "namespace": "x"}
    query = dict(QUERIES.get(name, {}))
    body = BODIES.get(name, {"assistant_id": "pull"} if pattern.endswith(RUNS) and method == "POST" else {} if method != "GET" else None)
    body = json.loads(json.dumps(body).replace("{thread}", w.own_thread))
    if where == "path":
        filling[called] = value
    if "{id}" in pattern and is_worker:
        query["lease"] = w.lease.token
    if where == "query":
        query[called] = value
        if called == "job":
            query["lease"] = w.lease.token
        if called == "lease":
            query["job"] = w.theirs["job"]
            filling["id"] = w.theirs["job"]
    elif where == "body":
        body = {**body, called: BODY[called][1](value)}
        if called == "answers":
            body.pop("value")
    path = re.sub(r"\{(\w+)\}", lambda m: filling[m[1]], pattern)
    if query:
        path += "?" + "&".join(f"{k}={v}" for k, v in query.items())
    return method, path, body


def ask(caller, method, path, body):
    """Status, head and body; of a stream that goes on, its first frame."""
    if path.startswith("/v1/stream"):
        with Stream(caller.server, path, headers=caller.own) as st:
            if st.status == 200:
                st.until("it says something of the job", lambda st: st.frames)
                return st.status, "", "".join(f.event + f.data for f in st.frames[:1])
            return st.status, "", st.body.decode()
    a = caller.request(method, path, body)
    return a.status, a.headers.get("content-type"), a.body.decode()


def plain(answer, *names):
    """Without its names, and without what is new in every answer."""
    status, kind, text = answer
    for name in names:
        text = text.replace(name, "NAME")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)", "TIME", text)
    return status, kind, text


NAMING = [n for n in OPERATIONS if scopes(n) and not set(scopes(n)) & {"admin", "metrics"} and list(places(n))]


@case
def the_document_names_its_places():
    """A new member that names something needs its line above."""
    check(len(NAMING) > 60, NAMING)
    kinds = {kind for n in NAMING for _, _, kind in places(n)}
    equal(kinds, {"job", "thread", "run", "checkpoint", "assistant", "lease", "namespace", "question", "request", "call", "cron"})
    ids = {m for n in OPERATIONS for m in members(n) if re.search(r"(^|_)ids?$", m)}
    # Agents, which are everybody's; and a checkpoint's or an event's, below its thread.
    equal(ids - set(BODY), {"graph_id", "id", "since_event_id"})


@cases(NAMING)
def what_is_anothers_is_as_if_it_were_not_there(name):
    with Locked(agents={"pull": PULL, "ax": PULL}) as s:
        w = World(s)
        for caller in w.askers(name):
            for where, called, kind in places(name):
                theirs, nobodys = w.theirs[kind], w.nobodys(kind)
                a = plain(ask(caller, *build(w, name, where, called, kind, theirs)), theirs)
                b = plain(ask(caller, *build(w, name, where, called, kind, nobodys)), nobodys)
                if (name, called) in TAKEN:
                    equal(a[0], 409, a)
                    continue
                equal(a, b, f"{where} {called}")
                check(a[0] not in (401, 500), a)
        # And all of it is as it was.
        equal((s.admin.state("others-job"), s.admin.job("others-job")["attempt"]), ("running", 1))
        equal(w.owner.get(f"/threads/{w.theirs['thread']}/runs/{w.theirs['run']}").json["status"], "running")
        equal(w.owner.get(f"/assistants/{w.theirs['assistant']}").json["name"], "theirs")
        equal(w.owner.get("/store/items?namespace=their-space&key=k").json["value"], {"v": 1})


@cases(NAMING)
def who_may_not_ask_learns_nothing(name):
    """Without a token, with one that has ended, and with one of another scope."""
    with Locked(agents={"pull": PULL, "ax": PULL}) as s:
        w = World(s)
        scope = scopes(name)[0]
        revoked, expired = s.caller(scope), s.caller(scope, "--expires", "1s")
        s.revoke(revoked)
        for caller in (revoked, expired):
            until("the token has ended", lambda: caller.get("/v1/session").status == 401)
        askers = [(s.stranger(), 401), (Caller(s, "nonsense"), 401), (revoked, 401), (expired, 401), (s.caller("metrics"), 403)]
        for caller, status in askers:
            for where, called, kind in places(name):
                theirs, nobodys = w.theirs[kind], w.nobodys(kind)
                a = plain(ask(caller, *build(w, name, where, called, kind, theirs)), theirs)
                b = plain(ask(caller, *build(w, name, where, called, kind, nobodys)), nobodys)
                equal((a, a[0]), (b, status), f"{where} {called}")
