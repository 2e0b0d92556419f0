"""verify and db: intact and damaged databases, and a server that runs meanwhile."""

import json
import os
import stat
import subprocess
import threading

from database import database
from gateway import CLOSING, OPENING, PROGRAM, PULL, STORY, Server, Worker, again, play, root_end, token, until
from harness import RECORDINGS, case, cases, check, contains, equal, sqlite_only
from many_jobs import many_jobs


def run(*args, want=0, **more):
    p = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120, **more)
    equal(p.returncode, want, f"{args}: {p.stdout[-1500:].decode()} {p.stderr[-500:].decode()}")
    return p.stdout.decode(), p.stderr.decode()


def verify(s, *jobs, want=0, online=True):
    """What it says of each job, offline or online."""
    where = ["--url", s.url] if online else ["--data", s.data]
    out, _ = run("verify", *where, "--json", *jobs, want=want)
    return {row["job_id"]: row for row in map(json.loads, out.splitlines())}


AGENTS = {"pull": PULL}


@case
def sound_jobs_of_every_kind():
    with Server(agents=AGENTS) as s:
        many_jobs(s)
        for online in (True, False):
            got = verify(s, online=online)
            equal({id: row["problems"] for id, row in got.items() if not row["sound"]}, {})
            equal(set(got), {"plain", "demo", "bad", "cancelled", "open", "asks", "answered", "retried", "queued"})
            equal(got["demo"]["records"], s.job("demo")["events"])
        out, _ = run("verify", "--url", s.url, "demo", "plain")
        contains(out, "ok   demo (", "ok   plain (", "2 jobs, 0 of them not sound")
        _, err = run("verify", "--url", s.url, "nope", want=3)
        contains(err, "Job not found: nope")
        _, err = run("verify", "--data", s.data, "nope", want=3)
        contains(err, "Job not found: nope")


@case
def of_an_expired_job_the_ending_is_sound():
    with Server(agents=AGENTS) as s:
        play(s, job_id="done", expiry_seconds=1)
        s.submit(job_id="failed", expiry_seconds=1)
        Worker(s).lease().finish("failure", error="it broke")
        for id in ("done", "failed"):
            until(f"{id} has expired", lambda: s.job(id)["expired"], 30, 0.1)
        for online in (True, False):
            got = verify(s, online=online)
            equal({id: (row["records"], row["problems"]) for id, row in got.items()}, {"done": (1, []), "failed": (2, [])})
        s.terminate()
        db = database(s)
        last, = db.chunks("done")
        db.write_chunk("done", last, db.chunk("done", last).replace(b'"succeeded"', b'"failed"'))
        contains(" ".join(verify(s, want=1, online=False)["done"]["problems"]), "it says that the job failed")


@case
def recorded_runs_are_sound():
    with Server(agents=AGENTS) as s:
        names = [n for n in sorted(os.listdir(RECORDINGS)) if n.endswith(".ndjson") and "state" not in n]
        check(len(names) > 5, names)
        for i, name in enumerate(names):
            with open(os.path.join(RECORDINGS, name), "rb") as f:
                data = f.read()
            s.submit(job_id=f"r{i}")
            lease = Worker(s).lease()
            if lease.try_append(data).status == 200:
                lease.try_finish()
        for online in (True, False):
            got = verify(s, online=online)
            bad = {names[int(id[1:])]: row["problems"] for id, row in got.items() if not row["sound"]}
            equal(bad, {})


# --- damage -------------------------------------------------------------------------------------


class Damaged:
    """A database with one job, which the test then damages."""

    def __init__(self):
        self.server = Server(agents=AGENTS)

    def __enter__(self):
        s = self.server
        play(s, job_id="j")
        s.terminate()
        self.db = database(s)
        self.lines = [line for last in self.db.chunks("j") for line in self.db.chunk("j", last).decode().split("\n")]
        return self

    def __exit__(self, *e):
        self.server.__exit__(*e)

    def store(self, rows):
        """Each of @rows (seq, line) as a run of its own."""
        self.db.do("DELETE FROM records")
        self.db.add_chunks("j", [(seq, line.encode()) for seq, line in rows])

    def pack(self, n):
        """The records as they were, @n in a run."""
        chunks = [self.lines[i:i + n] for i in range(0, len(self.lines), n)]
        self.store([(min((i + 1) * n, len(self.lines)), "\n".join(lines)) for i, lines in enumerate(chunks)])

    def all(self):
        return list(enumerate(self.lines, 1))

    def problems(self):
        row = verify(self.server, want=1, online=False)["j"]
        equal(row["sound"], False)
        return row["problems"]


@case
def as_single_runs_it_is_still_sound():
    with Damaged() as d:
        d.store(d.all())
        equal(verify(d.server, online=False)["j"]["problems"], [])


