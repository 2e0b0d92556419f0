"""The cookie of a page, and what other pages cannot do with it."""

import re

from callers import TOKEN, Caller, Locked, challenge, cli
from gateway import PULL, Server, until
from harness import case, check, contains, equal

COOKIE = re.compile(r"(spoolwire|__Host-spoolwire)=([^;]*); Path=/; Max-Age=(\d+); HttpOnly; SameSite=Strict(; Secure)?")


def log_in(caller, **headers):
    a = caller.post("/v1/session", headers=headers)
    equal(a.status, 201, repr(a))
    name, value, seconds, secure = COOKIE.fullmatch(a.headers["set-cookie"]).groups()
    return a, name, value


def page(s, value, name="spoolwire", **headers):
    """A page of our own, in a browser that has the cookie."""
    return Caller(s, Cookie=f"theme=dark; {name}={value}", **headers)


@case
def a_cookie_is_as_good_as_its_token():
    with Locked("--session-life", "1h") as s:
        client = s.caller("client", "--name", "me")
        client.submit(job_id="j")
        a, name, value = log_in(client)
        equal((name, COOKIE.fullmatch(a.headers["set-cookie"])[3], a.headers["cache-control"]), ("spoolwire", "3600", "no-store"))
        equal((a.json["name"], a.json["scope"], a.json["cookie"]), ("me", "client", True))
        check(TOKEN.fullmatch(value) and value != client.token and value not in a.body.decode())
        p = page(s, value, Origin=s.url)
        equal([j["job_id"] for j in p.get("/v1/jobs").json["jobs"]], ["j"])
        p.submit(job_id="k")
        equal(client.job("k")["owner"], client.job("j")["owner"])
        with p.stream("j") as st:
            st.until_id(1)
        equal(p.get("/v1/session").json["cookie"], True)
        equal(client.get("/v1/session").json["cookie"], False)
        challenge(p.get("/v1/tokens"), 403)
        ticket = p.post("/v1/tickets", {"job_id": "j"}).json["url"]
        equal(s.stranger().get(ticket.replace("/j/", "/k/")).status, 401)
        equal(len(s.admin.get("/v1/tokens").json["tokens"]), 2, "sessions are in no list")
        check(value[4:16] not in cli("token", "list", "--data", s.data)[0])


@case
def it_is_a_cookie_and_nothing_else():
    with Locked() as s:
        client = s.caller("client")
        value = log_in(client)[2]
        challenge(Caller(s, value).get("/v1/jobs"), 401)
        challenge(page(s, client.token).get("/v1/jobs"), 401)
        challenge(Caller(s, X_Api_Key=value).get("/v1/jobs"), 401)
        a = page(s, value, Origin=s.url).post("/v1/session")
        equal(a.status, 422)
        contains(a.detail, "token itself")
        # A header counts alone.
        challenge(page(s, value, Authorization="Bearer x").get("/v1/jobs"), 401)
        equal(page(s, "nonsense", Authorization=f"Bearer {client.token}").get("/v1/jobs").status, 200)


@case
def other_pages_can_do_nothing_with_it():
    with Locked("--origins", "https://app.example") as s:
        client = s.caller("client")
        client.submit(job_id="j")
        value = log_in(client)[2]
        ours = {"Origin": s.url}
        for headers, reads, writes in (
                (ours, 200, 200),
                ({"Sec-Fetch-Site": "same-origin"}, 200, 200),
                ({"Origin": "https://app.example"}, 200, 200),
                ({"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}, 200, 200),
                ({}, 200, 403),                                    # no browser, or a very old one
                ({"Sec-Fetch-Site": "none"}, 200, 403),            # typed by hand
                ({"Sec-Fetch-Site": "same-site"}, 401, 403),       # a neighbour's page
                ({"Sec-Fetch-Site": "cross-site"}, 401, 403),
                ({"Origin": "https://evil.example"}, 401, 403),
                ({"Origin": "null"}, 401, 403),
                ({"Origin": s.url + ".evil.example"}, 401, 403),
                ({"Origin": s.url.replace("127.0.0.1", "localhost")}, 401, 403)):
            p = page(s, value, **headers)
            equal(p.get("/v1/jobs/j").status, reads, f"reading: {headers}")
            a = p.post("/v1/jobs/j/cancel")
            equal(a.status, writes, f"writing: {headers} {a!r}")
        equal(client.post("/v1/jobs/j/cancel").status, 200, "a header needs none of that")


@case
def a_star_for_origins_is_none_for_cookies():
    with Locked("--origins", "*") as s:
        value = log_in(s.caller("client"))[2]
        p = page(s, value, Origin="https://evil.example")
        equal(p.get("/v1/jobs").status, 401)
        equal(p.post("/v1/jobs", {"agent": "pull"}).status, 401)


@case
def over_https_it_is_secure():
    with Locked("--origins", "https://app.example") as s:
        a, name, value = log_in(s.caller("client"), Origin="https://app.example")
        equal((name, COOKIE.fullmatch(a.headers["set-cookie"])[4]), ("__Host-spoolwire", "; Secure"))
        p = page(s, value, name, Origin="https://app.example")
        p.submit()
        equal(a.headers["access-control-allow-credentials"], "true")


@case
def logging_out_ends_it_everywhere():
    with Locked() as s:
        client = s.caller("client")
        one, two = (log_in(client)[2] for _ in range(2))
        p = page(s, one, Origin=s.url)
        equal(p.request("DELETE", "/v1/session", headers={"Origin": "https://evil.example"}).status, 403)
        a = p.request("DELETE", "/v1/session")
        equal(a.status, 204)
        equal(COOKIE.fullmatch(a.headers["set-cookie"]).groups()[:3], ("spoolwire", "", "0"))
        challenge(p.get("/v1/jobs"), 401)
        challenge(p.request("DELETE", "/v1/session"), 401)
        equal(page(s, two).get("/v1/jobs").status, 200, "the other one goes on")
        equal(client.request("DELETE", "/v1/session").status, 422)
        s.restart()
        challenge(p.get("/v1/jobs"), 401)
        equal(page(s, two).get("/v1/jobs").status, 200, "also after a restart")


@case
def a_session_ends_with_its_token():
    with Locked() as s:
        client = s.caller("client", "--owner", "acme")
        client.submit(job_id="j")
        p = page(s, log_in(client)[2])
        with p.stream("j") as st:
            st.until_id(1)
            s.revoke(client)
            until("the stream ends", lambda: st.ended or (st.pump(0.1) and st.ended))
            equal(st.ended, "cut")
        challenge(p.get("/v1/jobs"), 401)
        brief = Caller(s, s.make("client", "--expires", "8s"))
        until("it is known", lambda: brief.get("/v1/jobs").status == 200)
        a, _, value = log_in(brief)
        check(int(COOKIE.fullmatch(a.headers["set-cookie"])[3]) <= 8)
        until("it expires", lambda: page(s, value).get("/v1/jobs").status == 401)


@case
def an_open_server_needs_none():
    with Server(agents={"pull": PULL}) as s:
        a = s.post("/v1/session")
        equal((a.status, "set-cookie" in a.headers, a.json["scope"]), (201, False, "admin"))
        equal(s.get("/v1/session").json["owner"], None)
