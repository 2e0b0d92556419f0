"""A cancel reaches a job in every state."""

import time

from cluster import MANY, PULL, Server, bridge, said, scene, shared, until_said
from harness import case, cases, check, equal

SOON = 15  # seconds: far less than the lease of a minute, whose heartbeats come every 15 s


def cancel(s, job):
    begin = time.monotonic()
    equal(s.post(f"/v1/jobs/{job}/cancel").status, 200)
    s.until_state(job, "cancelled", seconds=MANY)
    return time.monotonic() - begin


@case
def while_it_is_queued():
    with Server(agents={"mine": PULL}) as s:
        job = s.submit("mine")
        cancel(s, job)
        with bridge(s, shared()):
            other = s.submit("mine")
            s.until_state(other, "succeeded", seconds=MANY)
        equal(said(s, job), [])


@case
def while_it_talks():
    with scene(settings={"lease": "60s"}) as (s, _):
        job = s.submit("mine", {"n": 10000, "every": 0.05})
        until_said(s, job, 3)
        check(cancel(s, job) < SOON)
        numbers = said(s, job)
        equal(numbers, list(range(len(numbers))))


@cases([False, True])
def while_it_is_silent(look):
    with scene(graph="silent", settings={"lease": "60s"}) as (s, _):
        job = s.submit("mine", {"look": look})
        until_said(s, job, 0)
        check(cancel(s, job) < SOON, "not with the next heartbeat")
        equal(said(s, job), [0, "stopped"] if look else [0])


@case
def while_it_blocks():
    with scene("--child", "--grace", "1", graph="blocking", settings={"lease": "60s"}) as (s, _):
        job = s.submit("mine", {})
        until_said(s, job, 0)
        check(cancel(s, job) < SOON)


@case
def blocking_code_in_a_process_of_its_own_keeps_its_lease():
    with scene("--child", graph="blocking") as (s, _):
        done = s.until_state(s.submit("mine", {"seconds": 8}), "succeeded", seconds=MANY)  # the lease is 3 s
        equal((done["attempt"], done["output"]), (1, "done"))
