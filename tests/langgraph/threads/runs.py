"""Runs: made, waited for, joined, several at a time, cancelled, deleted."""

import json
import subprocess
import threading
import time

from gateway import OPENING, WAIT, Server, Worker, at_once, request_bytes, root_end
from harness import PROGRAM, case, cases, check, contains, equal
from graphs import (RunStream,
                    AGENT, INPUT, LAST_VALUES, QUESTION, UNTIL_QUESTION, VALUES, Player, create, history, new_thread, run_of, save, saved, serve,
                       stream, thread, write)


@case
def a_worker_gets_the_thread_and_the_run():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t, metadata={"v": 2}, interrupt_before=["review"], durability="sync",
                     config={"tags": ["x"], "recursion_limit": 9, "configurable": {"model": "m", "thread_id": "mine"}},
                     checkpoint={"checkpoint_id": "cp"}, stream_mode="updates", stream_subgraphs=True,
                     headers={"X-Thing": "1", "X-Api-Key": "secret"})
        order = Worker(s, "agent").lease().order
        equal((order["job"], order["thread"], order["input"]), (run["run_id"], t, INPUT))
        got = order["run"]
        config = got.pop("config")
        equal(got, {"run_id": run["run_id"], "assistant_id": AGENT, "graph_id": "agent",
                    "metadata": {"created_by": "system", "graph_id": "agent", "assistant_id": AGENT, "v": 2},
                    "checkpoint": {"checkpoint_id": "cp"}, "interrupt_before": ["review"],
                    "durability": "sync", "stream_mode": ["updates"], "stream_subgraphs": True})
        equal(config, {"tags": ["x"], "recursion_limit": 9,
                       "configurable": {"x-thing": "1", "model": "m", "thread_id": t, "run_id": run["run_id"],
                                        "graph_id": "agent", "assistant_id": AGENT}})
        equal(s.submit("agent", input=1) and Worker(s, "agent").lease().order.get("run"), None)


@case
def a_run_has_the_metadata_of_its_thread():
    with serve() as s:
        t = s.post("/threads", {"metadata": {"whose": "ours", "v": 1}}).json["thread_id"]
        run = create(s, t, metadata={"v": 2})
        wanted = {"whose": "ours", "created_by": "system", "graph_id": "agent", "assistant_id": AGENT, "v": 2}
        equal(Worker(s, "agent").lease().order["run"]["metadata"], wanted)
        equal(run_of(s, t, run["run_id"])["metadata"], wanted)


@case
def a_run_as_it_is_shown():
    with serve() as s:
        t = new_thread(s)
        a = s.post(f"/threads/{t}/runs", {"assistant_id": AGENT, "input": INPUT, "multitask_strategy": "reject"})
        run = a.json
        equal(a.headers["content-location"], f"/threads/{t}/runs/{run['run_id']}")
        equal((run["status"], run["thread_id"], run["assistant_id"], run["multitask_strategy"]),
              ("pending", t, AGENT, "reject"))
        shown = run_of(s, t, run["run_id"])
        equal({**shown, "updated_at": 0}, {**run, "updated_at": 0})
        lease = Worker(s, "agent").lease()
        equal(run_of(s, t, run["run_id"])["status"], "running")
        lease.finish()
        equal(run_of(s, t, run["run_id"])["status"], "success")
        equal(s.get(f"/threads/{t}/runs?select=run_id&select=status").json,
              [{"run_id": run["run_id"], "status": "success"}])
        equal(s.get(f"/threads/{t}/runs?status=pending&limit=1000").json, [])
        equal(s.get(f"/threads/{t}/runs/nothing").status, 404)
        other = new_thread(s)
        equal(s.get(f"/threads/{other}/runs/{run['run_id']}").status, 404, "a run of another thread")


