"""The whole table of routes, as the program has it, with every kind of caller."""

import functools
import os
import subprocess

from callers import Caller, Locked, challenge, id_of, same_but_for
from gateway import Stream, Worker, read_answer, request_bytes, until
from harness import ON_POSTGRES, PROGRAM, case, cases, check, equal

SCOPES = {"read": {"read", "queues"}, "client": {"read", "client", "items", "queues"}, "worker": {"worker", "items", "queues"}, "metrics": {"metrics"},
          "admin": {"read", "client", "worker", "metrics", "admin", "items", "queues"}}


def scope_of(access):
    """The scope with the fewest rights that may use the route."""
    return {"items": "client", "queues": "read"}.get(access, access)


# Bodies and queries that a route needs to get as far as its job.  A new route with an {id} has
# its line here.
WORKER = "?lease=%l"
BODIES = {
    "POST /v1/worker/jobs/{id}/events": (WORKER, b'{"type":"x"}\n'),
    "POST /v1/worker/jobs/{id}/heartbeat": (WORKER, b""),
    "POST /v1/worker/jobs/{id}/return": (WORKER, b""),
    "POST /v1/worker/jobs/{id}/lose": (WORKER, b""),
    "POST /v1/worker/calls/{call}": ("", b'{"answer":1}'),
    "POST /v1/agents/{agent}/call": ("", b'{"name":"x","timeout":1}'),
    "POST /v1/worker/jobs/{id}/finish": (WORKER, b'{"status":"failure"}'),
    "POST /v1/jobs/{id}/answer": ("", b'{"value":1}'),
    "POST /v1/tickets": ("", b'{"job_id":"%s"}'),
}
ABSENT = "absent-job"  # as long as the other's name
OTHERS = "others-job"
# Only for gateways that share a database, with a secret of their own: tests/cluster.
CLUSTER = "/cluster/journal"
COMPONENT = "/ui/{graph}/{file}"  # this server has none


@functools.cache
def routes():
    program = os.path.join(os.path.dirname(PROGRAM), "tests", "routes")
    rows = [row.split() for row in subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()]
    check(len(rows) > 25, "that is not the whole table")
    return rows


def request(caller, method, pattern, job=OTHERS, token="0" * 12, lease=f"1.1.{'0' * 32}"):
    query, body = BODIES.get(f"{method} {pattern}", ("", b"{}" if method != "GET" else None))
    path = pattern.replace("{id}", job).replace("{last}", "0").replace("{token}", token).replace("{file}", "api.js").replace("{agent}", "pull").replace("{call}", "x").replace("{thread}", "x").replace("{run}", "x").replace("{checkpoint}", "x").replace("{assistant}", "demo").replace("{namespace}", "x").replace("{cron}", "x").replace("{graph}", "x").replace("{webhook}", "x")
    check("{" not in path, f"what is {pattern}?")
    if body is not None:
        body = body.replace(b"%s", job.encode())
    return caller.request(method, path + query.replace("%l", lease), body)


def status(caller, method, pattern, kind, lease=""):
    """The status of an answer to a caller that may be admitted."""
    if kind != "stream":
        return request(caller, method, pattern, lease=lease).status
    with Stream(caller, pattern.replace("{id}", OTHERS).replace("{last}", "0"), headers=caller.own) as st:
        return st.status


def of_job(method, pattern):
    return "{id}" in pattern or b"%s" in BODIES.get(f"{method} {pattern}", ("", b""))[1]


NAMES = [f"{method} {pattern}" for method, pattern, *_ in routes()] if os.access(PROGRAM, os.X_OK) else []


def row(name):
    return next(r for r in routes() if f"{r[0]} {r[1]}" == name)


@case
def the_table_says_something_for_every_route():
    for method, pattern, access, form, kind in routes():
        check(access in ("public", "items", "queues", *SCOPES), f"{method} {pattern}: {access}")
    public = {pattern for _, pattern, access, *_ in routes() if access == "public"}
    equal(public - {"/docs/{file}", "/console/{file}", COMPONENT}, {"/", "/ok", "/info", "/livez", "/readyz", "/healthz", "/openapi.json", "/docs", CLUSTER})
    for method, pattern, access, *_ in routes():
        check(not (method != "GET" and access == "read" and "{id}" in pattern), f"{method} {pattern}: reading changes nothing")
        check(("/worker/" in pattern) == (access == "worker"), f"{method} {pattern}: {access}")


@cases(NAMES)
def callers_without_a_good_token(name):
    method, pattern, access, form, kind = row(name)
    with Locked() as s:
        stranger = s.stranger()
        if access == "public":
            for caller in (stranger, Caller(s, "nonsense")):
                a = request(caller, method, pattern)
                check(a.status == 404 if pattern == COMPONENT else a.status == (403 if ON_POSTGRES else 404) if pattern == CLUSTER else
                      a.status < 300, repr(a))
            return
        expired = s.make(scope_of(access), "--expires", "1s")
        revoked = s.caller(scope_of(access))
        s.revoke(revoked)
        unknown = revoked.token[:17] + "0" * 52
        challenge(request(stranger, method, pattern), 401, form)
        for text in ("nonsense", "", unknown, revoked.token[:-1], revoked.token.upper(), id_of(revoked.token),
                     "spw_" + "0" * 12 + "_" + "0" * 52, "x" * 3000):
            a = challenge(request(Caller(s, text), method, pattern), 401, form)
            check(text in ("", None) or "invalid_token" in a.headers["www-authenticate"], repr(a))
        for headers in ({"Authorization": "Basic YTpi"}, {"Authorization": revoked.token}, {"X-Api-Key": "x"},
                        {"Cookie": f"spoolwire={s.admin.token}"}, {"Cookie": "spoolwire="}):
            challenge(request(Caller(s, **headers), method, pattern), 401, form)
        # A token never counts in an address.
        a = stranger.request(method, f"{pattern}?token={s.admin.token}&ticket={s.admin.token}&access_token={s.admin.token}"
                             .replace("{id}", OTHERS).replace("{last}", "0").replace("{token}", "0" * 12))
        challenge(a, 401, form)
        until("a revoked token is noticed", lambda: request(revoked, method, pattern).status == 401)
        challenge(request(revoked, method, pattern), 401, form)
        until("a token expires", lambda: request(Caller(s, expired), method, pattern).status == 401)
        challenge(request(Caller(s, expired), method, pattern), 401, form)


