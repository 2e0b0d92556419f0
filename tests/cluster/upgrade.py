"""Gateways are replaced by those of a newer version, one after the other.

The newer version is a program of our own build whose schema has one more step (`spoolwire-next`).  It works on the
older schema while an older gateway lives, and brings the database to the newer one when the last of them is gone.
`spoolwire-later` does not know the older schema.
"""

import json
import os
import random

from gateway import STORY, WAIT, Worker, at_once
from gateways import Gateway, check, cluster, database, equal, new_url, texts, until
from harness import PROGRAM, case, contains, spoolwire
from storm import AGENTS, SEED, Storm, replay

NEXT, LATER = (os.path.join(os.path.dirname(PROGRAM), "tests", name) for name in ("spoolwire-next", "spoolwire-later"))


def sql(url, text):
    return database().sql(text, url.rpartition("/")[2])


def schema(url):
    """That of the database."""
    return int(sql(url, "SELECT version FROM spoolwire"))


def schemas(gateways):
    """As the gateways see it."""
    return [g.get("/readyz").json["schema"] for g in gateways]


def waits_for(gateway):
    return gateway.get("/readyz").json.get("schema_waits_for")


def log(gateway, event):
    return [line for line in map(json.loads, filter(lambda t: t.startswith("{"), gateway.err().splitlines()))
            if line.get("event") == event]


def newer(url, **more):
    g = Gateway(url, start=False, **more)
    g.program = NEXT
    return g.start()


def work(submitted_at, leased_at):
    """A whole job, submitted at one gateway and done at another."""
    job = submitted_at.submit()
    lease = Worker(leased_at).lease()
    equal(lease.job, job)
    lease.send(*STORY)
    equal(lease.finish(), "succeeded")
    return job


def verify(url):
    done = spoolwire("verify", "--store", url, timeout=WAIT, program=NEXT)
    equal(done.code, 0, f"{done.err} {done.out}")


class Upgrade(Storm):
    """What a storm has, while gateways are replaced instead of killed."""

    def __init__(self, gateways):
        super().__init__(gateways)
        self.before = schema(gateways[0].data)

    def blow(self):
        try:
            for i, g in enumerate(self.gateways):
                equal(schema(g.data), self.before, "an older gateway lives")
                g.program = NEXT
                g.restart()
                until("it knows who else is there",
                      lambda g=g, last=i == len(self.gateways) - 1: (waits_for(g) is None) == last)
            until("the schema is newer", lambda: schemas(self.gateways) == [self.before + 1] * len(self.gateways))
            self.work_on()
        finally:
            self.over.set()

    def work_on(self):
        """Everybody goes on without a restart."""
        first, *_, last = self.gateways
        self.do(random.Random(SEED), "a8", "after-1", False)
        equal(first.job("after-1"), last.job("after-1"))

    def work(self, n):
        self.do(random.Random(SEED * 1000 + n), f"a{n}", f"upgraded-{n}", True)

    def jobs(self):
        return [f"upgraded-{n}" for n in range(4)]


def replace_all(shards):
    with cluster(agents=AGENTS, shards=shards) as gateways:
        upgrade = Upgrade(gateways)
        readers = at_once(upgrade.read, upgrade.blow, *(lambda n=n: upgrade.work(n) for n in range(4)), seconds=600)[0]
        for reader in readers:
            equal(reader.first_difference(replay(gateways, reader.job)), None, reader.job)
            equal(gateways[0].job(reader.job)["state"], "succeeded", reader.job)
            equal(texts(gateways[0].read(reader.job)), upgrade.want[reader.job], reader.job)
        verify(gateways[0].data)
        return upgrade


@case
def gateways_are_replaced_one_after_the_other_while_jobs_run():
    replace_all(1)


@case
def writers_of_other_shards_go_on_with_the_newer_schema():
    replace_all(4)


