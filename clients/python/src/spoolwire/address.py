"""Where a server listens: http://, https://, or unix: and the path of a socket."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

DEFAULT_URL = "http://127.0.0.1:8400"


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    tls: bool = False
    prefix: str = ""  # in front of every path, when a proxy serves us below one
    socket: str | None = None  # the path of a Unix socket, instead of host and port

    @classmethod
    def parse(cls, url: str) -> Address:
        if url.startswith("unix:"):
            path = url[len("unix:"):]
            return cls("localhost", 0, socket="/" + path.lstrip("/") if path.startswith("//") else path)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a server: "
                             "write http://HOST:PORT, https://HOST or unix:/PATH")
        tls = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if tls else 80), tls, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        """For the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.socket is not None or self.port == (443 if self.tls else 80)
        return host if usual else f"{host}:{self.port}"


def url_of(url: str | None) -> str:
    """@url, or SPOOLWIRE_URL of the environment."""
    return url or os.environ.get("SPOOLWIRE_URL") or DEFAULT_URL


def token_of(token: str | None) -> str | None:
    return token or os.environ.get("SPOOLWIRE_TOKEN") or None
