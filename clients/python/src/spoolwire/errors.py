"""What can go wrong between a program and its server."""

from __future__ import annotations


class SpoolwireError(Exception):
    """Any error of this package."""


class ServerAway(SpoolwireError):
    """The server could not be reached, or could not answer, for as long as we were to try."""


class NotTrusted(SpoolwireError):
    """Nobody whom this machine trusts has signed the server's certificate: waiting will not help."""


class Refused(SpoolwireError):
    """The server understood, and said no."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class LeaseLost(SpoolwireError):
    """The job is another worker's now, or nobody's: let go of it."""


class SourceError(SpoolwireError):
    """There is no graph where one was said to be."""


class Interrupted(SpoolwireError):
    """Raised by a handler: the job has asked a question, or was paused, and waits."""


class HandBack(SpoolwireError):
    """Raised by a handler: the job goes back into the queue, at no cost."""


class GraphLoadError(SpoolwireError):
    """The graph of this process could not be loaded; its jobs fail with the reason."""
