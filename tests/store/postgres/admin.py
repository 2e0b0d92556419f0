"""Administration: `spoolwire db`, `spoolwire verify` and `spoolwire doctor --store`, as the least of roles."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time

from gateway import PULL, STORY, Server, Worker, at_once, until
from harness import PROGRAM, TESTS, case, check, contains, equal
from postgres import free_port
from server import PASSWORD, SECONDS, SERVER, Appending, driver, name_of, refuses


def run(*args, want=0, env=None):
    done = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=SECONDS, env={**os.environ, **(env or {})})
    text = done.stdout.decode()
    equal(done.returncode, want, text)
    check(PASSWORD not in text, text)
    return text


@case
def a_database_from_its_beginning():
    url = SERVER.url()
    contains(run("db", "status", "--store", url), "ok   PostgreSQL ", "empty: the first gateway makes the tables")
    contains(run("db", "stats", "--store", url, want=3), "start the server with it once")
    equal(run("db", "init", "--store", url), "ready\n")
    contains(run("db", "status", "--store", url), "ok   schema ", "as this spoolwire has", "no gateway writes")
    equal(run("db", "migrate", "--store", url), "ready\n")
    equal(run("db", "check", "--store", url), "sound\n")
    contains(run("db", "stats", "--store", url), "jobs      0", "database  ")
    contains(run("db", "backup", "--store", url, "x", want=3), "does not offer backup")
    equal(SERVER.sql("SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication FROM pg_roles WHERE rolname = 'spoolwire'"),
          "f")


@case
def shards_are_made_while_it_is_empty():
    url = SERVER.url()
    contains(run("db", "init", "--shards", "65", "--store", url, want=2), "--shards takes a number from 1 to 64")
    equal(run("db", "init", "--shards", "4", "--store", url), "ready\n")
    equal(run("db", "init", "--shards", "4", "--store", url), "ready\n")
    contains(run("db", "status", "--store", url), "0 of 4 shards have a gateway that writes")
    contains(run("db", "init", "--shards", "2", "--store", url, want=3), "has 4 shards, and their number never changes")
    one = SERVER.url()
    with Appending(one):
        pass
    contains(run("db", "init", "--shards", "2", "--store", one, want=3), "shards are made before the first one")
    contains(run("db", "init", "--shards", "2", "--data", os.path.join(SERVER.folder, "shards.db"), want=3), "does not offer shards")


@case
def beside_a_gateway():
    url = SERVER.url()
    with Server(start=False, agents={"pull": PULL}) as s:
        s.data, s.data_flag = url, "--store"
        s.start()
        s.submit(job_id="j")
        contains(run("db", "status", "--store", url), "a gateway writes, epoch 1")
        contains(run("verify", "--store", url), "ok   j (")
        equal(run("db", "check", "--store", url), "sound\n")
        equal(json.loads(run("db", "stats", "--store", url, "--json"))["jobs"], 1)
        contains(run("db", "migrate", "--store", url, want=3), "another gateway writes to the database")
        contains(run("token", "create", "--store", url, "--scope", "read"), "spw_")


@case
def what_does_not_fit_together_is_found():
    url = SERVER.url()
    with Appending(url):
        pass
    SERVER.sql("INSERT INTO inputs VALUES(77, 'x'); DELETE FROM records WHERE job = (SELECT min(key) FROM jobs); "
               "INSERT INTO records VALUES(78, 1, 0, 'x'); UPDATE jobs SET key = 1000000 WHERE key = (SELECT max(key) FROM jobs)",
               name_of(url))
    text = run("db", "check", "--store", url, want=1)
    contains(text, "a row of inputs belongs to job 77, which is not there", "records of job 78 are there, and the job is not",
             "and the last is not there", "the sequence job_keys is behind the keys of jobs")


@case
def the_queries_of_the_document_work():
    url = SERVER.url()
    equal(driver("open", url)[0], 0)
    with open(os.path.join(TESTS, "..", "docs", "postgresql.md")) as f:
        blocks = re.findall(r"```sql\n(.*?)```", f.read(), re.S)
    queries = [q.strip() for block in blocks if "CREATE ROLE" not in block for q in block.split(";") if q.strip()]
    check(len(queries) > 6, queries)
    for query in queries:
        SERVER.sql(query, name_of(url))  # raises when psql complains


# --- beforehand --------------------------------------------------------------------------


def doctor(url, want=1):
    return run("doctor", "--store", url, want=want)


@case
def the_doctor_says_what_a_start_would():
    with socket.create_server(("127.0.0.1", 0)) as s:
        nobody = s.getsockname()[1]
    url = SERVER.url()
    other, newer, none = SERVER.url(), SERVER.url(), SERVER.url()
    SERVER.sql("CREATE TABLE customers (id int)", name_of(other))
    equal(driver("open", newer)[0], 0)
    SERVER.sql("UPDATE spoolwire SET version = 99", name_of(newer))
    SERVER.sql("DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN; CREATE SCHEMA weak; GRANT USAGE ON SCHEMA weak TO weak",
               name_of(none))
    for bad, words in {
        "postgres://u@[::1/x": "this is no URL of a PostgreSQL database",
        f"postgres://u@127.0.0.1:{nobody}/x": "cannot connect to PostgreSQL (x at 127.0.0.1)",
        other: "holds the tables of another program",
        newer: "was written by a newer spoolwire (schema 99",
        none.replace("spoolwire@", "weak@"): 'the role "weak" lacks the right to make tables in the schema weak',
    }.items():
        text = doctor(bad)
        contains(text, "BAD  ", words)
        equal(text.count("BAD"), 1)
    contains(run("doctor", "--store", f"postgres://u:{PASSWORD}@h/x", want=2), "has a password")
    text = doctor(url, want=0)
    contains(text, "ok   PostgreSQL ", "ok   sessions are not shared", "ok   the role may do", "warn there is no synchronous standby")
    found = json.loads(run("doctor", "--store", url, "--json"))
    equal((found["ok"], [c["verdict"] for c in found["checks"]][-1]), (True, "warning"))
    equal(SERVER.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'spoolwire'", name_of(url)), "0")  # nothing was made


@case
def the_doctor_looks_at_files_too():
    path = os.path.join(SERVER.folder, "none.db")
    contains(run("doctor", "--data", path, want=1), "BAD  ", path)
    equal(run("db", "init", "--data", path), "ready\n")
    contains(run("doctor", "--data", path), "ok   it can be opened")


# --- a pooler ----------------------------------------------------------------------------


@contextlib.contextmanager
def pgbouncer(mode):
    """Before the suite's server."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    port, folder = free_port(), os.path.join(SERVER.folder, f"bouncer-{mode}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ini")
    with open(path, "w") as f:  # auth_type `any` takes one name for all
        f.write(f"[databases]\n* = host=127.0.0.1 port={SERVER.port} user=spoolwire\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
                f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\nlogfile = {folder}/log\n")
    if SERVER.user is not None:
        shutil.chown(folder, SERVER.user)
    process = subprocess.Popen([program, path], user=SERVER.user, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            check(process.poll() is None and time.monotonic() < deadline, "pgbouncer does not start")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


@case
def a_pooler_that_shares_sessions_is_refused():
    url = SERVER.url()
    with pgbouncer("transaction") as port:
        through = SERVER.url(port=port, name=name_of(url))
        refuses(through, "a pooler before PostgreSQL", "pool_mode = transaction", "give the URL of PostgreSQL itself")
        contains(doctor(through), "BAD  a pooler before PostgreSQL")
    with pgbouncer("session") as port:
        through = SERVER.url(port=port, name=name_of(url))
        equal(driver("open", through), (0, "ok\n"))
        contains(doctor(through, want=0), "ok   sessions are not shared")


@case
def pages_are_read_through_a_pooler():
    url = SERVER.url()
    with pgbouncer("transaction") as port:
        through = SERVER.url(port=port, name=name_of(url))
        equal(driver("open", url)[0], 0)
        with Server(start=False, agents={"pull": PULL}, top=f"store_read_url: {through}\nreaders: 3\n") as s:
            s.data, s.data_flag = url, "--store"
            s.start()
            jobs = [finished(s) for _ in range(5)]
            found = at_once(*(lambda i=i: [(f.id, f.data) for f in s.stream(i, "raw").rest().stored] for i in jobs * 4))
            equal(found[:5] * 4, found)
            check(all(len(f) > 3 for f in found), found)
            with open(os.path.join(SERVER.folder, "bouncer-transaction", "log")) as f:
                contains(f.read(), f"{name_of(url)}/spoolwire@127.0.0.1")
            SERVER.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
                       name_of(url))
            until("pages are read again", lambda: len(s.stream(jobs[0], "raw").rest().stored) > 3)
    refused = run("serve", "--data", "x.db", "--store-read-url", url, want=2)
    contains(refused, "store_read_url is another way to the PostgreSQL database")


def finished(s):
    job = s.submit()
    lease = Worker(s).lease()
    lease.send(*STORY)
    equal(lease.finish(), "succeeded")
    return job


# --- connections -------------------------------------------------------------------------


@case
def the_number_of_connections_does_not_depend_on_readers():
    """5, as docs/postgresql.md says: to write, to be there, for tokens, and 2 readers."""
    url = SERVER.url()
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'spoolwire%'"
    with contextlib.ExitStack() as stack:
        for n in (1, 2):
            s = stack.enter_context(Server(start=False, agents={"pull": PULL}))
            s.data, s.data_flag = url, "--store"
            s.start()
            SERVER.wait_for(sessions, str(5 * n), name_of(url))
        job = s.submit()
        for _ in range(60):
            stack.enter_context(s.stream(job)).until("it is open", lambda r: r.frames)
        equal(SERVER.sql(sessions, name_of(url)), "10")
