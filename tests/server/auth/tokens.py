"""The life of a token: made, listed, noticed, revoked; in the database and in the settings."""

import json
import os
import re
import signal
import socket
import subprocess
import time

from callers import TOKEN, Caller, Locked, challenge, cli, id_of, json_lines, until_cut
from database import database
from gateway import PULL, SECRET, WAIT, Server, Worker, until
from harness import ON_POSTGRES, PROGRAM, case, cases, check, contains, equal, sqlite_only


def status(s, token):
    return Caller(s, token).get("/v1/jobs").status


@case
def a_token_is_shown_once_and_kept_as_a_hash():
    with Locked() as s:
        token = s.make("client", "--name", "a name")
        s.caller("read")
        secret = TOKEN.fullmatch(token)[2]
        s.terminate()
        for name in os.listdir(s.folder):
            with open(os.path.join(s.folder, name), "rb") as f:
                check(secret.encode() not in f.read(), f"the secret is in {name}")
        out, _ = cli("token", "list", "--data", s.data, "--json")
        check(not SECRET.search(out))
        row = next(r for r in json_lines(out) if r["id"] == id_of(token))
        equal((row["scope"], row["name"], row["owner"], row["expires_at"], row["revoked_at"]),
              ("client", "a name", id_of(token), None, None))
        out, _ = cli("token", "list", "--data", s.data)
        check(not SECRET.search(out))
        contains(out, id_of(token), "a name", "client", "good", "never")


@case
def every_token_is_another():
    with Locked(start=False) as s:
        tokens = [s.make("read") for _ in range(5)]
        equal(len({id_of(t) for t in tokens}), 5)
        equal(len({TOKEN.fullmatch(t)[2] for t in tokens}), 5)


@case
def a_running_server_knows_when_the_command_ends():
    with Locked("--loops", "2") as s:
        for _ in range(5):
            token = s.make("client")
            equal([status(s, token) for _ in range(4)], [200] * 4, "a new token counts at once")
            cli("token", "revoke", "--data", s.data, id_of(token))
            equal([status(s, token) for _ in range(4)], [401] * 4, "and so does its end")
        two = [s.make("client"), s.make("client")]
        out, _ = cli("token", "revoke", "--data", s.data, "--json", *map(id_of, two))
        equal([json.loads(row) for row in out.splitlines()], [{"id": id_of(t), "revoked": True} for t in two])
        equal([status(s, t) for t in two], [401, 401])
        contains(Caller(s, two[0]).get("/v1/jobs").detail, id_of(two[0]), "revoked")
        out, _ = cli("token", "list", "--data", s.data)
        contains(out, "revoked")


@case
@sqlite_only("its write lock")
def a_locked_database_is_an_error_that_says_what_to_do():
    with Locked() as s:
        with database(s).locked():  # as a server that is stopped in the middle of a commit holds it
            out, err = cli("token", "create", "--data", s.data, "--scope", "client", want=3)
        equal(out, "", "no token that was not stored is shown")
        contains(err, s.data, "locked", "a server that is stopped", "nothing was written; try again")
        cli("token", "create", "--data", s.data, "--scope", "client")


@case
def a_server_that_stands_still_is_not_waited_for():
    with Locked() as s:
        with database(s).locked():  # so that the server does not hold it when it is stopped
            os.kill(s.process.pid, signal.SIGSTOP)
        try:
            out, err = cli("token", "create", "--data", s.data, "--scope", "client")
        finally:
            os.kill(s.process.pid, signal.SIGCONT)
        check(TOKEN.fullmatch(out.strip()), out)
        contains(err, "it is stored, but the server that has the database open has not looked at it yet")
        token = out.strip()
        until("it looks", lambda: status(s, token) == 200)


@case
def an_open_server_is_locked_by_the_first_token():
    with Server(agents={"pull": PULL}) as s:
        equal(s.get("/v1/jobs").status, 200)
        s.submit(job_id="nobodys")
        with s.stream("nobodys") as st:
            st.until_id(1)
            token = cli("token", "create", "--data", s.data, "--scope", "client")[0].strip()
            until("the door is locked", lambda: s.get("/v1/jobs").status == 401)
            until_cut(st)
        client = Caller(s, token)
        equal(client.get("/v1/jobs").json["jobs"], [])
        equal(client.get("/v1/jobs/nobodys").status, 404)
        equal(client.submit(job_id="mine"), "mine")
        # The last token goes, and the door stays locked.
        cli("token", "revoke", "--data", s.data, id_of(token))
        until("revoked", lambda: client.get("/v1/jobs").status == 401)
        equal(s.get("/v1/jobs").status, 401)
        s.restart()
        equal(s.get("/v1/jobs").status, 401)


