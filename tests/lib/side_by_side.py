"""harness.main(), with the cases in threads: a case mostly waits for a server.  Cases that measure, or need the whole
machine, run alone afterwards."""

import concurrent.futures
import os
import sys
import time
import traceback

import harness


def _option(name, otherwise):
    given = [a[len(name):] for a in sys.argv[1:] if a.startswith(name)]
    return given[-1] if given else otherwise


def _run(f):
    try:
        f()
        return None
    except Exception as e:  # also a timeout, a decode error, a KeyError in a frame
        return str(e) if isinstance(e, AssertionError) else traceback.format_exc(limit=-4)


class Tally:
    def __init__(self):
        self.passed = self.failed = 0
        self.shows_times = "--times" in sys.argv

    def add(self, name, why, seconds):
        note = f"  ({seconds:.1f} s)" if self.shows_times else ""
        if why is None:
            self.passed += 1
            print(f"ok   {name}{note}", flush=True)
            return
        self.failed += 1
        print(f"FAIL {name}{note}", flush=True)
        for line in why.splitlines():
            print("     " + line, flush=True)


def _timed(f):
    start = time.monotonic()
    return _run(f), time.monotonic() - start


def main(threads=8, alone=()):
    """@alone: the modules whose cases run alone."""
    threads = int(_option("--threads=", threads))
    if not os.access(harness.PROGRAM, os.X_OK):
        sys.exit(f"{harness.PROGRAM} does not exist: scripts/build makes it")
    cases = [(name, f, f.__module__ in alone) for name, f in harness.chosen()]
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        names = {pool.submit(_timed, f): name for name, f, is_alone in cases if not is_alone}
        for done in concurrent.futures.as_completed(names):
            tally.add(names[done], *done.result())
    for name, f, is_alone in cases:
        if is_alone:
            tally.add(name, *_timed(f))
    harness.report(tally.passed, tally.failed)
