"""The contract of every backend; one writer; what is cut off, fenced and restarted."""

import os
import subprocess
import time

from cutting_proxy import CuttingProxy
from harness import case, cases, check, contains, equal
from postgres import Postgres
from server import DRIVER, SECONDS, SERVER, TESTS, Appending, driver, name_of, refuses, stored


@cases(["store_contract", "store_batch_test"])
def the_tests_of_every_backend_pass(program):
    url = SERVER.url()
    SERVER.sql(f"GRANT CREATE ON DATABASE {name_of(url)} TO spoolwire")  # a schema for each test
    done = subprocess.run([os.path.join(TESTS, program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "STORE_TEST_URL": url}, timeout=600)
    text = done.stdout.decode(errors="replace")
    equal(done.returncode, 0, text[-3000:])
    contains(text, "PASSED")


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
