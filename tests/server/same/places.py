"""Where the requests are sent to, and what of their answers is compared."""

import contextlib
import re
from dataclasses import dataclass, field

import postgres
from gateway import PULL, WAIT, Server
from harness import equal, spoolwire

AGENTS = {"a": {**PULL, "lease": "1h", "attempts": 3}, "b": {**PULL, "lease": "1h", "attempts": 1, "cancel_grace": "1h"}}
SHARDS = 4

# A server makes these: ids and leases.  They get numbers, in the order in which they come.
MADE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=\"lease\":\")[^\"]+")
NEXT = re.compile(r"(?<=\"next\":\")[^\"]+")  # of a list
SYMBOL = re.compile(r"<\d+>")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)|\b[12]\d{12}\b|(?<=psed\":)\d+|(?<=_ms\":)\d+")
LISTS = "/v1/jobs?", "/v1/interrupts?"
# Of these, only that they are there.
HEADERS = {"content-type", "content-length", "location", "content-location", "retry-after", "etag"}


@dataclass
class Request:
    """Its texts may have symbols, such as <7>, for what each place has made itself."""

    method: str
    path: str
    body: object = None
    headers: dict = field(default_factory=dict)
    learn: object = None  # called with the answer

    def __str__(self):
        return f"{self.method} {self.path} {self.body if self.body is not None else ''} {self.headers or ''}".strip()


@dataclass
class Told:
    """An answer without what may differ."""

    status: int
    kind: str
    headers: list
    text: str

    def __str__(self):
        return f"{self.status} {self.kind} {self.headers} {self.text}"


class Place:
    """@gateways serve one database."""

    def __init__(self, name, gateways):
        self.name, self.gateways = name, gateways
        self.real, self.symbols = {}, {}

    def _new(self, text):
        symbol = f"<{len(self.real) + 1}>"
        self.real[symbol] = text
        return symbol

    def _symbol(self, m):
        if m[0] not in self.symbols:
            self.symbols[m[0]] = self._new(m[0])
        return self.symbols[m[0]]

    def _fill(self, value):
        """With what the symbols are here."""
        if isinstance(value, str):
            return SYMBOL.sub(lambda m: self.real[m[0]], value)
        if isinstance(value, bytes):
            return self._fill(value.decode()).encode()
        if isinstance(value, dict):
            return {self._fill(k): self._fill(v) for k, v in value.items()}
        return [self._fill(v) for v in value] if isinstance(value, list) else value

    def ask(self, request, n):
        gateway = self.gateways[n % len(self.gateways)]
        a = gateway.request(request.method, self._fill(request.path), self._fill(request.body), self._fill(request.headers))
        text = MADE.sub(self._symbol, a.body.decode())
        if request.path.startswith(LISTS):
            text = NEXT.sub(lambda m: self._new(m[0]), text)
        text = TIMES.sub("<time>", text)
        return Told(a.status, a.headers.get("content-type"), sorted(HEADERS & set(a.headers)), text)


@contextlib.contextmanager
def with_sqlite():
    with Server(agents=AGENTS, start=False) as server:
        yield Place("SQLite", [server.start()])


@contextlib.contextmanager
def with_postgres(name="PostgreSQL", n=1, shards=1):
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(agents=AGENTS, start=False)) for _ in range(n)]
        url = postgres.place(servers[0].folder)
        if shards > 1:
            done = spoolwire("db", "init", "--shards", str(shards), "--store", url, timeout=WAIT)
            equal(done.code, 0, done.err)
        for server in servers:
            server.data, server.data_flag = url, "--store"
            server.start()
        yield Place(name, servers)


ALL = with_sqlite, with_postgres, lambda: with_postgres("four shards", 2, SHARDS)
