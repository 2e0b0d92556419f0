"""The option `store` in file, environment and flag; with libpq's own settings (PGHOST, services); over TLS."""

import os
import shutil
import subprocess

from gateway import PULL, Server
from harness import PROGRAM, case, check, contains, equal
from postgres import Postgres
from server import PASSWORD, SERVER, SECONDS, driver, name_of, refuses


class Gateway(Server):
    """With flags, variables and a file of its own; the database is theirs to say."""

    def __init__(self, url=None, **more):
        super().__init__(start=False, agents={"a": PULL}, **more)
        self.data, self.data_flag = url, "--store"
        self.start()

    def start(self, stderr=None):
        if self.data is None:
            self.data_flag, self.data = "--loops", "1"
        return super().start(stderr)


def stores(gateway, database):
    """A job that is submitted to it is found in the database."""
    before = int(SERVER.sql("SELECT count(*) FROM jobs", database))
    gateway.submit("a")
    equal(int(SERVER.sql("SELECT count(*) FROM jobs", database)), before + 1)


@case
def in_each_place():
    url = SERVER.url()
    with Gateway(url) as g:
        stores(g, name_of(url))
        contains(g.process.args, "--store")
    with Gateway(env={"SPOOLWIRE_STORE": url}) as g:
        stores(g, name_of(url))
    with Gateway(top=f"store: {url}\n") as g:
        stores(g, name_of(url))


@case
def the_environment_and_the_service_file_of_libpq():
    url = SERVER.url()
    env = {"PGHOST": "127.0.0.1", "PGPORT": str(SERVER.port), "PGUSER": "spoolwire", "PGDATABASE": name_of(url)}
    with Gateway("postgres://", env=env) as g:
        stores(g, name_of(url))
    services = os.path.join(SERVER.folder, "services")
    with open(services, "w") as f:
        f.write(f"[prod]\nhost=127.0.0.1\nport={SERVER.port}\nuser=spoolwire\ndbname={name_of(url)}\n")
    with Gateway("postgres://?service=prod", env={"PGSERVICEFILE": services}) as g:
        stores(g, name_of(url))
    refuses("postgres://?service=test", "cannot connect", 'definition of service "test" not found',
            env={"PGSERVICEFILE": services})


@case
def a_password_is_nowhere_to_be_seen():
    url = SERVER.url(user="shy")
    SERVER.sql(f"CREATE ROLE shy LOGIN PASSWORD '{PASSWORD}'; CREATE SCHEMA shy AUTHORIZATION shy", name_of(url))
    passfile = os.path.join(SERVER.folder, "shy.pass")
    with open(os.open(passfile, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write(f"127.0.0.1:*:*:shy:{PASSWORD}\n")
    with SERVER.hba("host all shy 127.0.0.1/32 scram-sha-256"), Gateway(f"{url}?passfile={passfile}") as g:
        g.submit("a")
        with open(f"/proc/{g.pid}/cmdline") as f:
            check(PASSWORD not in f.read())
        SERVER.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shy'")
        g.post("/v1/jobs", {"agent": "a", "input": "x"})  # whatever it answers: the log tells of the lost connection
        check(PASSWORD not in g.err(), g.err())
    for command in ("serve", "verify", "db stats", "config show", "token list"):
        done = subprocess.run([PROGRAM, *command.split(), "--store", url.replace("shy@", f"shy:{PASSWORD}@")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
        text = done.stdout.decode()
        equal(done.returncode, 2, text)
        contains(text, "has a password")
        check(PASSWORD not in text, text)


def certificate(server, name, subject):
    """Signed by itself, readable for the server; the path."""
    cert, key = (os.path.join(server.folder, f"{name}.{kind}") for kind in ("crt", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", cert, "-days", "30", "-subj", "/CN=database", "-addext", f"subjectAltName={subject}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    os.chmod(key, 0o600)
    if server.user is not None:
        shutil.chown(key, server.user)
    return cert


@case
def tls():
    with Postgres() as server:
        ours = certificate(server, "ours", "IP:127.0.0.1")
        other = certificate(server, "other", "IP:127.0.0.1")
        elsewhere = certificate(server, "elsewhere", "DNS:elsewhere.example")
        use = lambda path: [server.sql(f"ALTER SYSTEM SET {line}") for line in (  # noqa: E731
            f"ssl_cert_file = '{server.inside(path)}'", f"ssl_key_file = '{server.inside(path)[:-3]}key'", "ssl = on")] + [server.sql("SELECT pg_reload_conf()")]
        use(ours)
        url = server.url()
        with server.hba("hostnossl all all 127.0.0.1/32 reject"):
            server.wait_for("SELECT count(*) FROM pg_hba_file_rules WHERE type = 'hostnossl'", "1")
            refuses(f"{url}?sslmode=disable", "cannot connect", "pg_hba.conf rejects")
            equal(driver("open", f"{url}?sslmode=require"), (0, "ok\n"))
            equal(driver("open", f"{url}?sslmode=verify-full&sslrootcert={ours}"), (0, "ok\n"))
            equal(driver("open", url, env={"PGSSLMODE": "verify-full", "PGSSLROOTCERT": ours}), (0, "ok\n"))
            refuses(f"{url}?sslmode=verify-ca&sslrootcert={other}", "cannot connect", "certificate verify failed")
            refuses(f"{url}?sslmode=verify-full&sslrootcert=/nowhere.crt", "cannot connect", "/nowhere.crt")
            with Gateway(f"{url}?sslmode=verify-full&sslrootcert={ours}") as g:
                g.submit("a")
                equal(server.sql("SELECT bool_and(ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) "
                                 "WHERE application_name = 'spoolwire'"), "t")
            use(elsewhere)
            server.wait_for("SELECT setting FROM pg_settings WHERE name = 'ssl_cert_file'", server.inside(elsewhere))
            equal(driver("open", f"{url}?sslmode=verify-ca&sslrootcert={elsewhere}"), (0, "ok\n"))
            refuses(f"{url}?sslmode=verify-full&sslrootcert={elsewhere}", "cannot connect", "does not match host name")
