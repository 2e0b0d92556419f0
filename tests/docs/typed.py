"""Runs every command of the documents as printed, with nothing but the page's own files.

A document gets a folder with the files that it has its reader write, and a server that has
read the one named spoolwire.yaml.  Its commands run one after another, as in one terminal;
those that go on for ever run in a second one.  All that is changed is the port.
"""

import contextlib
import functools
import os
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import gateway
from document import ROOT, Document
from harness import PROGRAM, case, cases, check, equal
from pages import PAGES
from terminal import Terminal

PORT = "127.0.0.1:8400"
SERVER = re.compile(r"make run|spoolwire serve --config spoolwire\.yaml")  # it is running
READING = 0.2  # seconds until the next block is typed
ENDLESS = re.compile(r"python3 (worker\.py|-m http\.server 8000)")


@contextlib.contextmanager
def folder_of(document, moved):
    """The folder of the sources, as far as commands name it, and the reader's own files."""
    with tempfile.TemporaryDirectory(prefix="spoolwire-docs-") as folder:
        os.mkdir(os.path.join(folder, "build"))
        os.symlink(os.path.dirname(PROGRAM), os.path.join(folder, "build", "release"))
        os.symlink(os.path.join(ROOT, "tests"), os.path.join(folder, "tests"))
        for name, text in document.files.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(moved(text))
        yield folder


def python_with_packages():
    """As if its packages, and ours, had been installed: what a page for Python begins with."""
    made = subprocess.run([os.path.join(ROOT, "scripts", "venv")], check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True).stdout
    return {"PATH": f"{os.path.dirname(made)}:{os.environ['PATH']}",
            "PYTHONPATH": os.path.join(ROOT, "clients", "python", "src")}


def follow(document):
    """Does what the document says; yields what did not come out as printed."""
    port = gateway.fixed_port()

    def moved(text):
        return text.replace(PORT, f"127.0.0.1:{port}")

    env = python_with_packages() if document.path == "docs/python.md" else {}
    with folder_of(document, moved) as folder, contextlib.ExitStack() as running, \
            Terminal(folder, SPOOLWIRE_URL=f"http://127.0.0.1:{port}", **env) as terminal:
        config = ["--config", "spoolwire.yaml"] if "spoolwire.yaml" in document.files else []
        running.enter_context(gateway.Server("--data", "spoolwire.db", *config, folder=folder, port=port, env=env))
        for step in document.steps:
            command = moved(step.command)
            if SERVER.fullmatch(command):
                continue
            if ENDLESS.fullmatch(command):
                running.enter_context(gateway.running(*command.split(), cwd=folder))
                continue
            time.sleep(READING)
            output, status = terminal.type(command)
            if status != 0 or not step.prints(output):
                yield f"\n{document.path}:{step.line}: exit {status}\n{command}\n{output[:3000]}"


WITH_COMMANDS = [p for p in PAGES if Document(p).steps]


@functools.cache
def faults():
    """Of all documents, which are followed at the same time: a demo takes its time."""
    with ThreadPoolExecutor(len(WITH_COMMANDS)) as pool:
        found = pool.map(lambda p: "".join(follow(Document(p))), WITH_COMMANDS)
        return dict(zip(WITH_COMMANDS, found))


@cases(WITH_COMMANDS)
def the_commands_work_as_printed(path):
    equal(faults()[path], "")


@case
def a_command_that_prints_something_else_is_noticed():
    check("bad.md:6: exit 0" in next(follow(Document("tests/docs/bad.md"))))
