"""Ray: a head node of its own command line, in a virtual environment of its own."""

import contextlib
import os
import subprocess
import sys
import tempfile

from cluster import AGENTS, KIT, MANY, PULL, Process, environment, said
from gateway import Server, reserve, until
from harness import case, check, equal

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, "..", "..", "..", "build", "venv-ray")
RAY = "ray==2.60.0"


def python():
    path = os.path.join(VENV, "bin", "python")
    if not os.path.exists(os.path.join(VENV, "bin", "ray")):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([path, "-m", "pip", "install", "--quiet", "--no-input", RAY], check=True)
    return path


@contextlib.contextmanager
def head():
    with reserve() as place, tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{place.getsockname()[1]}"
        env = environment(AGENTS, KIT, RAY_DISABLE_DOCKER_CPU_WARNING="1", RAY_USAGE_STATS_ENABLED="0")
        command = [python(), os.path.join(VENV, "bin", "ray"), "start", "--head", "--block", "--port", address.split(":")[1],
                   "--num-cpus", "2", "--include-dashboard=false", "--node-ip-address", "127.0.0.1", "--temp-dir", folder]
        with Process(*command, env=env) as process:
            until("Ray is there", lambda: "Ray runtime started" in process.text(), seconds=MANY)
            yield address, env
            process.terminate()


@case
def jobs_on_ray():
    with head() as (address, env), Server(agents={"mine": PULL}) as s:
        command = [python(), "-m", "spoolwire", "ray", "--address", address, "--url", s.url, "--agent", "mine=dask_agents:talk"]
        with Process(*command, env=env) as bridge:
            jobs = [s.submit("mine", {"n": 2}) for _ in range(10)]
            for job in jobs:
                done = s.until_state(job, "succeeded", seconds=2 * MANY)
                equal(done["attempt"], 1)
                check(done["worker"].startswith("ray "), done)
            equal(said(s, jobs[0]), [0, 1])
            equal(bridge.terminate(), 0, bridge.text())
