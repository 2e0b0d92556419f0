"""What the test scripts that drive the program share: running it, reading its frames,
counting cases.

A suite registers functions with @case (or @cases for one case per value) and ends with
main().  A case fails by raising; the message is printed below its FAIL line.
"""

import json
import os
import re
import signal
import subprocess
import sys
import traceback

# A shell makes background processes ignore SIGINT, and our children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORDINGS = os.path.join(TESTS, "recordings")
TIMEOUT = 180  # seconds, of any one run of the program
FRAMINGS = ["sse", "ndjson"]


def _build_dir():
    args = [a for a in sys.argv[1:] if not a.startswith("-")]
    if not args:
        sys.exit(f"usage: {sys.argv[0]} BUILD_DIR")
    return os.path.abspath(args[0])


PROGRAM = os.path.join(_build_dir(), "spoolwire")


def _registry():
    """The dialects that the program lists; empty if there is no program, which main() reports."""
    if not os.access(PROGRAM, os.X_OK):
        return {}
    rows = subprocess.run([PROGRAM, "dialects", "--json"], stdout=subprocess.PIPE, timeout=TIMEOUT, check=True).stdout
    return {row["dialect"]: row for row in map(json.loads, rows.splitlines())}


REGISTRY = _registry()
DIALECTS = list(REGISTRY)
NAMING = [d for d in DIALECTS if REGISTRY[d]["names_itself"]]  # whose data carries its event's name
BEATING = [d for d in DIALECTS if "job.heartbeat" in REGISTRY[d]["connection"]]


def recording(name):
    return os.path.join(RECORDINGS, name)


class Done:
    """The result of one run of the program."""

    def __init__(self, args, returncode, stdout, stderr):
        self.args = args
        self.code = returncode
        self.out = stdout
        self.err = stderr.decode(errors="replace")

    def __repr__(self):
        return f"spoolwire {' '.join(self.args)}: exit {self.code}, stderr {self.err[:500]!r}"


def spoolwire(*args, stdin=b"", timeout=TIMEOUT, cwd=None, program=PROGRAM):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    done = subprocess.run([program, *args], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, cwd=cwd)
    if done.returncode < 0:
        raise AssertionError(f"spoolwire {' '.join(args)} died of "
                             f"{signal.Signals(-done.returncode).name}: {done.stderr[-2000:]!r}")
    # Search the output: a sanitizer's exit status could be the one that is expected.
    if re.search(rb"Sanitizer|runtime error:", done.stderr):
        raise AssertionError(f"spoolwire {' '.join(args)}: {done.stderr[:3000].decode(errors='replace')}")
    return Done(args, done.returncode, done.stdout, done.stderr)


def translate(*args, stdin=b"", want=0, **more):
    """Runs translate with a fixed clock; its exit status must be @want."""
    done = spoolwire("translate", "--clock", "fixed", *args, stdin=stdin, **more)
    equal(done.code, want, repr(done))
    return done


def frames(*args, **more):
    """The payloads of an ndjson run."""
    return parse_ndjson(translate("--framing", "ndjson", *args, **more).out)


def lines(*values):
    """JSON lines, as a worker prints them."""
    return "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values).encode()


# --- reading frames, strictly ----------------------------------------------------------


def parse_ndjson(data):
    if data and not data.endswith(b"\n"):
        raise AssertionError(f"the output does not end with a line end: {data[-100:]!r}")
    return [strict_json(line.decode()) for line in data.split(b"\n")[:-1]]


def _no_constant(word):
    raise AssertionError(f"{word} is not JSON")


def strict_json(text):
    """As json.loads, but NaN, double keys and lone surrogates are errors."""
    def pairs(items):
        keys = [k for k, _ in items]
        if len(set(keys)) != len(keys):
            raise AssertionError(f"double key in {text[:200]!r}")
        return dict(items)

    value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=pairs)
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise AssertionError(f"a lone surrogate in {text[:200]!r}")
    return value


class Frame:
    def __init__(self, id, event, data):
        self.id, self.event, self.data = id, event, data

    def __repr__(self):
        return f"Frame({self.id!r}, {self.event!r}, {self.data[:100]!r})"

    @property
    def json(self):
        return strict_json(self.data)


