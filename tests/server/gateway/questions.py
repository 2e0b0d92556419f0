"""Questions to people: answers, deadlines, pauses; over restarts, and from several at once."""

import contextlib
import datetime
import json
import sys
import time

from gateway import (PULL, Server, Worker, again, at_once, interrupt, node_end, node_start, root_end, root_start, running, token, until)
from harness import PROGRAM, case, cases, check, contains, equal

ASK = dict(PULL, attempts=3)


def ask(s, id, *questions, job=None, finish=True):
    """A worker takes the job, asks, and leaves; returns its lease."""
    if job is None:
        s.submit(job_id=id)
    lease = Worker(s).lease()
    equal(lease.job, id)
    lease.append(*again(lease.attempt, [root_start(), *questions]))
    if finish:
        equal(lease.finish("interrupted"), "waiting")
    return lease


def answer(s, id, **body):
    return s.post(f"/v1/jobs/{id}/answer", body)


moment = datetime.datetime.fromisoformat


def asked(s, **query):
    path = "/v1/interrupts" + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")
    a = s.get(path)
    equal(a.status, 200, repr(a))
    return a.json["interrupts"]


@case
def a_question_is_answered_and_the_job_goes_on():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"question": "Which one?", "context": {"n": 2}}, "q-1"))
        (q,) = asked(s)
        equal((q["interrupt_id"], q["job_id"], q["agent"], q["attempt"], q["question"], q["context"]),
              ("q-1", "j", "pull", 1, "Which one?", {"n": 2}))
        equal((moment(q["expires_at"]) - moment(q["asked_at"])).total_seconds(), 1800, "unless it says so")
        a = answer(s, "j", value={"pick": "b"})
        equal((a.status, a.json["state"]), (200, "queued"), repr(a))
        equal(asked(s), [])
        order = Worker(s).ask().json
        equal((order["attempt"], order["resume"], order["input"]), (2, {"q-1": {"pick": "b"}}, "x"))


@case
def the_stream_says_question_and_answer():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt("which one?", "q-1"))
        with s.stream("j", "agent") as stream:
            stream.until_event("graph.interrupt")
            equal(answer(s, "j", interrupt_id="q-1", value="the first").status, 200)
            resumed = stream.until_event("graph.resumed")
            check(resumed is not None)
        lease = Worker(s).lease()
        lease.append(root_start(), root_end())
        lease.finish()
        events = [f.event for f in s.read("j", "agent")]
        equal((events.count("graph.interrupt"), events.count("graph.resumed"), events[-1]), (1, 1, "job.done"))


@case
def a_start_has_no_answers():
    with Server(agents={"pull": ASK}) as s:
        s.submit(job_id="j")
        check("resume" not in Worker(s).ask().json)


@case
def falsy_answers_are_answers():
    with Server(agents={"pull": ASK}) as s:
        for i, value in enumerate((None, False, 0, "", [], {})):
            ask(s, f"j{i}", interrupt("?", "q"))
            equal(answer(s, f"j{i}", value=value).status, 200)
            equal(Worker(s).ask().json["resume"], {"q": value})


@case
def two_at_the_same_moment():
    with Server(agents={"pull": ASK}) as s:
        for i in range(10):
            ask(s, f"j{i}", interrupt("?", "q"))
            answers = at_once(*[lambda n=n: answer(s, f"j{i}", value=n) for n in range(2)])
            equal(sorted(a.status for a in answers), [200, 409])
            first = next(n for n, a in enumerate(answers) if a.status == 200)
            late = next(a for a in answers if a.status == 409)
            equal(late.json["answer"], first, "the second is told the first")
            equal(Worker(s).ask().json["resume"], {"q": first})


@cases(["01", "10"])
def two_questions_are_answered(order):
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt("one?", "q-0"), interrupt("two?", "q-1"))
        equal([q["interrupt_id"] for q in asked(s)], ["q-0", "q-1"])
        contains(answer(s, "j", value=1).detail, "2 questions are open")
        equal(answer(s, "j", value=1).status, 422)
        a = answer(s, "j", interrupt_id=f"q-{order[0]}", value="a")
        equal((a.status, a.json.get("state")), (200, "waiting"), repr(a))
        equal(answer(s, "j", value="b").json["state"], "queued")
        equal(Worker(s).ask().json["resume"], {f"q-{order[0]}": "a", f"q-{order[1]}": "b"})


