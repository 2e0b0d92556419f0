"""A storm: jobs with workers and readers on all gateways, which are killed, frozen and sent away.

STORM_SEED and STORM_SECONDS in the environment choose another one.
"""

import os
import random
import threading
import time

from gateway import OPENING, Worker, at_once, token
from gateways import check, cluster, equal, texts, until, verify
from harness import case

SEED = int(os.environ.get("STORM_SEED", "1"))
SECONDS = float(os.environ.get("STORM_SECONDS", "20"))
JOBS, BATCHES = 6, 40


def eventually(what, call, seconds=120):
    """What @call returns; it may lose its connection, and be told to come again."""
    end = time.monotonic() + seconds
    while True:
        try:
            a = call()
            if a.status != 503:
                return a
        except (OSError, AssertionError) as e:
            a = e
        check(time.monotonic() < end, f"{what}: {a!r}")
        time.sleep(0.05)


class Storm:
    def __init__(self, gateways):
        self.gateways, self.random = gateways, random.Random(SEED)
        self.over = threading.Event()
        self.counts = {"killed": 0, "frozen": 0, "sent away": 0}

    def some(self, r):
        return r.choice(self.gateways)

    def blow(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            g, how = self.some(self.random), self.random.choice(list(self.counts))
            if how == "killed":
                g.restart(g.kill)
            elif how == "sent away":
                g.restart()
            else:
                g.freeze()
                time.sleep(self.random.choice([0.5, 4.5]))
                g.thaw()
            self.counts[how] += 1
            time.sleep(self.random.random())
        self.over.set()

    def work(self, n):
        """One job, its batches sent wherever somebody answers, until the storm is over."""
        r, worker = random.Random(SEED * 1000 + n), Worker(self.gateways[0])
        a = eventually("submit", lambda: self.some(r).post(
            "/v1/jobs", {"agent": f"a{n}", "input": n}, headers={"Idempotency-Key": f"storm-{SEED}-{n}"}))
        check(a.status in (200, 202), repr(a))
        job = a.json["job_id"]

        def ask(what, path, body, **more):
            a = eventually(what, lambda: self.some(r).post(path, body, seconds=15, **more))
            equal(a.status, 200, f"{what}: {a!r}")
            return a.json
        worker.agents = [f"a{n}"]
        order = eventually("lease", lambda: self.some(r).post(
            "/v1/worker/lease", {"agents": [f"a{n}"], "worker": "w", "wait": 5, "request_id": f"lease-{SEED}-{n}"},
            seconds=30)).json
        equal(order["job"], job)
        path = f"/v1/worker/jobs/{job}/events?lease={order['lease']}&seq="
        ndjson = {"Content-Type": "application/x-ndjson"}
        from gateway import lines
        ask("opening", f"{path}0", lines(*OPENING), headers=ndjson)
        i = 0
        while i < BATCHES or not self.over.is_set():
            ask(f"batch {i}", f"{path}{i + 1}", lines(token(f"t{i} ")), headers=ndjson)
            i += 1
            time.sleep(r.random() * 0.1)
        a = eventually("finish", lambda: self.some(r).post(
            f"/v1/worker/jobs/{job}/finish?lease={order['lease']}", {"status": "success"}))
        check(a.status in (200, 409), repr(a))  # 409: its answer was lost, and it had ended
        return job, [f"t{k} " for k in range(i)]


@case
def nothing_is_lost_or_doubled_in_a_storm():
    agents = {f"a{n}": {"pull": True, "lease": "60s"} for n in range(JOBS)}
    with cluster(agents=agents) as gateways:
        storm = Storm(gateways)
        jobs = at_once(storm.blow, *(lambda n=n: storm.work(n) for n in range(JOBS)), seconds=600)[1:]
        print(f"    seed {SEED}: " + ", ".join(f"{n} {how}" for how, n in storm.counts.items()))
        until("all answer", lambda: all(g.get("/readyz").status == 200 for g in gateways))
        for job, tokens in jobs:
            equal(gateways[0].until_state(job, "succeeded", "failed")["state"], "succeeded")
            frames = [g.read(job) for g in gateways]
            equal(texts(frames[0]), tokens, job)
            equal(frames[1], frames[0])
            equal(frames[2], frames[0])
        verify(gateways[0].data)
