"""Every timer that a wall clock could hold up or hurry: each is LENGTH seconds long, is begun before the clock
is set, and must end after that time, not at once and not after the size of the step."""

import glob
import json
import os
import tempfile
import time

from callers import Caller, cli
from gateway import OPENING, PULL, Server, Stream, Worker, interrupt, play, read_answer, request_bytes, token, until
from harness import case, cases, check, equal

LENGTH = 8  # seconds, of every timer
LATE = 100  # seconds, of a busy machine; every step is longer
MINUTE, DAY = 60, 24 * 3600
STEPS = {"-10 min": -10 * MINUTE, "-30 days": -30 * DAY, "+1 day": DAY}

AGENTS = {
    "lease": dict(PULL, lease=f"{LENGTH}s"),
    "queue": dict(PULL, queue_deadline=f"{LENGTH}s"),
    "run": dict(PULL, run_deadline=f"{LENGTH}s", lease="1h"),
    "cancel": dict(PULL, cancel_grace=f"{LENGTH}s", lease="1h"),
    "answer": dict(PULL, answer_deadline=f"{LENGTH}s", lease="1h"),
    "kept": PULL,
    "idle": PULL,
}


class Clock(Server):
    """A server whose wall clock can be set."""

    def __init__(self, *flags, **more):
        folder = tempfile.mkdtemp(prefix="spoolwire-clock-")
        self.offset = os.path.join(folder, "offset")
        self.set(0)
        env = {"LD_PRELOAD": glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")[0],
               "FAKETIME_TIMESTAMP_FILE": self.offset, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        super().__init__(*flags, folder=folder, env=env, **more)
        self.own_folder = True

    def set(self, seconds):
        with open(self.offset + ".new", "w") as f:
            f.write(f"{seconds:+d}\n")
        os.rename(self.offset + ".new", self.offset)

    def steps(self):
        """The clock steps in the log."""
        rows = [json.loads(row) for row in self.err().splitlines() if row.startswith("{")]
        return [row for row in rows if row["event"] == "clock"]

    def stream_status(self, path):
        with Stream(self, path) as st:
            return st.status

    def follow(self, seconds):
        """Sets it, and waits until the server has noticed."""
        self.set(seconds)
        return until("the step is in the log", self.steps)


# --- timers ------------------------------------------------------------------------------------


def job_ends(s, agent, why):
    def over():
        job = s.job(agent)
        return job["state"] in ("failed", "cancelled") and why in (job["error"] or "")
    return over


def begin_lease(s):
    s.submit("lease", job_id="lease")
    Worker(s, "lease").lease()
    return job_ends(s, "lease", "its lease ran out")


def begin_queue(s):
    s.submit("queue", job_id="queue")
    return job_ends(s, "queue", "queue deadline")


def begin_run(s):
    s.submit("run", job_id="run")
    Worker(s, "run").lease()
    return job_ends(s, "run", "run deadline")


def begin_cancel(s):
    s.submit("cancel", job_id="cancel")
    Worker(s, "cancel").lease()
    equal(s.post("/v1/jobs/cancel/cancel").status, 200)
    return job_ends(s, "cancel", "cancelled")


def begin_answer(s):
    s.submit("answer", job_id="answer")
    lease = Worker(s, "answer").lease()
    lease.send(*OPENING, interrupt())
    lease.finish("interrupted")
    return job_ends(s, "answer", f"nobody answered question int-1 in {LENGTH} s")


def begin_kept(s):
    play(s, agent="kept", job_id="kept", expiry_seconds=LENGTH)
    return lambda: s.job("kept")["expired"]


def begin_run_later(s):
    a = s.post("/runs", {"assistant_id": "idle", "input": {}, "after_seconds": LENGTH})
    equal(a.status, 200, repr(a))
    id = a.json["run_id"]

    def leased():
        a = Worker(s, "idle").ask(wait=0)
        return a.status == 200 and a.json["job"] == id
    return leased


def begin_item(s):
    a = s.request("PUT", "/store/items", {"namespace": ["n"], "key": "k", "value": {"x": 1}, "ttl": LENGTH / 60})
    equal(a.status, 204, repr(a))
    return lambda: s.get("/store/items?namespace=n&key=k&refresh_ttl=false").json is None


TIMERS = [begin_lease, begin_queue, begin_run, begin_cancel, begin_answer, begin_kept, begin_run_later, begin_item]


def begin_all(s):
    """Begins every timer; what tells that it has ended, by name, and when it was begun."""
    began = {}
    for begin in TIMERS:
        began[begin.__name__] = (time.monotonic(), begin(s))
    return began


def end_all(s, began):
    def left():
        open = [name for name, (_, is_over) in began.items() if name not in ended]
        for name in open:
            at, is_over = began[name]
            if is_over():
                took = time.monotonic() - at
                check(took > LENGTH - 1, f"{name[6:]} ended after {took:.1f} s instead of {LENGTH}")
                ended.add(name)
        equal(s.get("/healthz").json["status"], "ok")
        return len(ended) == len(began)

    ended = set()
    try:
        until("all timers have ended", left, LATE, 0.05)
    except AssertionError as e:
        raise AssertionError(f"{e}: not {[name[6:] for name in began if name not in ended]}")


def told_once(s, seconds, how, slack=LATE):
    """A step while it was down looks smaller by the time that passed meanwhile."""
    steps = s.steps()
    equal([row["while"] for row in steps], [how], "each step is told once")
    off = steps[0]["stepped_ms"] / 1000 - seconds
    check(-2 < off < slack, f"a step of {seconds} s is told as {steps[0]['stepped_ms']} ms")


# --- cases -------------------------------------------------------------------------------------


@cases(STEPS)
def timers_go_on_when_the_clock_is_set_while_the_server_runs(step):
    with Clock(agents=AGENTS) as s:
        began = begin_all(s)
        s.follow(STEPS[step])
        end_all(s, began)
        told_once(s, STEPS[step], "running", slack=2)


@cases([f"{step}, {how}" for step in ("-10 min", "-30 days") for how in ("kill", "terminate")])
def timers_go_on_when_the_clock_was_set_back_while_the_server_was_down(what):
    step, how = what.split(", ")
    with Clock(agents=AGENTS) as s:
        began = begin_all(s)
        getattr(s, how)()
        s.set(STEPS[step])
        s.start()
        end_all(s, began)
        told_once(s, STEPS[step], "down")


@cases(STEPS)
def what_begins_after_a_step_takes_its_time(step):
    with Clock(agents=AGENTS) as s:
        s.follow(STEPS[step])
        end_all(s, begin_all(s))
        told_once(s, STEPS[step], "running", slack=2)


@cases(STEPS)
def a_lease_request_waits_as_long_as_it_asked(step):
    with Clock(agents=AGENTS) as s:
        with s.connect() as sock:
            start = time.monotonic()
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease",
                                       {"agents": ["idle"], "worker": "w", "wait": LENGTH}))
            s.follow(STEPS[step])
            equal(read_answer(sock, seconds=LATE).status, 204)
            check(time.monotonic() - start > LENGTH - 1, "not before")


