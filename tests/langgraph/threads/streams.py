"""Streams of runs: compared with LangGraph's own server, joined, and after a restart."""

import json

from gateway import Worker, until
from harness import case, check, equal, recording
from graphs import (UUID, LAST_VALUES, QUESTION, UNTIL_QUESTION, VALUES, Player, RunStream, capture, new_thread, normalise,
                    serve, stream, thread)


def pairs(frames):
    return [(f.event, f.json) for f in frames]


@case
def until_the_question_as_the_real_server_says_it():
    with serve() as s, Player(s):
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream") as st:
            st.rest()
            equal(st.ended, "clean")
            equal(st.headers["content-location"], f"/threads/{t}/runs/{st.run}")
            equal(st.headers["location"], f"/threads/{t}/runs/{st.run}/stream")
            equal(st.frames[0].event, "metadata")
            equal(st.frames[0].json, {"run_id": st.run, "attempt": 1})
            equal(normalise(pairs(st.frames)), normalise(capture("js-server-01-all-modes-until-interrupt.sse")))
        now = thread(s, t)
        equal((now["status"], now["values"]), ("interrupted", VALUES[-1]))
        equal([[i["value"] for i in task] for task in now["interrupts"].values()], [[QUESTION]])
        equal(now["metadata"]["graph_id"], "agent")


@case
def the_answer_starts_the_next_run():
    with serve() as s, Player(s) as player:
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream") as st:
            st.rest()
            first = st.run
        with stream(s, f"/threads/{t}/runs/stream", input=None, command={"resume": "yes"}) as st:
            st.rest()
            equal(normalise(pairs(st.frames)), normalise(capture("js-server-02-all-modes-resume.sse")))
            second = st.run
        equal(player.orders[1]["run"]["command"], {"resume": "yes"})
        equal(player.orders[1]["input"], None)
        now = thread(s, t)
        equal((now["status"], now["interrupts"], now["values"]), ("idle", {}, LAST_VALUES))
        # The one log, in the other dialects.
        equal(s.job(first)["outcome"], "interrupted")
        equal(s.read(first, "agent")[-1].json["type"], "job.done")
        asked = [f.json for f in s.read(first, "agent") if f.event == "graph.interrupt"]
        equal([q["value"] for q in asked], [QUESTION])
        resumed = [f.json for f in s.read(second, "agent") if f.event == "graph.resumed"]
        equal(len(resumed), 1)
        equal(s.read(second, "nodes")[-1].json["status"], "ok")
        equal([r["run_id"] for r in s.get(f"/threads/{t}/runs").json], [second, first])


@case
def with_subgraphs_as_the_real_server_says_it():
    with serve() as s, Player(s):
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream", stream_subgraphs=True) as st:
            st.rest()
            want = normalise(capture("js-server-03-all-modes-subgraphs-until-interrupt.sse"), without=("checkpoints",))
            equal(normalise(pairs(st.frames)), want)
            names = {f.event for f in st.frames}
            check(any(n.startswith("values|researcher:") for n in names), names)
            for n in names:  # as clients match them
                base = n.partition("|")[0]
                check(base in ("metadata", "values", "updates", "messages", "custom"), n)


@case
def no_old_names_and_only_what_is_new():
    with serve() as s, Player(s):
        with stream(s, "/runs/stream", stream_mode=["messages-tuple", "values"]) as st:
            st.rest()
        equal({f.event for f in st.frames}, {"metadata", "messages", "values"})
        said = [f.json for f in st.frames if f.event == "messages"]
        for message, meta in said:
            check(isinstance(meta["langgraph_node"], str), meta)
        by_agent = [m["content"] for m, meta in said if m["id"] == "msg-agent-1"]
        equal("".join(by_agent), "Let me check.")
        equal([c for c in by_agent if c], ["Let me ", "check."])


