"""A pull worker, which leases its jobs over HTTP: pull_worker.py URL AGENT."""

import asyncio
import json
import sys
import urllib.request

import graphs

URL, AGENT = sys.argv[1:]


def post(path, body):
    request = urllib.request.Request(URL + path, body if isinstance(body, bytes) else json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")


async def work(order):
    path = f"/v1/worker/jobs/{order['job']}"
    lease, seq, asked = order["lease"], order["seq"], False
    finish = {"status": "success"}
    try:
        async for event in graphs.run(order):
            asked = asked or (not event["parent_ids"] and isinstance(event["data"].get("chunk"), dict) and
                              "__interrupt__" in event["data"]["chunk"])
            line = json.dumps(event, default=graphs.plain).encode() + b"\n"
            await asyncio.to_thread(post, f"{path}/events?lease={lease}&seq={seq}", line)
            seq += 1
        if asked:
            finish = {"status": "interrupted"}
    except Exception as e:
        finish = {"status": "failure", "error": str(e), "error_type": type(e).__name__}
    await asyncio.to_thread(post, f"{path}/finish?lease={lease}", finish)


async def main():
    running = set()
    while True:
        try:
            order = await asyncio.to_thread(post, "/v1/worker/lease", {"agents": [AGENT], "worker": "w", "wait": 20})
        except OSError:  # the server is being started again
            await asyncio.sleep(0.2)
            continue
        if order is not None:
            task = asyncio.create_task(work(order))
            running.add(task)
            task.add_done_callback(running.discard)

asyncio.run(main())