@case
def mistakes_are_answered_with_4xx():
    with serve() as s:
        t = new_thread(s)
        a = s.post(f"/threads/{t}/runs", {"assistant_id": "nope"})
        equal((a.status, a.json["detail"]), (404, 'No assistant found for "nope". Make sure the assistant ID is for a valid '
                                                  'assistant or a valid graph ID.'))
        a = s.post("/threads/00000000-0000-7000-8000-000000000000/runs", {"assistant_id": "agent"})
        equal((a.status, a.json["detail"]), (404, "Thread with ID 00000000-0000-7000-8000-000000000000 not found"))
        for body in ({}, {"assistant_id": 5}, {"assistant_id": "agent", "stream_mode": "nonsense"},
                     {"assistant_id": "agent", "multitask_strategy": "fight"}, {"assistant_id": "agent", "after_seconds": -1},
                     {"assistant_id": "agent", "if_not_exists": "maybe"}, [], "x"):
            equal(s.post(f"/threads/{t}/runs", body).status, 422, body)
            equal(s.post(f"/threads/{t}/runs/stream", body).status, 422, body)
        equal(s.post(f"/threads/{t}/runs", b"{").status, 422)
        a = s.post(f"/threads/{t}/runs", {"assistant_id": "agent", "multitask_strategy": "fight"})
        equal(a.json["detail"], "\"multitask_strategy\" must be enqueue, reject, interrupt or rollback, not 'fight'")
        equal(s.get(f"/threads/{t}/runs").json, [])


@case
def clients_in_node_get_the_text_of_an_error_alone():
    none = "00000000-0000-7000-8000-000000000000"
    with serve() as s:
        for agent, body, kind in (("node", f"Thread with ID {none} not found", "text/plain; charset=utf-8"),
                                  ("python-httpx/1", f'{{"detail":"Thread with ID {none} not found"}}\n', "application/json")):
            a = s.get(f"/threads/{none}", headers={"User-Agent": agent})
            equal((a.status, a.body, a.headers["content-type"]), (404, body.encode(), kind))
        for path in "/v1/jobs/none", "/v1/jobs/async/job/none":
            check("detail" in s.get(path, headers={"User-Agent": "node"}).json, path)


@case
def a_thread_may_come_with_its_run():
    with serve() as s:
        create(s, "my-thread", if_not_exists="create")
        equal(thread(s, "my-thread")["status"], "busy")


@case
def a_breakpoint_gives_the_state_before_it():
    pause = [[[], "values", {"a": 1}], [[], "values", {"a": 2}], [[], "updates", {"__interrupt__": []}]]
    with serve() as s, Player(s, until_question=pause):
        t = new_thread(s)
        run = {"assistant_id": "agent", "input": INPUT, "interrupt_before": ["b"]}
        equal(read_wait(s, f"/threads/{t}/runs/wait", run), {"a": 2})
        with stream(s, f"/threads/{t}/runs/stream", **run, stream_mode=["values", "updates"]) as st:
            frames = [(f.event, f.json) for f in st.rest().frames]
        equal(frames[1:], [("values", {"a": 1}), ("values", {"a": 2}), ("updates", {"__interrupt__": []})])


@case
def waiting_gives_the_last_values_or_the_question():
    with serve() as s, Player(s):
        t = new_thread(s)
        a, = at_once(lambda: read_wait(s, f"/threads/{t}/runs/wait", {"assistant_id": "agent", "input": INPUT}))
        equal([q["value"] for q in a["__interrupt__"]], [QUESTION])
        equal({k: v for k, v in a.items() if k != "__interrupt__"}, VALUES[-1])
        a = read_wait(s, f"/threads/{t}/runs/wait", {"assistant_id": "agent", "command": {"resume": "yes"}})
        equal(a, LAST_VALUES)
        runs = s.get(f"/threads/{t}/runs").json
        equal(s.get(f"/threads/{t}/runs/{runs[0]['run_id']}/join").json, LAST_VALUES)
        # AG-UI sends both: the command is what counts.
        a = read_wait(s, f"/threads/{t}/runs/wait", {"assistant_id": "agent", "input": {}, "command": {"resume": "no"}})
        equal(a, LAST_VALUES)


@case
def waiting_gives_what_tasks_beside_a_question_wrote():
    # Python's graphs tell the state once more when they stop: with what the tasks that have ended wrote.
    question = {"id": "q1", "value": "b?"}
    parts = [[[], "values", {"notes": ["in"]}], [[], "updates", {"a": {"notes": ["a"]}}], [[], "updates", {"__interrupt__": [question]}],
             [[], "values", {"notes": ["in"], "__interrupt__": [question]}], [[], "values", {"notes": ["in", "a"]}]]
    with serve() as s, Player(s, until_question=parts):
        a = read_wait(s, f"/threads/{new_thread(s)}/runs/wait", {"assistant_id": "agent", "input": INPUT})
        equal(a, {"notes": ["in", "a"], "__interrupt__": [question]})


