"""One run of a graph for one job: its config, its input, its stream, its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, cast

from . import snapshot
from .errors import Interrupted
from .job import Job, Assignment
from .outcomes import Outcomes
from .transformers import Transformers

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

log = logging.getLogger("spoolwire")

MODES = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "tools"]
Parts = AsyncGenerator[tuple[Sequence[str], str, Any], None]  # namespace, mode, payload
SAID_BY_OTHERS = {"messages-tuple", "events"}  # modes of clients that graph.astream() does not have
ADDED_BY_SERVER = {"thread_id", "run_id", "graph_id", "assistant_id", "user_id", "user-agent"}
LAST_LOOK = 5.0  # seconds for the state of a run that was cancelled or has failed


def config_of(assignment: Assignment) -> dict[str, Any]:
    """The graph's config.  A plain job is a thread of its own."""
    run = assignment.run
    config = dict(run.get("config") or {})
    at = {k: v for k, v in {"checkpoint_id": run.get("checkpoint_id"), **(run.get("checkpoint") or {})}.items()
          if v is not None}
    # Graphs without a context schema find the values of a context in the config.
    config["configurable"] = {**(run.get("context") or {}), **(config.get("configurable") or {}), **at,
                              "thread_id": assignment.thread or assignment.job,
                              "run_id": run.get("run_id") or assignment.job}
    config["metadata"] = {**(config.get("metadata") or {}), **(run.get("metadata") or {}),
                          "run_attempt": assignment.attempt}
    return config


def sent_context(run: Mapping[str, Any]) -> dict[str, Any]:
    """The context of a run, as LangGraph's own server reads it: the member `context`, or what the client
    has put into config.configurable, without the keys that servers add."""
    if run.get("context"):
        return dict(run["context"])
    given = (run.get("config") or {}).get("configurable") or {}
    return {k: v for k, v in given.items() if k not in ADDED_BY_SERVER
            and not k.startswith(("x-", "__", "langgraph_", "checkpoint_"))}


def context_of(graph: Any, run: Mapping[str, Any]) -> Any:
    """The value of `runtime.context`: the members of the sent context that the graph's schema has; the schema
    fills in its defaults.  None when nothing was sent and the schema has required members."""
    sent = sent_context(run)
    schema = getattr(graph, "context_schema", None)
    if schema is None:
        return sent
    try:
        names = (graph.get_context_jsonschema() or {}).get("properties") or {}
    except Exception:
        return run.get("context")  # without a JSON Schema its members are not known
    context = {k: v for k, v in sent.items() if k in names}
    return context if context or can_be_empty(schema) else None


def can_be_empty(schema: Any) -> bool:
    if not is_dataclass(schema) and not hasattr(schema, "model_validate"):
        return True  # a TypedDict
    try:
        schema()
    except Exception:
        return False
    return True


def command_of(said: Mapping[str, Any]) -> Any:
    """A client's command, as the graph takes it."""
    from langgraph.types import Command, Send

    def step(to: Any) -> Any:
        return Send(to["node"], to.get("input")) if isinstance(to, Mapping) else to

    goto = said.get("goto") or ()
    update = said.get("update")
    if isinstance(update, list):
        update = [tuple(pair) for pair in update]
    return Command(resume=said.get("resume"), update=update,
                   goto=[step(to) for to in goto] if isinstance(goto, Sequence)
                   and not isinstance(goto, str) else step(goto))


class Breakpoints(list[str]):
    """Nodes before which the graph stops: those that were named, and, once a pause is requested, whichever
    is next.  The graph's own loop stops there, between two steps: everything before is finished and sent,
    and nothing after it has begun."""

    def __init__(self, names: Sequence[str], job: Job) -> None:
        super().__init__(names)
        self._job = job

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return self._job.pause_wanted or super().__contains__(name)


