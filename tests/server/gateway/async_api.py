"""The eight routes of the asynchronous job API: exact shapes, statuses and texts."""

import re
import uuid

from gateway import (CLOSING, OPENING, PULL, STORY, Server, Worker, at_once, interrupt, play, root_end, root_start,
                     token, tool_end, tool_start)
from harness import case, cases, check, contains, equal

ASYNC = "/v1/jobs/async"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def submit(server, body, **more):
    return server.post(f"{ASYNC}/submit", body, **more)


def status(server, id):
    a = server.get(f"{ASYNC}/job/{id}")
    equal(a.status, 200, repr(a))
    return a.json


# --- agents -------------------------------------------------------------------------------


@case
def agents_are_listed():
    agents = {"one": dict(PULL, description="the \"first\"\n"), "hidden": dict(PULL, public=False),
              "two": {"command": ["true"]}}
    with Server(agents=agents) as s:
        a = s.get(f"{ASYNC}/agents")
        equal((a.status, a.headers["content-type"]), (200, "application/json"))
        shown = a.json["agents"]
        equal([list(x) for x in shown], [["agent_type", "description"]] * 3)
        equal([x["agent_type"] for x in shown], ["one", "two", "demo"], "in the file's order, the built-in one last")
        equal(shown[0]["description"], "the \"first\"\n")
        check(b'": ' not in a.body, "compact JSON")
    with Server("--no-demo", agents={"one": PULL}) as s:
        equal(s.get(f"{ASYNC}/agents").body, b'{"agents":[{"agent_type":"one","description":""}]}')


# --- submit -------------------------------------------------------------------------------


@case
def submitting_is_202_with_five_members():
    with Server(agents={"pull": PULL}) as s:
        a = submit(s, {"agent_type": "pull", "input": "why?"})
        equal((a.status, a.headers["content-type"]), (202, "application/json"))
        job = a.json
        equal(list(job), ["job_id", "status", "agent_type", "error", "created_at"])
        equal((job["status"], job["agent_type"], job["error"]), ("SUBMITTED", "pull", None))
        equal(str(uuid.UUID(job["job_id"])), job["job_id"], "an id that AI-Q's own client takes")
        check(TIME.fullmatch(job["created_at"]), job)
        equal(status(s, job["job_id"]), job)


@case
def aiq_compat_is_200_in_lower_case():
    with Server("--aiq-compat", agents={"pull": PULL}) as s:
        a = submit(s, {"agent_type": "pull", "input": "x", "job_id": "j"})
        equal((a.status, a.json["status"]), (200, "submitted"))
        lease = Worker(s).lease()
        equal(status(s, "j")["status"], "running")
        with s.aiq("j") as st:
            st.until("live", lambda st: "job.status" in st.events)
            equal(st.frames[-1].json["status"], "running")
            lease.finish()
            st.rest()
            equal(st.frames[-1].json["status"], "success")
        equal(status(s, "j")["status"], "success")
        a = s.post(f"{ASYNC}/job/j/cancel")
        equal((a.status, a.detail), (409, "Job not running: j (status: success)"))


GOOD = {"agent_type": "pull", "input": "x"}
PATTERN = "^[a-zA-Z0-9_-]+$"


def complaint(type, field, msg, input, ctx=None):
    c = {"type": type, "loc": ["body", field], "msg": msg, "input": input}
    return c if ctx is None else dict(c, ctx=ctx)


def wrong(field, value, type, msg, ctx=None):
    body = dict(GOOD, **{field: value})
    return body, [complaint(type, field, msg, value, ctx)]


def bad_id(value):
    return wrong("job_id", value, "string_pattern_mismatch", f"String should match pattern '{PATTERN}'",
                 {"pattern": PATTERN})


