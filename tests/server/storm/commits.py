"""Killed while it commits: what was acknowledged is there, and nothing is there twice."""

import re
import threading
import time

import gateway
from chance import chance
from harness import case, check, equal
from gateway import Worker, read_answer, request_bytes, token

ROUNDS = 20
WRITERS = 3


class Writer:
    """Appends one event per request over one connection, and notes what was acknowledged."""

    def __init__(self, server, lease):
        self.server, self.lease = server, lease
        self.next = 0  # the first that is not acknowledged
        self.unsure = False  # it may be there all the same
        self.error = None

    def append_until_cut(self, started):
        try:
            with self.server.connect() as s:
                while True:
                    path = self.lease.path("events", seq=self.next)
                    s.sendall(request_bytes(self.server, "POST", path, gateway.lines(token(f"<{self.next}>"))))
                    a = read_answer(s)
                    equal(a.status, 200, repr(a))
                    equal((a.json["accepted"], a.json["rejected"]), (0 if self.unsure else 1, 0), repr(a))
                    self.unsure = False
                    self.next += 1
                    started.set()
        except OSError:
            pass  # the kill
        except AssertionError as e:
            if "the connection ended inside" not in str(e):
                self.error = e
                started.set()

    def stored(self):
        """The numbers of the events that are there."""
        found = []
        with self.server.stream(self.lease.job, "raw") as st:
            job = self.server.job(self.lease.job)
            st.until_id(job["events"])
            for f in st.stored[:job["events"]]:
                found += map(int, re.findall(r"<(\d+)>", f.data))
        return found


@case
def killed_during_commits():
    random = chance("commits")
    with gateway.Server("--access-log", "off", agents={"pull": {"pull": True, "lease": "5m"}}, port=gateway.fixed_port()) as server:
        writers = []
        for _ in range(WRITERS):
            server.submit("pull")
            lease = Worker(server, "pull").lease()
            writers.append(Writer(server, lease))
        unsure = 0
        for n in range(ROUNDS):
            started = threading.Event()
            threads = [threading.Thread(target=w.append_until_cut, args=(started,), daemon=True) for w in writers]
            for t in threads:
                t.start()
            check(started.wait(gateway.WAIT), "no event was acknowledged")
            time.sleep(random.uniform(0, 0.08))
            server.kill()
            for t in threads:
                t.join(gateway.WAIT)
            server.start()
            for w in writers:
                if w.error:
                    raise w.error
                found = w.stored()
                # The one that was under way may be there too: its number makes it stored once.
                check(found in (list(range(w.next)), list(range(w.next + 1))),
                      f"round {n}: acknowledged {w.next}, stored {len(found)}: {found[-5:]}")
                w.unsure = len(found) > w.next
                unsure += w.unsure
        for w in writers:
            equal(w.lease.finish(), "succeeded")
            equal(w.stored(), list(range(w.next + w.unsure)))
        print(f"     {sum(w.next for w in writers)} events acknowledged, {unsure} stored but cut off before their answer")
