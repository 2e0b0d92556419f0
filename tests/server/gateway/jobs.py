"""Our own job API, /v1/jobs: submit, list, show, delete; Idempotency-Key; HEAD; health."""

import os
import time

from gateway import (OPENING, PULL, STORY, Server, Stream, Worker, at_once, interrupt, play, request_bytes, read_answer, root_end,
                     root_start, until)
from harness import DIALECTS, case, cases, check, contains, equal

MEMBERS = ["job_id", "agent", "owner", "state", "outcome", "error", "error_type", "attempt", "worker", "cancel_requested", "events",
           "created_at", "started_at", "finished_at", "expires_at", "expired", "set_aside"]


def problem(a, status):
    equal((a.status, a.headers["content-type"]), (status, "application/problem+json"), repr(a))
    equal(list(a.json), ["type", "title", "status", "detail"])
    equal(a.json["status"], status)
    return a.detail


@case
def a_jobs_members_from_queue_to_end():
    with Server(agents={"pull": PULL}) as s:
        a = s.post("/v1/jobs", {"agent": "pull", "input": {"a": [1, 2.50, None]}, "job_id": "j"})
        equal((a.status, a.headers["content-type"], a.headers["location"]), (202, "application/json", "/v1/jobs/j"))
        j = a.json
        equal(list(j), MEMBERS)
        equal((j["agent"], j["state"], j["attempt"], j["worker"], j["started_at"], j["finished_at"]),
              ("pull", "queued", 0, None, None, None))
        lease = Worker(s, name="worker-7").lease()
        equal(lease.order["input"], {"a": [1, 2.5, None]})
        j = s.job("j")
        equal((j["state"], j["attempt"], j["worker"]), ("running", 1, "worker-7"))
        lease.send(*STORY)
        equal(s.job("j")["events"], 12)
        lease.finish("failure", error="broke", error_type="ValueError")
        j = s.job("j")
        equal(list(j), [*MEMBERS, "details", "output"])
        equal((j["state"], j["error"], j["error_type"], j["worker"]), ("failed", "broke", "ValueError", "worker-7"))
        check(j["created_at"] <= j["started_at"] <= j["finished_at"], j)


@case
def numbers_of_an_input_pass_byte_for_byte():
    with Server(agents={"pull": PULL}) as s:
        a = s.post("/v1/jobs", b'{"agent":"pull","input":{"n":[1.0,12345678901234567890123,1e400,-0]}}')
        equal(a.status, 202, repr(a))
        contains(Worker(s).ask().body, b'"input":{"n":[1.0,12345678901234567890123,1e400,-0]}')


@case
def an_input_is_optional():
    with Server(agents={"pull": PULL}) as s:
        equal(s.post("/v1/jobs", {"agent": "pull"}).status, 202)
        equal(Worker(s).lease().order["input"], None)


@cases([b"", b"[]", b"{", b"7", b"{}", b'{"agent":""}', b'{"agent":5}', b'{"agent":"pull","job_id":"a b"}',
        b'{"agent":"pull","job_id":""}', b'{"agent":"pull","job_id":5}', b'{"agent":"pull","expiry_seconds":-1}',
        b'{"agent":"pull","expiry_seconds":604801}'], repr)
def bad_submits_are_422(body):
    with Server(agents={"pull": PULL}) as s:
        problem(s.post("/v1/jobs", body), 422)
        equal(s.get("/v1/jobs").json["jobs"], [])


