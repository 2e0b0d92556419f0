"""How long the graph alone takes to its first token, in a process of its own: what every server adds to.
    own.py N"""

import asyncio
import json
import sys
import time

from graph import graph


async def main(n: int) -> None:
    times = []
    for i in range(n + 1):
        began, first = time.perf_counter(), None
        async for _ in graph.astream({"messages": [("user", "5 1")]}, stream_mode="messages"):
            first = first or time.perf_counter() - began
        if i > 0:  # the first one loads
            times.append(first * 1000)
    print(json.dumps(times))


asyncio.run(main(int(sys.argv[1])))