BAD = {
    "no input": ({"agent_type": "pull"}, [complaint("missing", "input", "Field required", {"agent_type": "pull"})]),
    "nothing": ({}, [complaint("missing", "agent_type", "Field required", {}),
                     complaint("missing", "input", "Field required", {})]),
    "input empty": wrong("input", "", "string_too_short", "String should have at least 1 character", {"min_length": 1}),
    "input a number": wrong("input", 5, "string_type", "Input should be a valid string"),
    "input null": wrong("input", None, "string_type", "Input should be a valid string"),
    "input blank": wrong("input", " \t\n ", "value_error", "Value error, Input must not be blank", {"error": {}}),
    "agent a list": wrong("agent_type", ["pull"], "string_type", "Input should be a valid string"),
    "id with a space": bad_id("a b"),
    "id empty": bad_id(""),
    "id with a newline": bad_id("abc\n"),
    "id with a slash": bad_id("a/b"),
    "id with NUL": bad_id("a\0"),
    "id not ASCII": bad_id("é"),
    "id a number": wrong("job_id", 7, "string_type", "Input should be a valid string"),
    "id of 65": wrong("job_id", "a" * 65, "string_too_long", "String should have at most 64 characters",
                      {"max_length": 64}),
    "expiry 300": wrong("expiry_seconds", 300, "greater_than_equal", "Input should be greater than or equal to 600",
                        {"ge": 600}),
    "expiry -1": wrong("expiry_seconds", -1, "greater_than_equal", "Input should be greater than or equal to 600",
                       {"ge": 600}),
    "expiry 700000": wrong("expiry_seconds", 700000, "less_than_equal", "Input should be less than or equal to 604800",
                           {"le": 604800}),
    "expiry 3600.5": wrong("expiry_seconds", 3600.5, "int_from_float",
                           "Input should be a valid integer, got a number with a fractional part"),
    "expiry words": wrong("expiry_seconds", "soon", "int_parsing",
                          "Input should be a valid integer, unable to parse string as an integer"),
    "several": ({"input": "", "job_id": "a b", "expiry_seconds": 1},
                [complaint("missing", "agent_type", "Field required", {"input": "", "job_id": "a b", "expiry_seconds": 1}),
                 complaint("string_too_short", "input", "String should have at least 1 character", "", {"min_length": 1}),
                 bad_id("a b")[1][0],
                 complaint("greater_than_equal", "expiry_seconds", "Input should be greater than or equal to 600", 1,
                           {"ge": 600})]),
    "an unknown agent, too": (dict(GOOD, agent_type="nope", job_id=""), bad_id("")[1]),
}


# Edge cases 1, 4.
@case
def bad_bodies_are_listed_field_by_field():
    with Server(agents={"pull": PULL}) as s:
        for name, (body, want) in BAD.items():
            a = submit(s, body)
            equal(a.status, 422, f"{name}: {a!r}")
            equal(a.json, {"detail": want}, name)
        equal(s.get("/v1/jobs").json["jobs"], [], "and no job is left behind")


# Edge case 6.
@cases(["", "[]", "\"x\"", "null", "7", "{\"agent_type\": x}", "{", "{}{}", "\x00", "{\"a\":\"\ud800\"}"], repr)
def bodies_that_are_no_object(text):
    with Server(agents={"pull": PULL}) as s:
        a = submit(s, text.encode(errors="surrogatepass"))
        equal(a.status, 422, repr(a))
        check("detail" in a.json, repr(a))


# Edge case 1.
@case
def broken_json_says_where():
    with Server(agents={"pull": PULL}) as s:
        a = submit(s, b'{"agent_type": x}')
        equal(a.status, 422, repr(a))
        d = a.detail[0]
        equal((d["type"], d["loc"], d["msg"], d["input"]), ("json_invalid", ["body", 15], "JSON decode error", {}))
        check(isinstance(d["ctx"]["error"], str), d)


# Edge cases 4, 5.
@case
def optional_members_may_be_null_strings_or_strange():
    with Server(agents={"pull": PULL}) as s:
        for more in ({"job_id": None, "expiry_seconds": None}, {"expiry_seconds": "3600"}, {"expiry_seconds": 3600.0},
                     {"expiry_seconds": 600}, {"expiry_seconds": 604800}, {"unknown": {"x": [1]}},
                     {"data_sources": ["web"]}, {"job_id": "a" * 64}, {"job_id": "A-_9"}):
            a = submit(s, dict(GOOD, **more))
            equal(a.status, 202, f"{more}: {a!r}")
        a = submit(s, GOOD, headers={"Content-Type": "application/x-www-form-urlencoded"})
        equal(a.status, 202, "what curl -d says by itself")
        a = submit(s, dict(GOOD, input="  blanks around are kept \n", job_id="blanks"))
        equal(a.status, 202)