@case
def errors_are_problems():
    with Server(agents={"pull": PULL}) as s:
        contains(problem(s.post("/v1/jobs", {"agent": "nope"}), 400), "nope")
        equal(problem(s.get("/v1/jobs/nope"), 404), "Job not found: nope")
        equal(problem(s.get("/v1/jobs/nope/events"), 404), "Job not found: nope")
        equal(problem(s.request("DELETE", "/v1/jobs/nope"), 404), "Job not found: nope")
        equal(problem(s.post("/v1/jobs/nope/cancel"), 404), "Job not found: nope")
        contains(problem(s.get("/v1/jobs?state=sleeping"), 422), "queued, running, waiting, succeeded, failed or cancelled")
        s.submit(job_id="j")
        contains(problem(s.get("/v1/jobs/j/events?dialect=klingon"), 422), "klingon")
        for query, words in {"modes=values,upates": ("upates", "updates"), "modes=,": ("mode ''",), "subgraphs=yes": ("subgraphs", "'yes'"),
                             "subgraphs=": ("subgraphs", "true or false"), "envelope=2": ("envelope", "'2'"), "wait=soon": ("wait", "'soon'"),
                             "wait=0&limit=x": ("limit", "'x'"), "format=xml": ("format", "ndjson")}.items():
            contains(problem(s.get(f"/v1/jobs/j/events?dialect=messages&{query}"), 422), *words)
        contains(problem(s.get("/v1/jobs/j?wait=soon"), 422), "wait", "'soon'")
        contains(problem(s.get("/v1/jobs/j/events?after=abc"), 422), "after")
        contains(problem(s.request("PUT", "/v1/jobs/j"), 405), "Method Not Allowed")


@case
def cancel_in_our_own_words():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        Worker(s).lease()
        j = s.post("/v1/jobs/j/cancel").json
        equal((list(j), j["state"], j["cancel_requested"]), (MEMBERS, "running", True))
        play_id = play_other(s)
        equal(problem(s.post(f"/v1/jobs/{play_id}/cancel"), 409), f"Job not running: {play_id} (status: succeeded)")


def play_other(s):
    s.submit(job_id="other")
    Worker(s).lease().finish()
    return "other"


@case
def numbers_that_are_none_are_told():
    """Not taken for the default."""
    with Server(agents={"pull": PULL}) as s:
        for query in ("limit=abc", "limit=-1", "limit=1e3", "after=abc", "after=9" + "9" * 20):
            contains(problem(s.get("/v1/jobs?" + query), 422), query.partition("=")[0], "whole number")
        for seconds in ("soon", 0, -1, 1.5, [1], True, 604801):
            a = s.post("/v1/jobs", {"agent": "pull", "expiry_seconds": seconds})
            equal(problem(a, 422), '"expiry_seconds" must be from 1 to 604800', seconds)
        equal(s.get("/v1/jobs?limit=&after=").json["jobs"], [])


# --- the list ------------------------------------------------------------------------------


@case
def the_list_has_filters_and_pages():
    with Server(agents={"a": PULL, "b": PULL}) as s:
        for i in range(7):
            s.submit("a", job_id=f"a{i}")
        for i in range(3):
            s.submit("b", job_id=f"b{i}")
        for _ in range(2):
            Worker(s, "a").lease().finish()
        Worker(s, "a").lease()
        s.post("/v1/jobs/b1/cancel")

        def ids(query=""):
            a = s.get("/v1/jobs" + query)
            equal(a.status, 200, repr(a))
            equal(list(a.json), ["jobs", "next"])
            check(all(list(j) == MEMBERS for j in a.json["jobs"]))
            return [j["job_id"] for j in a.json["jobs"]], a.json["next"]

        newest_first = [f"b{i}" for i in (2, 1, 0)] + [f"a{i}" for i in range(6, -1, -1)]
        equal(ids(), (newest_first, None))
        equal(ids("?agent=b"), (["b2", "b1", "b0"], None))
        equal(ids("?state=succeeded"), (["a1", "a0"], None))
        equal(ids("?state=running"), (["a2"], None))
        equal(ids("?state=cancelled&agent=b"), (["b1"], None))
        equal(ids("?agent=nobody"), ([], None))
        for limit in (1, 3, 4, 10, 11):
            seen, next = [], None
            for _ in range(20):
                page, next = ids(f"?limit={limit}" + (f"&after={next}" if next else ""))
                seen += page
                check(len(page) <= limit)
                if next is None:
                    break
            equal(seen, newest_first, f"pages of {limit}")
        page, next = ids("?state=queued&limit=2")
        s.submit("a", job_id="new")
        more, _ = ids(f"?state=queued&limit=50&after={next}")
        equal(page + more, ["b2", "b0", "a6", "a5", "a4", "a3"], "what is new does not move the pages")


# --- deleting --------------------------------------------------------------------------------


