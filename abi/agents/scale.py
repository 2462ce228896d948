"""What the scores of an agent's targets are compared with: the likeness or a learned head, and the curve of either.

A workspace's own curves and heads are files of `.abi/calibration`, written by `abi calibrate`. A head bears the hash of
the embedder and of the examples that it was fitted to: where an intent has changed since, it is not found, and the
scores are those of likeness again. All of it can be deleted and made anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from zipfile import BadZipFile

from abi.agents.head import Head
from abi.agents.likeness import Likeness
from abi.search.calibration import RAW, Curve, target_curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.agents.services import Services
    from abi.search.embedder import Embedder, Vectors

__all__ = ["Calibration", "TargetScale", "TextVectors", "example_key"]

_log = logging.getLogger("abi")

FORMS = ("please {}", "how do I {}?")
"""How a target's only phrase is said besides: people write `review a pull request` and ask for it otherwise."""
FEW = 300
"""Targets up to which their only phrases are said in these forms; of more, each costs too much to embed."""
_VERSION = 1


class TextVectors(Protocol):
    """Gives vectors of texts, and the embedder that makes them; `abi.agents.intents.PhraseVectors` is one."""

    @property
    def embedder(self) -> Embedder: ...

    def matrix(self, texts: Sequence[str]) -> Vectors: ...


@dataclass(frozen=True)
class TargetScale:
    """How the targets of one agent are scored: by `head` where there is one, else by `likeness`; `curve` reads it.

    `method`: raw (the seed's plain cosine), cosine (an embedder without a curve), shipped, fitted (by `abi calibrate`
    for this workspace) or head.
    """

    likeness: Likeness
    curve: Curve | Callable[[NDArray[np.floating]], NDArray[np.float64]]
    method: str
    head: Head | None = None

    @property
    def raw(self) -> bool:
        return self.method == "raw"

    def scores(self, vectors: Vectors, texts: Sequence[str]) -> NDArray[np.float32]:
        """The uncalibrated score of each target for each message, shape (m, targets)."""
        import numpy as np

        if self.head is not None:
            return self.head.scores(vectors, texts)
        found = [self.likeness.targets(self.likeness.phrases(v, t), v) for v, t in zip(vectors, texts, strict=True)]
        return np.stack(found)


class Calibration:
    """The scale of a workspace: its settings, and what `abi calibrate` has stored in `folder` (None: nothing)."""

    def __init__(self, folder: Path | None = None, *, raw: bool = False) -> None:
        self.folder = folder
        self.raw = raw

    @classmethod
    def of(cls, services: Services) -> Calibration:
        memory = services.memory_path
        raw = services.settings.calibration == "raw"
        return cls(None if memory is None else memory.parent / "calibration", raw=raw)

    def state(self) -> object:
        """Moves when anything is stored or deleted, by any process."""
        if self.folder is None:
            return None
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return None

    def scale(self, examples: Sequence[Sequence[str]], vectors: TextVectors) -> TargetScale:
        """The scale for targets of those example phrases."""
        embedder = vectors.embedder
        if self.raw:
            return TargetScale(likeness(examples, vectors, bare=True), RAW, "raw")
        stored = self._head(example_key(embedder.name, examples))
        if stored is not None:
            head, curve = stored
            return TargetScale(likeness(examples, vectors), curve, "head", head)
        fitted = self.curve(embedder.name)
        if fitted is not None:
            return TargetScale(likeness(examples, vectors), fitted, "fitted")
        shipped = target_curve(embedder.name)
        if shipped is not None:
            return TargetScale(likeness(examples, vectors), shipped, "shipped")
        return TargetScale(likeness(examples, vectors, words=False), embedder.similarity, "cosine")

    def curve(self, embedder: str) -> Curve | None:
        """The curve that was fitted for this workspace and the embedder of that name."""
        document = self.report()
        fitted = (document or {}).get("curves", {}).get(embedder)
        return Curve(tuple((float(x), float(y)) for x, y in fitted)) if fitted else None

    def report(self) -> dict[str, Any] | None:
        """What the last `abi calibrate` has stored: `curves` by embedder, and `agents` by name."""
        if self.folder is None:
            return None
        try:
            document = json.loads((self.folder / "calibration.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.warning("The calibration of this workspace cannot be read (%s); run `abi calibrate`.", error)
            return None
        return document if isinstance(document, dict) and document.get("version") == _VERSION else None

    def has_head(self, key: str) -> bool:
        return self.folder is not None and (self.folder / f"{key}.npz").is_file()

    def _head(self, key: str) -> tuple[Head, Curve] | None:
        if not self.has_head(key) or self.folder is None:
            return None
        import numpy as np

        try:
            path = self.folder / f"{key}.npz"
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                head = Head(kept["weights"], kept["centroids"], kept["rarity"])
                return head, Curve(tuple((float(x), float(y)) for x, y in kept["knots"]))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            _log.warning("A calibration of this workspace cannot be read (%s); run `abi calibrate`.", error)
            return None

    def store(self, curves: dict[str, Curve], heads: dict[str, tuple[Head, Curve]], agents: dict[str, Any]) -> None:
        """Keep what was fitted, and nothing of before. Each file is written whole or not at all, the report last."""
        import numpy as np

        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for key, (head, curve) in heads.items():
            part = self.folder / f".{key}.part"
            with part.open("wb") as file:
                np.savez(
                    file,
                    weights=head.weights,
                    centroids=head.centroids,
                    rarity=head.rarity,
                    knots=np.asarray(curve.knots),
                )
            part.replace(self.folder / f"{key}.npz")
        document = {
            "version": _VERSION,
            "curves": {name: curve.knots for name, curve in curves.items()},
            "agents": agents,
        }
        part = self.folder / ".calibration.part"
        part.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
        part.replace(self.folder / "calibration.json")
        for old in self.folder.glob("*.npz"):
            if old.stem not in heads:
                with suppress(OSError):
                    old.unlink()


def likeness(
    examples: Sequence[Sequence[str]], vectors: TextVectors, *, bare: bool = False, words: bool = True
) -> Likeness:
    """The likeness to targets of those phrases. `bare`: to the phrases alone, as the plain cosine has it."""
    import numpy as np

    texts = [phrase for phrases in examples for phrase in phrases]
    owner = np.repeat(np.arange(len(examples)), [len(p) for p in examples])
    matrix = vectors.matrix(texts)
    if not bare and words and len(examples) <= FEW:
        rows = [row for row, target in enumerate(owner.tolist()) if len(examples[target]) == 1]
        if rows:
            matrix = matrix.copy()
            for form in FORMS:
                matrix[rows] += vectors.matrix([form.format(texts[row]) for row in rows])
            matrix[rows] /= np.maximum(np.linalg.norm(matrix[rows], axis=1, keepdims=True), 1e-9)
    return Likeness(matrix, texts, owner, words=words and not bare, centre=not bare)


def example_key(embedder: str, examples: Sequence[Sequence[str]]) -> str:
    """Names a head: moves with the embedder, and with any example of any target."""
    text = json.dumps([_VERSION, embedder, [sorted(p) for p in examples]], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
