"""What can be wrong: each is one sentence, in the terminal and as the agent's state, and no job is used up."""

import os
import tempfile

from cluster import AGENTS, KIT, MANY, PULL, Cluster, Server, agents, bridge, scene, shared
from gateway import reserve, until
from harness import case, cases, check, contains, equal


def until_error(s, *words):
    until(f"the agent's state says {words}", lambda: all(w in (agents(s)["mine"]["error"] or "") for w in words),
          seconds=MANY, every=0.1)


@case
def workers_without_the_module():
    with Cluster(workers=0) as cluster:
        for name in ("a", "b"):
            cluster.add_worker("--name", name, folders=(KIT,))
        with scene(cluster=cluster) as (s, b):
            job = s.submit("mine")
            until_error(s, "import error: ", "No module named 'dask_agents'")
            until("both have said so", lambda: agents(s)["mine"]["broken_workers"] == 2, seconds=MANY, every=0.1)
            equal((s.state(job), s.job(job)["attempt"]), ("queued", 0))
            contains(b.text(), "No module named 'dask_agents'")
            good = cluster.add_worker("--name", "c")
            done = s.until_state(job, "succeeded", seconds=MANY)
            equal((done["attempt"], done["output"]["ppid"]), (1, good.process.pid))


@case
def workers_without_the_kit():
    with Cluster(workers=0) as cluster, tempfile.TemporaryDirectory() as empty:
        cluster.add_worker(folders=(empty,))
        with scene(cluster=cluster) as (s, _):
            job = s.submit("mine")
            until_error(s, "No module named 'spoolwire'", "--upload-kit")
            equal(s.state(job), "queued")


@case
def a_scheduler_that_is_not_there():
    with reserve() as place, Server(agents={"mine": PULL}) as s:
        job = s.submit("mine")
        with bridge(s, f"tcp://127.0.0.1:{place.getsockname()[1]}", ready=False) as b:
            until_error(s, "cannot reach the Dask scheduler tcp://127.0.0.1:")
            contains(b.text(), "cannot reach the Dask scheduler")
            check("Traceback" not in b.text(), b.text())
        equal(s.state(job), "queued")


VERSIONS = {
    "distributed": ("import importlib.metadata as m\nreal = m.version\n"
                    "m.version = lambda name: '2000.1.0' if name == 'distributed' else real(name)\n", "2000.1.0"),
    "Python": ("import distributed.versions as v\nreal = v.get_system_info\n"
               "v.get_system_info = lambda: {**real(), 'python': '3.1.7.final.0'}\n", "3.1"),
}


@cases(VERSIONS)
def a_worker_of_another_version(what):
    """It only says so: no second version is installed."""
    code, version = VERSIONS[what]
    with Cluster(workers=0) as cluster, tempfile.TemporaryDirectory() as folder, Server(agents={"mine": PULL}) as s:
        with open(os.path.join(folder, "sitecustomize.py"), "w") as f:
            f.write(code)
        cluster.add_worker(folders=(folder, AGENTS, KIT))
        job = s.submit("mine")
        with bridge(s, cluster, ready=False) as b:
            until_error(s, "the worker tcp://127.0.0.1:", f"has {what} {version} and the bridge has", "run the bridge with the versions")
            contains(b.text(), f"has {what} {version}")
            check("Traceback" not in b.text(), b.text())
        equal(s.state(job), "queued")


@cases(["nothing", "NUMBER", "os.path"])
def a_name_that_is_no_agent(name):
    words = {"nothing": "has no 'nothing'", "NUMBER": "is int: neither a graph", "os.path": "is module: neither a graph"}[name]
    with scene(graph=name) as (s, b):
        job = s.submit("mine")
        until_error(s, "import error", words)
        until("also in the terminal", lambda: words in b.text())
        equal((s.state(job), s.job(job)["attempt"]), ("queued", 0))


@case
def an_agent_that_the_server_does_not_have():
    with Server(agents={"mine": PULL}) as s, bridge(s, shared(), agent="theirs", ready=False) as b:
        equal(b.process.wait(MANY), 1)
        contains(b.text().splitlines()[-1], "unknown agent: theirs")


@case
def options_that_are_wrong():
    with Server(agents={"mine": PULL}) as s:
        for flags, sentence in ((("--resources", "GPU"), "--resources must be NAME=VALUE"),
                                (("--resources", "GPU=x"), "--resources must be NAME=NUMBER"),
                                (("--env", "x"), "--env must be NAME=VALUE"),
                                (("--agent", "x"), "--agent must be NAME=GRAPH"),
                                (("--agent", "mine=a:b"), "given twice"),
                                (("--tickets", "0"), "must be a number above 0"),
                                (("--tls-cert", "x"), "need --tls-ca")):
            with bridge(s, "tcp://127.0.0.1:1", *flags, ready=False) as b:
                check(b.process.wait(MANY) != 0)
                contains(b.text().splitlines()[-1], sentence)
