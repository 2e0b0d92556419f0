"""The connections between gateways are cut, swallowed and delayed, while each reaches PostgreSQL."""

import contextlib
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time

from failover import batches
from gateway import OPENING, Worker, token
from gateways import Gateway, check, database, equal, texts, until, verify
from harness import case, cases, contains
from link_proxy import LinkProxy


@contextlib.contextmanager
def behind_a_proxy(tls=None, env=None, waits=True):
    """The gateway that writes, which others reach through a proxy, and another one."""
    url = database().url()
    with contextlib.ExitStack() as stack:
        a = Gateway(url, start=False)
        proxy = stack.enter_context(LinkProxy(a.wanted_port, tls))
        a.advertise(proxy.url)
        a.start()
        stack.enter_context(a)
        b = stack.enter_context(Gateway(url, env=env))
        if waits:
            until("the link is up", lambda: b.get("/v1/gateways").json["reachable"])
        yield proxy, a, b


def links(g):
    """What its log says of its link."""
    return [json.loads(line) for line in g.err().splitlines() if '"event":"link"' in line]


def leased(g):
    job = g.submit()
    lease = Worker(g).lease()
    equal(lease.job, job)
    lease.send(*OPENING)
    return job, lease


@case
def a_link_that_is_cut_all_the_time_loses_and_doubles_nothing():
    with behind_a_proxy() as (proxy, a, b):
        job, lease = leased(b)
        over = threading.Event()

        def cut():
            while not over.wait(0.05):
                proxy.cut()
        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            n = 0
            while n < 60 or proxy.n_connections < 10:
                batches(lease, 10, n, most_refused=0)
                n += 10
            jobs = [b.submit() for _ in range(20)]
        finally:
            over.set()
            cutter.join()
        equal(lease.finish(), "succeeded")
        for g in (a, b):
            equal(texts(g.read(job)), [f"t{i} " for i in range(n)])
        listed = {j["job_id"] for j in a.get("/v1/jobs?limit=200").json["jobs"]}
        equal(listed, {job, *jobs}, "each submit has made one job")
        verify(a.data)


@case
def a_delayed_link_only_delays():
    with behind_a_proxy() as (proxy, a, b):
        job, lease = leased(b)
        proxy.delay = 0.2
        with b.stream(job) as stream:
            batches(lease, 5, most_refused=0)
            equal(lease.finish(), "succeeded")
            stream.rest()
            equal(texts(stream.frames), [f"t{i} " for i in range(5)])


@case
def a_silent_link_is_made_again():
    with behind_a_proxy() as (proxy, a, b):
        job, lease = leased(b)
        proxy.is_hole = True
        until_thaw = threading.Timer(5, lambda: setattr(proxy, "is_hole", False))
        until_thaw.start()
        batches(lease, 3, most_refused=0)
        check(proxy.n_connections > 1, "the link was made again")
        equal(lease.finish(), "succeeded")
        equal(texts(a.read(job)), ["t0 ", "t1 ", "t2 "])


@case
def a_gateway_that_does_not_reach_the_writer_goes_on_reading():
    with behind_a_proxy() as (proxy, a, b):
        job, lease = leased(a)
        with b.stream(job) as stream:
            proxy.refuses = True
            proxy.cut()
            refused = b.post("/v1/jobs", {"agent": "pull", "input": 1})
            equal(refused.status, 503, repr(refused))
            contains(refused.detail, proxy.url, "cannot be reached")
            check(int(refused.headers["retry-after"]) > 0, repr(refused))
            batches(lease, 5)
            stream.until("tokens", lambda s: len(texts(s.frames)) == 5)
            equal(b.job(job)["state"], "running")
            equal(b.get("/v1/gateways").json["reachable"], False)
            lost = [e for e in links(b) if not e["connected"]]
            check(1 <= len(lost) <= 2 and all(e["to"] == proxy.url and e["why"] for e in lost), lost)  # not one for each try
            proxy.refuses = False
            equal(b.submit() is not None, True)
            equal(links(b)[-1]["connected"], True)
            equal(lease.finish(), "succeeded")
            stream.rest()
        equal(texts(stream.frames), [f"t{i} " for i in range(5)])


def certificate(folder, name):
    """A certificate for @name that is its own authority: its file, and a server's TLS with it."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=gateway", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", cert],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


@case
def gateways_speak_tls_to_each_other():
    with tempfile.TemporaryDirectory() as folder:
        cert, tls = certificate(folder, "IP:127.0.0.1")
        with behind_a_proxy(tls, {"SSL_CERT_FILE": cert}) as (proxy, a, b):
            job, lease = leased(b)
            batches(lease, 20, most_refused=0)
            lease.send(token("x" * 300_000))  # more than one TLS record
            proxy.cut()
            batches(lease, 5, 20, most_refused=0)
            equal(lease.finish(), "succeeded")
            want = [f"t{i} " for i in range(20)] + ["x" * 300_000] + [f"t{i} " for i in range(20, 25)]
            check("".join(texts(a.read(job))) == "".join(want), "another text")  # a long one is cut into pieces


@cases(["IP address mismatch", "self-signed certificate"])
def a_wrong_certificate_is_named(why):
    with tempfile.TemporaryDirectory() as folder:
        cert, tls = certificate(folder, "DNS:other.example")
        trusted = "/dev/null" if why == "self-signed certificate" else cert
        with behind_a_proxy(tls, {"SSL_CERT_FILE": trusted}, waits=False) as (proxy, a, b):
            refused = b.post("/v1/jobs", {"agent": "pull", "input": 1})
            equal(refused.status, 503, repr(refused))
            contains(refused.detail, proxy.url, "cannot be reached", why)
            told, = links(b)  # one line for all tries
            equal((told["connected"], told["to"]), (False, proxy.url))
            contains(told["why"], "its certificate is not trusted", why)