def growing(frames):
    """Comparable: what the old mode says, without metadata of the server and what is empty; of what is being made the
    type may differ, as its ids."""
    out = []
    for event, data in frames:
        if not event.startswith("messages/"):
            continue
        data = json.loads(UUID.sub("UUID", json.dumps(data)))
        if event == "messages/metadata":
            (id, data), = data.items()
            out.append((event, id, data["metadata"]["langgraph_node"]))
            continue
        for m in data:
            m.get("usage_metadata", {}).pop("input_token_details", None)
            m.get("usage_metadata", {}).pop("output_token_details", None)
        out.append((event, [{k: v for k, v in m.items() if v not in ({}, [])} for m in data]))
    return out


@case
def the_old_mode_says_messages_whole_as_the_real_server_does():
    with serve() as s, Player(s):
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream", stream_mode=["messages"]) as st:
            st.rest()
            run = st.run
        equal(growing(pairs(st.frames)), growing(capture("js-server-09-messages-mode-partial-complete.sse")))
        equal({f.event.partition("/")[0] for f in st.frames}, {"metadata", "messages"})
        path = f"/threads/{t}/runs/{run}/stream"
        for i, frame in enumerate(st.frames):
            with RunStream(s, path, header=frame.id) as joined:
                equal(joined.rest().frames, st.frames[i + 1:], frame.id)
        with RunStream(s, path + "?stream_mode=messages-tuple", header="-1") as joined:
            equal({f.event for f in joined.rest().frames}, {"metadata", "messages"})


