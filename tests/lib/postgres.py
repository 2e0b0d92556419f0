"""A PostgreSQL server for the tests: of its own, in a temporary folder, on a free port.

    with Postgres() as server:
        server.url()            # of a database that is empty

PostgreSQL refuses to run as root, so root starts it as the user `postgres` or `nobody`.

With TEST_STORE=postgres in the environment, suites that start a gateway give it a database of
such a server (place(), called by lib/gateway.py and lib/server.js).  A run of a suite has one server.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from postgres_releases import programs

SECONDS = 60  # to start or to stop


PROGRAMS = programs(os.environ.get("TEST_POSTGRES"))


def binary(name):
    """The path of a program of PostgreSQL; None if it is not installed."""
    return PROGRAMS.program(name)


def _user():
    """The user that runs it; None: the user that runs the tests."""
    if os.geteuid() != 0:
        return None
    names = {p.pw_name for p in pwd.getpwall()}
    return next(n for n in ("postgres", "nobody") if n in names)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


_naming = threading.Lock()  # cases that run side by side name databases


class Postgres:
    """@durable: with fsync, for tests that kill it.  @settings: lines of postgresql.conf.  @running: port and folder of one
    that another process has started.  @data: a folder for its files, but not for its write-ahead log.  @wal: a folder for
    that one."""

    def __init__(self, durable=False, settings=(), running=None, data=None, wal=None):
        if running is not None:
            port, self.folder = running.split(":", 1)
            self.port, self.user, self.n = int(port), _user(), 1
            return
        self.folder = tempfile.mkdtemp(prefix="spoolwire-pg-", dir=PROGRAMS.root + tempfile.gettempdir())
        self.data = data or os.path.join(self.folder, "data")
        self.port = free_port()
        self.user = _user()
        self.n = 0
        if self.user is not None:
            for folder in filter(None, [self.folder, data, wal]):
                shutil.chown(folder, self.user)
        os.chmod(self.folder, 0o755)
        if data and not wal:
            wal = os.path.join(self.folder, "wal")
        self._run("initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8",
                  "--locale=C", "--no-sync", *(["-X", wal] if wal else []))
        lines = ["listen_addresses = '127.0.0.1'", f"port = {self.port}", f"unix_socket_directories = '{self.inside(self.folder)}'", "password_encryption = 'scram-sha-256'",
                 "max_connections = 200", "log_min_messages = warning", *settings]
        if not durable:
            lines += ["fsync = off", "full_page_writes = off"]
        with open(os.path.join(self.data, "postgresql.conf"), "a") as f:
            f.write("\n".join(lines) + "\n")
        self.start()
        self.sql("CREATE ROLE spoolwire LOGIN")  # as docs/postgresql.md says: it owns its schema, and may do no more

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def inside(self, path):
        """The path of a file as the server sees it."""
        return path.removeprefix(PROGRAMS.root)

    def _run(self, name, *args):
        command, options = PROGRAMS.command(name, args, self.user)
        return subprocess.run(command, cwd=self.folder, check=True, timeout=SECONDS * 2, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}).stdout.decode()

    def start(self):
        self._run("pg_ctl", "start", "-w", "-t", str(SECONDS), "-D", self.data, "-l", os.path.join(self.folder, "log"))

    def stop(self, mode="fast"):
        self._run("pg_ctl", "stop", "-w", "-t", str(SECONDS), "-D", self.data, "-m", mode)

    def url(self, port=None, user="spoolwire", name=None, options=""):
        """Of a new database, or of the one that is named."""
        if name is None:
            with _naming:
                self.n += 1
                name = f"t{self.n}"
            self.sql(f"CREATE DATABASE {name}")
            self.sql("CREATE SCHEMA spoolwire AUTHORIZATION spoolwire", name)
        return f"postgres://{user}@127.0.0.1:{port or self.port}/{name}{options}"

    def sql(self, text, name="postgres"):
        """What psql prints for a superuser, a line for each row, columns behind a bar."""
        return self._run("psql", *self._psql(name), "-c", text).strip()

    def psql(self, name):
        """The command of a psql that reads what to do from its input, and the options of its Popen()."""
        command, options = PROGRAMS.command("psql", self._psql(name), self.user)
        return command, {**options, "cwd": self.folder}

    def _psql(self, name):
        return ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port),
                "-U", "admin", "-d", f"dbname={name} options='-csearch_path=spoolwire,public'"]

    @contextlib.contextmanager
    def hba(self, *lines):
        """Puts these lines before those of its pg_hba.conf, until the end of the `with`."""
        path = os.path.join(self.data, "pg_hba.conf")
        with open(path) as f:
            before = f.read()
        try:
            with open(path, "w") as f:
                f.write("\n".join([*lines, before]))
            self.sql("SELECT pg_reload_conf()")
            yield
        finally:
            with open(path, "w") as f:
                f.write(before)
            self.sql("SELECT pg_reload_conf()")

    def wait_for(self, text, want, name="postgres"):
        deadline = time.monotonic() + SECONDS
        while (got := self.sql(text, name)) != want:
            if time.monotonic() > deadline:
                raise AssertionError(f"{text}: {got!r} and not {want!r}")
            time.sleep(0.02)


class Standby(Postgres):
    """A standby of @primary, which is stopped for a moment to copy its files."""

    def __init__(self, primary):
        self.folder = tempfile.mkdtemp(prefix="spoolwire-pg-", dir=PROGRAMS.root + tempfile.gettempdir())
        self.data = os.path.join(self.folder, "data")
        self.port, self.user, self.n, self.primary = free_port(), primary.user, 0, primary
        primary.stop()
        subprocess.run(["cp", "-a", primary.data, self.data], check=True, timeout=SECONDS)
        primary.start()
        os.chmod(self.folder, 0o755)
        open(os.path.join(self.data, "standby.signal"), "w").close()
        if self.user is not None:
            shutil.chown(self.folder, self.user)
            shutil.chown(os.path.join(self.data, "standby.signal"), self.user)
        self.follow(True, reload=False)
        self.start()
        primary.wait_for("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", "1")

    def follow(self, yes, reload=True):
        """Gets the log of the primary from now on, or no longer."""
        info = f"host=127.0.0.1 port={self.primary.port} user=admin" if yes else ""
        with open(os.path.join(self.data, "postgresql.conf"), "a") as f:
            f.write(f"port = {self.port}\nunix_socket_directories = '{self.inside(self.folder)}'\nprimary_conninfo = '{info}'\n")
        if reload:
            self._run("pg_ctl", "reload", "-D", self.data)
            self.primary.wait_for("SELECT count(*) FROM pg_stat_replication", "1" if yes else "0")

    def promote(self):
        self._run("pg_ctl", "promote", "-w", "-t", str(SECONDS), "-D", self.data)

    def both(self, name):
        """The URL of a database of whichever of the two is the primary."""
        return (f"postgres://spoolwire@127.0.0.1:{self.primary.port},127.0.0.1:{self.port}/{name}"
                "?target_session_attrs=read-write")


# --- for suites that run on either store -------------------------------------------------

RUNNING = "TEST_POSTGRES_RUNNING"  # folder and port of a server that a parent process has started

_starting = threading.Lock()  # cases run side by side, and share one server


@functools.cache
def _shared():
    if RUNNING in os.environ:
        return Postgres(running=os.environ[RUNNING])
    server = Postgres()
    atexit.register(server.__exit__)
    server.url()
    return server


def shared():
    """The server of this run: the one that a parent process has started, or one that ends with this process."""
    with _starting:
        return _shared()


def schema_of(key):
    return "g" + hashlib.sha256(key.encode()).hexdigest()[:16]


def place(key):
    """The URL of the database that belongs to @key (the folder of a test server, usually): the same each time.  It is a schema
    of its own, which is made faster than a database; gateways in different schemas know nothing of each other."""
    server = shared()
    schema = schema_of(key)
    server.sql(f"SET client_min_messages = error; CREATE SCHEMA IF NOT EXISTS {schema} AUTHORIZATION spoolwire", "t1")
    return server.url(name="t1", options=f"?options=-csearch_path%3D{schema}")


def main():
    """    postgres.py run COMMAND...    runs a command whose processes share a server
           postgres.py place KEY         prints the URL that belongs to KEY there"""
    if sys.argv[1:2] == ["run"] and len(sys.argv) > 2:
        with Postgres() as server:
            server.url()
            done = subprocess.run(sys.argv[2:], env={**os.environ, RUNNING: f"{server.port}:{server.folder}"})
        sys.exit(done.returncode)
    if sys.argv[1:2] == ["place"] and len(sys.argv) == 3 and RUNNING in os.environ:
        print(place(sys.argv[2]))
        return
    sys.exit(main.__doc__)


if __name__ == "__main__":
    main()