@case
def the_input_arrives_as_it_was_sent():
    text = "ä€😀 \" \\ \u2028 \u0007 \r\n end"
    with Server(agents={"pull": PULL}) as s:
        equal(submit(s, {"agent_type": "pull", "input": text}).status, 202)
        equal(Worker(s).lease().order["input"], text)


# Edge case 7.
@case
def inputs_of_megabytes():
    with Server(agents={"pull": PULL}) as s:
        a = submit(s, {"agent_type": "pull", "input": "x" * 10_000_000})
        equal(a.status, 413, repr(a))
        check(isinstance(a.detail, str), repr(a))
        big = "y" * 3_000_000
        equal(submit(s, {"agent_type": "pull", "input": big}).status, 202)
        check(Worker(s).lease().order["input"] == big)


# Edge case 8.
@case
def an_unknown_agent_is_400():
    with Server(agents={"one": PULL, "two": PULL, "hidden": dict(PULL, public=False)}) as s:
        a = submit(s, {"agent_type": "no\"pe\n", "input": "x"})
        equal(a.status, 400, repr(a))
        equal(a.json, {"detail": "Unknown agent type: 'no\"pe\n'. Available: one, two, demo"}, "only what is public")


@case
def jobs_named_as_parts_of_routes():
    with Server(agents={"pull": PULL}) as s:
        for id in ("async", "job", "submit", "agents", "events", "stream", "cancel"):
            s.submit(job_id=id)
            equal(s.get(f"/v1/jobs/{id}").json["job_id"], id)
            equal(status(s, id)["job_id"], id)
            equal(s.post(f"/v1/jobs/{id}/cancel").json["state"], "cancelled", id)
            equal(s.read(id, "agent")[-1].event, "job.failed", id)
            with s.aiq(id) as st:
                equal(st.rest().ended, "clean", id)
            equal(s.request("DELETE", f"/v1/jobs/{id}").status, 204, id)


@case
def deep_bodies_are_refused():
    with Server(agents={"pull": PULL}) as s:
        for n, want in ((60, 202), (100, 422), (100_000, 422)):
            deep = b"[" * n + b"]" * n
            equal(s.post("/v1/jobs", b'{"agent":"pull","input":' + deep + b"}").status, want, f"{n} deep")
            equal(submit(s, b'{"agent_type":"pull","input":"x","more":' + deep + b"}").status, want, f"{n} deep")


# Edge case 2.
@case
def a_taken_id_is_409():
    with Server(agents={"pull": PULL}) as s:
        body = dict(GOOD, job_id="mine", input="first")
        equal(submit(s, body).status, 202)
        other = dict(GOOD, job_id="mine", input="second")
        for state in ("queued", "running", "succeeded"):
            equal(s.state("mine"), state)
            for a in (submit(s, body), submit(s, other)):
                equal((a.status, a.json), (409, {"detail": "Job already exists: mine"}))
            equal(s.post("/v1/jobs", {"agent": "pull", "job_id": "mine"}).status, 409)
            if state == "queued":
                lease = Worker(s).lease()
                equal(lease.order["input"], "first", "the job of before is not touched")
            elif state == "running":
                lease.finish()
        equal(len(s.get("/v1/jobs").json["jobs"]), 1)


# Edge case 2.
@case
def one_of_many_at_once_gets_the_id():
    with Server(agents={"pull": PULL}) as s:
        answers = at_once(*[lambda i=i: submit(s, dict(GOOD, job_id="race", input=f"{i}")) for i in range(16)])
        equal(sorted(a.status for a in answers), [202] + [409] * 15)
        won = [i for i, a in enumerate(answers) if a.status == 202][0]
        equal(Worker(s).lease().order["input"], f"{won}")


# --- not found ------------------------------------------------------------------------------


