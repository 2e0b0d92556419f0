"""Which token a command sends to the server, and where it comes from."""

import os
import subprocess
import tempfile

from fake import Server
from harness import PROGRAM, case, cases, contains, equal


def shown(*args, env=None, stdin=b"", want=0):
    """The Authorization header of `show j`, and what the program said."""
    with Server(lambda r: (200, {"job_id": "j"})) as s:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")}
        p = subprocess.run([PROGRAM, "show", "j", "--url", s.url, *args], input=stdin, env={**clean, **(env or {})},
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        equal(p.returncode, want, p.stderr)
        return s.requests[0].headers["Authorization"] if s.requests else None, p.stderr.decode()


@case
def no_token_no_header():
    equal(shown(), (None, ""))
    equal(shown(env={"SPOOLWIRE_TOKEN": ""}), (None, ""))


@case
def flag_before_file_before_environment():
    env = {"SPOOLWIRE_TOKEN": "from-env"}
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("from-file\n")
        f.flush()
        equal(shown(env=env)[0], "Bearer from-env")
        equal(shown("--token-file", f.name, env=env)[0], "Bearer from-file")
        equal(shown("--token-file", f.name, "--token", "from-flag", env=env)[0], "Bearer from-flag")
        equal(shown("--token", "@" + f.name, env=env)[0], "Bearer from-file")
        equal(shown(env={"SPOOLWIRE_TOKEN": "@" + f.name})[0], "Bearer from-file")
    equal(shown("--token-file", "-", stdin=b"from-stdin\r\n")[0], "Bearer from-stdin")


@case
def a_file_that_is_not_there():
    _, err = shown("--token-file", "/nowhere/token", want=3)
    contains(err, "spoolwire show: --token-file: /nowhere/token: No such file or directory")


@cases(["two\nlines", "a b", "tab\t", "ä", "a\r\nX-Evil: 1"], name=repr)
def a_token_cannot_forge_a_header(token):
    header, err = shown("--token", token, want=2)
    equal(header, None)
    contains(err, "the token has a character that no token has")


@case
def a_refused_token_says_where_it_comes_from():
    with Server(lambda r: (401, {"detail": "who are you?"})) as s:
        p = subprocess.run([PROGRAM, "cancel", "j", "--url", s.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=30)
        equal(p.returncode, 3)
        contains(p.stderr.decode(), "who are you?", "SPOOLWIRE_TOKEN, --token or --token-file")
