"""The words of all labels, in memory: which words the graph knows, and which of them a misspelt word is near to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abi.search.index import SearchIndex

__all__ = ["Vocabulary", "corrected", "vocabulary_of"]

REMEMBERED = 10_000


class Vocabulary:
    """`known` maps normal words to the number of labels that have them. Safe in threads."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self._by_shape: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in known:
            self._by_shape[word[0], len(word)].append(word)
        self._near: dict[str, list[tuple[str, float]]] = {}

    def near(self, word: str) -> list[tuple[str, float]]:
        """Known words with the same first letter that are one letter off, two from eight letters on; best first.

        Each with a score: 0.9 times the share of letters that are right. Swapped neighbours count as one letter; of
        words that are equally near, the one that more labels have comes first.
        """
        found = self._near.get(word)
        if found is None:
            from rapidfuzz import process
            from rapidfuzz.distance import OSA

            allowed = 2 if len(word) >= 8 else 1
            lengths = range(len(word) - allowed, len(word) + allowed + 1)
            choices = [choice for n in lengths for choice in self._by_shape.get((word[0], n), ())]
            nearest = process.extract(word, choices, scorer=OSA.distance, score_cutoff=allowed, limit=None)
            nearest.sort(key=lambda n: (n[1], -self.known[n[0]], n[0]))
            found = [(choice, 0.9 * (1 - off / len(word))) for choice, off, _ in nearest[:3]]
            if len(self._near) >= REMEMBERED:
                self._near.clear()
            self._near[word] = found
        return found


def vocabulary_of(index: SearchIndex) -> Vocabulary:
    """The vocabulary of an index as it is now."""
    counted = "SELECT word, count(*) FROM words GROUP BY word"
    return index.cached("vocabulary", lambda: Vocabulary(dict(index.rows(counted))))


def corrected(index: SearchIndex, words: list[str]) -> list[str]:
    """The words, each that no label knows replaced by the nearest one that some label has."""
    vocabulary = vocabulary_of(index)
    out = []
    for word in words:
        near = vocabulary.near(word) if len(word) > 3 and word not in vocabulary.known else []
        out.append(near[0][0] if near else word)
    return out