@case
def damage_to_runs():
    with Damaged() as d:
        d.pack(4)
        equal(verify(d.server, online=False)["j"]["problems"], [], "runs of four records are as good as any")
        d.db.delete_chunk("j", 8)
        equal(d.problems()[0], "record 5: it and all up to 8 are missing")
        d.pack(4)
        d.db.write_chunk("j", 8, d.db.chunk("j", 8).partition(b"\n")[2])
        equal(d.problems()[0], "record 5: it is missing")
        d.pack(4)
        d.db.add_chunks("j", [(6, "\n".join(d.lines[4:6]).encode())])
        check("record 5: it is there twice" in d.problems(), d.problems())
        d.pack(4)
        d.db.write_chunk("j", 8, b"{}\n" * 50)
        contains(d.problems()[0], "missing")


@case
def a_missing_record():
    with Damaged() as d:
        d.store([row for row in d.all() if row[0] != 5])
        equal(d.problems()[0], "record 5: it is missing")
        d.store([row for row in d.all() if row[0] not in (5, 6, 7)])
        equal(d.problems()[0], "record 5: it and all up to 7 are missing")
        d.store(d.all()[1:])
        equal(d.problems()[0], "record 1: it is missing")


@case
def the_last_record_is_missing():
    with Damaged() as d:
        d.store(d.all()[:-1])
        text = " ".join(d.problems())
        contains(text, "the job is succeeded, and no record says so")


@case
def two_endings():
    with Damaged() as d:
        n = len(d.lines)
        end = json.loads(d.lines[-1])
        equal(end["kind"], "job.end")
        second = d.lines[-1].replace(f'"seq":{n},', f'"seq":{n + 1},', 1)
        d.store(d.all() + [(n + 1, second)])
        d.db.do(f"UPDATE jobs SET seq = {n + 1}")
        problems = d.problems()
        check(f"record {n + 1}: it comes after the job's end, which is record {n}" in problems, problems)
        check("the job ends 2 times" in problems, problems)


def altered(d, kind, change):
    rows = d.all()
    i = next(i for i, (_, line) in enumerate(rows) if f'"kind":"{kind}"' in line)
    line = change(rows[i][1])
    check(line != rows[i][1], line)
    rows[i] = (rows[i][0], line)
    d.store(rows)
    return rows[i][0]


@cases(["spaces", "order", "unknown", "seq", "cut", "kind", "head", "status"])
def an_altered_record(how):
    with Damaged() as d:
        if how == "spaces":
            seq = altered(d, "llm.delta", lambda line: line.replace(",", ", ", 1))
            want = f"record {seq}: it is not as it was written"
        elif how == "order":
            seq = altered(d, "llm.delta", lambda line: json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":")))
            want = f"record {seq}: it is not as it was written"
        elif how == "unknown":
            seq = altered(d, "llm.delta", lambda line: line[:-1] + ',"surprise":1}')
            want = f"record {seq}: it is not as it was written"
        elif how == "seq":
            seq = altered(d, "llm.delta", lambda line: line.replace('"seq":', '"seq":9', 1))
            want = f"record {seq}: it says that it is 9"
        elif how == "cut":
            seq = altered(d, "llm.delta", lambda line: line[:20])
            want = f"record {seq}: it cannot be read"
        elif how == "kind":
            seq = altered(d, "tool.end", lambda line: line.replace("tool.end", "progress", 1))
            want = "1 run never ended"
        elif how == "head":
            seq = altered(d, "tool.end", lambda line: line.replace('"head":', '"head":1,"x":', 1).replace(',"x":', ',"elapsed":', 1))
            want = f"record {seq}:"
        else:
            seq = altered(d, "job.end", lambda line: line.replace("succeeded", "failed", 1))
            want = f"record {seq}: it says that the job failed, but it is succeeded"
        problems = d.problems()
        check(any(p.startswith(want) for p in problems), problems)


@case
def a_state_that_the_records_do_not_have():
    with Damaged() as d:
        d.db.do("UPDATE jobs SET state = 'running'")
        contains(" ".join(d.problems()), "the job ends here, but it is running")


@case
@sqlite_only("bytes of its file")
def verifying_writes_nothing():
    with Damaged() as d:
        os.chmod(d.server.data, 0o400)
        before = open(d.server.data, "rb").read()
        verify(d.server, online=False)
        equal(open(d.server.data, "rb").read(), before)


@case
def beside_a_server_that_writes():
    with Server(agents=AGENTS) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        done = threading.Event()

        def write():
            while not done.is_set():
                lease.send(*[token("x ")] * 20)
        t = threading.Thread(target=write)
        t.start()
        try:
            for online in (False, True) * 3:
                equal(verify(s, online=online)["j"]["problems"], [])
        finally:
            done.set()
            t.join()
        lease.send(*CLOSING)
        lease.finish()
        equal(verify(s, online=False)["j"]["problems"], [])


@case
def no_such_database():
    _, err = run("verify", "--data", "/nowhere/x.db", want=3)
    check(err)


# --- db -----------------------------------------------------------------------------------------


