"""A page that is built and served, and the project behind it."""

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

from gateway import WAIT, fixed_port, until
from harness import PROGRAM, check

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")


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


@contextlib.contextmanager
def page(version):
    """The page with that SDK; gives its address."""
    modules = os.path.join(packages(), "node_modules")
    with tempfile.TemporaryDirectory(prefix="spoolwire-chat-") as folder:
        os.symlink(modules, os.path.join(folder, "node_modules"))
        shutil.copy(os.path.join(HERE, "page.jsx"), folder)
        subprocess.run([os.path.join(modules, ".bin", "esbuild"), "page.jsx", "--bundle", "--outfile=page.js",
                        "--jsx=automatic", "--log-level=error", "--define:process.env.NODE_ENV=\"production\"",
                        f"--alias:@langchain/langgraph-sdk/react=sdk-{version}/react"],
                       cwd=folder, check=True, env={**os.environ, "PATH": f"{os.path.dirname(node())}:{os.environ['PATH']}"})
        with open(os.path.join(folder, "index.html"), "w") as f:
            f.write('<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
                    '<div id="root"></div><script src="page.js"></script>')
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
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
        self.process = subprocess.Popen([PROGRAM, "dev", "--listen", f"127.0.0.1:{self.port}"], cwd=self.folder,
                                        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode()
        check(re.search(re.escape(self.url), line), f"it does not start: {line!r} {self.said()[-1000:]}")

    def said(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(WAIT)
        self.process.stdout.close()
        self.log.close()

    def restart(self):
        """kill -9, and again."""
        self.end(signal.SIGKILL)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)
        shutil.rmtree(self.folder)


__all__ = ["Dev", "is_there", "page", "until"]