@cases(STEPS)
def tokens_and_sessions_expire_after_their_time(step):
    with Clock(agents={"pull": PULL}) as s:
        cli("token", "create", "--data", s.data, "--scope", "admin")
        start = time.monotonic()
        out, _ = cli("token", "create", "--data", s.data, "--scope", "read", "--expires", f"{LENGTH}s")
        c = Caller(s, out.strip())
        equal(c.get("/v1/jobs").status, 200)
        s.follow(STEPS[step])
        first = until("an answer", lambda: c.get("/v1/jobs"))
        check(first.status == 200 or time.monotonic() - start > LENGTH, f"it ends {first.status} with the step")
        until("it expires", lambda: c.get("/v1/jobs").status == 401, LATE)
        check(time.monotonic() - start > LENGTH - 1, "not before")


def ticket(caller, seconds):
    a = caller.post("/v1/tickets", {"job_id": "j", "ttl": seconds})
    equal(a.status, 201, repr(a))
    return a.json["url"]


@cases(STEPS)
def a_ticket_is_good_for_as_long_as_it_was_made_for(step):
    with Clock(agents={"pull": PULL}) as s:
        out, _ = cli("token", "create", "--data", s.data, "--scope", "admin")
        c = Caller(s, out.strip())
        c.submit(job_id="j")
        start = time.monotonic()
        path = ticket(c, LENGTH)
        check(s.stream_status(path) == 200)
        s.follow(STEPS[step])
        check(s.stream_status(path) == 200 or time.monotonic() - start > LENGTH - 2, "it ends with the step")
        until("it is refused", lambda: s.stream_status(path) == 401, LATE)
        check(time.monotonic() - start > LENGTH - 2, "not before; a ticket has whole seconds")


