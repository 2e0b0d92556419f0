"""The server starts the bridge itself, and again when it exits: `agents: {mine: {dask: …, graph: …}}`."""

import os
import signal
import subprocess
import sys
import tempfile

from cluster import AGENTS, MANY, agents, environment, said, shared
from gateway import PROGRAM, Server, alive, until
from harness import case, check, contains, equal


def dask_agent(address, **more):
    return {"dask": address, "graph": "dask_agents:talk", "attempts": 3, "lease": "3s", **more}


def environment_of(folder):
    """The server finds the Python of the virtual environment; the kit is the program's own."""
    env = environment(AGENTS)
    return {"VIRTUAL_ENV": sys.prefix, "XDG_CACHE_HOME": folder, "PYTHONPATH": env["PYTHONPATH"]}


def bridges(s):
    """The processes that the server has started."""
    with open(f"/proc/{s.pid}/task/{s.pid}/children") as f:
        mine = set(f.read().split())
    for task in os.listdir(f"/proc/{s.pid}/task"):
        with open(f"/proc/{s.pid}/task/{task}/children") as f:
            mine |= set(f.read().split())
    return [int(pid) for pid in mine]


@case
def one_file_is_a_deployment():
    with tempfile.TemporaryDirectory() as cache:
        with Server(agents={"mine": dask_agent(shared().address)}, env=environment_of(cache)) as s:
            done = s.until_state(s.submit("mine", {"n": 2}), "succeeded", seconds=MANY)
            equal(done["attempt"], 1)
            equal(agents(s)["mine"]["kind"], "dask")
            (first,) = bridges(s)
            os.kill(first, signal.SIGKILL)
            until("it is gone", lambda: not alive(first))
            job = s.submit("mine", {"n": 2})
            s.until_state(job, "succeeded", seconds=MANY)
            equal(said(s, job), [0, 1])
            (second,) = bridges(s)
            check(second != first)
            contains(s.err(), "the bridge has exited")
            s.terminate()
            until("the bridge ends with the server", lambda: not alive(second), seconds=MANY)


@case
def a_bridge_is_ended_with_a_server_that_is_killed():
    with tempfile.TemporaryDirectory() as cache:
        with Server(agents={"mine": dask_agent(shared().address)}, env=environment_of(cache)) as s:
            s.until_state(s.submit("mine"), "succeeded", seconds=MANY)
            (first,) = bridges(s)
            s.restart(s.kill)
            until("the bridge of the killed server is gone", lambda: not alive(first), seconds=MANY)
            s.until_state(s.submit("mine"), "succeeded", seconds=MANY)


@case
def both_settings_belong_together():
    for settings, sentence in (({"dask": "tcp://127.0.0.1:1"}, "a 'dask' scheduler and no 'graph'"),
                               ({"pull": True, "dask": "tcp://127.0.0.1:1", "graph": "a:b"}, "has 'pull: true' and a 'dask' scheduler")):
        with tempfile.TemporaryDirectory() as folder:
            s = Server(agents={"mine": settings}, folder=folder, start=False)
            p = subprocess.run([PROGRAM, "config", "check", "--config", s.config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            equal(p.returncode, 2)
            contains(p.stderr, sentence)
