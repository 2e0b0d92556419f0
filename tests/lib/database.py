"""A test server's database, seen past the server: as somebody sees and changes it with sqlite3 or psql.  The same on both stores."""

import contextlib
import sqlite3
import subprocess

import postgres
from gateway import WAIT, until
from harness import ON_POSTGRES, equal


class Sqlite:
    """Chunks of records have the key of their job and the seq of their last record in one number."""

    def __init__(self, s):
        self.path = s.data

    def do(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT)) as db, db:
            done = db.execute(sql, values)
            return done.fetchall() if done.description else done.rowcount

    def _key(self, job):
        return self.do("SELECT key FROM jobs WHERE id = ?", job)[0][0]

    def count_chunks(self):
        return self.do("SELECT count(*) FROM records")[0][0]

    def chunks(self, job):
        key = self._key(job)
        return [last for last, in self.do("SELECT id & 1073741823 FROM records WHERE id >> 30 = ? ORDER BY id", key)]

    def chunk(self, job, last):
        return self.do("SELECT CAST(stored AS BLOB) FROM records WHERE id = (? << 30) + ?", self._key(job), last)[0][0]

    def write_chunk(self, job, last, stored):
        equal(self.do("UPDATE records SET stored = CAST(? AS TEXT) WHERE id = (? << 30) + ?", stored, self._key(job), last), 1)

    def delete_chunk(self, job, last):
        equal(self.do("DELETE FROM records WHERE id = (? << 30) + ?", self._key(job), last), 1)

    def add_chunks(self, job, chunks):
        """@chunks: last seq and content of each."""
        key = self._key(job)
        with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT)) as db, db:
            db.executemany("INSERT INTO records(id, stored) VALUES ((? << 30) + ?, CAST(? AS TEXT))", [(key, *chunk) for chunk in chunks])

    def column(self, table, column):
        return [value for value, in self.do(f"SELECT {column} FROM {table} ORDER BY key")]

    @contextlib.contextmanager
    def locked(self):
        """Nobody else can write: a turn of the server waits."""
        with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            yield
            db.execute("ROLLBACK")


class Postgres:
    """The endings of expired jobs have a table of their own."""

    ALL = "(SELECT * FROM records UNION ALL SELECT * FROM endings) AS chunks"

    def __init__(self, s):
        self.server, self.schema = postgres.shared(), postgres.schema_of(s.folder)

    def do(self, sql):
        """@sql: text that both understand.  The rows, or those that RETURNING gives: a list of lists of texts."""
        return [line.split("|") for line in self.server.sql(f"SET search_path TO {self.schema}; {sql}", "t1").splitlines()]

    def _of(self, job):
        return f"job = (SELECT key FROM jobs WHERE id = '{job}')"

    def count_chunks(self):
        return int(self.do(f"SELECT count(*) FROM {self.ALL}")[0][0])

    def chunks(self, job):
        return [int(last) for last, in self.do(f"SELECT last FROM {self.ALL} WHERE {self._of(job)} ORDER BY last")]

    def chunk(self, job, last):
        return bytes.fromhex(self.do(f"SELECT encode(stored, 'hex') FROM {self.ALL} WHERE {self._of(job)} AND last = {last}")[0][0])

    def write_chunk(self, job, last, stored):
        rows = [self.do(f"UPDATE {table} SET stored = decode('{stored.hex()}', 'hex') WHERE {self._of(job)} AND last = {last} RETURNING 1")
                for table in ("records", "endings")]
        equal(sum(map(len, rows)), 1)

    def delete_chunk(self, job, last):
        equal(len(self.do(f"DELETE FROM records WHERE {self._of(job)} AND last = {last} RETURNING 1")), 1)

    def add_chunks(self, job, chunks):
        rows = ", ".join(f"({last}, decode('{stored.hex()}', 'hex'))" for last, stored in chunks)
        self.do(f"INSERT INTO records(job, last, stored) SELECT key, last, stored FROM jobs, (VALUES {rows}) AS c(last, stored) WHERE id = '{job}'")

    def column(self, table, column):
        return [value for value, in self.do(f"SELECT convert_from({column}, 'UTF8') FROM {table} ORDER BY key")]

    @contextlib.contextmanager
    def locked(self):
        # The fence of each turn locks the writer's row.
        command, options = self.server.psql("t1")
        p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        try:
            p.stdin.write(f"SET search_path TO {self.schema}; BEGIN; SELECT 'locked' FROM shards FOR UPDATE;\n")
            p.stdin.flush()
            until("it is locked", lambda: "locked" in p.stdout.readline())
            yield
        finally:
            p.stdin.close()  # which rolls it back
            p.wait(WAIT)
            p.stdout.close()


def database(s):
    return Postgres(s) if ON_POSTGRES else Sqlite(s)
