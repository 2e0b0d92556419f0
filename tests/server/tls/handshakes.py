"""Handshakes: TLS versions, ALPN protocols, clients without TLS, and slow clients."""

import os
import socket
import ssl
import time

from harness import case, cases, check, contains, equal, spoolwire
from secure_server import FIRST, PEMS, SECOND, SecureServer, TRUST, name_of, openssl


def s_client(server, *args, stdin=b""):
    return openssl("s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", FIRST[0], *args, stdin=stdin).stdout.decode()


def handshakes(server, result):
    text = server.get("/metrics").body.decode()
    return int(text.split(f'spoolwire_tls_handshakes_total{{result="{result}"}} ')[1].split("\n")[0])


@cases(["tls1_2", "tls1_3"])
def s_client_gets_in_with(version):
    with SecureServer() as s:
        said = s_client(s, f"-{version}", "-alpn", "h2,http/1.1", "-ign_eof",
                        stdin=b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % s.port)
        contains(said, "Verify return code: 0 (ok)", "ALPN protocol: http/1.1", '{"status":"alive"}',
                 {"tls1_2": "TLSv1.2", "tls1_3": "TLSv1.3"}[version])


@cases(["-tls1", "-tls1_1"])
def old_versions_are_refused(version):
    with SecureServer() as s:
        said = s_client(s, version, "-cipher", "ALL:@SECLEVEL=0")
        check("Cipher is (NONE)" in said or "no protocols available" in said, said)
        check("Verify return code: 0" not in said or "Cipher is (NONE)" in said, said)


@case
def ciphers_without_forward_secrecy_are_refused():
    with SecureServer() as s:
        contains(s_client(s, "-tls1_2", "-cipher", "AES256-SHA:AES128-GCM-SHA256"), "Cipher is (NONE)")


@case
def a_client_of_http_2_alone_is_told():
    with SecureServer() as s:
        contains(s_client(s, "-alpn", "h2"), "no application protocol")
        contains(s_client(s, "-alpn", "h2,http/1.1"), "ALPN protocol: http/1.1")
        contains(s_client(s), "No ALPN negotiated", "Verify return code: 0 (ok)")


@case
def renegotiation_is_refused():
    with SecureServer() as s:
        said = s_client(s, "-tls1_2", stdin=b"R\nGET /livez HTTP/1.1\r\n\r\n")
        contains(said, "RENEGOTIATING", "no renegotiation")


@case
def http_without_tls_is_told_what_to_do():
    with SecureServer() as s:
        with s.connect_plain() as sock:
            sock.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            got = b""
            while more := sock.recv(4096):
                got += more
        contains(got.decode(), "HTTP/1.1 400 Bad Request", "This port speaks TLS: use https.")
        equal(handshakes(s, "failed"), 1)
        equal(s.get("/livez").status, 200)


def ends(sock):
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        pass


@cases([b"\x16\x03\x01\x00\x05hello", b"\0" * 600, b"\x16\x03\x03\xff\xff" + b"x" * 70000, b"SSH-2.0-OpenSSH_9\r\n"], name=lambda b: repr(b[:12]))
def garbage_is_turned_away(bytes):
    with SecureServer() as s:
        with s.connect_plain() as sock:
            try:
                sock.sendall(bytes)
            except ConnectionError:
                pass
            sock.shutdown(socket.SHUT_WR)
            ends(sock)
        equal(s.get("/livez").status, 200)


@case
def a_handshake_that_does_not_begin_is_cut_off():
    with SecureServer("--head-timeout", "500ms") as s:
        began = time.monotonic()
        with s.connect_plain() as sock:
            ends(sock)
        check(time.monotonic() - began > 0.4, "too early")


@case
def a_handshake_a_byte_at_a_time_is_cut_off():
    with SecureServer("--head-timeout", "1s") as s:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = TRUST.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = outgoing.read()
        check(len(hello) > 200)
        with s.connect_plain() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for i in range(len(hello) - 1):
                    sock.sendall(hello[i:i + 1])
                    time.sleep(0.1)  # the pace of the client, not a wait for the server
                raise AssertionError("it was never cut off")
            except ConnectionError:
                pass
        equal(handshakes(s, "failed"), 1)


@case
def a_hundred_slow_handshakes_hinder_nobody():
    with SecureServer("--head-timeout", "10m") as s:
        slow = [s.connect_plain() for _ in range(100)]
        for sock in slow:
            sock.sendall(b"\x16\x03\x01")
        equal(s.get("/livez").status, 200)
        for sock in slow:
            sock.close()


@case
def handshakes_and_the_expiry_are_metrics():
    with SecureServer() as s:
        before = handshakes(s, "ok")
        s.get("/livez")
        equal(handshakes(s, "ok"), before + 2)
        text = s.get("/metrics").body.decode()
        expiry = int(text.split("\nspoolwire_tls_certificate_expiry_time_seconds ")[1].split("\n")[0])
        with s.connect() as sock:
            equal(expiry, ssl.cert_time_to_seconds(sock.getpeercert()["notAfter"]))
            equal(name_of(sock), "first")


# --- files that cannot be used ------------------------------------------------------------------


def serve(*flags):
    return spoolwire("serve", "--listen", "127.0.0.1:0", "--data", os.path.join(PEMS, "never.db"), *flags)


@case
def the_server_does_not_start_without_a_good_pair():
    cert, key = FIRST
    locked = os.path.join(PEMS, "locked.pem")
    done = openssl("ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked)
    equal(done.returncode, 0, done.stdout.decode())
    none = os.path.join(PEMS, "none.pem")
    for pair, words in (((none, key), ("none.pem", "certificate", "No such file")),
                        ((key, key), ("certificate", "no start line")),
                        ((cert, none), ("none.pem", "key", "No such file")),
                        ((cert, SECOND[1]), ("key values mismatch",)),
                        ((cert, locked), ("locked.pem", "key"))):
        done = serve("--tls-cert", pair[0], "--tls-key", pair[1])
        check(done.code != 0, repr(done))
        contains(done.err, "spoolwire serve: cannot use", *words)
    for flags, words in ((("--tls-cert", cert), "tls_cert is given without tls_key"),
                         (("--tls-key", key), "tls_key is given without tls_cert"),
                         (("--listen", "unix:/tmp/x.sock", "--tls-cert", cert, "--tls-key", key), "Unix socket")):
        done = spoolwire("serve", "--data", os.path.join(PEMS, "never.db"), *flags)
        check(done.code != 0, repr(done))
        contains(done.err, words)
