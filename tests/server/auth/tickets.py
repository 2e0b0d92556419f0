"""Tickets: they open the streams of one job, and nothing else."""

import threading
import time

from callers import Caller, Locked, challenge, id_of, same_but_for, until_cut
from gateway import CLOSING, OPENING, PULL, SECRET, Server, Stream, Worker, fixed_port, token, until, with_ids
from harness import case, cases, check, contains, equal


def mint(caller, job, **more):
    a = caller.post("/v1/tickets", {"job_id": job, **more})
    equal(a.status, 201, repr(a))
    return a.json


def open_url(s, path, last=None):
    """As a browser's EventSource does: no header of ours, the same address each time."""
    return Stream(s, path, header=last)


@case
def a_ticket_opens_a_jobs_streams_and_nothing_else():
    with Locked() as s:
        client = s.caller("client")
        client.submit(job_id="j")
        client.submit(job_id="k")
        a = client.post("/v1/tickets", {"job_id": "j"})
        equal((a.status, a.headers["cache-control"], a.headers["referrer-policy"]), (201, "no-store", "no-referrer"))
        ticket = a.json["ticket"]
        equal(a.json["url"], f"/v1/jobs/j/events?ticket={ticket}")
        check(SECRET.search(ticket) and id_of(client.token) in ticket)
        stranger = s.stranger()
        for path in ("/v1/jobs/j/events", "/v1/jobs/async/job/j/stream", "/v1/jobs/async/job/j/stream/1"):
            with open_url(s, f"{path}?ticket={ticket}") as st:
                equal(st.status, 200, path)
        for path in ("/v1/jobs/k/events", "/v1/jobs/absent/events", "/v1/jobs/async/job/k/stream"):
            equal(stranger.get(f"{path}?ticket={ticket}").status, 401, path)
        for method, path in (("GET", "/v1/jobs/j"), ("GET", "/v1/jobs"), ("POST", "/v1/jobs/j/cancel"),
                             ("DELETE", "/v1/jobs/j"), ("GET", "/v1/jobs/async/job/j/state"), ("GET", "/metrics"),
                             ("POST", "/v1/tickets"), ("GET", "/v1/session")):
            challenge(stranger.request(method, f"{path}?ticket={ticket}", b"{}" if method == "POST" else None), 401,
                      "detail" if "async" in path else "problem")
        for headers in ({"Authorization": f"Bearer {ticket}"}, {"X-Api-Key": ticket}, {"Cookie": f"spoolwire={ticket}"}):
            equal(stranger.get("/v1/jobs/j", headers=headers).status, 401)


@case
def touched_tickets_are_none():
    with Locked() as s:
        client = s.caller("client")
        client.submit(job_id="j")
        ticket = mint(client, "j")["ticket"]
        kind, expires, id, mac = ticket.split("_")
        later = str(int(expires) + 1)
        for bad in (f"{kind}_{later}_{id}_{mac}", f"{kind}_{expires}_{id_of(s.admin.token)}_{mac}", ticket[:-1], ticket + "0",
                    f"{kind}_{expires}_{id}_{'0' * 52}", f"spw_{id}_{mac}", "", "x", f"{kind}_{expires}_{id}_{mac[::-1]}"):
            challenge(s.stranger().get(f"/v1/jobs/j/events?ticket={bad}"), 401)


@case
def only_ones_own_jobs_have_tickets():
    with Locked() as s:
        a, b = s.caller("client"), s.caller("client")
        a.submit(job_id="others-job")
        same_but_for(b.post("/v1/tickets", {"job_id": "others-job"}), b.post("/v1/tickets", {"job_id": "absent-job"}),
                     {"absent-job": "others-job"})
        challenge(b.post("/v1/tickets", {"job_id": "absent-job"}), 404)
        mint(s.caller("read"), "others-job")
        mint(s.caller("read", "--jobs", "others-*"), "others-job")


