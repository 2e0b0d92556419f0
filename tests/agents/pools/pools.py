"""What the tests of pools share: a server with one, and what its processes have noted."""

import json
import os
import sys

from gateway import Server, alive, until

WORKER = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")]


def pool(size=1, command=None, agent=None, **more):
    return {"command": command or WORKER, "pool": {"size": size, **more}, **(agent or {})}


class Pool(Server):
    """A server whose agent `a` is a pool."""

    def __init__(self, *flags, size=1, agent=None, command=None, others=None, server=None, **more):
        agents = {"a": pool(size, command, agent, **more), **(others or {})}
        super().__init__(*flags, agents=agents, **(server or {}))

    def do(self, *steps, **more):
        return self.submit("a", {"steps": list(steps)}, **more)

    def path(self, name):
        return os.path.join(self.folder, name)

    def touch(self, name):
        open(self.path(name), "w").close()

    def notes(self, name):
        try:
            with open(self.path(name)) as f:
                return [line.split() for line in f.read().splitlines()]
        except FileNotFoundError:
            return []

    def pids(self):
        return [int(row[0]) for row in self.notes("pids")]

    def alive(self):
        return [p for p in self.pids() if alive(p)]

    def begun(self, job, attempt=None):
        """The process that has, or had, the job."""
        for pid, id, n in self.notes("jobs"):
            if id == job and attempt in (None, int(n)):
                return int(pid)
        return None

    def until_begun(self, job, attempt=None):
        return until(f"{job} is begun", lambda: self.begun(job, attempt))

    def until_gone(self, pid, seconds=20):
        until(f"process {pid} is gone", lambda: not alive(pid), seconds)

    def chunks(self, job):
        """The text that the job has sent, of all attempts."""
        return [f.json["data"]["chunk"] for f in self.read(job, "aiq") if f.event == "llm.chunk"]

    def said(self, text=""):
        """Log lines of workers that contain @text: (job, line)."""
        rows = [json.loads(row) for row in self.err().splitlines() if row.startswith('{"') and '"event":"worker"' in row]
        return [(row["job"], row["line"]) for row in rows if text in row["line"]]
