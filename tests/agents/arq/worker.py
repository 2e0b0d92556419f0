"""A typical ARQ worker: run_triage and similar functions.

    worker.py SOCKET PASSWORD DB QUEUE [json]

What a job does is in its input: {"do": [[step, argument], ...]}.
"""

import asyncio
import collections
import dataclasses
import datetime
import decimal
import json
import logging
import os
import signal
import sys
import uuid

from arq import Retry
from arq.connections import RedisSettings
from arq.worker import Worker, func


@dataclasses.dataclass
class Order:
    id: int
    lines: list


VALUES = {
    "json": {"a": [1, 2.5, None, True, "é😀"], "b": {"c": -1}},
    "tuple": (1, ("x",)),
    "set": {1},
    "datetime": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    "uuid": uuid.UUID(int=7),
    "decimal": decimal.Decimal("1.50"),
    "dataclass": Order(1, [Order(2, [])]),
    "counter": collections.Counter("aab"),
    "bytes": b"\0\xff",
    "bigint": 2 ** 100,
    "none": None,
}


async def step(ctx, job_id, name, value):
    if name == "say":
        await ctx["redis"].publish(f"jobs:{job_id}:events", json.dumps(value))
    elif name == "fail":
        raise ValueError(value)
    elif name == "sleep":
        await asyncio.sleep(value)
    elif name == "until":
        while not os.path.exists(value):
            await asyncio.sleep(0.02)
    elif name == "touch":
        open(value, "a").write(f"{ctx['job_try']}\n")
    elif name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "die_once":
        if not os.path.exists(value):
            open(value, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
    elif name == "retry_once":
        if ctx["job_try"] == 1:
            raise Retry(defer=0.2)


async def run_triage(ctx, job_id, state, resume=None, **named):
    for name, value in state["do"]:
        if name == "return":
            return VALUES[value] if isinstance(value, str) else value
        if name == "echo":
            return {"job_id": job_id, "state": state, "resume": resume, "named": named}
        await step(ctx, job_id, name, value)


async def resume_triage(ctx, job_id, resume):
    await ctx["redis"].publish(f"jobs:{job_id}:events", json.dumps({"type": "job.done"}))
    return {"resumed": resume}


def main():
    path, password, db, queue, *more = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    written = {"job_serializer": lambda d: json.dumps(d, default=str).encode(), "job_deserializer": json.loads}
    worker = Worker(
        [func(run_triage, timeout=60), func(run_triage, name="run_short", timeout=0.5),
         func(run_triage, name="run_forgetful", keep_result=0), resume_triage],
        queue_name=queue, redis_settings=RedisSettings(unix_socket_path=path, password=password, database=int(db), conn_timeout=60, conn_retries=100, conn_retry_delay=0.1),
        allow_abort_jobs=True, max_jobs=10, poll_delay=0.05, health_check_interval=1, handle_signals=True,
        **(written if more == ["json"] else {}))
    worker.run()


main()
