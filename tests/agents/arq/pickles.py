"""Pickles, with Python on the other side: it reads what we write, we read what it writes, and
nothing of either is executed here."""

import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import os
import pathlib
import pickle
import random
import subprocess
import uuid
import zoneinfo

from arq.worker import JobExecutionFailed
from harness import PROGRAM, case, cases, check, equal
from langchain_core.messages import AIMessage

DRIVER = os.path.join(os.path.dirname(PROGRAM), "tests", "pickle_driver")


def drive(mode, lines):
    done = subprocess.run([DRIVER, mode], input="".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"),
                          stdout=subprocess.PIPE, timeout=60, check=True)
    return done.stdout.decode().split("\n")[:-1]


def read(*pickles):
    return [line if line.startswith("error ") else json.loads(line) for line in drive("read", [p.hex() for p in pickles])]


# --- what is written ---------------------------------------------------------------------


def any_text(r):
    alphabet = r.choice(["abc", "äöü€", "😀𝄞", "\0\n\t\"\\", "\u2028\ufffd\ud800"])
    return "".join(r.choice(alphabet) for _ in range(r.choice([0, 1, 3, 40, 300])))


def any_number(r):
    return r.choice([
        lambda: r.randrange(-300, 300),
        lambda: r.choice([-1, 1]) * (2 ** r.randrange(0, 200) + r.randrange(-2, 3)),
        lambda: r.choice([-1, 1]) * 10 ** r.choice([25, 80, 300, 700]),
        lambda: r.uniform(-1e6, 1e6),
        lambda: r.choice([0.0, -0.0, 1e308, 5e-324, 1.7976931348623157e308, 0.1]),
    ])()


def any_value(r, depth=0):
    kind = r.randrange(8 if depth < 4 else 5)
    if kind < 3:
        return r.choice([None, True, False])
    if kind == 3:
        return any_number(r)
    if kind == 4:
        return any_text(r)
    n = r.choice([0, 1, 2, 3, 4, 12 if depth < 2 else 5])
    if kind == 5:
        return {any_text(r): any_value(r, depth + 1) for _ in range(n)}
    return [any_value(r, depth + 1) for _ in range(n)]


