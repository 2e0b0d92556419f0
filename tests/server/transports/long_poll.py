"""Pages of events by long poll: complete, in order, and cacheable once they are final."""

import time

import gateway
from gateway import STORY, Server, Worker, play, root_start, token, node_start, model_start
from harness import DIALECTS, case, cases, check, contains, equal, strict_json
from wires import PULL, events, unwrap

FINAL = "private, max-age=86400, immutable"


class Page:
    """One answer, taken apart byte for byte."""

    def __init__(self, answer):
        equal(answer.status, 200, repr(answer))
        equal(answer.headers["content-type"], "application/json")
        self.headers, text = answer.headers, answer.body.decode()
        whole = strict_json(text)
        equal(list(whole), ["events", "next", "ended"], "its members")
        self.next, self.ended = whole["next"], whole["ended"]
        self.frames, at = [], len('{"events":[')
        for i, event in enumerate(whole["events"]):
            for end in range(at, len(text)):  # data has any length: the JSON decides
                if text[end] == "}" and (text[end + 1] in ",]"):
                    try:
                        frame = unwrap(text[at:end + 1])
                    except (AssertionError, ValueError):
                        continue
                    if frame.json == event["data"]:
                        break
            self.frames.append(frame)
            at = end + 2


def poll(server, job, dialect="agent", after=None, wait=0, headers=None, **query):
    return Page(server.get(events(job, dialect, after, wait=wait, **query), headers=headers, seconds=gateway.WAIT + wait))


def read_all(server, job, dialect, **query):
    frames, after, pages = [], None, 0
    while True:
        page = poll(server, job, dialect, after, **query)
        frames += page.frames
        after, pages = page.next, pages + 1
        if page.ended:
            return frames, pages
        check(pages < 2000, "it does not end")


@case
def pages_have_the_payloads_of_sse():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        for dialect in DIALECTS:
            want = [f for f in server.read(job, dialect) if f.id]
            for limit in (1, 2, 7, 5000):
                got, pages = read_all(server, job, dialect, limit=limit)
                equal(got, want, f"{dialect} in pages of {limit}")
                check(limit > 1 or pages > len(want) / 3, f"{pages} pages of {len(want)} events")


@cases(DIALECTS)
def nothing_comes_after_the_last_id(dialect):
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        last = str(server.job(job)["events"])
        for cursor in {last, server.read(job, dialect)[-1].id}:
            page = poll(server, job, dialect, cursor, wait=300)
            equal((page.frames, page.ended), ([], True), f"{cursor}")


@case
def it_answers_when_something_comes():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        page = poll(server, job, "agent", wait=0)
        equal((page.frames, page.ended), ([], False))
        start = time.monotonic()
        (page, _) = gateway.at_once(lambda: poll(server, job, "agent", page.next, wait=60),
                                    lambda: (time.sleep(0.5), lease.send(*STORY[:6])))
        took = time.monotonic() - start
        equal(page.frames[0].event, "agent.spawned")
        check(0.3 < took < 30, f"it took {took:.1f} s")
        (page, _) = gateway.at_once(lambda: poll(server, job, "agent", page.next, wait=20),
                                    lambda: (lease.send(*STORY[6:]), lease.finish()))
        frames = page.frames
        while not page.ended:
            page = poll(server, job, "agent", page.next, wait=20)
            frames += page.frames
        equal(frames[-1].event, "job.done")


@case
def events_that_a_dialect_does_not_show_wake_nobody():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        lease.send(root_start())
        (page, _) = gateway.at_once(lambda: poll(server, job, wait=2),
                                    lambda: (time.sleep(0.3), lease.send(*[root_start() for _ in range(3)])))
        equal(page.frames, [])
        check(int(page.next) >= 1, f"next is {page.next}")


@case
def it_ends_within_its_time():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        start = time.monotonic()
        page = poll(server, job, wait=1)
        took = time.monotonic() - start
        equal((page.frames, page.ended), ([], False))
        check(0.9 < took < 30, f"it took {took:.1f} s")
        equal(page.headers["cache-control"], "no-cache")


@case
def full_pages_and_those_of_ended_jobs_are_final():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()
        lease.send(root_start(), node_start(), model_start(), *[token(str(i)) for i in range(10)])
        full = poll(server, job, limit=5)
        equal(full.headers["cache-control"], FINAL)
        rest = poll(server, job, after=full.next, limit=100)
        equal(rest.headers["cache-control"], "no-cache")
        lease.send(*[token(str(i)) for i in range(10)])
        lease.finish()
        again = poll(server, job, limit=5)
        equal((again.headers["etag"], again.frames, again.next), (full.headers["etag"], full.frames, full.next))
        more = poll(server, job, after=full.next, limit=100)
        equal(more.headers["cache-control"], FINAL)
        check(more.headers["etag"] != rest.headers["etag"])
        check(more.ended and not again.ended)