# Edge cases 9, 16.
@case
def unknown_jobs_are_404():
    with Server(agents={"pull": PULL}) as s:
        for id, shown in (("nope", "nope"), ("a%20b%22", "a b\""), ("x" * 90, "x" * 90), ("%C3%A9", "é")):
            for method, path in (("GET", ""), ("GET", "/stream"), ("GET", "/stream/5"), ("POST", "/cancel"),
                                 ("GET", "/state"), ("GET", "/report")):
                a = s.request(method, f"{ASYNC}/job/{id}{path}")
                equal((a.status, a.headers["content-type"]), (404, "application/json"), f"{method} {path}")
                equal(a.json, {"detail": f"Job not found: {shown}"}, f"{method} {path}")
        a = s.get(f"{ASYNC}/job/nope/stream/abc")
        equal(a.status, 422, "the path is looked at before the job")


@case
def unknown_routes_and_methods():
    with Server() as s:
        for path in ("/v1/jobs/async/nothing", "/v1/nothing", "/v1/jobs/async/job/x/nothing"):
            a = s.get(path)
            equal((a.status, a.detail), (404, "Not Found"), path)
        a = s.post(f"{ASYNC}/agents", {})
        equal((a.status, a.detail), (405, "Method Not Allowed"))
        equal(sorted(a.headers["allow"].split(", ")), ["GET", "HEAD", "OPTIONS"])
        a = s.get(f"{ASYNC}/submit")
        equal(a.status, 405)
        contains(a.headers["allow"], "POST")


# Edge case 24.
@case
def ids_in_the_path_are_integers():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        for bad in ("abc", "5.5", "1e3", "%20", "1__", "--1", "0x10", "²"):
            path = f"{ASYNC}/job/{id}/stream/{bad}" if bad != "²" else f"{ASYNC}/job/{id}/stream/%C2%B2"
            a = s.get(path)
            equal(a.status, 422, f"{bad}: {a!r}")
            d = a.detail
            equal((len(d), d[0]["type"], d[0]["loc"]), (1, "int_parsing", ["path", "last_event_id"]), bad)
            equal(d[0]["msg"], "Input should be a valid integer, unable to parse string as an integer")
        for good, want in (("-1", 0), ("+5", 5), ("5.0", 5), ("1_0", 10), ("0", 0), ("007", 7), ("-7", 0)):
            with s.aiq(id, good) as st:
                st.rest()
                equal(st.status, 200, good)
                first = int(st.stored[0].id)
                equal(first, max(want + 1, 2), f"the first id after {good} (record 1 has no frame)")


# --- status --------------------------------------------------------------------------------


# Edge case 10.
@case
def the_status_of_every_state():
    with Server(agents={"pull": PULL}) as s:
        w = Worker(s)

        def fresh(id):
            equal(submit(s, dict(GOOD, job_id=id)).status, 202)
            return w.lease()

        equal(submit(s, dict(GOOD, job_id="queued")).status, 202)
        equal(status(s, "queued")["status"], "SUBMITTED")
        w.lease()
        equal(status(s, "queued")["status"], "RUNNING")

        fresh("ok").finish()
        lease = fresh("bad")
        equal(lease.finish("failure", error="the disk is full", error_type="OSError"), "failed")
        lease = fresh("asks")
        lease.send(root_start(), interrupt())
        equal(lease.finish("interrupted"), "waiting")
        fresh("stopped")
        equal(s.post(f"{ASYNC}/job/stopped/cancel").status, 200)

        got = {id: status(s, id) for id in ("ok", "bad", "asks", "stopped")}
        equal({id: j["status"] for id, j in got.items()},
              {"ok": "SUCCESS", "bad": "FAILURE", "asks": "RUNNING", "stopped": "INTERRUPTED"})
        equal(got["bad"]["error"], "the disk is full")
        equal(got["ok"]["error"], None)
        for j in got.values():
            equal((list(j), j["agent_type"]), (["job_id", "status", "agent_type", "error", "created_at"], "pull"))
            check(TIME.fullmatch(j["created_at"]), j)


# --- cancel ---------------------------------------------------------------------------------


def cancel(s, id, want=200):
    a = s.post(f"{ASYNC}/job/{id}/cancel")
    equal(a.status, want, repr(a))
    return a


