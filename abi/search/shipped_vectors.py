"""Vectors of the texts that every workspace has: abi's ontology and the tools that it ships.

They would be embedded in each new workspace just the same. `python -m abi.search.shipped_vectors` makes the file anew,
which is due when those texts have changed; a text that is not in it is embedded as any other.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

__all__ = ["FILE", "shipped_vectors"]

FILE = Path(__file__).parent / "data" / "minilm-vectors.npz"


@cache
def shipped_vectors(embedder: str) -> dict[bytes, bytes]:
    """Text hash to float32 vector, as `abi.search.index` keys and keeps them; empty for any other embedder."""
    from abi.search.minilm import MiniLM

    if embedder != MiniLM.name or not FILE.is_file():
        return {}
    import numpy as np

    with np.load(FILE, allow_pickle=False) as file:
        return {key.tobytes(): vector.tobytes() for key, vector in zip(file["keys"], file["vectors"], strict=True)}


def shipped_passages() -> list[tuple[bytes, str]]:
    """The texts of an empty workspace, with their hashes, sorted."""
    from abi.files import shipped
    from abi.graph.indexing import Indexer
    from abi.graph.oxigraph import OxigraphStore
    from abi.search.index import SearchIndex
    from abi.settings import Settings

    settings = Settings(base_iri="https://example.org/empty/")
    with tempfile.TemporaryDirectory() as folder, OxigraphStore.memory(prefixes=settings.all_prefixes()) as store:
        Indexer(Path(folder), settings, store, [shipped("shapes")]).index()
        with SearchIndex() as index:
            index.rebuild(store.query, settings, store.version())
            return sorted(
                (bytes(key), str(text)) for key, text in index.rows("SELECT DISTINCT hash, text FROM passages")
            )


def write() -> int:
    """Make the file; gives how many vectors it holds."""
    import numpy as np

    from abi.search.minilm import MiniLM

    passages = shipped_passages()
    vectors = MiniLM().embed([text for _, text in passages])
    keys = np.array([np.frombuffer(key, dtype=np.uint8) for key, _ in passages])
    np.savez_compressed(FILE, keys=keys, vectors=vectors)
    return len(passages)


if __name__ == "__main__":
    import sys

    sys.stdout.write(f"{write()} vectors in {FILE}\n")