@case
def a_known_page_is_304():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        page = poll(server, job)
        tag = page.headers["etag"]
        for header in (tag, f'"other", {tag}', f"{tag} , \"x\""):
            a = server.get(events(job, "agent", wait=0), headers={"If-None-Match": header})
            equal((a.status, a.body, a.headers["etag"]), (304, b"", tag), header)
            equal(a.headers["cache-control"], FINAL)
        a = server.get(events(job, "agent", wait=0), headers={"If-None-Match": '"other"'})
        equal(a.status, 200)


@case
def tags_differ_between_jobs_and_dialects():
    with Server(agents={"pull": PULL}) as server:
        tags = {poll(server, job, d).headers["etag"] for job in (play(server), play(server)) for d in ("agent", "nodes", "raw")}
        # `agent` says nothing of the job: two runs with the same events may look the same.
        check(len(tags) >= 5, f"{tags}")


@cases([("after=x", 422, "after must be an id"), ("limit=0", 422, "limit must be from 1 to 5000"),
        ("limit=5001", 422, "limit must be"), ("limit=many", 422, "limit must be a whole number, not 'many'"), ("dialect=x", 422, "no dialect"),
        ("after=9999", 410, "begin again without after"), ("after=0", 200, ""), ("after=-1", 200, "")], name=lambda c: c[0])
def bad_polls(c):
    query, status, text = c
    with Server(agents={"pull": PULL}) as server:
        a = server.get(f"/v1/jobs/{play(server)}/events?wait=0&{query}")
        equal(a.status, status, repr(a))
        if status >= 400:
            contains(a.detail, text)
        equal(server.get(f"/v1/jobs/none/events?wait=0&{query}").status, status if status == 422 else 404)


@case
def format_json_is_a_page():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        equal(Page(server.get(f"/v1/jobs/{job}/events?format=json")).frames, server.read(job, "agent"))


@case
def a_cursor_inside_a_record_goes_on_there():
    with Server(agents={"pull": PULL}) as server:
        job = play(server)
        whole = server.read(job, "agent")
        for i, f in enumerate(whole):
            equal(poll(server, job, after=f.id).frames, whole[i + 1:], f"after {f.id}")
        check(any("." in f.id for f in whole), "the story has a record with two frames")


@case
def a_poller_that_leaves_is_forgotten():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        with server.connect() as s:
            s.sendall(gateway.request_bytes(server, "GET", events(job, "agent", wait=30)))
            gateway.until("it waits", lambda: server.get("/healthz").json["streams"] == 1)
        gateway.until("it is gone", lambda: server.get("/healthz").json["streams"] == 0)
        lease = Worker(server).lease()
        lease.send(*STORY)
        lease.finish()


@case
def who_waits_is_answered_when_the_server_stops():
    with Server("--shutdown-window", "20s", agents={"pull": PULL}) as server:
        job = server.submit()

        def stop():
            gateway.until("it waits", lambda: server.get("/healthz").json["streams"] == 1)
            start = time.monotonic()
            server.terminate()
            return time.monotonic() - start
        page, took = gateway.at_once(lambda: poll(server, job, wait=60), stop)
        equal((page.frames, page.ended), ([], False))
        check(took < 15, f"stopping took {took:.1f} s")


@case
def a_job_that_is_deleted_is_404():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()

        def remove():
            gateway.until("it waits", lambda: server.get("/healthz").json["streams"] == 1)
            equal(server.request("DELETE", f"/v1/jobs/{job}").status, 204)
        a, _ = gateway.at_once(lambda: server.get(events(job, "agent", wait=20), seconds=60), remove)
        # Deleting a queued job cancels it first, so the page may have its end.
        check(a.status == 404 or (a.status == 200 and a.json["ended"]), repr(a))


@case
def many_wait_for_the_same():
    with Server(agents={"pull": PULL}) as server:
        job = server.submit()
        lease = Worker(server).lease()

        def send():
            gateway.until("all wait", lambda: server.get("/healthz").json["streams"] == 20)
            lease.send(*STORY[:6])
        *pages, _ = gateway.at_once(*[lambda: poll(server, job, wait=20)] * 20, send)
        for p in pages:
            equal(p.frames, pages[0].frames)
        check(pages[0].frames)
