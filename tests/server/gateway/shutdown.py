"""A graceful stop: what readers and workers are told, and when the server ends."""

import contextlib
import os
import signal
import socket

from database import database
from gateway import OPENING, PULL, STORY, Server, Stream, Worker, alive, request_bytes, token, until
from harness import BEATING, DIALECTS, case, cases, check, contains, equal
from processes import pids, sh


def going(s):
    """SIGTERM was noticed."""
    s.expected_exit = 0
    s.signal(signal.SIGTERM)
    until("it goes down", lambda: "going down" in s.err())


# Edge case 49.
@case
def readers_are_sent_away():
    """Dialects with a word for it are told; the others are just cut; all with a jittered retry:, none with a clean end."""
    with Server("--shutdown-window", "8s", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        streams = [(d, s.stream("j", d)) for d in DIALECTS for _ in range(3)] + [("aiq", s.aiq("j"))]
        for d, st in streams:
            st.until("its frames", lambda st: st.stored)
        going(s)
        for d, st in streams:
            st.rest()
            check(st.ended != "clean", f"{d}: a closed socket is not an ended job")
            equal(st.events.count("job.shutdown"), 1 if d in BEATING else 0, d)
            equal([f.id for f in st.frames if f.event == "job.shutdown"], [None] * (d in BEATING), d)
            equal(len(st.retries), 1, d)
            check(100 <= st.retries[0] <= 30000, st.retries)
        equal(s.wait(), 0, s.err()[-3000:])
        check(len({st.retries[0] for _, st in streams}) > 3, f"jittered: {[st.retries[0] for _, st in streams]}")
        frames = [f.json for f in streams[-1][1].frames if f.event == "job.shutdown"]
        equal(list(frames[0])[:2], ["type", "id"])
        s.start()
        equal(s.state("j"), "running")
        equal(lease.send(token("x"))["cancel"], False)


# Takes its time when it is told to stop, so that the window stays open until let_go().
SLOW_TO_STOP = sh("trap 'until [ -e go ]; do sleep 0.05; done; exit 0' TERM; read job; echo $$ >> pids; "
                  "while :; do sleep 0.05; done", grace="10m")


def let_go(s):
    open(os.path.join(s.folder, "go"), "w").close()


# Edge case 52.
@case
def readyz_says_503_and_the_rest_goes_on():
    with Server("--shutdown-window", "20s", agents={"pull": PULL, "slow": SLOW_TO_STOP}) as s:
        s.submit("slow")
        s.submit(job_id="j")
        lease = Worker(s).lease()
        until("the process", lambda: pids(s))
        equal(s.get("/readyz").status, 200)
        going(s)
        a = s.get("/readyz")
        equal((a.status, a.json), (503, {"status": "draining"}))
        equal(s.get("/livez").status, 200)
        lease.send(*STORY)
        equal(lease.finish(), "succeeded", "workers may still finish")
        let_go(s)
        equal(s.wait(), 0, s.err()[-3000:])
        s.start()
        equal(s.state("j"), "succeeded")


# Edge case 52.
@case
def streams_opened_in_the_window():
    """Never a 503: 200, a retry:, and a cut.  A finished job may as well be read to its end."""
    with Server("--shutdown-window", "20s", agents={"pull": PULL, "slow": SLOW_TO_STOP}) as s:
        s.submit("slow")
        s.submit(job_id="j")
        Worker(s).lease().send(*OPENING)
        until("the process", lambda: pids(s))
        going(s)
        for st in [s.stream("j", "agent"), s.stream("j", "aiq"), s.aiq("j", header="3")]:
            equal(st.status, 200)
            st.rest()
            check(st.ended != "clean", st.ended)
            equal(len(st.retries), 1, "when to come back")
        let_go(s)
        equal(s.wait(), 0, s.err()[-3000:])


# Edge case 50.
@case
def a_long_replay_is_cut_too():
    """Also a reader that takes nothing does not hold up the end."""
    with Server("--shutdown-window", "2s", "--durability", "relaxed", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING, *[token("x" * 1000)] * 20000)
        stuck = Stream(s, "/v1/jobs/j/events?dialect=aiq", receive_buffer=4096)
        stuck.until("it has begun", lambda st: st.frames)
        going(s)
        equal(s.wait(), 0, s.err()[-3000:])
        stuck.rest()
        check(stuck.ended != "clean")


# Edge case 51.
@case
def a_second_signal_ends_at_once():
    with Server("--shutdown-window", "10m", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        with contextlib.ExitStack() as opened:
            readers = [opened.enter_context(s.aiq("j")) for _ in range(8)]  # a single one might be sent away at first
            for st in readers:
                st.until_event("job.status")
            going(s)
            s.signal(signal.SIGINT)
            code = s.wait()
            check(code != 0, f"exit {code}")
            for st in readers:
                st.rest()
                check(st.ended != "clean")
        s.start()
        equal(s.state("j"), "queued")


@cases([signal.SIGTERM, signal.SIGINT], lambda n: n.name)
def an_idle_server_ends_soon(number):
    """Nobody is there to be sent away."""
    with Server("--shutdown-window", "10m", agents={"pull": PULL}) as s:
        s.submit()
        s.expected_exit = 0
        s.signal(number)
        equal(s.wait(), 0, s.err())


@case
def processes_are_handed_back_in_the_window():
    script = "trap 'echo tidied >&2; exit 0' TERM\nread job\necho $$ >> pids\nwhile [ ! -e go ]; do sleep 0.05; done\n"
    with Server("--shutdown-window", "20s", agents={"a": sh(script, grace="10m")}) as s:
        id = s.submit("a")
        until("it runs", lambda: pids(s))
        going(s)
        equal(s.wait(), 0, s.err()[-3000:])
        contains(s.err(), "tidied")
        check(not any(alive(p) for p in pids(s)), "no process is left behind")
        let_go(s)
        s.start()
        j = s.until_state(id, "succeeded")
        equal(j["attempt"], 2)


@case
def a_process_that_does_not_listen_is_killed_in_the_window():
    script = "trap '' TERM\nread job\necho $$ >> pids\nwhile [ ! -e go ]; do sleep 0.05; done\n"
    with Server("--shutdown-window", "2s", agents={"a": sh(script, grace="10m")}) as s:
        id = s.submit("a")
        until("it runs", lambda: pids(s))
        going(s)
        equal(s.wait(), 0, s.err()[-3000:])
        until("no process is left behind", lambda: not any(alive(p) for p in pids(s)))
        let_go(s)
        s.start()
        s.until_state(id, "succeeded")


@case
def a_long_poll_does_not_hold_up_the_end():
    with Server("--shutdown-window", "2s", agents={"pull": PULL}) as s:
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "POST", "/v1/worker/lease", {"agents": ["pull"], "worker": "w", "wait": 60}))
            until("it is there", lambda: s.get("/v1/workers").json["workers"])
            going(s)
            equal(s.wait(), 0, s.err()[-3000:])  # nobody waits for it


