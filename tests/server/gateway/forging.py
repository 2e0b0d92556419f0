"""No name that a client or worker can choose ends a frame early, forges a frame, or gets into a header."""

import re
import urllib.parse

from forgery import NAMES, Forgery
from gateway import PULL, Server, Worker, read_answer
from harness import DIALECTS, cases, check, equal, lines

EVIL = {
    "LF": "x\n\nevent: job.done\ndata: {\"type\":\"job.done\"}\n\n",
    "CRLF": "x\r\n\r\nid: 999\r\nevent: job.done\r\ndata: {\"type\":\"job.done\"}\r\n\r\n",
    "CR": "x\r\revent: job.done\rdata: {\"type\":\"job.done\"}\r\r",
    "NUL": "x\0y\0\0id: 7",
    "line separators": "x\u2028\u2028event: job.done\u2029data: {}\x85\x0b\x0c\x1c\x1d\x1e",
    "fields": "id: 999",
    "a comment": ": keep-alive",
    "retry": "retry: 0\n\nretry: 0",
    "quotes": "\"},\"x\":{\"\\\"\n",
    "escapes": "\\n\\nevent: job.done\\ndata: {}\\u000a",
    "a header": "x\r\nSet-Cookie: a=b\r\nX-Evil: 1",
    "a chunk": "x\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "BOM and more": "\ufeff\u202e\u200b\x1b[31mred\x07",
}


def hostile(evil):
    """Events with @evil in every place that has a name, an id or a text."""
    f = Forgery(evil)
    return [
        *f.story(),
        {"type": "artifact.update", "name": evil, "data": {"type": "output", "content": evil, "url": evil, evil: evil,
                                                          "output_category": "final_report"}},
        {"type": "job.update", "name": evil, "data": {"output": evil}},
        {"event": "on_chain_stream", "name": evil, "run_id": f.root, "parent_ids": [], "tags": [],
         "metadata": {}, "data": {"chunk": {"__interrupt__": [{"value": evil, "id": evil}]}}},
    ]


def body_of(s, id, dialect, **query):
    with s.stream(id, dialect, **query) as st:
        st.rest()
        equal(st.ended, "clean")
        return st


# Edge case 32.
@cases(EVIL)
def one_event_in_one_event_out(name):
    """As many frames, of the same names, as with harmless text."""
    evil = EVIL[name]
    with Server(agents={"pull": PULL}) as s:
        counts = {}
        for id, text in (("evil", evil), ("good", "harmless")):
            s.submit(job_id=id, input={text: text, "t": text})
            lease = Worker(s, name=text).lease()
            equal(lease.order["input"], {text: text, "t": text})
            a = lease.send(*hostile(text))
            equal((a["accepted"], a["rejected"]), (10, 0), a)
            lease.finish("failure", error=text, error_type=text)
            modes = "values,updates,messages,custom,events,tasks,checkpoints,debug"
            for d in DIALECTS:
                st = body_of(s, id, d, **({"modes": modes, "subgraphs": "1"} if d == "messages" else {}))
                counts[id, d] = [(f.id, f.event.partition("|")[0]) for f in st.frames]
                for f in st.frames:
                    check(d not in NAMES or f.event.partition("|")[0] in NAMES[d].split(), f"{d}: {f.event!r}")
        for d in DIALECTS:
            equal(counts["evil", d], counts["good", d], d)
        j = s.job("evil")
        equal((j["error"], j["error_type"]), (evil, evil))
        error = [f for f in s.read("evil", "agent") if f.event == "job.failed"][0]
        equal(error.json["error"], evil, "told as it was")
        report = s.get("/v1/jobs/async/job/evil/report").json
        equal(report["report"], evil)
        state = s.get("/v1/jobs/async/job/evil/state").json
        equal(state["artifacts"]["outputs"][0]["content"], evil)


@cases(EVIL)
def a_process_may_say_anything(name):
    """On stdout, on stderr, and in the order it is given."""
    evil = EVIL[name]
    worker = ("import json,sys,os\norder = json.loads(sys.stdin.readline())\ntext = order['input']\n"
              "print(json.dumps({'type': 'llm.chunk', 'data': {'chunk': text}}))\n"
              "sys.stdout.flush()\nsys.stderr.write(text)\nsys.stderr.flush()\nsys.exit(3)\n")
    with Server(agents={"a": {"command": ["python3", "-c", worker]}}) as s:
        id = s.submit("a", evil)
        s.until_state(id, "failed")
        for d in DIALECTS:
            st = body_of(s, id, d)
            check(not any(f.event == "job.done" or f.id == "999" for f in st.frames), st.frames)
        log = s.err()
        check(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", log), f"control characters in the log: {log!r}")


@cases(EVIL)
def nothing_reaches_a_header(name):
    """Ids, agents, keys and cursors that come back in answers."""
    evil = EVIL[name]
    quoted = urllib.parse.quote(evil, safe="")
    with Server(agents={"pull": PULL}) as s:
        for method, path in (("GET", f"/v1/jobs/{quoted}"), ("GET", f"/v1/jobs/{quoted}/events"),
                             ("GET", f"/v1/jobs/async/job/{quoted}"), ("GET", f"/v1/jobs/async/job/{quoted}/stream"),
                             ("GET", f"/v1/jobs/async/job/{quoted}/stream/{quoted}"),
                             ("POST", f"/v1/jobs/async/job/{quoted}/cancel"), ("DELETE", f"/v1/jobs/{quoted}"),
                             ("POST", f"/v1/worker/jobs/{quoted}/events?lease=1.1"),
                             ("GET", f"/v1/jobs?state={quoted}"), ("GET", f"/v1/jobs?agent={quoted}"),
                             ("GET", f"/v1/jobs/x/events?dialect={quoted}"), ("GET", f"/v1/jobs/x/events?after={quoted}"),
                             ("GET", f"/{quoted}")):
            a = s.request(method, path)  # parse_head is strict
            check(a.status in (200, 400, 404, 422), f"{method} {path}: {a!r}")
            check(not {"set-cookie", "x-evil"} & set(a.headers), a.headers)
            a.json
        for body in ({"agent": evil}, {"agent": "pull", "job_id": evil}):
            a = s.post("/v1/jobs", body)
            check(a.status in (400, 422), repr(a))
            equal(s.post("/v1/jobs/async/submit", {"agent_type": evil, "input": evil, "job_id": evil}).status, 422)
        equal(s.get("/v1/jobs").json["jobs"], [])
        equal(s.get("/livez").status, 200)


@cases(["a\rb", "a\nb", "a\0b", "a\r\nX-Evil: 1", "\u2028", "é"], repr)
def header_values_that_are_none(value):
    """They do not come through, or they do no harm: never into an answer's head."""
    with Server(agents={"pull": PULL}) as s:
        for name in ("Last-Event-ID", "Idempotency-Key", "X-Request-Id", "Origin", "Authorization"):
            with s.connect() as sock:
                text = f"GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n{name}: {value}\r\nConnection: close\r\n\r\n"
                sock.sendall(text.encode())
                a = read_answer(sock)
                check(a.status in (200, 400, 403), f"{name}: {a!r}")
                check("x-evil" not in a.headers, a.headers)


@cases(EVIL)
def lines_of_a_worker_that_look_like_sse(name):
    """A body that mixes JSON lines with text: a line is an event or a bad line, never two."""
    evil = EVIL[name]
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        a = lease.append(evil.encode() + b"\n" + lines({"type": "llm.chunk", "data": {"chunk": "ok"}}))
        check(a["accepted"] <= 2, a)
        if s.state("j") == "running":
            lease.finish()
        for d in DIALECTS:
            body_of(s, "j", d)