class Run:
    def __init__(self, graph: Any, saver: Any, job: Job, config: dict[str, Any],
                 stream: str) -> None:
        self._graph, self._saver, self._job, self._config = graph, saver, job, config
        assignment = job.assignment
        asked = assignment.run.get("stream_mode") or []
        self._asked = [asked] if isinstance(asked, str) else list(asked)
        self._is_chain = not hasattr(graph, "stream_channels_asis")  # which has events, and no modes
        self._with_events = "events" in self._asked or self._is_chain or \
            (not assignment.run and stream == "events")
        self._output: Any = None
        self._interrupted = False
        self._at_end = False  # the newest checkpoint has no next step, and its state is known
        self._projections: asyncio.Queue[tuple[str, str, Any] | None] = asyncio.Queue()
        self._keeps_state = bool(getattr(graph, "checkpointer", None))
        self._projects = saver is not None and hasattr(saver, "aput_state")
        self._outcomes = Outcomes(graph)
        if self._projects:
            saver.on_writes = self._outcomes.wrote
        self._transformers = Transformers.of(graph)

    async def run(self) -> Any:
        """The graph's output; raises Interrupted when it waits for an answer, or was paused."""
        projecting = asyncio.ensure_future(self._project())
        try:
            await self._stream(await self._input())
            if self._transformers:
                await self._emit_sent(await self._transformers.close())
            self._projections.put_nowait(None)
            await projecting
            if not self._at_end:
                await self._last_look()
        except BaseException as e:
            if self._transformers:
                await self._transformers.fail(e)
            projecting.cancel()
            await self._try_last_look()
            raise
        if self._interrupted:
            raise Interrupted
        return self._output

    # --- what goes in ---------------------------------------------------------------

    async def _input(self) -> Any:
        assignment = self._job.assignment
        # An earlier attempt, or the run before a pause, may have left checkpoints: continue from
        # the newest.  Without any, the run starts from its input.
        if (assignment.attempt > 1 or assignment.resume is not None) and await self._has_begun():
            for name in ("checkpoint_id", "checkpoint_map"):  # where it began
                self._config["configurable"].pop(name, None)
            return await self._answers(assignment.resume) if assignment.resume else None
        if assignment.run.get("command"):
            return command_of(assignment.run["command"])
        return assignment.input

    async def _answers(self, resume: Mapping[str, Any]) -> Any:
        """The answers to questions that are still open.  A lost worker may have used the others."""
        from langgraph.types import Command

        state = await self._graph.aget_state(self._config)
        waiting = {i.id for task in state.tasks for i in task.interrupts}
        values = {id: value for id, value in resume.items() if id in waiting}
        return Command(resume=values) if values else None

    async def _has_begun(self) -> bool:
        """Has this run left checkpoints?  The newest one of the thread need not be this run's: somebody
        may have changed the state since."""
        if not self._keeps_state:
            return False
        given = self._config["configurable"]
        thread = {"configurable": {"thread_id": given["thread_id"], "checkpoint_ns": ""}}
        found = self._graph.checkpointer.alist(thread, filter={"run_id": given["run_id"]}, limit=1)
        return len([one async for one in found]) > 0

    # --- what comes out -------------------------------------------------------------

    async def _stream(self, given: Any) -> None:
        options = self._options()
        parts = self._events(given, options) if self._with_events else self._parts(given, options)
        async with aclosing(parts):
            async for namespace, mode, payload in parts:
                self._take(namespace, mode, payload)

    def _options(self) -> dict[str, Any]:
        run = self._job.assignment.run
        options: dict[str, Any] = {"config": self._config}
        if self._is_chain:
            return options
        more = [m for m in self._asked if m not in MODES and m not in SAID_BY_OTHERS]
        options |= {"stream_mode": MODES + more, "subgraphs": True}
        for name in ("interrupt_before", "interrupt_after", "durability"):
            if run.get(name):
                options[name] = run[name]
        if (context := context_of(self._graph, run)) is not None:
            options["context"] = context
        if not self._keeps_state:
            options.pop("durability", None)
        elif (named := run.get("interrupt_before") or self._graph.interrupt_before_nodes) != "*":
            options["interrupt_before"] = Breakpoints(named, self._job)
        return options

    async def _parts(self, given: Any, options: dict[str, Any]) -> Parts:
        async with aclosing(self._graph.astream(given, **options)) as stream:
            async for namespace, mode, payload in stream:
                await self._transform(namespace, mode, payload)
                await self._job.emit(part(namespace, mode, snapshot.shown(mode, payload)))
                yield namespace, mode, payload

    async def _events(self, given: Any, options: dict[str, Any]) -> Parts:
        """Runs the graph with astream_events: the chunks of the outermost run are the parts."""
        async with aclosing(self._graph.astream_events(given, version="v2", **options)) as stream:
            async for event in stream:
                outermost = not event.get("parent_ids")
                chunk = event["data"].get("chunk")
                is_part = outermost and event["event"] == "on_chain_stream" and \
                    not self._is_chain and isinstance(chunk, tuple)
                if self._is_chain and outermost and event["event"].endswith("_end"):
                    self._output = event["data"].get("output")
                    if self._asked:  # clients of LangGraph's API look for the state
                        await self._job.emit(part([], "values", self._output))
                if is_part:
                    await self._transform(*chunk)
                # Tokens were already sent as events of their models.
                if is_part:
                    event["data"] = {**event["data"],
                                     "chunk": (*chunk[:2], snapshot.shown(chunk[1], chunk[2]))}
                if not (is_part and chunk[1] == "messages"):
                    await self._job.emit(said_once(event))
                if is_part:
                    yield chunk

    async def _transform(self, namespace: Sequence[str], mode: str, payload: Any) -> None:
        """Emits what the graph's transformers send about a part before the part itself, as LangGraph does."""
        if self._transformers:
            await self._emit_sent(await self._transformers.take(namespace, mode, payload))

    async def _emit_sent(self, sent: list[tuple[str, Any]]) -> None:
        for name, item in sent:
            await self._job.emit(part((), f"custom:{name}", item))

    def _take(self, namespace: Sequence[str], mode: str, payload: Any) -> None:
        """Keeps what we need of a part: values, interrupts."""
        if mode in ("values", "updates") and isinstance(payload, Mapping) and \
                "__interrupt__" in payload:
            self._interrupted = True
        if mode == "values" and not namespace:
            self._output = without_question(payload)
        if mode == "tasks":
            self._outcomes.heard(namespace, payload)
        if mode != "checkpoints":
            return
        if self._projects:
            self._show(snapshot.of_part(payload))
        if not namespace:
            self._at_end = not payload["next"]

    # --- the state that the server shows --------------------------------------------

    def _show(self, state: dict[str, Any]) -> None:
        """Stores the state with the metadata of the run, as the saver does."""
        from langgraph.checkpoint.base import get_checkpoint_metadata

        self._outcomes.next(state)
        made_by = state["metadata"].get("run_id")
        if made_by not in (None, self._config["configurable"]["run_id"]):
            return  # that run has stored it, and more of it
        config = cast("RunnableConfig", self._config)
        state["metadata"] = get_checkpoint_metadata(config, state["metadata"])
        at = state["checkpoint"]
        self._projections.put_nowait((at["checkpoint_ns"], at["checkpoint_id"], state))

    async def _project(self) -> None:
        while (item := await self._projections.get()) is not None:
            ns, id, state = item
            await self._saver.aput_state(self._config, ns, id, state)

    async def _last_look(self) -> None:
        if not self._projects:
            return
        # What a subgraph asks is known only now: its state was stored before it asked.
        await self._store(await self._graph.aget_state(
            {"configurable": {"thread_id": self._config["configurable"]["thread_id"]}},
            subgraphs=self._interrupted))

    async def _store(self, found: Any) -> None:
        for below in snapshot.states_below(found):
            await self._store(below)
        state = snapshot.of_snapshot(snapshot.alone(found))
        if any(task["result"] is not None for task in state["tasks"]):
            # Some have ended, and wait for the others: the thread's state has what they wrote, the history does not.
            recorded = await self._graph.aget_state(found.config)
            state["recorded"] = {"values": recorded.values, "next": list(recorded.next)}
        if at := state["checkpoint"]:
            self._outcomes.add_to(state)
            await self._saver.aput_state(self._config, at["checkpoint_ns"], at["checkpoint_id"], state)

    async def _try_last_look(self) -> None:
        try:
            await asyncio.wait_for(self._last_look(), LAST_LOOK)
        except Exception as e:
            log.info("job %s: its state was not stored: %s", self._job.id, e)


def said_once(event: Any) -> Any:
    """The event without the input that the start of its run has said."""
    if event["event"].endswith("_start") or "input" not in event["data"]:
        return event
    return {**event, "data": {k: v for k, v in event["data"].items() if k != "input"}}


def part(namespace: Sequence[str], mode: str, payload: Any) -> dict[str, Any]:
    return {"namespace": list(namespace), "mode": mode, "payload": payload}


def without_question(values: Any) -> Any:
    if isinstance(values, Mapping) and "__interrupt__" in values:
        return {k: v for k, v in values.items() if k != "__interrupt__"}
    return values