def same(a, b):
    """As ==, but 1, 1.0 and True are three things, and so are the two zeros."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


@cases(range(4))
def python_loads_whatever_json_we_write(seed):
    r = random.Random(seed)
    values = [any_value(r) for _ in range(200)]
    for value, line in zip(values, drive("write", [json.dumps(v) for v in values]), strict=True):
        check(same(pickle.loads(bytes.fromhex(line)), value), f"{value!r} has become {line}")


@case
def a_number_that_python_would_not_take_is_refused():
    equal(drive("write", ["9" * 4301]), ["error over a limit"])


# --- what is read ------------------------------------------------------------------------


@dataclasses.dataclass
class Order:
    id: int
    lines: list


class Slots:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 1


class Color(enum.Enum):
    RED = "red"


class Strange(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


Point = collections.namedtuple("Point", "x y")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
UTC = datetime.timezone.utc
EAST = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
NAME = __name__

READ = {
    "json": ({"a": [1, 2.5, None, True, "é😀"], "b": {"c": -1}}, {"a": [1, 2.5, None, True, "é😀"], "b": {"c": -1}}),
    "tuple": ((1, (2,), (), (1, 2, 3, 4)), [1, [2], [], [1, 2, 3, 4]]),
    "set": ([{1}, frozenset({2}), set(), frozenset()], [[1], [2], [], []]),
    "bytes": ([b"\0\xffab", bytearray(b"xyz"), b""], ["AP9hYg==", "eHl6", ""]),
    "integers": ([0, 255, 256, 65535, 65536, -1, 2 ** 31, -2 ** 31, 2 ** 63, -10 ** 60],
                 [0, 255, 256, 65535, 65536, -1, 2 ** 31, -2 ** 31, 2 ** 63, -10 ** 60]),
    "floats": ([0.1, 1e22, 5.0, -0.0, float("nan"), float("inf")], [0.1, 1e22, 5.0, -0.0, None, None]),
    "keys": ({1: "a", None: "b", True: "a", 2.5: "c", (1, 2): "d"}, {"1": "a", "null": "b", "2.5": "c", "[1,2]": "d"}),
    "long": ("x" * 70000, "x" * 70000),
    "shared": ((lambda x: [x, x, {"x": x}])(["s"]), [["s"], ["s"], {"x": ["s"]}]),
    "datetime": ([datetime.datetime(2026, 1, 2, 3, 4, 5), datetime.datetime(2026, 1, 2, 3, 4, 5, 600, UTC),
                  datetime.datetime(2026, 1, 2, 3, tzinfo=EAST)],
                 ["2026-01-02T03:04:05", "2026-01-02T03:04:05.000600+00:00", "2026-01-02T03:00:00-05:30"]),
    "date and time": ([datetime.date(1, 1, 1), datetime.time(23, 59, 59), datetime.time(1, fold=1)],
                      ["0001-01-01", "23:59:59", "01:00:00"]),
    "timedelta": ([datetime.timedelta(seconds=90), datetime.timedelta(days=-1, microseconds=1)], [90.0, -86399.999999]),
    "uuid": (uuid.UUID("12345678-1234-5678-1234-567812345678"), "12345678-1234-5678-1234-567812345678"),
    "decimal": ([decimal.Decimal("1.50")], ["1.50"]),
    "path": ([pathlib.PosixPath("/a/b c"), pathlib.PurePosixPath("x/y")], ["/a/b c", "x/y"]),
    "collections": ([collections.OrderedDict(b=1, a=2), collections.defaultdict(list, x=[1]), collections.Counter("aab"),
                     collections.deque([1, 2], 5)],
                    [{"b": 1, "a": 2}, {"x": [1]}, {"a": 2, "b": 1}, [1, 2]]),
    "dataclass": (Order(1, [Order(2, [])]), {"id": 1, "lines": [{"id": 2, "lines": []}]}),
    "class": (Order, f"{NAME}.Order"),
    "exception": (ValueError("boom", 3), {"type": "builtins.ValueError", "args": ["boom", 3]}),
    "own exception": (Strange(7, "odd"), {"type": f"{NAME}.Strange", "args": [7, "odd"], "state": {"code": 7}}),
    "cancelled": (asyncio.CancelledError(), {"type": "asyncio.exceptions.CancelledError", "args": []}),
    "expired": (JobExecutionFailed("job expired"), {"type": "arq.worker.JobExecutionFailed", "args": ["job expired"]}),
}
# From protocol 2, or 4, on.
READ_2 = {
    "slots": (Slots(), {"a": 1}),
    "named tuple": (Point(1, 2), {"type": f"{NAME}.Point", "args": [1, 2]}),
    "enum": (Color.RED, {"type": f"{NAME}.Color", "args": ["red"]}),
}
READ_4 = {
    "zone": (datetime.datetime(2026, 7, 1, tzinfo=BERLIN), "2026-07-01T00:00:00[Europe/Berlin]"),
}


def alike(got, want):
    """As equal, for exceptions of old protocols whose modules had other names."""
    text = json.dumps(got).replace("exceptions.ValueError", "builtins.ValueError")
    text = text.replace("__builtin__.", "builtins.")
    return json.loads(text) == want


@cases(range(6))
def what_python_writes_is_read_in_protocol(protocol):
    known = {**READ, **(READ_2 if protocol >= 2 else {}), **(READ_4 if protocol >= 4 else {})}
    got = read(*(pickle.dumps(v, protocol) for v, _ in known.values()))
    for name, value in zip(known, got, strict=True):
        check(alike(value, known[name][1]), f"{name}: {value!r}")


@case
def a_message_of_langchain_is_its_fields():
    got, = read(pickle.dumps(AIMessage(content="Hello", id="m1")))
    equal((got["content"], got["id"], got["type"]), ("Hello", "m1", "ai"))


@cases(range(6))
def json_of_any_kind_comes_back_from_protocol(protocol):
    r = random.Random(protocol)
    values = [json.loads(json.dumps(any_value(r)).replace("\\ud800", "x")) for _ in range(100)]
    for value, got in zip(values, read(*(pickle.dumps(v, protocol) for v in values)), strict=True):
        check(same(got, value), f"{value!r} has become {got!r}")


# --- what is refused ---------------------------------------------------------------------


class Calls:
    def __init__(self, *what):
        self.what = what

    def __reduce__(self):
        return self.what


def hostile():
    marker = os.path.join(os.getcwd(), "executed")
    yield "system", Calls(os.system, (f"touch {marker}",))
    yield "popen", Calls(subprocess.Popen, (["touch", marker],))
    yield "eval", Calls(eval, (f"open({marker!r}, 'w')",))
    yield "exec", Calls(exec, (f"open({marker!r}, 'w')",))
    yield "open", Calls(open, (marker, "w"))
    yield "getattr", Calls(getattr, ("x", "y"))
    yield "import", Calls(__import__, ("os",))
    yield "inside", [1, {"x": (Calls(os.remove, ("/nothing",)),)}]


@cases(list(hostile()), lambda h: h[0])
def a_pickle_that_would_run_something_is_refused(one):
    for protocol in range(6):
        got, = read(pickle.dumps(one[1], protocol))
        check(isinstance(got, str) and got.startswith("error ") and "refused" in got, got)


@case
def a_bomb_does_not_go_off():
    bomb = ["x"]
    for _ in range(60):
        bomb = [bomb, bomb]
    loop = {}
    loop["self"] = loop
    deep = []
    for _ in range(100000):
        deep = [deep]
    shared = pickle.dumps(bomb, 4)
    # Python itself cannot write one that deep: a list in a list, by its opcodes.
    deep = b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b"."
    for got in read(shared, pickle.dumps(loop, 4), deep):
        check(isinstance(got, str) and got.startswith("error "), got)


@case
def every_cut_and_every_broken_byte_is_survived():
    whole = pickle.dumps({"r": [Order(1, [2.5, "x"]), ValueError("y"), datetime.date(2026, 1, 1)]}, 4)
    r = random.Random(1)
    broken = [whole[:i] for i in range(len(whole))]
    for _ in range(500):
        copy = bytearray(whole)
        copy[r.randrange(len(copy))] = r.randrange(256)
        broken.append(bytes(copy))
    equal(len(read(*broken)), len(broken))
