"""Whose job it is, and who sees it."""

from callers import Caller, Locked, challenge, id_of, same_but_for, until_cut
from gateway import OPENING, PULL, STORY, Server, Worker, at_once, token, until, with_ids
from harness import case, cases, check, contains, equal


def ids(caller, query=""):
    a = caller.get("/v1/jobs" + query)
    equal(a.status, 200, repr(a))
    return [j["job_id"] for j in a.json["jobs"]]


@case
def lists_have_ones_own_jobs():
    with Locked() as s:
        a, b = s.caller("client"), s.caller("client")
        for i in range(3):
            a.submit(job_id=f"a{i}")
            b.submit(job_id=f"b{i}")
        s.admin.submit(job_id="root")
        a.post("/v1/jobs/a1/cancel")
        equal(ids(a), ["a2", "a1", "a0"])
        equal(ids(a, "?state=cancelled"), ["a1"])
        equal(ids(a, "?agent=pull&state=queued"), ["a2", "a0"])
        equal(ids(a, "?agent=demo"), [])
        equal(ids(b), ["b2", "b1", "b0"])
        equal(ids(s.admin), ["root", "b2", "a2", "b1", "a1", "b0", "a0"])
        equal(ids(s.caller("read")), ids(s.admin))
        equal(ids(s.caller("read", "--jobs", "b*,a0")), ["b2", "b1", "b0", "a0"])
        equal(ids(s.caller("client", "--jobs", "a*")), ["a2", "a1", "a0"])
        # Pages have what one may see, and no more.
        limited = s.caller("read", "--jobs", "b*")
        seen, after = [], ""
        for _ in range(10):
            page = limited.get(f"/v1/jobs?limit=1{after}").json
            seen += [j["job_id"] for j in page["jobs"]]
            if not page["next"]:
                break
            after = f"&after={page['next']}"
        equal(seen, ["b2", "b1", "b0"])


@case
def the_list_of_workers_has_those_of_ones_own_jobs():
    with Locked() as s:
        a, b, w = s.caller("client"), s.caller("client"), s.caller("worker")
        for who, id in ((a, "a"), (b, "b")):
            who.submit(job_id=id)
            equal(Worker(w, name=f"for-{id}").lease().job, id)

        def workers(caller):
            return [(x["worker"], x["agents"], x["job_id"], x["attempt"]) for x in caller.get("/v1/workers").json["workers"]]
        equal(workers(a), [("for-a", ["pull"], "a", 1)])
        equal(sorted(workers(s.admin)), [("for-a", ["pull"], "a", 1), ("for-b", ["pull"], "b", 1)])

        def look():
            until("the one that waits is listed", lambda: ("idle", ["pull"], None, None) in workers(s.admin))
            equal(workers(a), [("for-a", ["pull"], "a", 1)])
            s.admin.submit(job_id="c")
            until("it has got a job", lambda: ("idle", ["pull"], "c", 1) in workers(s.admin))
        at_once(lambda: Worker(w, name="idle").lease(wait=20), look)


@case
def tokens_of_one_owner_share_their_jobs():
    """So a token can be replaced."""
    with Locked() as s:
        old = s.caller("client", "--owner", "acme")
        old.submit(job_id="j")
        new = s.caller("client", "--owner", "acme")
        s.revoke(old)
        until("the old one is gone", lambda: old.get("/v1/jobs").status == 401)
        equal(ids(new), ["j"])
        equal(new.job("j")["owner"], "acme")
        equal(new.post("/v1/jobs/j/cancel").status, 200)
        equal(ids(s.caller("read", "--jobs", "owner:acme")), ["j"])
        equal(ids(s.caller("client", "--jobs", "owner:acme")), ["j"])


@case
def taken_ids_and_keys():
    with Locked() as s:
        a, b = s.caller("client"), s.caller("client")
        body = {"agent": "pull", "input": "x"}
        key = {"Idempotency-Key": "k"}
        one = a.post("/v1/jobs", body, headers=key)
        equal(a.post("/v1/jobs", body, headers=key).json["job_id"], one.json["job_id"])
        two = b.post("/v1/jobs", body, headers=key)
        equal(two.status, 202)
        check(one.json["job_id"] != two.json["job_id"], "a key is its owner's own")
        equal(b.post("/v1/jobs", {"agent": "pull", "input": "y"}, headers=key).status, 409)
        # An id is one in the whole server; nothing else is told of it.
        a.submit(job_id="j")
        again = b.post("/v1/jobs", {"agent": "pull", "job_id": "j"})
        equal((again.status, again.detail), (409, "Job already exists: j"))


