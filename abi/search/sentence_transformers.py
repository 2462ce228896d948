"""Any sentence-transformers model as the embedder: `embedder: sentence-transformers:NAME`.

An extra (`pip install 'abi-graph[sentence-transformers]'`), because it brings torch: 1.3 GB, and 4 s of import.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from abi.errors import NotFound, Unsupported
from abi.search.calibration import MINILM, RAW

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Scores, Vectors

__all__ = ["SentenceTransformersEmbedder"]


class SentenceTransformersEmbedder:
    """`model` is a name on the Hugging Face hub (as it stands in the local cache, or fetched) or a folder.

    Its scale is the plain cosine, but for all-MiniLM-L6-v2, whose curve is known. Raises Unsupported at once where
    the extra is missing, NotFound on first use where there is no such model.
    """

    def __init__(self, model: str, *, raw: bool = False) -> None:
        if find_spec("sentence_transformers") is None:
            raise Unsupported(
                f"The embedder 'sentence-transformers:{model}' needs the package sentence-transformers.",
                hint="pip install 'abi-graph[sentence-transformers]', or set `embedder: minilm` in abi.yaml.",
            )
        self.name = f"sentence-transformers:{model}"
        self._model_name = model
        known = model.rstrip("/\\").replace("\\", "/").lower().endswith("all-minilm-l6-v2")
        self._curve = MINILM if known and not raw else RAW
        self._loading = Lock()

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # stderr belongs to the program
        try:
            return SentenceTransformer(self._model_name, device="cpu")
        except (OSError, ValueError) as error:
            raise NotFound(
                f"sentence-transformers has no model '{self._model_name}': {error}",
                hint="Name a model of the Hugging Face hub, or a folder that holds one.",
            ) from error

    def _loaded(self) -> Any:
        with self._loading:
            return self._model

    @property
    def dimensions(self) -> int:
        model = self._loaded()
        # Renamed in sentence-transformers 5.
        known = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(known())

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not len(texts):
            return np.zeros((0, self.dimensions), dtype=np.float32)
        vectors: Vectors = self._loaded().encode(
            list(texts), batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return vectors.astype(np.float32, copy=False)

    def similarity(self, cosine: NDArray[np.floating]) -> Scores:
        return self._curve(cosine)
