"""The seam to embedding models: text to vectors, and what a cosine of two of them means.

Implementations: `abi.search.minilm` (offline, no torch), `abi.search.sentence_transformers` (an extra),
`abi.search.openai_embedder` (a service with OpenAI's interface).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from abi.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.settings import Settings

    Vectors = NDArray[np.float32]
    """Shape (n, dimensions); each row has length 1."""
    Scores = NDArray[np.float64]

__all__ = ["Embedder", "get_embedder"]


class Embedder(Protocol):
    """Turns texts into unit vectors and knows how its own cosines are to be read."""

    @property
    def name(self) -> str:
        """Names the vectors in the index: two embedders of one name give the same vectors."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 row of length 1 for each text, in order; shape (0, dimensions) for no text.

        A text's vector does not depend on the texts that are embedded beside it.
        """
        ...

    def similarity(self, cosine: NDArray[np.floating]) -> Scores:
        """Cosines on the calibrated scale, 0 to 1, element by element; monotone.

        0.85 is where the single best target is right 95 times in 100, 0.90 where it is 98 times.
        """
        ...


def get_embedder(name: str, settings: Settings | None = None, secret: Callable[[str], str] | None = None) -> Embedder:
    """The embedder that a setting names: `minilm`, `sentence-transformers:NAME`, or an embedding model of the registry.

    `settings.calibration` decides the scale, `settings.embedding_models` lets one model stand in for another; `secret`
    gives the value of a secret by its name.
    Raises UsageError for a name that is none, Unsupported where an extra is missing.
    """
    raw = settings is not None and settings.calibration == "raw"
    stand_ins = settings.embedding_models if settings is not None else {}
    name = stand_ins.get(name, name)
    if name == "minilm":
        from abi.search.minilm import MiniLM

        return MiniLM(raw=raw)
    family, _, model = name.partition(":")
    if family == "sentence-transformers" and model:
        from abi.search.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(model, raw=raw)
    if settings is not None and (served := _served(name, settings, secret)) is not None:
        return served
    raise UsageError(
        f"There is no embedder '{name}'.",
        hint="Set `embedder:` in abi.yaml to `minilm`, `sentence-transformers:NAME`, `openai:NAME` or `ollama:NAME`.",
    )


def _served(name: str, settings: Settings, secret: Callable[[str], str] | None) -> Embedder | None:
    """The model behind an address that the name, or an entry of that name, stands for; None where it is no such."""
    from abi.models import entry_of, split_name
    from abi.search.openai_embedder import ADDRESSES, OpenAIEmbedder, no_secret

    try:
        entry = entry_of(name, settings.models)
    except ValueError:
        return None
    if split_name(entry.model)[0] not in ADDRESSES:
        return None
    return OpenAIEmbedder(entry, settings, secret or no_secret)