@cases([n for n in NAMES if row(n)[2] != "public"])
def callers_with_the_wrong_scope(name):
    method, pattern, access, form, kind = row(name)
    with Locked() as s:
        for scope, gives in SCOPES.items():
            if scope == "admin":
                continue
            a = request(s.caller(scope), method, pattern)
            if access not in gives:
                challenge(a, 403, form)
                check(f'insufficient_scope", scope="{scope_of(access)}"' in a.headers["www-authenticate"], repr(a))
            else:
                check(a.status not in (401, 403), f"{scope}: {a!r}")
        check(request(s.admin, method, pattern).status not in (401, 403))


@cases([n for n in NAMES if row(n)[2] not in ("public", "admin") and of_job(*row(n)[:2])])
def a_job_of_somebody_else_is_as_if_it_were_not_there(name):
    method, pattern, access, form, kind = row(name)
    with Locked() as s:
        owner, crew = s.caller("client"), s.caller("worker")
        owner.submit(job_id=OTHERS)
        lease = Worker(crew).lease().token
        scope = "client" if access == "read" else access
        foreign = s.caller(scope)
        absent = request(foreign, method, pattern, ABSENT, lease=lease)
        challenge(absent, 404, form)
        same_but_for(request(foreign, method, pattern, lease=lease), absent, {ABSENT: OTHERS})
        # A reader that is limited to some, and one of those in the way.
        if access == "read":
            limited = s.caller("read", "--jobs", "mine-*,own,owner:nobody")
            same_but_for(request(limited, method, pattern), absent, {ABSENT: OTHERS})
            check(status(s.caller("read", "--jobs", "others-*"), method, pattern, kind) in (200, 201))
        # And the job is as it was.
        equal((owner.state(OTHERS), owner.job(OTHERS)["attempt"]), ("running", 1))
        # It is there for those whose it is, and when it has ended as well.
        mine = crew if access == "worker" else owner
        there = (409,) if pattern.endswith(("/answer", "/resume")) else (200, 201, 204)  # nothing was asked
        check(status(mine, method, pattern, kind, lease) in there)
        s.admin.post(f"/v1/jobs/{OTHERS}/cancel")
        same_but_for(request(foreign, method, pattern, lease=lease), request(foreign, method, pattern, ABSENT, lease=lease), {ABSENT: OTHERS})


@case
def nothing_of_the_body_is_read_first():
    with Locked() as s:
        for method, pattern, access, form, kind in routes():
            if method != "POST" or access == "public":
                continue
            path = pattern.replace("{id}", "x")
            with s.connect() as c:
                c.sendall(request_bytes(s, method, path, None, {"Content-Length": "1000", "Authorization": "Bearer x"}))
                c.settimeout(10)
                check(c.recv(4096).startswith(b"HTTP/1.1 401 "), path)


@case
def a_connection_is_asked_each_time():
    """Also a proxy's, on which many callers come one after another."""
    with Locked() as s:
        a, b = s.caller("client"), s.caller("client")
        a.submit(job_id="j")

        def ask(c, caller, path="/v1/jobs/j"):
            c.sendall(request_bytes(s, "GET", path, None, caller.own))
            return read_answer(c).status
        with s.connect() as c:
            for _ in range(2):
                equal(ask(c, a), 200)
                equal(ask(c, b), 404)
                equal(ask(c, s.stranger()), 401)
                equal(ask(c, s.stranger(), "/livez"), 200)
                equal(ask(c, Caller(s, a.token[:-1] + ("0" if a.token[-1] != "0" else "1"))), 401)
                equal(ask(c, Caller(s, X_Api_Key=a.token)), 200)
            s.revoke(a)
            until("revoked", lambda: ask(c, a) == 401)
            equal(ask(c, b), 404)


@case
def preflights_need_no_token():
    with Locked("--origins", "https://app.example") as s:
        a = s.stranger().request("OPTIONS", "/v1/jobs", headers={"Origin": "https://app.example",
                                                                 "Access-Control-Request-Method": "POST"})
        equal(a.status, 204)
        check("Authorization" in a.headers["access-control-allow-headers"])
        a = s.stranger().get("/v1/jobs", headers={"Origin": "https://app.example"})
        equal((a.status, a.headers["access-control-allow-origin"]), (401, "https://app.example"))


@case
def head_is_as_get():
    with Locked() as s:
        for method, pattern, access, form, kind in routes():
            if method == "GET" and access != "public":
                equal(s.stranger().request("HEAD", pattern.replace("{id}", "x").replace("{last}", "0")).status, 401, pattern)
