"""A learned score: logistic regression that corrects the nearest centroid, on embeddings and hashed words.

The score of a target is ten times the cosine of message and centroid, plus what the regression adds for it; so that
with few examples it stays close to the centroids, and with many it leaves them. Plain numpy; 15,000 examples of 150
targets are fitted in some ten seconds of one core.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Vectors

__all__ = ["ENOUGH", "Head"]

ENOUGH = 8
"""Examples that half of the targets must have for a head to be fitted: with fewer it is no better than centroids."""
WORDS = 2048
"""Columns into which words and pairs of words are hashed."""
CENTROID = 10.0
"""How much of the score is the centroid's: chosen, as the two below, on CLINC150's `val` and `oos_val`."""
SIZE = 6.0
DECAY = 5e-5
LEAD = 1.0
"""How much the distance to the next target can add to a score."""
STEPS = 40

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Head:
    """`weights` (d + WORDS + 1, targets), the last row the intercepts; `centroids` (targets, d); `rarity` (WORDS,)."""

    weights: NDArray[np.float32]
    centroids: Vectors
    rarity: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        vectors: Vectors,
        texts: Sequence[str],
        owner: NDArray[np.intp],
        progress: Progress | None = None,
    ) -> Head:
        """Fit to examples: unit vectors (n, d), their texts, and the target of each, from 0 without gaps."""
        import numpy as np

        count = int(owner.max()) + 1
        words = _words(texts)
        rarity = np.log(len(texts) / ((words != 0).sum(axis=0) + 1.0) + 1.0).astype(np.float32)
        features = _features(vectors, words, rarity)
        rows = np.arange(len(owner))
        sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
        np.add.at(sums, owner, vectors)
        # An example counts for nothing in the centroid that it is compared with: else each would be its own proof.
        near = vectors @ _unit(sums).T
        near[rows, owner] = (_unit(sums[owner] - vectors) * vectors).sum(axis=1)
        near *= CENTROID

        def loss(flat: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
            weights = flat.reshape(-1, count)
            scores = features @ weights[:-1]
            scores += weights[-1] + near
            own = scores[rows, owner].copy()
            top = scores.max(axis=1, keepdims=True)
            scores -= top
            np.exp(scores, out=scores)
            total = scores.sum(axis=1, keepdims=True)
            value = float((top[:, 0] + np.log(total[:, 0]) - own).sum(dtype=np.float64)) / len(rows)
            scores /= total
            scores[rows, owner] -= 1
            decay = np.full((len(weights), 1), DECAY, dtype=np.float32)
            decay[-1] = 10 * DECAY
            gradient = np.vstack([features.T @ scores, scores.sum(axis=0)]) / len(rows) + decay * weights
            value += 0.5 * float((decay * weights**2).sum(dtype=np.float64))
            return value, gradient.ravel().astype(np.float32)

        flat = _minimum(loss, np.zeros((features.shape[1] + 1) * count, dtype=np.float32), progress)
        return cls(flat.reshape(-1, count), _unit(sums), rarity)

    def scores(self, vectors: Vectors, texts: Sequence[str]) -> NDArray[np.float32]:
        """The score of each target for each message, shape (m, targets)."""
        import numpy as np

        features = _features(vectors, _words(texts), self.rarity)
        scores = features @ self.weights[:-1] + self.weights[-1] + CENTROID * (vectors @ self.centroids.T)
        if scores.shape[1] > 1:  # a target that is ahead of all others is surer than one of two alike
            ordered = np.partition(scores, -2, axis=1)
            best, second = ordered[:, -1:], ordered[:, -2:-1]
            scores += np.clip(scores - np.where(scores >= best, second, best), -LEAD, LEAD)
        return np.asarray(scores, dtype=np.float32)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _words(texts: Sequence[str]) -> NDArray[np.float32]:
    """Words and pairs of neighbouring words, hashed with a sign, shape (n, WORDS)."""
    import numpy as np

    found = np.zeros((len(texts), WORDS), dtype=np.float32)
    for row, text in enumerate(texts):
        words = re.findall(r"\w+", text.casefold())
        pairs = [f"{a} {b}" for a, b in pairwise(["<", *words, ">"])]
        for feature in {*words, *pairs}:
            code = zlib.crc32(feature.encode("utf-8", "replace"))
            found[row, code % WORDS] += 1.0 if code >> 31 else -1.0
    return found


def _features(vectors: Vectors, words: NDArray[np.float32], rarity: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return np.hstack([vectors, _unit(words * rarity)]) * np.float32(SIZE)


def _minimum(
    function: Callable[[NDArray[np.float32]], tuple[float, NDArray[np.float32]]],
    start: NDArray[np.float32],
    progress: Progress | None,
    memory: int = 8,
) -> NDArray[np.float32]:
    """L-BFGS with backtracking: at most STEPS steps, done where one gains less than 3 parts in 10,000."""
    import numpy as np

    at = start
    value, gradient = function(at)
    moves: list[tuple[NDArray[np.float32], NDArray[np.float32], float]] = []
    for step in range(STEPS):
        if progress:
            progress("fit", step, STEPS)
        direction = -gradient
        used = []
        for move, change, product in reversed(moves):
            share = float(move @ direction) / product
            used.append(share)
            direction = direction - share * change
        if moves:
            _, change, product = moves[-1]
            direction = direction * (product / float(change @ change))
        for (move, change, product), share in zip(moves, reversed(used), strict=True):
            direction = direction + (share - float(change @ direction) / product) * move
        slope = float(gradient @ direction)
        length = 1.0 if moves else 2.0 / max(float(np.sqrt(gradient @ gradient)), 1e-9)
        while True:
            there = (at + length * direction).astype(np.float32)
            new_value, new_gradient = function(there)
            if new_value <= value + 1e-4 * length * slope or length < 1e-6:
                break
            length /= 2
        move, change = there - at, new_gradient - gradient
        product = float(move @ change)
        if product > 1e-10:
            moves = [*moves[1 - memory :], (move, change, product)]
        done = step > 6 and value - new_value < 3e-4 * max(1.0, abs(new_value))
        at, value, gradient = there, new_value, new_gradient
        if done:
            break
    return at
