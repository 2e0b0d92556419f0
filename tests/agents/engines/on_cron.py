"""cron: the line of docs/engines.md, run by a real cron that sees a crontab of ours only."""

import contextlib
import os
import re
import shutil
import tempfile

from cluster import AGENTS, KIT, MANY, PULL, Process, environment, said
from gateway import Server
from harness import PROGRAM, case, check, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# In a mount namespace: the machine's own crontabs are neither seen nor run.
START = """set -e
mount --bind {0}/crontabs /var/spool/cron/crontabs
mount --bind {0}/none /etc/cron.d
mount --bind {0}/empty /etc/crontab
mount --bind {0}/run /run
exec cron -f -L 15
"""


def example():
    with open(os.path.join(ROOT, "docs", "engines.md")) as f:
        return re.search(r"^\* \* \* \* \* .*spoolwire ticket.*$", f.read(), re.M)[0]


@contextlib.contextmanager
def cron(*lines):
    folder = tempfile.mkdtemp(prefix="spoolwire-cron-")
    for name in ("crontabs", "none", "run"):
        os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, "empty"), "w"):
        pass
    table = os.path.join(folder, "crontabs", "root")
    with open(os.open(table, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        f.write("\n".join(lines) + "\n")
    try:
        with Process("unshare", "--mount", "sh", "-c", START.format(folder), env=environment()) as process:
            yield process
    finally:
        shutil.rmtree(folder)


@case
def a_job_is_done_by_the_next_minute_of_cron():
    with Server(agents={"mine": PULL}) as s:
        line = example().replace("http://gateway:8400", s.url).replace("graphs:graph", "dask_agents:talk")
        check(s.url in line and "dask_agents:talk" in line, line)
        job = s.submit("mine", {"n": 2})
        with cron(f"PATH={os.path.dirname(PROGRAM)}:{os.environ['PATH']}", f"PYTHONPATH={AGENTS}:{KIT}", line) as process:
            done = s.until_state(job, "succeeded", seconds=60 + MANY)
            check(process.process.poll() is None, process.text())
        equal(done["attempt"], 1)
        equal(said(s, job), [0, 1])
