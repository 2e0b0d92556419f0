"""What readers are told of tools, steps and nodes, whichever way a graph was started."""

import atexit
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lib")]
sys.dont_write_bytecode = True

from gateway import WAIT, until  # noqa: E402
from harness import PROGRAM, case, check, equal, main  # noqa: E402

INPUT = {"messages": [{"role": "user", "content": "How is the weather?"}]}
LANGUAGES = ("python", "javascript")
WAYS = ("run", "job")
# Of each dialect: the frames about tools and nodes, and what of them must be the same.
SHOWN = {
    "agent": {"agent.spawned": ["node"], "agent.tool_call": ["tool_name", "input_preview"],
              "agent.tool_result": ["tool_name", "result_summary", "status"], "agent.done": ["node", "status"],
              "graph.node_complete": ["node", "step"]},
    "aiq": {"workflow.start": ["name"], "workflow.end": ["name"], "tool.start": ["name", "data.input"], "tool.end": ["name", "metadata.status"]},
}


class Dev:
    """`spoolwire dev` on a project with the graph in both languages."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="kits-")
        atexit.register(self.end)
        for name in ("graph.py", "graph.mjs"):
            shutil.copy(os.path.join(HERE, name), self.folder)
        os.symlink(os.path.join(os.environ["PACKAGES"], "node_modules"), os.path.join(self.folder, "node_modules"))
        with open(os.path.join(self.folder, "langgraph.json"), "w") as f:
            json.dump({"graphs": {"python": "./graph.py:graph", "javascript": "./graph.mjs:graph"}}, f)
        env = {**os.environ, "VIRTUAL_ENV": os.path.dirname(os.path.dirname(sys.executable)),
               "PATH": os.path.dirname(os.environ["NODE"]) + ":" + os.environ["PATH"]}
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen([PROGRAM, "dev", "--listen", "127.0.0.1:0", "--no-reload"], cwd=self.folder,
                                            env=env, stdout=log, stderr=subprocess.STDOUT)
        until("the server says hello", lambda: "LangGraph clients" in self.log() or self.process.poll() is not None)
        equal(self.process.poll(), None, self.log()[-3000:])
        self.port = int(self.log().split("serves http://127.0.0.1:")[1].split()[0])

    def log(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        equal(answer.status // 100, 2, f"{method} {path}: {text}")
        connection.close()
        return text

    def started(self, way, language):
        """The id of a job that has ended."""
        if way == "job":
            id = json.loads(self.ask("POST", "/v1/jobs", {"agent": language, "input": INPUT}))["job_id"]
        else:
            thread = json.loads(self.ask("POST", "/threads", {}))["thread_id"]
            id = json.loads(self.ask("POST", f"/threads/{thread}/runs", {"assistant_id": language, "input": INPUT}))["run_id"]
        until("it has succeeded", lambda: json.loads(self.ask("GET", f"/v1/jobs/{id}"))["state"] == "succeeded")
        return id

    def frames(self, id, dialect):
        """(event, data) of each frame."""
        text = self.ask("GET", f"/v1/jobs/{id}/events?dialect={dialect}&format=sse")
        found = []
        for block in text.replace("\r\n", "\n").split("\n\n"):
            name, data = re.search(r"^event: (.*)$", block, re.M), re.search(r"^data: (.*)$", block, re.M)
            if data:
                value = json.loads(data[1])
                found.append((name[1] if name else value.get("type"), value))
        return found


_made = {}


def dev():
    return _made.setdefault("dev", _made.get("dev") or Dev())


def job_of(way, language):
    key = (way, language)
    if key not in _made:
        _made[key] = dev().started(way, language)
    return _made[key]


def records(way, language):
    return [value for _, value in dev().frames(job_of(way, language), "raw")]


def pairs(found, kind):
    """Start and end of each run of that kind."""
    ends = {r["run"]: r for r in found if r["kind"] == kind + ".end"}
    return [(r, ends[r["run"]]) for r in found if r["kind"] == kind + ".start"]


def tools_of(found):
    """What is known of each call: its tool, where it ran, its input, and how it ended."""
    return sorted((end["call"], start["name"], start["node"], json.dumps(start["input"]), start["preview"], end["status"],
                   first_error(end["preview"])) for start, end in pairs(found, "tool"))


def nodes_of(found):
    return [(start["node"], start.get("step"), end["status"], end.get("tools", 0), end.get("llms", 0))
            for start, end in pairs(found, "node") if start.get("top")]


def first_error(text):
    return re.sub(r"^Error: ", "", text.split("\n")[0])


@case
def tools_are_the_same_however_the_graph_was_started():
    for language in LANGUAGES:
        for way in WAYS:
            equal(tools_of(records(way, language)), [
                ("call_1", "weather", "tools", '{"city": "Oslo"}', '{"city":"Oslo"}', "ok", "Sunny in Oslo"),
                ("call_2", "broken", "tools", '{"city": "Rome"}', '{"city":"Rome"}', "error", "no weather in Rome"),
                ("call_3", "weather", "inner", '{"city": "Bern"}', '{"city":"Bern"}', "ok", "Sunny in Bern"),
            ], f"{way} in {language}")


@case
def nodes_have_their_steps_and_ends():
    for language in LANGUAGES:
        for way in WAYS:
            equal(nodes_of(records(way, language)),
                  [("agent", 1, "ok", 0, 1), ("tools", 2, "ok", 2, 0), ("agent", 3, "ok", 0, 1), ("inner", 4, "ok", 1, 1)],
                  f"{way} in {language}")


def shown(id, dialect):
    """The frames of tools and nodes, without what differs: ids and times."""
    kept = []
    for name, value in dev().frames(id, dialect):
        wanted = SHOWN[dialect].get(name)
        if wanted is None:
            continue
        said = []
        for path in wanted:
            at = value
            for key in path.split("."):
                at = (at or {}).get(key)
            said.append(json.dumps(at))
        kept.append((name, *said))
    return sorted(kept)


@case
def dialects_show_the_same_of_a_run_and_of_a_job():
    for dialect in SHOWN:
        for language in LANGUAGES:
            run, job = (shown(job_of(way, language), dialect) for way in WAYS)
            root = ('"LangGraph"',)  # only events tell the graph itself
            equal(run, [f for f in job if f[1:2] != root], f"{dialect} in {language}")
            check(len(run) >= 14, run)


def thread_events(answer):
    """The events of a thread's stream, which stays open, up to the end of its run."""
    while line := answer.readline().decode():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[len("data: "):])
        if "params" not in event:
            continue
        yield event["method"], event["params"]["data"]
        if event["method"] == "lifecycle" and not event["params"]["namespace"] and event["params"]["data"]["event"] == "completed":
            return


