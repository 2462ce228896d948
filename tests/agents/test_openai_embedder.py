from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from abi import models
from abi.errors import Denied, NetworkError, NotFound, Unreadable
from abi.models import ModelEntry
from abi.search.embedder import get_embedder
from abi.search.openai_embedder import OpenAIEmbedder
from abi.settings import Settings

from .openai_server import OpenAIServer, fails, raw


@pytest.fixture(autouse=True)
def _requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


MADE: list[OpenAIEmbedder] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while MADE:
        MADE.pop().close()


def embedder(server: OpenAIServer, **more: object) -> OpenAIEmbedder:
    entry = ModelEntry(model="openai:small", base_url=server.url, **more)  # type: ignore[arg-type]
    settings = Settings(base_iri="https://example.org/", models={"small": entry}, model_retries=1)
    made = get_embedder("small", settings, {"KEY": "sesame"}.__getitem__)
    assert isinstance(made, OpenAIEmbedder)
    MADE.append(made)
    return made


def test_vectors_in_order_and_of_length_one(server: OpenAIServer) -> None:
    made = embedder(server, key="KEY")
    texts = ["a" * n for n in range(1, 131)]
    vectors = made.embed(texts)
    assert vectors.shape == (130, 3)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(1, 131), rtol=1e-4)
    assert [len(r["input"]) for r in server.requests] == [64, 64, 2]
    assert set(server.keys) == {"Bearer sesame"}
    assert (made.name, made.dimensions) == ("openai:small", 3)


def test_no_texts_and_empty_texts(server: OpenAIServer) -> None:
    made = embedder(server, dimensions=3)
    assert made.embed([]).shape == (0, 3)
    assert server.requests == []
    assert made.embed([""]).shape == (1, 3)
    assert server.requests[0]["input"] == [" "]


def test_its_scale_is_the_cosine(server: OpenAIServer) -> None:
    assert embedder(server).similarity(np.array([-0.2, 0.5])).tolist() == [0.0, 0.5]


def test_a_service_that_fails_once_is_tried_again(server: OpenAIServer) -> None:
    server.embedding_failures = [fails(503)]
    assert embedder(server).embed(["x"]).shape == (1, 3)


@pytest.mark.parametrize("status", [401, 500])
def test_a_service_that_fails(server: OpenAIServer, status: int) -> None:
    server.embedding_failures = [fails(status, "no such thing")] * 2
    with pytest.raises(NetworkError, match=f"answered {status}: .*no such thing"):
        embedder(server).embed(["x"])
    assert len(server.requests) == (1 if status == 401 else 2)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"data": []}', b'{"data": [{"index": 0, "embedding": ["x"]}]}'])
def test_an_answer_that_is_none(server: OpenAIServer, body: bytes) -> None:
    server.embedding_failures = [raw(body)]
    with pytest.raises(Unreadable):
        embedder(server).embed(["x"])


def test_nobody_there() -> None:
    settings = Settings(base_iri="https://example.org/", model_retries=0)
    made = get_embedder("openai:m@http://127.0.0.1:9/v1", settings)
    with pytest.raises(NetworkError):
        made.embed(["x"])


def test_providers_by_name_and_requests_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(base_iri="https://example.org/")
    assert get_embedder("ollama:nomic-embed-text", settings).dimensions == 768
    with pytest.raises(NotFound):
        get_embedder("openai:text-embedding-3-small", settings).embed(["x"])
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)
    with pytest.raises(Denied):
        get_embedder("ollama:nomic-embed-text", settings).embed(["x"])