@case
def deleting_a_job_in_every_state():
    with Server(agents={"pull": PULL}) as s:
        w = Worker(s)

        def gone(id):
            a = s.request("DELETE", f"/v1/jobs/{id}")
            equal((a.status, a.body), (204, b""), id)
            equal(s.get(f"/v1/jobs/{id}").status, 404)
            equal(s.get(f"/v1/jobs/{id}/events").status, 404)
            equal(s.request("DELETE", f"/v1/jobs/{id}").status, 404)
            check(id not in [j["job_id"] for j in s.get("/v1/jobs").json["jobs"]])

        s.submit(job_id="queued")
        gone("queued")
        equal(w.ask(wait=0).status, 204)
        s.submit(job_id="running")
        lease = w.lease()
        lease.send(*OPENING)
        gone("running")
        for a in (lease.try_append("{}"), lease.try_beat(), lease.try_finish(), lease.hand_back()):
            check(a.status in (404, 409), repr(a))
        s.submit(job_id="done")
        w.lease().finish()
        gone("done")
        equal(s.submit(job_id="running"), "running", "its id is free again")
        equal(s.job("running")["events"], 1)
        equal(w.lease().job, "running")


# Edge case 35.
@cases(DIALECTS)
def readers_of_a_deleted_job_are_cut(dialect):
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING)
        with s.stream("j", dialect) as st:
            st.until("the first frames", lambda st: st.stored)
            equal(s.request("DELETE", "/v1/jobs/j").status, 204)
            st.rest()
            check(st.ended != "clean", "a deleted job is not a finished one")
            last = st.stored[-1].id
        equal(s.stream("j", dialect, header=last).status, 404, "which ends a browser's EventSource")


@case
def a_running_process_ends_with_its_deleted_job():
    with Server(agents={"sh": {"command": ["sh", "-c", "echo '{\"type\":\"on\"}'; exec sleep 60"]}}) as s:
        id = s.submit("sh")
        s.until_state(id, "running")

        def sleepers():
            out = []
            for tid in os.listdir(f"/proc/{s.pid}/task"):
                try:
                    with open(f"/proc/{s.pid}/task/{tid}/children") as f:
                        out += f.read().split()
                except FileNotFoundError:
                    pass
            return out
        until("the process", sleepers)
        equal(s.request("DELETE", f"/v1/jobs/{id}").status, 204)
        until("it is gone", lambda: not sleepers())


# --- once only ----------------------------------------------------------------------------


@case
def the_same_key_and_body_is_the_same_job():
    with Server(agents={"pull": PULL}) as s:
        key = {"Idempotency-Key": "k-1"}
        body = b'{"agent":"pull","input":"once"}'
        first = s.post("/v1/jobs", body, headers=key)
        equal(first.status, 202)
        again = s.post("/v1/jobs", body, headers=key)
        check(again.status in (200, 202), repr(again))
        equal(again.json["job_id"], first.json["job_id"])
        lease = Worker(s).lease()
        equal(s.post("/v1/jobs", body, headers=key).json["state"], "running", "as it is now")
        equal(Worker(s).ask(wait=0).status, 204, "there is one only")
        lease.finish()
        equal(s.post("/v1/jobs", body, headers=key).json["state"], "succeeded")
        other = s.post("/v1/jobs", b'{"agent":"pull","input":"twice"}', headers=key)
        equal(problem(other, 409), "this Idempotency-Key was used with another request")
        equal(s.post("/v1/jobs", body, headers={"Idempotency-Key": "k-2"}).status, 202)
        equal(len(s.get("/v1/jobs").json["jobs"]), 2)
        s.restart()
        equal(s.post("/v1/jobs", body, headers=key).json["job_id"], first.json["job_id"], "also after a restart")


@case
def the_same_key_at_the_same_time():
    with Server(agents={"pull": PULL}) as s:
        for round in range(3):
            key = {"Idempotency-Key": f"r{round}"}
            answers = at_once(*[lambda: s.post("/v1/jobs", {"agent": "pull", "input": round}, headers=key)] * 20)
            check(all(a.status in (200, 202) for a in answers), answers)
            equal(len({a.json["job_id"] for a in answers}), 1)
        equal(len(s.get("/v1/jobs").json["jobs"]), 3)


