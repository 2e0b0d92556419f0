"""The commands that feed engines: python -m spoolwire dask …, celery …, ray …

Options of an agent that stand behind its --agent are that agent's; those in front of the first
--agent are for all.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Sequence
from typing import Any

from .address import token_of, url_of
from .bridge import Bridge, Engine
from .client import Client
from .errors import SpoolwireError
from .ticket import Ticket
from .worker import STOPS


class Own(argparse.Action):
    """An option of the agent in front of it: keeps the order in which options were given."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: str | Sequence[Any] | None, option: str | None = None) -> None:
        given = list(getattr(namespace, "given", None) or [])
        namespace.given = [*given, (self.dest, True if self.nargs == 0 else values)]


def add_common(parser: argparse.ArgumentParser) -> None:
    own = parser.add_argument_group("options of an agent")
    own.add_argument("--agent", metavar="NAME=GRAPH", action=Own, dest="agent",
                     help="an agent's name in the server and its graph, module:graph; repeatable")
    own.add_argument("--jobs", metavar="N", type=positive, action=Own,
                     help="jobs that a ticket does at most, one after another (1)")
    own.add_argument("--child", action=Own, nargs=0,
                     help="run the agent in a process of its own, so that code that blocks can be cancelled")
    own.add_argument("--env", metavar="NAME=VALUE", action=Own,
                     help="a variable of the environment, set before the agent is imported; repeatable")
    own.add_argument("--stream", choices=["events", "modes"], action=Own, help="what jobs send (events)")
    own.add_argument("--on-stop", choices=STOPS, action=Own,
                     help="what becomes of a job when its worker goes down (finish, within the grace)")
    own.add_argument("--grace", metavar="SECONDS", type=float, action=Own, help="the grace (10)")
    parser.add_argument("--tickets", metavar="N", type=positive, default=256,
                        help="tickets of an agent at a time, at most (256)")
    parser.add_argument("--url", help="the server's address (SPOOLWIRE_URL)")
    parser.add_argument("--worker-url", metavar="URL", help="the same as the engine's workers see it")
    parser.add_argument("--token", help="a token with the scope `worker` (SPOOLWIRE_TOKEN)")
    parser.add_argument("--keep-token", action="store_true",
                        help="do not send the token with tickets: workers have SPOOLWIRE_TOKEN themselves")


def add_dask(commands: Any) -> None:
    dask = commands.add_parser("dask", help="run jobs on a Dask cluster",
                               description="Submits a ticket to a Dask cluster for each job that waits.")
    dask.add_argument("--scheduler", metavar="ADDRESS", required=True, help="tcp://HOST:8786 or tls://HOST:8786")
    add_common(dask)
    dask.add_argument("--resources", metavar="NAME=N,…", action=Own,
                      help="of the agent: what a ticket uses of Dask's worker resources, as GPU=1")
    dask.add_argument("--workers", metavar="ADDRESS,…", action=Own,
                      help="of the agent: the only workers that take its tickets, by address or name")
    dask.add_argument("--priority", metavar="N", type=int, action=Own,
                      help="of the agent: Dask runs tickets of a higher priority first (0)")
    dask.add_argument("--in-worker", action=Own, nargs=0,
                      help="of the agent: run it in the Dask worker's own process, for code that uses Dask's "
                           "get_worker(), and not in one beside it, which is faster")
    dask.add_argument("--upload", metavar="FILE", action="append", default=[],
                      help="a .py, .zip or .egg that each Dask worker gets; repeatable")
    dask.add_argument("--upload-kit", action="store_true", help="give this package to each Dask worker, too")
    for name, text in (("ca", "the authority that signs the cluster's certificates, a PEM file"),
                       ("cert", "our certificate"), ("key", "its key")):
        dask.add_argument(f"--tls-{name}", metavar="FILE", help=text)


def add_celery(commands: Any) -> None:
    celery = commands.add_parser("celery", help="run jobs on workers of Celery",
                                 description="Submits a task of Celery for each job that waits.")
    celery.add_argument("--broker", metavar="URL", required=True, help="redis://HOST:6379/0; also keeps the results")
    celery.add_argument("--queue", metavar="NAME", help="the queue of the tasks (Celery's own)")
    add_common(celery)


