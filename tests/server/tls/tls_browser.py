"""Chromium over https: a page, and its EventSource through a renewal."""

import base64
import hashlib
import subprocess

import gateway
from browser import Browser
from gateway import PULL, Server, Worker, until
from harness import case, equal
from secure_server import FIRST, SECOND

SOURCE = """
got = [];
source = new EventSource('/v1/jobs/%s/events?dialect=agent');
source.onerror = () => { if (source.readyState === 2) got.push('closed'); };
for (const name of %s) source.addEventListener(name, (e) => got.push(e.lastEventId + ' ' + e.data));
"""


def fingerprint(cert):
    """What Chromium is told to trust: the hash of the key."""
    key = subprocess.run(["openssl", "x509", "-in", cert, "-pubkey", "-noout"], stdout=subprocess.PIPE, check=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key, stdout=subprocess.PIPE, check=True).stdout
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


@case
def a_browser_reads_through_a_renewal():
    trusted = ",".join(fingerprint(pair[0]) for pair in (FIRST, SECOND))
    with Server(agents={"pull": PULL}) as s, Browser(f"--ignore-certificate-errors-spki-list={trusted}") as b:
        b.open(f"{s.url}/docs")
        b.until("document.querySelectorAll('details').length > 0")
        equal(b.evaluate("location.protocol"), "https:")
        equal(b.evaluate("isSecureContext"), True)
        id = s.submit()
        lease = Worker(s).lease()
        lease.send(*gateway.OPENING)
        b.evaluate(SOURCE % (id, '["agent.token", "output.token", "job.done", "agent.spawned", "agent.done"]'))
        lease.send(*(gateway.token(f"a{i} ") for i in range(20)))
        b.until("got.length >= 20")
        s.install(SECOND)
        until("renewed", lambda: '"renewed":true' in s.err())
        lease.send(*(gateway.token(f"b{i} ") for i in range(20)), *gateway.CLOSING)
        lease.finish()
        b.until("got.at(-1) === 'closed'")
        got = b.evaluate("got")
        want = [f"{f.id} {f.data}" for f in s.read(id, "agent")
                if f.event in ("agent.token", "output.token", "job.done", "agent.spawned", "agent.done")]
        equal(got, [*want, "closed"])
        equal([c for c in b.complaints if "favicon" not in c], [])


@case
def a_browser_that_does_not_know_the_certificate_stays_away():
    with Server() as s, Browser() as b:
        b.open(f"{s.url}/docs")
        b.until("location.href.startsWith('chrome-error://')")
        equal([line for line in s.err().splitlines() if "/docs" in line], [])
