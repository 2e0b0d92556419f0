"""One random sequence of requests, and the model that says what may come back.

The actors are a few workers with leases (some of them stale), a few clients with few ids and keys (so that they
collide), and whoever stops the server, kills it, or sets its clock.  Requests go one after another, or several at
once.  The model knows for certain only what was answered: a request that was cut off may have been done or not.

What must hold: an answer's status is one that the request can have; an attempt is given to one request only and
rises; a request_id that still holds a lease gets that one; a batch that was taken is in the log once, one that was
refused is not; of two answers the first one counts; a thread has one run at work, an owner as many as it may; a
job's records have no gaps, one beginning, one end, and nothing behind it; what was cancelled in time has not
succeeded.
"""

import glob
import random
import socket
import threading

from callers import Caller, cli
from gateway import PULL, SLOW_BUILD, Server, interrupt, lines, root_start, until
from harness import check, equal

FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
STEPS = 220
IDS = [f"j{i}" for i in range(8)]
KEYS = [f"k{i}" for i in range(4)]
REQUESTS = [f"r{i}" for i in range(6)]
THREADS = ["00000000-0000-4000-8000-00000000000%d" % i for i in range(2)]
AGENTS = {"a": dict(PULL, lease="2s", attempts=3, cancel_grace="1s"),
          "b": dict(PULL, lease="1h", attempts=2, queue_deadline="20s", run_deadline="30s", answer_deadline="3s")}
MAX_RUNNING = 2
FINAL = ("succeeded", "failed", "cancelled")
LOST = (ConnectionError, socket.timeout, TimeoutError)


class Held:
    """A lease as some worker knows it."""

    def __init__(self, order, request, generation):
        self.job, self.lease, self.attempt = order["job"], order["lease"], order["attempt"]
        self.request, self.generation = request, generation
        self.seq = self.acked = -1
        self.is_over = False  # as far as is known