def read_wait(server, path, body):
    """The answer of `wait`; newlines may come before it."""
    a = server.post(path, body)
    equal((a.status, a.headers["content-type"]), (200, "application/json"), repr(a))
    return a.json


@case
def the_output_of_a_graph_that_sends_no_parts():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        lease.send(*OPENING, root_end({"answer": 42}))
        lease.finish()
        equal(s.get(f"/threads/{t}/runs/{run}/join").json, {"answer": 42})
        equal(thread(s, t)["values"], {"answer": 42})
        run = create(s, t)["run_id"]
        Worker(s, "agent").lease().finish(output={"answer": 43})
        equal(s.get(f"/threads/{t}/runs/{run}/join").json, {"answer": 43})
        equal(thread(s, t)["values"], {"answer": 43})


@case
def who_may_not_read_starts_nothing():
    """A client that is told to come again later would start another run each time."""
    with Server("--auth", "required", agents={"agent": {"pull": True}}) as s:
        done = subprocess.run([PROGRAM, "token", "create", "--data", s.data, "--scope", "client", "--max-streams", "1"],
                              capture_output=True, text=True, check=True)
        me = {"X-Api-Key": done.stdout.strip()}
        body = {"assistant_id": "agent", "input": {}}
        with RunStream(s, "/runs/stream", body, headers=me) as st:
            st.until_event("metadata")
            for kind in ("stream", "wait"):
                equal(s.post(f"/runs/{kind}", body, headers=me).status, 429)
        equal(len(s.get("/v1/jobs", headers=me).json["jobs"]), 1)


@case
def a_server_that_goes_down_leaves_the_run():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "GET", f"/threads/{t}/runs/{run}/join?cancel_on_disconnect=1"))
            sock.settimeout(WAIT)
            data = sock.recv(65536)
            check(data.startswith(b"HTTP/1.1 200 "), data)
            begun = time.monotonic()
            s.restart()
            check(time.monotonic() - begun < 60, "it waited for the run")
            try:
                while (more := sock.recv(65536)):
                    data += more
            except ConnectionResetError:
                pass
            check(not data.endswith(b"0\r\n\r\n"), "a clean end would be a result")
        lease.send(UNTIL_QUESTION[2])
        lease.finish()
        equal(s.get(f"/threads/{t}/runs/{run}/join").json, VALUES[0])


@case
def a_failure_is_a_result_too():
    with serve() as s:
        def fail():
            Worker(s, "agent").lease().finish("failure", error="boom", error_type="RangeError")

        a, _ = at_once(lambda: read_wait(s, "/runs/wait", {"assistant_id": "agent", "input": {}}), fail)
        equal(a, {"__error__": {"error": "RangeError", "message": "boom"}})


@case
def a_long_wait_is_kept_alive():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        with s.connect() as sock:
            sock.sendall(request_bytes(s, "GET", f"/threads/{t}/runs/{run}/join", None, {"Connection": "close"}))
            data = b""
            while b"1\r\n\n\r\n" not in data:
                more = sock.recv(65536)
                check(more, data)
                data += more
            lease.send(UNTIL_QUESTION[2])
            lease.finish()
            while (more := sock.recv(65536)):
                data += more
        check(data.endswith(b"\r\n0\r\n\r\n"), data)
        check(json.dumps(VALUES[0], separators=(",", ":")).encode() in data, data)


@case
def several_at_once():
    with serve() as s:
        a = s.post("/runs/batch", [{"assistantId": "agent", "assistant_id": "agent", "input": {"n": n}} for n in range(3)])
        equal(a.status, 200, repr(a))
        equal([r["status"] for r in a.json], ["pending"] * 3)
        worker = Worker(s, "agent")
        got = [worker.lease().order for _ in range(3)]
        equal([(o["job"], o["input"]) for o in got], [(r["run_id"], {"n": n}) for n, r in enumerate(a.json)])
        equal(s.post("/runs/batch", {"assistant_id": "agent"}).status, 422)
        equal(s.post("/runs/batch", []).json, [])
        equal(s.post("/threads/search", {}).json, [], "their threads are nobody's to see")


CLIENT, ADMIN = (f"spw_{c * 12}_" + "0123456789abc" * 4 for c in "12")
AS_CLIENT = {"Authorization": f"Bearer {CLIENT}"}


