"""The sources, events.d.ts and the documents know the same events."""

import os
import re

from harness import DIALECTS, cases, check, equal
from typescript import ROOT, names

WRITES = re.compile(r'\b(?:render_begin_typed|begin|frames_begin|frames_begin_ns|put_state|put_pause)'
                    r'\((?:out, |rec, )*(?:STR\()?"([a-z_.]+)"|\{\\"type\\":\\"([a-z_.]+)\\"')
# Of `raw` and of readers of another dialect that get them, too.
KINDS = re.compile(r'\[REC_\w+\] = STR\("([a-z_.]+)"\)')
BEATS = {"job.heartbeat", "job.shutdown"}
PAGES = ["docs/dialects.md"]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def written(dialect):
    """The names in the sources."""
    if dialect == "raw":
        return set(KINDS.findall(read("src/record/record.c"))) | BEATS
    return {a or b for a, b in WRITES.findall(read(f"src/dialect/{dialect}.c"))}


@cases(DIALECTS)
def the_types_are_those_of_the_sources(dialect):
    check(len(written(dialect)) >= 6, written(dialect))
    equal(sorted(names(dialect)), sorted(written(dialect)))


@cases([(page, d) for page in PAGES for d in DIALECTS], lambda v: f"{v[0]} {v[1]}")
def the_page_names_every_event(case):
    page, dialect = case
    text = read(page) + (read("docs/record.md") if dialect == "raw" else "")
    equal([name for name in names(dialect) if f"`{name}`" not in text], [])
