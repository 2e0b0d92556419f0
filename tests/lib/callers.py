"""Servers that need tokens, and their callers: a Caller sends the requests of one token (or cookie,
or nothing) to a server."""

import json
import os
import re
import subprocess

from gateway import PROGRAM, PULL, SECRET, WAIT, Server, until
from harness import check, equal

TOKEN = re.compile(r"spw_([0-9a-hjkmnp-tv-z]{12})_([0-9a-hjkmnp-tv-z]{52})")


def cli(*args, want=0, env=None, stdin=None):
    """Runs a command; its standard output and standard error."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")}
    p = subprocess.run([PROGRAM, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                       env={**clean, **(env or {})})
    out, err = p.stdout.decode(), p.stderr.decode()
    equal(p.returncode, want, f"{args[:2]}: {err[-500:]}")
    check(not SECRET.search(err), f"{args[:2]} wrote a secret to its standard error")
    return out, err


def id_of(token):
    return TOKEN.fullmatch(token)[1]


class Caller(Server):
    """Requests to @server with these headers."""

    def __init__(self, server, token=None, **headers):
        self.server = server
        self.token = token
        self.own = {k.replace("_", "-"): v for k, v in headers.items()}
        if token:
            self.own["Authorization"] = f"Bearer {token}"

    def __getattr__(self, name):
        return getattr(self.__dict__["server"], name)

    @property
    def url(self):
        return self.server.url

    def connect(self, receive_buffer=None):
        return self.server.connect(receive_buffer)

    def request(self, method, path, body=None, headers=None, seconds=WAIT):
        return Server.request(self, method, path, body, {**self.own, **(headers or {})}, seconds)


class Locked(Server):
    """A server that has an admin token from its start."""

    def __init__(self, *flags, agents=None, start=True, **more):
        super().__init__(*flags, agents={"pull": PULL} if agents is None else agents, start=False, **more)
        try:
            self.admin = self.caller("admin")
            if start:
                self.start()
        except BaseException:
            self.__exit__(ValueError, None, None)
            raise

    def make(self, scope, *flags):
        """A token, made with `spoolwire token create`."""
        out, err = cli("token", "create", "--data", self.data, "--scope", scope, *flags)
        check(TOKEN.fullmatch(out.strip()), f"not a token: {out!r}")
        return out.strip()

    def caller(self, scope, *flags):
        return Caller(self, self.make(scope, *flags))

    def stranger(self, **headers):
        return Caller(self, **headers)

    def revoke(self, caller):
        cli("token", "revoke", "--data", self.data, id_of(caller.token))


def challenge(a, status, form="problem"):
    """Is it a refusal in the format of its API?"""
    equal(a.status, status, repr(a))
    if form == "problem":
        equal(a.headers["content-type"], "application/problem+json")
        equal((a.json["status"], a.json["type"]), (status, "about:blank"))
        equal(set(a.json), {"type", "title", "status", "detail"})
    else:
        equal(a.headers["content-type"], "application/json")
        equal(set(a.json), {"detail"})
    check(a.json["detail"])
    check(not SECRET.search(a.body.decode()), "a refusal repeats what was shown")
    if status == 401:
        check(a.headers["www-authenticate"].startswith("Bearer"), repr(a))
    return a


def same_but_for(a, b, replace):
    """The two answers must be equal, byte for byte, after the replacements of @replace."""
    body = b.body.decode()
    for old, new in replace.items():
        body = body.replace(old, new)
    equal((a.status, a.body.decode(), a.headers.get("content-type"), set(a.headers)),
          (b.status, body, b.headers.get("content-type"), set(b.headers)))


def json_lines(text):
    return [json.loads(row) for row in text.splitlines()]


def until_cut(stream):
    """Reads until the stream is cut; the cut must not look like the end of the job."""
    until("the stream is cut", lambda: stream.ended or (stream.pump(0.1) and stream.ended))
    equal(stream.ended, "cut")
