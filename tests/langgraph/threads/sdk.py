"""The stock Python SDK."""

import asyncio

from langgraph_sdk import get_client, get_sync_client

from harness import case, equal
from graphs import ALL, INPUT, LAST_VALUES, QUESTION, VALUES, Player, normalise, capture, serve, thread


@case
def threads_and_runs_with_the_sdk():
    with serve() as s, Player(s):
        client = get_sync_client(url=s.url)
        t = client.threads.create(metadata={"who": "me"}, graph_id="agent")["thread_id"]
        parts = list(client.runs.stream(t, "agent", input=INPUT, stream_mode=ALL))
        equal(normalise([(p.event, p.data) for p in parts]),
              normalise(capture("js-server-01-all-modes-until-interrupt.sse")))
        equal(client.threads.get(t)["status"], "interrupted")
        result = client.runs.wait(t, "agent", command={"resume": "yes"})
        equal(result, LAST_VALUES)
        runs = client.runs.list(t)
        equal([r["status"] for r in runs], ["success", "success"])
        again = list(client.runs.join_stream(t, runs[1]["run_id"], last_event_id="-1"))
        equal([(p.event, p.data) for p in again], [(p.event, p.data) for p in parts])
        equal(client.runs.join(t, runs[0]["run_id"]), LAST_VALUES)
        equal([x["thread_id"] for x in client.threads.search(metadata={"who": "me"})], [t])
        equal(client.threads.count(metadata={"who": "me"}), 1)
        client.threads.update(t, metadata={"more": 1})
        copy = client.threads.copy(t)
        client.runs.delete(t, runs[0]["run_id"])
        client.threads.delete(t)
        equal(client.threads.count(), 1)
        equal(client.threads.get(copy["thread_id"])["metadata"]["more"], 1)


@case
def background_runs_with_the_sdk():
    async def play(s):
        client = get_client(url=s.url)
        t = (await client.threads.create())["thread_id"]
        run = await client.runs.create(t, "agent", input=INPUT, stream_mode=["values"], stream_resumable=True)
        values = [p.data async for p in client.runs.join_stream(t, run["run_id"]) if p.event == "values"]
        equal(values[:-1], VALUES)
        equal([q["value"] for q in values[-1]["__interrupt__"]], [QUESTION])
        late = await client.runs.create(t, "other", input={}, multitask_strategy="enqueue")
        await client.runs.cancel(t, late["run_id"], wait=True)
        equal((await client.runs.get(t, late["run_id"]))["status"], "interrupted")
        equal(await client.runs.wait(None, "agent", input=INPUT, raise_error=False) is not None, True)
        batch = await client.runs.create_batch([{"assistant_id": "other", "input": {}}])
        equal(len(batch), 1)
        with_id = await client.threads.create(thread_id="mine", if_exists="do_nothing")
        equal(with_id["thread_id"], "mine")

    with serve() as s, Player(s):
        asyncio.run(play(s))