@case
def several_at_once_or_none():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt("one?", "q-0"), interrupt("two?", "q-1"))
        equal(answer(s, "j", answers={"q-0": 1, "q-9": 2}).status, 404)
        equal(len(asked(s)), 2, "nothing was stored")
        equal(answer(s, "j", answers={}).status, 422)
        equal(answer(s, "j", answers={"q-0": 1, "q-1": [2]}).json["state"], "queued")
        equal(Worker(s).ask().json["resume"], {"q-0": 1, "q-1": [2]})


@case
def an_answer_may_come_before_the_worker_has_finished():
    with Server(agents={"pull": ASK}) as s:
        lease = ask(s, "j", interrupt("?", "q"), finish=False)
        equal(answer(s, "j", value=7).json["state"], "running")
        equal(asked(s), [])
        equal(lease.finish("interrupted"), "queued")
        equal(Worker(s).ask().json["resume"], {"q": 7})


@case
def answers_to_nothing():
    with Server(agents={"pull": ASK}) as s:
        equal(answer(s, "absent", value=1).status, 404)
        s.submit(job_id="j")
        equal(answer(s, "j", value=1).status, 409)
        equal(answer(s, "j").status, 422)
        equal(answer(s, "j", interrupt_id=5, value=1).status, 422)
        equal(answer(s, "j", interrupt_id="q", value=1).status, 404)
        s.post("/v1/jobs/j/cancel")
        equal(answer(s, "j", value=1).status, 409)


@case
def a_schema_is_kept_to():
    schema = {"type": "object", "required": ["pick"], "additionalProperties": False,
              "properties": {"pick": {"enum": ["a", "b"]}, "why": {"type": "string", "maxLength": 5}}}
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"question": "?", "schema": schema}, "q"))
        for value, why in (("a", "of type object"), ({}, "pick"), ({"pick": "c"}, "none of the values"),
                           ({"pick": "a", "x": 1}, '"x"'), ({"pick": "a", "why": "too long"}, "at most 5")):
            a = answer(s, "j", value=value)
            equal(a.status, 422, repr(a))
            contains(a.detail, why)
        equal(asked(s)[0]["schema"], schema)
        equal(answer(s, "j", value={"pick": "a", "why": "so"}).status, 200)


@case
def a_schema_is_checked_as_a_whole():
    schema = {"type": "object", "additionalProperties": False, "patternProperties": {"^x-": {"type": "integer"}},
              "properties": {"tags": {"uniqueItems": True}, "mail": {"pattern": r"^\S+@\S+$"}},
              "if": {"required": ["mail"]}, "then": {"required": ["tags"]}}
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"question": "?", "schema": schema}, "q"))
        for value, why in (({"x-a": "1"}, "x-a must be of type integer"), ({"y": 1}, '"y"'), ({"mail": "a"}, "pattern"),
                           ({"mail": "a@b"}, '"tags"'), ({"tags": [1, 1.0]}, "twice")):
            a = answer(s, "j", value=value)
            equal(a.status, 422, repr(a))
            contains(a.detail, why)
        equal(answer(s, "j", value={"x-a": 1, "mail": "a@b", "tags": list(range(500))}).status, 200)


@case
def a_question_whose_schema_cannot_be_used_fails_its_job():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"question": "?", "schema": {"unevaluatedProperties": False}}, "q"), finish=False)
        s.until_state("j", "failed")
        contains(s.job("j")["error"], "the schema of question q cannot be used", '"unevaluatedProperties" is not supported')
        equal(s.job("j")["error_type"], "QuestionSchema")
        equal(asked(s), [])
        equal(answer(s, "j", value=1).status, 409)


@case
def a_question_that_nobody_answers_fails_its_job():
    with Server(agents={"pull": dict(ASK, answer_deadline="400ms")}) as s:
        ask(s, "j", interrupt("?", "q"))
        s.until_state("j", "failed")
        contains(s.job("j")["error"], "answer deadline")
        equal(answer(s, "j", value=1).status, 410)
        equal(asked(s), [])


@case
def a_question_may_say_what_silence_means():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"question": "?", "expires_in": 1, "on_expiry": "default", "default": {"ok": 1}}, "q"))
        s.until_state("j", "queued")
        equal(Worker(s).ask().json["resume"], {"q": {"ok": 1}})
        a = answer(s, "j", interrupt_id="q", value=2)
        equal((a.status, a.json["answer"]), (410, {"ok": 1}))
        ask(s, "k", interrupt({"expires_in": 1, "on_expiry": "cancel"}, "q"))
        s.until_state("k", "cancelled")
        ask(s, "n", interrupt({"expires_in": 0}, "q"))
        equal(asked(s)[0]["expires_at"], None, "never")


