import os
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated

import graphs
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph_sdk.runtime import ServerRuntime
from support import run

from spoolwire import GraphSource, SpoolwireError
from spoolwire.factory import RUN, Use
from spoolwire.run import context_of
from spoolwire.source import load

HERE = os.path.dirname(os.path.abspath(__file__))


def opened(thing):
    async def main():
        async with GraphSource.of(thing).open({"configurable": {"thread_id": "t"}}) as graph:
            return graph
    return run(main())


@pytest.mark.parametrize("name", ["graph", "builder", "make", "managed"])
def test_a_graph_a_builder_and_functions_give_a_graph(name):
    assert "think" in opened(os.path.join(HERE, f"graphs.py:{name}")).nodes
    assert "think" in opened(f"graphs:{name}").nodes


def test_a_file_of_a_package_may_import_its_neighbours(tmp_path):
    package = tmp_path / "triage"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("from graphs import graph\n")
    (package / "agent.py").write_text("from .parts import graph\n")
    assert load(f"{package}/agent.py:graph").nodes.keys() == graphs.graph.nodes.keys()


@pytest.mark.parametrize("where, why", [
    ("graphs.py", "write it as"),
    ("nowhere.py:graph", "does not exist"),
    (f"{HERE}/graphs.py:grap", "its graphs are: .*counting, functional, graph, outer"),
    (f"{HERE}/graphs.py:ANSWER", "neither a graph"),
])
def test_an_error_says_what_to_write(where, why):
    with pytest.raises(SpoolwireError, match=why):
        opened(where)


def maker(code):
    """A function from the text of its parameters, as files have it."""
    names = {"ServerRuntime": ServerRuntime, "RunnableConfig": RunnableConfig, "Annotated": Annotated, "got": []}
    exec(f"def make({code}):\n    got.append(locals())\n    return graph", {**names, "graph": graphs.graph}, names)
    names["make"].__globals__["got"] = names["got"]
    return names["make"], names["got"]


@pytest.mark.parametrize("parameters, expected", [
    ("", {}),
    ("config", {"config": "config"}),
    ("config=None", {"config": "config"}),
    ("cfg: RunnableConfig", {"cfg": "config"}),
    ("c, /", {"c": "config"}),
    ("*, config", {"config": "config"}),
    ("*args, **more", {"args": (), "more": {}}),
    ("runtime", {"runtime": "runtime"}),
    ("server: ServerRuntime", {"server": "runtime"}),
    ("server: ServerRuntime[dict]", {"server": "runtime"}),
    ("server: Annotated[ServerRuntime, 1]", {"server": "runtime"}),
    ("server: 'ServerRuntime'", {"server": "runtime"}),
    ("config, runtime", {"config": "config", "runtime": "runtime"}),
    ("a: RunnableConfig, b: ServerRuntime", {"a": "config", "b": "runtime"}),
    ("a: ServerRuntime, b: RunnableConfig", {"a": "runtime", "b": "config"}),
    ("runtime, config", {"runtime": "runtime", "config": "config"}),
    ("a, b", {"a": "config", "b": "runtime"}),
    ("a: ServerRuntime, /, b", {"a": "runtime", "b": "config"}),
])
def test_a_function_gets_what_it_takes(parameters, expected):
    make, got = maker(parameters)
    assert opened(make) is graphs.graph

    def kind(value):
        if hasattr(value, "access_context"):
            return "runtime"
        return "config" if isinstance(value, dict) and "configurable" in value else value
    assert {k: kind(v) for k, v in got[0].items()} == expected


@pytest.mark.parametrize("parameters", ["a, b, c", "config, runtime, model='x'"])
def test_a_function_that_takes_more_says_so(parameters):
    with pytest.raises(SpoolwireError, match="a config, a runtime, both or nothing"):
        opened(maker(parameters)[0])


@pytest.mark.parametrize("kind", ["async", "sync manager", "async manager", "manager from async"])
def test_functions_of_every_kind(kind):
    @contextmanager
    def manager(config, runtime):
        yield graphs.graph

    @asynccontextmanager
    async def async_manager(config, runtime):
        yield graphs.graph

    async def asynchronous(config, runtime):
        return graphs.builder

    async def manager_from_async(config, runtime):
        return async_manager(config, runtime)

    made = {"async": asynchronous, "sync manager": manager, "async manager": async_manager,
            "manager from async": manager_from_async}[kind]
    assert "think" in opened(GraphSource(made)).nodes


def test_the_runtime_says_what_the_graph_is_for():
    run_, read = Use(RUN, "store", {"a": 1}).runtime(), Use("threads.read", "store").runtime()
    assert (run_.execution_runtime.context, run_.store, run_.user) == ({"a": 1}, "store", None)
    assert (read.access_context, read.execution_runtime, read.store) == ("threads.read", None, "store")


CONFIG = {"config": {"configurable": {"colour": "grey", "thread_id": "t", "x-trace": "1"}}}


@pytest.mark.parametrize("schema, sent, expected", [
    (graphs.Defaults, {}, {}),
    (graphs.Defaults, {"context": {"size": 4, "other": 1}}, {"size": 4}),
    (graphs.Defaults, CONFIG, {"colour": "grey"}),
    (graphs.Defaults, {**CONFIG, "context": {"size": 5}}, {"size": 5}),
    (graphs.Model, {}, {}),
    (graphs.Context, {}, {}),
    (graphs.Required, {}, None),
    (graphs.Required, {"context": {"colour": "red"}}, {"colour": "red"}),
    (None, {}, {}),
    (None, CONFIG, {"colour": "grey"}),
    (None, {"context": {"any": 1}}, {"any": 1}),
])
def test_the_context_of_a_run(schema, sent, expected):
    assert context_of(graphs.with_schema(schema), sent) == expected
