"""Post-processing of search results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from abi.search.find import closest_of

if TYPE_CHECKING:
    from abi.compat.agentc.catalog import SearchResult

__all__ = ["ClosestCluster"]


class ClosestCluster:
    """Keeps the results before the largest gap in their scores; all of them where they lie close together.

    Never empty where there was a result. `no_more_than_k` is the most that are kept, None for any number.
    """

    def __init__(self, no_more_than_k: int | None = None) -> None:
        self.no_more_than_k = no_more_than_k

    def __call__(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        ordered = sorted(results, key=lambda result: -result.delta)
        if not ordered:
            return []
        # Below 0 there is nothing in common any more, and no gap means anything.
        least = closest_of(max(result.delta, 0.0) for result in ordered)
        return [result for result in ordered if result.delta >= least][: self.no_more_than_k]
