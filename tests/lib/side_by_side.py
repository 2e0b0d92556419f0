"""harness.main(), with the cases in threads: a case mostly waits for a server."""

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


def main():
    threads = int(_option("--threads=", 8))
    slow = "--times" in sys.argv
    if not os.access(harness.PROGRAM, os.X_OK):
        sys.exit(f"{harness.PROGRAM} does not exist: scripts/build makes it")
    failed = passed = 0
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        def timed(f):
            start = time.monotonic()
            return _run(f), time.monotonic() - start

        names = {pool.submit(timed, f): name for name, f in harness.chosen()}
        for done in concurrent.futures.as_completed(names):
            why, seconds = done.result()
            note = f"  ({seconds:.1f} s)" if slow else ""
            if why is None:
                passed += 1
                print(f"ok   {names[done]}{note}", flush=True)
                continue
            failed += 1
            print(f"FAIL {names[done]}{note}", flush=True)
            for line in why.splitlines():
                print("     " + line, flush=True)
    harness.report(passed, failed)
