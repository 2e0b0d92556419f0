"""The graphs behind a server as LangGraph's own server has them, each an assistant: platform_worker.py URL."""

import asyncio
import sys

import graphs
from spoolwire import Worker

asyncio.run(Worker({name: make(None) for name, make in graphs.GRAPHS.items()}, url=sys.argv[1]).run())
