"""Names whose meaning changes between two questions to the DNS (rebinding).

    unshare --mount --net python3 rebinding.py BUILD_DIR

Runs in a network of its own, where this machine has a public address, a private one and the DNS server: nothing leaves it, and
nothing is pretended.  The suite `threads` runs it (webhooks.py)."""

import fcntl
import os
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lib")]
sys.dont_write_bytecode = True

from graphs import serve  # noqa: E402
from harness import case, check, contains, equal, main  # noqa: E402
from receivers import Receiver, finish, in_state, start  # noqa: E402

NAME, PORT = "hooks.example.com", 8080
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.7"
A = 1  # the type of a question
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8914, 0x8916, 1  # of netdevice(7)


def set_up_network():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        for i, address in enumerate((PUBLIC, PRIVATE)):
            place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(s, SIOCSIFADDR, struct.pack("16s16s", f"lo:{i}".encode(), place))


def set_up_names():
    """The files that the C library reads, in the folders of this process and its children only."""
    for path, text in (("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n"), ("/etc/nsswitch.conf", "hosts: files dns\n")):
        file = tempfile.NamedTemporaryFile("w", delete=False)
        with file:
            file.write(text)
        os.chmod(file.name, 0o644)
        subprocess.run(["mount", "--bind", file.name, os.path.realpath(path)], check=True)
        os.unlink(file.name)


class Dns:
    """Answers the n-th question for the address of a name with the n-th of @answers, a list each; the last one for all others."""

    def __init__(self, *answers):
        dns = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                question, reply = self.request
                reply.sendto(dns.answer(question), self.client_address)

        self.answers, self.asked = answers, []
        self.server = socketserver.UDPServer(("127.0.0.1", 53), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, question):
        end = question.index(b"\0", 12) + 5  # behind the name, its type and its class
        kind = struct.unpack("!H", question[end - 4:end - 2])[0]
        found = []
        if kind == A:
            found = self.answers[min(len(self.asked), len(self.answers) - 1)]
            self.asked.append(found)
        head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, len(found), 0, 0)
        rows = (struct.pack("!HHHIH", 0xC00C, A, 1, 0, 4) + socket.inet_aton(a) for a in found)
        return head + question[12:end] + b"".join(rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def send(s):
    run = start(s, f"http://{NAME}:{PORT}/hook")
    finish(s)
    return run


@case
def the_address_that_was_checked_is_connected_to():
    with Dns([PUBLIC], [PRIVATE]) as dns, Receiver(port=PORT, address=PUBLIC) as public, Receiver(port=PORT, address=PRIVATE) as private, serve("--webhook-allow", "*") as s:
        sent = in_state(s, send(s), "sent", 20)
        equal(sent["attempts"], 1, sent)
        equal(dns.asked, [[PUBLIC]], "it is resolved once")
        equal([h["Host"] for _, h, _ in public.got], [f"{NAME}:{PORT}"])
        equal(private.got, [])


@case
def private_addresses_among_others_are_left_out():
    with Dns([PRIVATE, PUBLIC]) as dns, Receiver(port=PORT, address=PUBLIC) as public, Receiver(port=PORT, address=PRIVATE) as private, serve("--webhook-allow", "*") as s:
        in_state(s, send(s), "sent", 20)
        equal((len(dns.asked), len(public.got), private.got), (1, 1, []))


@case
def another_attempt_asks_again_and_checks_again():
    flags = ("--webhook-allow", "*", "--webhook-retry", "50ms")
    with Dns([PUBLIC], [PRIVATE]) as dns, Receiver(lambda handler, n: handler.say(503), port=PORT, address=PUBLIC) as public, \
            Receiver(port=PORT, address=PRIVATE) as private, serve(*flags) as s:
        dead = in_state(s, send(s), "dead", 20)
        contains(dead["reason"], f"'{NAME}' has private addresses only")
        check(dead["attempts"] == 2, dead)
        equal((dns.asked, len(public.got), private.got), ([[PUBLIC], [PRIVATE]], 1, []))


set_up_network()
set_up_names()
main()
