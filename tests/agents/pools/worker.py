"""A process of a pool that does what each job's input says, step by step.

    {"steps": [["say", "hello"], ["until", "go"], ["exit", 3]]}

A job without a last step of its own ends with success.  What it did is in files of its folder:
`pids` (one line for each process), `jobs` (pid, job, attempt: one line for each job begun),
`told` (a job that was told to stop), `paused` (one that was told to pause), `ends` (a process that
saw the end of its input).
"""

import json
import os
import sys
import threading
import time

lock = threading.Lock()
jobs = {}
hoard = []


def note(name, *words):
    with lock, open(name, "a") as f:
        f.write(" ".join(str(w) for w in words) + "\n")


def write(text):
    """With the lock."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # nobody is left to work for
        os._exit(1)


def out(text):
    with lock:
        write(text)


class Job:
    def __init__(self, order):
        self.order, self.stop = order, threading.Event()
        self.beats = True
        self.deaf = False
        self.said = 0

    def line(self, **what):
        return json.dumps({"job": self.order["job"], "attempt": self.order["attempt"], **what}) + "\n"

    def say(self, **what):
        with lock:
            if "heartbeat" not in what or self.beats:
                write(self.line(**what))
            self.beats &= not what.keys() & {"finish", "return"}  # no sign of life behind its end

    def event(self, text):
        self.said += 1
        return {"type": "llm.chunk", "id": f"m{self.order['attempt']}", "data": {"chunk": text}}

    def wait(self, condition):
        while not condition():
            if self.stop.is_set() and not self.deaf:
                self.say(finish={"status": "cancelled"})
                raise SystemExit
            time.sleep(0.01)

    # steps; each returns true when the job is over

    def do_say(self, text):
        self.say(event=self.event(text))

    def do_event(self, event):
        self.say(event=event)

    def do_raw(self, text):
        out(text.replace("JOB", self.order["job"]))

    def do_sleep(self, seconds):
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end)

    def do_until(self, name):
        self.wait(lambda: os.path.exists(name))

    def do_first(self, steps):
        """Does the step only in the job's first attempt."""
        return self.order["attempt"] == 1 and self.do(steps)

    def do_silent(self, _):
        self.beats = False

    def do_deaf(self, _):
        self.deaf = True

    def do_stderr(self, text):
        sys.stderr.write(text.replace("JOB", self.order["job"]) + "\n")
        sys.stderr.flush()

    def do_many(self, n):
        text = self.line(event=self.event("x" * 300)) * 100
        for _ in range(n // 100):
            if self.stop.is_set():
                break
            out(text)

    def do_flood(self, _):
        with lock:
            while True:
                sys.stdout.write("x" * 65536)

    def do_hoard(self, n):
        hoard.append(b"x" * n)

    def do_finish(self, what):
        self.say(finish=what)
        return True

    def do_return(self, _):
        self.say(**{"return": True})
        return True

    def do_exit(self, status):
        os._exit(status)

    def do_kill(self, number):
        os.kill(os.getpid(), number)
        time.sleep(60)

    def do(self, steps):
        return any(getattr(self, "do_" + what)(arg) for what, arg in steps)

    def run(self):
        note("jobs", os.getpid(), self.order["job"], self.order["attempt"])
        try:
            if not self.do(self.order["input"]["steps"]):
                self.say(finish={"status": "success"})
        except SystemExit:
            pass
        finally:
            jobs.pop((self.order["job"], self.order["attempt"]), None)


def beat():
    while True:
        time.sleep(0.1)
        for job in list(jobs.values()):
            job.say(heartbeat=True)


def main():
    note("pids", os.getpid())
    with open(f"env.{os.getpid()}", "w") as f:
        json.dump(dict(os.environ), f)
    threading.Thread(target=beat, daemon=True).start()
    out('{"ready":true}\n')
    for line in sys.stdin:
        order = json.loads(line)
        key = (order["job"], order["attempt"])
        if order.get("cancel"):
            note("told", *key)
            if key in jobs:
                jobs[key].stop.set()
            continue
        if order.get("pause"):
            note("paused", *key)
            continue
        with open("order", "w") as f:
            f.write(line)
        jobs[key] = Job(order)
        threading.Thread(target=jobs[key].run, daemon=True).start()
    note("ends", os.getpid())
    while jobs:
        time.sleep(0.01)


main()
