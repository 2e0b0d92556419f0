"""The package and the image, made once."""

import functools
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*command, want=0, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT, **more)
    text = done.stdout.decode(errors="replace")
    if done.returncode != want:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{text[-3000:]}")
    return text


@functools.cache
def build():
    run("scripts/build", "package")


@functools.cache
def make(what):
    """The path of the deb or the image."""
    build()
    return os.path.join(ROOT, run("scripts/package", what).strip().splitlines()[-1])