def endings(frames):
    return [(f.event, f.json.get("status")) for f in frames if f.id and f.event.startswith("job.")]


CANCELLED = [("job.cancellation_requested", None), ("job.cancelled", None), ("job.status", "INTERRUPTED")]


# Edge cases 18, 39, 41.
@case
def cancelling_a_queued_job_ends_it():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="q")
        with s.aiq("q") as live:
            live.until_event("job.status")
            equal(cancel(s, "q").body, b'{"job_id":"q","status":"INTERRUPTED","task_cancelled":false}')
            live.rest()
            equal((live.ended, endings(live.frames)), ("clean", CANCELLED))
        equal(s.state("q"), "cancelled")
        equal(endings(s.read("q", "aiq")), CANCELLED)
        equal(Worker(s).ask(wait=0).status, 204, "nobody gets it")
        for _ in range(3):
            equal(cancel(s, "q").json, {"job_id": "q", "status": "INTERRUPTED", "task_cancelled": False})
        equal(endings(s.read("q", "aiq")), CANCELLED, "repeats leave no trace")


# Edge cases 40, 41.
@case
def cancelling_a_running_job_asks_its_worker():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="r")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.aiq("r") as live:
            live.until_id(4)
            equal(cancel(s, "r").body, b'{"job_id":"r","status":"INTERRUPTED","task_cancelled":true}')
            live.until_event("job.cancellation_requested")
            equal(status(s, "r")["status"], "INTERRUPTED", "said at once")
            equal(s.state("r"), "running", "though the worker has not stopped yet")
            equal(cancel(s, "r").json["task_cancelled"], True, "asking again is fine")
            equal(lease.send(token("late"))["cancel"], True)
            equal(lease.beat()["cancel"], True)
            equal(lease.finish("cancelled"), "cancelled")
            live.rest()
            equal((live.ended, endings(live.frames)), ("clean", CANCELLED))
            events = [f.event for f in live.stored]
            check(events.index("job.cancellation_requested") < events.index("llm.chunk") < events.index("job.cancelled"),
                  f"what came in between is kept: {events}")
        equal(cancel(s, "r").json["task_cancelled"], False, "no worker has it any more")
        equal([f.event for f in s.read("r", "aiq") if f.event == "workflow.end"], ["workflow.end"] * 2, "runs are closed")


# Edge case 43.
@case
def a_cancel_wins_over_a_later_finish():
    with Server(agents={"pull": PULL}) as s:
        for end in ("success", "failure", "interrupted"):
            s.submit(job_id=end)
            lease = Worker(s).lease()
            lease.send(*STORY)
            cancel(s, end)
            equal(lease.finish(end, error="too late"), "cancelled", end)
            equal(status(s, end)["status"], "INTERRUPTED")
            equal(endings(s.read(end, "aiq")), CANCELLED)


@case
def a_cancel_wins_over_the_workers_own_word():
    with Server(agents={"pull": PULL}) as s:
        for word in ({"type": "job.done"}, {"type": "job.failed", "error": "own"}):
            id = s.submit()
            lease = Worker(s).lease()
            lease.send(*STORY)
            cancel(s, id)
            equal(lease.send(word)["cancel"], True)
            equal(s.state(id), "cancelled", word)
            equal(endings(s.read(id, "aiq")), CANCELLED)


# Edge case 42.
@case
def cancelling_what_has_ended_is_409():
    with Server(agents={"pull": PULL}) as s:
        for end, word in (("success", "SUCCESS"), ("failure", "FAILURE")):
            s.submit(job_id=end)
            Worker(s).lease().finish(end)
            before = s.read(end)
            a = cancel(s, end, 409)
            equal(a.json, {"detail": f"Job not running: {end} (status: {word})"})
            equal(s.read(end), before)
            equal(status(s, end)["status"], word)


@case
def cancelling_a_job_that_waits_for_an_answer():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="w")
        lease = Worker(s).lease()
        lease.send(root_start(), interrupt())
        equal(lease.finish("interrupted"), "waiting")
        with s.aiq("w") as live:
            live.until_event("job.status")
            equal(cancel(s, "w").json["task_cancelled"], False)
            live.rest()
            equal(endings(live.frames)[-3:], CANCELLED)
        equal(s.state("w"), "cancelled")


