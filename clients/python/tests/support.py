"""What the tests share: workers in threads and in processes, and what jobs have said."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading

from gateway import WAIT, until

from spoolwire import Worker

COMMAND = [sys.executable, "-m", "spoolwire", "run"]


@contextlib.contextmanager
def working(server, agents, **how):
    """A pull worker in a thread, so that tests may wait for it without awaiting."""
    started, box = threading.Event(), {}

    async def main():
        box["worker"] = Worker(agents, url=server.url, **how)
        box["loop"] = asyncio.get_running_loop()
        started.set()
        await box["worker"].run()

    def run():
        try:
            asyncio.run(main())
        except BaseException as e:
            box["error"] = e
            started.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait()
    try:
        yield box["worker"]
    finally:
        if thread.is_alive():
            box["loop"].call_soon_threadsafe(box["worker"].stop)
            thread.join(WAIT)
        assert not thread.is_alive(), "the worker does not stop"
    if "error" in box:
        raise box["error"]


@contextlib.contextmanager
def worker_process(server, graph, *flags, name="graph"):
    """The same as a process, which may be killed."""
    here = os.path.dirname(os.path.abspath(__file__))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([*COMMAND, os.path.join(here, f"graphs.py:{graph}"), "--pull", "--url",
                                server.url, "--name", name, *flags], env=env, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def custom(server, job):
    """The payloads of custom events, as they are stored."""
    return [f.json["data"] for f in server.read(job, "raw") if f.json["kind"] == "custom"]


def say(n):
    return {"namespace": [], "mode": "custom", "payload": {"n": n}}


def kinds(frames):
    return [f.json["kind"] for f in frames]


def text_of(server, job):
    """What its models have said."""
    frames = server.read(job, "agent")
    return "".join(f.json["token"] for f in frames if f.event == "agent.token")


def noted(word):
    """The processes that have noted it, which graphs do when nodes begin."""
    try:
        with open(os.environ["GRAPH_NOTES"]) as f:
            return [int(line.split()[0]) for line in f if line.split()[1] == word]
    except FileNotFoundError:
        return []


def stored(server, job):
    """What there is of a job so far."""
    with server.stream(job, "raw") as stream:
        while stream.pump(0.05):
            pass
        return [f.json for f in stream.frames]


def until_in(server, job, node):
    until(f"{job} is in {node}", lambda: any(
        r["kind"] == "node.start" and r["node"] == node for r in stored(server, job)))


def checkpoints(server, thread):
    """Newest first.  LangGraph stores a step's while the next one runs."""
    return server.post(f"/v1/worker/threads/{thread}/checkpoints/list", {"ns": "", "limit": 100}).json["checkpoints"]


def until_kept(server, thread, step):
    until(f"step {step} is kept", lambda: any(c["metadata"]["step"] >= step for c in checkpoints(server, thread)))


def run(work):
    return asyncio.run(work)
