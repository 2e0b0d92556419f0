import os

import graphs
import pytest
from support import run

from spoolwire import GraphSource, SpoolwireError
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
    (f"{HERE}/graphs.py:grap", "its graphs are: counting, graph, outer"),
    (f"{HERE}/graphs.py:ANSWER", "neither a graph"),
])
def test_an_error_says_what_to_write(where, why):
    with pytest.raises(SpoolwireError, match=why):
        opened(where)
