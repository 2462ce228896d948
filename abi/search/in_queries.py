"""What `abi:search` and `abi:similarity` find in an index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from abi.graph.catalog import KIND_CLASSES
from abi.search.find import ENTITY_KINDS, find, similarities

if TYPE_CHECKING:
    from abi.graph.rows import Rows
    from abi.search.embedder import Embedder
    from abi.search.index import SearchIndex

__all__ = ["FOUND", "SIMILAR", "IndexSearches"]

FOUND = 1_000
"""Records, and as many entities, that `abi:search` finds at most: the best ones."""
SIMILAR = 2_000
"""So many of the nearest have a similarity; everything else has 0."""


class IndexSearches:
    """Searches over records, classes, properties and individuals; each text is searched once."""

    def __init__(self, index: SearchIndex, embedder: Embedder) -> None:
        self._index = index
        self._embedder = embedder
        self._similar: dict[str, dict[str, float]] = {}

    def found(self, text: str) -> Sequence[str]:
        """IRIs of what `find` finds, records first, the best first of both."""
        if not text.strip():
            return []
        hits = [
            hit.iri
            for kind in (None, "entities")
            for hit in find(self._index, _never, self._embedder, text, kind=kind, limit=FOUND)
        ]
        return list(dict.fromkeys(hits))

    def similar(self, text: str) -> Mapping[str, float]:
        """Similarity of the embedded things that are nearest."""
        if text not in self._similar:
            scores = similarities(self._index, self._embedder, text, (*KIND_CLASSES, *ENTITY_KINDS))
            best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:SIMILAR]
            nearest = {i: score for i, score in best if score >= 0.00005}
            rows = self._index.rows(
                "SELECT id, iri FROM documents WHERE id IN (SELECT value FROM json_each(?))", (json.dumps([*nearest]),)
            )
            iris = dict(rows)
            self._similar[text] = {iris[i]: score for i, score in nearest.items() if i in iris}
        return self._similar[text]


def _never(text: str) -> Rows:
    raise AssertionError("a search without a filter asks the graph nothing")