def add_ray(commands: Any) -> None:
    ray = commands.add_parser("ray", help="run jobs on a Ray cluster",
                              description="Submits a remote function of Ray for each job that waits.")
    ray.add_argument("--address", default="auto", help="ray://HOST:10001, HOST:6379, or auto")
    add_common(ray)
    ray.add_argument("--resources", metavar="NAME=N,…", action=Own,
                     help="of the agent: what a ticket uses, as CPU=1,special=1 (CPU=1)")


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return int(text)


Options = dict[str, Any]


def agents_of(given: Sequence[tuple[str, Any]]) -> dict[str, Options]:
    """The options of each agent, by its name; with "graph"."""
    common: Options = {}
    agents: dict[str, Options] = {}
    now = common
    for name, value in given:
        if name == "agent":
            agent, _, graph = str(value).partition("=")
            if not agent or not graph:
                raise SpoolwireError(f"--agent must be NAME=GRAPH, for example mine=graphs:graph, not {value!r}")
            if agent in agents:
                raise SpoolwireError(f"--agent {agent} is given twice")
            now = agents[agent] = {**common, "env": list(common.get("env", [])), "graph": graph}
        elif name == "env":
            now.setdefault("env", []).append(value)
        else:
            now[name] = value
    if not agents:
        raise SpoolwireError("--agent is missing: --agent NAME=module:graph")
    return agents


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise SpoolwireError(f"{option} must be NAME=VALUE, not {text!r}")
    return dict(text.partition("=")[::2] for text in texts)


def tickets_of(args: argparse.Namespace, agents: dict[str, Options]) -> list[Ticket]:
    url, token = url_of(args.url), token_of(args.token)
    bridge = uuid.uuid4().hex
    return [Ticket(name, o["graph"], args.worker_url or url, None if args.keep_token else token,
                   stream=o.get("stream") or "events", jobs=o.get("jobs") or 1, child=bool(o.get("child")),
                   in_worker=bool(o.get("in_worker")),
                   env=pairs(o["env"], "--env"), on_stop=o.get("on_stop") or "finish",
                   grace=10.0 if o.get("grace") is None else o["grace"], bridge=bridge)
            for name, o in agents.items()]


def resources_of(o: Options) -> dict[str, float]:
    try:
        words = [w for w in str(o.get("resources") or "").split(",") if w]
        return {k: float(v) for k, v in pairs(words, "--resources").items()}
    except ValueError:
        raise SpoolwireError(f"--resources must be NAME=NUMBER, as GPU=1, not {o['resources']!r}") from None


def placing_of(o: Options) -> Any:
    from .dask_engine import Placing

    workers = tuple(w for w in str(o.get("workers") or "").split(",") if w)
    return Placing(resources_of(o), workers, o.get("priority") or 0)


def dask_engine(args: argparse.Namespace, agents: dict[str, Options]) -> Engine:
    from .dask_engine import DaskEngine

    if (args.tls_cert or args.tls_key) and not args.tls_ca:
        raise SpoolwireError("--tls-cert and --tls-key need --tls-ca")
    return DaskEngine(args.scheduler, placing={k: placing_of(o) for k, o in agents.items()},
                      uploads=args.upload, upload_kit=args.upload_kit,
                      tls_ca=args.tls_ca, tls_cert=args.tls_cert, tls_key=args.tls_key)


def celery_engine(args: argparse.Namespace, agents: dict[str, Options]) -> Engine:
    from .celery_engine import CeleryEngine

    return CeleryEngine(args.broker, args.queue)


def ray_engine(args: argparse.Namespace, agents: dict[str, Options]) -> Engine:
    from .ray_engine import RayEngine

    return RayEngine(args.address, {name: resources_of(o) for name, o in agents.items()})


ENGINES = {"dask": dask_engine, "celery": celery_engine, "ray": ray_engine}


async def feed(args: argparse.Namespace) -> None:
    agents = agents_of(getattr(args, "given", None) or [])
    tickets = tickets_of(args, agents)
    engine = ENGINES[args.command](args, agents)
    await Bridge(engine, tickets, Client(args.url, args.token, patience=None), args.tickets).run(signals=True)
