"""Many jobs on one connection, in Chromium's own WebSocket and EventSource, as docs/streaming.md
has it, through a restart of the server: nothing is lost or doubled.

Six tabs at once, each with three jobs: over SSE they would be more than a browser opens to one
server, and nothing else could be asked for.
"""

import contextlib
import json
import os
import re

import gateway
from browser import Page, chromium
from event_source import SLOW
from harness import cases, check, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SELDOM = 0.2  # seconds between two looks at all that was told
TABS = 6
JOBS = 3
# The first tab opens the others.  Each begins when it is told to, tells what it is shown, and asks
# the server for something else meanwhile.
PAGE = """<!doctype html><meta charset="utf-8"><script>
const tab = Number(new URLSearchParams(location.search).get("tab")), seen = [];
if (tab === 0) for (let i = 1; i < %d; i++) window.open("/page?tab=" + i);
</script><script>
let told = 0, answers = 0, hasBegun = false;
function begin() {
%s
}
async function tell() {
  const events = seen.slice(told);
  told += events.length;
  const answer = await fetch("/tell", { method: "POST", body: JSON.stringify({ tab, events, answers }) });
  if (await answer.text() && !hasBegun) {
    hasBegun = true;
    begin();
  }
  setTimeout(tell, 100);
}
async function ask() {
  try { answers += (await fetch("%s/livez")).ok; } catch (e) {}
  setTimeout(ask, 200);
}
tell();
ask();
</script>"""
SOCKET = """%s
open(%s, (job, event, data) => seen.push([job, places[job], event, JSON.stringify(data)]));
"""
EVENTS = """%s
source.addEventListener("message", message => {
  const { job, id, event, data } = JSON.parse(message.data);
  seen.push([job, id, event, JSON.stringify(data)]);
});
"""


def printed(word):
    """The piece of the document that has this word."""
    with open(os.path.join(ROOT, "docs", "streaming.md")) as f:
        pieces = [p for p in re.findall(r"^```js\n(.*?)^```$", f.read(), re.S | re.M) if word in p]
    equal(len(pieces), 1, f"pieces with {word}")
    return pieces[0]


class Tabs(Page):
    def show(self, server, jobs, how, n):
        if how == "socket":
            script = SOCKET % (printed("new WebSocket").replace("location.origin", json.dumps(server.url)), json.dumps(jobs))
        else:
            script = EVENTS % re.sub(r'"/v1/stream\?jobs=[^"]*"', json.dumps(f"{server.url}/v1/stream?jobs={','.join(jobs)}"),
                                     printed("new EventSource"))
        self.html = (PAGE % (n, script, server.url)).encode()

    def events(self, tab, job):
        return [(id, event, json.loads(data)) for told in self.told if told["tab"] == tab
                for of, id, event, data in told["events"] if of == job and not event.startswith("stream.")]

    def answers(self, tab):
        return max((told["answers"] for told in self.told if told["tab"] == tab), default=0)


@cases([("socket", TABS, "terminate"), ("socket", TABS, "kill"), ("events", 1, "kill")], name=lambda c: f"{c[0]} {c[2]}")
def tabs_through_a_restart(case):
    how, n, end = case
    with Tabs(b"") as page, \
            gateway.Server("--origins", page.origin, "--shutdown-window", "2s", agents={"pull": gateway.PULL},
                           port=gateway.fixed_port()) as server, \
            contextlib.ExitStack() as workers:
        for _ in range(JOBS):
            workers.enter_context(gateway.running(gateway.PROGRAM, "demo-agent", "--pull", server.url, "--agent", "pull"))
        jobs, tabs = [f"run-{i}" for i in range(JOBS)], range(n)
        page.show(server, jobs, how, n)

        def each_has(more):
            return all(len(page.events(tab, job)) >= more for tab in tabs for job in jobs)
        with chromium(f"{page.origin}/page?tab=0", "--disable-popup-blocking") as browser:
            gateway.until("every tab is there", lambda: {told["tab"] for told in page.told} == set(tabs), SLOW)
            for i, job in enumerate(jobs):
                server.submit("pull", {"issue": "x", "speed": 2, "seed": i}, job_id=job)
            page.word = "begin"
            gateway.until("every tab has some events of each job", lambda: each_has(20), SLOW, SELDOM)
            check(browser.poll() is None, "chromium ended")
            equal({server.state(job) for job in jobs}, {"running"})
            server.restart(getattr(server, end))
            for job in jobs:
                server.until_state(job, "succeeded", seconds=SLOW)
            whole = {job: [(f.id, f.event, f.json) for f in server.read(job, "agent")] for job in jobs}
            gateway.until("every tab has everything", lambda: all(
                len(page.events(tab, job)) >= len(whole[job]) for tab in tabs for job in jobs), SLOW, SELDOM)
            before = [page.answers(tab) for tab in tabs]
            gateway.until("other requests are answered, too", lambda: all(page.answers(t) > before[t] for t in tabs), SLOW, SELDOM)
    for tab in tabs:
        for job in jobs:
            equal(page.events(tab, job), whole[job], f"tab {tab}")