@case
def an_answer_ends_its_deadline():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"expires_in": 5}, "q"))
        ask(s, "k", interrupt({"expires_in": 5}, "q"))
        equal(answer(s, "j", value="in time").status, 200)
        s.until_state("k", "failed")  # whose time began later
        equal((s.state("j"), s.job("j")["error"]), ("queued", None))


@case
def who_waits_holds_no_place():
    lines = "\\n".join(json.dumps(e) for e in (root_start(), interrupt("?", "q"), root_end()))
    with Server(agents={"a": {"command": ["sh", "-c", f"read order; printf '{lines}\\n'"], "concurrency": 1}}) as s:
        for id in ("j", "k"):
            s.submit("a", job_id=id)
        for id in ("j", "k"):
            s.until_state(id, "waiting")
        equal(len(asked(s)), 2)


@case
def a_deadline_that_passes_while_the_server_is_down_fires_once_it_is_up():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt({"expires_in": 1, "on_expiry": "default", "default": "so be it"}, "q"))
        s.kill()
        time.sleep(1.2)
        s.start()
        s.until_state("j", "queued")
        equal(Worker(s).ask().json["resume"], {"q": "so be it"})


@case
def an_answer_outlives_kill_9_and_is_used_once():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt("?", "q"))
        equal(answer(s, "j", value="kept").status, 200)
        s.kill()
        s.start()
        order = Worker(s).ask().json
        equal((order["job"], order["resume"]), ("j", {"q": "kept"}))
        equal(Worker(s).ask(wait=0).status, 204, "nobody else gets it")
        equal(answer(s, "j", interrupt_id="q", value="again").status, 409)


@case
def a_worker_that_is_lost_had_not_used_the_answer():
    with Server(agents={"pull": dict(ASK, lease="3s")}) as s:
        ask(s, "j", interrupt("?", "q"))
        answer(s, "j", value=5)
        equal(Worker(s).ask().json["resume"], {"q": 5})
        again = Worker(s).ask(wait=20).json  # its lease runs out
        equal((again["attempt"], again["resume"]), (3, {"q": 5}))


@case
def a_second_question_has_its_own_answer():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt("one?", "q"))
        answer(s, "j", value=1)
        ask(s, "j", interrupt("one more?", "q"), job="j")  # the same id again, as graphs do
        equal(len(asked(s)), 1)
        equal(answer(s, "j", interrupt_id="q", value=2).status, 200)
        equal(Worker(s).ask().json["resume"], {"q": 2})


def running_job(s, id):
    s.submit(job_id=id)
    lease = Worker(s).lease()
    lease.append(root_start())
    return lease


def paused_job(s, id):
    lease = running_job(s, id)
    equal(s.post(f"/v1/jobs/{id}/pause").status, 200)
    equal(lease.finish("interrupted"), "waiting")


def answered_job(s, id):
    ask(s, id, interrupt("?", "q"))
    equal(answer(s, id, value=1).json["state"], "queued")


STATES = {
    "queued": lambda s, id: s.submit(job_id=id),
    "running": running_job,
    "asked, its worker there": lambda s, id: ask(s, id, interrupt("?", "q"), finish=False),
    "one question": lambda s, id: ask(s, id, interrupt("?", "q")),
    "two questions": lambda s, id: ask(s, id, interrupt("?", "q"), interrupt("!", "r")),
    "a pause is wanted": lambda s, id: (running_job(s, id), s.post(f"/v1/jobs/{id}/pause")),
    "paused": paused_job,
    "paused before it began": lambda s, id: (s.submit(job_id=id), s.post(f"/v1/jobs/{id}/pause")),
    "answered": answered_job,
}


@cases(list(STATES))
def a_job_is_cancelled_when_it_is(state):
    with Server(agents={"pull": dict(ASK, grace="500ms")}) as s:
        STATES[state](s, "j")
        check(s.post("/v1/jobs/j/cancel").status in (200, 202))
        equal(s.until_state("j", "cancelled", "failed", "succeeded")["state"], "cancelled")
        equal(asked(s), [])
        frames = s.read("j", "agent")
        equal((frames[-1].event, frames[-1].json["status"]), ("job.failed", "cancelled"))
        equal(Worker(s).ask(wait=0).status, 204)


