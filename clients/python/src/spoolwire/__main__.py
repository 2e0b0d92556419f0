"""python -m spoolwire run module.py:graph
python -m spoolwire ticket --agent NAME=module.py:graph
python -m spoolwire dask --scheduler tcp://HOST:8786 --agent NAME=module:graph

`run` without --pull is a process of a pool, which the server starts and talks to over standard
input and output.  With --pull it is a pull worker, which leases its jobs over HTTP.

`ticket` (or `run --pull --once`) leases one job, works on it and exits: for engines that start
processes, such as Kubernetes Jobs, Slurm arrays or cron.  It exits with 0 when a job was done,
whatever its outcome, with 75 when there was none, and with anything else when it is broken: the
agents are imported before a job is leased.

`companion` runs a project's own authentication handlers and HTTP app for the server (companion.py).

`dask`, `celery` and `ray` submit tickets to an engine: a task for each job that waits (bridge.py).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import socket
import sys
import threading
import time
from typing import Any

from . import agent_process, companion, engines
from .agent import Agent, BrokenAgent, agent_of
from .client import Client
from .errors import GraphLoadError, SpoolwireError
from .pool import Pool, claim_stdout
from .ticket import import_error, report_state
from .worker import STOPS, Worker

NO_JOB = 75  # EX_TEMPFAIL: there was nothing to do


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spoolwire",
                                     description="Puts a LangGraph graph behind spoolwire.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="work with a graph")
    run.add_argument("graph", help="module.py:graph or package.module:graph; a graph, a builder, "
                                   "or a function that makes one")
    run.add_argument("--name", default=os.environ.get("SPOOLWIRE_AGENT") or "agent",
                     help="the agent's name in the server (SPOOLWIRE_AGENT, or: agent)")
    run.add_argument("--pull", action="store_true", help="come for jobs over HTTP")
    run.add_argument("--url", help="the server's address (SPOOLWIRE_URL)")
    run.add_argument("--token", help="a token with the scope `worker` (SPOOLWIRE_TOKEN)")
    run.add_argument("--concurrency", type=int, default=10, help="jobs at a time, with --pull (10)")
    run.add_argument("--stream", choices=["events", "modes"], default="events",
                     help="what jobs send: astream_events, with every tool and model call, or "
                          "stream modes alone")
    run.add_argument("--fail-jobs", action="store_true",
                     help="a graph that cannot be loaded fails its jobs, instead of ending the "
                          "process of the pool")
    run.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    add_pulling(run)
    run.add_argument("--once", action="store_true", help="with --pull: one job, then exit")
    ticket = commands.add_parser("ticket", help="lease one job, work on it and exit")
    ticket.add_argument("--agent", metavar="NAME=GRAPH", action="append", required=True, dest="agents",
                        help="an agent's name in the server and its graph, module.py:graph; repeatable")
    ticket.add_argument("--stream", choices=["events", "modes"], default="events", help="what jobs send")
    ticket.add_argument("--url", help="the server's address (SPOOLWIRE_URL)")
    ticket.add_argument("--token", help="a token with the scope `worker` (SPOOLWIRE_TOKEN)")
    add_pulling(ticket)
    engines.add_dask(commands)
    engines.add_celery(commands)
    engines.add_ray(commands)
    companion.add_companion(commands)
    agent_process.add_tickets(commands)
    return parser


def add_pulling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spool", metavar="FOLDER",
                        help="where events wait, with --pull, when the server is away for long")
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS",
                        help="how long to wait for the one job (0)")
    parser.add_argument("--on-stop", choices=STOPS, default="finish",
                        help="what becomes of jobs at SIGTERM: they finish within the grace, or are "
                             "requeued at once, without using up an attempt (return) or with (lose)")
    parser.add_argument("--grace", type=float, default=10.0, metavar="SECONDS",
                        help="how long jobs may take to finish at SIGTERM (10)")


def worker_of(args: argparse.Namespace, agents: dict[str, str], **more: Any) -> Worker:
    return Worker(agents, url=args.url, token=args.token, spool_folder=args.spool, stream=args.stream,
                  on_stop=args.on_stop, grace=args.grace, **more)


async def pull(args: argparse.Namespace) -> None:
    worker = worker_of(args, {args.name: args.graph}, concurrency=args.concurrency)
    print(f"working for {worker.client.url} as {args.name}", file=sys.stderr, flush=True)
    await worker.run(signals=True)


async def pull_once(args: argparse.Namespace, agents: dict[str, str]) -> int:
    try:
        worker = worker_of(args, agents)
    except (Exception, SystemExit) as e:
        await report_broken(args, agents, e)
        raise
    return 0 if await worker.run_once(wait=args.wait, signals=True) else NO_JOB


async def report_broken(args: argparse.Namespace, agents: dict[str, str], e: BaseException) -> None:
    """Nobody may be looking at the output of a ticket: the server is told, too."""
    client = Client(args.url, args.token)
    for name in agents:
        await report_state(client, name, f"{socket.gethostname()}:{os.getpid()}", import_error(e))
    client.close()


def named_agents(texts: list[str]) -> dict[str, str]:
    """NAME=GRAPH of each."""
    agents = dict(text.partition("=")[::2] for text in texts)
    for name, graph in agents.items():
        if not name or not graph:
            raise SpoolwireError("--agent must be NAME=GRAPH, for example mine=graphs.py:graph")
    return agents


async def serve_pool(args: argparse.Namespace, stdout: int) -> None:
    known = args.url or os.environ.get("SPOOLWIRE_URL")
    client = Client(args.url, args.token) if known else None
    await Pool(load(args, client), client, stdout).run()


def exit_with(parent: int) -> None:
    """Ends this process when @parent has exited, also while the agent's code blocks."""
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def load(args: argparse.Namespace, client: Client | None) -> Agent:
    try:
        return agent_of(args.graph, client=client, stream=args.stream)
    except (Exception, SystemExit) as e:
        if not args.fail_jobs:
            raise
        logging.getLogger("spoolwire").error("%s could not be loaded", args.graph, exc_info=e)
        return BrokenAgent(GraphLoadError(f"{args.graph} could not be loaded: {named(e)}"))


def named(e: BaseException) -> str:
    """The message of an error of ours; for others, the class as well."""
    return str(e) if isinstance(e, SpoolwireError) else f"{type(e).__name__}: {e}"


def main() -> None:
    args = arguments().parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        if args.command in engines.ENGINES:
            asyncio.run(engines.feed(args))
            return
        if args.command == "companion":
            asyncio.run(companion.run(args))
            return
        if args.command == "tickets":
            exit_with(args.parent)
            agent_process.serve(args, claim_stdout())
        if args.command == "ticket":
            sys.exit(asyncio.run(pull_once(args, named_agents(args.agents))))
        if args.pull and args.once:
            sys.exit(asyncio.run(pull_once(args, {args.name: args.graph})))
        if args.pull:
            asyncio.run(pull(args))
        else:
            if "SPOOLWIRE_JOB" in os.environ:
                raise SpoolwireError("this process was started for one job: give its agent a pool ('pool: {size: 1}')")
            if args.parent:
                exit_with(args.parent)
            asyncio.run(serve_pool(args, claim_stdout()))
    except SpoolwireError as e:
        sys.exit(f"python -m spoolwire: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