@case
def streams_tell_each_tool_once():
    for language in LANGUAGES:
        thread = json.loads(dev().ask("POST", "/threads", {}))["thread_id"]
        text = dev().ask("POST", f"/threads/{thread}/runs/stream", {"assistant_id": language, "input": INPUT, "stream_mode": ["tools"]})
        equal(len(re.findall(r"^event: tools", text, re.M)), 6, text)
        # The same of the thread-scoped protocol.
        connection = http.client.HTTPConnection("127.0.0.1", dev().port, timeout=WAIT)
        connection.request("POST", f"/threads/{thread}/stream/events", json.dumps({"channels": ["tools", "lifecycle"]}),
                           {"Content-Type": "application/json"})
        told = sorted(data["event"] for method, data in thread_events(connection.getresponse()) if method == "tools")
        connection.close()
        equal(told, ["tool-error", "tool-finished", "tool-finished", *["tool-started"] * 3], language)


def requests_of(route):
    """How many the server has answered."""
    pattern = r'^spoolwire_http_requests_total\{[^}]*route="[^"]*' + re.escape(route) + r'"[^}]*\} (\d+)'
    return sum(map(int, re.findall(pattern, dev().ask("GET", "/metrics"), re.M)))


@case
def each_state_is_sent_once():
    for language in LANGUAGES:
        job_of("run", language)  # the graph is loaded
        before = [requests_of(route) for route in ("/state", "/checkpoints")]
        dev().started("run", language)
        states, checkpoints = (requests_of(route) - n for route, n in zip(("/state", "/checkpoints"), before))
        check(checkpoints >= 6, checkpoints)
        equal(states, checkpoints, language)


if __name__ == "__main__":
    main()