def unread(s, client):
    """Bytes of @client that the server has not read yet; None: they have not arrived."""
    ends = f":{s.port:04X}", f":{client.getsockname()[1]:04X}"
    with open("/proc/net/tcp") as f:
        rows = [row.split() for row in f.readlines()[1:]]
    return next((int(r[4].split(":")[1], 16) for r in rows if (r[1][-5:], r[2][-5:]) == ends), None)


def listens(s):
    with contextlib.suppress(ConnectionError):
        socket.create_connection(("127.0.0.1", s.port)).close()
        return True
    return False


@case
def a_lease_on_its_way_at_the_end_costs_no_attempt():
    """Nobody can take the job any more: it is not given, or handed back.  Its only attempt is still there."""
    with Server(agents={"pull": dict(PULL, attempts=1, lease="2s")}) as s:
        s.submit(job_id="j")
        with contextlib.closing(socket.create_connection(("127.0.0.1", s.port))) as worker:
            with database(s).locked():  # the journal's next turn waits
                worker.sendall(request_bytes(s, "POST", "/v1/worker/lease", {"agents": ["pull"], "wait": 30}))
                until("it was read", lambda: unread(s, worker) == 0)
                going(s)
                until("nobody listens", lambda: not listens(s))
            equal(s.wait(), 0, s.err()[-3000:])
        s.start()
        equal((s.state("j"), s.job("j")["attempt"]), ("queued", 0))
        equal(Worker(s).lease().finish(), "succeeded")
