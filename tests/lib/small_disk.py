"""A small disk (tmpfs) for PostgreSQL, to be filled; only root can mount it."""

import contextlib
import os
import shutil
import subprocess
import tempfile

from postgres import PROGRAMS

BALLAST = 1 << 20


@contextlib.contextmanager
def small_disk(megabytes):
    """The path of a folder on it; None: it may not be mounted."""
    folder = tempfile.mkdtemp(prefix="spoolwire-disk-", dir=PROGRAMS.root + tempfile.gettempdir())
    os.chmod(folder, 0o755)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "spoolwire", folder],
                             stderr=subprocess.DEVNULL).returncode == 0
    try:
        if mounted:
            os.mkdir(f"{folder}/data")
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", folder], check=True)
        os.rmdir(folder)


def fill(path, leave):
    """Takes all room on the disk but @leave bytes."""
    with open(path, "wb") as f:
        while shutil.disk_usage(os.path.dirname(path)).free > leave + BALLAST:
            f.write(bytes(BALLAST))
            f.flush()
