"""The contract of every backend; one writer; what is cut off, fenced and restarted."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time

from cutting_proxy import CuttingProxy
from gateway import PULL, STORY, Server, Worker, token, until
from harness import PROGRAM, case, cases, check, contains, equal
from postgres import Postgres, Standby, free_port
from server import DRIVER, SECONDS, SERVER, TESTS, Appending, driver, name_of, refuses, stored


def with_a_database(program, *args):
    url = SERVER.url()
    SERVER.sql(f"GRANT CREATE ON DATABASE {name_of(url)} TO spoolwire")  # a schema for each test
    done = subprocess.run([os.path.join(TESTS, program), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "STORE_TEST_URL": url}, timeout=600)
    text = done.stdout.decode(errors="replace")
    equal(done.returncode, 0, text[-3000:])
    return text


@cases(["store_contract", "store_batch_test"])
def the_tests_of_every_backend_pass(program):
    contains(with_a_database(program), "PASSED")


@case
def the_same_operations_give_the_same_answers_in_memory_sqlite_and_postgresql():
    """SAME_SEED and SAME_SECONDS in the environment choose others."""
    seed = os.environ.get("SAME_SEED", str(random.randrange(1, 1 << 32)))
    seconds = os.environ.get("SAME_SECONDS", "15")
    said = with_a_database("store_same", f"--seed={seed}", f"--seconds={seconds}")
    print("    " + said.strip())
    contains(said, "on each of 3 backends")


# --- one writer --------------------------------------------------------------------------


@case
def a_second_gateway_is_refused():
    url = SERVER.url()
    holder = subprocess.Popen([DRIVER, "hold", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        equal(holder.stdout.readline(), "open\n")
        refuses(url, "another gateway writes to the database", "stop it first")
        equal(driver("read", url)[0], 0)  # readers may
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
        holder.stdin.close()
    deadline = time.monotonic() + SECONDS  # the lock goes with the session
    while driver("open", url)[0] != 0:
        check(time.monotonic() < deadline)


@case
def a_stale_epoch_stores_nothing():
    url = SERVER.url()
    with Appending(url) as a:
        SERVER.sql("UPDATE shards SET epoch = epoch + 1", name_of(url))
        a.wait(lambda: any("another gateway writes" in e for e in a.errors()), "the fence")
        n = SERVER.sql("SELECT count(*) FROM records", name_of(url))
        errors = len(a.errors())
        a.wait(lambda: len(a.errors()) > errors + 5, "more refusals")
        equal(SERVER.sql("SELECT count(*) FROM records", name_of(url)), n)
        acked = a.acked()
    equal(stored(url), acked)


@case
def a_gateway_that_was_replaced_while_it_was_cut_off_writes_no_more():
    url = SERVER.url()
    with CuttingProxy(SERVER.port) as proxy:
        through = SERVER.url(port=proxy.port, name=name_of(url))
        with Appending(through) as a:
            # The session ends and another takes the shard, as when another gateway was here meanwhile.
            SERVER.sql("BEGIN; UPDATE shards SET epoch = epoch + 1, holder = 'another'; SELECT pg_terminate_backend(pid) FROM pg_locks "
                       "WHERE locktype = 'advisory'; COMMIT", name_of(url))
            a.wait(lambda: any("while this one was cut off" in e for e in a.errors()), "the refusal")
            acked = a.acked()
    equal(stored(url), acked)


# --- cut off -----------------------------------------------------------------------------


@case
def a_killed_gateway_loses_nothing_that_it_acknowledged():
    url = SERVER.url()
    with Appending(url) as a:
        a.wait_acked(40)
        a.process.kill()
    check(stored(url) >= a.acked())


@case
def sessions_that_are_ended_are_made_again():
    url = SERVER.url()
    with Appending(url) as a:
        for _ in range(100):  # until one was in a transaction
            before = a.acked()
            SERVER.sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'", name_of(url))
            a.wait_acked(before + 6)
            if any("went away" in e for e in a.errors()):
                break
        else:
            raise AssertionError(a.lines[-5:])
    equal(stored(url), a.acked())


@cases(["after", "before"])
def a_commit_whose_answer_is_lost_is_settled(cut):
    """It retries what it was told is not stored: if that was a lie, the record is there already."""
    url = SERVER.url()
    with CuttingProxy(SERVER.port) as proxy:
        with Appending(SERVER.url(port=proxy.port, name=name_of(url))) as a:
            for i in range(1, 9):
                proxy.cut = cut
                a.wait(lambda i=i: proxy.n_cut >= i, "the cut")
                a.wait_acked(a.acked() + 4)
        said = a.errors()
    check(not any("there already" in e for e in said), said[:3])
    if cut == "after":
        equal(said, [], "it was stored, so nobody is told otherwise")
    else:
        equal(len([e for e in said if "before it had stored anything" in e]), 8, said)
    equal(stored(url), a.acked())


@case
def a_commit_that_cannot_be_settled_is_not_waited_for_without_end():
    url = SERVER.url()
    with CuttingProxy(SERVER.port) as proxy:
        with Appending(SERVER.url(port=proxy.port, name=name_of(url))) as a:
            proxy.upstream = free_port()  # nobody answers any more
            proxy.cut = "after"
            a.wait(lambda: any("it is not known whether this was stored" in e for e in a.errors()), "the end of the wait")
            proxy.upstream = SERVER.port
            a.wait(lambda: any("they are read anew" in e for e in a.errors()), "more refusals")
            acked = a.acked()
    equal(stored(url), acked + 2, "the batch whose answer was lost, and none after it")


def submit(s):
    with contextlib.suppress(OSError):  # it ends without an answer
        s.post("/v1/jobs", {"agent": "pull", "input": "x"})


@cases(["a commit", "no commit"])
def a_gateway_ends_in_time_while_postgresql_is_away(under_way):
    url = SERVER.url()
    with CuttingProxy(SERVER.port) as proxy, Server(start=False, agents={"pull": PULL}, top="shutdown_window: 1s\n") as s:
        s.data, s.data_flag = SERVER.url(port=proxy.port, name=name_of(url)), "--store"
        s.start()
        s.submit()
        lease = Worker(s).lease()
        lease.send(*STORY[:2])
        proxy.upstream = free_port()
        if under_way == "a commit":
            proxy.cut = "after"
            threading.Thread(target=submit, args=[s], daemon=True).start()
            until("the cut", lambda: proxy.n_cut > 0)
        else:
            proxy.drop()
        begin = time.monotonic()
        s.signal(signal.SIGTERM)
        s.process.wait(SECONDS)
        check(time.monotonic() - begin < 30, time.monotonic() - begin)
        contains(s.err(), "going down" if under_way == "no commit" else "it is not known whether this was stored")


@cases(["fast", "immediate"])
def a_restart_of_postgresql_is_survived(mode):
    with Postgres(durable=True) as server:
        url = server.url()
        with Appending(url) as a:
            for _ in range(2):
                before = a.acked()
                server.stop(mode)
                server.start()
                a.wait_acked(before + 20)
        equal(stored(url), a.acked())


@case
def a_promotion_settles_what_was_under_way():
    """The standby has each commit before it is acknowledged; the one under way is there or not."""
    with Postgres(durable=True) as server:
        name = name_of(server.url())
        with Standby(server) as standby:
            server.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            server.sql("SELECT pg_reload_conf()")
            server.wait_for("SELECT sync_state FROM pg_stat_replication", "sync")
            with Appending(standby.both(name)) as a:
                a.wait_acked(40)
                server.stop("immediate")
                standby.promote()
                a.wait(lambda: any("failed over" in e or "read anew" in e for e in a.errors()), "the failover")
                acked = a.acked()
            equal(stored(standby.both(name)), acked)


# --- other transactions in the way ---------------------------------------------------------

# A trigger that gives the transaction up, every time but each third: sequences are not rolled back.
GIVES_UP = """CREATE SEQUENCE tries;
CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('tries') % 3 <> 0 THEN RAISE EXCEPTION 'in the way' USING ERRCODE = '%s'; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER give_up AFTER INSERT ON records FOR EACH STATEMENT EXECUTE FUNCTION give_up();
GRANT USAGE ON SEQUENCE tries TO public"""


@cases(["40P01", "40001"])
def a_turn_that_postgresql_gives_up_is_done_again(state):
    url = SERVER.url()
    with Server(start=False, agents={"pull": PULL}) as s:
        s.data, s.data_flag = url, "--store"
        s.start()
        schema = SERVER.sql("SELECT schemaname FROM pg_tables WHERE tablename = 'records'", name_of(url))
        SERVER.sql(f"SET search_path TO {schema};" + GIVES_UP.replace("%s", state), name_of(url))
        jobs = [s.submit() for _ in range(3)]
        leases = [Worker(s).lease() for _ in jobs]
        for _ in range(5):
            for lease in leases:
                lease.send(token("x"))
        equal([lease.finish() for lease in leases], ["succeeded"] * 3)
        for job in jobs:
            equal([f.json["text"] for f in s.read(job, "raw") if f.json["kind"] == "llm.delta"], ["x"] * 5)
        tries = int(SERVER.sql(f"SELECT last_value FROM {schema}.tries", name_of(url)))
        check(tries > 20, tries)
        check("in the way" not in s.err(), "nobody has to hear of it")


# --- round trips -------------------------------------------------------------------------


@case
def a_turn_takes_as_many_round_trips_whatever_is_in_it():
    url = SERVER.url()
    equal(driver("open", url)[0], 0)
    counts = {}
    for n in (1, 1, 400):  # the first one makes the jobs
        with CuttingProxy(SERVER.port) as proxy:
            equal(driver("turn", SERVER.url(port=proxy.port, name=name_of(url)), n), (0, f"found {n}\n"))
            counts[n] = proxy.n_syncs
    check(counts[1] > 0, counts)
    equal(counts[400], counts[1])
    equal(SERVER.sql("SELECT count(*) FROM records", name_of(url)), "402")


# --- values that copies of a thread share -------------------------------------------------------


class Session:
    """A psql that goes on between two statements."""

    def __init__(self, database):
        command, options = SERVER.psql(database)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def say(self, sql):
        self.process.stdin.write(f"{sql};\n\\echo said\n")
        self.process.stdin.flush()

    def heard(self):
        equal(self.process.stdout.readline(), "said\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()


@case
def a_value_outlives_its_source_when_another_shard_copies_it_meanwhile():
    url = SERVER.url()
    name = name_of(url)
    equal(subprocess.run([PROGRAM, "db", "init", "--store", url], stdout=subprocess.DEVNULL, timeout=SECONDS).returncode, 0)
    SERVER.sql("INSERT INTO large_values VALUES (1, 'x'); INSERT INTO channels VALUES ('a', '', 'c', '1', 't', '', 1)", name)
    with Session(name) as copies, Session(name) as deletes:
        copies.say("BEGIN; INSERT INTO channels SELECT 'b', ns, channel, version, type, data, large FROM channels")
        copies.heard()
        deletes.say("DELETE FROM channels WHERE thread = 'a'")
        until("it waits", lambda: SERVER.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                                             f"datname = '{name}'") == "1")
        copies.say("COMMIT")
        deletes.heard()
    equal(SERVER.sql("SELECT count(*) FROM large_values", name), "1")
    SERVER.sql("DELETE FROM channels", name)
    equal(SERVER.sql("SELECT count(*) FROM large_values", name), "0")
