"""The companion of the server: runs the project's authentication handlers and its HTTP app
(`auth` and `http.app` of langgraph.json).

The server asks over a Unix socket, a line for each question and each answer; requests for the
app come over another one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

from .asgi import MAX_MESSAGE, AppServer, Gateway
from .auth import Handlers, Refusal, dumps
from .errors import SourceError
from .source import load

UNSHADOWED = ("/ok", "/metrics", "/docs", "/openapi.json")  # LangGraph's own, whatever the app has


def loaded(what: str, where: str, make: Any) -> Any:
    try:
        return make(load(where))
    except SourceError as e:
        raise SourceError(f"'{what}': {where}: {e}") from e
    except (Exception, SystemExit) as e:
        raise SourceError(f"'{what}': {where}: {type(e).__name__}: {e}") from e


# --- the app ------------------------------------------------------------------------------------


def beginning(path: str) -> str:
    """What the path of a route begins with; "=" in front: it is just that."""
    fixed = re.match(r"[^{]*", path)[0]  # type: ignore[index]
    return f"={path}" if fixed == path else fixed or "/"


class ProjectApp:
    """A Starlette or FastAPI app whose other routes are spoolwire's."""

    def __init__(self, app: Any, gateway: Gateway, handlers: Handlers | None, settings: Mapping[str, Any]) -> None:
        from starlette.applications import Starlette

        if not isinstance(app, Starlette):
            raise SourceError(f"it is {type(app).__name__}, not an app of Starlette or FastAPI")
        self.app, self.gateway = app, gateway
        self.handlers = handlers if settings.get("enable_custom_route_auth") else None
        self.own = list(app.router.routes)
        self.routes, self.websockets = self.beginnings()
        app.router.routes = [*self.unshadowed(), *self.own, everything(gateway)]

    def beginnings(self) -> tuple[list[str], list[str]]:
        from starlette.routing import Mount, WebSocketRoute

        routes: list[str] = []
        sockets: list[str] = []
        for route in self.own:
            path = getattr(route, "path", "/")
            if isinstance(route, Mount):
                path = path.rstrip("/") + "/{rest}"
            if path in UNSHADOWED:
                continue
            (sockets if isinstance(route, WebSocketRoute) else routes).append(beginning(path))
        if self.app.user_middleware:
            routes = ["/"]
        return sorted(set(routes)), sorted(set(sockets))

    def unshadowed(self) -> list[Any]:
        from starlette.routing import Route

        return [Route(path, endpoint=self.gateway, include_in_schema=False) for path in UNSHADOWED]

    def is_own(self, scope: dict[str, Any]) -> bool:
        from starlette.routing import Match

        return scope["path"] not in UNSHADOWED and any(route.matches(scope)[0] != Match.NONE for route in self.own)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if self.handlers is not None and scope["type"] in ("http", "websocket") and self.is_own(scope):
            try:
                caller = await self.handlers.authenticate(scope)
            except Refusal as e:
                await refuse(scope, send, e)
                return
            scope["user"], scope["auth"] = caller.user, types.SimpleNamespace(scopes=caller.permissions)
        await self.app(scope, receive, send)


def everything(gateway: Gateway) -> Any:
    from starlette.routing import BaseRoute, Match

    class Everything(BaseRoute):
        def matches(self, scope: Any) -> Any:
            return Match.FULL, {}

        async def handle(self, scope: Any, receive: Any, send: Any) -> None:
            await gateway(scope, receive, send)

    return Everything()


async def refuse(scope: Mapping[str, Any], send: Any, why: Refusal) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    body = json.dumps({"detail": why.detail}).encode()
    more = [(name.encode(), str(value).encode()) for name, value in why.headers.items()]
    await send({"type": "http.response.start", "status": why.status,
                "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *more]})
    await send({"type": "http.response.body", "body": body})


def bind_loopback(gateway: Gateway) -> None:
    """`get_client()` of langgraph_sdk looks for the server in its own process: this is it."""
    try:
        import langgraph_api as package  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        package = sys.modules.setdefault("langgraph_api", types.ModuleType("langgraph_api"))
        package.__path__ = []
    module = types.ModuleType("langgraph_api.server")
    module.app = gateway  # type: ignore[attr-defined]
    sys.modules["langgraph_api.server"] = module


# --- questions ----------------------------------------------------------------------------------


class Questions:
    def __init__(self, handlers: Handlers) -> None:
        self.handlers = handlers
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            task = asyncio.ensure_future(self.answer(line, writer))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        writer.close()

    async def answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        number, _, text = line.partition(b" ")
        answer = dumps(await self.handlers.answer(json.loads(text)))
        writer.write(number + b" " + answer.encode() + b"\n")


# --- the command --------------------------------------------------------------------------------


async def run(args: argparse.Namespace) -> None:
    settings, environ = json.loads(args.settings), os.environ
    url, secret = environ.get("SPOOLWIRE_URL", "http://127.0.0.1:8400"), environ.get("SPOOLWIRE_COMPANION_SECRET", "")

    bind_loopback(Gateway(url, secret, inside=True))
    handlers = loaded("auth", args.auth, lambda auth: Handlers(auth, settings)) if args.auth else None
    app = loaded("http.app", args.app, lambda app: ProjectApp(app, Gateway(url, secret), handlers, settings)) \
        if args.app else None
    if args.check:
        return
    ask, http = environ["SPOOLWIRE_COMPANION_ASK"], environ["SPOOLWIRE_COMPANION_HTTP"]
    for path in (ask, http):
        if os.path.exists(path):
            os.unlink(path)
    news: dict[str, Any] = {"auth": handlers is not None}
    servers: list[asyncio.AbstractServer] = []
    if handlers is not None:
        servers.append(await asyncio.start_unix_server(Questions(handlers).serve, ask, limit=4 * MAX_MESSAGE))
    if app is not None:
        servers.append(await AppServer(app).listen(http))
        news["app"] = {"routes": app.routes, "websockets": app.websockets}
    print(secret, json.dumps(news), flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)  # until the server is gone
    os._exit(0)


def add_companion(commands: Any) -> None:
    parser = commands.add_parser("companion", help="run a project's own authentication and HTTP app for the server")
    parser.add_argument("--auth", metavar="FILE:NAME", help="an Auth of langgraph_sdk")
    parser.add_argument("--app", metavar="FILE:NAME", help="an app of Starlette or FastAPI")
    parser.add_argument("--settings", default="{}", metavar="JSON", help="members of langgraph.json")
    parser.add_argument("--check", action="store_true", help="only load them")
