"""What cannot be loaded is said at the start, in one sentence."""

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
