"""`spoolwire db copy`, from SQLite to PostgreSQL and back: leases, tokens and cursors stay valid."""

import base64
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time

from gateway import PULL, Server, Worker, token
from harness import PROGRAM, case, cases, check, contains, equal
from many_jobs import many_jobs
from server import SECONDS, SERVER, driver, name_of

AGENTS = {"pull": {**PULL, "lease": "600s"}}
ONCE = {"Idempotency-Key": "once"}


class Gateway(Server):
    """A server on that database; without tokens, so that jobs have no owner."""

    def __init__(self, place, *flags):
        super().__init__(*flags, start=False, agents=AGENTS)
        self.data, self.data_flag = place, "--store"
        self.start()


def looks(s):
    """Everything that clients can read from a server."""
    jobs = s.get("/v1/jobs?limit=100").json["jobs"]
    ended = [j["job_id"] for j in jobs if j["finished_at"]]
    return {"jobs": {j["job_id"]: j for j in jobs},
            "events": {i: [(f.id, f.event, f.data) for f in s.stream(i, "aiq").rest().stored] for i in ended},
            "same": s.post("/v1/jobs", {"agent": "pull", "input": "x"}, headers=ONCE).json["job_id"],
            "questions": s.get("/v1/interrupts").json,
            "item": s.get("/store/items?namespace=a&key=k").json,
            "thread": s.get(f"/threads/{THREAD}").json}


THREAD = "00000000-0000-4000-8000-000000000001"