@case
def a_cancel_needs_no_body_and_ignores_one():
    with Server(agents={"pull": PULL}) as s:
        for i, body in enumerate((b"", b"{}", b"nonsense", b"[1")):
            s.submit(job_id=f"c{i}")
            equal(s.post(f"{ASYNC}/job/c{i}/cancel", body).status, 200)


# Edge case 43.
@case
def a_cancel_races_with_success():
    with Server(agents={"pull": PULL}) as s:
        seen = set()
        for i in range(40):
            id = s.submit(job_id=f"race{i}")
            lease = Worker(s).lease()
            lease.send(*STORY)
            calls = [lambda: s.post(f"{ASYNC}/job/{id}/cancel"), lambda: lease.try_finish()]
            if i % 2:
                calls.reverse()
            answers = at_once(*calls)
            if i % 2:
                answers.reverse()
            stop, finish = answers
            end = s.until_state(id, "succeeded", "cancelled")["state"]
            equal(stop.status, 200 if end == "cancelled" else 409, f"{end}: {stop!r}")
            equal(finish.status, 200, repr(finish))
            equal(finish.json["state"], end)
            want = CANCELLED if end == "cancelled" else [("job.status", "SUCCESS")]
            equal(endings(s.read(id, "aiq")), want)
            seen.add(end)
        check(seen, seen)


@case
def any_connection_cancels_at_the_first_token():
    """The demo, in its own process: no further token comes, and the process is gone."""
    with Server() as s:
        id = s.submit("demo", {"issue": "x", "speed": 0.5, "length": 5000})
        with s.stream(id, "agent") as st:
            st.until_event("agent.token")
            cancel(s, id)
            st.rest()
            equal(st.ended, "clean")
            end = st.frames[-1].json
            equal((end["type"], end["status"]), ("job.failed", "cancelled"))
        equal(s.state(id), "cancelled")


# --- state and report ------------------------------------------------------------------------


def state(s, id):
    a = s.get(f"{ASYNC}/job/{id}/state")
    equal(a.status, 200, repr(a))
    return a.json


def report(s, id):
    a = s.get(f"{ASYNC}/job/{id}/report")
    equal(a.status, 200, repr(a))
    return a.json


def artifact(type, content, name=None, **data):
    return {"type": "artifact.update", "name": name, "data": dict({"type": type, "content": content}, **data)}


# Edge case 11.
@case
def nothing_yet():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        for _ in range(2):
            equal(state(s, "j"), {"job_id": "j", "has_state": False, "state": None, "artifacts": None})
            equal(report(s, "j"), {"job_id": "j", "has_report": False, "report": None})
            lease = Worker(s).lease() if s.state("j") == "queued" else lease
        lease.finish("failure", error="x")
        equal(state(s, "j")["artifacts"], None)
        equal(report(s, "j"), {"job_id": "j", "has_report": False, "report": None})


@case
def tools_are_paired():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        two = dict(tool_start("web", {"q": "ä"}), run_id="run-2")
        lease.send(*OPENING, tool_start(), two, tool_end())
        tools = state(s, "j")["artifacts"]["tools"]
        equal([list(t) for t in tools], [["id", "name", "input", "output", "status", "workflow", "timestamp"]] * 2)
        got = {t["id"]: (t["name"], t["input"], t["output"], t["status"], t["workflow"]) for t in tools}
        equal(got, {"run-tool": ("grep", {"q": 1}, "found", "completed", "investigator"),
                    "run-2": ("web", {"q": "ä"}, None, "running", "investigator")})
        error = dict(two, event="on_tool_error", data={"error": "no net"})
        lease.send(error, *CLOSING)
        lease.finish()
        equal({t["id"]: t["status"] for t in state(s, "j")["artifacts"]["tools"]},
              {"run-tool": "completed", "run-2": "error"})


