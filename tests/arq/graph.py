"""Document 000 from end to end: a real LangGraph graph in a real ARQ worker, which asks a person,
is answered over HTTP, and goes on."""

from broker import shared
from cluster import PythonWorker, own_queue, producer
from gateway import until
from harness import case, check, equal


def told(frames):
    """What a page shows: events without ids and times, and tokens put together."""
    rows = []
    for f in frames:
        data = f.json
        if f.event in ("agent.token", "output.token"):
            if rows and rows[-1][0] == f.event:
                rows[-1] = (f.event, rows[-1][1] + data["token"])
                continue
            rows.append((f.event, data["token"]))
        else:
            rows.append((f.event, data.get("node") or data.get("question") or data.get("error")))
    return rows


def texts(frames, event):
    return "".join(f.json["token"] for f in frames if f.event == event)


@case
def a_graph_asks_is_answered_and_finishes():
    queue, redis = own_queue(), shared()
    with PythonWorker(redis, queue, program="triage_worker.py"), \
            producer(redis, queue, resume_function="resume_triage", resume_args=["job_id", "answer"]) as s:
        job = s.submit("triage", {"issue": "API 500"})
        broken = s.submit("triage", {"issue": "broken"})
        s.until_state(job, "waiting")
        question, = [q for q in s.get("/v1/interrupts").json["interrupts"] if q["job_id"] == job]
        equal((question["question"], question["context"]), ("which service?", "looking into API 500"))
        equal(s.post(f"/v1/jobs/{job}/answer", {"value": "billing"}).status, 200)
        s.until_state(job, "succeeded")
        frames = s.read(job, "agent")
        equal([row for row in told(frames) if row[0] not in ("agent.token", "output.token")], [
            ("graph.node_complete", "supervisor"),
            ("agent.spawned", "investigator"),
            ("agent.done", "investigator"),
            ("graph.node_complete", "investigator"),
            ("graph.node_complete", "supervisor"),
            ("graph.interrupt", "which service?"),
            ("graph.resumed", None),
            ("graph.node_complete", "human_input"),
            ("agent.spawned", "writer"),
            ("agent.done", "writer"),
            ("graph.node_complete", "writer"),
            ("job.done", None),
        ])
        equal(texts(frames, "agent.token"), "looking into API 500it is billing")
        equal(texts(frames, "output.token"), "it is billing")
        row = s.until_state(broken, "failed")
        equal(row["error"], "the graph is broken")
        equal([f.event for f in s.read(broken, "agent")].count("job.failed"), 1)
        until("it has begun twice", lambda: s.job(job)["attempt"] == 2)
        check(redis.client().exists(f"arq:result:{job}"))
