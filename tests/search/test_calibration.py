from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.search.calibration import MINILM, RAW, Curve

cosines = st.lists(st.floats(-1.5, 1.5, allow_nan=False), min_size=1, max_size=20)


@pytest.mark.parametrize("curve", [MINILM, RAW])
@given(values=cosines)
def test_monotone_and_within_0_and_1(curve: Curve, values: list[float]) -> None:
    out = curve(np.sort(np.array(values)))
    assert np.all(np.diff(out) >= 0)
    assert np.all((out >= 0) & (out <= 1))


@pytest.mark.parametrize("curve", [MINILM, RAW])
def test_ends(curve: Curve) -> None:
    assert list(curve(np.array([-1.0, 0.0, 1.0]))) == [0.0, 0.0, 1.0]


def test_shape_is_kept() -> None:
    assert MINILM(np.zeros((2, 3), dtype=np.float32)).shape == (2, 3)


@pytest.mark.parametrize(
    "knots", [((0.0, 0.0),), ((0.5, 0.0), (0.4, 1.0)), ((0.0, 0.5), (1.0, 0.4)), ((0.0, -0.1), (1.0, 1.0))]
)
def test_knots_that_make_no_curve(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="knots"):
        Curve(knots)
