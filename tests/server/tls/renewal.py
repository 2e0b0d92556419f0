"""A new certificate, without a restart and without a lost reader."""

import os
import signal

import gateway
from gateway import PULL, Server, Worker, until
from harness import case, cases, check, equal
from secure_server import FIRST, SECOND, name_of, trust


def shown(server):
    with server.connect() as sock:
        return name_of(sock)


@cases(["files", "signal"])
def a_stream_lives_through_a_renewal_by(how):
    with Server(agents={"pull": PULL}) as s:
        id = s.submit()
        lease = Worker(s).lease()
        lease.send(*gateway.OPENING)
        with s.stream(id, "agent") as old, s.connect() as kept:
            equal(name_of(kept), "first")
            lease.send(*(gateway.token(f"before{i} ") for i in range(50)))
            s.install(SECOND)
            if how == "signal":
                s.signal(signal.SIGHUP)
            until("new connections get the new certificate", lambda: shown(s) == "second")
            until("it is said", lambda: '","event":"certificate","renewed":true}' in s.err())
            lease.send(*(gateway.token(f"after{i} ") for i in range(50)))
            kept.sendall(gateway.request_bytes(s, "GET", "/livez"))
            equal(gateway.read_answer(kept).status, 200)
            with s.stream(id, "agent") as new:
                lease.send(*gateway.CLOSING)
                lease.finish()
                old.rest()
                new.rest()
            equal((old.ended, new.ended), ("clean", "clean"))
            equal(old.stored, new.stored)
            check(sum("after" in f.data for f in old.frames) == 50)


@case
def a_bad_certificate_changes_nothing():
    with Server() as s:
        with open(s.cert, "w") as f:
            f.write("this is no certificate\n")
        until("it is said", lambda: '"renewed":false,"why":"cannot use ' in s.err())
        equal(shown(s), "first")
        s.install((SECOND[0], FIRST[1]))  # a key of another certificate
        until("it is said", lambda: "key values mismatch" in s.err())
        equal(shown(s), "first")
        s.install(SECOND)
        until("a good pair is taken", lambda: shown(s) == "second")


@case
def files_that_are_written_one_after_the_other_are_read_together():
    with Server() as s:
        os.rename(s.cert, s.cert + ".old")  # the first of two steps, as slow as we like
        until("the server has seen it", lambda: '"renewed":false' in s.err())
        s.install(SECOND)
        until("the pair is taken", lambda: shown(s) == "second")
        until("it is said", lambda: '"renewed":true' in s.err())
        equal(s.err().count('"renewed":true'), 1)


@case
def old_tickets_do_no_harm():
    """A client that resumes a session of the old certificate gets a new handshake."""
    with Server() as s:
        context = trust()
        with s.connect(context=context) as sock:
            sock.sendall(gateway.request_bytes(s, "GET", "/livez", headers={"Connection": "close"}))
            gateway.read_answer(sock)
            session = sock.session
        s.install(SECOND)
        s.signal(signal.SIGHUP)
        until("renewed", lambda: shown(s) == "second")
        with context.wrap_socket(s.connect_plain(), server_hostname="127.0.0.1", session=session) as sock:
            equal((sock.session_reused, name_of(sock)), (False, "second"))
