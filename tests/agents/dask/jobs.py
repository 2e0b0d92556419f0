"""Jobs on a cluster: short ones, many, questions, threads, placing, several bridges."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace

from cluster import AGENTS, HERE, KIT, MANY, PULL, Cluster, Process, Server, agents, bridge, environment, said, scene, shared
from gateway import until
from distributed import Client
from harness import case, check, equal
from spoolwire.agent_process import AgentProcess, AgentProcesses
from spoolwire.ticket import Ticket


@case
def two_hundred_short_jobs():
    with scene() as (s, _):
        jobs = [s.submit("mine", {"n": 2}) for _ in range(200)]
        outputs = [s.until_state(job, "succeeded", seconds=MANY)["output"] for job in jobs]
        equal({o["attempt"] for o in outputs}, {1}, "no job was tried twice")
        check(len({o["pid"] for o in outputs}) == 2, "both workers have worked")
        names = {s.job(job)["worker"] for job in jobs}
        check(len(names) == 2 and all(name.startswith("dask tcp://127.0.0.1:") for name in names), names)
        for job in jobs[::20]:
            equal(said(s, job), [0, 1])


@case
def several_jobs_for_a_ticket():
    with scene("--jobs", "5", "--tickets", "2") as (s, _):
        jobs = [s.submit("mine", {"n": 1}) for _ in range(30)]
        for job in jobs:
            s.until_state(job, "succeeded", seconds=MANY)


@case
def two_bridges_for_one_agent():
    with scene() as (s, _), bridge(s, shared()) as second:
        jobs = [s.submit("mine", {"n": 1}) for _ in range(60)]
        for job in jobs:
            equal(s.until_state(job, "succeeded", seconds=MANY)["attempt"], 1)
        equal(second.terminate(), 0, second.text())
        s.until_state(s.submit("mine"), "succeeded", seconds=MANY)


@case
def heartbeats_and_the_job_name_the_dask_worker():
    """Its address and its name; after a kill those of the next one."""
    with Cluster(workers=0) as cluster, Server("--heartbeat", "1s", agents={"mine": PULL}) as s, bridge(s, cluster):
        cluster.add_worker("--name", "early-bird")
        job = s.submit("mine", {"n": 100000, "every": 0.2})
        with s.stream(job, "aiq") as stream:
            for name in ("early-bird", "second-bird"):
                def named(stream, name=name):
                    beats = [f.json["data"].get("worker") or "" for f in stream.frames if f.event == "job.heartbeat"]
                    return beats and re.fullmatch(rf"dask tcp://127\.0\.0\.1:\d+ {name}", beats[-1])
                stream.until(f"{name} has it", named, seconds=MANY)
                equal(s.job(job)["worker"], named(stream)[0])
                cluster.workers[-1].kill()
                cluster.add_worker("--name", "second-bird")


def pid_of(s, job):
    return s.until_state(job, "succeeded", seconds=MANY)["output"]["pid"]


@case
def an_agent_has_a_process_that_is_kept_and_exits_with_its_worker():
    with Cluster() as cluster, scene(cluster=cluster) as (s, _):
        pid = pid_of(s, s.submit("mine"))
        check(pid != cluster.workers[0].process.pid)
        equal({pid_of(s, s.submit("mine")) for _ in range(3)}, {pid})
        os.kill(pid, signal.SIGKILL)
        other = pid_of(s, s.submit("mine"))
        check(other != pid)
        cluster.workers[0].process.kill()
        until("it is gone", lambda: not os.path.exists(f"/proc/{other}"))


@case
def an_agents_process_without_tickets_exits():
    sys.path.append(AGENTS)  # where the process looks, too
    ticket = Ticket("mine", "dask_agents:talk", "", bridge="b")
    with Server(agents={"mine": PULL}) as s:
        processes, ticket = AgentProcesses(idle=0.5), replace(ticket, url=s.url)
        for _ in range(2):  # the second time in another process
            job = s.submit("mine")
            equal(processes.run(ticket, "me", lambda: False), {"jobs": 1})
            pid = pid_of(s, job)
            until("it is gone", lambda pid=pid: not os.path.exists(f"/proc/{pid}"))


@case
def an_outcome_that_comes_before_it_is_waited_for_is_kept():
    sys.path.append(AGENTS)
    lock = threading.Lock()
    with Server(agents={"mine": PULL}) as s:
        ticket = Ticket("mine", "dask_agents:talk", s.url, bridge="b")
        process = AgentProcess(ticket, lock, idle=0.5)
        with lock:
            number, answer = process.begin(ticket, "me")
        until("it is there", lambda: not answer.empty())
        equal(process.follow(number, answer, lambda: True), {"jobs": 0})


@case
def agents_find_their_dask_worker_and_are_not_profiled():
    def usual(dask_worker):
        return dask_worker.periodic_callbacks["profile"].callback_time

    with Cluster(workers=1) as cluster, Server(agents={"mine": PULL}) as s, bridge(s, cluster, "--in-worker", graph="told"), \
            Client(cluster.address) as client:
        done = s.until_state(s.submit("mine"), "succeeded", seconds=MANY)
        equal(done["output"], {"address": done["worker"].split()[1], "watched": False, "every": 100})
        until("the profile looks as often as before", lambda: list(client.run(usual).values()) == [10])


@case
def a_question_and_its_answer():
    with scene(graph="asking") as (s, _):
        job = s.submit("mine", {})
        s.until_state(job, "waiting", seconds=MANY)
        equal(s.post(f"/v1/jobs/{job}/answer", {"value": "yes"}).status, 200)
        equal(s.until_state(job, "succeeded", seconds=MANY)["output"], {"answer": "yes", "count": 1})


@case
def runs_of_a_thread_of_the_langgraph_api():
    with scene(graph="counting") as (s, _):
        thread = s.post("/threads", {}).json["thread_id"]
        for n in (1, 2, 3):
            run = {"assistant_id": "mine", "input": {"count": n} if n == 1 else {}}
            equal(s.post(f"/threads/{thread}/runs/wait", run, seconds=MANY).json["count"], n + 1)
        equal(s.get(f"/threads/{thread}/state").json["values"]["count"], 4)


@case
def the_environment_and_a_process_of_its_own():
    with scene("--child", "--env", "DASK_TEST=here", "--jobs", "2") as (s, _):
        first, second = [s.until_state(s.submit("mine"), "succeeded", seconds=MANY)["output"] for _ in range(2)]
        equal((first["env"], second["env"]), ("here", "here"))
        check(first["pid"] != os.getpid())


@case
def resources_and_workers_are_kept_to():
    with Cluster(workers=0) as cluster, Server(agents={"mine": PULL, "other": PULL}) as s:
        cluster.add_worker("--name", "plain")
        with bridge(s, cluster, "--resources", "GPU=1", "--agent", "other=dask_agents:talk", "--workers", "special"):
            jobs = [s.submit("mine"), s.submit("other")]
            until("it is said", lambda: "none of the workers special is in" in (agents(s)["other"]["error"] or ""), seconds=MANY)
            equal([agents(s)[name]["queued"] for name in ("mine", "other")], [1, 1])
            cluster.add_worker("--name", "special", "--resources", "GPU=1")
            pids = {s.until_state(job, "succeeded", seconds=MANY)["output"]["ppid"] for job in jobs}
            equal(pids, {cluster.workers[1].process.pid})


@case
def tickets_of_a_higher_priority_run_first():
    from distributed import Client

    with Cluster(threads=1) as cluster, Server(agents={"mine": PULL, "low": PULL, "high": PULL}) as s, \
            bridge(s, cluster, "--agent", "low=dask_agents:talk", "--agent", "high=dask_agents:talk", "--priority", "10",
                   graph="silent"), Client(cluster.address, set_as_default=False) as client:
        holds = s.submit("mine", {})
        s.until_state(holds, "running", seconds=MANY)  # the only thread
        jobs = [s.submit(agent, {"n": 1}) for agent in ("low", "low", "high", "high")]  # so few are all given to the worker

        def keys():
            return client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])

        until("all tickets are at the scheduler", lambda: min(sum(f"spoolwire-{agent}-" in key for key in keys()) for agent in ("low", "high")) >= 2,
              seconds=MANY, every=0.1)
        equal(s.post(f"/v1/jobs/{holds}/cancel").status, 200)
        done = [s.until_state(job, "succeeded", seconds=MANY) for job in jobs]
        equal([job["agent"] for job in sorted(done, key=lambda job: job["started_at"])], ["high", "high", "low", "low"])


def certificate(folder, name):
    """One that signs itself, and is its own authority: the files of both, and of its key."""
    cert, key = (os.path.join(folder, f"{name}-{kind}.pem") for kind in ("cert", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
                    cert, "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.PIPE)
    return cert, cert, key


@case
def a_cluster_with_tls():
    with tempfile.TemporaryDirectory() as folder:
        ours, others = certificate(folder, "ours"), certificate(folder, "others")

        def flags(files):
            return [word for pair in zip(("--tls-ca", "--tls-cert", "--tls-key"), files) for word in pair]

        with Cluster(tls=ours) as cluster, Server(agents={"mine": PULL}) as s:
            waits = s.submit("mine")
            for wrong, words in ((), "it needs certificates"), (flags(others), "certificate does not match"):
                with bridge(s, cluster, *wrong, ready=False) as b:
                    until("it is said", lambda: words in b.text() and words in (agents(s)["mine"]["error"] or ""), seconds=MANY)
                    check("cannot reach the Dask scheduler tls://" in b.text() and "Traceback" not in b.text(), b.text())
                equal(s.state(waits), "queued")
            with bridge(s, cluster, *flags(ours)):
                done = s.until_state(waits, "succeeded", seconds=MANY)
                check(done["worker"].startswith("dask tls://127.0.0.1:"), done)


@case
def an_agent_that_cannot_be_pickled():
    """Agents travel by name: it is no mistake."""
    with scene(graph="unpicklable") as (s, _):
        equal(s.until_state(s.submit("mine"), "succeeded", seconds=MANY)["output"], "locked")


@case
def modules_and_the_kit_are_uploaded():
    with Cluster(workers=0) as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.add_worker(folders=(folder,), wait=True)  # with nothing of ours
        module = os.path.join(folder, "uploaded", "dask_agents.py")
        os.mkdir(os.path.dirname(module))
        shutil.copy(os.path.join(AGENTS, "dask_agents.py"), module)
        with scene("--upload-kit", "--upload", module, cluster=cluster) as (s, _):
            s.until_state(s.submit("mine"), "succeeded", seconds=MANY)
            cluster.add_worker(folders=(folder,))
            cluster.workers[0].kill()
            s.until_state(s.submit("mine"), "succeeded", seconds=MANY)


@case
def an_adaptive_cluster_grows_and_shrinks_with_the_queue():
    """0 → n → 0 workers: `distributed` decides by our tickets."""
    with Process(sys.executable, os.path.join(HERE, "adaptive.py"), env=environment(AGENTS, KIT)) as cluster, \
            Server(agents={"mine": PULL}) as s:
        def seen():
            return [line.split()[1] for line in cluster.text().splitlines() if line.startswith("workers ")]

        until("the cluster is there", lambda: seen() == ["0"] or cluster.process.poll() is not None, seconds=MANY)
        address = re.search(r"^at (\S+)", cluster.text(), re.M)
        with bridge(s, address[1]):
            jobs = [s.submit("mine", {"n": 4, "every": 0.3}) for _ in range(8)]
            for job in jobs:
                equal(s.until_state(job, "succeeded", seconds=MANY)["attempt"], 1)
            check(max(seen()) >= "1", seen())
            until("it is empty again", lambda: seen()[-1] == "0", seconds=MANY)
