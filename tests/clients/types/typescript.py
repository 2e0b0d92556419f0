"""The compiler, and what events.d.ts says."""

import functools
import json
import os
import re
import subprocess
import tempfile

from harness import TESTS, check

ROOT = os.path.dirname(TESTS)
HERE = os.path.dirname(os.path.abspath(__file__))
EVENTS = os.path.join(ROOT, "clients", "typescript", "events.d.ts")


@functools.cache
def tool(*command):
    """What it prints, or nothing when it fails."""
    done = subprocess.run([os.path.join(ROOT, *command[0].split("/")), *command[1:]], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def is_there():
    return bool(tool("scripts/node") and tool("scripts/packages", "types"))


def complaints(values):
    """Of (type, JSON) each: what the compiler has against it."""
    with tempfile.TemporaryDirectory(prefix="spoolwire-types-", dir=os.path.join(ROOT, "build")) as folder:
        done = subprocess.run([tool("scripts/node"), os.path.join(HERE, "compile.js"),
                               os.path.join(tool("scripts/packages", "types"), "node_modules", "typescript"), EVENTS, folder],
                              input=json.dumps([{"type": t, "value": v.strip()} for t, v in values]).encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0, done.stderr.decode()[:3000])
    return json.loads(done.stdout)


@functools.cache
def declarations():
    with open(EVENTS, encoding="utf-8") as f:
        return f.read()


@functools.cache
def names(dialect):
    """The events of a dialect's map."""
    body = re.search(rf"^export interface {dialect.capitalize()}Events \{{\n(.*?)^\}}", declarations(), re.M | re.S)[1]
    return re.findall(r'^    "?([a-z_.]+)"?: ', body, re.M)
