"""Output of the commands: JSON where there is a result, and help for all."""

import json
import subprocess

from gateway import PROGRAM
from harness import case, check, contains, equal


def run(*args, want=0):
    p = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    equal(p.returncode, want, f"{args}: {p.stderr.decode()}")
    return p.stdout.decode()


def commands(*path):
    """Every command that runs, as its words."""
    for line in run(*path, "--help").splitlines():
        words = line.split()
        if line.startswith("  ") and not line.startswith("   ") and words and not words[0].startswith("-"):
            below = list(commands(*path, words[0])) if words[0] in ("config", "token", "db") and not path else []
            yield from below or [(*path, words[0])]


def all_commands():
    found = list(commands())
    check(len(found) > 25, found)
    return found


@case
def every_command_has_help_with_its_exit_codes():
    for words in all_commands():
        text = run(*words, "--help")
        contains(text, f"Usage: spoolwire {' '.join(words)}", "--help")
        contains(text.lower(), "exit")
        check(all(len(line) <= 80 for line in text.splitlines()), f"{words}: {max(text.splitlines(), key=len)}")


# What writes nothing but its own format (frames, records, a script, a report of its own) or files.
OWN = {("serve",), ("dev",), ("init",), ("translate",), ("record",), ("demo-agent",), ("completion",), ("dask",), ("ticket",)}


@case
def every_command_speaks_json():
    without = {words for words in all_commands() if "--json" not in run(*words, "--help")}
    equal(without, OWN)


@case
def dialects_as_json():
    rows = [json.loads(row) for row in run("dialects", "--json").splitlines()]
    equal([row["dialect"] for row in rows], [row.split("\n")[0] for row in run("dialects").split("\n\n")])
    by_name = {row["dialect"]: row for row in rows}
    check(set(by_name) >= {"agent", "envelope", "messages", "nodes", "aiq", "raw"}, rows)
    equal([by_name[d]["names_itself"] for d in ("messages", "agent")], [False, True])
    equal(by_name["aiq"]["connection"], ["stream.mode", "job.status", "job.heartbeat", "job.shutdown"])
    equal([by_name[d]["connection"] for d in ("raw", "agent")], [["job.heartbeat", "job.shutdown"], []])
    for row in rows:
        check(row["about"] and row["sample"]["id"] and row["sample"]["event"] and row["sample"]["data"], row)
