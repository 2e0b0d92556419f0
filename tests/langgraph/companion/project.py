"""Projects with a graph, handlers of authentication and an app, in either language, and
`spoolwire dev` on them."""

import atexit
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from gateway import WAIT, until
from harness import PROGRAM, equal

PYTHON = {
    "graph.py": '''
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    text: str
    user: dict
    header: str

def node(state, config):
    c = config["configurable"]
    said = {k: c.get("langgraph_auth_" + k) for k in ("user_id", "permissions")}
    for name in ("email", "calls"):
        said[name] = (c.get("langgraph_auth_user") or {}).get(name)
    return {"text": state.get("text", "") + "!", "user": said, "header": c.get("x-tenant") or c.get("accept-language")}

graph = StateGraph(State).add_node("n", node).add_edge(START, "n").compile()
''',
    "auth.py": '''
import asyncio, os
from langgraph_sdk import Auth

auth = Auth()
calls = 0

@auth.authenticate
async def authenticate(authorization: str | None, path: str, method: str):
    global calls
    calls += 1
    if authorization == "Bearer crash":
        os._exit(7)
    if authorization == "Bearer slow":
        await asyncio.sleep(60)
    if authorization == "Bearer broken":
        raise ValueError("a secret")
    if authorization == "Bearer nobody":
        raise Auth.exceptions.HTTPException(status_code=403, detail="not you")
    if not authorization:
        raise Auth.exceptions.HTTPException(status_code=401, detail="who are you?")
    name = authorization.removeprefix("Bearer ")
    return {"identity": name, "permissions": ["of:" + name], "email": name + "@example.com", "calls": calls}

@auth.on
async def everything(ctx, value):
    if ctx.action in ("create", "create_run", "update"):
        value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}

@auth.on.threads.delete
async def delete(ctx, value):
    assert not ctx.user["identity"].startswith("ann"), "ann deletes nothing"
    return {"owner": {"$eq": ctx.user.identity}}

@auth.on.assistants.read
async def read_assistant(ctx, value):
    return not ctx.user.identity.startswith("blind") and {"owner": ctx.user.identity}

@auth.on.crons.create
async def create_cron(ctx, value):
    value["metadata"]["owner"] = value["user_id"]
    value["payload"]["config"]["configurable"]["accept-language"] = "of " + ctx.user.identity

@auth.on.threads.create_run
async def create_run(ctx, value):
    if ctx.user.identity.startswith("late"):
        raise Auth.exceptions.HTTPException(status_code=403, detail="too late")
    value["metadata"]["owner"] = ctx.user.identity
    value["kwargs"]["config"]["configurable"]["x-tenant"] = "tenant of " + ctx.user.identity
    if isinstance(ctx.user, Auth.types.StudioUser):
        return None
    return {"$or": [{"owner": ctx.user.identity}, {"readers": {"$contains": ctx.user.identity}}]}

@auth.on.threads.read
async def read(ctx, value):
    return {"$or": [{"owner": ctx.user.identity}, {"readers": {"$contains": [ctx.user.identity]}}]}

@auth.on.store
async def store(ctx, value):
    if value["namespace"] and value["namespace"][0] == "forbidden":
        return False
    value["namespace"] = (ctx.user.identity, *(value["namespace"] or ()))
''',
    "app.py": '''
import asyncio
from contextlib import asynccontextmanager
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import StreamingResponse
from langgraph_sdk import get_client

state = {}

@asynccontextmanager
async def lifespan(app):
    state["began"] = True
    yield

app = FastAPI(lifespan=lifespan)

@app.get("/hello/{name}")
async def hello(name: str, request: Request):
    return {"hello": name, "query": str(request.url.query), "began": state.get("began"), "user": str(request.scope.get("user") and request.user.identity)}

@app.get("/threads/mine")
async def shadow():
    return {"mine": True}

@app.get("/count")
async def count():
    async def lines():
        for i in range(4):
            yield f"{i}\\n"
            await asyncio.sleep(0.2)
    return StreamingResponse(lines(), media_type="text/plain")

@app.post("/length")
async def length(request: Request):
    async def sizes():
        async for piece in request.stream():
            yield f"{len(piece)} "
    return StreamingResponse(sizes(), media_type="text/plain")

@app.post("/hook")
async def take_hook(request: Request):
    state["hook"] = [await request.json(), request.headers.get("webhook-id")]
    return {}

@app.get("/hook")
async def last_hook():
    return state.get("hook")

@app.get("/fails")
async def fails():
    raise RuntimeError("no")

@app.get("/inside")
async def inside():
    return await get_client().runs.wait(None, "agent", input={"text": "inside"})

@app.websocket("/echo/{word}")
async def echo(ws: WebSocket, word: str):
    await ws.accept()
    while True:
        await ws.send_text(word + " " + await ws.receive_text())
''',
    "marked.py": '''
from app import app

@app.middleware("http")
async def mark(request, call_next):
    if request.query_params.get("stop"):
        from fastapi.responses import JSONResponse
        return JSONResponse({"stopped": True})
    answer = await call_next(request)
    answer.headers["x-mine"] = "yes"
    return answer
''',
}