@case
def open_streams_end_with_their_token():
    with Locked() as s:
        a, b = s.caller("client", "--owner", "acme"), s.caller("client", "--owner", "acme")
        a.submit(job_id="j")
        with a.stream("j") as one, b.stream("j") as two:
            one.until_id(1)
            two.until_id(1)
            s.revoke(a)
            until_cut(one)
            Worker(s.caller("worker")).lease().finish()
            two.rest()
            equal(two.ended, "clean")
        until("it is said", lambda: "good no longer" in s.err())


@case
def a_token_expires():
    with Locked() as s:
        token = s.make("client", "--expires", "6s")
        client = Caller(s, token)
        until("it is known", lambda: client.get("/v1/jobs").status == 200)
        client.submit(job_id="j")
        with client.stream("j") as st:
            st.until_id(1)
            until("it expires", lambda: client.get("/v1/jobs").status == 401)
            until_cut(st)
        contains(cli("token", "list", "--data", s.data)[0], "expired")
        contains(client.get("/v1/jobs").detail, "expired")


@case
def tokens_over_http_count_at_once():
    with Locked() as s:
        made = s.admin.post("/v1/tokens", {"scope": ["client", "worker"], "name": "n", "agents": ["pull", "demo"],
                                           "expires_seconds": 3600, "max_jobs": 5})
        equal(made.status, 201)
        equal(made.headers["cache-control"], "no-store")
        token = made.json["token"]
        equal(status(s, token), 200, "at once, on every loop")
        for _ in range(20):
            equal(status(s, token), 200)
        listed = s.admin.get("/v1/tokens")
        check(not SECRET.search(listed.body.decode()))
        row = next(t for t in listed.json["tokens"] if t["id"] == id_of(token))
        equal({**row, "token": token, "streams": 0}, {**made.json, "streams": 0})
        equal((row["scope"], row["agents"], row["max_jobs"]), ("client,worker", "pull,demo", 5))
        equal(s.admin.request("DELETE", f"/v1/tokens/{id_of(token)}").status, 204)
        for _ in range(20):
            equal(status(s, token), 401)
        equal(s.admin.request("DELETE", f"/v1/tokens/{id_of(token)}").status, 204)
        equal(s.admin.request("DELETE", "/v1/tokens/0123456789ab").status, 404)
        for body in ({}, {"scope": "root"}, {"scope": []}, {"scope": 7}, {"scope": "read", "jobs": "a b"}, [],
                     {"scope": "read", "owner": "a b"}, {"scope": "read", "name": "x" * 101}, {"scope": "read", "max_jobs": -1},
                     {"scope": "read", "max_jobs": "x"}, {"scope": "read", "expires_seconds": -5}, {"scope": "worker", "jobs": "own"},
                     {"scope": "client", "agents": [7]}, {"scope": "client", "name": "a\nb"}, {"scope": "client", "jobs": ["a,b"]}):
            challenge(s.admin.post("/v1/tokens", body), 422)
        s.restart()
        equal(status(s, token), 401)


BAD = {
    "no scope": ([], "--scope is needed"),
    "unknown scope": (["--scope", "root"], "scope: must be"),
    "a worker's jobs": (["--scope", "worker", "--jobs", "own"], "--agents"),
    "an admin's jobs": (["--scope", "admin", "--jobs", "own"], "all of them"),
    "bad jobs": (["--scope", "read", "--jobs", "a b"], "PREFIX*"),
    "bad owner": (["--scope", "read", "--owner", "a/b"], "owner: must be"),
    "bad time": (["--scope", "read", "--expires", "soon"], "--expires must be"),
    "no time": (["--scope", "read", "--expires", "0"], "--expires must be"),
    "bad limit": (["--scope", "read", "--max-jobs", "-1"], "whole number"),
    "settings have no jobs": (["--scope", "read", "--no-store", "--jobs", "a"], "--no-store"),
}


@cases(BAD)
def what_makes_no_sense_is_refused(what):
    flags, says = BAD[what]
    with Locked(start=False) as s:
        out, err = cli("token", "create", "--data", s.data, *flags, want=2)
        equal(out, "")
        contains(err, says, "spoolwire token create")


@case
def revoking_takes_an_id_or_a_whole_token():
    with Locked() as s:
        a, b = s.caller("read"), s.caller("read")
        cli("token", "revoke", "--data", s.data, a.token, id_of(b.token))
        until("both", lambda: a.get("/v1/jobs").status == b.get("/v1/jobs").status == 401)
        contains(cli("token", "revoke", "--data", s.data, "0123456789ab", want=3)[1], "no token")
        _, err = cli("token", "revoke", "--data", s.data, a.token[:-1], want=2)
        contains(err, "not the id")


