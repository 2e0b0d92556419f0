"""Crons: with the stock SDK, and what they do at their ticks."""

import time
from datetime import datetime, timedelta, timezone

from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import APIStatusError

from callers import Caller, cli
from gateway import Worker, until
from graphs import AGENT, serve
from harness import case, check, contains, equal

YEARLY, EACH_SECOND = "0 0 1 1 *", "* * * * * *"


def refused(status, word, call, *args, **more):
    try:
        call(*args, **more)
    except APIStatusError as error:
        equal(error.response.status_code, status)
        contains(error.response.text, word)
        return
    check(False, "it was not refused")


def jobs(s):
    return s.get("/v1/jobs?limit=200").json["jobs"]


def one_of_each_tick(s, at_least=2):
    """No two runs are of one tick: the cron's next tick is in another second than its last run was created."""
    seconds = [job["created_at"][:19] for job in jobs(s)]
    equal(len(set(seconds)), len(seconds))
    check(len(seconds) >= at_least, seconds)


@case
def crons_with_the_sdk():
    with serve() as s:
        crons = get_sync_client(url=s.url).crons
        threads = get_sync_client(url=s.url).threads
        t = threads.create()["thread_id"]
        end = datetime.now(timezone.utc) + timedelta(days=400)
        one = crons.create("agent", schedule=YEARLY, input={"n": 1}, metadata={"who": "me"}, timezone="Europe/Berlin",
                           end_time=end, on_run_completed="keep", config={"tags": ["x"]})
        equal((one["assistant_id"], one["thread_id"], one["schedule"], one["timezone"]), (AGENT, None, YEARLY, "Europe/Berlin"))
        equal((one["on_run_completed"], one["enabled"], one["metadata"]), ("keep", True, {"who": "me"}))
        equal(one["payload"]["input"], {"n": 1})
        contains(one["next_run_date"], "-12-31T23:00:00")
        equal(datetime.fromisoformat(one["end_time"].replace("Z", "+00:00")), end.replace(microsecond=end.microsecond // 1000 * 1000))
        two = crons.create_for_thread(t, "other", schedule=YEARLY, enabled=False, context={"k": 1}, multitask_strategy="reject")
        equal((two["thread_id"], two["on_run_completed"], two["enabled"]), (t, None, False))
        ids = lambda rows: [row["cron_id"] for row in rows]  # noqa: E731
        equal(ids(crons.search()), [two["cron_id"], one["cron_id"]])
        equal(ids(crons.search(thread_id=t)), [two["cron_id"]])
        equal(ids(crons.search(assistant_id=AGENT)), [one["cron_id"]])
        equal(ids(crons.search(enabled=True)), [one["cron_id"]])
        equal(ids(crons.search(metadata={"who": "me"})), [one["cron_id"]])
        equal(ids(crons.search(sort_by="cron_id", sort_order="asc", limit=1, offset=1)), [two["cron_id"]])
        equal(crons.search(select=["schedule"], limit=1), [{"schedule": YEARLY}])
        equal((crons.count(), crons.count(thread_id=t), crons.count(metadata={"who": "you"})), (2, 1, 0))
        new = crons.update(one["cron_id"], schedule="0 12 * * *", metadata={"more": 1}, end_time=None, input={"n": 2}, timezone="Asia/Tokyo")
        equal((new["end_time"], new["metadata"], new["payload"]["input"]), (None, {"who": "me", "more": 1}, {"n": 2}))
        contains(new["next_run_date"], "T03:00:00")
        equal(new["assistant_id"], AGENT)
        crons.delete(one["cron_id"])
        refused(404, "not found", crons.delete, one["cron_id"])
        refused(404, "not found", crons.update, one["cron_id"], enabled=True)
        threads.delete(t)
        equal(crons.count(), 0)


@case
def wrong_crons_are_refused():
    with serve() as s:
        crons = get_sync_client(url=s.url).crons
        refused(422, "Invalid cron schedule: 'now'", crons.create, "agent", schedule="now")
        refused(422, "no time in the next fifty years", crons.create, "agent", schedule="0 0 30 2 *")
        refused(422, "Invalid timezone: 'Atlantis'", crons.create, "agent", schedule=YEARLY, timezone="Atlantis")
        refused(404, "none", crons.create, "none", schedule=YEARLY)
        refused(404, "Thread with ID none not found", crons.create_for_thread, "none", "agent", schedule=YEARLY)
        refused(422, "there is no stream mode", crons.create, "agent", schedule=YEARLY, stream_mode="x")
        refused(400, "Cannot specify both", crons.create, "agent", schedule=YEARLY, context={"a": 1}, config={"configurable": {"b": 1}})
        equal(s.post("/runs/crons", {"assistant_id": "agent"}).status, 422)
        equal(s.post("/runs/crons", {"assistant_id": "agent", "schedule": YEARLY, "end_time": "soon"}).status, 422)
        equal(s.post("/runs/crons/search", {"sort_by": "x"}).status, 422)
        made = crons.create("agent", schedule=YEARLY)
        refused(422, "Invalid cron schedule", crons.update, made["cron_id"], schedule="x")
        equal(s.request("PATCH", f"/runs/crons/{made['cron_id']}", {}).status, 400)
        equal(s.get(f"/runs/crons/{made['cron_id']}").json, made)
        equal(s.get("/runs/crons/none").status, 404)


@case
def ticks_create_runs_once_over_kills():
    with serve() as s:
        cron = s.post("/runs/crons", {"assistant_id": "agent", "schedule": EACH_SECOND, "input": {"n": 1}, "metadata": {"a": 1},
                                      "context": {"k": "v"}}).json
        order = Worker(s, "agent").lease().order
        equal((order["input"], order["run"]["metadata"]["a"], order["run"]["context"]), ({"n": 1}, 1, {"k": "v"}))
        equal(order["run"]["config"]["configurable"]["cron_id"], cron["cron_id"])
        for _ in range(3):
            n = len(jobs(s))
            until("one more run", lambda: len(jobs(s)) > n)
            s.kill()
            s.start()
        n = len(jobs(s))
        until("two more runs", lambda: len(jobs(s)) >= n + 2)
        s.request("PATCH", f"/runs/crons/{cron['cron_id']}", {"enabled": False})
        one_of_each_tick(s, 5)
        n = len(jobs(s))
        s.restart()
        time.sleep(1.2)  # a tick that must not come
        equal(len(jobs(s)), n)


@case
def missed_ticks_run_once_and_kept_threads_stay():
    with serve() as s:
        body = {"assistant_id": "agent", "schedule": EACH_SECOND, "on_run_completed": "keep"}
        cron = s.post("/runs/crons", body).json["cron_id"]
        until("the first run", lambda: jobs(s))
        equal(len(s.post("/threads/search", {}).json), len(jobs(s)))
        s.terminate()
        time.sleep(3)  # three ticks pass
        began = time.time()
        s.start()
        until("another run", lambda: s.get(f"/runs/crons/{cron}").json["next_run_date"] > datetime.fromtimestamp(began, timezone.utc).isoformat()[:23])
        s.request("DELETE", f"/runs/crons/{cron}")
        one_of_each_tick(s)


@case
def a_thread_takes_its_ticks_as_its_strategy_says():
    with serve() as s:
        s.post("/threads", {"thread_id": "t"})
        s.post("/threads/t/runs", {"assistant_id": "agent", "input": {}})
        cron = s.post("/threads/t/runs/crons", {"assistant_id": "agent", "schedule": EACH_SECOND, "multitask_strategy": "reject"}).json
        until("a tick is refused", lambda: 'spoolwire_cron_ticks_total{result="refused"} 0' not in s.get("/metrics").body.decode())
        until("it has moved on", lambda: s.get(f"/runs/crons/{cron['cron_id']}").json["next_run_date"] > cron["next_run_date"])
        equal(len(jobs(s)), 1)
        Worker(s, "agent").lease().finish()
        until("the next tick has a run", lambda: len(s.get("/threads/t/runs").json) == 2)
        s.request("DELETE", "/threads/t")
        equal(s.post("/runs/crons/count", {}).json, 0)
        made = s.post("/assistants", {"graph_id": "agent", "config": {"tags": ["one"]}}).json["assistant_id"]
        s.post("/runs/crons", {"assistant_id": made, "schedule": YEARLY})
        s.request("DELETE", f"/assistants/{made}")
        equal(s.post("/runs/crons/count", {}).json, 0)


@case
def crons_belong_to_their_owner():
    with serve() as s:
        mine, other = (Caller(s, cli("token", "create", "--data", s.data, "--scope", "client,worker", "--owner", name, "--max-jobs", "2")[0].strip())
                       for name in ("ann", "bob"))
        mine.post("/threads", {"thread_id": "t"})
        equal(other.post("/threads/t/runs/crons", {"assistant_id": "agent", "schedule": YEARLY}).status, 404)
        cron = mine.post("/runs/crons", {"assistant_id": "agent", "schedule": EACH_SECOND}).json
        equal(cron["user_id"], "ann")
        equal((other.get(f"/runs/crons/{cron['cron_id']}").status, other.post("/runs/crons/search", {}).json), (404, []))
        equal(other.request("DELETE", f"/runs/crons/{cron['cron_id']}").status, 404)
        until("two runs", lambda: len(jobs(mine)) == 2)
        at = mine.get(f"/runs/crons/{cron['cron_id']}").json["next_run_date"]
        until("two more ticks", lambda: mine.get(f"/runs/crons/{cron['cron_id']}").json["next_run_date"][:19] > at[:19])
        equal(len(jobs(mine)), 2, "its token may have no more")
        equal(jobs(other), [])
