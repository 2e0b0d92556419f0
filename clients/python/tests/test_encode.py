import dataclasses
import datetime
import enum
import json
import uuid
from collections import deque

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.types import Interrupt, Send

from spoolwire.encode import encode


@dataclasses.dataclass
class Point:
    x: int


class Colour(enum.Enum):
    RED = "red"


def decoded(value):
    return json.loads(encode(value))


@pytest.mark.parametrize("value, want", [
    ({"a": [1, 2.5, None, True, "ä"]}, {"a": [1, 2.5, None, True, "ä"]}),
    (Point(1), {"x": 1}),
    (Colour.RED, "red"),
    (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
    (datetime.timedelta(minutes=1), 60.0),
    ({1, }, [1]),
    (deque([1, 2]), [1, 2]),
    (b"ab", "YWI="),
    (ValueError("why"), "why"),
    (ValueError(), "ValueError"),
    ({("a", 1): 2}, {"('a', 1)": 2}),
    (Interrupt(value={"q": 1}, id="i"), {"value": {"q": 1}, "id": "i"}),
    (Send("node", {"x": Point(2)}), {"node": "node", "arg": {"x": {"x": 2}}}),
])
def test_what_json_does_not_know_has_a_form(value, want):
    got = decoded(value)
    assert {k: got[k] for k in want} == want if isinstance(want, dict) else got == want


def test_messages_are_flat_as_langgraphs_server_writes_them():
    got = decoded(AIMessageChunk("hi", id="m1"))
    assert got["content"] == "hi" and got["id"] == "m1" and got["type"] == "AIMessageChunk"


def test_a_line_is_one_line():
    assert b"\n" not in encode({"a": "x\ny\u2028z"})


def test_half_of_an_emoji_is_kept():
    assert encode("\ud83d") == b'"\\ud83d"'


def test_a_loop_ends():
    a = {}
    a["self"] = a
    assert decoded(a)["self"] == "…"