@case
def an_older_gateway_is_refused_afterwards():
    url = new_url()
    with Gateway(url) as old:
        before = schema(url)
        old.terminate()
    with newer(url) as new:
        equal(schemas([new]), [before + 1])
        done = spoolwire("serve", "--listen", "127.0.0.1:0", "--store", url, timeout=WAIT)
        check(done.code != 0 and f"schema {before + 1}, this one knows {before}" in done.err, repr(done))
        equal(len(done.err.splitlines()), 1, done.err)
        equal(len(new.get("/v1/gateways").json["gateways"]), 1)
        work(new, new)


@case
def a_migration_waits_for_an_older_gateway_and_says_so():
    url = new_url()
    with Gateway(url) as old, newer(url) as new:
        before = schema(url)
        equal(schemas([old, new]), [before, before])
        equal([waits_for(g) for g in (old, new)], [None, old.url])
        work(new, new)  # forwarded
        work(old, new)
        done = spoolwire("db", "migrate", "--store", url, timeout=WAIT, program=NEXT)
        check(done.code != 0 and f"the gateway {old.url} " in done.err, repr(done))
        done = spoolwire("db", "status", "--store", url, timeout=WAIT, program=NEXT)
        check(done.code == 0 and f"when the gateway {old.url} " in done.out.decode(), repr(done))
        equal([(e["schema"], e["newest"], e["waits_for"]) for e in log(new, "schema")], [(before, before + 1, old.url)])

        # Killed, it leaves its row behind.
        old.kill()
        work(new, new)
        until("it is no longer waited for", lambda: schemas([new]) == [before + 1])
        equal(schema(url), before + 1)
        equal(log(new, "schema")[-1]["schema"], before + 1)
        work(new, new)
        done = spoolwire("db", "status", "--store", url, timeout=WAIT, program=NEXT)
        check(f"schema {before + 1}, as this spoolwire has" in done.out.decode(), repr(done))
        verify(url)


@case
def a_version_that_does_not_know_the_schema_names_the_older_gateway():
    """It says who is in its way.  Without older gateways it migrates, also when two of them start at once."""
    url = new_url()
    with Gateway(url) as old:
        before = schema(url)
        done = spoolwire("serve", "--listen", "127.0.0.1:0", "--store", url, timeout=WAIT, program=LATER)
        check(done.code != 0, repr(done))
        contains(done.err, f"the gateway {old.url} ", f"schema {before} ", f"(it needs {before + 1})", "version in between",
                 "stop all older gateways")
        equal(len(done.err.splitlines()), 1, done.err)
        equal((schema(url), len(old.get("/v1/gateways").json["gateways"])), (before, 1))
        work(old, old)
        old.terminate()
    late = [Gateway(url, start=False) for _ in range(2)]
    for g in late:
        g.program = LATER
    with late[0], late[1]:
        at_once(*[g.start for g in late])
        equal(schemas(late), [before + 1] * 2)
        work(*late)


@case
def a_frozen_older_gateway_is_waited_for_and_goes_on():
    url = new_url()
    with Gateway(url) as old, newer(url) as new:
        before = schema(url)
        old.freeze()
        until("it has taken over", new.is_writer, seconds=60)
        work(new, new)
        equal(schemas([new]), [before], "its session is still there")
        old.thaw()
        until("it follows", lambda: old.get("/v1/gateways").json["writer"] == new.url)
        work(old, old)  # forwarded to the newer one
        equal(schemas([new]), [before])
        old.terminate()
        until("the schema is newer", lambda: schemas([new]) == [before + 1])
        work(new, new)


@case
def a_migration_that_fails_leaves_the_older_schema_in_use():
    url = new_url()
    with Gateway(url) as old:
        before = schema(url)
        old.terminate()
    sql(url, "CREATE TABLE next_schema (n bigint)")
    with newer(url) as new:
        equal(schemas([new]), [before])
        equal([("next_schema" in e["why"]) for e in log(new, "schema") if "why" in e], [True])
        work(new, new)
        sql(url, "DROP TABLE next_schema")
        new.restart()
        equal(schemas([new]), [before + 1])
        work(new, new)