def fill(s):
    """Everything that can be stored; a lease that goes on."""
    many_jobs(s)
    equal(s.post("/v1/jobs", {"agent": "pull", "input": "x"}, headers=ONCE).status, 202)
    check(s.request("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {"n": 1, "zero": "\0"}}).status < 300)
    equal(s.post("/threads", {"thread_id": THREAD, "metadata": {"a": "b"}}).status, 200)
    s.submit(job_id="gone")
    s.post("/v1/jobs/gone/cancel")
    equal(s.request("DELETE", "/v1/jobs/gone").status, 204)
    return Worker(s).lease()


def save(s, lease, id, size):
    """A checkpoint with a channel of that size."""
    value = {"type": "json", "data": base64.b64encode(b"x" * size).decode()}
    fence = f"?job={lease.job}&lease={lease.token}"
    answer = s.post(f"/v1/worker/threads/{lease.job}/checkpoints{fence}",
                    {"ns": "", "id": id, "checkpoint": value, "metadata": {}, "versions": {"a": id}, "blobs": {"a": {"version": id, **value}}})
    equal(answer.status, 200, repr(answer))


def saved(s, lease, id):
    answer = s.post(f"/v1/worker/threads/{lease.job}/checkpoints/get?job={lease.job}&lease={lease.token}", {"ns": "", "id": id})
    return len(base64.b64decode(answer.json["checkpoint"]["blobs"]["a"]["data"]))


def copy(source, target, want=0):
    done = subprocess.run([PROGRAM, "db", "copy", "--from", source, "--to", target, *(["--json"] if want == 0 else [])],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
    equal(done.returncode, want, done.stderr.decode())
    return json.loads(done.stdout) if want == 0 else done.stderr.decode()


def verified(place):
    return subprocess.run([PROGRAM, "verify", "--store", place, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=SECONDS, check=True).stdout


@case
def there_and_back():
    first, url, back = os.path.join(SERVER.folder, "there.db"), SERVER.url(), os.path.join(SERVER.folder, "back.db")
    with Gateway(first) as s:
        lease = fill(s)
        save(s, lease, "1", 5000)
        seen = looks(s)
        contains(copy(first, back, want=3), "--from", "in use by another server")
    secret = subprocess.run([PROGRAM, "token", "create", "--data", first, "--scope", "admin"], stdout=subprocess.PIPE, check=True,
                            timeout=SECONDS).stdout.decode().strip()
    counts = copy(first, url)
    equal((counts["jobs"] > 9, counts["tokens"], counts["secrets"] > 0, counts["items"], counts["threads"]), (True, 1, True, 1, 1))
    equal(copy(url, back), counts)
    equal(verified(url), verified(first))
    equal(verified(back), verified(first))
    contains(copy(first, url, want=3), "the target is not empty", "give a new database")
    last = int(SERVER.sql("SELECT max(key) FROM jobs", name_of(url)))
    for place in (url, back):
        with Gateway(place) as s:
            equal(s.get("/v1/jobs").status, 401)
            equal(s.get("/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status, 200)
        with Gateway(place, "--auth", "off") as s:
            found = looks(s)
            for part in seen:
                equal(found[part], seen[part], part)
            answer = s.post(f"/v1/worker/jobs/{lease.job}/events?lease={lease.token}", token("more"))
            equal(answer.status, 200, repr(answer))
            save(s, lease, "2", 6000)
            equal([saved(s, lease, id) for id in "12"], [5000, 6000])
            equal(s.post("/v1/jobs", {"agent": "pull", "input": "x", "job_id": "new"}).status, 202)
    check(int(SERVER.sql("SELECT max(key) FROM jobs", name_of(url))) > last)
    contains(subprocess.run([PROGRAM, "db", "check", "--store", url], stdout=subprocess.PIPE, check=True, timeout=SECONDS).stdout.decode(),
             "sound")


@case
def what_is_not_there_is_not_copied():
    contains(copy(os.path.join(SERVER.folder, "nothing.db"), SERVER.url(), want=3), "--from", "nothing.db")
    check(not os.path.exists(os.path.join(SERVER.folder, "nothing.db")))
    contains(copy("postgres://u:secret@h/x", "x.db", want=3), "has a password")


@cases(["to PostgreSQL", "to SQLite"])
def killed_in_the_middle(where):
    """The target is as empty as before, and a second copy is whole."""
    path = os.path.join(SERVER.folder, f"big-{where[3:]}.db")
    writer = subprocess.Popen([os.path.join(os.path.dirname(PROGRAM), "tests", "store_driver"), "append", path, "50", "300", "0"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while int(writer.stdout.readline().split()[1]) < 20000:
        pass
    writer.stdin.close()
    writer.wait(SECONDS)
    writer.stdout.close()
    source, target = path, SERVER.url()
    if where == "to SQLite":
        copy(path, target)
        source, target = target, path + ".copy"
    for ms in (50, 150, 400):
        p = subprocess.Popen([PROGRAM, "db", "copy", "--from", source, "--to", target], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        p.stdout.readline() if ms > 100 else None  # the first table is done
        time.sleep(ms / 1000 if ms <= 100 else 0.05)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        # PostgreSQL may be busy with its last statement for a moment.
        SERVER.wait_for(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name_of(source if where == 'to SQLite' else target)}'", "0")
    equal(copy(source, target)["jobs"], 3)
    equal(driver("verify", target)[1], driver("verify", source)[1])


# What a trigger in the target does with a row that is copied: the table, when, and the body.
CHANGES = {"a changed text": ("inputs", "BEFORE", "NEW.input := NEW.input || ' '; RETURN NEW;"),
           "a changed number": ("jobs", "BEFORE", "NEW.updated := NEW.updated + 1; RETURN NEW;"),
           "an empty text for NULL": ("jobs", "BEFORE", "NEW.error := coalesce(NEW.error, ''); RETURN NEW;"),
           "a changed byte of a record": ("records", "BEFORE", "NEW.stored := set_byte(NEW.stored, 0, 0); RETURN NEW;"),
           "a row that is missing": ("records", "BEFORE", "IF NEW.last = 1 THEN RETURN NULL; END IF; RETURN NEW;"),
           "two columns that change places": ("items", "BEFORE", "saved := NEW.key; NEW.key := NEW.namespace; NEW.namespace := saved; RETURN NEW;"),
           "a row too many": ("questions", "AFTER", "INSERT INTO leavings VALUES (1000, 1) ON CONFLICT DO NOTHING; RETURN NULL;")}


@cases(CHANGES)
def a_copy_that_differs_is_told(how):
    """Somebody writes to the target meanwhile: here, triggers that change what is copied."""
    source, target = os.path.join(SERVER.folder, "differs.db"), SERVER.url()
    if not os.path.exists(source):
        with Gateway(source) as s:
            fill(s)
    subprocess.run([PROGRAM, "db", "init", "--store", target], stdout=subprocess.DEVNULL, check=True, timeout=SECONDS)
    table, when, body = CHANGES[how]
    SERVER.sql(f"CREATE FUNCTION tamper() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE saved bytea; BEGIN {body} END $$;"
               f"CREATE TRIGGER tamper {when} INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION tamper()", name_of(target))
    differs = "leavings" if when == "AFTER" else table
    contains(copy(source, target, want=3), f"the table {differs} of the copy differs from the original", "nothing was stored")
    SERVER.sql(f"DROP TRIGGER tamper ON {table}", name_of(target))
    check(copy(source, target)["jobs"] > 0, "the target is as empty as before")


@case
def a_copy_to_sqlite_that_differs_is_told():
    source, target = (os.path.join(SERVER.folder, name) for name in ("source.db", "target.db"))
    with Gateway(source) as s:
        fill(s)
    with Gateway(target):
        pass
    with contextlib.closing(sqlite3.connect(target)) as db, db:
        db.execute("DELETE FROM secrets")  # made by the start; the target must be empty
        db.execute("DELETE FROM clock")
        db.execute("DELETE FROM token_changes")
        db.execute("CREATE TRIGGER tamper AFTER INSERT ON inputs BEGIN UPDATE inputs SET input = input || ' ' WHERE job = NEW.job; END")
    contains(copy(source, target, want=3), "the table inputs of the copy differs from the original")
    with contextlib.closing(sqlite3.connect(target)) as db, db:
        db.execute("DROP TRIGGER tamper")
    check(copy(source, target)["jobs"] > 0, "the target is as empty as before")
