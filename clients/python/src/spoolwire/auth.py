"""A project's own authentication and authorization: the `Auth` of langgraph_sdk that its
langgraph.json names."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from .errors import SourceError

log = logging.getLogger("spoolwire")

PARAMETERS = {"request", "body", "path", "method", "path_params", "query_params", "headers",
              "authorization", "scope", "scopes", "user"}
IDS = ("thread_id", "assistant_id", "run_id", "cron_id")


class Refusal(Exception):
    """What a handler has raised to refuse a request."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})


class User(Mapping[str, Any]):
    """A user in the form that handlers know: members by name or by key."""

    def __init__(self, members: Mapping[str, Any], said: Any = None) -> None:
        self._members = {"is_authenticated": True, "display_name": members["identity"], **members}
        self._said = said

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._members:
            return self._members[name]
        return getattr(self._said, name)

    def __getitem__(self, key: str) -> Any:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def dict(self) -> dict[str, Any]:
        return dict(self._members)


def members_of(said: Any) -> dict[str, Any]:
    """The members of whatever a handler returns for a user."""
    if isinstance(said, str):
        return {"identity": said}
    if isinstance(said, Mapping):
        return dict(said)
    for name in ("model_dump", "dict"):
        if callable(getattr(said, name, None)):
            return {"identity": said.identity, **getattr(said, name)()}
    if hasattr(said, "identity"):
        there = {k: v for k, v in vars(said).items() if not k.startswith("_")} if hasattr(said, "__dict__") else {}
        return {**there, "identity": said.identity}
    raise ValueError(f"authenticate() must return a text, or something with an identity, not {type(said).__name__}")


class Caller:
    def __init__(self, user: Any, permissions: list[str]) -> None:
        self.user, self.permissions = user, list(permissions)

    @classmethod
    def of(cls, said: Any) -> Caller:
        permissions: Any = []
        if isinstance(said, tuple):
            permissions, said = said
        else:
            permissions = said.get("permissions") if isinstance(said, Mapping) else getattr(said, "permissions", None)
        return cls(User(members_of(said), said), permissions or [])

    def members(self) -> dict[str, Any]:
        if isinstance(self.user, User):
            return self.user.dict()
        return {"kind": "StudioUser", "identity": self.user.identity, "display_name": self.user.display_name,
                "is_authenticated": True, "permissions": list(self.user.permissions)}


class Cache:
    """Callers by the headers that name them, for a while (`auth.cache` of langgraph.json)."""

    def __init__(self, cache_keys: list[str] | None = None, ttl_seconds: float = 60, max_size: int = 1000) -> None:
        self.names = [name.lower().encode() for name in cache_keys or []]
        self.life, self.size = ttl_seconds, max_size
        self.known: OrderedDict[Any, tuple[float, Caller]] = OrderedDict()

    def key(self, headers: Mapping[bytes, bytes]) -> Any:
        values = tuple(headers.get(name) for name in self.names)
        return values if any(value is not None for value in values) else None

    def get(self, key: Any) -> Caller | None:
        until, caller = self.known.get(key, (0.0, None))
        return caller if key is not None and until > time.monotonic() else None

    def put(self, key: Any, caller: Caller) -> None:
        if key is None:
            return
        self.known.pop(key, None)
        self.known[key] = (time.monotonic() + self.life, caller)
        if len(self.known) > self.size:
            self.known.popitem(last=False)


