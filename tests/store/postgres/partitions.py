"""Partitions of `records`: made ahead, begun once a day, dropped when their jobs have expired."""

import contextlib
import json
import os
import subprocess
import time

from gateway import PULL, STORY, Server, Worker
from harness import PROGRAM, case, check, contains, equal
from server import SECONDS, SERVER, Appending, driver, name_of, stored

WIDTH = 1048576  # keys of a partition: partitions.c
FINAL = "UPDATE jobs SET state = 'succeeded', finished = 1000, expiry_seconds = 86400"


class Database:
    def __init__(self):
        self.url = SERVER.url()
        self.name = name_of(self.url)

    def sql(self, text):
        return SERVER.sql(text, self.name)

    def partitions(self):
        return self.sql("SELECT string_agg(relname, ' ' ORDER BY oid) FROM pg_class WHERE relname LIKE 'records\\_%' AND relkind = 'r'").split()

    def append(self):
        """Three jobs with some records each; their ids are free again afterwards."""
        with Appending(self.url) as a:
            a.wait_acked(20)
        equal(stored(self.url), a.acked())
        self.sql("UPDATE jobs SET id = convert_to(key::text, 'UTF8') WHERE length(id) = 1")

    def age(self):
        """The current partition is two days old: the next writer begins another one."""
        self.sql("UPDATE partitions SET opened = opened - interval '2 days' WHERE opened IS NOT NULL")
        equal(driver("open", self.url), (0, "ok\n"))

    def expire(self, keep_ms=1 << 50):
        equal(driver("expire", self.url, keep_ms), (0, "ok\n"))

    def run(self, *args):
        done = subprocess.run([PROGRAM, *args, "--store", self.url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
        equal(done.returncode, 0, done.stdout.decode())
        return done.stdout.decode()

    def records(self):
        return int(self.sql("SELECT count(*) FROM records"))


@case
def a_partition_goes_when_all_of_its_jobs_have_expired():
    d = Database()
    d.append()
    equal(d.partitions(), ["records_0", f"records_{WIDTH + 1}"])
    before = d.records()
    d.age()
    equal(d.partitions(), ["records_0", f"records_{WIDTH + 1}", f"records_{2 * WIDTH + 1}"])
    d.append()
    equal(d.sql("SELECT min(key), max(key) FROM jobs WHERE key > 1000"), f"{WIDTH + 1}|{WIDTH + 3}")
    both = d.records()
    check(both > before)
    equal(d.sql(f"SELECT count(*) FROM records_{WIDTH + 1}"), str(both - before))
    stats = json.loads(d.run("db", "stats", "--json"))
    equal((stats["jobs"], stats["records"]), (6, both))
    d.expire()
    equal(d.records(), both, "open jobs do not expire")

    d.sql(FINAL + " WHERE key < 1000")
    d.expire()
    equal(d.partitions(), [f"records_{WIDTH + 1}", f"records_{2 * WIDTH + 1}"])
    equal(d.sql("SELECT count(*) FROM leavings"), "0")
    equal(d.sql("SELECT count(*), count(DISTINCT id) FROM records_text WHERE job < 1000"), "3|3")  # their endings
    equal(d.records(), both - before)
    equal(d.run("db", "check"), "sound\n")
    equal(json.loads(d.run("db", "stats", "--json"))["records"], both - before + 3)

    d.expire(keep_ms=0)
    equal(d.sql("SELECT (SELECT count(*) FROM endings), (SELECT count(*) FROM jobs)"), "0|3")
    equal(d.run("db", "check"), "sound\n")


@case
def a_partition_with_a_job_that_is_open_stays_and_is_emptied_in_time():
    d = Database()
    d.append()
    per_job = d.records() // 3
    d.age()
    d.sql(FINAL + " WHERE key > 1")
    d.expire()
    contains(d.partitions(), "records_0")
    equal(d.sql("SELECT count(*), bool_and(due / 1000 > extract(epoch FROM now() + interval '47 hours')) FROM leavings"), "2|t")
    equal(d.records(), 3 * per_job - 2, "they are out of sight, and wait for the partition to go")
    equal(d.run("db", "check"), "sound\n")
    d.sql("UPDATE leavings SET due = 1")  # as after twice the retention and a day
    d.expire()
    equal(d.sql("SELECT count(*), min(job), max(job) FROM records"), f"{per_job}|1|1")
    equal(d.sql("SELECT count(*) FROM endings"), "2")
    d.sql(FINAL)
    d.expire()
    check("records_0" not in d.partitions())


@case
def jobs_that_are_kept_for_hours_are_deleted_by_row():
    d = Database()
    d.append()
    d.sql(FINAL.replace("86400", "3600"))
    d.expire()
    equal(d.records(), 0)
    contains(d.partitions(), "records_0")


@case
def keys_that_may_be_given_out_keep_their_partition():
    d = Database()
    d.append()
    d.sql(FINAL + "; INSERT INTO key_blocks VALUES(7, 1025)")  # of another gateway
    d.age()
    d.expire()
    contains(d.partitions(), "records_0")
    d.sql("DELETE FROM key_blocks WHERE shard = 7")
    d.expire()
    check("records_0" not in d.partitions())


@case
def a_gateway_that_runs_gives_up_its_keys_and_goes_on():
    d = Database()
    with Server(start=False, agents={"pull": PULL}) as s:
        s.data, s.data_flag = d.url, "--store"
        s.start()
        s.submit(job_id="first")
        lease = Worker(s).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        d.sql("UPDATE partitions SET opened = opened - interval '2 days' WHERE opened IS NOT NULL")
        d.sql("UPDATE jobs SET expiry_seconds = 86400, finished = finished - 2 * 86400000")
        deadline = time.monotonic() + SECONDS
        while "records_0" in d.partitions():  # it looks every 10 s
            check(time.monotonic() < deadline, d.sql("SELECT * FROM partitions; SELECT * FROM key_blocks"))
            time.sleep(0.2)
        s.submit(job_id="second")
        equal(d.sql("SELECT key FROM jobs WHERE id = 'second'"), str(WIDTH + 1))
        lease = Worker(s).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")
        contains(d.run("verify"), "ok   second (")
        got = [f.event for f in s.stream("first").rest().frames]
        check("job.end" in got, got)


@contextlib.contextmanager
def long_read(d):
    """A transaction that has read `records`, as pg_dump does."""
    p = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-h", SERVER.folder, "-p", str(SERVER.port), "-U", "admin",
                          "-d", f"dbname={d.name} options='-csearch_path=spoolwire'"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdin.write("BEGIN; SELECT count(*) FROM records;\n")
    p.stdin.flush()
    p.stdout.readline()
    try:
        yield
    finally:
        p.communicate("COMMIT;\n", timeout=SECONDS)


@case
def a_long_read_holds_up_the_dropping_and_nothing_else():
    d = Database()
    d.append()
    d.sql(FINAL)
    d.age()
    with long_read(d):
        d.expire()
        contains(d.partitions(), "records_0")
        d.append()
    d.expire()
    check("records_0" not in d.partitions())


@case
def a_day_without_jobs_begins_no_partition():
    d = Database()
    equal(driver("open", d.url), (0, "ok\n"))
    for _ in range(3):
        d.age()
    equal(d.partitions(), ["records_0", f"records_{WIDTH + 1}"])


@case
def more_jobs_than_a_partition_has_keys():
    d = Database()
    d.append()
    d.sql(f"SELECT setval('job_keys', {WIDTH - 1023})")  # the last block but one of the first partition
    d.append()
    equal(d.sql("SELECT max(key) FROM jobs"), str(WIDTH + 3))
    d.expire()
    equal(d.sql("SELECT first, closed IS NULL, opened IS NULL FROM partitions ORDER BY first"),
          f"0|f|f\n{WIDTH + 1}|t|f\n{2 * WIDTH + 1}|t|t")


@case
def a_database_of_the_first_schema_is_migrated():
    d = Database()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema1.sql")) as f:
        d.sql("SET ROLE spoolwire; " + f.read())
    equal(d.sql("SELECT version FROM spoolwire"), "1")
    equal(d.run("db", "migrate"), "ready\n")
    equal(d.partitions(), ["records_0", f"records_{WIDTH + 1}"])
    equal(d.sql("SELECT count(*), (SELECT count(*) FROM endings) FROM records"), "47|1")
    equal(d.sql("SELECT last FROM records_text WHERE id = 'b' AND last > 15"), "16")
    equal(d.run("db", "check"), "sound\n")
    with Appending(d.url) as a:  # a and c go on; b begins again where it was
        pass
    check(a.acked() > 16)
    contains(driver("read", d.url)[1], "seq")


@case
def a_copy_keeps_endings_and_makes_partitions_for_its_keys():
    d, copy = Database(), Database()
    d.append()
    d.age()
    d.append()
    d.sql(f"UPDATE jobs SET key = key + {9 * WIDTH} WHERE key > 1000; SELECT reach_partition({11 * WIDTH}); "
          f"UPDATE records SET job = job + {9 * WIDTH} WHERE job > 1000; SELECT setval('job_keys', {11 * WIDTH})")
    d.sql(FINAL + " WHERE key < 1000")
    d.expire()
    check("records_0" not in d.partitions())
    back = os.path.join(SERVER.folder, "partitions.db")
    for source, target in ((d.url, back), (back, copy.url)):
        done = subprocess.run([PROGRAM, "db", "copy", "--from", source, "--to", target], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
        equal(done.returncode, 0, done.stdout.decode())
    equal(copy.sql("SELECT (SELECT count(*) FROM endings), (SELECT count(*) FROM records)"), f"3|{d.records()}")
    equal(copy.run("db", "check"), "sound\n")
    copy.append()
    check(int(copy.sql("SELECT max(key) FROM jobs")) > 11 * WIDTH)
