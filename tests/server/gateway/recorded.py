"""Real recordings through the gateway: a process prints the file, and every reader gets what
`spoolwire translate` makes of it.  All cases share one server."""

import atexit
import glob
import os
import re
import threading

from gateway import Server
from harness import DIALECTS, RECORDINGS, cases, check, equal, spoolwire

FILES = sorted(f for f in glob.glob(os.path.join(RECORDINGS, "*.ndjson")) + glob.glob(os.path.join(RECORDINGS, "*.sse"))
               if os.path.getsize(f) < 200_000 and "-state-" not in f)  # a state has no events
ALL_MODES = "values,updates,messages,custom,events,tasks,checkpoints,debug"
# One agent for all: the path is the job's input.  (In the file, $${ is a ${ of the shell's.)
PLAY = 'read -r job; path=$${job#*\'"input":"\'}; exec cat "$${path%%\\"*}"'
LINE = re.compile(r'\{"job":"([^"]*)","id":"([^"]*)","event":"([^"]*)","data":(.*)\}')
TIMES = re.compile(r'("(?:ts|timestamp|elapsed|elapsed_ms|duration_ms|started_at|ended_at)":)("[^"]*"|-?\d+)')


def plain(id, event, data):
    """Without what depends on the clock."""
    return id, event, TIMES.sub(r"\1T", data)


def translated(dialect, *args):
    """What translate says of each file, by the id it gives the job."""
    done = spoolwire("translate", "--clock", "fixed", "--agent", "play", "--framing", "ndjson", "--to", dialect, *args, *FILES)
    check(done.code in (0, 1), repr(done))
    jobs = {}
    for line in done.out.decode().split("\n")[:-1]:
        job, id, event, data = LINE.fullmatch(line).groups()
        jobs.setdefault(job, []).append(plain(id, event, data))
    return jobs


_lock = threading.Lock()
_shared = {}


def recorded():
    """A server with every file played once, and the jobs' ids (those that translate gives)."""
    with _lock:
        if "error" in _shared:
            raise AssertionError(_shared["error"])
        if not _shared:
            try:
                _play_all()
            except BaseException as e:
                _shared["error"] = f"the recordings could not be played: {e}"
                raise
        return _shared["server"], _shared["ids"]


def _play_all():
    ids = list(translated("raw"))
    equal(len(ids), len(FILES), "every file has events")
    s = Server("--durability", "relaxed", agents={"play": {"command": ["sh", "-c", PLAY]}})
    atexit.register(lambda: s.__exit__(None, None, None))
    for id, path in zip(ids, FILES):
        s.submit("play", path, job_id=id)
    for id in ids:
        s.until_state(id, "succeeded", "failed", "waiting", "cancelled")
    _shared.update(server=s, ids=dict(zip(ids, FILES)))


@cases([(d, ()) for d in DIALECTS] + [("messages", ("--modes", ALL_MODES, "--subgraphs"))],
       lambda v: v[0] + (" with all modes" if v[1] else ""))
def recordings_as_translate_has_them(way):
    dialect, args = way
    s, ids = recorded()
    want = translated(dialect, *args)
    check(len(want) > 30, list(want))
    for id, path in ids.items():
        waits = s.state(id) == "waiting"
        with s.stream(id, dialect, **({"modes": ALL_MODES, "subgraphs": "1"} if args else {})) as st:
            if not waits:
                st.rest()
            elif id in want:
                st.until_id(want[id][-1][0])
            equal(st.ended, None if waits else "clean")
            got = [plain(f.id, f.event, f.data) for f in st.stored]
        name = os.path.basename(path)
        for a, b in zip(got, want.get(id, [])):
            equal(a, b, name)
        equal(len(got), len(want.get(id, [])), f"{name}: frames; the last: {got[-1:]}")
