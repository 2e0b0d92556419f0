"""A terminal in a folder: commands typed one after another, whose variables last.

The program is on its path, as if installed, and so is a Node that is new enough.
"""

import functools
import os
import subprocess
import tempfile

from harness import PROGRAM, TESTS

SECONDS = 180  # for what takes 20 on a machine that is not busy


@functools.cache
def node_folder():
    return os.path.dirname(subprocess.run([os.path.join(TESTS, "..", "scripts", "node")], check=True, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, text=True).stdout)


class Terminal:
    def __init__(self, folder, **env):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")} | env
        self.env["PATH"] = f"{os.path.dirname(PROGRAM)}:{node_folder()}:{self.env['PATH']}"
        self.variables = tempfile.NamedTemporaryFile(prefix="spoolwire-terminal-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.variables.close()

    def start(self, command, out, **more):
        """Its variables are lost, and it is not waited for."""
        return subprocess.Popen(["bash", "-o", "pipefail", "-c", self._script(command)], env=self.env,
                                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, **more)

    def type(self, command):
        """What it prints, on both outputs, and its exit status."""
        with self.start(f"{command}\nexport -p >{self.variables.name}", subprocess.PIPE, text=True) as p:
            try:
                return p.communicate(timeout=SECONDS)[0], p.returncode
            except subprocess.TimeoutExpired:
                p.kill()
                raise

    def _script(self, command):
        return f"set -ea; . {self.variables.name}; cd {self.folder}\n{command}"