@case
def a_ticket_from_before_the_clock_was_set_back_is_refused():
    with Clock("--ticket-life", "30s", agents={"pull": PULL}) as s:
        out, _ = cli("token", "create", "--data", s.data, "--scope", "admin")
        c = Caller(s, out.strip())
        c.submit(job_id="j")
        path = ticket(c, 30)
        s.terminate()
        s.set(-10 * MINUTE)
        s.start()
        equal(s.stream_status(path), 401)


@cases(STEPS)
def a_rate_is_counted_on_from_where_it_was(step):
    with Clock(agents={"pull": dict(PULL, lease="1h")}) as s:
        cli("token", "create", "--data", s.data, "--scope", "admin")
        out, _ = cli("token", "create", "--data", s.data, "--scope", "worker,client", "--max-events", "10")
        c = Caller(s, out.strip())
        c.submit(job_id="j")
        lease = Worker(c).lease()
        lease.send(*OPENING, *[token("x")] * 150)
        equal(lease.try_append(token("x")).status, 429, "fourteen seconds too many")
        s.follow(STEPS[step])
        until("it may go on", lambda: lease.try_append(token("x")).status == 200, LATE, 0.1)


@cases(["-10 min"])
def a_clock_that_is_set_to_and_fro_leaves_no_trace(step):
    with Clock(agents=AGENTS) as s:
        began = begin_all(s)
        for n, offset in enumerate((STEPS[step], 0, DAY, -DAY, 0), 1):
            s.set(offset)
            until("the step is in the log", lambda: len(s.steps()) == n)
        end_all(s, began)
        equal(len(s.steps()), 5)


# --- crons -------------------------------------------------------------------------------------


@case
def ticks_of_crons_follow_the_date_and_come_once():
    with Clock(agents={"pull": PULL}) as s:
        body = {"assistant_id": "pull", "schedule": "0 0 * * *"}
        cron = s.post("/runs/crons", body).json
        path = f"/runs/crons/{cron['cron_id']}"
        count = lambda: len(s.get("/v1/jobs").json["jobs"])  # noqa: E731
        s.set(DAY)
        until("the tick has a run", lambda: count() == 1)
        s.set(0)
        until("the step back is in the log", lambda: len(s.steps()) == 2)
        equal(count(), 1)
        s.terminate()
        s.set(30 * DAY)
        s.start()
        until("missed ticks are one run", lambda: count() == 2)
        far = s.get(path).json["next_run_date"]
        s.restart()
        equal((count(), s.get(path).json["next_run_date"]), (2, far))
        s.terminate()
        s.set(0)
        s.start()
        until("a cron that moved on by a wrong clock is put right", lambda: s.get(path).json["next_run_date"] <= cron["next_run_date"])
        equal(count(), 2)
