"""Chromium's own EventSource, on a page of another origin, through a restart of the server.

The page reports what it got: there is no driver.
"""

import json
import os
import time

import gateway
from browser import Page, chromium
from harness import cases, check, equal

HERE = os.path.dirname(os.path.abspath(__file__))
SPEED = 2  # nine seconds of the demo
CLOSED = 2
SLOW = 60  # seconds; a deadline of what a browser does
# What a connection says for itself; these have no ids.
OWN = {"stream.mode", "job.status", "job.heartbeat", "job.shutdown"}


class Reader(Page):
    """page.html, which tells what its EventSource gets; it opens what it is told in return."""

    def __init__(self):
        with open(os.path.join(HERE, "page.html"), "rb") as f:
            super().__init__(f.read())

    def url(self, names):
        return f"{self.origin}/page?names={','.join(sorted(names))}"

    @property
    def events(self):
        return [event for told in self.told for event in told["events"]]

    @property
    def errors(self):
        return self.told[-1]["errors"]

    @property
    def closed(self):
        return self.told[-1].get("state") == CLOSED


def requests_of(server, job):
    """The statuses of the page's requests so far, from the access logs of all runs."""
    found = []
    for n in range(1, server.n + 1):
        with open(os.path.join(server.folder, f"stderr.{n}"), errors="replace") as f:
            for line in f:
                if line.startswith("{") and f"/{job}/stream" in line:
                    found.append(json.loads(line)["status"])
    return found


@cases(["terminate", "kill"])
def event_source_through_a_restart(how):
    with Reader() as page, \
            gateway.Server("--origins", page.origin, "--access-log", "json", "--shutdown-window", "2s",
                           agents={"pull": gateway.PULL}, port=gateway.fixed_port()) as server, \
            gateway.running(gateway.PROGRAM, "demo-agent", "--pull", server.url, "--agent", "pull"):
        # One of the same kind tells the names to listen for.
        first = server.submit("pull", {"issue": "x", "speed": 0, "seed": 5})
        server.until_state(first, "succeeded")
        names = {f.event for f in server.aiq(first).rest().frames} | OWN | {"stream.gap", "job.error"}
        with chromium(page.url(names)) as browser:
            gateway.until("the page is there", lambda: page.told, SLOW)
            job = server.submit("pull", {"issue": "x", "speed": SPEED, "seed": 5})
            page.word = f"{server.url}/v1/jobs/async/job/{job}/stream"
            gateway.until("the page has some events", lambda: len(page.events) > 50, SLOW)
            check(browser.poll() is None, "chromium ended")
            equal(server.state(job), "running")
            n = len(page.events)
            server.restart(getattr(server, how))
            gateway.until("the page goes on", lambda: len(page.events) > n + 20, SLOW)
            server.until_state(job, "succeeded", seconds=SLOW)
            gateway.until("the page's EventSource is closed", lambda: page.closed, SLOW)
            gateway.until("the last request is in the log", lambda: requests_of(server, job)[-1:] == [204], SLOW)
            statuses = requests_of(server, job)
            time.sleep(4)  # Chromium comes again after three seconds, when it does
            equal(requests_of(server, job), statuses, "requests after the end")
        whole = server.aiq(job).rest().frames
    equal({f.event for f in whole} - names, set(), "names that nobody listened for")
    stored, own, last = [], [], ""
    for id, event, data in page.events:
        # Without an id of its own an event has the one before.
        (own if id == last and event in OWN else stored).append((id, event, data))
        last = id
    equal(stored, [(f.id, f.event, f.data) for f in whole if f.id], "what the page got")
    texts = {f.data for f in whole if f.id}
    equal([o for o in own if o[2] in texts], [], "events that came twice")
    check(page.errors.count(0) >= 1 and page.errors[-1] == CLOSED, f"errors on the page: {page.errors}")
