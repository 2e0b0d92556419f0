"""A storm: jobs, workers and readers all at once, and what must hold after it."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import time

import gateway
from chance import chance
from harness import DIALECTS, PROGRAM, check, equal, strict_json
from readers import FRAME, Reader
from transports import KINDS, Mux

PACE = 18  # seconds of the demo at speed 1
FINAL = ("succeeded", "failed", "cancelled")


class Storm:
    def __init__(self, server, name):
        self.server, self.name = server, name
        self.random = chance(name)
        self.inputs, self.agents = {}, {}
        self.readers, self.workers = [], []

    def job_input(self, job, shortest, longest):
        return {"issue": f"the storm's {job}", "seed": self.random.randrange(1 << 31),
                "speed": round(PACE / self.random.uniform(shortest, longest), 2)}

    # jobs

    async def submit(self, job, agent, after, seconds):
        """Hands a job in once, however often the server is away."""
        self.inputs[job], self.agents[job] = self.job_input(job, *seconds), agent
        body = {"agent": agent, "input": self.inputs[job], "job_id": job}
        await asyncio.sleep(after)
        end = time.monotonic() + gateway.WAIT
        while True:
            try:
                a = await asyncio.to_thread(self.server.post, "/v1/jobs", body,
                                            headers={"Idempotency-Key": f"key {job}"})
                equal(a.status, 202, f"{job}: {a!r}")
                return
            except (OSError, AssertionError):  # no connection, or no answer on it
                if time.monotonic() > end:
                    raise
            await asyncio.sleep(0.05)

    async def all_final(self, seconds):
        end = time.monotonic() + seconds
        while True:
            rows = {}
            with contextlib.suppress(OSError, AssertionError):
                rows = {j["job_id"]: j for j in (await asyncio.to_thread(self.server.get, "/v1/jobs?limit=1000")).json["jobs"]}
            left = [j for j in self.inputs if rows.get(j, {}).get("state") not in FINAL]
            if not left:
                return rows
            check(time.monotonic() < end, f"not within {seconds} s: the end of {[rows.get(j) for j in left[:3]]}")
            await asyncio.sleep(0.2)

    # workers

    def start_workers(self, agent, n):
        for i in range(n):
            err = open(os.path.join(self.server.folder, f"worker.{agent}.{i}"), "wb")
            self.workers.append(subprocess.Popen(
                [PROGRAM, "demo-agent", "--pull", self.server.url, "--agent", agent, "--worker", f"{agent}-{i}"],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err))
            err.close()

    def stop_workers(self):
        """They must all still be there."""
        gone = [w.poll() for w in self.workers if w.poll() is not None]
        self.end_workers()
        equal(gone, [], "exits of workers during the storm")

    def end_workers(self):
        for w in self.workers:
            if w.poll() is None:
                w.terminate()
        for w in self.workers:
            try:
                w.wait(5)
            except subprocess.TimeoutExpired:
                w.kill()
                w.wait()

    # readers

    def start_readers(self, n):
        """Over all transports, in all dialects; those that share a connection are several."""
        jobs, tasks = list(self.inputs), []
        for i in range(n):
            kind = KINDS[i % len(KINDS)]
            dialects = DIALECTS[(i + i // len(jobs)) % len(DIALECTS):] + DIALECTS
            some = [jobs[(i + k) % len(jobs)] for k in range(3)] if issubclass(kind, Mux) else jobs[i % len(jobs)]
            reader = kind(self.server.port, some, dialects if issubclass(kind, Mux) else dialects[0], chance(self.name, "reader", i))
            self.readers += reader.parts if issubclass(kind, Mux) else [reader]
            tasks.append(asyncio.create_task(self.late(reader)))
        return tasks

    async def late(self, reader):
        await asyncio.sleep(reader.random.uniform(0, 5))
        return await reader.run()

    # afterwards

    async def read_all(self):
        """One uninterrupted read of every job in every dialect."""
        result, gate = {}, asyncio.Semaphore(8)

        async def one(job, dialect):
            async with gate:
                reader = Reader(self.server.port, job, dialect)
                equal((await reader.once()).status, 200, str(reader))
                equal((await reader.once()).status, 204, f"{reader}: status at its end")
                equal(reader.connections, 2)
                result[job, dialect] = reader

        await asyncio.gather(*(one(j, d) for j in self.inputs for d in DIALECTS))
        return result

    def check_readers(self, whole):
        for r in self.readers:
            why = r.first_difference(whole[r.job, r.dialect])
            check(why is None, f"{type(r).__name__} {r}, {r.connections} connections: {why}")

    def check_job(self, job, row, whole):
        for dialect in DIALECTS:
            r = whole[job, dialect]
            equal(len(set(r.ids)), len(r.ids), f"ids of {r}")
            ends = []
            for i, block in enumerate(r.blocks):
                event, data = FRAME.fullmatch(block).groups()[1:]
                if event in ENDS and is_end(dialect, job, event.decode(), strict_json(data.decode())):
                    ends.append(i)
            if dialect != "messages":  # which has no word for success
                equal(ends, [len(r.blocks) - 1], f"terminal frames of {r}")
            else:
                equal(len(ends), row["state"] == "failed", f"errors in {r}")
        raw = whole[job, "raw"]
        equal(raw.ids, [str(i + 1) for i in range(row["events"])], f"ids of {raw}")

    def check_content(self, job, whole):
        """A pull worker's job says what the worker says when nothing disturbs it."""
        order = json.dumps({"job": job, "attempt": 1, "input": {**self.inputs[job], "speed": 0}})
        said = subprocess.run([PROGRAM, "demo-agent"], input=order.encode() + b"\n", stdout=subprocess.PIPE, timeout=30).stdout
        want = subprocess.run([PROGRAM, "translate", "--to", "agent", "--agent", "demo", "--job", job, "--framing", "ndjson"], input=said,
                              stdout=subprocess.PIPE, timeout=30, check=True).stdout
        got = [FRAME.fullmatch(b)[3] for b in whole[job, "agent"].blocks]
        equal(timeless(got), timeless(want.split(b"\n")[:-1]), f"what {job} says")

    def check_no_processes(self):
        """No process of a job outlives it."""
        def left():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/environ", "rb") as f:
                        m = re.search(rb"(?:^|\0)SPOOLWIRE_JOB=([^\0]*)", f.read())
                    if m and m[1].decode() in self.inputs and gateway.alive(pid):
                        found.append((pid, m[1]))
            return found
        gateway.until("the processes of all jobs have ended", lambda: not left(), 10)

    def summary(self, rows):
        states = [r["state"] for r in rows.values()]
        return (f"{len(rows)} jobs ({', '.join(f'{states.count(s)} {s}' for s in FINAL if s in states)}), "
                f"{len(self.readers)} readers over {sum(r.connections for r in self.readers)} connections "
                f"({sum(r.drops for r in self.readers)} dropped), {sum(len(r.blocks) for r in self.readers)} frames")


# The events that may be a job's last.
ENDS = (b"job.done", b"job.failed", b"on_chain_end", b"error", b"run.end", b"job.status", b"job.end")


def is_end(dialect, job, event, data):
    if dialect == "agent":
        return event in ("job.done", "job.failed")
    if dialect == "envelope":
        return event == "on_chain_end" and data["data"]["node_id"] == job
    if dialect == "messages":
        return event == "error"
    if dialect == "nodes":
        return event == "run.end" and data["run_id"] == job
    if dialect == "aiq":
        return event == "job.status" and data["status"] in ("SUCCESS", "FAILURE", "INTERRUPTED")
    return event == "job.end"


def timeless(frames):
    return [re.sub(rb'"(elapsed_ms|duration_ms|elapsed)":[0-9]+', rb'"\1":0', f) for f in frames]
