"""Embedding models behind an OpenAI-compatible address: OpenAI, OpenRouter, Ollama, or a service of one's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from abi import models
from abi.errors import Denied, NetworkError, NotFound, Unreadable
from abi.models import ModelEntry, split_name
from abi.search.calibration import RAW

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Scores, Vectors
    from abi.settings import Settings

__all__ = ["ADDRESSES", "OpenAIEmbedder"]

ADDRESSES: dict[str, tuple[str, str | None]] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": ("http://127.0.0.1:11434/v1", None),
}
"""Provider to its address and the secret that holds its key."""

_BATCH = 64
_LONGEST_WAIT = 10.0


class OpenAIEmbedder:
    """Asks `POST {address}/embeddings`. Its scale is the plain cosine until it is fitted (`abi calibrate`).

    Calls that fail raise NetworkError, Unreadable for an answer that is none, NotFound for a key without a value.
    """

    def __init__(self, entry: ModelEntry, settings: Settings, secret: Callable[[str], str]) -> None:
        provider, self._model, address = split_name(entry.model)
        self.name = entry.model
        base, key = ADDRESSES[provider]
        own = entry.base_url or address
        self._url = (own or base).rstrip("/") + "/embeddings"
        self._key = entry.key or (None if own else key)
        self._secret = secret
        self._dimensions = entry.dimensions
        self._seconds = entry.seconds or settings.model_seconds
        self._tries = 1 + (settings.model_retries if entry.retries is None else entry.retries)
        self._curve = RAW
        self._client: Any = None
        self._lock = Lock()

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = len(self._asked(["dimensions"])[0])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not len(texts):
            return np.zeros((0, self.dimensions), dtype=np.float32)
        rows: list[list[float]] = []
        for at in range(0, len(texts), _BATCH):
            rows += self._asked([t or " " for t in texts[at : at + _BATCH]])  # services refuse an empty text
        vectors = np.asarray(rows, dtype=np.float32)
        self._dimensions = vectors.shape[1]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)

    def similarity(self, cosine: NDArray[np.floating]) -> Scores:
        return self._curve(cosine)

    def close(self) -> None:
        """Let go of the connections; they are made again when they are needed."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _asked(self, texts: list[str]) -> list[list[float]]:
        import httpx

        if not models.ALLOW_MODEL_REQUESTS:
            raise Denied(f"Requests to models are switched off here, and {self.name} would make one.")
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(timeout=self._seconds)
            client = self._client
        headers = {"Authorization": f"Bearer {self._secret(self._key)}"} if self._key else {}
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        failed = ""
        for attempt in range(self._tries):
            try:
                answer = client.post(self._url, json=body, headers=headers)
            except httpx.HTTPError as error:
                failed = str(error) or type(error).__name__
            else:
                if answer.status_code == 200:
                    return self._vectors(answer, len(texts))
                failed = f"it answered {answer.status_code}: {answer.text[:200]}"
                if answer.status_code not in (408, 409, 429) and answer.status_code < 500:
                    break
            if attempt + 1 < self._tries:
                time.sleep(min(_LONGEST_WAIT, 0.5 * 2**attempt))
        raise NetworkError(f"The embedding model {self.name} at {self._url} failed: {failed}")

    def _vectors(self, answer: Any, count: int) -> list[list[float]]:
        try:
            data = sorted(answer.json()["data"], key=lambda d: d["index"])
            rows = [[float(x) for x in d["embedding"]] for d in data]
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"The embedding model {self.name} gave no vectors: {error!r}") from None
        if len(rows) != count or len({len(r) for r in rows}) != 1 or not rows[0]:
            raise Unreadable(f"The embedding model {self.name} gave {len(rows)} vectors for {count} texts.")
        return rows


def no_secret(name: str) -> str:
    """Stands in where there is no workspace to look a secret up in."""
    raise NotFound(f"The secret {name} has no value.", hint="Open a workspace, whose settings say where it is.")
