"""Which intents a message means: similarity to their phrases, one score a target, the thresholds of the agent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Embedder

__all__ = ["AgentIntent", "Candidate", "Decision", "IntentIndex", "PhraseVectors", "Thresholds", "decide"]

TRACED = 10
"""Candidates that a turn tells of: the best ones, matched or not."""


@dataclass(frozen=True, slots=True)
class AgentIntent:
    """One intent as an agent has it. `target` is a name, or the reply's text where `type` is raw."""

    name: str
    phrases: tuple[str, ...]
    type: Literal["agent", "tool", "raw"]
    target: str
    scope: Literal["all", "direct"] = "direct"
    iri: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The best phrase of one target, with its calibrated similarity to the message."""

    intent: str
    """The phrase that came nearest."""
    name: str
    target: str
    type: Literal["agent", "tool", "raw"]
    score: float
    iri: str = ""

    def document(self) -> dict[str, Any]:
        return {"intent": self.intent, "target": self.target, "type": self.type, "score": self.score}

    def state(self) -> dict[str, Any]:
        """As the conversation's state keeps it: plain values only."""
        return {**self.document(), "name": self.name, "iri": self.iri}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Candidate:
        return cls(**state)


@dataclass(frozen=True, slots=True)
class Thresholds:
    match: float = 0.85
    neighbor: float = 0.05
    direct: float = 0.90


@dataclass(frozen=True, slots=True)
class Decision:
    """`direct`: one clear winner. `single`: one match above the direct score. `several`: to be filtered. `none`."""

    step: Literal["direct", "single", "several", "none"]
    kept: tuple[Candidate, ...] = ()


def decide(candidates: Sequence[Candidate], thresholds: Thresholds) -> Decision:
    """Apply an agent's thresholds to candidates of distinct targets.

    A score above `match` matches. The best is direct at `direct` or above, if it is ahead of the rest: a tie never
    is. Else those closer than `neighbor` to the best stay; one that stays alone above `direct` is single.
    """
    matched = sorted((c for c in candidates if c.score > thresholds.match), key=lambda c: (-c.score, c.target))
    if not matched:
        return Decision("none")
    best = matched[0]
    second = matched[1].score if len(matched) > 1 else 0.0
    if best.score >= thresholds.direct and best.score > second:
        return Decision("direct", (best,))
    kept = tuple(c for c in matched if round(best.score - c.score, 6) < thresholds.neighbor) or (best,)
    if len(kept) == 1 and best.score > thresholds.direct:
        return Decision("single", kept)
    return Decision("several", kept)


class PhraseVectors:
    """Vectors of phrases, each embedded once as long as the process lives; the newest `limit` are kept."""

    def __init__(self, embedder: Callable[[], Embedder], limit: int = 50_000) -> None:
        self._embedder = embedder
        self._limit = limit
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    @property
    def embedder(self) -> Embedder:
        """Made at its first use. Raises what making it raises."""
        return self._embedder()

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of the texts, shape (len(texts), dimensions). Raises what the embedder raises."""
        import numpy as np

        with self._lock:
            known = self._vectors
            new = [t for t in dict.fromkeys(texts) if t not in known]
            if new:
                for text, vector in zip(new, self.embedder.embed(new), strict=True):
                    known[text] = vector
            if not texts:
                return np.zeros((0, self.embedder.dimensions), dtype=np.float32)
            found = np.stack([known[t] for t in texts])
            while len(known) > self._limit:
                known.pop(next(iter(known)))
            return found


class IntentIndex:
    """An agent's intents, ready to be compared with messages. Made once for a version of the graph."""

    def __init__(self, intents: Sequence[AgentIntent], vectors: PhraseVectors) -> None:
        self._entries = [(phrase, intent) for intent in intents for phrase in intent.phrases]
        self._vectors = vectors
        self._matrix: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def map(self, message: str, general: str = "") -> list[Candidate]:
        """The best phrase of each target, best target first. Raises what the embedder raises.

        `general` is the message with classes in place of entities; a phrase is as near as it is to the nearer of both.
        """
        if not self._entries:
            return []
        if self._matrix is None:
            self._matrix = self._vectors.matrix([phrase for phrase, _ in self._entries])
        embedder = self._vectors.embedder
        asked = self._vectors.matrix(list(dict.fromkeys([message, general or message])))
        scores = embedder.similarity((self._matrix @ asked.T).max(axis=1))
        best: dict[tuple[str, str], Candidate] = {}
        for index in scores.argsort(kind="stable")[::-1]:
            phrase, intent = self._entries[index]
            key = (intent.type, intent.target)
            if key not in best:
                score = round(float(scores[index]), 4)
                best[key] = Candidate(phrase, intent.name, intent.target, intent.type, score, intent.iri)
        return list(best.values())
