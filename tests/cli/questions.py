"""interrupts and answer, in a pipe and on a terminal; and the demo agent, which really asks."""

import json
import os
import pty
import subprocess
import tempfile

from gateway import PROGRAM, PULL, WAIT, Server, Worker, fixed_port, interrupt, root_start, until
from harness import case, cases, contains, equal
from lists import rows, run


def ask(s, id, *questions):
    s.submit(job_id=id)
    lease = Worker(s).lease()
    lease.append(root_start(), *questions)
    equal(lease.finish("interrupted"), "waiting")


@case
def questions_are_listed():
    with Server(agents={"pull": PULL}) as s:
        ask(s, "j1", interrupt({"question": "Which one?"}, "q-1"))
        ask(s, "j2", interrupt([1, 2], "q-2"))
        out, err = run(s, "interrupts")
        head, one, two = out.splitlines()
        equal((err, head.split()), ("", ["JOB", "INTERRUPT", "WAITS", "LEFT", "QUESTION"]))
        contains(one, "j1", "q-1", "Which one?")
        contains(two, "j2", "q-2", "[1,2]")
        equal([q["job_id"] for q in rows(run(s, "interrupts", "--json")[0])], ["j1", "j2"])
        equal([q["job_id"] for q in rows(run(s, "interrupts", "--json", "--job", "j2")[0])], ["j2"])
        equal(run(s, "interrupts", "--json", "--agent", "none")[0], "")


@case
def a_job_that_waits_says_for_what():
    with Server(agents={"pull": PULL}) as s:
        ask(s, "j", interrupt({"question": "Which\x1b[31m one?"}, "q-1"), interrupt([1], "q-2"))
        out, _ = run(s, "show", "j")
        rows_of = {row.split()[0]: row.split(None, 1)[1] for row in out.splitlines()}
        equal((rows_of["state"], rows_of["asks"], rows_of["interrupt_id"]), ("waiting", "[1]", "q-2"))
        contains(out, "Which [31m one?", "q-1", "expires_at")
        contains(run(s, "jobs")[0], "waiting", "Which [31m one?")


@case
def questions_are_followed():
    with Server(port=fixed_port(), agents={"pull": dict(PULL, attempts=9)}) as s:
        ask(s, "old", interrupt({"question": "Since when?"}, "q-0"))
        with Following(s) as f, Following(s, "--json", "--job", "j") as of_one:
            f.until("open      old  q-0  Since when?")
            ask(s, "j", interrupt("a?", "q-1"), interrupt("b?", "q-2"))
            f.until("open      j  q-1  a?", "open      j  q-2  b?")
            run(s, "answer", "j", "--id", "q-2", "1")
            f.until("answered  j  q-2")
            ask(s, "late", interrupt({"expires_in": 1, "on_expiry": "default", "default": 1}, "q"))
            f.until("expired   late  q")
            s.post("/v1/jobs/j/cancel")
            f.until("closed    j  q-1")
            s.restart()
            f.until_err("connected again")
            run(s, "answer", "old", "1")
            f.until("answered  old  q-0")
            equal(f.text.count("Since when?"), 1, "what was told is not told again")
            of_one.until('"closed"')
            told = [json.loads(row) for row in of_one.text.splitlines()]
            equal([(t["state"], t["interrupt_id"], t["job_id"]) for t in told],
                  [("open", "q-1", "j"), ("open", "q-2", "j"), ("answered", "q-2", "j"), ("closed", "q-1", "j")])
            equal(told[0]["value"], "a?")


class Following:
    """`interrupts --follow`, read as it writes."""

    def __init__(self, s, *flags):
        self.err = tempfile.TemporaryFile()
        self.p = subprocess.Popen([PROGRAM, "interrupts", "--follow", *flags], stdout=subprocess.PIPE, stderr=self.err,
                                  env={**os.environ, "SPOOLWIRE_URL": s.url})
        os.set_blocking(self.p.stdout.fileno(), False)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()
        self.p.stdout.close()
        self.err.close()

    def until(self, *words):
        def there():
            self.text += (self.p.stdout.read() or b"").decode()
            return all(w in self.text for w in words)
        until(f"{words} in {self.text!r}", there)

    def until_err(self, word):
        def there():
            fd = self.err.fileno()  # whose place in the file is also the program's
            return word in os.pread(fd, os.fstat(fd).st_size, 0).decode()
        until(word, there)


@cases(['{"a":1}', "7", "plain words", '"quoted"', "null"])
def an_answer_is_json_or_text(value):
    with Server(agents={"pull": PULL}) as s:
        ask(s, "j", interrupt("?", "q"))
        run(s, "answer", "j", value)
        want = value if value == "plain words" else json.loads(value)
        equal(Worker(s).ask().json["resume"], {"q": want})
        _, err = run(s, "answer", "j", "again", want=3)
        contains(err, "has been answered")


@case
def an_answer_comes_from_a_pipe_and_to_one_of_several():
    with Server(agents={"pull": PULL}) as s:
        ask(s, "j", interrupt("one?", "q-1"), interrupt("two?", "q-2"))
        _, err = run(s, "answer", "j", "x", want=3)
        contains(err, "2 questions are open")
        p = subprocess.run([PROGRAM, "answer", "j", "--id", "q-2", "--text", "--json"], input=b"5\n", stdout=subprocess.PIPE,
                           env={**os.environ, "SPOOLWIRE_URL": s.url}, timeout=WAIT, check=True)
        equal(json.loads(p.stdout)["state"], "waiting")
        run(s, "answer", "j", "--id", "q-1", "true")
        equal(Worker(s).ask().json["resume"], {"q-1": True, "q-2": "5"})
        run(s, "answer", "none", "x", want=3)
        run(s, "answer", want=2)


@case
def on_a_terminal_the_question_is_shown():
    with Server(agents={"pull": PULL}) as s:
        ask(s, "j", interrupt({"question": "Which one?"}, "q"))
        main, side = pty.openpty()
        p = subprocess.Popen([PROGRAM, "answer", "j"], stdin=side, stdout=side, stderr=side,
                             env={**os.environ, "SPOOLWIRE_URL": s.url})
        os.close(side)
        seen = b""
        while not seen.endswith(b"> "):
            seen += os.read(main, 1000)
        contains(seen.decode(), "Which one?")
        os.write(main, b"the left\n")
        equal(p.wait(WAIT), 0)
        os.close(main)
        equal(Worker(s).ask().json["resume"], {"q": "the left"})


@cases({"a process": {}, "a pool": {"demo": {"pool": 1}}}.items())
def the_demo_asks_and_uses_the_answer(how):
    with Server(agents=how[1] or None) as s:
        id = s.submit("demo", {"speed": 0, "ask_timeout": "never"})
        s.until_state(id, "waiting")
        until("its question is listed", lambda: rows(run(s, "interrupts", "--json")[0]))
        run(s, "answer", id, "the moon")
        s.until_state(id, "succeeded")
        contains(s.get(f"/v1/jobs/async/job/{id}/report").json["report"], "the moon")
        events = [f.event for f in s.read(id, "agent")]
        equal((events.count("graph.interrupt"), events.count("graph.resumed"), events[-1]), (1, 1, "job.done"))
