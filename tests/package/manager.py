"""What the service manager is told: sd_notify's protocol, spoken to a socket of ours."""

import contextlib
import os
import signal
import socket
import tempfile

import gateway
from gateway import Server
from harness import case, cases, equal


class Manager:
    def __init__(self, kind):
        self.folder = tempfile.TemporaryDirectory(prefix="spoolwire-notify-")
        path = os.path.join(self.folder.name, "socket")
        self.name = path if kind == "file" else f"@spoolwire-test-{os.getpid()}-{id(self)}"
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(path if kind == "file" else "\0" + self.name[1:])

    def next(self, seconds=gateway.WAIT):
        self.sock.settimeout(seconds)
        with contextlib.suppress(socket.timeout):
            return self.sock.recv(4096).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        self.folder.cleanup()


@cases(["file", "abstract"])
def it_is_told_when_the_server_is_ready_and_when_it_stops(kind):
    with Manager(kind) as m, Server(env={"NOTIFY_SOCKET": m.name}) as s:
        equal(m.next(), "READY=1")
        equal(s.get("/readyz").status, 200)
        s.terminate()
        equal(m.next(), "STOPPING=1")


@case
def a_server_that_cannot_start_is_not_ready():
    with Manager("file") as m, Server() as s:
        with contextlib.suppress(AssertionError):
            Server("--data", s.data, env={"NOTIFY_SOCKET": m.name})  # it is taken
        equal(m.next(0.2), None)


@case
def the_watchdog_is_fed_while_the_journal_moves():
    with Manager("file") as m, Server(env={"NOTIFY_SOCKET": m.name, "WATCHDOG_USEC": "300000"}) as s:
        equal(m.next(), "READY=1")
        for _ in range(5):
            equal(m.next(2), "WATCHDOG=1")
        s.signal(signal.SIGSTOP)
        while m.next(0.05):
            pass
        equal(m.next(0.6), None, "from a process that stands still")
        s.signal(signal.SIGCONT)
        equal(m.next(), "WATCHDOG=1")


@case
def a_watchdog_of_another_process_is_not_ours():
    with Manager("file") as m, Server(env={"NOTIFY_SOCKET": m.name, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}):
        equal(m.next(), "READY=1")
        equal(m.next(0.5), None)


@case
def a_manager_that_is_gone_hinders_nobody():
    with Server(env={"NOTIFY_SOCKET": "/nowhere/at/all"}) as s:
        equal(s.get("/readyz").status, 200)
