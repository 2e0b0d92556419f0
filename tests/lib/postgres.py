"""A PostgreSQL server for the tests: of its own, in a temporary folder, on a free port.

    with Postgres() as server:
        server.url()            # of a database that is empty

PostgreSQL refuses to run as root, so root starts it as the user `postgres` or `nobody`.

With TEST_STORE=postgres in the environment, suites that start a gateway give it a database of
such a server (place(), called by lib/gateway.py).
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


class Postgres:
    """@durable: with fsync, for tests that kill it.  @settings: lines of postgresql.conf."""

    def __init__(self, durable=False, settings=()):
        self.folder = tempfile.mkdtemp(prefix="spoolwire-pg-", dir=PROGRAMS.root + tempfile.gettempdir())
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.user = _user()
        self.n = 0
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        os.chmod(self.folder, 0o755)
        self._run("initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8",
                  "--locale=C", "--no-sync")
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
            self.n += 1
            name = f"t{self.n}"
            self.sql(f"CREATE DATABASE {name}")
            self.sql("CREATE SCHEMA spoolwire AUTHORIZATION spoolwire", name)
        return f"postgres://{user}@127.0.0.1:{port or self.port}/{name}{options}"

    def sql(self, text, name="postgres"):
        """What psql prints for a superuser, a line for each row, columns behind a bar."""
        return self._run("psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port),
                         "-U", "admin", "-d", f"dbname={name} options='-csearch_path=spoolwire,public'", "-c", text).strip()

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


# --- for suites that run on either store -------------------------------------------------


_starting = threading.Lock()  # cases run side by side, and share one server


@functools.cache
def _shared():
    server = Postgres()
    atexit.register(server.__exit__)
    server.url()
    return server


def place(folder):
    """The URL of the database that belongs to @folder: the same each time."""
    with _starting:
        server = _shared()
    schema = "g" + hashlib.sha256(folder.encode()).hexdigest()[:16]
    server.sql(f"SET client_min_messages = error; CREATE SCHEMA IF NOT EXISTS {schema} AUTHORIZATION spoolwire", "t1")
    return server.url(name="t1", options=f"?options=-csearch_path%3D{schema}")