@case
def messages_of_lists_grow_too():
    with open(recording("d-anthropic-list-content.ndjson"), encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    with serve() as s:
        with stream(s, "/runs/stream", stream_mode=["messages", "messages-tuple"]) as st:
            lease = Worker(s, "agent").lease()
            lease.send(*events)
            lease.finish()
            st.rest()
        said, last = {}, {}
        for f in st.frames:
            if f.event == "messages" and f.json[0]["type"] == "AIMessageChunk":
                said.setdefault(f.json[0]["id"], []).append(f.json[0]["content"])
            elif f.event == "messages/partial":
                last[f.json[0]["id"]] = f.json[0]["content"]
        equal([b["type"] for b in last["msg_01ABC"]], ["thinking", "text", "tool_use"])
        equal({id: text_of(content) for id, content in last.items()},
              {id: "".join(map(text_of, contents)) for id, contents in said.items()})


def text_of(content):
    return content if isinstance(content, str) else "".join(
        block if isinstance(block, str) else block.get("text", "") for block in content)


@case
def messages_grow_while_they_are_read_and_across_a_restart():
    """Part by part, each read before the next one is sent: the same bytes as read at once."""
    with serve() as s:
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream", stream_mode=["messages", "values"]) as st:
            run = st.run
            lease = Worker(s, "agent").lease()
            for part in UNTIL_QUESTION[:9]:
                lease.send(part)
                if part[1] == "messages":
                    n = sum(f.event == "messages/partial" for f in st.frames)
                    st.until("one more", lambda st: sum(f.event == "messages/partial" for f in st.frames) > n)
            seen = list(st.frames)
            equal(seen[-1].json[0]["content"], "Let me check.")
        s.restart(s.kill)
        path = f"/threads/{t}/runs/{run}/stream"
        with RunStream(s, path, header=seen[-1].id) as joined:
            lease.send(*UNTIL_QUESTION[9:])
            lease.finish("interrupted")
            whole = seen + joined.rest().frames
        equal(growing(pairs(whole)), growing(capture("js-server-09-messages-mode-partial-complete.sse")))
        with RunStream(s, path, header="-1") as again:
            equal(again.rest().frames, whole)


@case
def a_joined_stream_is_the_same_with_its_ids():
    with serve() as s, Player(s):
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream", stream_resumable=True) as st:
            st.rest()
            path = f"/threads/{t}/runs/{st.run}/stream"
            for begin in ("-1", "-", "0"):
                with RunStream(s, path, header=begin) as joined:
                    equal(joined.rest().frames, st.frames, begin)
            with RunStream(s, path) as joined:
                equal(joined.rest().frames, [], "it has ended, and was read: its end alone")
            for i in (1, len(st.frames) // 2, len(st.frames) - 1):
                with RunStream(s, path, header=st.frames[i].id) as joined:
                    equal(joined.rest().frames, st.frames[i + 1:])
                    equal((joined.status, joined.ended), (200, "clean"))
            # What it was made with, unless something else is asked for: as a list, or again and again.
            for query in ('?stream_mode=%5B%22custom%22%2C%22values%22%5D', "?stream_mode=custom&stream_mode=values"):
                with RunStream(s, path + query, header="-1") as joined:
                    want = [f for f in st.frames if f.event in ("metadata", "custom", "values")]
                    equal(joined.rest().frames, want)


@case
def the_end_is_the_end():
    """200, no frame, clean: LangGraph's clients throw on 204."""
    with serve() as s, Player(s):
        with stream(s, "/runs/stream") as st:
            st.rest()
            last = [f for f in st.frames if f.id][-1].id
            with RunStream(s, f"/runs/{st.run}/stream", header=last) as joined:
                joined.rest()
                equal((joined.status, joined.frames, joined.ended), (200, [], "clean"))
            with RunStream(s, f"/runs/{st.run}/stream", header="99999") as joined:
                equal(joined.rest().frames, st.frames, "a foreign id is the beginning")


@case
def joined_after_a_restart_in_the_middle():
    with serve() as s:
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream") as st:
            run = st.run
            lease = Worker(s, "agent").lease()
            equal((lease.job, lease.order["thread"]), (run, t))
            lease.send(*UNTIL_QUESTION[:30])
            st.until("thirty parts", lambda st: sum(f.event == "values" for f in st.frames) == 3)
            seen = list(st.frames)
            s.restart(s.kill)
            while not st.ended:
                st.pump(5)
            check(st.ended != "clean", "a killed server must not look like a finished run")
        with RunStream(s, f"/threads/{t}/runs/{run}/stream", header=seen[-1].id) as joined:
            lease.send(*UNTIL_QUESTION[30:])
            lease.finish("interrupted")
            joined.rest()
            whole = seen + joined.frames
        equal(normalise(pairs(whole)), normalise(capture("js-server-01-all-modes-until-interrupt.sse")))
        equal(thread(s, t)["status"], "interrupted")
        with RunStream(s, f"/threads/{t}/runs/{run}/stream", header="-1") as again:
            equal(again.rest().frames, whole)


@case
def an_error_is_the_last_event():
    with serve() as s:
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream") as st:
            lease = Worker(s, "agent").lease()
            lease.send(UNTIL_QUESTION[2])
            lease.finish("failure", error="boom: deliberate failure", error_type="RangeError")
            st.rest()
            equal(pairs(st.frames)[1:], capture("js-server-12-error.sse")[1:])
            equal(st.ended, "clean")
        now = thread(s, t)
        equal((now["status"], now["error"]["error"]), ("error", "RangeError"))
        run = s.get(f"/threads/{t}/runs").json[0]
        equal(run["status"], "error")


@case
def heartbeats_have_no_blank_line():
    with serve("--keep-alive", "1s") as s:
        with stream(s, "/runs/stream") as st:
            st.until("two heartbeats", lambda st: len(st.comments) >= 2)
            check(b": hb\n: hb\n" in st.raw, st.raw)
            check(b"\n\n\n" not in st.raw and b"hb\n\n" not in st.raw, st.raw)


@case
def a_reader_that_leaves_may_end_the_run():
    with serve() as s:
        t = new_thread(s)
        with stream(s, f"/threads/{t}/runs/stream", on_disconnect="cancel") as st:
            st.until_event("metadata")
            run = st.run
        s.until_state(run, "cancelled")
        with stream(s, f"/threads/{t}/runs/stream") as st:
            st.until_event("metadata")
            run = st.run
        lease = Worker(s, "agent").lease()
        equal(lease.job, run)
        with RunStream(s, f"/threads/{t}/runs/{run}/stream?cancel_on_disconnect=1") as st:
            st.until_event("metadata")
        until("it is cancelled", lambda: lease.beat()["cancel"])
