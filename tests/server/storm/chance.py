"""The seed of a run, and what kind of build it is for."""

import random
import sys

from harness import PROGRAM


def _seed():
    given = [a[len("--seed="):] for a in sys.argv[1:] if a.startswith("--seed=")]
    return int(given[-1]) if given else random.SystemRandom().randrange(1 << 32)


SEED = _seed()
with open(PROGRAM, "rb") as f:
    TSAN = b"__tsan_" in f.read()


def chance(*what):
    """A generator of its own for everything that chooses, so that threads do not mix them."""
    return random.Random(f"{SEED} {what}")