@case
def tokens_can_be_made_before_the_first_start():
    with Locked() as s:
        equal(s.admin.get("/v1/jobs").status, 200)
        if not ON_POSTGRES:
            equal(os.stat(s.data).st_mode & 0o777, 0o600)


# --- in the settings -------------------------------------------------------------------------


def loose(scope, *flags):
    out, err = cli("token", "create", "--no-store", "--scope", scope, *flags)
    json_out = json.loads(cli("token", "create", "--no-store", "--json", "--scope", scope, *flags)[0])
    contains(err, "auth_tokens")
    return json_out["token"], json_out["spec"]


@case
def tokens_in_the_environment():
    token, _ = loose("admin")
    with Server(agents={"pull": PULL}, env={"SPOOLWIRE_TOKEN_ADMIN": token}) as s:
        equal(s.get("/v1/jobs").status, 401)
        equal(status(s, token), 200)
        equal(Caller(s, token).get("/v1/tokens").json["tokens"][0]["id"], id_of(token))
        a = Caller(s, token).request("DELETE", f"/v1/tokens/{id_of(token)}")
        equal(a.status, 422)
        contains(a.detail, "configuration")
        s.env = None
        s.restart()
        equal(s.get("/v1/jobs").status, 200, "no token is left anywhere")


@case
def tokens_in_the_file_as_hashes():
    client, client_spec = loose("client,worker", "--owner", "acme")
    reader, reader_spec = loose("read")
    check(not SECRET.search(client_spec + reader_spec))
    with Server(agents={"pull": PULL}, top=f"auth_tokens:\n  - {client_spec}\n  - {reader_spec}\n") as s:
        equal(s.get("/v1/jobs").status, 401)
        c = Caller(s, client)
        id = c.submit()
        equal(c.job(id)["owner"], "acme")
        Worker(c).lease().finish()
        equal(Caller(s, reader).job(id)["state"], "succeeded")
        equal(Caller(s, reader).post("/v1/jobs", {"agent": "pull"}).status, 403)


@case
def a_secret_file():
    token, _ = loose("admin")
    with Server(agents={"pull": PULL}, start=False) as s:
        path = os.path.join(s.folder, "secret")
        with open(path, "w") as f:
            f.write(token + "\n")
        s.flags += ["--token-admin", "@" + path]
        s.start()
        equal(status(s, token), 200)


@cases(["hunter2", "spw_x", "client:spw_0123456789ab_0", ""])
def settings_that_are_no_token(text):
    with Server(start=False) as s:
        p = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data", s.data, "--auth-tokens", f"client:{text},"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT)
        check(p.returncode != 0)
        contains(p.stderr.decode(), "auth_tokens: must be SCOPE:spw_")
        check(not text or text not in p.stderr.decode(), "it shows what may be a secret")


@case
def the_door_can_be_locked_without_a_token_or_left_open():
    with Server("--auth", "required") as s:
        equal(s.get("/v1/jobs").status, 401)
    with Locked("--auth", "off") as s:
        equal(s.get("/v1/jobs").status, 200)
        equal(s.submit(), s.get("/v1/jobs").json["jobs"][0]["job_id"])
        equal(Caller(s, "nonsense").get("/v1/jobs").status, 200)


# --- where it listens -------------------------------------------------------------------------


def serve(s, *flags):
    p = subprocess.Popen([PROGRAM, "serve", "--listen", "0.0.0.0:0", "--data", s.data, "--shutdown-window", "0", *flags],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=s.folder)
    line = p.stdout.readline().decode()
    m = re.search(r"http://0\.0\.0\.0:(\d+)", line)
    return p, int(m[1]) if m else None


@case
def with_a_token_it_listens_anywhere():
    with Locked(start=False) as s:
        p, port = serve(s)
        try:
            check(port, "it did not start")
            with socket.create_connection(("127.0.0.1", port), WAIT) as c:
                c.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
                check(c.recv(100).startswith(b"HTTP/1.1 401"))
        finally:
            p.send_signal(signal.SIGTERM)
            equal(p.wait(WAIT), 0)
            p.stdout.close()
            p.stderr.close()


@cases([[], ["--auth", "off"]])
def without_one_it_does_not(flags):
    with Server(start=False) as s:
        if flags:
            cli("token", "create", "--data", s.data, "--scope", "admin")
        p, port = serve(s, *flags)
        equal((port, p.wait(WAIT)), (None, 2))
        contains(p.stderr.read().decode(), "there is no token", "spoolwire token create")
        p.stdout.close()
        p.stderr.close()
        p, port = serve(s, *flags, "--insecure-listen")
        check(port)
        p.send_signal(signal.SIGTERM)
        equal(p.wait(WAIT), 0)
        p.stdout.close()
        p.stderr.close()