@case
@sqlite_only("bytes of its file")
def check_and_stats():
    with Server(agents=AGENTS) as s:
        play(s, job_id="j")
        equal(run("db", "check", "--data", s.data)[0], "sound\n")
        equal(json.loads(run("db", "check", "--data", s.data, "--json")[0]), {"sound": True, "problems": []})
        stats = json.loads(run("db", "stats", "--data", s.data, "--json")[0])
        equal(stats["jobs"], 1)
        check(stats["file_bytes"] + stats["wal_bytes"] > 0 and stats["free_bytes"] > 0, stats)
        contains(run("db", "stats", "--data", s.data)[0], "jobs      1\n", "file ")
        s.terminate()
        with open(s.data, "r+b") as f:
            size = os.path.getsize(s.data)
            for page in range(2, size // 4096):
                f.seek(page * 4096 + 8)
                f.write(b"\xff" * 64)
        p = subprocess.run([PROGRAM, "db", "check", "--data", s.data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        check(p.returncode in (1, 3) and b"sound\n" != p.stdout, p)


@case
@sqlite_only("backup and vacuum are not offered on PostgreSQL")
def a_backup_while_the_server_writes():
    with Server(agents=AGENTS) as s:
        for i in range(5):
            play(s, job_id=f"old{i}")
        s.submit(job_id="live")
        lease = Worker(s).lease()
        lease.send(*again("live", OPENING))
        done = threading.Event()

        def write():
            while not done.is_set():
                lease.send(*again("live", [token("x ")] * 20))
        t = threading.Thread(target=write)
        t.start()
        copy = os.path.join(s.folder, "copy.db")
        try:
            run("db", "backup", copy, "--data", s.data)
        finally:
            done.set()
            t.join()
        equal(stat.S_IMODE(os.stat(copy).st_mode), 0o600)
        check(not os.path.exists(copy + ".partial"))
        out, _ = run("verify", "--data", copy, "--json")
        rows = {row["job_id"]: row for row in map(json.loads, out.splitlines())}
        equal({id for id, row in rows.items() if row["sound"]}, {*(f"old{i}" for i in range(5)), "live"})
        before = open(copy, "rb").read()
        _, err = run("db", "backup", copy, "--data", s.data, want=3)
        contains(err, "is there already")
        equal(open(copy, "rb").read(), before)
        _, err = run("db", "backup", "/nowhere/copy.db", "--data", s.data, want=3)
        contains(err, "/nowhere/copy.db")


@case
@sqlite_only("backup and vacuum are not offered on PostgreSQL")
def the_settings_say_where_it_is():
    with Server(agents=AGENTS) as s:
        play(s, job_id="j")
        config = os.path.join(s.folder, "where.yaml")
        with open(config, "w") as f:
            f.write(f"data: {s.data}\n")
        equal(run("db", "check", "--config", config)[0], "sound\n")
        equal(run("db", "check", env={**os.environ, "SPOOLWIRE_DATA": s.data})[0], "sound\n")
        contains(run("verify", "--config", config)[0], "ok   j (")
        copy = os.path.join(s.folder, "copy.db")
        equal(json.loads(run("db", "backup", copy, "--config", config, "--json")[0]), {"done": True, "file": copy})
        equal(json.loads(run("db", "vacuum", "--data", copy, "--json")[0]), {"done": True})
        _, err = run("db", "check", "--config", "/nowhere.yaml", want=2)
        contains(err, "/nowhere.yaml")


@case
@sqlite_only("the form of its URL")
def a_database_is_named_by_its_url():
    with Server(start=False, agents=AGENTS) as s:
        path, s.data = s.data, f"sqlite:{s.data}"
        s.start()
        play(s, job_id="j")
        check(os.path.exists(path), os.listdir(s.folder))
        for name in (path, s.data):
            equal(run("db", "check", "--data", name)[0], "sound\n")
            contains(run("verify", "--data", name)[0], "ok   j (")
        _, err = run("db", "vacuum", "--data", s.data, want=3)
        contains(err, "in use by another server")
    for command in ("db check", "serve"):
        err = run(*command.split(), "--data", "mysql://me:secret@host/db", want=2)[1]
        contains(err, 'there is no store for "mysql://": give sqlite:PATH')
        check("secret" not in err, err)


@case
@sqlite_only("backup and vacuum are not offered on PostgreSQL")
def vacuum_needs_the_server_to_be_stopped():
    with Server(agents=AGENTS) as s:
        for i in range(20):
            play(s, job_id=f"j{i}", events=[*STORY[:4], token("z" * 50000), *STORY[6:10], root_end()])
        _, err = run("db", "vacuum", "--data", s.data, want=3)
        contains(err, "in use by another server")
        s.terminate()
        database(s).do("DELETE FROM records WHERE id >> 30 > 2")
        database(s).do("DELETE FROM jobs WHERE key > 2")
        before = os.path.getsize(s.data)
        run("db", "vacuum", "--data", s.data)
        check(os.path.getsize(s.data) < before / 2, (before, os.path.getsize(s.data)))
        equal(len(verify(s, online=False)), 2)
