"""curl, Node's fetch and Python's urllib read the same bytes as our own strict reader."""

import os
import subprocess
import sys

import gateway
from harness import DIALECTS, case, cases, check, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
FETCH = """
const answer = await fetch(process.argv[1], {headers: {Accept: "text/event-stream"}});
if (answer.status !== 200) throw new Error(answer.status);
for await (const part of answer.body) process.stdout.write(part);
"""
URLLIB = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as answer:
    while part := answer.read1(65536):
        sys.stdout.buffer.write(part)
"""


def node():
    return subprocess.run([os.path.join(ROOT, "scripts", "node")], stdout=subprocess.PIPE, check=True).stdout.decode().strip()


COMMANDS = {
    "curl": lambda url: ["curl", "-sSN", "--fail", "--compressed", url],
    "fetch": lambda url: [node(), "--input-type=module", "-e", FETCH, url],
    "urllib": lambda url: [sys.executable, "-c", URLLIB, url],
}


def read(command, url):
    done = subprocess.run(command(url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    equal(done.returncode, 0, done.stderr.decode())
    return done.stdout


def stored(body):
    """The frames with ids, as bytes: what is the same for every reader."""
    check(body.endswith(b"\n\n"), f"it ends with {body[-50:]!r}")
    return [b for b in body.split(b"\n\n") if b.startswith(b"id: ")]


@case
def clients_read_the_same_bytes_of_a_finished_job():
    with gateway.Server() as server:
        job = server.submit("demo", {"issue": "Zürich 🚀", "speed": 0})
        server.until_state(job, "succeeded")
        for dialect in DIALECTS:
            url = f"/v1/jobs/{job}/events?dialect={dialect}"
            with gateway.Stream(server, url) as st:
                want = st.rest().body
            check(len(stored(want)) > 20)
            for name, command in COMMANDS.items():
                got = read(command, server.url + url)
                # aiq tells the time in what a connection says for itself.
                equal(*((stored(got), stored(want)) if dialect == "aiq" else (got, want)), f"{name} reads {dialect}")


@cases(COMMANDS)
def follows_a_running_job(name):
    with gateway.Server() as server:
        job = server.submit("demo", {"issue": "x", "speed": 8})
        got = gateway.at_once(*(lambda d=d: stored(read(COMMANDS[name], f"{server.url}/v1/jobs/{job}/events?dialect={d}"))
                                for d in ("agent", "aiq")))
        for frames, dialect in zip(got, ("agent", "aiq")):
            with server.stream(job, dialect) as st:
                equal(frames, stored(st.rest().body), dialect)
