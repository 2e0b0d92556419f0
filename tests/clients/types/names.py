"""The sources, events.d.ts and the documents know the same events."""

import os
import re

from document import Document
from harness import DIALECTS, case, cases, check, equal
from real import frames
from typescript import ROOT, names

WRITES = re.compile(r'\b(?:render_begin_typed|begin|frames_begin|frames_begin_ns|put_state|put_pause)'
                    r'\((?:out, |rec, )*(?:STR\()?"([a-z_.]+)"|JSON_LIT\("type", "([a-z_.]+)"\)')
# Of `raw` and of readers of another dialect that get them, too.
KINDS = re.compile(r'\[REC_\w+\] = STR\("([a-z_.]+)"\)')
BEATS = {"job.heartbeat", "job.shutdown"}
PAGES = ["docs/events.md", "docs/events.zh.md"]


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
    check(written(dialect), dialect)
    equal(sorted(names(dialect)), sorted(written(dialect)))


def column(page, dialect):
    """The events that the page's table of what happens has for a dialect."""
    table = re.search(r"^\| [^|]+ \| `envelope` \|.*?\n\n", read(page), re.M | re.S)[0]
    rows = [row.split("|")[2:-1] for row in table.strip().splitlines()]
    at = [cell.strip(" `") for cell in rows[0]].index(dialect)
    return {name for row in rows[2:] for name in re.findall(r"`([a-z_.]+)`", row[at])}


@cases([(page, d) for page in PAGES for d in DIALECTS], lambda v: f"{v[0]} {v[1]}")
def the_table_has_every_event(case):
    page, dialect = case
    equal(sorted(column(page, dialect)), sorted([*names(dialect), "stream.gap"]))


@cases([d for d in DIALECTS if d not in ("envelope", "raw")])
def the_dialects_section_names_every_event(dialect):
    section = re.search(rf"^## `{dialect}`$.*?^## ", read("docs/dialects.md"), re.M | re.S)[0]
    equal([name for name in names(dialect) if f"`{name}`" not in section], [])


@cases(PAGES)
def every_member_of_the_envelope_is_explained(page):
    missing = []
    for f in frames():
        if f.dialect == "envelope" and f.event != "stream.gap":
            row = re.search(rf"^\| `{f.event}` \| .*$", read(page), re.M)[0]
            missing += [f"{f.event} {member}" for member in f.json["data"] if f'"{member}"' not in row]
    equal(sorted(set(missing)), [])


@case
def both_languages_have_the_same_examples():
    english, chinese = ([b.text for b in Document(page).blocks if b.kind in ("sh", "console", "js", "html", "python", "json")] for page in PAGES)
    check(len(english) > 8, len(english))
    equal(english, chinese)
