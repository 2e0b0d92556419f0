"""Readers at 1 KB/s beside a fast writer: they cost no memory, and nobody waits for them."""

import threading
import time

import gateway
from harness import DIALECTS, case, check, equal

LENGTH = 20000
SLOW = 2 * DIALECTS
# A slow reader holds one page; the rest is what malloc and SQLite vary by.  To keep what the
# slow readers have not taken would cost about ten times as much (printed below).
PAGE_KB, SPARE_KB = 256, 8 * 1024


class SlowReader(threading.Thread):
    def __init__(self, server, job, dialect):
        super().__init__(daemon=True)
        self.sock = server.connect(receive_buffer=2048)
        self.sock.sendall(gateway.request_bytes(server, "GET", f"/v1/jobs/{job}/events?dialect={dialect}"))
        self.taken, self.cut, self.stop = 0, None, threading.Event()

    def run(self):
        while not self.stop.wait(0.1):
            data = self.sock.recv(100)
            if not data:
                self.cut = self.taken
                return
            self.taken += len(data)


def run_job(server, name, slow=()):
    """Seconds of the writer and of a quick reader, and the largest memory while they ran."""
    server.submit("pull", job_id=name, input={"speed": 0, "length": LENGTH})
    slow = [SlowReader(server, name, d) for d in slow]
    for s in slow:
        s.start()
    began, peak, done = time.monotonic(), 0, threading.Event()

    def work():
        with gateway.running(gateway.PROGRAM, "demo-agent", "--pull", server.url, "--agent", "pull", "--jobs", "1",
                             "--batch", "100") as p:
            p.communicate(timeout=60)
            equal(p.returncode, 0, "the worker")
        return time.monotonic() - began

    def read():
        try:
            with server.stream(name, "envelope") as st:
                st.rest(60)
                equal(st.ended, "clean")
                check(len(st.stored) > LENGTH, f"{len(st.stored)} frames")
                return time.monotonic() - began
        finally:
            done.set()

    def take(dialect):
        """Reads the job in @dialect to its end: so the server holds every dialect's live events, with slow
        readers or without."""
        with server.connect() as s:
            s.sendall(gateway.request_bytes(server, "GET", f"/v1/jobs/{name}/events?dialect={dialect}"))
            n, last = 0, b""
            while not last.endswith(b"\r\n0\r\n\r\n"):
                data = s.recv(1 << 18)
                check(data, f"{dialect} of {name} was cut")
                n, last = n + len(data), (last + data)[-7:]
            return n

    def watch():
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, gateway.rss_kb(server.pid))

    writer, reader, _, *sizes = gateway.at_once(work, read, watch, *(lambda d=d: take(d) for d in DIALECTS))
    return writer, reader, peak, sum(sizes), slow


@case
def readers_at_1_kb_a_second_beside_a_fast_writer():
    with gateway.Server("--access-log", "off", agents={"pull": {"pull": True}}) as server:
        for i in range(3):  # until the memory has its usual size
            run_job(server, f"warm-{i}")
        alone = [run_job(server, f"alone-{i}") for i in range(2)]
        peak = max(a[2] for a in alone)
        writer2, reader2, peak2, size, slow = run_job(server, "beside", SLOW)
        before = gateway.rss_kb(server.pid)
        time.sleep(2)  # they go on at their pace
        after = gateway.rss_kb(server.pid)
        taken = [s.taken for s in slow]
        cut = [s.cut for s in slow if s.cut is not None]
        for s in slow:
            s.stop.set()
            s.join()
            s.sock.close()
        alone.append(run_job(server, "alone-again"))  # the machine may have become busy
        writer, reader = max(a[0] for a in alone), max(a[1] for a in alone)
        waiting = size * len(SLOW) // len(DIALECTS) // 1024
        print(f"     alone: writer {writer:.2f} s, reader {reader:.2f} s, {peak} KiB; beside {len(slow)} slow readers: "
              f"writer {writer2:.2f} s, reader {reader2:.2f} s, {peak2} KiB, then {before} and {after}; "
              f"{waiting} KiB not taken")
        equal(cut, [], "slow readers that were cut")
        check(min(taken) > 500, f"the slow readers took {taken}")
        limit = peak + len(slow) * PAGE_KB + SPARE_KB
        check(waiting > 3 * (limit - peak), f"only {waiting} KiB were not taken: this shows nothing")
        check(max(peak2, before) < limit, f"memory: {peak} KiB alone, {peak2} KiB beside slow readers")
        check(after < before + SPARE_KB, f"memory: {before} KiB, then {after} KiB")
        check(writer2 < 2 * writer + 1, f"the writer took {writer:.2f} s alone, {writer2:.2f} s beside slow readers")
        check(reader2 < 2 * reader + 1, f"a reader took {reader:.2f} s alone, {reader2:.2f} s beside slow readers")
