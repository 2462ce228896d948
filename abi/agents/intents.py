"""Which intents a message means: similarity to their phrases, one score a target, the thresholds of the agent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from abi.agents.scale import Calibration, TargetScale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.search.embedder import Embedder

__all__ = ["AgentIntent", "Candidate", "Decision", "IntentIndex", "PhraseVectors", "Thresholds", "decide"]

BEST = 12
"""Targets that a message is mapped to at most; the seed looks at ten phrases."""
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


class Candidate(NamedTuple):
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
            found = np.array([known[t] for t in texts])  # as np.stack, which takes nine times as long for one row
            while len(known) > self._limit:
                known.pop(next(iter(known)))
            return found


class IntentIndex:
    """An agent's intents, ready to be compared with messages. Made once for a version of the graph."""

    def __init__(
        self, intents: Sequence[AgentIntent], vectors: PhraseVectors, calibration: Calibration | None = None
    ) -> None:
        by_target: dict[tuple[str, str], list[tuple[str, AgentIntent]]] = {}
        for intent in intents:
            for phrase in intent.phrases:
                by_target.setdefault((intent.type, intent.target), []).append((phrase, intent))
        self._entries = [entry for key in sorted(by_target) for entry in by_target[key]]
        self._examples = [[phrase for phrase, _ in by_target[key]] for key in sorted(by_target)]
        self._exact: dict[str, list[int]] = {}
        for target, phrases in enumerate(self._examples):
            for phrase in phrases:
                self._exact.setdefault(_plain(phrase), []).append(target)
        self._vectors = vectors
        self._calibration = calibration or Calibration()
        self._scale: tuple[object, TargetScale] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def map(self, message: str, general: str = "") -> list[Candidate]:
        """The best phrase of each of the BEST targets, best target first. Raises what the embedder raises.

        `general` is the message with classes in place of entities; a target is as near as it is to the nearer of both.
        """
        import numpy as np

        if not self._entries:
            return []
        scale = self._ready()
        texts = list(dict.fromkeys([message, general or message]))
        asked = self._vectors.matrix(texts)
        near = [scale.likeness.phrases(vector, text) for vector, text in zip(asked, texts, strict=True)]
        if scale.head is not None:
            scores = scale.head.scores(asked, texts).max(axis=0)
        else:
            of_each = [scale.likeness.targets(n, v) for n, v in zip(near, asked, strict=True)]
            scores = of_each[0] if len(of_each) == 1 else np.maximum(*of_each)
        phrases = near[0] if len(near) == 1 else np.maximum(*near)
        top = np.argpartition(scores, -BEST)[-BEST:] if len(scores) > BEST else np.arange(len(scores))
        best = scores[top]
        values = scale.curve(best).round(4)
        ranked = list(zip((-values).tolist(), (-best).tolist(), top.tolist(), strict=True))
        if not scale.raw:  # what stands there word for word is meant, whatever a model makes of it
            exact = {t for text in texts for t in self._exact.get(_plain(text), ())}
            if exact:
                ranked = [r for r in ranked if r[2] not in exact] + [(-1.0, -float(scores[t]), t) for t in exact]
        ranked.sort()
        found = []
        for value, _, target in ranked:
            phrase, intent = self._entries[scale.likeness.best_phrase(phrases, target)]
            found.append(Candidate(phrase, intent.name, intent.target, intent.type, 0.0 - value, intent.iri))
        return found

    @property
    def method(self) -> str:
        """What gives the scores: `raw`, `cosine`, `shipped`, `fitted` or `head`."""
        return self._ready().method

    def _ready(self) -> TargetScale:
        state = self._calibration.state()
        scale = self._scale
        if scale is None or scale[0] != state:
            scale = self._scale = state, self._calibration.scale(self._examples, self._vectors)
        return scale[1]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .?!")