@case
def keys_on_the_asynchronous_route():
    with Server(agents={"pull": PULL}) as s:
        body = {"agent_type": "pull", "input": "x"}
        key = {"Idempotency-Key": "k"}
        ids = {s.post("/v1/jobs/async/submit", body, headers=key).json["job_id"] for _ in range(3)}
        equal(len(ids), 1)
        a = s.post("/v1/jobs/async/submit", dict(body, input="y"), headers=key)
        equal((a.status, a.detail), (409, "this Idempotency-Key was used with another request"))


@case
def long_keys_are_not_mixed_up():
    with Server(agents={"pull": PULL}) as s:
        long = "k" * 250
        one = s.post("/v1/jobs", {"agent": "pull"}, headers={"Idempotency-Key": long + "1"})
        two = s.post("/v1/jobs", {"agent": "pull"}, headers={"Idempotency-Key": long + "2"})
        if one.status == 202:
            check(two.json.get("job_id") != one.json["job_id"], "two keys, two jobs")
        else:
            check(400 <= one.status < 500, repr(one))


@case
def a_key_with_a_taken_id_is_refused():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        a = s.post("/v1/jobs", {"agent": "pull", "job_id": "j"}, headers={"Idempotency-Key": "k"})
        equal(problem(a, 409), "Job already exists: j")


# --- waiting ----------------------------------------------------------------------------------


@case
def waiting_for_the_result():
    agents = {"quick": {"command": ["sh", "-c", "read job"]}, "pull": PULL, "bad": {"command": ["sh", "-c", "echo oh no >&2; exit 4"]}}
    with Server(agents=agents) as s:
        a = s.post("/v1/jobs?wait=20", {"agent": "quick", "job_id": "q"})
        equal((a.status, a.json["job_id"], a.json["state"]), (200, "q", "succeeded"), repr(a))
        a = s.post("/v1/jobs?wait=20", {"agent": "bad"})
        equal((a.status, a.json["state"], a.json["error"]), (200, "failed", "oh no"), repr(a))
        equal(a.json["details"], {"exit_status": 4, "stderr": "oh no"})
        start = time.monotonic()
        a = s.post("/v1/jobs?wait=1", {"agent": "pull", "job_id": "p"})
        equal((a.status, a.json["state"]), (202, "queued"), repr(a))
        check(time.monotonic() - start >= 0.9, "it waited")
        a = s.post("/v1/jobs?wait=0", {"agent": "pull"})
        equal(a.status, 202)

        def work():
            lease = Worker(s).lease()
            while lease.job != "w":
                lease = Worker(s).lease()
            lease.send(root_start(), root_end("the words"))
            lease.finish()
        a, _ = at_once(lambda: s.post("/v1/jobs?wait=20", {"agent": "pull", "job_id": "w"}), work)
        equal((a.status, a.json["state"]), (200, "succeeded"))
        contains(a.body, b"the words")
        for bad in ("x", "-1"):
            contains(problem(s.post(f"/v1/jobs?wait={bad}", {"agent": "pull"}), 422), "wait", bad)


@case
def the_result_of_a_job_without_a_root():
    """The envelope and the events of `aiq` have no root run: the last execution has the output."""
    def workflow(state, id, data):
        return {"type": f"workflow.{state}", "id": id, "name": id, "data": data, "metadata": {}}

    with Server(agents={"pull": PULL}) as s:
        id = play(s, [workflow("start", "planner", {}), workflow("end", "planner", {"output": "a plan"}),
                      workflow("start", "writer", {}),
                      {"type": "tool.start", "id": "t", "name": "web", "data": {"input": {}}, "metadata": {}},
                      {"type": "tool.end", "id": "t", "name": "web", "data": {"output": "a page"}, "metadata": {}},
                      workflow("end", "writer", {"output": {"report": "The report."}}),
                      workflow("start", "checker", {}), workflow("end", "checker", {"output": "half", "error": "no"})])
        a = s.get(f"/v1/jobs/{id}?wait=20").json
        equal((a["output"], a["report"], a["details"]), ({"report": "The report."}, "The report.", None))


