"""Frames against their types."""

import copy
import functools
import json

from harness import DIALECTS, case, cases, check, equal
from real import frames, once, wrapped
from typescript import complaints, names

# What a worker sends as it likes, so that its type says nothing.
ANYTHING = {"question", "context", "value", "chunk", "input", "output", "result", "data", "content", "custom"}
# Objects without a type of their own.
LOOSE = {"values", "updates", "custom", "tasks", "checkpoints", "debug", "tools"}
# What a record has where there is something to say.
WHERE_KNOWN = {"run", "parent", "exec", "node", "ns", "name", "type", "section", "model", "path", "step", "depth", "root", "top",
               "card", "panel", "counted", "derived", "outer", "tags", "meta", "parents", "message", "text", "index", "count", "title",
               "note", "input", "output", "error", "error_type", "call", "response", "usage", "id", "chains", "llms", "tools",
               "first", "last", "calls", "content", "reasoning", "seen", "lossy", "tool", "attempt", "mirror", "owes", "preview"}


@once
def verdicts():
    return list(zip(frames(), complaints([(f.type, f.data) for f in frames()])))


@cases(DIALECTS)
def every_frame_fits(dialect):
    mine = [(f, wrong) for f, wrong in verdicts() if f.dialect == dialect]
    check(len(mine) >= len(names(dialect)), len(mine))
    equal([f"{f.source}: {f.event}: {wrong[0]}: {f.data[:600]}" for f, wrong in mine if wrong][:5], [])


@cases(DIALECTS)
def every_event_has_been_seen(dialect):
    equal(sorted(set(names(dialect)) - {f.event for f in frames() if f.dialect == dialect}), [])


@case
def lines_and_pages_fit():
    values = list(wrapped())
    for name in ("stream.subscribed", "stream.ended", "stream.error", "job.state", "interrupt.state"):
        check(any(f'"{name}"' in v for t, v in values if t.startswith("Message")), f"no {name}")
    equal([(t, wrong[0], v[:300]) for (t, v), wrong in zip(values, complaints(values)) if wrong][:3], [])


# --- frames that do not fit -------------------------------------------------------------------


def objects(frame):
    """Where a frame has members with a type: each as its path, and its members that are always there."""
    if frame.dialect == "messages" and frame.event == "messages":
        return [[0]] if frame.json[0]["type"] == "AIMessageChunk" else []
    if frame.event in LOOSE and frame.dialect == "messages":
        return []
    nested = {"envelope": ["data"], "aiq": ["data", "metadata"]}.get(frame.dialect, [])
    return [[]] + [[k] for k in nested if isinstance(frame.json.get(k), dict)]


def at(value, path):
    for k in path:
        value = value[k]
    return value


@functools.cache
def members():
    """Of each object of each event, in all its frames: the members that are always there."""
    always = {}
    for f in frames():
        for path in objects(f):
            key, there = kind_of(f, path), set(at(f.json, path))
            always[key] = always.get(key, there) & there
    return always


def kind_of(frame, path):
    """What tells members of a union apart is part of the kind."""
    value = at(frame.json, path)
    return frame.dialect, frame.event, tuple(path), value.get("type"), value.get("kind"), frame.event == "job.update" and frame.json.get("name")


@functools.cache
def samples():
    """One frame of each kind of object."""
    found = {}
    for f in frames():
        for path in objects(f):
            found.setdefault(kind_of(f, path), (f, path))
    return found


def spoilt(change):
    """Frames of which one object was changed; (what, type, JSON) each."""
    for key, (frame, path) in samples().items():
        for member, do in change(frame, at(frame.json, path), members()[key]):
            value = copy.deepcopy(frame.json)
            do(at(value, path))
            yield f"{frame.dialect} {frame.event} {path} {member}", frame.type, json.dumps(value)


def is_refused(change):
    wrong = list(spoilt(change))
    check(len(wrong) > 80, len(wrong))
    results = complaints([(t, v) for _, t, v in wrong])
    equal([what for (what, _, _), found in zip(wrong, results) if not found], [])


@case
def a_member_too_many_is_noticed():
    def change(_, __, ___):
        yield "extra", lambda o: o.update(not_ours=1)
    is_refused(change)


@case
def a_missing_member_is_noticed():
    def change(frame, _, always):
        for member in always - (WHERE_KNOWN if frame.dialect == "raw" else set()):
            yield member, lambda o, m=member: o.pop(m)
    is_refused(change)


@case
def a_member_of_another_type_is_noticed():
    def change(_, value, __):
        for member, v in value.items():
            if member not in ANYTHING:
                other = [17] if v is None else 17 if isinstance(v, str) else "text"
                yield member, lambda o, m=member, other=other: o.update({m: other})
    is_refused(change)
