"""What can go wrong between a program and its server."""

from __future__ import annotations


class SpoolwireError(Exception):
    """Any error of this package."""


class ServerAway(SpoolwireError):
    """The server could not be reached, or could not answer, until `patience` was over."""


class NotTrusted(SpoolwireError):
    """The server's certificate is not signed by an authority that this machine trusts: retrying does not help."""


class Refused(SpoolwireError):
    """The server refused the request."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class LeaseLost(SpoolwireError):
    """The lease is no longer valid: another worker has the job, or it has ended.  Stop working on it."""


class SourceError(SpoolwireError):
    """There is no graph under the name that was given."""


class Interrupted(SpoolwireError):
    """Raised by a handler: the job has asked a question, or was paused, and waits."""


class HandBack(SpoolwireError):
    """Raised by a handler: requeues the job, without using up an attempt."""


class JobLost(SpoolwireError):
    """Raised by a handler: requeues the job, which uses up an attempt."""


class JobFailed(SpoolwireError):
    """Raised by a handler: the job has failed elsewhere, with an error of that type."""

    def __init__(self, error: str, error_type: str | None) -> None:
        super().__init__(error)
        self.error_type = error_type


class GraphLoadError(SpoolwireError):
    """The graph of this process could not be loaded; its jobs fail with the reason."""
