"""Readers that take nothing: each is cut after `write_timeout`, whatever it reads over."""

import json
import time

import gateway
from gateway import OPENING, Server, Worker, request_bytes, token
from harness import cases, check, contains, equal
from wires import PULL

TIMEOUT = 6  # seconds

UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
LINES = {"Accept": "application/x-ndjson"}
WIRES = {"sse": {}, "lines": LINES, "socket": UPGRADE}


def stick(server, path, headers):
    """Sends a request and does not read the answer."""
    sock = server.connect(4096)
    sock.sendall(request_bytes(server, "GET", path, None, headers))
    return sock


def ends(server):
    """The log's lines of streams, by the ids of their requests."""
    rows = [json.loads(row) for row in server.err().splitlines() if '"event":"stream"' in row]
    return {row["request_id"]: row for row in rows}


@cases(["behind", "live"])
def is_cut_after_once_the_time(how):
    """One has a past of 16 MB to read, the other gets some bytes ten times a second."""
    with Server("--write-timeout", f"{TIMEOUT}s", "--durability", "relaxed", agents={"pull": PULL}) as s:
        job = s.submit()
        lease = Worker(s).lease()
        lease.send(*OPENING, *[token("x" * 2000)] * (8000 if how == "behind" else 1))
        paths = {"one": f"/v1/jobs/{job}/events?dialect=raw", "many": f"/v1/stream?jobs={job}&dialect=raw"}
        wanted = {f"{wire}-{path}" for wire in WIRES for path in paths}
        socks = [stick(s, paths[path], {**WIRES[wire], "X-Request-Id": f"{wire}-{path}"}) for wire in WIRES for path in paths]
        end = time.monotonic() + gateway.WAIT
        while set(ends(s)) != wanted:
            check(time.monotonic() < end, f"not cut: {wanted - set(ends(s))}")
            if how == "live":
                lease.send(*[token("x" * 200)] * 5)
            time.sleep(0.1)
        for sock in socks:
            sock.close()
        for id, row in ends(s).items():
            contains(row["why"], f"the peer has taken nothing for {TIMEOUT * 1000} ms")
            check(TIMEOUT * 1000 <= row["ms"] < 1.8 * TIMEOUT * 1000, f"{id} was cut after {row['ms']} ms")
        equal(s.state(job), "running")
