"""`make run` and `make play`, and what they tell a newcomer to type next."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import urllib.request

import gateway
from document import ROOT
from harness import case, check, equal
from terminal import Terminal

# The demo, faster.
CONFIG = """
agents:
  demo: {command: [build/release/spoolwire, demo-agent, --speed, "4"], attempts: 2}
"""


@contextlib.contextmanager
def make_run(port, folder):
    """What `make run` does once all is built; yields what it prints."""
    flags = ["--listen", f"127.0.0.1:{port}", "--data", f"{folder}/x.db", "--config", f"{folder}/x.yaml"]
    with open(os.path.join(folder, "stderr"), "ab") as err:
        p = subprocess.Popen([os.path.join(ROOT, "scripts", "run"), *flags], cwd=ROOT, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err)
    try:
        printed = ""
        while "kill -9" not in printed:
            line = p.stdout.readline()
            check(line, f"it ended: {printed}")
            printed += line
        yield printed
        p.send_signal(signal.SIGINT)  # nothing when it is dead already
        check(p.wait(30) in (0, -signal.SIGKILL), f"Ctrl-C: {p.returncode}")
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


@case
def what_make_run_prints_works_also_through_kill_9():
    port = gateway.fixed_port()
    with tempfile.TemporaryDirectory(prefix="spoolwire-run-") as folder, Terminal(ROOT) as terminal, \
            contextlib.ExitStack() as follower:
        with open(os.path.join(folder, "x.yaml"), "w") as f:
            f.write(CONFIG)
        with make_run(port, folder) as printed:
            export, follow, submit, watch, list_jobs = [row[4:] for row in printed.splitlines() if row.startswith("    ")]
            equal(urllib.request.urlopen(re.search(r"Open (\S+),", printed)[1]).status, 200)
            equal(terminal.type(export), ("", 0))
            out = follower.enter_context(open(os.path.join(folder, "out"), "w+"))
            p = follower.enter_context(terminal.start(follow, out))
            follower.callback(p.kill)
            gateway.until("some events", lambda: os.path.getsize(out.name) > 4000)
            os.kill(int(re.search(r"kill -9 (\d+)", printed)[1]), signal.SIGKILL)
        with make_run(port, folder) as printed:
            equal(p.wait(60), 0)
            out.seek(0)
            got = out.read().splitlines()
            job = next(row for row in got if row.startswith("job ")).split()[1]
            tail, status = terminal.type(f"build/release/spoolwire tail {job}")
            equal((status, [row for row in got if row.startswith("{")]), (0, tail.splitlines()))
            check(any("connected again" in row for row in got), got[-5:])
            equal(terminal.type(submit), ("", 0))
            messages, status = terminal.type(watch)
            equal(status, 0, messages)
            check("event: messages\n" in messages, messages[-1000:])
            jobs, status = terminal.type(list_jobs)
            check(status == 0 and job in jobs, jobs)


@case
def what_make_play_prints_works():
    with Terminal(ROOT, SPOOLWIRE_PACE="0") as terminal:
        played, status = terminal.type("scripts/play")
        equal(status, 0, played)
        next_steps = [row[4:] for row in played.split("Next:")[1].splitlines()
                      if row.startswith("    ") and "my_graph.py" not in row]
        check(len(next_steps) > 4, next_steps)
        for command in next_steps:
            equal(terminal.type(command)[1], 0, command)
