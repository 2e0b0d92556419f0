"""Where the server listens: on what was named, and on nothing else."""

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import urllib.request

from gateway import PROGRAM, WAIT
from harness import case, cases, check, contains, equal, spoolwire


def tcp_listeners(pid):
    """The local addresses on which a process accepts connections, as the kernel has them."""
    own = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            m = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
            own.add(m and m[1])
    found = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}") as f:
            rows = [row.split() for row in f.read().splitlines()[1:]]
        found |= {row[1] for row in rows if row[3] == "0A" and row[9] in own}
    return found


def curl(path, *args):
    done = subprocess.run(["curl", "-sS", "--max-time", str(WAIT), "--unix-socket", path, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=2 * WAIT)
    equal(done.returncode, 0, done.stderr)
    return done.stdout.decode()


@contextlib.contextmanager
def serving(folder, listen, *flags, umask=-1):
    """The server, with the first line that it prints."""
    p = subprocess.Popen([PROGRAM, "serve", "--listen", listen, "--data", os.path.join(folder, "x.db"), "--shutdown-window", "0",
                          *flags], umask=umask,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
                         env={k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")})
    try:
        check(select.select([p.stdout], [], [], WAIT)[0], "the server does not start")
        yield p, p.stdout.readline().decode()
        p.terminate()
        equal(p.wait(WAIT), 0)
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        p.stdout.close()


@case
def a_unix_socket_alone_opens_no_port():
    if shutil.which("curl") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        with serving(folder, f"unix:{path}") as (p, line):
            check(f"listens on {path} " in line, line)
            equal(tcp_listeners(p.pid), set())
            equal(json.loads(curl(path, "http://localhost/readyz"))["status"], "ready")
            job = json.loads(curl(path, "http://localhost/v1/jobs?wait=20", "-d", '{"agent":"demo","input":{"speed":0}}'))
            equal(job["state"], "succeeded", job)
            events = curl(path, "-N", f"http://localhost/v1/jobs/{job['job_id']}/events?dialect=agent")
            check("\nevent: job.done\n" in events, events[-300:])
        check(not os.path.exists(path), "it is removed")


@case
def a_unix_socket_and_an_address():
    if shutil.which("curl") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        with serving(folder, f"127.0.0.1:0,unix:{path}") as (p, line):
            port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line)[1])
            equal(tcp_listeners(p.pid), {"0100007F:%04X" % port})
            equal(json.loads(curl(path, "http://localhost/readyz"))["status"], "ready")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=WAIT) as a:
                equal(json.load(a)["status"], "ready")


@cases([(0, (), 0o660), (0o077, (), 0o660), (0o027, ("--socket-mode", "0600"), 0o600), (0o077, ("--socket-mode", "666"), 0o666)],
       name=lambda c: f"umask {c[0]:o} {' '.join(c[1])}")
def a_unix_socket_has_its_mode_whatever_the_umask(c):
    umask, flags, mode = c
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        for _ in range(2):
            with serving(folder, f"unix:{path}", *flags, umask=umask):
                equal(oct(os.stat(path).st_mode & 0o7777), oct(mode))


@case
def a_mode_that_is_none_is_refused():
    for mode in ("0680", "rw-", "1777", "-660", "0000", "066"):
        done = spoolwire("serve", "--data", "never.db", f"--socket-mode={mode}")
        check(done.code != 0, mode)
        contains(done.err, "socket_mode", "is not an octal mode such as 0660")