@case
def what_waiting_waits_for():
    """The end of the job, however it ends; a question is not the end."""
    with Server(agents={"pull": PULL}) as s:
        def stop():
            until("the job", lambda: s.get("/v1/jobs/c").status == 200)
            s.post("/v1/jobs/c/cancel")
        a, _ = at_once(lambda: s.post("/v1/jobs?wait=20", {"agent": "pull", "job_id": "c"}), stop)
        equal((a.status, a.json["state"]), (200, "cancelled"))

        def ask():
            lease = Worker(s).lease()
            lease.send(root_start(), interrupt())
            lease.finish("interrupted")
        a, _ = at_once(lambda: s.post("/v1/jobs?wait=3", {"agent": "pull", "job_id": "q"}), ask)
        equal((a.status, a.json["state"]), (202, "waiting"))
        key = {"Idempotency-Key": "k"}
        first = s.post("/v1/jobs", {"agent": "pull"}, headers=key).json["job_id"]

        def work():
            equal(Worker(s).lease().finish(), "succeeded")
        a, _ = at_once(lambda: s.post("/v1/jobs?wait=20", {"agent": "pull"}, headers=key), work)
        equal((a.status, a.json["job_id"], a.json["state"]), (200, first, "succeeded"), "with the same key: the same job")


@case
def who_waits_and_leaves_does_not_stop_the_job():
    with Server(agents={"pull": PULL}) as s:
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "POST", "/v1/jobs?wait=30", {"agent": "pull", "job_id": "j"}))
            until("the job", lambda: s.get("/v1/jobs/j").status == 200)
        lease = Worker(s).lease()
        lease.send(*STORY)
        equal(lease.finish(), "succeeded")


# --- HEAD, health, the rest -----------------------------------------------------------------


@case
def head_is_get_without_a_body():
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        s.submit(job_id="open")
        plain = ["/", "/livez", "/readyz", "/v1/dialects", "/v1/jobs", f"/v1/jobs/{id}", "/v1/jobs/async/agents",
                 f"/v1/jobs/async/job/{id}", f"/v1/jobs/async/job/{id}/state", f"/v1/jobs/async/job/{id}/report",
                 "/v1/jobs/nope", "/v1/jobs/async/job/nope/stream"]
        streams = [f"/v1/jobs/{id}/events", f"/v1/jobs/async/job/{id}/stream", f"/v1/jobs/async/job/{id}/stream/3",
                   "/v1/jobs/open/events?dialect=aiq", "/v1/jobs/async/job/open/stream"]
        for path in plain:
            head, get = s.request("HEAD", path), s.get(path)
            equal((head.status, head.body), (get.status, b""), path)
            equal(head.headers["content-length"], get.headers["content-length"], path)
            equal(head.headers["content-type"], get.headers["content-type"], path)
        for path in streams:
            with s.connect() as sock:
                sock.sendall(request_bytes(s, "HEAD", path))
                a = read_answer(sock, "HEAD")
                equal((a.status, a.headers["content-type"]), (200, "text/event-stream; charset=utf-8"), path)
                if a.headers.get("connection") != "close":
                    sock.sendall(request_bytes(s, "GET", "/livez"))
                    equal(read_answer(sock).json["status"], "alive", path)
                else:
                    equal(sock.recv(10), b"", path)
            with Stream(s, path, method="GET") as st:
                for name in ("cache-control", "x-accel-buffering", "content-type"):
                    equal(st.headers[name], a.headers[name], path)


@case
def health_and_dialects():
    with Server() as s:
        equal(s.get("/livez").json, {"status": "alive"})
        ready = s.get("/readyz")
        equal((ready.status, ready.json["status"]), (200, "ready"))
        equal([d["name"] for d in s.get("/v1/dialects").json["dialects"]], DIALECTS)
        check(all(d["about"] for d in s.get("/v1/dialects").json["dialects"]))
        equal(s.get("/").status, 200)


@case
def the_log_has_no_payloads():
    with Server("--access-log", "json", agents={"pull": PULL}) as s:
        secret = "sEcReT-" + "x" * 8
        s.submit(input=secret, job_id="j", headers={"Authorization": f"Bearer {secret}", "Idempotency-Key": secret})
        lease = Worker(s).lease()
        lease.send(root_start(secret), root_end(secret))
        lease.finish("failure", error=secret)
        s.get(f"/v1/jobs/j?token={secret}")
        s.read("j", "agent", token=secret)
        until("the log", lambda: "/v1/jobs/j/events" in s.err())
        check(secret not in s.err(), s.err())