@case
def cancelling_ends_what_waits():
    with Server(agents={"pull": ASK}) as s:
        ask(s, "j", interrupt("?", "q"))
        equal(s.post("/v1/jobs/j/cancel").status, 200)
        s.until_state("j", "cancelled")
        equal(asked(s), [])
        equal(answer(s, "j", value=1).status, 409)


@case
def the_list_is_filtered_and_paged():
    with Server(agents={"pull": ASK, "other": PULL}) as s:
        for i in range(5):
            ask(s, f"j{i}", interrupt("?", f"q{i}"))
        equal([q["job_id"] for q in asked(s, job="j3")], ["j3"])
        equal(asked(s, agent="other"), [])
        equal(len(asked(s, agent="pull")), 5)
        first = s.get("/v1/interrupts?limit=2").json
        rest = s.get(f"/v1/interrupts?limit=9&after={first['next']}").json
        equal([q["job_id"] for q in first["interrupts"] + rest["interrupts"]], [f"j{i}" for i in range(5)])
        equal(rest["next"], None)
        equal(s.get("/v1/interrupts?after=x").status, 422)


# --- pauses --------------------------------------------------------------------------------


@case
def a_queued_job_is_paused_and_resumed():
    with Server(agents={"pull": ASK}) as s:
        s.submit(job_id="j")
        equal(s.post("/v1/jobs/j/pause").json["state"], "waiting")
        equal(s.post("/v1/jobs/j/pause").status, 200, "twice is no error")
        equal(Worker(s).ask(wait=0).status, 204)
        equal(asked(s), [], "that is no question")
        equal(answer(s, "j", value=1).status, 409)
        equal(s.post("/v1/jobs/j/resume").json["state"], "queued")
        equal(s.post("/v1/jobs/j/resume").status, 409)
        check("resume" not in Worker(s).ask().json, "it has never run: it starts")


def pause_in_queue(s, id):
    equal(s.post(f"/v1/jobs/{id}/pause").json["state"], "waiting")
    s.restart()
    equal(s.post(f"/v1/jobs/{id}/resume").json["state"], "queued")


@case
def a_pause_in_the_queue_does_not_change_the_next_lease():
    with Server(agents={"pull": dict(ASK, lease="3s")}) as s:
        s.submit(job_id="returned")
        Worker(s).lease().hand_back()
        pause_in_queue(s, "returned")
        order = Worker(s).ask().json
        equal((order["job"], order["attempt"], "resume" in order), ("returned", 2, False))
        ask(s, "answered", interrupt("?", "q"))
        answer(s, "answered", value=5)
        pause_in_queue(s, "answered")
        order = Worker(s).lease()
        equal((order.order["job"], order.order["resume"]), ("answered", {"q": 5}))
        order.hand_back()
        pause_in_queue(s, "answered")
        equal(Worker(s).ask().json["resume"], {"q": 5}, "again, after it was handed back")


@case
def a_job_that_was_paused_by_its_worker_goes_on_after_a_pause_in_the_queue():
    with Server(agents={"pull": ASK}) as s:
        lease = running_job(s, "j")
        s.post("/v1/jobs/j/pause")
        equal(lease.finish("interrupted"), "waiting")
        s.post("/v1/jobs/j/resume")
        pause_in_queue(s, "j")
        equal(Worker(s).ask().json["resume"], {})


