"""Databases and URLs that cannot be used, and the error message for each."""

import os
import socket
import struct
import threading

from harness import case, contains, equal, spoolwire
from server import PASSWORD, SERVER, Appending, driver, name_of, refuses, stored


@case
def a_password_in_the_url():
    for url in (f"postgres://u:{PASSWORD}@h/x", f"postgresql://h/x?password={PASSWORD}"):
        refuses(url, "has a password", "~/.pgpass", "PGPASSWORD")


@case
def a_password_in_a_file_or_the_environment():
    url = SERVER.url(user="keen")
    SERVER.sql(f"CREATE ROLE keen LOGIN PASSWORD '{PASSWORD}'; CREATE SCHEMA keen AUTHORIZATION keen", name_of(url))
    with SERVER.hba("host all keen 127.0.0.1/32 scram-sha-256"):
        refuses(url, "cannot connect", "password", env={"PGPASSFILE": "/nonexistent"})
        refuses(url, "cannot connect", "password", env={"PGPASSWORD": "wrong"})
        equal(driver("open", url, env={"PGPASSWORD": PASSWORD}), (0, "ok\n"))
        passfile = os.path.join(SERVER.folder, "pass")
        with open(os.open(passfile, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write(f"127.0.0.1:*:*:keen:{PASSWORD}\n")
        equal(driver("open", f"{url}?passfile={passfile}"), (0, "ok\n"))


@case
def a_url_that_is_none():
    refuses(f"postgres://u:{PASSWORD}@[::1/x", "this is no URL of a PostgreSQL database", "postgres://USER@HOST")
    refuses(f"postgresql://u:{PASSWORD}@h/x?nonsense=1", "this is no URL of a PostgreSQL database")


@case
def a_server_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    refuses(f"postgres://u@127.0.0.1:{port}/x", "cannot connect to PostgreSQL", "x at 127.0.0.1")


@case
def a_database_that_is_not_there():
    refuses(f"postgres://spoolwire@127.0.0.1:{SERVER.port}/nowhere", 'database "nowhere" does not exist')


@case
def the_environment_of_libpq_counts():
    url = SERVER.url()
    env = {"PGHOST": "127.0.0.1", "PGPORT": str(SERVER.port), "PGUSER": "spoolwire", "PGDATABASE": name_of(url)}
    equal(driver("open", "postgres://", env=env), (0, "ok\n"))
    equal(SERVER.sql("SELECT version FROM spoolwire", name_of(url)), "9")
    equal(driver("open", url.replace("postgres://", "postgresql://")), (0, "ok\n"))


@case
def a_database_of_another_program():
    url = SERVER.url()
    SERVER.sql("CREATE TABLE customers (id int)", name_of(url))
    refuses(url, "holds the tables of another program")
    equal(SERVER.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'spoolwire'", name_of(url)), "1")


@case
def a_newer_schema():
    url = SERVER.url()
    equal(driver("open", url)[0], 0)
    SERVER.sql("UPDATE spoolwire SET version = 99", name_of(url))
    refuses(url, "was written by a newer spoolwire (schema 99")


@case
def a_reader_before_there_are_tables():
    status, text = driver("read", SERVER.url())
    equal(status, 1)
    contains(text, "has no tables of this spoolwire yet", "start the server with it once")


@case
def a_role_without_rights():
    url = SERVER.url()
    SERVER.sql("DROP ROLE IF EXISTS nobody; CREATE ROLE nobody LOGIN; REVOKE CREATE ON SCHEMA public FROM public", name_of(url))
    refuses(url.replace("spoolwire@", "nobody@"), 'the role "nobody" lacks a right', "grant it")
    equal(driver("open", url)[0], 0)
    refuses(url.replace("spoolwire@", "nobody@"), 'the role "nobody" lacks a right')


@case
def a_role_that_owns_its_schema_and_no_more_is_enough():
    url = SERVER.url()
    SERVER.sql("CREATE ROLE plain LOGIN; CREATE SCHEMA plain AUTHORIZATION plain", name_of(url))
    with Appending(url.replace("spoolwire@", "plain@")) as a:
        pass
    equal(stored(url.replace("spoolwire@", "plain@")), a.acked())


@case
def another_encoding():
    SERVER.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    refuses(SERVER.url(name="latin"), "has the encoding LATIN1", "createdb -E UTF8")


@case
def a_server_that_is_too_old():
    """As libpq sees one: a greeting with its version is all that it needs."""
    def message(kind, body):
        return kind + struct.pack("!I", len(body) + 4) + body

    def greet(listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return  # closed
            with peer:
                peer.recv(4096)
                peer.sendall(message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\0" b"12.22\0") +
                             message(b"Z", b"I"))
                peer.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, args=(listener,), daemon=True)
        thread.start()
        url = f"postgres://u@127.0.0.1:{listener.getsockname()[1]}/x?sslmode=disable&gssencmode=disable"
        refuses(url, "is version 12", "needs 13 or newer")
        done = spoolwire("doctor", "--store", url)
        equal(done.code, 1)
        contains(done.out.decode(), "BAD  ", "is version 12", "needs 13 or newer")


@case
def the_views_are_text():
    url = SERVER.url()
    with Appending(url):
        pass
    equal(SERVER.sql("SELECT DISTINCT state FROM jobs_text", name_of(url)), "running")
    contains(SERVER.sql("SELECT stored FROM records_text WHERE last = 1 LIMIT 1", name_of(url)), "/1/")