@case
def who_waits_sees_only_its_own():
    with Locked() as s:
        client, worker = s.caller("client"), s.caller("worker")

        def work():
            lease = Worker(worker).lease()
            lease.send(*STORY)
            lease.finish()
        answer, _ = at_once(lambda: client.post("/v1/jobs?wait=20", {"agent": "pull"}), work)
        equal((answer.status, answer.json["state"], answer.json["output"]), (200, "succeeded", {"ok": True}))


@case
def agents_are_limited():
    with Locked(agents={"pull": PULL, "other": PULL}) as s:
        client = s.caller("client", "--agents", "other")
        worker = s.caller("worker", "--agents", "other,third")
        a = challenge(client.post("/v1/jobs", {"agent": "pull"}), 403)
        contains(a.detail, "'pull'")
        challenge(client.post("/v1/jobs/async/submit", {"agent_type": "pull", "input": "x"}), 403, "detail")
        client.submit("other")
        challenge(Worker(worker, "pull").ask(0), 403)
        challenge(Worker(worker, "other", "pull").ask(0), 403)
        Worker(worker, "other").lease().finish()


@case
def a_lease_is_its_holders():
    with Locked() as s:
        client, one, two = s.caller("client"), s.caller("worker"), s.caller("worker")
        same = s.caller("worker", "--owner", id_of(one.token))
        client.submit(job_id="j")
        lease = Worker(one).lease()
        lease.send(*OPENING)
        for call in ("try_append", "try_beat", "try_finish", "hand_back"):
            args = [token("stolen")] if call == "try_append" else []
            mine, theirs = Worker(two), Worker(two)
            stolen = type(lease)(mine, lease.order)
            nowhere = type(lease)(theirs, {**lease.order, "job": "k"})
            same_but_for(getattr(stolen, call)(*args), getattr(nowhere, call)(*args), {"found: k": "found: j"})
        equal(lease.send(token("a"))["accepted"], 1)
        shared = type(lease)(Worker(same), lease.order)
        shared.seq = lease.seq
        equal(shared.send(token("b"))["accepted"], 1, "another worker of the same owner")
        equal(type(lease)(Worker(s.admin), lease.order).beat()["cancel"], False)
        s.restart(s.kill)
        stolen = type(lease)(Worker(two), lease.order)
        equal(stolen.try_append(token("stolen")).status, 404, "after a restart, too")
        shared.finish()
        equal(stolen.try_finish().status, 404, "a finished one, too")
        equal(lease.try_finish().status, 409)
        text = "".join(f.data for f in with_ids(client.read("j")))
        check("stolen" not in text)


@case
def a_deleted_jobs_name_is_free_and_nobodys():
    with Locked() as s:
        a, b = s.caller("client"), s.caller("client")
        a.submit(job_id="j")
        with a.stream("j") as st:
            st.until_id(1)
            equal(b.request("DELETE", "/v1/jobs/j").status, 404)
            equal(a.request("DELETE", "/v1/jobs/j").status, 204)
            b.submit(job_id="j")
            until_cut(st)
        equal(a.get("/v1/jobs/j").status, 404)
        equal(b.job("j")["state"], "queued")


@cases(["kill", "terminate"])
def owners_are_remembered(how):
    with Locked() as s:
        a, b = s.caller("client"), s.caller("client")
        a.submit(job_id="j")
        s.restart(getattr(s, how))
        equal((a.state("j"), b.get("/v1/jobs/j").status), ("queued", 404))
        equal(b.post("/v1/jobs/j/cancel").status, 404)
        equal(a.post("/v1/jobs/j/cancel").status, 200)


@case
def without_a_lock_jobs_are_nobodys():
    with Server(agents={"pull": PULL}) as s:
        equal(s.job(s.submit(job_id="j"))["owner"], None)
        equal(Caller(s, "whatever").state("j"), "queued")