@case
def any_number_of_tools_may_be_open():
    with Server("--durability", "relaxed", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        ids = [f"run-{i}" for i in range(3000)]
        lease.send(*OPENING, *(dict(tool_start(), run_id=id) for id in ids))
        equal([(t["id"], t["status"]) for t in state(s, "j")["artifacts"]["tools"]], [(id, "running") for id in ids])
        lease.send(*(dict(tool_end(output=id), run_id=id) for id in ids[::-2]))
        tools = state(s, "j")["artifacts"]["tools"]
        equal([t["id"] for t in tools], ids[::-2] + ids[::2], "as they ended, then those that run")
        equal([t["output"] for t in tools[:1500]], ids[::-2])


@case
def artifacts_are_folded():
    todo = [{"content": "look", "status": "completed"}, {"content": "write", "status": "pending"}]
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(root_start(), artifact("todo", todo[:1]), artifact("file", "text", "a.md", file_path="a.md"),
                   artifact("citation_source", "https://e.com/x", "https://e.com/x", url="https://e.com/x", tool="web"),
                   artifact("citation_use", "https://e.com/x", "https://e.com/x", url="https://e.com/x"),
                   artifact("output", "a draft", output_category="draft"), artifact("todo", todo),
                   artifact("output", "# first", output_category="final_report"),
                   artifact("output", "# The \"report\"\n", output_category="final_report"))
        got = state(s, "j")
        equal((got["has_state"], got["state"]), (True, None))
        a = got["artifacts"]
        equal(list(a)[:3], ["tools", "outputs", "sources"])
        equal(a["todos"], todo, "the newest list")
        equal([f["file_path"] for f in a["files"]], ["a.md"])
        equal(a["sources"], {"found": 1, "cited": 1, "found_urls": ["https://e.com/x"], "cited_urls": ["https://e.com/x"]})
        outputs = [o for o in a["outputs"] if o["type"] == "output"]
        equal([o["output_category"] for o in outputs], ["draft", "final_report", "final_report"])
        for o in a["outputs"]:
            check(TIME.fullmatch(o["timestamp"]) and "content" in o and "name" in o, o)
        equal(report(s, "j"), {"job_id": "j", "has_report": True, "report": "# The \"report\"\n"}, "also while it runs")
        lease.finish()
        equal(report(s, "j")["report"], "# The \"report\"\n")


@case
def sources_are_the_urls_of_citations():
    """Of what workers announce themselves, too: not its name, and each URL once."""
    a, b, c = (f"https://e.com/{x}" for x in "abc")
    with Server(agents={"pull": PULL}) as s:
        id = play(s, [root_start(), artifact("citation_source", "A page", "c", url=a), artifact("citation_source", b, url=b),
                      artifact("citation_source", "again", "c", url=a), artifact("citation_source", c, "n"),
                      artifact("citation_source", "no URL at all"), artifact("citation_use", "[1]", "c", url=a),
                      artifact("citation_use", "a word", b), artifact("citation_use", "a word", "c"), root_end()])
        equal(state(s, id)["artifacts"]["sources"],
              {"found": 3, "cited": 2, "found_urls": [a, b, c], "cited_urls": [a, b]})


@case
def what_an_artifact_says_of_itself_comes_once():
    """The list puts a name and a time before what was sent: no member twice, and none is needed."""
    def named(name, **data):
        return {"type": "artifact.update", "name": name, "data": dict(data, type="output", name="inner")}

    with Server(agents={"pull": PULL}) as s:
        id = play(s, [root_start(), named("outer", content="x", timestamp="then"), named(None, content="y"),
                      {"type": "artifact.update", "data": {}}, root_end()])
        outputs = state(s, id)["artifacts"]["outputs"]
        equal([(o["name"], o.get("content")) for o in outputs], [("outer", "x"), ("inner", "y"), (None, None)])
        check(all(o["timestamp"] != "then" for o in outputs))


# Edge case 14.
@case
def single_artifacts():
    with Server(agents={"pull": PULL}) as s:
        todo = [{"content": "look", "status": "pending"}]
        url = "https://e.com/x"
        for artifacts, want in (([artifact("todo", todo)], {"todos": todo}),
                                ([artifact("citation_use", url, url, url=url)],
                                 {"sources": {"found": 0, "cited": 1, "found_urls": [], "cited_urls": [url]}})):
            id = play(s, [root_start(), *artifacts, root_end()])
            got = state(s, id)
            equal(got["has_state"], True)
            equal({k: got["artifacts"][k] for k in want}, want)
            equal(got["artifacts"]["tools"], [])


# Edge case 15.
@case
def what_a_cancelled_job_has_made_is_kept():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING, tool_start(), artifact("output", "half a report", output_category="final_report"))
        cancel(s, "j")
        lease.finish("cancelled")
        equal(report(s, "j"), {"job_id": "j", "has_report": True, "report": "half a report"})
        equal([t["status"] for t in state(s, "j")["artifacts"]["tools"]], ["cancelled"])


