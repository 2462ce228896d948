"""What a cosine means: monotone curves from an embedder's cosine to a similarity from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DIRECT", "MATCH", "MINILM", "MINILM_TARGETS", "RAW", "Curve", "fit_curve", "target_curve"]

MATCH, DIRECT = (0.85, 0.95, 0.07), (0.90, 0.98, 0.02)
"""A similarity; the share of the matches at or above it that are right, at least, among messages that mean a target;
and the share of the foreign messages, which mean none, that is let pass there, at most."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A monotone, piecewise linear map through `knots`: pairs (cosine, similarity), ascending in both."""

    knots: tuple[tuple[float, float], ...]
    _columns: list[tuple[NDArray[np.float64], ...]] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in zip(self.knots, self.knots[1:], strict=False))
        if len(self.knots) < 2 or not rising or self.knots[0][1] < 0 or self.knots[-1][1] > 1:
            raise ValueError(f"knots must ascend and stay within 0 and 1: {self.knots}")

    def __call__(self, cosine: NDArray[np.floating]) -> NDArray[np.float64]:
        """Element by element, any shape; cosines outside the knots take the outermost value."""
        import numpy as np

        if not self._columns:  # as arrays, once: each message of each agent comes by here
            self._columns.append(tuple(np.asarray(self.knots, dtype=np.float64).T.copy()))
        xs, ys = self._columns[0]
        return np.asarray(np.interp(cosine, xs, ys), dtype=np.float64)


RAW = Curve(((0.0, 0.0), (1.0, 1.0)))
"""The plain cosine; what points away counts as 0."""

MINILM = Curve(
    (
        (0.0, 0.0),
        (0.15, 0.02),
        (0.25, 0.09),
        (0.35, 0.30),
        (0.45, 0.59),
        (0.58, 0.85),
        (0.70, 0.90),
        (1.0, 1.0),
    )
)
"""all-MiniLM-L6-v2, fitted by `tests/benchmarks/fit_calibration.py` on CLINC150's `train` and `val`.

Up to 0.59 the similarity is the share of right matches at that cosine; 0.85 and 0.90 stand where 95 and 98 of 100
matches at or above are right, among messages of which half are out of scope, for agents of 5 to 40 intents with 1 to
10 phrases each. On messages that the fit did not see (`test`, `oos_test`) it is 94.8 and 98.0 of 100.
"""

MINILM_TARGETS = Curve(
    (
        (0.0, 0.0),
        (0.10, 0.06),
        (0.18, 0.18),
        (0.26, 0.42),
        (0.34, 0.66),
        (0.42, 0.85),
        (0.54, 0.90),
        (1.0, 1.0),
    )
)
"""The same model's curve for the likeness of a message and a target of an agent (`abi.agents.likeness`), fitted by
`tests/benchmarks/fit_calibration.py` on `train` and `val`: of five messages one is foreign."""


def target_curve(embedder: str) -> Curve | None:
    """The curve for targets that comes with abi for an embedder of that name; None where it has none."""
    known = embedder == "minilm-l6-v2-int8" or embedder.rstrip("/").lower().endswith("all-minilm-l6-v2")
    return MINILM_TARGETS if known else None


def fit_curve(score: NDArray[np.floating], right: NDArray[np.bool_], foreign: NDArray[np.floating]) -> Curve:
    """The curve of a score, from held-out messages that it was not made of.

    `score` (n,) and whether its match was `right`, of messages that mean a target; `foreign` (m,): the scores of those
    that mean none. 0.85 and 0.90 stand where MATCH and DIRECT say; below, the similarity is the share of right matches
    about that score, a fifth of all messages being foreign.
    Raises ValueError for fewer than 20 messages, or where none is right.
    """
    import numpy as np

    if len(score) < 20 or not right.any():
        raise ValueError("A curve needs 20 messages, and one that is right.")
    order = np.argsort(-score, kind="stable")
    own = score[order].astype(np.float64)
    precision = np.cumsum(right[order]) / np.arange(1, len(own) + 1)
    every = np.concatenate([own, foreign.astype(np.float64)])
    hits = np.concatenate([right[order].astype(np.float64), np.zeros(len(foreign))])
    weight = np.concatenate([np.ones(len(own)), np.full(len(foreign), len(own) / 4 / max(1, len(foreign)))])
    low, high = float(every.min()), float(every.max())
    least = max(high - low, 1e-6) / 1000

    def reached(share: float, accepted: float) -> float:
        good = np.flatnonzero(precision >= share)
        at = float(own[good[-1]]) if len(good) else high
        return max(at, float(np.quantile(foreign, 1 - accepted))) if len(foreign) else at

    match = reached(*MATCH[1:])
    direct = max(reached(*DIRECT[1:]), match + least)
    knots: list[tuple[float, float]] = []
    for at in np.linspace(low, match, 7)[:-1].tolist():
        near = np.abs(every - at) <= (high - low) / 12
        if near.any() and (not knots or at > knots[-1][0] + least):
            share = float((weight * hits)[near].sum() / weight[near].sum())
            knots.append((at, max(min(share, MATCH[0] - 0.01), knots[-1][1] if knots else 0.0)))
    knots = [k for k in knots if k[0] < match - least] or [(match - 1.0, 0.0)]
    knots[0] = (knots[0][0], 0.0)
    knots += [(match, MATCH[0]), (direct, DIRECT[0]), (max(direct + least, high + (high - low) / 10), 1.0)]
    return Curve(tuple((round(x, 6), round(y, 4)) for x, y in knots))
