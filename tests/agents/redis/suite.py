"""The cases of tests/agents/redis/run.  Each has a server, a folder and a port of its own.  Redis is
shared, and the channels have names of their own; a case that stops Redis has its own."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "server", "gateway"), os.path.join(HERE, "..", "..", "lib")]
sys.dont_write_bytecode = True

import harness  # noqa: E402
import recorded  # noqa: E402,F401
import side_by_side  # noqa: E402

harness._cases.clear()  # the recordings' own are the gateway's

import inward  # noqa: E402,F401
import outward  # noqa: E402,F401

if __name__ == "__main__":
    side_by_side.main()
