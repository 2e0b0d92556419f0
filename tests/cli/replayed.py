"""record and replay: the same frames again, at a pace, with faults."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from gateway import PROGRAM, PULL, WAIT, Server, Stream, play, until, with_ids
from harness import DIALECTS, case, cases, check, contains, equal


def record(s, job, path):
    with open(path, "wb") as f:
        p = subprocess.run([PROGRAM, "record", job, "--url", s.url], stdout=f, stderr=subprocess.PIPE, timeout=60)
    equal(p.returncode, 0, p.stderr)


class Replay:
    """`spoolwire replay`, with what Stream and others want to know of a server."""

    def __init__(self, path, *flags):
        self.p = subprocess.Popen([PROGRAM, "replay", path, "--listen", "127.0.0.1:0", *flags], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.line = self.p.stdout.readline().decode()
        self.about = json.loads(self.line) if "--json" in flags else {"url": self.line.split()[0]}
        self.url = self.about["url"]
        check(self.url.startswith("http://"), (self.line, self.p.poll()))
        self.port = int(self.url.rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.send_signal(signal.SIGTERM)
        equal(self.p.wait(WAIT), 0)
        self.p.stdout.close()
        self.p.stderr.close()

    connect = Server.connect

    def stream(self, job, dialect, after=None):
        return Stream(self, f"/v1/jobs/{job}/events?dialect={dialect}" + (f"&after={after}" if after else ""))

    def tail(self, job, *flags):
        start = time.monotonic()
        p = subprocess.run([PROGRAM, "tail", job, "--url", self.url, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=60)
        equal(p.returncode, 0, p.stderr)
        return p.stdout.decode(), p.stderr.decode(), time.monotonic() - start


@contextlib.contextmanager
def recorded(input=None):
    """A recording of a demo run, its frames in every dialect, and its job."""
    with tempfile.TemporaryDirectory(prefix="spoolwire-record-") as folder, Server() as s:
        s.submit("demo", job_id="j", input=input or {"speed": 0})
        until("it ends", lambda: s.state("j") == "succeeded")
        path = os.path.join(folder, "run.ndjson")
        record(s, "j", path)
        yield path, {d: [(f.id, f.event, f.data) for f in with_ids(s.read("j", d))] for d in DIALECTS}, s.job("j")


@case
def the_same_frames_again():
    with recorded() as (path, want, job):
        with open(path) as f:
            rows = [json.loads(row) for row in f]
        equal([row["seq"] for row in rows], list(range(1, job["events"] + 1)))
        with Replay(path, "--speed", "0") as r:
            contains(r.line, f"the job j ({job['events']} records)")
            for dialect in DIALECTS:
                with r.stream("j", dialect) as stream:
                    stream.rest()
                    equal([(f.id, f.event, f.data) for f in stream.frames if f.id], want[dialect], dialect)
                    equal(stream.ended, "clean")
            some = want["agent"][len(want["agent"]) // 2][0]
            with r.stream("j", "agent", after=some) as stream:
                stream.rest()
                equal([f.id for f in stream.frames], [id for id, _, _ in want["agent"][len(want["agent"]) // 2 + 1:]])
            p = subprocess.run([PROGRAM, "verify", "--url", r.url], stdout=subprocess.PIPE, timeout=60)
            equal(p.returncode, 0, p.stdout)


@case
def a_recording_of_a_live_job():
    with Server() as s, tempfile.TemporaryDirectory() as folder:
        s.submit("demo", job_id="live", input={"speed": 20})
        path = os.path.join(folder, "run")
        record(s, "live", path)
        equal(s.state("live"), "succeeded")
        with open(path) as f:
            equal(len(f.readlines()), s.job("live")["events"])


def stretched(path, seconds):
    """The same recording, as if its run had taken so long."""
    with open(path) as f:
        rows = f.read().splitlines()
    begin = json.loads(rows[0])["ts"]
    with open(path, "w") as f:
        for i, row in enumerate(rows):
            ts = begin + seconds * 1000 * i // (len(rows) - 1)
            f.write(re.sub(r'"ts":\d+', f'"ts":{ts}', row, count=1) + "\n")


@case
def at_its_pace():
    with recorded() as (path, want, _):
        length = 8
        stretched(path, length)
        with Replay(path) as r:
            out, _, took = r.tail("j")
            equal(len(out.splitlines()), len(want["agent"]))
            check(took > length * 0.9, took)
            again, _, took = r.tail("j")
            check(took < length * 0.9, "who comes later gets what is over at once")
            equal(again, out)
        with Replay(path, "--speed", "100") as r:
            _, _, took = r.tail("j")
            check(took < length * 0.8, took)


def until_cut(r):
    """Every byte of the stream, also of a chunk that is not whole, and whether it was reset."""
    data = b""
    with r.connect() as sock:
        sock.sendall(b"GET /v1/jobs/j/events?dialect=agent HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            while more := sock.recv(65536):
                data += more
        except ConnectionResetError:
            return data.decode(), True
    return data.decode(), False


@case
def cut_where_asked():
    with recorded() as (path, want, _):
        ids = [id for id, _, _ in want["agent"]]
        first, second = ids[10], ids[50]
        with Replay(path, "--speed", "0", "--drop-at", f"{first},{second}") as r:
            data, reset = until_cut(r)
            check(reset, "a cut is no end")
            equal(re.findall(r"^id: (\S+)$", data, re.M), ids[:11])
            check(data.endswith("data: " + want["agent"][10][2] + "\n\n"), data[-300:])
            out, err, _ = r.tail("j")
            contains(err, "trying again", "connected again")
            equal(out.splitlines(), [data for _, _, data in want["agent"]], "nothing lost, nothing twice")
            _, err, _ = r.tail("j")
            equal(err, "", "each cut happens once")


@case
def stalled_where_asked():
    with recorded() as (path, want, _):
        id = want["agent"][20][0]
        with Replay(path, "--speed", "0", "--stall", f"{id}:5s") as r:
            out, _, took = r.tail("j")
            equal(out.splitlines(), [data for _, _, data in want["agent"]])
            check(took >= 5, took)
            _, _, took = r.tail("j")
            check(took < 5, took)


@case
def under_another_name():
    with recorded() as (path, want, _):
        with Replay(path, "--speed", "0", "--job", "other") as r:
            out, _, _ = r.tail("other")
            equal(len(out.splitlines()), len(want["agent"]))
        contains(refused(open(path).read().splitlines(), "--job", "a b"), "the job's id must be")


def curl(url, *flags, want=0):
    p = subprocess.run(["curl", "-sS", "-N", *flags, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    equal(p.returncode, want, p.stderr)
    return p.stdout.decode()


@case
def with_curl():
    with recorded() as (path, want, _):
        ids = [id for id, _, _ in want["agent"]]
        with Replay(path, "--speed", "0", "--drop-at", f"{ids[7]},{ids[30]}") as r:
            url = f"{r.url}/v1/jobs/j/events?dialect=agent"
            first = re.findall(r"^id: (\S+)$", curl(url, want=56), re.M)
            equal(first, ids[:8])
            second = re.findall(r"^id: (\S+)$", curl(url, "-H", f"Last-Event-ID: {first[-1]}", want=56), re.M)
            equal(second, ids[8:31])
            rest = re.findall(r"^id: (\S+)$", curl(url, "-H", f"Last-Event-ID: {second[-1]}"), re.M)
            equal(first + second + rest, ids)
            equal(json.loads(curl(f"{r.url}/v1/jobs/j"))["state"], "succeeded")


@case
def as_json_lines():
    with recorded() as (path, want, _):
        ids = [id for id, _, _ in want["agent"]]
        with Replay(path, "--speed", "0", "--drop-at", ids[9], "--stall", f"{ids[20]}:1500ms") as r:
            url = f"{r.url}/v1/jobs/j/events?dialect=agent&envelope=1"
            rows = [json.loads(row) for row in curl(url, "-H", "Accept: application/x-ndjson", want=56).splitlines()]
            equal([row["id"] for row in rows if row.get("id")], ids[:10])
            began = time.monotonic()
            rows = [json.loads(row) for row in curl(url, "-H", "Accept: application/x-ndjson").splitlines()]
            equal([row["id"] for row in rows if row.get("id")], ids)
            check(time.monotonic() - began >= 1.5, "it was not held up")


@case
def whoever_submits_gets_it():
    with recorded() as (path, want, job):
        with Replay(path, "--speed", "0", "--json", "--drop-at", "9999") as r:
            equal(r.about, {"url": r.url, "job_id": "j", "records": job["events"]})
            page = ("-H", "Origin: http://localhost:3000", "-H", "Content-Type: application/json")
            head, _, body = curl(f"{r.url}/v1/jobs", "-i", *page, "-d", '{"agent":"triage","input":"x"}').partition("\r\n\r\n")
            contains(head, "200 OK", "ccess-Control-Allow-Origin: ")
            equal(json.loads(body)["job_id"], "j")
            body = json.loads(curl(f"{r.url}/v1/jobs/async/submit", *page, "-d", '{"agent_type":"triage","input":"x"}'))
            equal((body["job_id"], body["status"]), ("j", "SUCCESS"))
            # A body in pieces, several requests on one connection, and a large one.
            body = json.dumps({"agent": "any", "input": "y" * 300000}).encode()
            with r.connect() as sock:
                for _ in range(3):
                    sock.sendall(b"POST /v1/jobs?wait=5 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body))
                    sock.sendall(b"Content-Type: application/json\r\n\r\n" + body[:1000])
                    sock.sendall(body[1000:])
                    sock.sendall(b"GET /v1/jobs/j HTTP/1.1\r\nHost: x\r\n\r\n")
                    data = b""
                    while data.count(b'"job_id":"j"') < 2:
                        more = sock.recv(65536)
                        check(more, data)
                        data += more
                    equal(data.count(b"HTTP/1.1 200 OK"), 2)
            p = subprocess.run([PROGRAM, "submit", "demo", "--follow", "--url", r.url], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=60)
            equal((p.returncode, p.stdout.decode().splitlines()), (0, [data for _, _, data in want["agent"]]), p.stderr)


@case
def nothing_is_left_behind():
    with recorded() as (path, _, _):
        with Replay(path) as r:
            with open(f"/proc/{r.p.pid}/task/{r.p.pid}/children") as f:
                child, = f.read().split()
            with open(f"/proc/{child}/cmdline") as f:
                folder, = set(re.findall(r"/tmp/spoolwire-replay-\w+", f.read()))
            check(os.path.isdir(folder), folder)
        until("the server is gone", lambda: not os.path.exists(f"/proc/{child}"))
        check(not os.path.exists(folder), folder)


def refused(lines, *flags, want=3):
    with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as f:
        f.write("".join(line + "\n" for line in lines))
        f.flush()
        p = subprocess.run([PROGRAM, "replay", f.name, "--listen", "127.0.0.1:0", *flags], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=60)
        equal((p.returncode, p.stdout), (want, b""), p.stderr)
        return p.stderr.decode().replace(f.name, "FILE")


@case
def what_is_no_recording():
    with recorded() as (path, _, _):
        with open(path) as f:
            lines = f.read().splitlines()
    contains(refused(["not JSON"]), "FILE:1: ")
    contains(refused([]), "FILE:0: the recording has no end")
    contains(refused(lines[:-1]), "the recording has no end (job.end)")
    contains(refused(lines[:4] + lines[5:]), "FILE:5: record 6 follows record 4")
    contains(refused(lines[1:]), "FILE:1: record 2 follows record 0")
    contains(refused([*lines[:-1], lines[-1].replace("succeeded", "running")]), "no state in which a job ends")
    contains(refused(lines + [lines[-1].replace(f'"seq":{len(lines)}', f'"seq":{len(lines) + 1}')]), "after the job's end")
    p = subprocess.run([PROGRAM, "replay", "/no/such/file"], stderr=subprocess.PIPE, timeout=60)
    equal(p.returncode, 3)


@cases([["--speed", "x"], ["--speed", "-1"], ["--drop-at", "x"], ["--stall", "57"], ["--stall", "57:soon"], ["--listen", "8400"],
        ["--listen", "0.0.0.0:0"]], name=" ".join)
def usage(flags):
    refused([], *flags, want=2)


@case
def a_job_that_is_not_there():
    with Server(agents={"pull": PULL}) as s:
        play(s, job_id="j")
        p = subprocess.run([PROGRAM, "record", "nope", "--url", s.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        equal((p.returncode, p.stdout), (3, b""))
        contains(p.stderr.decode(), "Job not found: nope")