class Handlers:
    def __init__(self, auth: Any, settings: Mapping[str, Any] | None = None) -> None:
        from langgraph_sdk import Auth

        if not isinstance(auth, Auth):
            raise SourceError(f"it is {type(auth).__name__}, not an Auth of langgraph_sdk")
        if auth._authenticate_handler is None:
            raise SourceError("it has no authenticate handler: write one below @auth.authenticate")
        settings = settings or {}
        self.types = Auth.types
        self.auth = auth
        self.function = auth._authenticate_handler
        self.names = self._names()
        self.knows_studio = not settings.get("disable_studio_auth")
        self.cache = Cache(**(settings.get("cache") or {}))

    def _names(self) -> set[str]:
        parameters = inspect.signature(self.function).parameters
        unknown = [name for name, p in parameters.items() if name not in PARAMETERS and p.default is p.empty
                   and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        if unknown:
            raise SourceError(f"its authenticate handler has the parameters {', '.join(unknown)}; it may have "
                              f"{', '.join(sorted(PARAMETERS))}")
        return {name for name in parameters if name in PARAMETERS}

    async def authenticate(self, scope: Mapping[str, Any]) -> Caller:
        headers = dict(scope["headers"])
        if self.knows_studio and headers.get(b"x-auth-scheme") == b"langsmith":
            return Caller(self.types.StudioUser("langgraph-studio-user"), [])
        key = self.cache.key(headers)
        known = self.cache.get(key)
        if known is not None:
            return known
        with refusing():
            caller = Caller.of(await called(self.function, **arguments_of(scope, headers, self.names)))
        self.cache.put(key, caller)
        return caller

    def handler(self, resource: str, action: str) -> Any:
        """The one that was defined last, of the most specific kind."""
        for key in ((resource, action), (resource, "*"), ("*", action), ("*", "*")):
            if self.auth._handlers.get(key):
                return self.auth._handlers[key][-1]
        return self.auth._global_handlers[-1] if self.auth._global_handlers else None

    async def authorize(self, caller: Caller, resource: str, action: str, value: dict[str, Any]) -> Any:
        """The handler's filters; it may change the value."""
        handler = self.handler(resource, action)
        if handler is None:
            return None
        place: Any = {"resource": resource, "action": action}  # the SDK lists the words that it knows
        context = self.types.AuthContext(user=caller.user, permissions=caller.permissions, **place)
        with refusing(asserts=True):
            said = await called(handler, ctx=context, value=value)
        if said is None or said is True:
            return None
        if said is False:
            raise Refusal(403, "Forbidden")
        if not isinstance(said, dict):
            raise Refusal(500, "Auth handler returned invalid result. Expected filter dict, None, or boolean. "
                               f"Got {type(said)} instead.")
        return said

    async def result(self, caller: Caller, resource: str, action: str, value: dict[str, Any]) -> dict[str, Any]:
        if (resource, action) == ("crons", "create"):
            value["user_id"] = caller.user.identity
        filters = await self.authorize(caller, resource, action, typed(resource, value))
        return {"filters": filters, "value": value}

    async def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answers a question of the server: who sends this request, and may it do that?"""
        try:
            if question.get("request"):
                caller = await self.authenticate(scope_of(**question["request"]))
            else:
                caller = Caller(User(question["user"]), question["permissions"] or [])
            results = []
            for event in question["events"]:
                try:
                    results.append(await self.result(caller, event["resource"], event["action"], event["value"]))
                except Refusal as e:
                    if not question.get("each"):
                        raise
                    results.append({"status": e.status})  # the others are answered all the same
            return {"user": caller.members(), "permissions": caller.permissions, "results": results}
        except Refusal as e:
            return {"status": e.status, "detail": e.detail, "headers": e.headers}
        except Exception:
            log.exception("a handler of the project's auth has failed")
            return {"status": 500, "detail": "Internal Server Error", "headers": {}}


class refusing:
    """Turns what handlers raise to refuse a request into a Refusal."""

    def __init__(self, asserts: bool = False) -> None:
        self.asserts = asserts

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        status, detail = getattr(e, "status_code", None), getattr(e, "detail", None)
        if isinstance(status, int) and detail is not None:
            raise Refusal(status, str(detail), getattr(e, "headers", None)) from e
        if self.asserts and isinstance(e, AssertionError):
            raise Refusal(403, str(e)) from e


async def called(function: Any, **arguments: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    said = await asyncio.to_thread(function, **arguments)
    return await said if inspect.isawaitable(said) else said


def typed(resource: str, value: dict[str, Any]) -> dict[str, Any]:
    """The value with the types that LangGraph's server gives it."""
    for name in IDS:
        try:
            if isinstance(value.get(name), str):
                value[name] = uuid.UUID(value[name])
        except ValueError:
            pass  # a graph's name, or an id that a client chose
    if resource == "store":
        for name in ("namespace", "suffix"):
            if isinstance(value.get(name), list):
                value[name] = tuple(value[name])
    return value


def scope_of(method: str, target: str, headers: list[list[str]]) -> dict[str, Any]:
    path, _, query = target.partition("?")
    return {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace"))
                        for name, value in headers],
            "path_params": {}}


def arguments_of(scope: Mapping[str, Any], headers: dict[bytes, bytes], names: set[str]) -> dict[str, Any]:
    authorization = headers.get(b"authorization")
    all_of_them: dict[str, Callable[[], Any]] = {
        "scope": lambda: scope, "path": lambda: scope["path"], "headers": lambda: headers,
        "method": lambda: scope.get("method", "GET"), "path_params": lambda: scope.get("path_params", {}),
        "query_params": lambda: query_of(scope["query_string"]), "scopes": list, "user": lambda: None,
        "authorization": lambda: authorization.decode("latin-1") if authorization is not None else None,
        "request": lambda: request_of(scope), "body": dict,
    }
    return {name: all_of_them[name]() for name in names}


def query_of(query: bytes) -> Any:
    try:
        from starlette.datastructures import QueryParams
    except ImportError:
        return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    return QueryParams(query)


def request_of(scope: Mapping[str, Any]) -> Any:
    try:
        from starlette.requests import Request
    except ImportError as e:
        raise SourceError("authenticate() has the parameter `request`, which needs starlette: pip install starlette") \
            from e
    return Request(dict(scope))


def dumps(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, default=plain, separators=(",", ":"))


def plain(thing: Any) -> Any:
    if isinstance(thing, Mapping):
        return dict(thing)
    if isinstance(thing, (set, frozenset)):
        return list(thing)
    return str(thing)