JAVASCRIPT = {
    "graph.mjs": '''
import { Annotation, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({ text: Annotation(), user: Annotation(), header: Annotation() });
export const graph = new StateGraph(State)
    .addNode("n", (state, { configurable: c }) => ({
        text: `${state.text ?? ""}!`,
        user: { user_id: c.langgraph_auth_user_id ?? null, permissions: c.langgraph_auth_permissions ?? null, email: c.langgraph_auth_user?.email ?? null, calls: c.langgraph_auth_user?.calls ?? null },
        header: c["x-tenant"] ?? c["accept-language"] ?? null,
    }))
    .addEdge(START, "n")
    .compile();
''',
    "auth.mjs": '''
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
let calls = 0;
export const auth = new Auth()
    .authenticate(async (request) => {
        const authorization = request.headers.get("authorization");
        calls++;
        if (authorization === "Bearer crash") process.exit(7);
        if (authorization === "Bearer slow") await new Promise((r) => setTimeout(r, 60000));
        if (authorization === "Bearer broken") throw new Error("a secret");
        if (authorization === "Bearer nobody") throw new HTTPException(403, { message: "not you" });
        if (!authorization) throw new HTTPException(401, { message: "who are you?", headers: { "WWW-Authenticate": "Bearer" } });
        const name = authorization.slice("Bearer ".length);
        return { identity: name, permissions: [`of:${name}`], email: `${name}@example.com`, calls };
    })
    .on("*", ({ action, value, user }) => {
        if (["create", "create_run", "update"].includes(action)) value.metadata = { ...value.metadata, owner: user.identity };
        return { owner: user.identity };
    })
    .on("threads:delete", ({ user }) => {
        if (user.identity.startsWith("ann")) throw new HTTPException(403, { message: "ann deletes nothing" });
        return { owner: { $eq: user.identity } };
    })
    .on("assistants:read", ({ user }) => !user.identity.startsWith("blind") && { owner: user.identity })
    .on("crons:create", ({ value, user }) => {
        value.metadata.owner = value.user_id;
        value.payload.config.configurable["accept-language"] = `of ${user.identity}`;
    })
    .on("threads:create_run", ({ value, user }) => {
        if (user.identity.startsWith("late")) throw new HTTPException(403, { message: "too late" });
        value.metadata.owner = user.identity;
        value.kwargs.config.configurable["x-tenant"] = `tenant of ${user.identity}`;
        if (user.kind === "StudioUser") return;
        return { $or: [{ owner: user.identity }, { readers: { $contains: user.identity } }] };
    })
    .on("threads:read", ({ user }) => ({ $or: [{ owner: user.identity }, { readers: { $contains: [user.identity] } }] }))
    .on("store", ({ value, user }) => {
        if (value.namespace?.[0] === "forbidden") return false;
        value.namespace = [user.identity, ...(value.namespace ?? [])];
    });
''',
    "app.mjs": '''
import { Client } from "@langchain/langgraph-sdk";
import { Hono } from "hono";
import { stream } from "hono/streaming";
let hook = null;
export const app = new Hono()
    .post("/hook", async (c) => { hook = [await c.req.json(), c.req.header("webhook-id")]; return c.json({}); })
    .get("/hook", (c) => c.json(hook))
    .get("/hello/:name", (c) => c.json({ hello: c.req.param("name"), query: new URL(c.req.url).search.slice(1), began: true, user: String(c.var.auth?.user.identity) }))
    .get("/threads/mine", (c) => c.json({ mine: true }))
    .get("/count", (c) => stream(c, async (out) => {
        for (let i = 0; i < 4; i++) { await out.writeln(String(i)); await out.sleep(200); }
    }))
    .post("/length", (c) => stream(c, async (out) => {
        for await (const piece of c.req.raw.body) await out.write(`${piece.length} `);
    }))
    .get("/fails", () => { throw new Error("no"); })
    .get("/inside", async (c) => c.json(await new Client().runs.wait(null, "agent", { input: { text: "inside" } })));
''',
    "marked.mjs": '''
import { Hono } from "hono";
import { app as inner } from "./app.mjs";
export const app = new Hono()
    .use(async (c, next) => {
        if (c.req.query("stop")) return c.json({ stopped: true });
        await next();
        c.header("x-mine", "yes");
    })
    .route("/", inner);
''',
}

