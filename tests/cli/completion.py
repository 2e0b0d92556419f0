"""What the shells complete, asked of the shells themselves."""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

from gateway import PULL, WAIT, Server
from harness import DIALECTS, PROGRAM, case, cases, check, contains, equal, spoolwire

FOLDER = os.path.dirname(PROGRAM)


def env(url="http://127.0.0.1:1"):
    return {**os.environ, "PATH": FOLDER + os.pathsep + os.environ["PATH"], "SPOOLWIRE_URL": url, "TERM": "dumb"}


def script(shell):
    done = spoolwire("completion", shell)
    equal(done.code, 0, repr(done))
    return done.out.decode()


def bash(line, **more):
    """COMPREPLY for @line, split as readline does it."""
    words = []
    for word in line.split(" "):
        name, equals, value = word.partition("=")
        words += [name, "=", value] if equals else [word]
    text = (script("bash") + "COMP_WORDS=(" + " ".join(f"'{w}'" for w in words) + ")\n"
            f"COMP_CWORD={len(words) - 1}\n_spoolwire\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
    p = subprocess.run(["bash", "--norc", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, env=env(**more))
    equal((p.returncode, p.stderr), (0, b""))
    return p.stdout.decode().split()


def fish(line, **more):
    p = subprocess.run(["fish", "--no-config", "-c", script("fish") + f"complete -C '{line}'"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=WAIT, env=env(**more))
    equal((p.returncode, p.stderr), (0, b""))
    return [row.split("\t")[0] for row in p.stdout.decode().splitlines()]


def zsh(line, want):
    """Types @line and a tab into a zsh, and waits for @want on its screen."""
    folder = tempfile.mkdtemp()
    try:
        with open(os.path.join(folder, "_spoolwire"), "w") as f:
            f.write(script("zsh"))
        pid, fd = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**env(), "HOME": folder, "TERM": "vt100"})
        setup = (f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='> '; setopt nolistbeep; "
                 "print READ''Y\n")
        seen, stage, end = "", 0, time.monotonic() + WAIT
        os.write(fd, setup.encode())
        while time.monotonic() < end:
            if select.select([fd], [], [], 0.1)[0]:
                seen += os.read(fd, 65536).decode(errors="replace")
            if stage == 0 and "READY" in seen:
                stage, seen = 1, ""
                os.write(fd, line.encode() + b"\t")
            if stage == 1 and want in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\0\b]", "", seen):
                return
        raise AssertionError(f"{line!r}: {want!r} is not in {seen!r}")
    finally:
        os.write(fd, b"\x03")
        os.close(fd)
        os.waitpid(pid, 0)
        shutil.rmtree(folder)


def commands():
    rows = spoolwire("--help").out.decode().splitlines()
    return [row.split()[0] for row in rows if row.startswith("  ") and row[2] != " " and row[2] != "-"]


@cases([bash, fish], name=lambda f: f.__name__)
def commands_flags_and_values(ask):
    equal(sorted(ask("spoolwire ")), sorted(commands()))
    equal(ask("spoolwire ta"), ["tail"])
    contains(ask("spoolwire tail --"), "--dialect", "--after", "--url", "--token-file", "--help")
    equal(sorted(ask("spoolwire tail --dialect ")), sorted(DIALECTS))
    equal(ask("spoolwire serve --durability r"), ["relaxed"])
    contains(ask("spoolwire serve --no-"), "--no-demo")
    equal(sorted(ask("spoolwire completion ")), ["bash", "fish", "zsh"])
    equal(ask("spoolwire jobs --state f"), ["failed"])


@cases([bash, fish], name=lambda f: f.__name__)
def jobs_and_agents_of_the_server(ask):
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="job-one")
        s.submit(job_id="job-two")
        equal(sorted(ask("spoolwire tail job-", url=s.url)), ["job-one", "job-two"])
        equal(sorted(ask("spoolwire submit ", url=s.url)), ["demo", "pull"])
        equal(ask("spoolwire jobs --agent p", url=s.url), ["pull"])


@cases([bash, fish], name=lambda f: f.__name__)
def files_where_files_belong(ask):
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "run.ndjson"), "w").close()
        equal(ask(f"spoolwire translate {folder}/ru"), [f"{folder}/run.ndjson"])
        equal(ask(f"spoolwire serve --config {folder}/ru"), [f"{folder}/run.ndjson"])
    equal(os.getcwd(), here)


@case
def bash_takes_an_equals_sign():
    equal(bash("spoolwire tail --dialect=no"), ["nodes"])


@case
def zsh_completes():
    zsh("spoolwire tai", "spoolwire tail ")
    zsh("spoolwire tail --dialect no", "--dialect nodes")
    zsh("spoolwire serve --insec", "--insecure-listen")
    zsh("spoolwire completion fi", "completion fish")


@case
def an_unknown_shell():
    done = spoolwire("completion", "cmd.exe")
    equal(done.code, 2)
    contains(done.err, "it takes bash, zsh or fish")
    check(done.out == b"")
