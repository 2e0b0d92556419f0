"""Streams that break, stall and resume, with a fake of the API."""

import json
import os
import subprocess
import tempfile
import threading

from demo_agent import finish, start
from fake import CUT, Server
from harness import PROGRAM, case, cases, check, contains, equal, spoolwire

DONE = {"job_id": "j1", "agent": "demo"}


def frame(n, data=None, event="agent.token"):
    return f"id: {n}\nevent: {event}\ndata: {json.dumps(data or {'n': n})}\n\n"


class Api:
    """One job with frames 1..n; @connections says what each connection does."""

    def __init__(self, *connections, state="succeeded"):
        self.connections, self.state = list(connections), state

    def __call__(self, request):
        if request.path.endswith("/events"):
            return self.connections.pop(0) if self.connections else (500, {"detail": "too many"})
        return 200, {**DONE, "state": self.state}


def tail(server, *args, want=0, command="tail", timeout=30):
    done = spoolwire(command, "--url", server.url, *args, timeout=timeout)
    equal(done.code, want, repr(done))
    return done


def numbers(done):
    return [json.loads(line)["n"] for line in done.out.decode().splitlines()]


# --- tail ---------------------------------------------------------------------------------------------


@case
def frames_until_the_clean_end():
    with Server(Api([frame(1), frame(2) + frame(3)])) as s:
        equal(numbers(tail(s, "j1")), [1, 2, 3])
        equal(s.requests[0].raw_path, "/v1/jobs/j1/events?dialect=agent")
        equal(s.requests[0].headers["Accept"], "text/event-stream")
        equal(s.requests[0].headers["Last-Event-ID"], None)


@case
def a_cut_connection_goes_on_where_it_was():
    """Half a frame is forgotten, whole ones never come twice."""
    with Server(Api([frame(1), "id: 2\nevent: x\nda", CUT], [frame(2), frame("3.1", {"n": 31}), CUT],
                    CUT, (503, {"detail": "later"}), [frame(3), ": comment\n\n"])) as s:
        done = tail(s, "--after", "0", "j1")
        equal(numbers(done), [1, 2, 31, 3])
        asked = [(r.raw_path, r.headers["Last-Event-ID"]) for r in s.requests]
    plain = "/v1/jobs/j1/events?dialect=agent"
    equal(asked[:2], [(plain + "&after=0", None), (plain, "1")])
    equal([a for a in asked[2:5]], [(plain, "3.1")] * 3)
    contains(done.err, "trying again", "connected again")


@case
def frames_without_id_do_not_move_the_cursor():
    live = 'event: stream.mode\ndata: {"n":0}\n\n'
    with Server(Api([live, frame(1), live, CUT], [live, frame(2)])) as s:
        equal(numbers(tail(s, "j1")), [0, 1, 0, 0, 2])
        equal(s.requests[1].headers["Last-Event-ID"], "1")


@case
def nothing_left_is_the_end():
    with Server(Api([frame(1), CUT], (204, None))) as s:
        equal(numbers(tail(s, "j1")), [1])


@case
def the_cursor_of_the_first_connection_is_the_users():
    with Server(Api([": hello\n\n", CUT], [frame(58)])) as s:
        equal(numbers(tail(s, "--after", "57", "--dialect", "aiq", "j1")), [58])
        equal([r.raw_path for r in s.requests[:2]],
              ["/v1/jobs/j1/events?dialect=aiq&after=57"] * 2)


@case
def whole_frames_with_raw():
    stream = frame(1) + 'event: stream.mode\ndata: {"mode":"live"}\n\n' + frame("2.1")
    with Server(Api([stream])) as s:
        equal(tail(s, "--raw", "j1").out.decode(), stream)


@case
def lines_end_as_the_standard_allows():
    pieces = ["id: 1\r", '\ndata: {"n":1}\r\n\r\n', 'id:2\rdata:{"n":\rdata:2}\r\r',
              ': x\ndata: {"n":3}\n', "\n", "retry: 10\nid: 4\n\n"]
    with Server(Api(pieces + [CUT], [frame(5)])) as s:
        done = tail(s, "j1")
        equal(done.out.decode(), '{"n":1}\n{"n":\n2}\n{"n":3}\n{"n": 5}\n')
        equal(s.requests[1].headers["Last-Event-ID"], "4")