LANGUAGES = {"python": (PYTHON, "py"), "javascript": (JAVASCRIPT, "mjs")}


class Answer:
    def __init__(self, answer):
        self.status, self.headers = answer.status, {k.lower(): v for k, v in answer.getheaders()}
        self.text = answer.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.text[:500]!r}"


class Project:
    """A folder with all files of a language; `about` is its langgraph.json, beside the graphs."""

    def __init__(self, language, about, files=None, **env):
        texts, self.end = LANGUAGES[language]
        self.language, self.env = language, env
        self.folder = tempfile.mkdtemp(prefix="project-")
        for name, text in {**texts, **(files or {})}.items():
            self.write(name, text)
        about = json.loads(json.dumps(about).replace(".END", "." + self.end))
        self.write("langgraph.json", json.dumps({"graphs": {"agent": f"./graph.{self.end}:graph"}, **about}))
        if language == "javascript":
            os.symlink(os.path.join(os.environ["PACKAGES"], "node_modules"), os.path.join(self.folder, "node_modules"))
        self.process, self.lock = None, threading.Lock()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def dev(self, *words):
        node = os.path.dirname(os.environ["NODE"])
        env = {**os.environ, "VIRTUAL_ENV": os.path.dirname(os.path.dirname(sys.executable)),
               "PATH": node + ":" + os.environ["PATH"], **self.env}
        with open(os.path.join(self.folder, "log"), "wb") as log:
            return subprocess.Popen([PROGRAM, "dev", "--listen", "127.0.0.1:0", *words], cwd=self.folder, env=env,
                                    stdout=log, stderr=subprocess.STDOUT)

    def log(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def __enter__(self):
        self.process = self.dev()
        until("the server says hello", lambda: "LangGraph clients" in self.log() or self.process.poll() is not None)
        equal(self.process.poll(), None, self.log()[-3000:])
        self.port = int(self.log().split("serves http://127.0.0.1:")[1].split()[0])
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        if self.process is not None:
            self.process.wait(WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, body=None, who=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        given = {k.replace("_", "-"): v for k, v in headers.items()}
        if who:
            given["Authorization"] = "Bearer " + who
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json", **given})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def get(self, path, who=None, **headers):
        return self.ask("GET", path, None, who, **headers)

    def post(self, path, body, who=None, **headers):
        return self.ask("POST", path, body, who, **headers)

    def pid(self):
        """Of the companion."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as f, open(f"/proc/{pid}/stat") as stat:
                    if "companion\0--" in f.read() and int(stat.read().rsplit(")", 1)[1].split()[1]) == self.process.pid:
                        return int(pid)
            except (OSError, ValueError, IndexError):
                continue
        return None


_shared, _lock = {}, threading.Lock()


def shared(language, about, files=None, **env):
    """A server that all cases with these settings share.  A case uses names of its own for the users on it."""
    key = json.dumps([language, about, files, env], sort_keys=True)
    with _lock:
        if not _shared:
            atexit.register(_end_all)
        if key not in _shared:
            _shared[key] = Project(language, about, files, **env)
        project = _shared[key]
    with project.lock:
        return project if project.process is not None else project.__enter__()


def _end_all():
    """All at once: a server takes a moment to end."""
    for project in _shared.values():
        if project.process is not None and project.process.poll() is None:
            project.process.send_signal(signal.SIGTERM)
    for project in _shared.values():
        project.__exit__()


class WebSocket:
    def __init__(self, project, path, **headers):
        self.socket = socket.create_connection(("127.0.0.1", project.port), WAIT)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": f"127.0.0.1:{project.port}", "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, **headers}
        self.socket.sendall((f"GET {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n").encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.data += self.more()
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise AssertionError(f"the connection has ended: {self.data!r}")
        return got

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = bytes([128 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        while True:
            n = self.data[1] & 127 if len(self.data) > 1 else 0
            start = 4 if n == 126 else 2
            n = struct.unpack(">H", self.data[2:4])[0] if n == 126 and len(self.data) >= 4 else n
            if len(self.data) >= 2 and len(self.data) >= start + n and (self.data[1] & 127 != 126 or len(self.data) >= 4):
                code, text, self.data = self.data[0] & 15, self.data[start:start + n], self.data[start + n:]
                if code == 1:
                    return text.decode()
                continue
            self.data += self.more()

    def close(self):
        self.socket.close()


def times(seconds, what):
    """Fails when @what takes longer."""
    start = time.monotonic()
    value = what()
    took = time.monotonic() - start
    if took > seconds:
        raise AssertionError(f"took {took:.1f} s")
    return value
