"""Readers of the transports beside SSE, as strict as gateway.Stream is."""

import json
import re

import gateway
from gateway import Frame
from harness import check

# Longer than a case takes on the busiest machine.
PULL = {**gateway.PULL, "lease": "10m"}

# The exact bytes that the server writes, so that the data can be compared with SSE's.
LINE = re.compile(r'\{(?:"job":"([A-Za-z0-9_-]+)",)?(?:"id":"([1-9][0-9]*(?:\.[1-9][0-9]*)?)",)?'
                  r'"event":"([a-z_]+(?:[./][a-z_]+)*(?:\|[A-Za-z0-9_.:|-]*)?)","data":(.*)\}')


def unwrap(text):
    """The frame in {"id","event","data"}, and its job when it has one."""
    m = LINE.fullmatch(text)
    check(m, f"not an event of ours: {text[:500]!r}")
    json.loads(text)  # raises when it is not JSON
    frame = Frame(*m.groups()[1:])
    frame.job = m[1]
    return frame


class Lines(gateway.Stream):
    """JSON lines over one socket."""

    def __init__(self, server, path, header=None, **more):
        self.keep_alives = 0
        more.setdefault("headers", {"Accept": "application/x-ndjson"})
        super().__init__(server, path, header, **more)

    def _take_body(self, data):
        self._body.append(data)
        *whole, self._block = (self._block + data).split(b"\n")
        for line in whole:
            self._dispatch(line.decode())

    def _dispatch(self, line):
        check("\r" not in line and "\0" not in line, f"CR or NUL in {line[:200]!r}")
        frame = unwrap(line)
        if frame.event == "stream.keep_alive":
            self.keep_alives += 1
        else:
            self.frames.append(frame)


class BareLines(Lines):
    """Payloads without an envelope."""

    def _dispatch(self, line):
        json.loads(line)
        self.frames.append(line)


def events(job, dialect, after=None, **query):
    path = f"/v1/jobs/{job}/events?dialect={dialect}"
    if after is not None:
        path += f"&after={after}"
    return path + "".join(f"&{k}={v}" for k, v in query.items())
