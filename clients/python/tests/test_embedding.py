"""Items that are found by meaning: the worker has the model."""

import asyncio
import json

import pytest
from spoolwire import embedding
from spoolwire.errors import SourceError

MODEL = """
def embed(texts):
    return [[float("cat" in t), float("car" in t), 1.0] for t in texts]
"""


@pytest.fixture
def index(monkeypatch, tmp_path):
    def made(**said):
        (tmp_path / "model.py").write_text(MODEL)
        monkeypatch.setenv("LANGGRAPH_STORE", json.dumps({"index": {"embed": f"{tmp_path}/model.py:embed", **said}}))
        monkeypatch.setattr(embedding, "_found", [])
        return embedding.index()
    return made


def test_the_fields_of_a_value_have_vectors(index):
    model = index(dims=3, fields=["text", "more[*].text"])
    value = {"text": "a cat", "more": [{"text": "a car"}, {"text": "-"}]}
    assert asyncio.run(model.of_value(value)) == [[1, 0, 1], [0, 1, 1], [0, 0, 1]]
    assert asyncio.run(model.of_value(value, ["text"])) == [[1, 0, 1]]
    assert asyncio.run(model.of_value(value, False)) == []
    assert asyncio.run(index().of_value(value)) == [[1, 1, 1]]  # all of it


def test_the_call_embed(index):
    index(fields=["text"])
    assert asyncio.run(embedding.answer({"query": "my cat"})) == {"vectors": [[1, 0, 1]]}
    assert asyncio.run(embedding.answer({"value": {"text": "car"}, "index": None})) == {"vectors": [[0, 1, 1]]}


def test_another_dimension_is_refused(index):
    with pytest.raises(SourceError, match="says 4 dims, and its model makes 3"):
        asyncio.run(index(dims=4).of_query("x"))
