"""The bound on questions about a graph that no tool was written for."""

from __future__ import annotations

from pathlib import Path

import pytest
from acme import DATA, measure


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the data set is not at {DATA}")
def test_questions_about_an_unknown_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path))
    figures = measure()
    assert figures["right"] >= 0.9
    assert figures["wrong_among_answered"] <= 0.05
    assert figures["tools"] <= 100