@case
def bad_requests():
    with Locked("--ticket-life", "10m") as s:
        s.admin.submit(job_id="j")
        for body in (b"", b"[]", {}, {"job_id": 7}, {"job_id": ""}, {"job_id": "j", "ttl": 0}, {"job_id": "j", "ttl": -1},
                     {"job_id": "j", "ttl": 601}, {"job_id": "j", "ttl": "x"}, {"job_id": "j", "ttl": 1.5}):
            challenge(s.admin.post("/v1/tickets", body), 422)
        contains(s.admin.post("/v1/tickets", {"job_id": "j", "ttl": 601}).detail, "600")
        check(300 < int(mint(s.admin, "j")["ticket"].split("_")[1]) - time.time() <= 601)
        mint(s.admin, "j", ttl=600)


@cases(["kill", "terminate"])
def a_reader_comes_again_with_the_same_address(how):
    """Through lost connections and restarts of the server, and misses nothing."""
    with Locked(port=fixed_port()) as s:
        client, worker = s.caller("client"), s.caller("worker")
        client.submit(job_id="j")
        lease = Worker(worker).lease()
        lease.send(*OPENING, token("one"))
        url = mint(client, "j")["url"] + "&dialect=agent"
        seen, last = [], None

        def read(word):
            nonlocal seen, last
            with open_url(s, url, last) as st:
                equal(st.status, 200)
                st.until(word, lambda x: any(word in f.data for f in x.frames))
                seen += with_ids(st.frames)
                last = seen[-1].id
        read("one")
        for word in ("two", "three"):
            lease.send(token(word))
            read(word)
            s.restart(getattr(s, how))
        lease.send(*CLOSING)
        lease.finish()
        with open_url(s, url, last) as st:
            seen += with_ids(st.rest().frames)
            last = seen[-1].id
        equal(seen, with_ids(client.read("j", "agent")), "nothing lost, nothing twice")
        with open_url(s, url, last) as st:
            equal(st.status, 204, "EventSource is told that there is no more")


@case
def a_ticket_expires():
    with Locked() as s:
        client = s.caller("client")
        client.submit(job_id="j")
        url = mint(client, "j", ttl=6)["url"] + "&dialect=raw"
        with open_url(s, url) as st:
            st.until_id(1)
            with open_url(s, url, "1") as again:
                equal(again.status, 200)
            until_cut(st)
        a = challenge(s.stranger().get(url), 401)
        contains(a.detail, "expired")
        equal(client.state("j"), "queued", "its token has not")


@case
def a_ticket_dies_with_its_token():
    with Locked() as s:
        client = s.caller("client", "--owner", "acme")
        client.submit(job_id="j")
        url = mint(client, "j")["url"] + "&dialect=raw"
        with open_url(s, url) as st:
            st.until_id(1)
            s.revoke(client)
            until_cut(st)
        challenge(s.stranger().get(url), 401)
        s.restart()
        challenge(s.stranger().get(url), 401)


@case
def another_servers_ticket_is_none():
    with Locked() as s, Locked() as t:
        for server in (s, t):
            server.admin.submit(job_id="j")
        equal(t.stranger().get(mint(s.admin, "j")["url"]).status, 401)


@case
def an_open_server_has_them_too():
    """So that a page is the same with and without a lock."""
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        url = mint(Caller(s), "j")["url"]
        with open_url(s, url) as st:
            equal(st.status, 200)
        equal(s.post("/v1/tickets", {"job_id": "k"}).status, 404)


@case
def many_readers_with_one_ticket():
    with Locked() as s:
        client = s.caller("client")
        client.submit(job_id="j")
        url = mint(client, "j")["url"]
        streams = [open_url(s, url) for _ in range(20)]
        Worker(s.caller("worker")).lease().finish()
        threads = [threading.Thread(target=st.rest) for st in streams]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for st in streams:
            equal(st.ended, "clean")
            st.close()
        until("all are gone", lambda: client.get("/v1/session").json["streams"] == 0)
