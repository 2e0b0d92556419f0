"""A Dask cluster, a bridge and the agents' module for the cases."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading

import gateway
from gateway import WAIT, reserve, until
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
KIT = os.path.join(ROOT, "clients", "python", "src")
AGENTS = os.path.join(HERE, "agents")  # the folder of dask_agents.py
PULL = {"pull": True, "attempts": 3, "lease": "3s"}
MANY = 90  # seconds, when a machine is busy


class Server(gateway.Server):
    """With TEST_GATEWAYS in the environment there are two over one database, and bridges and tickets speak to the other one."""

    other = None

    def ticket_url(self):
        if "TEST_GATEWAYS" not in os.environ:
            return self.url
        if self.other is None:
            self.other = gateway.Server(*self.flags, start=False)
            self.other.data, self.other.data_flag = self.data, self.data_flag
            self.other.start()
        return self.other.url

    def __exit__(self, *why):
        try:
            if self.other is not None:
                self.other.__exit__(*why)
        finally:
            super().__exit__(*why)


def environment(*folders, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPOOLWIRE_", "DASK_"))}
    return {**env, "PYTHONPATH": os.pathsep.join(folders), "PYTHONDONTWRITEBYTECODE": "1", **more}


class Process:
    """A program whose output is in a file."""

    def __init__(self, *command, env):
        self.out = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def text(self):
        return os.pread(self.out.fileno(), 1 << 20, 0).decode(errors="replace")

    def kill(self, number=signal.SIGKILL):
        """With all processes that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        return self.process.wait(WAIT)

    def terminate(self):
        self.process.terminate()
        return self.process.wait(WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.out.close()


class Cluster:
    """A scheduler; workers are added and killed."""

    def __init__(self, workers=1, tls=(), **how):
        """@tls: the files of the authority, of the certificate and of its key."""
        place = reserve()
        self.port = place.getsockname()[1]
        self.place = place  # nobody else gets the port, also while the scheduler is dead
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{self.port}"
        self.tls = [word for pair in zip(("--tls-ca-file", "--tls-cert", "--tls-key"), tls) for word in pair]
        self.workers = []
        self.start_scheduler()
        for _ in range(workers):
            self.add_worker(**how)

    def start_scheduler(self):
        self.scheduler = Process(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host",
                                 "tls://127.0.0.1" if self.tls else "127.0.0.1", "--port", str(self.port), "--no-dashboard",
                                 *self.tls, env=environment(AGENTS, KIT))
        until("the scheduler listens", lambda: "Scheduler at" in self.scheduler.text())

    def add_worker(self, *flags, folders=(AGENTS, KIT), threads=4, wait=True, env=None):
        worker = Process(sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads",
                         str(threads), "--no-dashboard", "--host", "127.0.0.1", *self.tls, *flags,
                         env=environment(*folders, **(env or {})))
        self.workers.append(worker)
        if wait:
            until("the worker is there", lambda: "Registered to" in worker.text())
        return worker

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self.workers, self.scheduler):
            with process:
                pass
        self.place.close()


_lock = threading.Lock()
_shared = []


def shared():
    """One cluster for all cases that leave it as it is."""
    import atexit

    with _lock:
        if not _shared:
            _shared.append(Cluster(workers=2))
            atexit.register(_shared[0].__exit__)
        return _shared[0]


@contextlib.contextmanager
def bridge(server, cluster, *flags, agent="mine", graph="talk", ready=True, folders=(KIT,), **env):
    """`python -m spoolwire dask`, until the end of the `with`."""
    address = cluster if isinstance(cluster, str) else cluster.address
    url = server.ticket_url() if isinstance(server, Server) else server.url
    command = [sys.executable, "-m", "spoolwire", "dask", "--scheduler", address, "--url", url,
               "--agent", f"{agent}=dask_agents:{graph}", *flags]
    with Process(*command, env=environment(*folders, **env)) as process:
        if ready:
            until("the bridge is ready", lambda: "submits tickets" in process.text() or process.process.poll() is not None)
            check(process.process.poll() is None, process.text())
        yield process


@contextlib.contextmanager
def scene(*flags, graph="talk", settings=None, cluster=None, **how):
    """A server and a bridge to the shared cluster."""
    cluster = cluster or shared()
    with Server(agents={"mine": {**PULL, **(settings or {})}}) as server:
        with bridge(server, cluster, *flags, graph=graph, **how) as process:
            yield server, process


def said(server, job):
    """The numbers that a job's stored events carry."""
    return [f.json["data"]["n"] for f in server.read(job, "raw") if f.json["kind"] == "custom"]


def so_far(server, job):
    with server.stream(job, "raw") as stream:
        while stream.pump(0.05):
            pass
        return [f.json["data"]["n"] for f in stream.frames if f.json["kind"] == "custom"]


def until_said(server, job, n):
    until(f"{job} has said {n}", lambda: n in so_far(server, job), seconds=MANY, every=0.1)


def agents(server):
    return {a["agent"]: a for a in server.get("/v1/agents").json["agents"]}
