"""A page that is built and served, and the project behind it."""

import atexit
import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import postgres
from gateway import WAIT, fixed_port, until
from harness import ON_POSTGRES, PROGRAM, check

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")


def _printed(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


@functools.cache
def node():
    return _printed(os.path.join(ROOT, "scripts", "node"))


@functools.cache
def packages():
    return _printed(os.path.join(ROOT, "scripts", "packages"), "sdk")


def is_there():
    return node() and packages()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@functools.cache
def built(version):
    """The page with that SDK, as Vite makes it: the folder that has it, until the tests end."""
    folder = tempfile.mkdtemp(prefix="spoolwire-chat-")
    atexit.register(shutil.rmtree, folder)
    modules = os.path.join(packages(), "node_modules")
    os.symlink(modules, os.path.join(folder, "node_modules"))
    for name in ("index.html", "page.jsx", "vite.config.mjs"):
        shutil.copy(os.path.join(HERE, name), folder)
    subprocess.run([node(), os.path.join(modules, "vite", "bin", "vite.js"), "build"], cwd=folder, check=True,
                   env={**os.environ, "SDK": version})
    return os.path.join(folder, "dist")


@contextlib.contextmanager
def page(version):
    """Serves the page with that SDK; gives its address."""
    served = functools.partial(Quiet, directory=built(version))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), served)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/index.html"
    finally:
        server.shutdown()
        server.server_close()


class Dev:
    """`spoolwire dev` with the chat."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="spoolwire-chat-")
        os.symlink(os.path.join(packages(), "node_modules"), os.path.join(self.folder, "node_modules"))
        shutil.copy(os.path.join(HERE, "graphs.mjs"), self.folder)
        with open(os.path.join(self.folder, "langgraph.json"), "w") as f:
            json.dump({"graphs": {"chat": "./graphs.mjs:chat"}}, f)
        self.port = fixed_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")}
        env["PATH"] = f"{os.path.dirname(node())}:{env['PATH']}"
        self.log = open(os.path.join(self.folder, "log"), "ab")
        where = ["--data", postgres.place(self.folder)] if ON_POSTGRES else []
        self.process = subprocess.Popen([PROGRAM, "dev", "--listen", f"127.0.0.1:{self.port}", *where], cwd=self.folder,
                                        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode()
        check(re.search(re.escape(self.url), line), f"it does not start: {line!r} {self.said()[-1000:]}")

    def allow(self, n):
        """Lets the model send so many words, and then wait."""
        path = os.path.join(self.folder, "allowed")
        with open(path + ".new", "w") as f:
            f.write(str(n))
        os.replace(path + ".new", path)

    def said(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(WAIT)
        self.process.stdout.close()
        self.log.close()

    def restart(self):
        """Kills the server with SIGKILL, and starts it again."""
        self.end(signal.SIGKILL)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)
        shutil.rmtree(self.folder)


__all__ = ["Dev", "is_there", "page", "until"]
