"""How like a message is to each target of an agent: the nearest of its phrases, their centre, and the words they share.

Everything is on the scale of a cosine; what it means is the business of a curve (`abi.search.calibration`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Vectors

__all__ = ["Likeness", "stems"]

SHARED_WORDS = 0.1
"""How far shared words bring a phrase nearer: by this part of what it lacks, where all words are shared."""
COMMON = 0.3
"""How much less near a phrase is that is near the phrases of other targets as well."""
NEIGHBOURS, SAMPLE = 5, 512
_EMPTY = frozenset(
    "a an the to of in on for is are was be do does did can could would will you i me my we our it this that what how "
    "when where who which please and or with at from by if there have has had not need want tell show".split()
)


def stems(text: str) -> frozenset[str]:
    """The words of a text that say something, cut to five letters."""
    return frozenset(w[:5] for w in re.findall(r"\w+", text.casefold()) if w not in _EMPTY)


class Likeness:
    """The phrases of some targets, ready to be compared with messages.

    `vectors` (n, d) are unit vectors of the phrases `texts`; `owner` (n,) is the target of each, from 0, ascending and
    without gaps. `words`: whether shared words count; they do not on the plain cosine of the seed.
    `centre`: whether a target of several phrases is as near as the mean of its nearest phrase and its centroid.
    """

    def __init__(
        self,
        vectors: Vectors,
        texts: Sequence[str],
        owner: NDArray[np.intp],
        *,
        words: bool = True,
        centre: bool = True,
    ) -> None:
        import numpy as np

        self._vectors = np.ascontiguousarray(vectors)
        self._owner = owner
        self._starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]]) if len(owner) else np.zeros(0, np.intp)
        self._single = len(self._starts) == len(owner)
        counts = np.diff(np.r_[self._starts, len(owner)])
        self._several = np.flatnonzero(counts > 1) if centre else np.zeros(0, np.intp)
        self._centroids = _centroids(self._vectors, self._starts)[self._several] if len(self._several) else None
        self._words: dict[str, NDArray[np.intp]] = {}
        self._common: NDArray[np.float32] | None = None
        if words and len(self._starts) > 2:
            self._common = COMMON * _commonness(self._vectors, owner)
            self._kept = 1 + self._common
        if words:
            found: dict[str, list[int]] = {}
            sizes = np.ones(len(texts), dtype=np.float32)
            for row, text in enumerate(texts):
                own = stems(text)
                sizes[row] = max(1, len(own))
                for stem in own:
                    found.setdefault(stem, []).append(row)
            self._words = {stem: np.asarray(rows) for stem, rows in found.items()}
            self._sizes = sizes

    def phrases(self, vector: NDArray[np.float32], text: str = "") -> NDArray[np.float32]:
        """How near each phrase is to one message, shape (n,)."""
        import numpy as np

        near: NDArray[np.float32] = self._vectors @ vector
        if self._words:
            own = stems(text)
            rows = [self._words[s] for s in own if s in self._words]
            if rows:
                at = rows[0] if len(rows) == 1 else np.concatenate(rows)
                shared = np.bincount(at, minlength=len(near)).astype(np.float32)
                shared /= np.sqrt(self._sizes * len(own))
                near += SHARED_WORDS * shared * (1 - near)
        if self._common is not None:
            near *= self._kept  # the same as near - common * (1 - near)
            near -= self._common
        return near

    def targets(self, phrases: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """How near each target is, shape (targets,), from how near its phrases are."""
        import numpy as np

        nearest = phrases if self._single else np.maximum.reduceat(phrases, self._starts)
        if self._centroids is None:
            return nearest
        nearest = nearest.copy()
        nearest[self._several] = (nearest[self._several] + self._centroids @ vector) / 2
        return nearest

    def best_phrase(self, phrases: NDArray[np.float32], target: int) -> int:
        """The row of the phrase by which a target is nearest."""
        if self._single:
            return target
        start = int(self._starts[target])
        end = int(self._starts[target + 1]) if target + 1 < len(self._starts) else len(self._owner)
        return start + int(phrases[start:end].argmax())


def _commonness(vectors: Vectors, owner: NDArray[np.intp]) -> NDArray[np.float32]:
    """The mean cosine of each phrase to the nearest phrases of other targets, of a sample of them, shape (n,)."""
    import numpy as np

    chosen = np.unique(np.linspace(0, len(owner) - 1, min(SAMPLE, len(owner))).astype(np.intp))
    there = vectors @ vectors[chosen].T
    there[owner[:, None] == owner[chosen]] = -1.0
    there.partition(max(0, len(chosen) - NEIGHBOURS), axis=1)
    return np.asarray(there[:, -NEIGHBOURS:].clip(0).mean(axis=1), dtype=np.float32)


def _centroids(vectors: Vectors, starts: NDArray[np.intp]) -> Vectors:
    import numpy as np

    sums = np.add.reduceat(vectors, starts, axis=0)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9), dtype=np.float32)
