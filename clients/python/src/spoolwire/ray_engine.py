"""Ray as an engine: tickets are remote functions, which Ray does not retry (max_retries=0).

    pip install 'spoolwire[ray]'
    python -m spoolwire ray --address ray://HOST:10001 --agent mine=graphs:graph

Ray's workers need the agent's package and this one.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Mapping
from dataclasses import asdict
from typing import Any

from .errors import SpoolwireError
from .ticket import Outcome, Ticket


class RayEngine:
    """@resources: what a ticket uses, by agent; with "CPU"."""

    name = "ray"
    loses_tickets = False

    def __init__(self, address: str, resources: Mapping[str, Mapping[str, float]] | None = None) -> None:
        try:
            self._ray = importlib.import_module("ray")
        except ImportError as e:
            raise SpoolwireError(f"Ray is not installed here ({e}): pip install 'spoolwire[ray]'") from None
        self._address = address
        self._resources = resources or {}

    async def open(self) -> None:
        try:
            await asyncio.to_thread(self._ray.init, self._address, ignore_reinit_error=True, log_to_driver=False,
                                    logging_level="ERROR", namespace="spoolwire")
        except Exception as e:
            raise SpoolwireError(f"cannot reach Ray at {self._address}: {' '.join(str(e).split())[:300]} "
                                 "(is it running, and is --address its address?)") from None

    async def submit(self, ticket: Ticket, n: int) -> list[Awaitable[Outcome]]:
        more = dict(self._resources.get(ticket.agent, {}))
        cpus = more.pop("CPU", 1)
        try:
            task = self._ray.remote(max_retries=0, num_cpus=cpus, resources=more or None)(ticket_task)
            return [self._outcome(task.remote(asdict(ticket))) for _ in range(n)]
        except Exception as e:
            raise SpoolwireError(f"Ray took no ticket: {' '.join(str(e).split())[:300]}") from None

    async def _outcome(self, ref: Any) -> Outcome:
        try:
            said: Outcome = await asyncio.wrap_future(ref.future())
            return said
        except Exception as e:  # its worker died, or cannot import the kit
            text = " ".join(str(getattr(e, "cause", None) or e).split())
            return {"jobs": 0, "error": f"the ticket failed: {text[:300]}", "unreported": True}

    async def close(self) -> None:
        if self._ray.is_initialized():
            await asyncio.to_thread(self._ray.shutdown)


def ticket_task(spec: dict[str, Any]) -> dict[str, Any]:
    """Runs on a worker; sent as code, not by its name, so that it can say that the kit is missing."""
    import os

    import ray  # type: ignore[import-not-found,unused-ignore]

    worker = f"ray {ray.util.get_node_ip_address()}:{os.getpid()}"
    try:
        from spoolwire.ticket import Ticket, run
    except ImportError as e:
        return {"worker": worker, "jobs": 0, "unreported": True, "error": f"import error: {e} (install spoolwire there)"}
    return {"worker": worker, **run(Ticket(**spec), worker)}


ticket_task.__module__ = "__main__"  # pickled by value
