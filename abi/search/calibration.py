"""What a cosine means: monotone curves from an embedder's cosine to a similarity from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MINILM", "RAW", "Curve"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A monotone, piecewise linear map through `knots`: pairs (cosine, similarity), ascending in both."""

    knots: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in zip(self.knots, self.knots[1:], strict=False))
        if len(self.knots) < 2 or not rising or self.knots[0][1] < 0 or self.knots[-1][1] > 1:
            raise ValueError(f"knots must ascend and stay within 0 and 1: {self.knots}")

    def __call__(self, cosine: NDArray[np.floating]) -> NDArray[np.float64]:
        """Element by element, any shape; cosines outside the knots take the outermost value."""
        import numpy as np

        xs, ys = zip(*self.knots, strict=True)
        return np.asarray(np.interp(cosine, xs, ys), dtype=np.float64)


RAW = Curve(((0.0, 0.0), (1.0, 1.0)))
"""The plain cosine; what points away counts as 0."""

MINILM = RAW
