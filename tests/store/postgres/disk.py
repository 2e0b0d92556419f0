"""The disk of PostgreSQL is full: a small one of its own (tmpfs), so only root can run this."""

import contextlib
import os
import shutil
import subprocess
import tempfile

from gateway import OPENING, PULL, Server, Worker, token, until
from harness import PROGRAM, case, check, contains, equal
from postgres import PROGRAMS, Postgres
from server import SECONDS

BALLAST = 1 << 20


@contextlib.contextmanager
def small_disk():
    """The path of a folder on it; None: it may not be mounted."""
    folder = tempfile.mkdtemp(prefix="spoolwire-disk-", dir=PROGRAMS.root + tempfile.gettempdir())
    os.chmod(folder, 0o755)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120m,mode=0755", "spoolwire", folder],
                             stderr=subprocess.DEVNULL).returncode == 0
    try:
        if mounted:
            os.mkdir(f"{folder}/data")
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", folder], check=True)
        os.rmdir(folder)


def fill(path, leave):
    """Takes all room on the disk but @leave bytes."""
    with open(path, "wb") as f:
        while shutil.disk_usage(os.path.dirname(path)).free > leave + BALLAST:
            f.write(bytes(BALLAST))
            f.flush()


def numbers(reader):
    return [f.json["text"].split()[0] for f in reader.frames if f.json.get("kind") == "llm.delta"]


def append_until_refused(lease):
    """How many batches were stored, and the refusal of the next one."""
    for n in range(2000):
        lease.seq += 1
        a = lease.try_append(token(f"{n} " + "x" * 60000), seq=lease.seq)
        if a.status != 200:
            return n, a
    raise AssertionError("the disk does not fill")


@case
def writes_are_refused_while_the_disk_is_full():
    with small_disk() as disk:
        if disk is None:
            print("    skipped: this user may not mount a tmpfs")
            return
        with Postgres(durable=True, data=f"{disk}/data") as server, Server(start=False, agents={"pull": PULL}) as s:
            s.data, s.data_flag = server.url(), "--store"
            s.start()
            job = s.submit()
            lease = Worker(s).lease()
            lease.send(*OPENING)
            fill(f"{disk}/ballast", 1 << 20)
            n, refused = append_until_refused(lease)
            check(n > 0 and refused.status == 503, repr(refused))
            contains(refused.detail, "no space left on the disk of PostgreSQL")
            equal(s.job(job)["state"], "running")
            with s.stream(job) as reader:  # reads go on
                reader.until("all that was acknowledged", lambda r: len(numbers(r)) >= n)
                equal(numbers(reader), [str(i) for i in range(n)])
                os.unlink(f"{disk}/ballast")
                until("there is room again", lambda: lease.try_append(token(f"{n} "), seq=lease.seq).status == 200)
                equal(lease.finish(), "succeeded")
                reader.rest()
                equal(numbers(reader), [str(i) for i in range(n + 1)])
            done = subprocess.run([PROGRAM, "verify", "--store", s.data], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS)
            equal(done.returncode, 0, done.stdout.decode())
