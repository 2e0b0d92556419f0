"""Jobs of every length, and events of every size."""

import json
import re

from database import database
from gateway import (CLOSING, OPENING, PULL, Server, Worker, lines, play, root_end, root_start, seq, token,
                     tool_end, tool_start, unmarked)
from harness import DIALECTS, case, cases, check, equal


# Edge case 26.
@case
def no_event_at_all():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        equal(Worker(s).lease().finish(), "succeeded")
        for d in DIALECTS:
            frames = s.read("j", d)
            check(all(f.id for f in frames if f.event not in ("stream.mode",)), f"{d}: {frames}")
        equal([f.event for f in s.read("j", "raw")], ["job.start", "job.end"])
        equal([f.event for f in s.read("j", "agent")], ["job.done"])


# Edge case 27.
@cases([999, 1000, 1001, 4999, 5000, 5001, 9999, 10000, 10001, 25000])
def jobs_of(n):
    """Everything is replayed, whatever the length: then the terminal status, once, then the end."""
    with Server("--durability", "relaxed", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        live = s.aiq("j")
        lease.send(*OPENING)
        extra = 2  # job.start, job.end
        tokens = n - extra - len(OPENING) - len(CLOSING)
        text = [json.dumps(token(f"{i} ")) for i in range(tokens)]
        for i in range(0, tokens, 2500):
            lease.send(*text[i:i + 2500])
            live.pump(0)
        lease.send(*CLOSING)
        lease.finish()
        equal(s.job("j")["events"], n)
        again = s.aiq("j").rest(60)
        live.rest(60)
        for st in (live, again):
            equal(st.ended, "clean")
            equal([f.id for f in st.stored], [str(i) for i in range(2, n + 1)])
            equal([f.id for f in st.frames if f.event == "job.status" and f.id], [str(n)], "one terminal status")
            equal(st.frames[-1].json["status"], "SUCCESS")
        check(live.stored == again.stored, "the same bytes")
        chunks = [f.json["data"]["chunk"] for f in again.frames if f.event == "llm.chunk"]
        equal(chunks, [f"{i} " for i in range(tokens)])
        middle = s.aiq("j", n // 2).rest(60)
        check(unmarked(middle.stored) == [f for f in again.stored if seq(f) > n // 2], "resumed in the middle")


# Edge case 33.
@cases(DIALECTS)
def an_artifact_of_a_megabyte_is_whole(dialect):
    big = "ä😀\n" * 150_000
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(root_start(), {"type": "artifact.update", "name": "a.md",
                                  "data": {"type": "output", "content": big, "output_category": "final_report"}})
        lease.send(root_end())
        lease.finish()
        frames = s.read("j", dialect)
        if dialect == "aiq":
            equal([f.json["data"]["content"] for f in frames if f.event == "artifact.update"] == [big], True)
            check(s.get("/v1/jobs/async/job/j/report").json["report"] == big)
        check(frames, dialect)


# Edge case 33.
@case
def a_large_field_is_marked_and_not_cut():
    with Server("--max-field", "1K", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        lease.send(*OPENING, tool_start(input={"q": "y" * 5000}), tool_end(output="z" * 7000))
        lease.finish()
        for event, size in (("tool.start", "50"), ("tool.end", "70")):
            frame = [f for f in s.read("j", "raw") if f.event == event][0]
            check(len(frame.data) < 3500 and re.search(rf":{size}\d\d\b", frame.data), f"its size is told: {frame.data}")


@case
def a_line_above_the_limit_is_an_error_and_not_the_end():
    with Server("--max-line", "4K", agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        a = lease.send(*OPENING, token("y" * 10000), token("z"))
        equal((a["accepted"], a["rejected"]), (4, 1), a)
        lease.finish()
        equal([f.json["token"] for f in s.read("j", "agent") if f.event == "agent.token"], ["z"])


@case
def a_batch_of_megabytes():
    with Server(agents={"pull": PULL}) as s:
        s.submit(job_id="j")
        lease = Worker(s).lease()
        batch = lines(*OPENING, *[token("t" * 1000)] * 20000)
        check(len(batch) > 20_000_000)
        lease.append(batch, seq=0)
        equal(s.job("j")["events"], 20004)
        a = lease.try_append(b"\n" * (33 * 1024 * 1024))
        equal(a.status, 413, repr(a))
        lease.finish()


# Edge case 34.
@case
def a_stored_row_that_is_no_record_is_passed_over():
    """Somebody has been at the database.  What is lost is told, and the rest is there."""
    with Server(agents={"pull": PULL}) as s:
        id = play(s)
        s.terminate()
        db = database(s)
        db.write_chunk(id, min(last for last in db.chunks(id) if last >= 7), b"nonsense")  # the seventh record
        s.start()
        for d in DIALECTS:
            equal([f.event for f in s.read(id, d)].count("stream.gap"), 1, d)
        equal([s.get(f"/v1/jobs/async/job/{id}/{what}").status for what in ("state", "report")], [200, 200])
        equal((s.get("/readyz").status, s.get(f"/v1/jobs/{id}").status), (200, 200))
        equal(len(s.read(play(s))), 13, "other jobs are not harmed")