@case
def a_large_frame_in_small_pieces():
    text = frame(1, {"n": 1, "text": "x" * 300000})
    with Server(Api([text[i:i + 977] for i in range(0, len(text), 977)])) as s:
        equal(len(tail(s, "j1").out), len(text) - len("id: 1\nevent: agent.token\ndata: \n"))


@cases(["failed", "cancelled"])
def the_exit_status_tells_of_a_bad_end(state):
    with Server(Api([frame(1)], state=state)) as s:
        tail(s, "j1", want=1)


@case
def an_unknown_job():
    with Server(lambda r: (404, {"detail": "Job not found: j 1/x"})) as s:
        done = tail(s, "j 1/x", want=3)
        equal(s.requests[0].path, "/v1/jobs/j%201%2Fx/events")
        equal((done.err, done.out), ("spoolwire tail: Job not found: j 1/x\n", b""))


@case
def something_else_listens_there():
    with Server(lambda r: (200, {"hello": "world"})) as s:
        contains(tail(s, "j1", want=3).err, "is that a spoolwire server?")


@cases(["tail", "show", "cancel", "submit"])
def nobody_listens_there(command):
    done = spoolwire(command, "--url", "http://127.0.0.1:1/", "x")
    equal((done.code, done.out), (4, b""))
    contains(done.err, "cannot reach the server at http://127.0.0.1:1: is `spoolwire serve` running?")


@case
def frames_come_out_at_once():
    seen = threading.Event()

    def slowly():
        yield frame(1)
        seen.wait(60)
        yield frame(2)

    with Server(Api(slowly())) as s:
        process = start("tail", "--url", s.url, "j1")
        equal(json.loads(process.stdout.readline()), {"n": 1})
        equal(process.poll(), None)
        process.kill()
        finish(process)
        seen.set()


@case
def output_that_cannot_be_written():
    with Server(Api([frame(1)])) as s, open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "tail", "--url", s.url, "j1"], stdout=full,
                              stderr=subprocess.PIPE, timeout=30)
        equal(done.returncode, 3)
        contains(done.stderr.decode(), "the output cannot be written")


# --- submit -------------------------------------------------------------------------------------------


class Submit(Api):
    def __call__(self, request):
        if request.path == "/v1/jobs":
            return 202, {"job_id": request.json.get("job_id", "j1"), "state": "queued"}
        return super().__call__(request)


def submitted(*args, stdin=b""):
    """What the program sends, and prints."""
    with Server(Submit()) as s:
        done = spoolwire("submit", "--url", s.url, *args, stdin=stdin)
        equal(done.code, 0, repr(done))
        [request] = s.requests
        equal(request.headers["Content-Type"], "application/json")
        return request.json, done.out.decode()


@case
def a_job_is_given_and_its_id_printed():
    equal(submitted("demo", "--input", "API is slow"),
          ({"agent": "demo", "input": "API is slow"}, "j1\n"))
    equal(submitted("demo"), ({"agent": "demo", "input": {}}, "j1\n"))
    equal(submitted("demo", "--job-id", "mine"),
          ({"agent": "demo", "input": {}, "job_id": "mine"}, "mine\n"))


@case
def input_of_every_kind():
    def sent(*args, **more):
        return submitted("demo", *args, **more)[0]["input"]

    equal(sent("--input", '{"seed": 7, "speed": 0.50}'), {"seed": 7, "speed": 0.5})
    equal(sent("--input", "[1,2]"), "[1,2]")
    equal(sent("--input", '{"broken"'), '{"broken"')
    equal(sent("--input", "-", stdin="two\nlines \u2713\n".encode()), "two\nlines \u2713")
    with tempfile.NamedTemporaryFile() as f:
        f.write(b'{"issue":"from a file"}\n')
        f.flush()
        equal(sent("--input", "@" + f.name), {"issue": "from a file"})


