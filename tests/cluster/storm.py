"""A storm: jobs with workers, processes and readers on all gateways, which are killed, frozen and sent away.

Readers come over every transport, drop, and go on at another gateway.  At the end every acknowledged batch is
there once and in order for every reader, live or not, every job has one ending, and `spoolwire verify` agrees.

STORM_SEED and STORM_SECONDS in the environment choose another one; `--all` makes it a long one.
"""

import asyncio
import os
import random
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server", "storm"))

from gateway import OPENING, at_once, lines, token  # noqa: E402
from gateways import check, cluster, equal, texts, until, verify  # noqa: E402
from harness import case  # noqa: E402
import readers as storm_readers  # noqa: E402
from readers import Reader  # noqa: E402
from transports import LinesReader, SocketReader  # noqa: E402

SEED = int(os.environ.get("STORM_SEED", "1"))
SECONDS = float(os.environ.get("STORM_SECONDS", "300" if "--all" in sys.argv else "15"))
WORKERS, ROUNDS, BATCHES, PROCESSES = 10, 4, 8, 12
storm_readers.HOPELESS = SECONDS * 3 + 300  # jobs are submitted one after another
NDJSON = {"Content-Type": "application/x-ndjson"}
SAY = "echo '{\"event\":\"custom\",\"data\":{\"n\":%d}}'"
COMMAND = ["sh", "-c", "cat >/dev/null; " + "; ".join(SAY % n for n in range(3)) +
           "; sleep 0.3; echo '{\"event\":\"job.done\",\"data\":{}}'"]
AGENTS = {**{f"a{n}": {"pull": True, "lease": "5m", "attempts": 100} for n in range(WORKERS)},
          "process": {"command": COMMAND, "concurrency": 2, "lease": "5m", "attempts": 100}}


class Roaming:
    """A reader that goes to any gateway each time it connects."""

    NOT_YET = (None, 404, 503)

    def __init__(self, ports, job, random):
        super().__init__(ports[0], job, "raw", random)
        self.ports = ports

    async def once(self):
        self.port = self.random.choice(self.ports)
        return await super().once()


class SseReader(Roaming, Reader):
    pass


class NdjsonReader(Roaming, LinesReader):
    pass


class WebSocketReader(Roaming, SocketReader):
    pass


TRANSPORTS = [SseReader, NdjsonReader, WebSocketReader]


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
        self.counts = {"writers killed": 0, "others killed": 0, "frozen": 0, "sent away": 0}
        self.want = {}  # the tokens of each job that was acknowledged

    def some(self, r):
        return r.choice(self.gateways)

    def hit(self, g, how):
        if how == "killed":
            was_writer = g.is_writer()
            g.restart(g.kill)
            how = "writers killed" if was_writer else "others killed"
        elif how == "sent away":
            g.restart()
        else:
            g.freeze()
            time.sleep(self.random.choice([0.5, 4.5]))
            g.thaw()
        self.counts[how] += 1

    def blow(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.hit(self.some(self.random), self.random.choice(["killed", "killed", "frozen", "sent away"]))
            time.sleep(self.random.random())
        self.over.set()

    def submit(self, r, agent, job):
        a = eventually("submit", lambda: self.some(r).post(
            "/v1/jobs", {"agent": agent, "input": 1, "job_id": job}, headers={"Idempotency-Key": f"k-{job}"}, seconds=15))
        check(a.status in (200, 202), repr(a))

    def work(self, n):
        """Jobs one after another, their batches sent wherever somebody answers; the last until the storm is over."""
        r = random.Random(SEED * 1000 + n)
        for k in range(ROUNDS):
            self.do(r, f"a{n}", f"storm-{n}-{k}", k == ROUNDS - 1)

    def do(self, r, agent, job, is_last):
        self.submit(r, agent, job)
        order = eventually("lease", lambda: self.some(r).post(
            "/v1/worker/lease", {"agents": [agent], "worker": "w", "wait": 5, "request_id": f"lease-{job}"}, seconds=30)).json
        equal(order["job"], job)
        path = f"/v1/worker/jobs/{job}/events?lease={order['lease']}&seq="

        def send(seq, *events):
            a = eventually(f"batch {seq} of {job}", lambda: self.some(r).post(f"{path}{seq}", lines(*events), headers=NDJSON, seconds=15))
            equal(a.status, 200, f"batch {seq} of {job}: {a!r}")
        send(0, *OPENING)
        i = 0
        while i < BATCHES or (is_last and not self.over.is_set()):
            send(i + 1, token(f"t{i} "))
            i += 1
            time.sleep(r.random() * 0.1)
        a = eventually("finish", lambda: self.some(r).post(
            f"/v1/worker/jobs/{job}/finish?lease={order['lease']}", {"status": "success"}, seconds=15))
        check(a.status in (200, 409), repr(a))  # 409: its answer was lost, and it had ended
        self.want[job] = [f"t{k} " for k in range(i)]

    def start_processes(self):
        r = random.Random(SEED + 7)
        for n in range(PROCESSES):
            self.submit(r, "process", f"process-{n}")
            time.sleep(r.random() * SECONDS / PROCESSES)

    def jobs(self):
        return [f"storm-{n}-{k}" for n in range(WORKERS) for k in range(ROUNDS)] + [f"process-{n}" for n in range(PROCESSES)]

    def read(self):
        """One reader for each job, live."""
        ports = [g.port for g in self.gateways]
        readers = [TRANSPORTS[i % 3](ports, job, random.Random(f"{SEED}-{job}")) for i, job in enumerate(self.jobs())]

        async def all_of_them():
            await asyncio.gather(*(reader.run() for reader in readers))
        asyncio.run(all_of_them())
        return readers


def replay(gateways, job):
    """What each gateway reads of the job now, which is the same."""
    readers = [Reader(g.port, job, "raw") for g in gateways]

    async def all_of_them():
        await asyncio.gather(*(reader.run() for reader in readers))
    asyncio.run(all_of_them())
    for reader in readers[1:]:
        equal(reader.first_difference(readers[0]), None, job)
    return readers[0]


@case
def nothing_is_lost_or_doubled_in_a_storm():
    with cluster(agents=AGENTS) as gateways:
        storm = Storm(gateways)
        readers = at_once(storm.read, storm.blow, storm.start_processes, *(lambda n=n: storm.work(n) for n in range(WORKERS)),
                          seconds=SECONDS * 3 + 600)[0]
        n_drops = sum(r.connections for r in readers) - len(readers)
        print(f"    seed {SEED}: {len(readers)} jobs; " + ", ".join(f"{n} {how}" for how, n in storm.counts.items()) +
              f"; readers came back {n_drops} times")
        until("all answer", lambda: all(g.get("/readyz").status == 200 for g in gateways))
        for reader in readers:
            whole = replay(gateways, reader.job)
            equal(reader.first_difference(whole), None, f"{type(reader).__name__} of {reader.job}")
            equal(gateways[0].job(reader.job)["state"], "succeeded", reader.job)
            if reader.job in storm.want:
                equal(texts(gateways[0].read(reader.job)), storm.want[reader.job], reader.job)
        equal(len(storm.want), WORKERS * ROUNDS)
        verify(gateways[0].data)
