"""A LangChain callback handler that sends a chain's events to a job.

    async def handler(job):
        return await chain.ainvoke(job.input, {"callbacks": [SpoolwireCallback(job)]})

Without a job the lines go to standard output, as a process that the server starts for one job
prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .encode import encode
from .job import Job


class SpoolwireCallback(BaseCallbackHandler):
    run_inline = True  # so that events keep their order

    def __init__(self, job: Job | None = None) -> None:
        super().__init__()
        self._send: Callable[[bytes], None] = print_line if job is None else job.post

    def _say(self, method: str, *args: Any, **kwargs: Any) -> None:
        known = {k: v for k, v in kwargs.items() if k in KEPT and v is not None}
        self._send(encode({"method": method, "args": args, "kwargs": known}))

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self._say("on_chain_start", called(serialized), inputs, **kwargs)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self._say("on_chain_end", outputs, **kwargs)

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        self._say("on_chain_error", failure(error), **kwargs)

    def on_llm_start(self, serialized: Any, prompts: list[str], **kwargs: Any) -> None:
        self._say("on_llm_start", called(serialized), prompts, **kwargs)

    def on_chat_model_start(self, serialized: Any, messages: list[list[Any]],
                            **kwargs: Any) -> None:
        self._say("on_chat_model_start", called(serialized), messages, **kwargs)

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self._say("on_llm_new_token", token, **kwargs)

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self._say("on_llm_end", response, **kwargs)

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self._say("on_llm_error", failure(error), **kwargs)

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        self._say("on_tool_start", called(serialized), input_str, **kwargs)

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self._say("on_tool_end", output, **kwargs)

    def on_tool_error(self, error: BaseException, **kwargs: Any) -> None:
        self._say("on_tool_error", failure(error), **kwargs)

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self._say("on_retriever_start", called(serialized), query, **kwargs)

    def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        self._say("on_retriever_end", documents, **kwargs)

    def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        self._say("on_retriever_error", failure(error), **kwargs)

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._say("on_custom_event", name, data, run_id=run_id, **kwargs)


KEPT = {"run_id", "parent_run_id", "tags", "metadata", "name", "chunk", "inputs", "tool_call_id"}


def called(serialized: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The identity of a runnable, without its settings."""
    if not serialized:
        return None
    return {k: serialized[k] for k in ("id", "name") if k in serialized}


def failure(error: BaseException) -> dict[str, str]:
    return {"error": type(error).__name__, "message": str(error)}


def print_line(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