def batch(s, n, key=None, **last):
    runs = [{"assistant_id": "agent", "input": {"n": i}} for i in range(n)]
    runs[-1].update(last)
    return s.post("/runs/batch", runs, headers={**AS_CLIENT, **({"Idempotency-Key": key} if key else {})})


def n_jobs(s):
    return len(s.get("/v1/jobs?limit=500", headers=AS_CLIENT).json["jobs"])


@cases(["jobs", "queued"])
def several_are_made_all_or_none(limit):
    """Above a token's limit, and when one of them cannot be read."""
    with serve(f"--max-{limit}-per-token", "4", "--auth-tokens", f"a@client:{CLIENT},b@admin:{ADMIN}") as s:
        equal(batch(s, 1).status, 200)
        a = batch(s, 4)
        equal((a.status, n_jobs(s)), (429, 1), repr(a))
        contains(a.detail, "with 4 more there would be more than 4")
        equal(batch(s, 2, multitask_strategy="none").status, 422)
        equal(batch(s, 2, stream_mode="none").status, 422)
        equal(batch(s, 2, assistant_id="none").status, 404)
        equal(n_jobs(s), 1)
        first = batch(s, 3, key="k")
        equal((first.status, n_jobs(s)), (200, 4), repr(first))
        again = batch(s, 3, key="k")
        equal((again.status, [r["run_id"] for r in again.json]), (200, [r["run_id"] for r in first.json]), "they are not new")
        equal((batch(s, 1).status, n_jobs(s)), (429, 4))
        metrics = s.get("/metrics", headers={"Authorization": f"Bearer {ADMIN}"}).body.decode()
        contains(metrics, "spoolwire_jobs_submitted_total 4\n")


@case
def the_same_request_again_is_the_same_run():
    with serve() as s:
        t = new_thread(s)
        key = {"Idempotency-Key": "k1"}
        first = create(s, t, headers=key)
        equal(create(s, t, headers=key)["run_id"], first["run_id"])
        create(s, t, headers=key, want=409, metadata={"other": 1})
        equal(len(s.get(f"/threads/{t}/runs").json), 1)
        one, two = (create(s, headers={"Idempotency-Key": "k2"}) for _ in range(2))
        equal((one["run_id"], one["thread_id"]), (two["run_id"], two["thread_id"]))


# --- more than one on a thread ------------------------------------------------------------------


@case
def a_busy_thread_may_refuse():
    with serve() as s:
        t = new_thread(s)
        create(s, t)
        a = create(s, t, want=422, multitask_strategy="reject")
        equal(a["detail"], "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.")
        equal(len(s.get(f"/threads/{t}/runs").json), 1)


@case
def runs_of_a_thread_take_turns():
    with serve() as s:
        t = new_thread(s)
        ids = [create(s, t, input=n, multitask_strategy="enqueue")["run_id"] for n in range(3)]
        worker = Worker(s, "agent")
        for n, id in enumerate(ids):
            lease = worker.lease()
            equal((lease.job, lease.order["input"]), (id, n))
            equal(worker.ask(wait=0).status, 204, "only one at a time")
            if n == 1:
                s.restart(s.kill)
                equal(worker.ask(wait=0).status, 204, "also after a restart")
            equal(thread(s, t)["status"], "busy")
            lease.finish()
        equal(thread(s, t)["status"], "idle")


@cases(["page", "program"])
def what_is_queued_lets_a_stream_that_comes_soon_pass(sender):
    """useStream sends what shall wait before the run that it shall wait for."""
    page = {"Origin": "http://page.example"} if sender == "page" else {}
    with serve("--origins", "http://page.example") as s:
        for _ in range(20):  # on a slow machine it comes too late
            t, began = new_thread(s), time.monotonic()
            queued = {"multitask_strategy": "enqueue", "stream_resumable": True, "headers": page}
            ids = [create(s, t, input=n, **queued)["run_id"] for n in range(2)]
            with stream(s, f"/threads/{t}/runs/stream", input=2) as st:
                ids.insert(0 if page else 2, st.run)
            if time.monotonic() - began < 0.2:
                break
            s.request("DELETE", f"/threads/{t}")
        worker = Worker(s, "agent")
        for id in ids:
            lease = worker.lease()
            equal(lease.job, id)
            lease.finish()