@case
def a_missing_input_file():
    done = spoolwire("submit", "demo", "--input", "@/nonexistent/file")
    equal(done.code, 3)
    contains(done.err, "/nonexistent/file: No such file")


@case
def following_writes_frames_and_tells_the_end():
    with Server(Submit([frame(1), CUT], [frame(2)], state="failed")) as s:
        done = tail(s, "demo", "--follow", "--dialect", "nodes", command="submit", want=1)
        equal(numbers(done), [1, 2])
        contains(done.err, "job j1\n")
        equal(s.requests[1].raw_path, "/v1/jobs/j1/events?dialect=nodes")


@cases([(400, {"detail": "Unknown agent type: 'x'"}, "Unknown agent type: 'x'"),
        (422, {"detail": [{"msg": "Field required"}]}, "Field required"),
        (409, {"title": "Conflict", "detail": "taken", "status": 409}, "taken"),
        (500, None, "status 500")], name=lambda v: str(v[0]))
def a_refusal_is_told(what):
    status, value, text = what
    with Server(lambda r: (status, value)) as s:
        done = tail(s, "x", command="submit", want=3)
        contains(done.err, text)


@case
def the_environment_names_server_and_token():
    with Server(Submit()) as s:
        os.environ.update(SPOOLWIRE_URL=s.url + "/", SPOOLWIRE_TOKEN="s3cret",
                          http_proxy="http://127.0.0.1:1")
        try:
            equal(spoolwire("submit", "demo").code, 0)
        finally:
            for name in ("SPOOLWIRE_URL", "SPOOLWIRE_TOKEN", "http_proxy"):
                del os.environ[name]
        equal(s.requests[0].headers["Authorization"], "Bearer s3cret")
        equal(s.requests[0].raw_path, "/v1/jobs")


# --- show and cancel -----------------------------------------------------------------------------------


@case
def show_writes_a_line_for_each_thing():
    job = {"job_id": "j1", "state": "failed", "error": "bad\x1b[31m\u0085\nthing", "none": None,
           "attempt": 2, "report": "\u00fc" * 300, "input": {"a": [1]}}
    with Server(lambda r: (200, job)) as s:
        equal(tail(s, "j1", command="show").out.decode(),
              "job_id          j1\nstate           failed\nerror           bad [31m  thing\n"
              "attempt         2\nreport          " + "\u00fc" * 200 + "\u2026\n"
              'input           {"a":[1]}\n')
        equal(json.loads(tail(s, "--json", "j1", command="show").out), job)
        equal(s.requests[0].raw_path, "/v1/jobs/j1")


@case
def cancel_asks_for_it():
    with Server(lambda r: (200, {**DONE, "state": "cancelled"})) as s:
        equal(tail(s, "j1", command="cancel").out, b"")
        equal([repr(r) for r in s.requests], ["POST /v1/jobs/j1/cancel"])


@case
def cancelling_too_late():
    with Server(lambda r: (409, {"detail": "Job has already ended: j1"})) as s:
        contains(tail(s, "j1", command="cancel", want=3).err, "already ended")


@cases([[c, *a] for c in ("tail", "submit", "cancel", "show")
        for a in ([], ["a", "b"], ["--nonsense", "a"], ["a", "--url"], ["a", "--url", "ftp://x"])
        if (c, a) != ("cancel", ["a", "b"])],
       name=" ".join)
def usage_errors(args):
    done = spoolwire(*args)
    equal((done.code, done.out), (2, b""))
    contains(done.err, f"spoolwire {args[0]}: ", f"Try 'spoolwire {args[0]} --help'.")


@cases(["tail", "submit", "cancel", "show", "demo-agent"])
def help_tells_exit_codes(command):
    done = spoolwire(command, "--help")
    equal((done.code, done.err), (0, ""))
    contains(done.out.decode(), f"Usage: spoolwire {command}", "Exit status:\n  0 ", "2   usage", "3   ")
    check(all(len(line) <= 96 for line in done.out.decode().splitlines()), "too wide")
