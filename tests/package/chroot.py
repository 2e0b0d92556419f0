"""Bare Debian systems, and programs inside a folder as if it were the whole machine.

Mounts are made in a mount namespace of the program's own, so that they go with it whatever
happens; nothing is ever mounted where others can see it.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time

import gateway
from harness import check, equal
from made import run

CACHE = "/var/cache/spoolwire-check"
KEEP_DAYS = 30


def mirror():
    """Where apt gets this machine's packages from."""
    text = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Component: main")
    return next((line for line in text.splitlines() if "security" not in line), None)


def base(suite):
    """The tar of a bare system."""
    path = os.path.join(CACHE, f"{suite}.tar")
    if os.path.exists(path) and time.time() - os.path.getmtime(path) < KEEP_DAYS * 86400:
        return path
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="spoolwire-base-", dir=CACHE) as folder:
        run("debootstrap", "--variant=minbase", suite, f"{folder}/root", mirror())
        run("tar", "-cf", f"{path}.new", "-C", f"{folder}/root", ".")
    os.rename(f"{path}.new", path)
    return path


@contextlib.contextmanager
def system(suite):
    """A folder with a bare system, removed afterwards."""
    folder = tempfile.mkdtemp(prefix=f"spoolwire-{suite}-", dir="/var/tmp")
    try:
        run("tar", "-xf", base(suite), "-C", folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def inside(root, user=None):
    """The words before a command that is to run in @root, as the first process there."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc", "/usr/sbin/chroot",
            *([f"--userspec={user}"] if user else []), root]


def do(root, *command, user=None, env=None, want=0):
    return run(*inside(root, user), *command, want=want,
               env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", **(env or {})})


def install(root, suite, package):
    """With apt, as people do; what it downloads is kept for the next time."""
    debs, archives = os.path.join(CACHE, f"debs-{suite}"), f"{root}/var/cache/apt/archives"
    os.makedirs(debs, exist_ok=True)
    for name in os.listdir(debs):
        shutil.copy(os.path.join(debs, name), archives)
    shutil.copy(package, f"{root}/tmp/spoolwire.deb")
    shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
    said = do(root, "apt-get", "install", "-q", "-y", "--no-install-recommends", "-o", "APT::Keep-Downloaded-Packages=true",
              "/tmp/spoolwire.deb")
    for name in os.listdir(archives):
        if name.endswith(".deb"):
            shutil.copy(os.path.join(archives, name), debs)
    return said


class Inside(gateway.Server):
    """A server that runs in @root."""

    def __init__(self, root, command, user, env, token=None):
        self.token = token
        self.folder = tempfile.mkdtemp(prefix="spoolwire-package-")
        self.own_folder, self.n, self.expected_exit, self.place = True, 1, None, None
        self.err_path = os.path.join(self.folder, "stderr.1")
        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([*inside(root, user), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=err, env=env)

    def ready(self, port):
        self.port = port
        try:
            self.wait_until_ready()
        except BaseException:
            self.__exit__(AssertionError, None, None)
            raise
        return self

    def wait_until_ready(self):
        def answers():
            check(self.process.poll() is None, f"it has ended: {self.err()[-2000:]}")
            try:
                return self.get("/readyz").status == 200
            except ConnectionRefusedError:
                return False
        gateway.until("it is ready", answers)

    def request(self, method, path, body=None, headers=None, seconds=gateway.WAIT):
        if self.token:
            headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        return super().request(method, path, body, headers, seconds)

    def signal(self, number):
        """To the first process inside: unshare itself would not pass it on."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            os.kill(int(f.read().split()[0]), number)


def plays_a_job(s):
    """The demo agent, from its submission to its report."""
    id = s.submit("demo", {"issue": "x", "speed": 0})
    s.until_state(id, "succeeded")
    equal(s.get(f"/v1/jobs/async/job/{id}/report").json["has_report"], True)
    return id
