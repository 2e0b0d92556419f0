"""A process for each job, as docs/worker-protocol.md has it."""

import asyncio
import json
import sys

import graphs


async def main():
    async for event in graphs.run(json.load(sys.stdin)):
        print(json.dumps(event, default=graphs.plain), flush=True)

asyncio.run(main())