@cases(["interrupt", "rollback"])
def a_new_run_may_take_the_place(strategy):
    with serve() as s:
        t = new_thread(s)
        first = create(s, t)["run_id"]
        worker = Worker(s, "agent")
        lease = worker.lease()
        lease.send(UNTIL_QUESTION[2])
        equal(thread(s, t)["values"], VALUES[0])
        waiting = create(s, t)["run_id"]
        second = create(s, t, multitask_strategy=strategy)["run_id"]
        check(lease.beat()["cancel"], "it is told to stop")
        equal(s.state(waiting), "cancelled")
        equal(worker.ask(wait=0).status, 204, "the first is still stopping")
        lease.finish("cancelled")
        equal(worker.lease().job, second)
        runs = {r["run_id"]: r["status"] for r in s.get(f"/threads/{t}/runs").json}
        if strategy == "rollback":
            equal(runs, {second: "running"})
            equal(thread(s, t)["values"], None, "as if it had never been")
        else:
            equal(runs, {second: "running", waiting: "interrupted", first: "interrupted"})


@case
def later_means_later():
    with serve() as s:
        t = new_thread(s)
        create(s, t, after_seconds=3600)
        now = create(s, t)["run_id"]
        worker = Worker(s, "agent")
        lease = worker.lease()
        equal(lease.job, now, "one that waits for its time lets others pass")
        lease.finish()
        begun = time.monotonic()
        late = create(s, t, after_seconds=2)["run_id"]
        s.restart(s.kill)
        equal(worker.lease().job, late)
        check(time.monotonic() - begun > 1.9, "it came early")


# --- cancel and delete --------------------------------------------------------------------------


@case
def cancel_at_once_or_when_it_has_stopped():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        equal(s.post(f"/threads/{t}/runs/{run}/cancel?wait=0&action=interrupt").status, 202)
        equal(lease.beat()["cancel"], True)
        done = []
        waiter = threading.Thread(
            target=lambda: done.append(s.post(f"/threads/{t}/runs/{run}/cancel?wait=1&action=interrupt").status), daemon=True)
        waiter.start()
        equal(run_of(s, t, run)["status"], "running")
        equal(done, [])
        equal(lease.finish("success"), "cancelled")
        waiter.join(WAIT)
        equal(done, [200])
        equal(run_of(s, t, run)["status"], "interrupted")
        equal(thread(s, t)["status"], "interrupted")
        equal(s.post(f"/threads/{t}/runs/{run}/cancel?wait=0").status, 202, "to cancel twice is no mistake")
        over = create(s, t)["run_id"]
        Worker(s, "agent").lease().finish("success")
        for wait in "01":
            a = s.post(f"/threads/{t}/runs/{over}/cancel?wait={wait}")
            equal((a.status, a.detail), (404, "No matching runs to cancel: the run has ended"))
        equal(s.post(f"/threads/{t}/runs/{run}/cancel?action=explode").status, 422)
        for a in s.post(f"/threads/{t}/runs/nothing/cancel"), s.request("DELETE", f"/threads/{t}/runs/nothing"):
            equal((a.status, a.detail), (404, "Run not found"))
        equal(s.get(f"/threads/{t}/runs/{run}/join").json, None)


@case
def several_are_cancelled_at_once():
    with serve() as s:
        t = new_thread(s)
        ids = [create(s, t)["run_id"] for _ in range(3)]
        a = s.post("/runs/cancel?action=interrupt", {"thread_id": t, "run_ids": [ids[0], "none", ids[2]]})
        equal(a.status, 204, repr(a))
        equal([s.state(id) for id in ids], ["cancelled", "queued", "cancelled"])
        equal(s.post("/runs/cancel", {"run_ids": ids}).status, 422)
        other = new_thread(s)
        equal(s.post("/runs/cancel", {"thread_id": other, "run_ids": ids}).status, 204)
        equal(s.state(ids[1]), "queued", "a run of another thread")


