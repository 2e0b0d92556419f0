"""Over https://, with a certificate that only those who are told so trust."""

import os
import ssl

import gateway
import pytest
from support import run, say, working

from spoolwire import Client, NotTrusted, subscribe


@pytest.fixture(scope="module")
def secure():
    plain = gateway.Server
    import secure_server  # takes its place, for suites that want that
    gateway.Server = plain
    with secure_server.SecureServer(agents={"pull": {"pull": True}}) as running:
        yield running


def client_of(secure, **how):
    return Client(secure.url, tls=ssl.create_default_context(cafile=secure.cert), **how)


def test_a_worker_and_a_reader(secure):
    async def handler(job):
        for i in range(100):
            await job.emit(say(i))
        return {"bytes": "ä" * 100_000}

    async def read(job):
        return [e async for e in subscribe(job, dialect="raw", client=client_of(secure))]

    with working(secure, {"pull": handler}, client=client_of(secure, patience=None)):
        job = secure.submit("pull")
        events = run(read(job))
    assert [e.data["data"]["n"] for e in events if e.data["kind"] == "custom"] == list(range(100))
    assert [e.id for e in events] == [f.id for f in secure.read(job, "raw")]
    assert secure.state(job) == "succeeded"


def test_an_unknown_certificate_is_not_trusted(secure):
    """Neither is it waited for until it is."""
    client = Client(secure.url, patience=None)
    with pytest.raises(NotTrusted, match="self.signed.*SSL_CERT_FILE"):
        run(client.request("GET", "/livez"))
    with pytest.raises(NotTrusted):
        run(anext(subscribe("j", client=client)))


def test_the_environment_says_whom_to_trust(secure, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", secure.cert)
    assert run(Client(secure.url).request("GET", "/livez")).status == 200