# Edge case 12.
@case
def an_empty_report_is_none():
    with Server(agents={"pull": PULL}) as s:
        id = play(s, [root_start(), artifact("output", "", output_category="final_report"), root_end()])
        equal(report(s, id), {"job_id": id, "has_report": False, "report": ""})


# Edge case 13.
@case
def the_report_is_the_final_output_when_there_is_no_artifact():
    with Server(agents={"pull": PULL}) as s:
        id = play(s, [root_start(), root_end("the final words")])
        equal(report(s, id), {"job_id": id, "has_report": True, "report": "the final words"})
        messages = {"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "an answer"}]}
        id = play(s, [root_start(), root_end(messages)])
        equal(report(s, id), {"job_id": id, "has_report": True, "report": "an answer"})
        id = play(s, [root_start(), root_end({"ok": True})])
        equal(report(s, id)["has_report"], False, "an object is no text")


@case
def the_report_of_a_worker_without_a_graph_is_its_last_output():
    """Events of `aiq`, and of the envelope: neither has a root run."""
    def native(type, id, name, **data):
        return {"type": type, "id": id, "name": name, "timestamp": "2026-02-16T10:30:00Z", "data": data, "metadata": {}}

    def envelope(event, **data):
        return {"event": event, "timestamp": "2025-12-03T10:15:30Z", "run_id": "run-abc123", "data": data}

    with Server(agents={"pull": PULL}) as s:
        id = play(s, [native("workflow.start", "w", "deep_researcher", input="q"),
                      native("tool.start", "t", "tavily_web_search", input={"query": "x"}),
                      native("tool.end", "t", "tavily_web_search", output="a page"),
                      native("workflow.end", "w", "deep_researcher", output="The report.")])
        equal(report(s, id), {"job_id": id, "has_report": True, "report": "The report."})
        id = play(s, [native("tool.start", "t", "tavily_web_search", input={"query": "x"}),
                      native("tool.end", "t", "tavily_web_search", output="a page")])
        equal(report(s, id)["has_report"], False, "a tool's output is not the report")
        id = play(s, [envelope("on_chain_start", chain_name="plan_and_execute", node_id="check_and_execute", metadata=None),
                      envelope("on_tool_start", tool_id="bing_search", tool_name="bing_search", input={}),
                      envelope("on_tool_end", tool_id="bing_search", output=None, error="HTTP 429 Too Many Requests",
                               duration_ms=1200),
                      envelope("on_chain_end", node_id="check_and_execute", result={"answer": "Suyab"}, error=None,
                               duration_ms=20000)])
        equal(report(s, id), {"job_id": id, "has_report": True, "report": "Suyab"})


# Edge case 13.
@case
def an_output_that_is_no_json_is_refused():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        for output in (b"nonsense", b"{", b"", b"NaN x"):
            a = s.post(lease.path("finish"), b'{"status":"success","output":' + output + b"}")
            equal(a.status, 422, repr(a))
        equal((s.state("j"), report(s, "j")["has_report"]), ("running", False))
        equal(lease.finish(), "succeeded")


@case
def the_demo_has_everything():
    with Server() as s:
        id = s.submit("demo", {"issue": "API returns 500", "speed": 0})
        s.until_state(id, "succeeded")
        a = state(s, id)["artifacts"]
        check(a["tools"] and a["todos"] and a["files"] and a["sources"]["found"] and a["outputs"], list(a))
        check(all(t["status"] == "completed" for t in a["tools"]), a["tools"])
        r = report(s, id)
        check(r["has_report"] and len(r["report"]) > 100, r)
