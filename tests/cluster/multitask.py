"""Runs of one thread, posted to different gateways, in a database with four shards."""

from gateway import STORY, Worker, at_once
from gateways import check, cluster, equal, new_url, verify
from harness import case, cases
from shards import SHARDS, spread

THREADS = 6  # so that several shards have some


def run(gateway, thread, strategy="enqueue", want=200, **more):
    a = gateway.post(f"/threads/{thread}/runs", {"assistant_id": "pull", "input": {}, "multitask_strategy": strategy, **more})
    equal(a.status, want, repr(a))
    return a.json.get("run_id")


def new_threads(gateways):
    """Each is made at a gateway, and its runs begin at the next one."""
    made = [gateways[i % len(gateways)].post("/threads", {}) for i in range(THREADS)]
    return [(a.json["thread_id"], [*gateways[(i + 1) % len(gateways):], *gateways[:(i + 1) % len(gateways)]])
            for i, a in enumerate(made)]


def statuses(gateways, thread):
    """Of its runs, as every gateway says."""
    views = [{r["run_id"]: r["status"] for r in g.get(f"/threads/{thread}/runs").json} for g in gateways]
    for view in views[1:]:
        equal(view, views[0])
    return views[0]


def serve(gateway, job):
    lease = Worker(gateway).lease()
    equal(lease.job, job)
    return lease


@case
def runs_of_one_thread_take_turns_in_all_shards():
    url = new_url(SHARDS)
    with cluster(3, url=url) as gateways:
        spread(gateways)
        for thread, (a, b, c) in new_threads(gateways):
            runs = [run(g, thread) for g in (a, b, c)]
            for n, g in enumerate((c, a, b)):
                lease = serve(g, runs[n])
                equal(Worker(b).ask(wait=0).status, 204, "one at a time")
                lease.send(*STORY)
                equal(lease.finish(), "succeeded")
            equal(statuses(gateways, thread), {id: "success" for id in runs})
    verify(url)


@case
def one_of_many_runs_that_refuse_a_busy_thread_is_made():
    with cluster(3, shards=SHARDS) as gateways:
        spread(gateways)
        for thread, all_of in new_threads(gateways):
            body = {"assistant_id": "pull", "input": {}, "multitask_strategy": "reject"}
            made = at_once(*[lambda g=g: g.post(f"/threads/{thread}/runs", body) for g in all_of * 2])
            equal(sorted(a.status for a in made), [200] + [422] * 5, "posted at the same time")
            first = next(a.json["run_id"] for a in made if a.status == 200)
            lease = serve(all_of[1], first)
            for g in all_of:
                run(g, thread, "reject", want=422)
            equal(lease.finish(), "succeeded")
            second = run(all_of[2], thread, "reject")
            equal(serve(all_of[0], second).finish(), "succeeded")
            equal(statuses(gateways, thread), {first: "success", second: "success"})


@cases(["interrupt", "rollback"])
def a_run_takes_the_place_of_those_of_other_gateways(strategy):
    with cluster(3, shards=SHARDS) as gateways:
        spread(gateways)
        for thread, (a, b, c) in new_threads(gateways):
            first = run(a, thread)
            lease = serve(b, first)
            lease.send(*STORY[:3])
            waiting = run(b, thread)
            second = run(c, thread, strategy)
            check(lease.beat()["cancel"], "it is told to stop")
            check(a.get(f"/v1/jobs/{waiting}").json.get("state") in ("cancelled", None), "it never begins")
            equal(Worker(a).ask(wait=0).status, 204, "the first is still stopping")
            lease.finish("cancelled")
            lease = serve(a, second)
            gone = {} if strategy == "rollback" else {first: "interrupted", waiting: "interrupted"}
            equal(statuses(gateways, thread), {second: "running", **gone})
            equal(lease.finish(), "succeeded")
