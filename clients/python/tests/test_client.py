import asyncio
import socket
import subprocess

import gateway
import pytest
from harness import PROGRAM
from support import run

from spoolwire import Client, Refused, ServerAway
from spoolwire.address import Address


def test_addresses():
    assert Address.parse("http://a:1/b/") == Address("a", 1, False, "/b")
    assert Address.parse("https://a") == Address("a", 443, True)
    assert Address.parse("http://[::1]:7").authority == "[::1]:7"
    assert Address.parse("unix:/run/x").socket == "/run/x"
    assert Address.parse("unix:///run/x").socket == "/run/x"
    with pytest.raises(ValueError, match="http://HOST:PORT"):
        Address.parse("127.0.0.1:8400")


def test_a_connection_is_used_again(server):
    async def main():
        client = Client(server.url)
        for _ in range(3):
            assert (await client.request("GET", "/livez")).status == 200
        (idle,) = client._idle.values()
        assert len(idle) == 1
        client.close()
    run(main())


def test_a_refusal_says_why(server):
    async def main():
        with pytest.raises(Refused, match="404: Job not found") as e:
            await Client(server.url).request("GET", "/v1/jobs/none")
        assert e.value.status == 404
    run(main())


def test_who_is_not_patient_hears_that_the_server_is_away():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # and does not listen
        client = Client(f"http://127.0.0.1:{s.getsockname()[1]}", patience=0.2)
        with pytest.raises(ServerAway, match="is away"):
            run(client.request("GET", "/livez"))


def test_who_is_patient_is_answered_when_it_comes_back(own_server):
    async def main():
        client = Client(own_server.url)
        await client.request("GET", "/livez")
        own_server.kill()
        asked = asyncio.ensure_future(client.request("GET", "/livez"))
        await asyncio.sleep(0)
        own_server.start()
        assert (await asyncio.wait_for(asked, gateway.WAIT)).status == 200
    run(main())


def test_a_unix_socket_and_a_token(tmp_path):
    path = tmp_path / "socket"
    with gateway.Server(start=False) as server:
        server.flags += ["--listen", f"127.0.0.1:0,unix:{path}"]
        server.start()
        made = subprocess.run([PROGRAM, "token", "create", "--data", server.data, "--scope", "client",
                               "--name", "me"], stdout=subprocess.PIPE, text=True, check=True)

        async def main():
            client = Client(f"unix:{path}", made.stdout.strip())
            assert (await client.request("GET", "/v1/jobs")).status == 200
            with pytest.raises(Refused, match="401"):
                await Client(f"unix:{path}", "wrong").request("GET", "/v1/jobs")
        run(main())