@case
def a_running_job_is_asked_to_pause():
    with Server(agents={"pull": ASK}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        check("pause" not in lease.append(root_start()))
        equal(s.post("/v1/jobs/j/pause").json["state"], "running")
        equal(lease.beat()["pause"], True)
        equal(lease.append(token("a"))["pause"], True)
        equal(lease.finish("interrupted"), "waiting")
        s.restart()
        equal(s.state("j"), "waiting")
        equal(s.post("/v1/jobs/j/resume").json["state"], "queued")
        order = Worker(s).lease()
        check("pause" not in order.append(root_start(), root_end()))
        order.finish()
        events = [f.event for f in s.read("j", "agent")]
        equal((events.count("graph.paused"), events.count("graph.resumed")), (1, 1))


@case
def a_pause_is_withdrawn_and_cancelled():
    with Server(agents={"pull": ASK}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        s.post("/v1/jobs/j/pause")
        equal(s.post("/v1/jobs/j/resume").json["state"], "running")
        check("pause" not in lease.beat())
        s.submit(job_id="k")
        s.post("/v1/jobs/k/pause")
        equal(s.post("/v1/jobs/k/cancel").json["state"], "cancelled")
        ask(s, "m", interrupt("?", "q"))
        equal(s.post("/v1/jobs/m/pause").status, 409, "it waits for an answer")
        equal(s.post("/v1/jobs/m/resume").status, 409)


PAUSABLE = r"""
read order
case "$order" in *'"resume":{}'*) echo '{"type":"llm.chunk","id":"m","name":"x","data":{"chunk":"on"}}'; exit 0;; esac
trap 'echo "{\"type\":\"graph.paused\"}"; exit 0' USR1
echo '{"type":"llm.chunk","id":"m","name":"x","data":{"chunk":"off"}}'
while :; do sleep 0.05; done
"""


@case
def a_process_that_may_be_paused_is():
    with Server(agents={"a": {"command": ["sh", "-c", PAUSABLE], "pausable": True, "lease": "5s"}}) as s:
        s.submit("a", job_id="j")
        with s.stream("j", "raw") as stream:
            stream.until_event("llm.delta")
        equal(s.post("/v1/jobs/j/pause").json["state"], "running")
        s.until_state("j", "waiting")
        equal(asked(s), [])
        equal(s.post("/v1/jobs/j/resume").json["state"], "queued")
        s.until_state("j", "succeeded")
        events = [f.event for f in s.read("j", "agent")]
        equal((events.count("graph.paused"), events.count("graph.resumed"), events[-1]), (1, 1, "job.done"))


DEMOS = {"process": ("demo", {}), "pool": ("demo", {"pool": {"size": 1, "concurrency": 2}}), "pull": ("mine", {"pull": True})}


@cases(DEMOS)
def the_demo_agent_stops_between_two_steps(how):
    name, agent = DEMOS[how]
    with Server(agents={name: agent}) as s, contextlib.ExitStack() as stack:
        if how == "pull":
            stack.enter_context(running(PROGRAM, "demo-agent", "--pull", s.url, "--agent", name))
        whole = s.submit(name, {"speed": 0, "question": False}, job_id="whole")
        s.submit(name, {"speed": 2, "question": False}, job_id="j")
        with s.stream("j", "agent") as stream:
            stream.until_event("agent.spawned")
        equal(s.post("/v1/jobs/j/pause").status, 200)
        equal(s.until_state("j", "waiting", "succeeded", "failed")["state"], "waiting")
        equal(s.post("/v1/jobs/j/resume").json["state"], "queued")
        s.until_state("j", "succeeded")
        s.until_state(whole, "succeeded")
        told = {id: [(f.event, f.json.get("node"), f.json.get("step")) for f in s.read(id, "agent")
                     if f.event not in ("graph.paused", "graph.resumed")] for id in ("j", whole)}
        equal(told["j"], told[whole])


@case
def who_cannot_hear_is_not_asked():
    deaf = {"command": ["sh", "-c", "read order; exec sleep 60"]}
    with Server(agents={"a": dict(deaf, concurrency=1)}) as s:
        s.submit("a", job_id="j")
        s.until_state("j", "running")
        a = s.post("/v1/jobs/j/pause")
        equal(a.status, 409)
        contains(a.detail, "cannot be asked to pause", "`pausable`")
        s.submit("a", job_id="k")
        equal(s.post("/v1/jobs/k/pause").json["state"], "waiting", "one that is queued needs nobody to hear it")
        equal(s.post("/v1/jobs/j/cancel").status, 200)
        s.until_state("j", "cancelled")


@cases(["open", "answered"])
def a_worker_that_is_lost_after_it_has_asked_costs_nothing(what):
    with Server(agents={"pull": dict(PULL, attempts=1, lease="3s")}) as s:
        ask(s, "j", interrupt("?", "q"), finish=False)
        if what == "answered":
            equal(answer(s, "j", value="once").json["state"], "running")
        else:
            s.until_state("j", "waiting")
            equal([q["interrupt_id"] for q in asked(s)], ["q"])
            equal(answer(s, "j", value="once").json["state"], "queued")
        second = Worker(s).lease(wait=20)
        equal((second.attempt, second.order["resume"]), (2, {"q": "once"}))
        second.append(*again(2, [root_start(), root_end()]))
        equal(second.finish(), "succeeded")
        events = [f.event for f in s.read("j", "agent")]
        equal((events.count("graph.interrupt"), events.count("graph.resumed"), events[-1]), (1, 1, "job.done"))


@case
def a_process_that_goes_down_with_the_server_has_asked():
    lines = "\n".join(json.dumps(e) for e in (root_start(), interrupt("?", "q")))
    script = f"import time; print({lines!r}, flush=True); time.sleep(600)"
    with Server(agents={"a": {"command": [sys.executable, "-c", script], "attempts": 1}}) as s:
        s.submit("a", job_id="j")
        until("it has asked", lambda: asked(s))
        s.kill()
        s.start()
        s.until_state("j", "waiting")
        equal([q["interrupt_id"] for q in asked(s)], ["q"])


@case
def a_question_of_an_attempt_that_was_handed_back_is_asked_again_not_twice():
    with Server(agents={"pull": ASK}) as s:
        equal(ask(s, "j", interrupt("?", "q"), finish=False).hand_back().status, 200)
        second = Worker(s).lease(wait=20)
        equal(second.attempt, 2)
        second.append(*again(2, [root_start(), interrupt("?", "q")]))
        equal([q["interrupt_id"] for q in asked(s)], ["q"])
        equal(second.finish("interrupted"), "waiting")
        equal(answer(s, "j", value=7).json["state"], "queued")
        equal(Worker(s).ask().json["resume"], {"q": 7})


@case
def an_answer_that_an_attempt_could_not_use_is_used_by_the_next():
    with Server(agents={"pull": ASK}) as s:
        lease = ask(s, "j", interrupt("?", "q"), finish=False)
        equal(answer(s, "j", value="once").json["state"], "running")
        equal(lease.hand_back().status, 200)
        second = Worker(s).lease(wait=20)
        second.append(*again(2, [root_start(), interrupt("?", "q")]))
        equal(asked(s), [], "nobody has to say it again")
        equal(second.finish("interrupted"), "queued")
        equal(Worker(s).ask().json["resume"], {"q": "once"})


EACH_SAYS = {
    "agent": ("graph.interrupt", "graph.resumed", "graph.paused"),
    "envelope": ("on_interrupt", "on_resume", "on_interrupt"),
    "messages": ("updates", None, "updates"),
    "nodes": ("node.end", None, "node.end"),
    "aiq": ("job.update", "job.update", "job.update"),
}


@cases(EACH_SAYS)
def each_dialect_says_it_in_its_own_words(dialect):
    says_question, says_resumed, says_pause = EACH_SAYS[dialect]
    with Server(agents={"pull": ASK}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.append(root_start(), node_start(), interrupt({"question": "Which?", "context": {"n": 1}}, "q"))
        lease.finish("interrupted")
        equal(s.get("/v1/jobs/async/job/j").json["status"], "RUNNING")
        answer(s, "j", value=1)
        second = Worker(s).lease()
        second.append(*again(2, [root_start(), node_start()]))
        s.post("/v1/jobs/j/pause")
        equal(second.finish("interrupted"), "waiting")
        s.post("/v1/jobs/j/resume")
        third = Worker(s).lease()
        third.append(*again(3, [root_start(), node_start(), node_end(), root_end()]))
        equal(third.finish(), "succeeded")
        frames = s.read("j", dialect)

        def said(name, *parts):
            return [f.json for f in frames if f.event == name and all(p in f.data for p in parts)]
        if dialect == "messages":
            value = {"question": "Which?", "context": {"n": 1}}
            asked = [{"value": value, "id": "q"}]
            equal([f["__interrupt__"] for f in said("updates", "__interrupt__")], [asked, []])
            # A pause asks nothing, and the last state stays the last.
            equal([f["__interrupt__"] for f in said("values", "__interrupt__")], [asked])
        elif dialect == "nodes":
            equal([f["status"] for f in said("node.end")], ["interrupted", "interrupted", "ok"])
        else:
            question = said(says_question, "Which?")
            equal(len(question), 1)
            if dialect == "aiq":
                equal([f["name"] for f in said("job.update")], ["interrupt", "resume", "pause", "resume"])
            elif dialect == "envelope":
                equal([f["data"]["kind"] for f in said("on_interrupt")], ["interrupt", "pause"])
                equal([f["data"]["interrupt_ids"][:1] for f in said("on_resume")][0], ["q"])
            else:
                equal((question[0]["question"], question[0]["context"], question[0]["interrupt_id"]),
                      ("Which?", {"n": 1}, "q"))
                equal((len(said(says_resumed)), len(said(says_pause))), (2, 1))
