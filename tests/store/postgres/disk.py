"""The disk of PostgreSQL is full: a small one of its own (tmpfs), so only root can run this."""

import os
import subprocess

from gateway import OPENING, PULL, Server, Worker, token, until
from harness import PROGRAM, case, check, contains, equal
from postgres import Postgres
from server import SECONDS
from small_disk import fill, small_disk


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
    with small_disk(120) as disk:
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
