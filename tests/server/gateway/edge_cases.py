"""Compares the table of edge cases in README.md with the comments in the tests."""

import glob
import os
import re

from harness import case, check, equal

HERE = os.path.dirname(os.path.abspath(__file__))


def table():
    """What the table says: the numbers of each test."""
    found = {}
    with open(os.path.join(HERE, "README.md")) as f:
        rows = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", f.read(), re.M)
    equal([int(n) for n, _ in rows], list(range(1, len(rows) + 1)), "numbered without gaps")
    for n, tests in rows:
        names = re.findall(r"`(\w+)`", tests)
        check(names, f"case {n} has no test")
        for name in names:
            found.setdefault(name, []).append(int(n))
    return found


def comments():
    """What the tests say of themselves."""
    found = {}
    for path in glob.glob(os.path.join(HERE, "*.py")):
        with open(path) as f:
            marked = re.findall(r"^# Edge cases? ([\d, ]+)\.\n@case(?:.*\n)+?def (\w+)\(", f.read(), re.M)
        found.update({name: [int(n) for n in numbers.split(",")] for numbers, name in marked})
    return found


@case
def the_edge_cases_have_their_tests():
    equal(comments(), table())
