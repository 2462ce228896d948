"""The vectors that abi ships are those that the model gives, of the texts that abi ships."""

from __future__ import annotations

import numpy as np

from abi.search.index import SearchIndex
from abi.search.minilm import MiniLM
from abi.search.shipped_vectors import shipped_passages, shipped_vectors


def test_most_of_the_shipped_texts_have_their_vector_and_it_is_right() -> None:
    passages = shipped_passages()
    made = shipped_vectors(MiniLM.name)
    known = [(key, text) for key, text in passages if key in made]
    assert len(known) > 0.9 * len(passages), "run python -m abi.search.shipped_vectors"
    sample = known[:: max(1, len(known) // 20)]
    held = np.stack([np.frombuffer(made[key], dtype=np.float32) for key, _ in sample])
    fresh = MiniLM().embed([text for _, text in sample])
    assert np.einsum("ij,ij->i", held, fresh).min() > 0.999


def test_another_embedder_gets_none() -> None:
    assert shipped_vectors("another") == {}


def test_they_are_taken_where_many_texts_are_to_be_embedded() -> None:
    class Refuses(MiniLM):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            assert not len(texts), texts
            return super().embed(texts)

    with SearchIndex() as index:
        made = shipped_vectors(MiniLM.name)
        texts = [(key, text) for key, text in shipped_passages() if key in made]
        index.connection.executemany("INSERT INTO passages VALUES (1, ?, ?)", texts)
        assert index.embed(Refuses()) == 0
        assert index.rows("SELECT count(*) FROM vectors")[0][0] == len(texts)
