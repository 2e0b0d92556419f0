"""/docs in a real browser: it shows every route, sends requests, and asks nobody else."""

import json
import re

from browser import Browser
from gateway import PULL, Server
from harness import case, check, contains, equal
from openapi import API, operations


def page(s, at=""):
    b = Browser().open(f"{s.url}/docs{at}")
    b.until("document.querySelectorAll('details').length > 0")
    return b


def own(b, s):
    """The browser had nothing to complain of, and every request went to the server."""
    equal([c for c in b.complaints if "favicon" not in c], [])
    equal([u for u in b.urls if not u.startswith(s.url)], [])


@case
def the_page_has_every_route():
    with Server() as s, page(s) as b:
        shown = b.evaluate("[...document.querySelectorAll('summary')].map(s => [s.children[0].textContent, s.children[1].textContent])")
        equal({tuple(x) for x in shown}, {(method, path) for path, method, *_ in operations()})
        equal(b.evaluate("document.getElementById('version').textContent"), API["info"]["version"])
        b.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        b.until("[...document.querySelectorAll('details')].every(d => d.children.length === 2)")
        own(b, s)


@case
def a_search_leaves_what_was_asked_for():
    with Server() as s, page(s) as b:
        b.evaluate("find = document.getElementById('find'); find.value = 'cancel'; find.oninput()")
        left = b.evaluate("[...document.querySelectorAll('details:not([hidden])')].map(d => d.id)")
        equal(set(left), {"cancelJob", "aiqCancel", "cancelRun", "cancelRuns"})
        own(b, s)


SEND = """(async () => {
  const d = document.getElementById(%s);
  for (const [name, value] of Object.entries(%s)) d.querySelector(`[aria-label="${name}"]`).value = value;
  [...d.querySelectorAll('button')].find(b => b.textContent === 'Send').click();
})()"""


def send(b, id, /, **fields):
    b.evaluate(f"document.getElementById('{id}').open = true")
    b.until(f"document.getElementById('{id}').querySelectorAll('button').length > 0")
    b.evaluate(SEND % (json.dumps(id), json.dumps(fields)))
    stop = f"[...document.getElementById('{id}').querySelectorAll('button')][1].hidden"
    b.until(stop)
    return b.evaluate(f"[...document.getElementById('{id}').querySelectorAll('pre')].filter(p => !p.hidden)"
                      ".map(p => p.textContent)")


@case
def requests_can_be_tried():
    with Server(agents={"pull": PULL}) as s, page(s) as b:
        texts = send(b, "submitJob", body='{"agent":"demo","input":{"speed":0,"issue":"x"},"job_id":"from-the-page"}', wait="20")
        check(any(t.startswith("200 OK\n") and '"state": "succeeded"' in t for t in texts), texts)
        check(any(t.startswith("curl ") and "-X POST" in t for t in texts), texts)
        texts = send(b, "readEvents", id="from-the-page", dialect="messages")
        check(any("event: messages" in t and t.endswith("(the stream has ended)") for t in texts), texts)
        texts = send(b, "getJob", id="<img src=x onerror=alert(1)>")
        check(any(t.startswith("404") for t in texts), texts)
        equal(b.evaluate("document.querySelectorAll('img').length"), 0)
        equal([c for c in b.complaints if "favicon" not in c and "404" not in c], [])
        equal([u for u in b.urls if not u.startswith(s.url)], [])


@case
def the_policy_is_strict_and_the_files_name_no_other_server():
    with Server() as s:
        for path in ("/docs", "/docs/api.js", "/docs/api.css"):
            a = s.get(path)
            policy = a.headers["content-security-policy"]
            contains(policy, "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'")
            check("unsafe" not in policy and "*" not in policy, policy)
            equal(re.findall(rb"(?:https?:)?//[a-z]+\.[a-z]", a.body), [], path)
        check(b"innerHTML" not in s.get("/docs/api.js").body)
        equal(s.get("/docs/nothing.js").status, 404)
