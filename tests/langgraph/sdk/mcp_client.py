"""A session of the official MCP client for Python with a server; prints what it got as one JSON object.

    mcp_client.py URL TEXT
"""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url, text):
    async with streamable_http_client(url) as streams, ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        await session.send_ping()
        tools = (await session.list_tools()).tools
        called = await session.call_tool("python", {"messages": text})
        failed = await session.call_tool("failing", {"messages": text})
        try:
            await session.call_tool("nobody", {})
            refusal = None
        except Exception as e:
            refusal = str(e)
        print(json.dumps({
            "server": hello.model_dump(by_alias=True)["serverInfo"]["name"],
            "tools": [t.model_dump(by_alias=True) for t in tools],
            "called": called.model_dump(by_alias=True),
            "failed": failed.model_dump(by_alias=True),
            "refusal": refusal,
        }))


asyncio.run(main(*sys.argv[1:]))
