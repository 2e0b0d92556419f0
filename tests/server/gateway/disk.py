"""A full disk, a damaged file, a suspended server: whatever can be saved is saved."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

from database import database
from gateway import OPENING, PULL, Server, Worker, at_once, play, seq, token, until
from harness import DIALECTS, case, cases, check, contains, equal, sqlite_only
from processes import sh


class SmallDisk:
    """A file system of its own with little room.  Where nothing can be mounted, a limit of the
    size of files stands in for it."""

    def __init__(self, size=6 << 20):
        self.size = size

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="spoolwire-small-")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "spoolwire-test", self.folder],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.mounted = done.returncode == 0
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", self.folder], check=True)
            os.rmdir(self.folder)
        else:
            subprocess.run(["rm", "-r", self.folder], check=True)

    def server(self, agents):
        s = Server(agents=agents, start=False)
        s.data = os.path.join(self.folder, "x.db")
        return s.start()

    def fill(self, server):
        """Fills the disk to the last byte."""
        if not self.mounted:
            limit(server, os.path.getsize(server.data + "-wal"))
            return
        with open(os.path.join(self.folder, "ballast"), "wb", buffering=0) as f, contextlib.suppress(OSError):
            for size in (65536, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        f.write(bytes(size))

    def free(self, server):
        if not self.mounted:
            limit(server, resource.RLIM_INFINITY)
        else:
            os.remove(os.path.join(self.folder, "ballast"))


def limit(server, soft):
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))


def until_full(disk, server, lease):
    """Room that is left in the WAL, and that a checkpoint makes there, is used up first."""
    failed = 0
    disk.fill(server)
    while failed < 10:
        a = lease.try_append(token("x" * 20000), seq=lease.seq + 1)
        check(a.status in (200, 503), repr(a))
        lease.seq += a.status == 200
        failed = failed + 1 if a.status == 503 else 0
    return a


@case
@sqlite_only("the disk of PostgreSQL is the concern of its own suite")
def a_full_disk_is_503_and_goes_on_by_itself():
    with SmallDisk() as disk, disk.server({"pull": dict(PULL, lease="5m")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        done = play(s, job_id="done")
        live = s.stream("j", "raw")
        a = until_full(disk, s, lease)
        acknowledged = s.job("j")["events"]
        for what in (lambda: lease.try_append(token("y" * 20000), seq=lease.seq + 1),
                     lambda: s.post("/v1/jobs", {"agent": "pull", "input": "z" * 20000})):
            for a in [a] + [what() for _ in range(5)]:
                equal((a.status, a.headers["content-type"]), (503, "application/problem+json"), repr(a))
                equal(a.headers["retry-after"], "1")
                check("free some" in a.detail or "ulimit" in a.detail, f"it says what to do: {a.detail}")
        equal(s.job("j")["events"], acknowledged, "nothing of it is there")
        live.until_id(acknowledged)
        equal(len(s.read("done")), 13, "readers go on")
        equal([s.get("/livez").status, s.get("/readyz").status], [200, 200])
        disk.free(s)
        until("it goes on by itself", lambda: lease.try_append(token("again"), seq=lease.seq + 1).status == 200)
        lease.seq += 1
        equal(lease.append(token("again"), seq=lease.seq)["accepted"], 0, "stored once")
        live.until_id(acknowledged + 1)
        equal([seq(f) for f in live.stored], list(range(1, acknowledged + 2)), "without a gap")
        equal(lease.finish(), "succeeded")
        live.rest()
        equal(live.ended, "clean")
        says = [row for row in s.err().splitlines() if '"event":"store"' in row]
        equal(len(says), 1, f"said once: {says}")
        contains(says[0], '"stuck":true', '"why":"')
        until("it is said that all is well", lambda: s.submit() and '"stuck":false' in s.err(), every=0.2)
        s.restart(s.kill)
        equal(s.state("j"), "succeeded", "and it was really stored")


@case
@sqlite_only("the disk of PostgreSQL is the concern of its own suite")
def a_full_disk_is_no_silence_of_the_workers():
    """Nothing can be stored of them; when there is room again, nobody has lost a job by that."""
    agents = {"pull": dict(PULL, lease="4s"), "sh": sh("read order; until [ -e go ]; do sleep 0.05; done\n", lease="4s")}
    with SmallDisk() as disk, disk.server(agents) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        s.submit("sh", job_id="process")
        s.until_state("process", "running")
        until_full(disk, s, lease)
        end, beats = time.monotonic() + 6, []
        while time.monotonic() < end:
            beats.append(lease.try_beat().status)
            time.sleep(0.1)  # how often it beats
        check(set(beats) <= {200, 503}, f"heard, or told to come again: {beats}")
        disk.free(s)
        until("a beat", lambda: lease.try_beat().status != 503)
        equal((s.state("j"), s.state("process")), ("running", "running"))
        equal(lease.finish(), "succeeded")
        open(os.path.join(s.folder, "go"), "w").close()
        s.until_state("process", "succeeded")
        equal(s.job("process")["attempt"], 1)


@case
def a_server_that_stood_still_takes_no_jobs_away():
    """Stopped (or a machine that slept) for longer than a lease: workers could not be heard."""
    agents = {"pull": dict(PULL, lease="5s"), "sh": sh("read order; until [ -e go ]; do sleep 0.05; done\n", lease="5s")}
    with Server(agents=agents) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        s.submit("sh", job_id="process")
        s.until_state("process", "running")
        s.signal(signal.SIGSTOP)
        time.sleep(7)  # longer than a lease and than any turn takes
        s.signal(signal.SIGCONT)
        equal((s.state("j"), s.state("process")), ("running", "running"))
        lease.beat()
        open(os.path.join(s.folder, "go"), "w").close()
        s.until_state("process", "succeeded")
        equal(s.job("process")["attempt"], 1)
        j = s.until_state("j", "failed")
        equal(j["error"], "worker lost: its lease ran out", "silence counts again from then on")


def third(db, job):
    """The chunk with the third record."""
    return min(last for last in db.chunks(job) if last >= 3)


def number_nine(db, job):
    last = third(db, job)
    before = db.chunk(job, last)
    contains(before, b'"seq":3,')
    db.write_chunk(job, last, before.replace(b'"seq":3,', b'"seq":9,'))


DAMAGE = {"nonsense": lambda db, job: db.write_chunk(job, third(db, job), b"nonsense"),
          "missing": lambda db, job: db.delete_chunk(job, third(db, job)),
          "another one's": number_nine,
          "the first": lambda db, job: db.write_chunk(job, 1, b"[]"),
          "the last": lambda db, job: db.delete_chunk(job, 4)}


@cases(DAMAGE)
def a_damaged_record_ends_its_job_and_no_other(name):
    with Server(agents={"pull": PULL}) as s:
        for id in ("bad", "cancelled", "deleted"):
            s.submit(job_id=id)
        leases = [Worker(s).lease() for _ in range(3)]
        for lease in leases:
            lease.send(*OPENING)
        s.terminate()
        for lease in leases:
            DAMAGE[name](database(s), lease.job)
        s.start()
        equal(s.post("/v1/jobs/cancelled/cancel").status, 200)
        equal(s.request("DELETE", "/v1/jobs/deleted").status, 204)
        leases[1].try_finish("cancelled")
        s.until_state("cancelled", "cancelled")
        leases[0].append(token("x"))
        j = s.until_state("bad", "failed")
        equal(j["error_type"], "DamagedRecord")
        contains(j["error"], "cannot be read")
        equal(leases[0].try_beat().status, 409)
        answers = at_once(*[lambda: s.post("/v1/jobs", {"agent": "pull"})] * 50)
        equal({a.status for a in answers}, {202}, "nobody else notices")
        for d in DIALECTS:
            frames = s.read("bad", d)
            gaps = [f.json for f in frames if f.event == "stream.gap"]
            equal(len(gaps), 1, f"{d}: everybody is told that this is not all of it")
            check(gaps[0]["requested"] < gaps[0]["oldest"] <= gaps[0]["tail"] == s.job("bad")["events"], gaps)
            equal(like_a_browser(s, "bad", d), "204")
        equal(ending(frames), "failed")


def like_a_browser(s, job, dialect):
    """Comes back from the last id after each end that is not final; which one was."""
    last = None
    for _ in range(6):
        with s.stream(job, dialect, header=last) as st:
            st.rest(20)
            if st.status != 200:
                return str(st.status)
            last = max(st.stored, key=seq).id if st.stored else last
    return "never"


def ending(raw):
    return raw[-1].json["status"] if raw[-1].json["kind"] == "job.end" else None


# Edge case 34.
@cases(["in the middle", "at the end", "all"])
def readers_of_a_damaged_job_get_what_there_is_and_stop(where):
    """Of a long job, whose damage is pages away from its beginning."""
    with Server("--durability", "relaxed", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        for _ in range(20):
            lease.send(*[token("x" * 300)] * 100)
        lease.finish("failure", error="enough")
        whole = s.read("j")
        s.terminate()
        db = database(s)
        rows = db.chunks("j")
        check(len(rows) > 10, "one row would be all of it")
        lost = {"in the middle": rows[12:13], "at the end": rows[-1:], "all": rows}[where]
        for last in lost:
            db.write_chunk("j", last, b"nonsense")
        s.start()
        with s.stream("j") as st:
            st.rest()
            equal((st.ended, st.events.count("stream.gap")), ("clean", 1))
        for d in DIALECTS:
            equal((d, like_a_browser(s, "j", d)), (d, "204"))
        events, after = [], "0"
        while True:  # a page at a time
            a = s.get(f"/v1/jobs/j/events?dialect=raw&wait=0&limit=500&after={after}")
            equal(a.status, 200, repr(a))
            events += a.json["events"]
            after = a.json["next"]
            if a.json["ended"]:
                break
        gap = next(e["data"] for e in events if e["event"] == "stream.gap")
        kept = [f.id for f in whole if not gap["requested"] < seq(f) < gap["oldest"]]
        check(0 < len(whole) - len(kept) < 400 or where == "all", gap)
        equal([e["id"] for e in events if e["event"] != "stream.gap"], kept)
        equal([f.id for f in st.stored if f.event != "stream.gap"], kept)


LOST = {
    "deleted": lambda d: os.remove(d),
    "moved": lambda d: os.rename(d, d + ".away"),
    "replaced": lambda d: (os.rename(d, d + ".away"), open(d, "w").close()),
    "WAL deleted": lambda d: os.remove(d + "-wal"),
    "WAL replaced": lambda d: (os.rename(d + "-wal", d + ".away"), open(d + "-wal", "w").close()),
    "SHM deleted": lambda d: os.remove(d + "-shm"),
    "folder renamed": lambda d: os.rename(os.path.dirname(d), os.path.dirname(d) + ".away"),
}


class InFolder(Server):
    """A server whose database is in a folder of its own."""

    def __init__(self, **more):
        super().__init__(start=False, **more)
        os.mkdir(os.path.join(self.folder, "data"))
        self.data = os.path.join(self.folder, "data", "x.db")
        self.start()


@cases(LOST)
@sqlite_only("its files are deleted or moved")
def a_database_that_is_gone_takes_nothing_more(how):
    """What would be lost is not acknowledged, and it is said what has happened, also without a request."""
    with InFolder(agents={"pull": dict(PULL, lease="10m")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        events = s.job("j")["events"]
        LOST[how](s.data)
        for a in (lease.try_append(token("lost"), seq=lease.seq + 1), s.post("/v1/jobs", {"agent": "pull"}),
                  s.post("/v1/jobs/j/cancel")):
            equal(a.status, 503, repr(a))
            check("deleted" in a.detail or "replaced" in a.detail, a.detail)
        until("it is noticed", lambda: s.get("/readyz").status == 503)
        equal(s.get("/readyz").json["status"], "failing")
        a = s.get("/healthz")
        equal((a.status, a.json["store"]["status"]), (503, "failing"))
        contains(a.json["store"]["reason"], "deleted, moved or replaced")
        says = [row for row in s.err().splitlines() if '"event":"store"' in row]
        equal(len(says), 1, f"said once: {says}")
        contains(says[0], '"stuck":true', "nothing is stored", "x.db")
        equal(s.get("/livez").status, 200)
        equal(s.job("j")["events"], events, "readers go on")


@cases({n: LOST[n] for n in ("moved", "folder renamed")})
@sqlite_only("its files are deleted or moved")
def a_database_that_comes_back_goes_on(how):
    with InFolder(agents={"pull": dict(PULL, lease="10m")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        LOST[how](s.data)
        equal(lease.try_append(token("a"), seq=0).status, 503)
        if how == "moved":
            os.rename(s.data + ".away", s.data)
        else:
            os.rename(os.path.dirname(s.data) + ".away", os.path.dirname(s.data))
        until("it goes on", lambda: lease.try_append(token("a"), seq=0).status == 200)
        until("it is ready", lambda: s.get("/readyz").status == 200)
        events = s.job("j")["events"]
        s.restart(s.kill)
        equal(s.job("j")["events"], events)


@case
@sqlite_only("its files are deleted or moved")
def a_deleted_database_is_found_in_proc():
    """As the runbook says."""
    with InFolder(agents={"pull": dict(PULL, lease="10m")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        events = s.job("j")["events"]
        for end in ("", "-wal", "-shm"):
            os.remove(s.data + end)
        until("it is noticed", lambda: s.get("/readyz").status == 503)
        held = f"/proc/{s.pid}/fd"
        for fd in os.listdir(held):
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile: not one of these
                name = os.readlink(f"{held}/{fd}").removesuffix(" (deleted)")
                if name in (s.data, s.data + "-wal"):
                    shutil.copy(f"{held}/{fd}", name)
        s.kill()
        s.start()
        equal((s.state("j"), s.job("j")["events"]), ("running", events))
        lease.send(token("b"))


@cases({n: LOST[n] for n in ("WAL deleted", "SHM deleted")})
@sqlite_only("its files are deleted or moved")
def what_was_in_a_lost_wal_is_saved(how):
    with InFolder(agents={"pull": dict(PULL, lease="10m")}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        events = s.job("j")["events"]
        LOST[how](s.data)
        until("it is noticed", lambda: s.get("/readyz").status == 503)
        s.kill()
        s.start()
        equal((s.state("j"), s.job("j")["events"]), ("running", events))
        lease.send(token("b"))
        equal(lease.finish(), "succeeded")