ID = re.compile(r"[1-9][0-9]*(\.[1-9][0-9]*)?")
NAME = re.compile(r"[a-z_]+([./][a-z_]+)*(\|[^\x00-\x1f\x7f]*)?")


def parse_sse(data):
    """Exactly what we promise to write, which is far less than what SSE allows: id, event
    and data once each, in this order, each frame ended by one blank line.  As the standard
    says, CR, LF and CRLF end a line; a CR anywhere is therefore an error here."""
    text = data.decode()  # raises when it is not UTF-8
    if "\r" in text or "\0" in text:
        raise AssertionError("CR or NUL in the output")
    if text and not text.endswith("\n\n"):
        raise AssertionError(f"the output does not end with a blank line: {text[-100:]!r}")
    result = []
    for block in text.split("\n\n")[:-1]:
        rows = block.split("\n")
        fields = [row.partition(": ") for row in rows]
        if [f[0] for f in fields] not in (["id", "event", "data"], ["event", "data"]):
            raise AssertionError(f"not a frame of ours: {block[:300]!r}")
        values = {name: value for name, _, value in fields}
        if "id" in values and not ID.fullmatch(values["id"]):
            raise AssertionError(f"not an id of ours: {values['id']!r}")
        if not NAME.fullmatch(values["event"]):
            raise AssertionError(f"not an event name of ours: {values['event']!r}")
        frame = Frame(values.get("id"), values["event"], values["data"])
        frame.json  # raises when it is not JSON
        result.append(frame)
    return result


# --- cases ------------------------------------------------------------------------------

ON_POSTGRES = os.environ.get("TEST_STORE") == "postgres"

_cases = []
_left_out = []  # on PostgreSQL: the name of each case about SQLite, and why


def sqlite_only(why):
    """Marks a case (below @case or @cases) that is about SQLite's files or knows how SQLite stores something.  With
    TEST_STORE=postgres it is not run, but listed and counted."""
    def mark(f):
        f.sqlite_only = why
        return f
    return mark


def _register(name, f, call):
    if ON_POSTGRES and hasattr(f, "sqlite_only"):
        _left_out.append((name, f.sqlite_only))
    else:
        _cases.append((name, call))


def case(f):
    _register(f.__name__, f, f)
    return f


def cases(values, name=str):
    """One case per value: its name is the function's and the value's."""
    def register(f):
        for v in values:
            _register(f"{f.__name__} {name(v)}", f, lambda v=v: f(v))
        return f
    return register


def report(passed, failed):
    """Prints what was left out, and the last line, which scripts/check reads; ends the program."""
    left_out = chosen(_left_out)
    for name, why in left_out:
        print(f"--   {name}: SQLite only: {why}")
    if left_out:
        print(f"{len(left_out)} about SQLite only")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


def _short(value, limit=800):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[:limit] + f"… ({len(text)})"


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}\n      got  {_short(got)}\n      want {_short(want)}")


def check(condition, what=""):
    if not condition:
        raise AssertionError(_short(what))


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{_short(part)!r} is not in {_short(text)!r}")


def chosen(all_cases=_cases):
    """The cases whose name contains one of the words given with --only=WORD, or is a name given
    with --exactly=NAME."""
    def given(option):
        return [a[len(option):] for a in sys.argv[1:] if a.startswith(option)]

    words, names = given("--only="), given("--exactly=")
    return [(name, f) for name, f in all_cases
            if not (words or names) or name in names or any(word in name for word in words)]


def main():
    """Runs the chosen cases."""
    failed = passed = 0
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"{PROGRAM} does not exist: scripts/build makes it")
    for name, f in chosen():
        try:
            f()
            passed += 1
            print(f"ok   {name}", flush=True)
        except Exception as e:  # also a timeout, a decode error, a KeyError in a frame
            failed += 1
            why = str(e) if isinstance(e, AssertionError) else traceback.format_exc(limit=-3)
            print(f"FAIL {name}", flush=True)
            for line in why.splitlines():
                print("     " + line, flush=True)
    report(passed, failed)