class Sequence:
    def __init__(self, seed, verbose=False):
        self.seed, self.verbose = seed, verbose
        self.chance = random.Random(seed)
        self.n_requests = self.n_marks = 0
        self.notes = []
        self.leases = []
        self.by_lease = {}  # lease text -> (request, job, attempt)
        self.taken, self.refused = {}, set()  # marks of batches -> job
        self.answers = {}  # (job, question) -> the value that was taken
        self.keys = {}  # idempotency key -> (body, job id)
        self.deleted = {}  # job -> times that it may have been deleted
        self.lock = threading.Lock()

    def note(self, text):
        self.notes.append(text)
        if self.verbose:
            print(text, flush=True)

    def told(self, why):
        return [*why.splitlines(), *([] if self.verbose else ["the last of it:", *self.notes[-25:]])]

    # requests

    def ask(self, who, method, path, body=None, allowed=(), headers=None):
        """The answer; None when there is none, because the server was killed meanwhile."""
        with self.lock:
            self.n_requests += 1
        try:
            a = who.request(method, path, body, headers)
        except LOST:
            self.note(f"{method} {path} {body}: lost")
            check(self.is_killing, "an answer that never came")
            return None
        except AssertionError as e:
            if self.is_killing and "the connection ended" in str(e):
                return None
            raise
        self.note(f"{method} {path} {body if not isinstance(body, bytes) else len(body)}: {a.status}")
        is_early = a.status == 503 and "has not arrived yet" in a.detail  # batches that overtook each other
        check(a.status in allowed or is_early or (a.status == 503 and self.is_stopping),
              f"{method} {path} {body}: {a.status} {a.body[:300]!r}, expected {allowed}")
        return a if a.status != 503 or is_early else None

    # clients

    def submit(self):
        c = self.chance
        body = {"agent": c.choice("ab"), "input": c.randrange(3)}
        headers = {}
        if c.random() < 0.7:
            body["job_id"] = c.choice(IDS)
        if c.random() < 0.3:
            body["expiry_seconds"] = c.choice((1, 60))
        if c.random() < 0.4:
            headers["Idempotency-Key"] = c.choice(KEYS)
        who = c.choice(self.clients)
        a = self.ask(who, "POST", "/v1/jobs", body, (202, 200, 409, 429), headers)
        if a is None or a.status not in (200, 202):
            return
        id = a.json["job_id"]
        key = (who.token, headers.get("Idempotency-Key"))
        if key[1] is None:
            return
        with self.lock:
            before = self.keys.get(key)
            is_kept = "expiry_seconds" not in body and before is not None and not self.deleted.get(before[1])
            if is_kept and before[0] == body:
                equal(id, before[1], "the same key, another job")
            self.keys[key] = (body, id)

    def run_of_thread(self):
        c = self.chance
        body = {"assistant_id": c.choice("ab"), "input": {}, "if_not_exists": "create",
                "multitask_strategy": c.choice(("enqueue", "reject", "interrupt", "rollback"))}
        if c.random() < 0.2:
            body["after_seconds"] = 1
        self.ask(self.clients[0], "POST", f"/threads/{c.choice(THREADS)}/runs", body, (200, 409, 422, 429))

    def on_job(self):
        c = self.chance
        id = c.choice(IDS)
        what = c.choice(("cancel", "cancel", "pause", "resume", "look", "look", "delete", "list", "questions"))
        who = c.choice(self.clients)
        if what == "look":
            self.look(who, id)
        elif what == "list":
            self.ask(who, "GET", "/v1/jobs?limit=20", None, (200,))
        elif what == "questions":
            self.ask(who, "GET", "/v1/interrupts", None, (200,))
        elif what == "delete":
            with self.lock:
                self.deleted[id] = self.deleted.get(id, 0) + 1
            self.ask(who, "DELETE", f"/v1/jobs/{id}", None, (200, 204, 404))
        else:
            self.ask(who, "POST", f"/v1/jobs/{id}/{what}", None, (200, 404, 409))

    def look(self, who, id):
        a = self.ask(who, "GET", f"/v1/jobs/{id}", None, (200, 404))
        if a is not None and a.status == 200:
            equal(a.json["job_id"], id)
            check((a.json["finished_at"] is not None) == (a.json["state"] in FINAL), a.json)

    def answer(self):
        c = self.chance
        a = self.ask(self.admin, "GET", "/v1/interrupts", None, (200,))
        open = a.json["interrupts"] if a is not None else []
        if not open:
            return
        q = c.choice(open)
        place = (q["job_id"], q["interrupt_id"])
        values = [c.randrange(1000) for _ in range(c.choice((1, 1, 2)))]

        def one(value):
            a = self.ask(self.admin, "POST", f"/v1/jobs/{q['job_id']}/answer",
                         {"interrupt_id": q["interrupt_id"], "value": value}, (200, 404, 409, 410))
            return value if a is not None and a.status == 200 else None

        won = [v for v in self.at_once(*[lambda v=v: one(v) for v in values]) if v is not None]
        check(len(won) <= 1, f"{place}: two answers were taken")
        with self.lock:
            if won:
                check(place not in self.answers, f"{place} was answered before")
                self.answers[place] = won[0]

    # workers

    def lease(self):
        c = self.chance
        request = c.choice(REQUESTS) if c.random() < 0.7 else None
        body = {"agents": c.choice((["a"], ["b"], ["a", "b"])), "worker": f"w{c.randrange(3)}",
                "wait": c.choice((0, 0, 0, 1))}
        if request:
            body["request_id"] = request
        a = self.ask(self.worker, "POST", "/v1/worker/lease", body, (200, 204, 409))
        if a is None or a.status != 200 or "job" not in a.json:
            return
        order = a.json
        with self.lock:
            before = self.by_lease.get(order["lease"])
            if before is not None:
                check(before[0] is not None and before[0] == request,
                      f"{order['job']}: its lease was given to another: {before}")
            self.by_lease[order["lease"]] = (request, order["job"], order["attempt"])
            held = Held(order, request, self.generation)
            old = next((h for h in self.leases if h.lease == held.lease), None)
            if old is None:
                self.leases.append(held)
            for (job, id), value in self.answers.items():
                got = (order.get("resume") or {}).get(id) if job == order["job"] else None
                check(got is None or got == value or self.deleted.get(job),
                      f"{job}: {id} was answered with {value}, not {got}")

    def pick(self):
        held = [h for h in self.leases if not h.is_over]
        if held and self.chance.random() < 0.8:
            return self.chance.choice(held)
        return self.chance.choice(self.leases[-8:]) if self.leases else None

    def say(self, h, what, body=None, allowed=(200, 204, 404, 409), headers=None, **query):
        a = self.ask(self.worker, "POST", self.path(h, what, **query), body, allowed, headers)
        h.is_over |= a is not None and (a.status in (404, 409) or (a.status < 300 and what in ("finish", "return")))
        return a

    def path(self, h, what, **query):
        return f"/v1/worker/jobs/{h.job}/{what}?" + "&".join(f"{k}={v}" for k, v in {"lease": h.lease, **query}.items())

    def append(self):
        h, c = self.pick(), self.chance
        if h is None:
            return
        with self.lock:
            self.n_marks += 1
            mark = f"mark-{self.n_marks}"
        repeat = c.random() < 0.2 and h.seq >= 0
        if not repeat:
            h.seq += 1
        seq, is_known = h.seq, h.seq <= h.acked
        event = {"event": "on_custom_event", "name": mark, "run_id": f"{h.lease[:6]}-{h.attempt}", "data": {"x": 1}}
        rows = [event] if c.random() < 0.85 else [event, root_start(), interrupt(id=f"q{c.randrange(3)}")]
        a = self.say(h, "events", lines(*rows), (200, 404, 409, 429), {"Content-Type": "application/x-ndjson"}, seq=seq)
        with self.lock:
            if a is not None and a.status == 200:
                check(a.json.get("repeated") or not is_known,
                      f"{h.job}: batch {seq} of attempt {h.attempt} was taken twice")
                h.acked = max(h.acked, seq)
            elif a is not None and a.status == 503:
                h.seq = h.acked
            if a is not None and a.status == 200 and not a.json.get("repeated"):
                self.taken[mark] = h.job
            elif a is not None:
                self.refused.add(mark)

    def beat(self):
        h = self.pick()
        if h is not None:
            self.say(h, "heartbeat")

    def finish(self):
        h, c = self.pick(), self.chance
        if h is None:
            return
        if c.random() < 0.25:
            self.say(h, "return")
            return
        status = c.choice(("success", "failure", "interrupted", "cancelled"))
        body = {"status": status, **({"error": "it broke"} if status == "failure" else {})}
        self.say(h, "finish", body)

    # the world

    def at_once(self, *calls):
        results, errors = [None] * len(calls), []

        def run(i):
            try:
                results[i] = calls[i]()
            except BaseException as e:
                errors.append(e)
        threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
        for t in threads:
            t.start()
        for t in threads:
            t.join(300)
            check(not t.is_alive(), "a request has no end")
        if errors:
            raise errors[0]
        return results

    def burst(self):
        self.at_once(*[self.chance.choice(self.acts) for _ in range(self.chance.randrange(2, 5))])

    def restart(self):
        kill = self.chance.random() < 0.5 and not SLOW_BUILD or self.chance.random() < 0.3
        self.note("kill -9" if kill else "SIGTERM")
        self.is_stopping = True
        self.is_killing = kill
        calls = [self.chance.choice(self.acts) for _ in range(self.chance.randrange(0, 3))] if kill else []
        self.at_once(self.server.kill if kill else self.server.terminate, *calls)
        self.server.start()
        self.is_stopping = self.is_killing = False
        self.generation += 1

    def set_clock(self):
        if self.clock is None:
            return
        offset = self.chance.choice((0, 0, -600, 86400, -30 * 86400, 5, -5))
        self.note(f"the clock is off by {offset} s")
        self.clock(offset)

    def check_limits(self):
        a = self.ask(self.admin, "GET", "/v1/jobs?state=running&limit=100", None, (200,))
        if a is None:
            return
        owners = {}
        for job in a.json["jobs"]:
            owners.setdefault(job["owner"], []).append(job["job_id"])
        for owner, jobs in owners.items():
            check(owner != "small" or len(jobs) <= MAX_RUNNING, f"{len(jobs)} jobs of {owner} are at work: {jobs}")

    # the whole

    def start(self):
        agents = dict(AGENTS)
        self.clock = None
        if FAKETIME and not SLOW_BUILD and self.chance.random() < 0.5:
            import steps
            self.server = steps.Clock(agents=agents)
            self.clock = self.server.set
        else:
            self.server = Server(agents=agents)
        s = self.server
        make = lambda *flags: Caller(s, cli("token", "create", "--data", s.data, *flags)[0].strip())  # noqa: E731
        self.admin = make("--scope", "admin")
        self.clients = [make("--scope", "client", "--owner", "big"),
                        make("--scope", "client", "--owner", "small", "--max-running", str(MAX_RUNNING),
                             "--max-jobs", "6")]
        self.worker = make("--scope", "worker")
        self.is_stopping = self.is_killing = False
        self.generation = 0
        self.acts = [self.submit] * 6 + [self.run_of_thread] * 2 + [self.on_job] * 4 + [self.answer] * 2 + \
            [self.lease] * 6 + [self.append] * 8 + [self.beat] * 2 + [self.finish] * 5
        return s

    def run(self):
        with self.start():
            for _ in range(STEPS):
                roll = self.chance.random()
                if roll < 0.008:
                    self.restart()
                elif roll < 0.02:
                    self.set_clock()
                elif roll < 0.12:
                    self.burst()
                elif roll < 0.16:
                    self.check_limits()
                else:
                    self.chance.choice(self.acts)()
            self.check_logs()

    def check_logs(self):
        """Everything is brought to its end, and read."""
        seen = {}
        a = self.ask(self.admin, "GET", "/v1/jobs?limit=200", None, (200,))
        for job in a.json["jobs"]:
            id = job["job_id"]
            if job["state"] not in FINAL:
                self.ask(self.admin, "POST", f"/v1/jobs/{id}/cancel", None, (200, 404, 409))
            job = until(f"{id} ends", lambda: self.ended(id), 90, 0.1)
            if job == "gone" or job["expired"]:
                continue
            self.check_log(id, job, seen)
        for mark, job in self.taken.items():
            check(mark in seen or not self.has_all(job), f"{mark} was taken, and is not in the log of {job}")
            check(len(seen.get(mark, [])) <= 1, f"{mark} is in the log {len(seen.get(mark, []))} times")
        for mark in self.refused:
            check(mark not in seen, f"{mark} was refused, and is in the log")

    def has_all(self, id):
        a = self.ask(self.admin, "GET", f"/v1/jobs/{id}", None, (200, 404))
        return a.status == 200 and not a.json["expired"] and not self.deleted.get(id)

    def ended(self, id):
        a = self.ask(self.admin, "GET", f"/v1/jobs/{id}", None, (200, 404))
        if a.status == 404:
            return "gone"
        return a.json if a.json["state"] in FINAL else None

    def check_log(self, id, job, seen):
        self.n_requests += 1
        with self.admin.stream(id, "raw") as st:
            st.rest()
            if st.status != 200 or any(f.event == "stream.gap" for f in st.frames):
                return  # retention was faster
            equal(st.ended, "clean", f"the stream of {id}")
            records = [f.json for f in st.frames if f.id]
        equal([r["seq"] for r in records], list(range(1, len(records) + 1)), f"{id}: records with gaps")
        kinds = [r["kind"] for r in records]
        equal((kinds[0], kinds.count("job.start"), kinds[-1], kinds.count("job.end")),
              ("job.start", 1, "job.end", 1), f"{id}: {kinds[-5:]}")
        equal(records[-1]["status"], job["state"], f"{id}: how it ended")
        for r in records:
            if r["kind"] == "custom":
                seen.setdefault(r["title"], []).append(id)
