"""Fills a server with jobs, for tests of lists."""

import subprocess

from gateway import OPENING, PROGRAM, STORY, Worker, again, interrupt, play, token, until
from harness import equal


def many_jobs(s):
    """Jobs of every state and shape."""
    play(s, job_id="plain")
    s.submit("demo", job_id="demo", input={"speed": 0, "fan_out": 3})
    s.submit("demo", job_id="bad", input={"speed": 0, "fail_at": "writer"})
    s.submit(job_id="cancelled")
    s.post("/v1/jobs/cancelled/cancel")
    s.submit(job_id="open")
    lease = Worker(s).lease()
    lease.send(*OPENING, token("half"))
    s.submit(job_id="asks")
    lease = Worker(s).lease()
    lease.send(*again(2, [*OPENING, interrupt()]))
    lease.finish("interrupted")
    equal(s.state("asks"), "waiting")
    s.submit(job_id="answered")
    lease = Worker(s).lease()
    lease.send(*again(3, [*OPENING, interrupt()]))
    lease.finish("interrupted")
    subprocess.run([PROGRAM, "answer", "answered", "yes", "--url", s.url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   check=True, timeout=120)
    lease = Worker(s).lease()
    equal(lease.job, "answered")
    lease.send(*again(4, STORY))
    lease.finish()
    s.submit(job_id="retried")
    Worker(s).lease().send(*OPENING)
    for id in ("demo", "bad"):
        until(f"{id} ends", lambda: s.state(id) in ("succeeded", "failed"))
    s.submit(job_id="queued")
