"""/livez, /readyz and /healthz."""

import contextlib
import os
import subprocess
import tempfile

from gateway import PULL, STORY, Server, Worker, until
from harness import ON_POSTGRES, case, check, contains, equal, sqlite_only


@case
def a_server_that_is_well_says_so():
    with Server(agents={"pull": PULL}) as s:
        equal(s.get("/livez").json, {"status": "alive"})
        ready = s.get("/readyz").json
        equal(ready["status"], "ready")
        check(len(ready) == 1 or ON_POSTGRES, "who writes is told when several may")
        a = s.get("/healthz")
        equal(a.status, 200)
        h = a.json
        equal((h["status"], h["store"]["status"], h["journal"]["status"]), ("ok", "ok", "ok"))
        equal(h["journal"]["last_commit_at"], None)
        if ON_POSTGRES:  # its disk is not ours
            equal(set(h["store"]) & {"bytes", "disk_free_bytes"}, set())
        else:
            check(h["store"]["bytes"] > 0 and h["store"]["disk_free_bytes"] > 0)
        id = s.submit()
        h = s.get("/healthz").json
        equal(h["journal"]["jobs_queued"], 1)
        created = s.job(id)["created_at"]
        check(h["journal"]["last_commit_at"] >= created, f"{h} {created}")
        with s.stream(id):
            equal(s.get("/healthz").json["streams"], 1)


@case
def nothing_of_the_machine_is_told():
    with Server(agents={"pull": PULL}) as s:
        text = s.get("/healthz").body.decode() + s.get("/readyz").body.decode()
        check(s.folder not in text and "x.db" not in text, text)


@case
def a_server_that_goes_down_is_not_ready():
    deaf = {"command": ["sh", "-c", "trap '' TERM; : >there; exec sleep 300"], "grace": "10m"}  # holds it up for as long as is looked
    with Server("--shutdown-window", "60s", agents={"deaf": deaf}) as s:
        s.submit("deaf")
        until("it does not listen", lambda: os.path.exists(os.path.join(s.folder, "there")))
        s.expected_exit = 0
        s.signal(15)
        until("it drains", lambda: s.get("/readyz").status == 503)
        equal(s.get("/livez").status, 200)
        a = s.get("/healthz")
        equal((a.status, a.json["status"]), (503, "draining"))
        s.kill()


@case
@sqlite_only("its file is moved")
def a_database_that_is_gone_is_failing():
    with Server(agents={"pull": PULL}) as s:
        os.rename(s.data, s.data + ".away")
        a = s.get("/healthz")
        equal((a.status, a.json["status"], a.json["store"]["status"]), (503, "failing", "failing"))
        contains(a.json["store"]["reason"], "deleted, moved or replaced")
        os.rename(s.data + ".away", s.data)
        until("it is well again", lambda: s.get("/healthz").status == 200)  # a turn may have failed meanwhile


@contextlib.contextmanager
def small_disk(size):
    with tempfile.TemporaryDirectory(prefix="spoolwire-ops-") as where:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "ops-test", where],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            print(f"     no small disk for this test: {done.stdout.decode().strip()}")
            yield None
            return
        try:
            yield where
        finally:
            subprocess.run(["umount", where], check=True)


@case
@sqlite_only("the disk of PostgreSQL is the concern of its own suite")
def a_full_disk_is_seen_and_recovers():
    with small_disk("3m") as folder:
        if folder is None:
            return
        with Server(agents={"pull": PULL}, folder=folder) as s:
            h = s.get("/healthz").json
            equal((h["status"], h["store"]["reason"]), ("degraded", "the disk is almost full"))
            equal(s.get("/healthz").status, 200)
            s.submit()
            lease = Worker(s).lease()
            lease.send(*STORY[:3])

            def full():
                return lease.try_append({"event": "on_custom_event", "name": "x", "run_id": "r", "data": "x" * 50000}).status
            until("no room", lambda: full() == 503)
            a = s.get("/healthz")
            equal((a.status, a.json["status"], a.json["journal"]["status"]), (503, "failing", "failing"))
            contains(a.json["journal"]["reason"], "the log says why")
            m = s.get("/metrics").body.decode()
            check('\nspoolwire_events_rejected_total{reason="not_stored"} 0\n' not in m, "not counted")
            check("\nspoolwire_store_commits_failed_total 0\n" not in m, "not counted")
            subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
            until("it stores again", lambda: full() == 200)
            equal(s.get("/healthz").json["journal"]["status"], "ok")
