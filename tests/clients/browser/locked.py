"""A server with tokens, and a page in Chromium: EventSource with a ticket through a restart, and
with a cookie."""

import json
import os
import urllib.parse

import gateway
from browser import Page, chromium
from callers import Locked, id_of
from event_source import CLOSED, OWN, SLOW, Reader
from harness import case, cases, check, equal

# Logs in, and does with the cookie alone what a page does.
PAGE = """<!doctype html><meta charset="utf-8"><script>
const q = new URLSearchParams(location.search), at = q.get("server");
const call = (method, path, more) => fetch(at + path, {method, credentials: "include", ...more});
const status = async (...args) => { try { return (await call(...args)).status; } catch (e) { return String(e); } };
(async () => {
  const told = {};
  told.before = await status("GET", "/v1/jobs");
  told.login = await status("POST", "/v1/session", {headers: {Authorization: "Bearer " + q.get("token")}});
  told.readable = document.cookie;
  told.list = await status("GET", "/v1/jobs");
  told.submit = await status("POST", "/v1/jobs", {body: JSON.stringify({agent: "pull", job_id: "from-page"})});
  const source = new EventSource(at + "/v1/jobs/from-page/events?dialect=raw", {withCredentials: true});
  source.onopen = async () => {
    told.opened = true;
    source.close();
    told.logout = await status("DELETE", "/v1/session");
    told.after = await status("GET", "/v1/jobs");
    await fetch("/tell", {method: "POST", body: JSON.stringify(told)});
  };
  source.onerror = () => fetch("/tell", {method: "POST", body: JSON.stringify({...told, error: source.readyState})});
})();
</script>"""


@cases(["terminate", "kill"])
def event_source_with_a_ticket_through_a_restart(how):
    with Reader() as page, Locked("--origins", page.origin, "--access-log", "json", "--shutdown-window", "2s",
                                  port=gateway.fixed_port()) as s:
        client, worker = s.caller("client"), s.caller("worker")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SPOOLWIRE_")}
        with gateway.running(gateway.PROGRAM, "demo-agent", "--pull", s.url, "--agent", "pull",
                             env={**clean, "SPOOLWIRE_TOKEN": worker.token}):
            first = client.submit("pull", {"issue": "x", "speed": 0, "seed": 5})
            client.until_state(first, "succeeded")
            names = {f.event for f in client.read(first, "agent")} | OWN
            with chromium(page.url(names)) as browser:
                gateway.until("the page is there", lambda: page.told, SLOW)
                job = client.submit("pull", {"issue": "x", "speed": 2, "seed": 5})
                ticket = client.post("/v1/tickets", {"job_id": job}).json
                page.word = f"{s.url}{ticket['url']}&dialect=agent"
                gateway.until("the page has some events", lambda: len(page.events) > 30, SLOW)
                check(browser.poll() is None, "chromium ended")
                n = len(page.events)
                s.restart(getattr(s, how))
                gateway.until("the page goes on", lambda: len(page.events) > n + 20, SLOW)
                client.until_state(job, "succeeded", seconds=SLOW)
                gateway.until("the page's EventSource is closed", lambda: page.closed, SLOW)
            whole = client.read(job, "agent")
        equal([tuple(e) for e in page.events], [(f.id, f.event, f.data) for f in whole if f.id], "what the page got")
        check(page.errors.count(0) >= 1 and page.errors[-1] == CLOSED, f"errors on the page: {page.errors}")


@case
def event_source_with_a_worthless_ticket_gives_up():
    with Reader() as page, Locked("--origins", page.origin, "--access-log", "json") as s:
        s.admin.submit(job_id="j")
        ticket = s.admin.post("/v1/tickets", {"job_id": "j", "ttl": 1}).json
        gateway.until("it has expired", lambda: s.stranger().get(ticket["url"]).status == 401)
        page.word = s.url + ticket["url"]
        with chromium(page.url("x")):
            gateway.until("the page's EventSource is closed", lambda: page.told and page.closed, SLOW)
        equal(page.events, [])


@case
def a_page_with_a_cookie():
    with Page(PAGE.encode()) as page, Locked("--origins", page.origin) as s:
        client = s.caller("client")
        with chromium(f"{page.origin}/page?" + urllib.parse.urlencode({"server": s.url, "token": client.token})):
            gateway.until("the page has told", lambda: page.told, SLOW)
        told = page.told[0]
        equal(told, {"before": 401, "login": 201, "readable": "", "list": 200, "submit": 202, "opened": True,
                     "logout": 204, "after": 401}, json.dumps(told))
        equal(client.job("from-page")["owner"], id_of(client.token))


@case
def a_page_that_is_not_listed_gets_nowhere():
    with Page(PAGE.encode()) as page, Locked() as s:
        client = s.caller("client")
        with chromium(f"{page.origin}/page?" + urllib.parse.urlencode({"server": s.url, "token": client.token})):
            gateway.until("the page has told", lambda: page.told, SLOW)
        told = page.told[0]
        check(all("TypeError" in str(told[k]) for k in ("before", "login", "list", "submit")), json.dumps(told))
        equal(client.get("/v1/jobs").json["jobs"], [])
