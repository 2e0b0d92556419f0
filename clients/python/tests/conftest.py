"""Run by tests/clients/python/run, which puts the gateway's harness on the path."""

import inspect
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import away
import gateway
import pytest
from support import COMMAND

HERE = os.path.dirname(os.path.abspath(__file__))


def pool(graph, *flags, concurrency=8, **more):
    return {"command": [*COMMAND, os.path.join(HERE, f"graphs.py:{graph}"), *flags],
            "pool": {"size": 1, "concurrency": concurrency, **more}}


AGENTS = {
    "pool": {**pool("graph"), "attempts": 2},
    "modes": pool("outer", "--stream", "modes"),
    "outer": pool("outer"),
    "pull": {"pull": True},
    "graph": {"pull": True, "attempts": 3, "lease": "3s"},
    "made": {"pull": True},
    "pushing": {"pull": True},
    "below": {"pull": True},
    "steps": {"pull": True},
    "functional": {"pull": True},
    "quick": {"pull": True, "attempts": 3, "lease": "1s"},
    "silent": {"pull": True, "attempts": 3, "lease": "4s"},
}


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One for all tests that do not kill it."""
    os.environ["GRAPH_NOTES"] = str(tmp_path_factory.mktemp("notes") / "notes")
    with gateway.Server(agents=AGENTS, env={"PYTHONPATH": os.pathsep.join(sys.path),
                                            "GRAPH_NOTES": os.environ["GRAPH_NOTES"]}) as running:
        yield running


@pytest.fixture
def own_server():
    """One that may be killed."""
    with gateway.Server(agents={k: v for k, v in AGENTS.items() if v.get("pull")}) as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def absence(request):
    """It takes ten seconds, so it goes on beside the other tests; the one that asks for it waits."""
    if not any("absence" in inspect.signature(item.function).parameters for item in request.session.items):
        yield None
        return
    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(away.ten_seconds)