@case
def a_run_that_is_rolled_back_is_gone():
    with serve() as s, Player(s):
        t = new_thread(s)
        read_wait(s, f"/threads/{t}/runs/wait", {"assistant_id": "agent", "input": INPUT})
        before = thread(s, t)["values"]
        run = create(s, t, assistant_id="other")["run_id"]
        lease = Worker(s, "other").lease()
        lease.send(UNTIL_QUESTION[2])
        equal(thread(s, t)["values"], VALUES[0])
        with stream(s, f"/threads/{t}/runs/stream", multitask_strategy="enqueue") as st:
            equal(s.post(f"/threads/{t}/runs/{run}/cancel?wait=0&action=rollback").status, 202)
            lease.finish("cancelled")
            equal(s.get(f"/threads/{t}/runs/{run}").status, 404)
            st.until_event("values")
        equal(thread(s, t)["values"], before)


@case
def what_it_has_saved_goes_with_it():
    with serve() as s:
        t = new_thread(s)
        create(s, t)
        lease = Worker(s, "agent").lease()
        save(s, lease, "1")
        save(s, lease, "2")
        lease.finish()
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        save(s, lease, "3")
        equal(history(s, t), ["3", "2", "1"])
        equal(s.post(f"/threads/{t}/runs/{run}/cancel?wait=0&action=rollback").status, 202)
        lease.finish("cancelled")
        equal(history(s, t), ["2", "1"])
        equal(s.get(f"/threads/{t}/state").json["values"], {"at": "2"})
        # At an earlier run's checkpoint, too.
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        before = saved(s, lease, "2")
        write(s, lease, "2", "__resume__", idx=-4)
        check(saved(s, lease, "2") != before)
        equal(s.post(f"/threads/{t}/runs/{run}/cancel?wait=0&action=rollback").status, 202)
        lease.finish("cancelled")
        equal(saved(s, lease, "2"), before)
        # The same when another takes its place; and one that is interrupted leaves it.
        for strategy, want in (("rollback", ["2", "1"]), ("interrupt", ["4", "2", "1"])):
            create(s, t)
            lease = Worker(s, "agent").lease()
            save(s, lease, "4")
            create(s, t, multitask_strategy=strategy)
            lease.finish("cancelled")
            equal(history(s, t), want, strategy)
            Worker(s, "agent").lease().finish()


@case
def deleted_means_gone():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t)["run_id"]
        equal(s.request("DELETE", f"/threads/{t}/runs/{run}").status, 204)
        equal(s.get(f"/threads/{t}/runs/{run}").status, 404)
        equal(s.get(f"/v1/jobs/{run}").status, 404)
        equal(s.request("DELETE", f"/threads/{t}/runs/{run}").status, 404)
        equal(thread(s, t)["status"], "idle")
        again = create(s, t)["run_id"]
        equal(s.request("DELETE", f"/threads/{t}").status, 204)
        equal((s.get(f"/threads/{t}").status, s.get(f"/v1/jobs/{again}").status), (404, 404))
        equal(Worker(s, "agent").ask(wait=0).status, 204)


@case
def a_question_of_a_run_is_its_threads():
    with serve() as s:
        t = new_thread(s)
        run = create(s, t)["run_id"]
        lease = Worker(s, "agent").lease()
        lease.send(*UNTIL_QUESTION)
        a = s.post(f"/v1/jobs/{run}/answer", {"value": "yes"})
        equal(a.status, 409, repr(a))
        contains(a.detail, "command.resume")
        equal(lease.finish("success"), "succeeded")
        equal(thread(s, t)["status"], "interrupted")


@case
def questions_stand_under_the_tasks_that_ask():
    """As the state that was saved has them; else each under its own id."""
    with serve() as s:
        t = new_thread(s)
        for saves in (False, True):
            create(s, t)
            lease = Worker(s, "agent").lease()
            lease.send(*UNTIL_QUESTION)
            id, = [q["id"] for p in UNTIL_QUESTION if p[1] == "values" for q in p[2].get("__interrupt__", [])]
            if saves:
                save(s, lease, "1", tasks=[{"id": "task-1", "name": "review", "interrupts": [{"id": id, "value": QUESTION}]},
                                           {"id": "task-2", "name": "other", "interrupts": []}])
            lease.finish("interrupted")
            equal(thread(s, t)["interrupts"], {"task-1" if saves else id: [{"id": id, "value": QUESTION}]})
            run = create(s, t, command={"resume": {id: "yes"}})["run_id"]
            Worker(s, "agent").lease().finish()
            resumed, = [f.json for f in s.read(run, "agent") if f.event == "graph.resumed"]
            check(id in json.dumps(resumed), resumed)
            equal(thread(s, t)["interrupts"], {})
