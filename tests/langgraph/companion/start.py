"""What cannot be loaded is said at the start, in one sentence."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from gateway import WAIT, until
from harness import case, contains, equal
from project import Project


def refused(language, about, files, *words):
    p = Project(language, about, files)
    process = p.dev()
    equal(process.wait(WAIT), 3, p.log())
    for word in words:
        contains(p.log(), word)
    p.__exit__()


@case
def handlers_that_cannot_be_loaded_are_refused():
    auth = {"auth": {"path": "./auth.END:auth"}}
    refused("python", auth, {"auth.py": "auth = 1\n"}, "'auth': ./auth.py:auth: it is int, not an Auth", "cannot be loaded")
    refused("python", auth, {"auth.py": "import nothing_at_all\n"}, "No module named 'nothing_at_all'")
    refused("javascript", auth, {"auth.mjs": "export const auth = {};\n"}, "'auth': ./auth.mjs:auth: it is no Auth")
    refused("javascript", {"auth": {"path": "./none.mjs:auth"}}, {}, "none.mjs does not exist")


@case
def an_app_that_cannot_be_loaded_is_refused():
    app = {"http": {"app": "./app.END:app"}}
    refused("python", app, {"app.py": "app = 1\n"}, "'http.app': ./app.py:app: it is int, not an app of Starlette")
    refused("javascript", app, {"app.mjs": "export const app = 1;\n"}, "'http.app': ./app.mjs:app: it is no app of Hono")
    refused("python", {"auth": {"path": "./auth.py:auth"}, "http": {"app": "./app.mjs:app"}}, {}, "must be of one language")


@case
def handlers_can_be_ignored():
    p = Project("python", {"auth": {"path": "./none.py:auth"}})
    p.process = p.dev("--ignore-auth")
    until("it says hello", lambda: "LangGraph clients" in p.log())
    contains(p.log(), "'auth' is ignored")
    p.port = int(p.log().split("serves http://127.0.0.1:")[1].split()[0])
    equal(p.post("/threads", {}).status, 200)
    p.__exit__()


@case
def headers_of_webhooks_have_variables_of_the_environment():
    def hooks(headers, **more):
        return {"env": {"LG_WEBHOOK_KEY": "k1", "MY_KEY": "k2"}, "webhooks": {"headers": headers, **more}}

    refused("python", hooks({"X-Key": "${{ env.MY_KEY }}"}), {}, "'env.MY_KEY' is no 'env.NAME' whose name begins with 'LG_WEBHOOK_'")
    refused("python", hooks({"X-Key": "${{ env.LG_WEBHOOK_NONE }}"}), {}, "there is no variable 'LG_WEBHOOK_NONE'")
    refused("python", hooks({"X-Key": 1}), {}, "'webhooks.headers' has a value that is no text")
    refused("python", {"webhooks": {"allowed_fields": ["run_id", "secret"]}}, {}, "no webhook has the field 'secret'")
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((dict(self.headers), json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.01,), daemon=True).start()
        about = hooks({"X-Key": "a ${{env.MY_KEY}} b ${{ env.MY_KEY }}", "X-Plain": "${ {"}, env_prefix="MY_", allowed_fields=["run_id", "status"], url={"disable_loopback": False})
        with Project("python", about) as p:
            run = p.post("/runs", {"assistant_id": "agent", "input": {}, "webhook": f"http://127.0.0.1:{receiver.server_port}/"}).json["run_id"]
            until("it is told", lambda: got)
        headers, body = got[0]
        equal((headers["X-Key"], headers["X-Plain"]), ("a k2 b k2", "${ {"))
        equal(body, {"run_id": run, "status": "success"})
        receiver.shutdown()
