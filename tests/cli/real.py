"""The command-line client against a real server."""

import json
import os
import subprocess

from gateway import (CLOSING, OPENING, PROGRAM, PULL, WAIT, Server, Worker, fixed_port, play, running, token, until,
                     with_ids)
from harness import DIALECTS, case, cases, check, contains, equal


def run(s, *args, want=0, stdin=None, timeout=60):
    env = dict(os.environ, SPOOLWIRE_URL=s.url)
    p = subprocess.run([PROGRAM, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, env=env)
    equal(p.returncode, want, f"{args}: {p.stdout[-300:]} {p.stderr[-500:]}")
    return p.stdout.decode(), p.stderr.decode()


@case
def submit_prints_the_id():
    with Server(agents={"pull": PULL}) as s:
        out, _ = run(s, "submit", "pull", "--input", "hello")
        equal(s.state(out.strip()), "queued")
        equal(Worker(s).lease().order["input"], "hello")
        out, _ = run(s, "submit", "pull", "--input", '{"a": 1}', "--job-id", "mine")
        equal(out.strip(), "mine")
        equal(Worker(s).lease().order["input"], {"a": 1})
        run(s, "submit", "pull", "--input", "-", stdin="from stdin ä".encode())
        equal(Worker(s).lease().order["input"], "from stdin ä")
        path = os.path.join(s.folder, "in.txt")
        with open(path, "w") as f:
            f.write("from a file")
        run(s, "submit", "pull", "--input", "@" + path)
        equal(Worker(s).lease().order["input"], "from a file")
        _, err = run(s, "submit", "pull", "--job-id", "mine", want=3)
        contains(err, "Job already exists: mine")
        _, err = run(s, "submit", "nope", want=3)
        contains(err, "nope")


@cases(DIALECTS)
def submit_and_follow(dialect):
    with Server() as s:
        out, _ = run(s, "submit", "demo", "--input", '{"issue":"x","speed":0}', "--follow", "--dialect", dialect,
                     "--job-id", "j")
        got = [json.loads(row) for row in out.splitlines()]
        equal(s.state("j"), "succeeded")
        want = [f.json for f in with_ids(s.read("j", dialect))]
        stored = [x for x in got if x in want] if dialect == "aiq" else got
        equal(stored, want)


@case
def following_tells_how_it_ended():
    agents = {"bad": {"command": ["sh", "-c", "echo broken >&2; exit 1"]}, "pull": PULL}
    with Server(agents=agents) as s:
        out, _ = run(s, "submit", "bad", "--follow", want=1)
        contains(out, "broken", "job.failed")
        s.submit(job_id="c")
        with running(PROGRAM, "tail", "c", "--url", s.url) as p:
            run(s, "cancel", "c")
            equal(p.wait(WAIT), 1)
            contains(p.stdout.read().decode(), "cancelled")


@case
def tail_from_a_place():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        full = with_ids(s.read(id, "agent"))
        out, _ = run(s, "tail", id, "--raw")
        equal(out, "".join(f"id: {f.id}\nevent: {f.event}\ndata: {f.data}\n\n" for f in full))
        for i, f in enumerate(full[:-1]):
            out, _ = run(s, "tail", id, "--after", f.id)
            equal(out.splitlines(), [x.data for x in full[i + 1:]], f.id)
        out, _ = run(s, "tail", id, "--dialect", "nodes", "--after", "9")
        equal([json.loads(row)["type"] for row in out.splitlines()], ["tool.end", "node.end", "run.end"])
        _, err = run(s, "tail", "nope", want=3)
        contains(err, "Job not found: nope")
        _, err = run(s, "tail", id, "--dialect", "klingon", want=3)
        contains(err, "klingon")


@case
def show_has_what_a_process_wrote_before_it_failed():
    script = "echo 'one\033[31m' >&2; echo 'two' >&2; exit 3"
    with Server(agents={"dies": {"command": ["sh", "-c", script]}}) as s:
        id = s.submit("dies")
        s.until_state(id, "failed")
        out, _ = run(s, "show", id)
        contains(out, "exit_status     3\n")
        check(out.endswith("stderr\none [31m\ntwo\n"), out)
        out, _ = run(s, "show", "--json", id)
        equal(json.loads(out)["details"]["exit_status"], 3)


@case
def cancel_and_show():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        Worker(s, name="worker-9").lease().send(*OPENING)
        out, _ = run(s, "show", "j")
        contains(out, "running", "pull", "worker-9")
        out, _ = run(s, "show", "--json", "j")
        equal(json.loads(out), s.job("j"))
        run(s, "cancel", "j")
        run(s, "cancel", "j")
        equal(s.job("j")["cancel_requested"], True)
        done = play(s)
        _, err = run(s, "cancel", done, want=3)
        contains(err, "succeeded")
        for command in ("show", "cancel"):
            _, err = run(s, command, "nope", want=3)
            contains(err, "Job not found: nope")


@cases(["kill", "terminate"])
def tail_goes_on_through_a_restart(how):
    with Server(port=fixed_port(), agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING, token("one"))
        with running(PROGRAM, "tail", "j", "--raw", "--url", s.url) as p:
            seen = b""
            os.set_blocking(p.stdout.fileno(), False)

            def read_until(text):
                nonlocal seen

                def there():
                    nonlocal seen
                    seen += p.stdout.read() or b""
                    return text in seen
                until(f"{text!r} is printed", there)
            read_until(b'"one"')
            for word in ("two", "three"):
                s.restart(getattr(s, how))
                lease.send(token(word))
                read_until(f'"{word}"'.encode())
            lease.send(*CLOSING)
            lease.finish()
            equal(p.wait(WAIT), 0)
            os.set_blocking(p.stdout.fileno(), True)
            seen += p.stdout.read()
        want = "".join(f"id: {f.id}\nevent: {f.event}\ndata: {f.data}\n\n" for f in with_ids(s.read("j", "agent")))
        equal(seen.decode(), want, "nothing lost, nothing twice")


@case
def nobody_is_there():
    with Server() as s:
        port = s.port
        s.terminate()
        for args in (["show", "j"], ["cancel", "j"], ["submit", "demo"]):
            p = subprocess.run([PROGRAM, *args, "--url", f"http://127.0.0.1:{port}"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=WAIT)
            equal(p.returncode, 4, args)
            check(p.stderr, args)
