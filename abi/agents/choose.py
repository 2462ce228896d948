"""Which tool a message asks for: by the intents found, by similarity, and by what its parameters can take.

A tool is only taken if it speaks of every word of the message that tells what is asked for. So a question about
prices is not answered by a tool about flights, however near its sentence is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abi.agents.cards import ToolCard
from abi.agents.fill import Filling, fill
from abi.agents.reading import Reading
from abi.agents.words import content_stems, split_name, stem, tokens
from abi.agents.world import World

if TYPE_CHECKING:
    from abi.agents.intents import PhraseVectors

__all__ = ["Chooser", "Fit"]

_log = logging.getLogger("abi")
_COUNT = re.compile(r"\b(?:how many|number of)\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(
    r"\b(?!interest)(?:[a-z]{3,}[^aeiou\W]est|[a-z]{2,}iest|most|fewest|least|best|worst|top)\b", re.IGNORECASE
)
_HEAD = 5
"""Words at the beginning of a description that say what a tool gives; what follows says how."""
_LEAST_SIMILAR = 0.2
"""Below this cosine to all that a tool says of itself, a message of many words is about something else."""


@dataclass
class Fit:
    """How well one tool answers one message. `uncovered`: words of the message that the tool does not speak of."""

    card: ToolCard
    filling: Filling
    similarity: float
    uncovered: list[str]
    covered: int
    injected: float = 0.0
    mentions: int = 0

    @property
    def acceptable(self) -> bool:
        """Whether this tool may be called, or a question for it asked."""
        return not self.filling.unknown and self._fitting

    @property
    def strange(self) -> bool:
        """Whether only a name that the graph does not hold keeps this tool from being called."""
        return bool(self.filling.unknown) and self._fitting

    @property
    def _fitting(self) -> bool:
        if self.uncovered:
            return False
        if self.injected:
            return True
        strangers = len(self.filling.missing) > max(len(self.filling.unknown), 1)
        if strangers or (not self.covered and not self.filling.arguments and not self.filling.ambiguous):
            return False
        return self.similarity >= _LEAST_SIMILAR

    @property
    def score(self) -> float:
        """For ranking only: higher is better."""
        used = len({(f.start, f.end) for f in self.filling.used})
        score = self.similarity + 0.5 * self.injected
        score += 0.12 * min(used, 3) + 0.04 * self.filling.cued + 0.02 * min(self.covered, 4)
        score -= 0.15 * len(self.filling.missing) + 0.12 * max(self.mentions - used, 0)
        score -= 0.06 * self.filling.derived + 0.02 * len(self.filling.ambiguous)
        return score - 0.25 * len(self.uncovered)


def _narrower(text: str, card: ToolCard) -> list[str]:
    """`how many`, where a message counts all of something and a tool gives only the longest, or the most flown."""
    asked = _COUNT.search(text)
    head = " ".join(card.description.split()[:_HEAD])
    chosen = [w.casefold() for w in _SUPERLATIVE.findall(head)]
    return [asked.group().casefold()] if asked and chosen and not any(w in text.casefold() for w in chosen) else []


class Chooser:
    """Compares messages with tools. Keeps what it has worked out about tools; nothing about conversations."""

    def __init__(self, vectors: PhraseVectors, world: World) -> None:
        self._vectors = vectors
        self._world = world
        self._stems: dict[tuple[str, str, tuple[str, ...]], frozenset[str]] = {}

    def known(self, cards: Sequence[ToolCard]) -> frozenset[str]:
        """Stems of all words that the tools speak of."""
        return frozenset().union(*(self.stems(c) for c in cards)) if cards else frozenset()

    def rank(self, reading: Reading, cards: Sequence[ToolCard], injected: dict[str, float] | None = None) -> list[Fit]:
        """A fit for each tool, best first. `injected`: scores of mapped intents by tool name."""
        similarities = self._similarities(reading, cards)
        fits = [
            self.fit(reading, card, similarity, (injected or {}).get(card.name, 0.0))
            for card, similarity in zip(cards, similarities, strict=True)
        ]
        return sorted(fits, key=lambda f: (not f.acceptable, -f.score, f.card.name))

    def fit(self, reading: Reading, card: ToolCard, similarity: float = 0.0, injected: float = 0.0) -> Fit:
        filling = fill(card, reading, self._world)
        stems = self.stems(card)
        open_spans = [(f.start, f.end) for f in [*filling.used, *(f for _, f in filling.unknown)]]
        content = [(w, s, e) for w, s, e in reading.content() if not any(a <= s and e <= b for a, b in open_spans)]
        numbers = {f.start for f in reading.of("number") if f not in filling.used}
        left = [
            w
            for w, s, e in content
            if not self.covers(stems, w) or (s in numbers and not self._counts(card, w, reading.after(e, 1)))
        ]
        uncovered = list(dict.fromkeys([*left, *_narrower(reading.text, card)]))
        things = [f for f in reading.found if f.kind in ("entity", "quoted", "unknown")]
        return Fit(card, filling, similarity, uncovered, len(content) - len(left), injected, len(things))

    def stems(self, card: ToolCard) -> frozenset[str]:
        key = (card.name, card.description, card.phrases)
        if key not in self._stems:
            classes = [self._world.class_name(p.value_class) for p in card.parameters if p.value_class]
            locals_ = [" ".join(split_name(p.value_class)) for p in card.parameters if p.value_class]
            own = [" ".join(split_name(card.name)), card.description, *card.phrases, *classes, *locals_]
            own += [f"{' '.join(split_name(p.name))} {p.description}" for p in card.parameters]
            own += [" ".join(split_name(c)) for c in card.columns]
            self._stems[key] = content_stems(own)
        return self._stems[key]

    def _counts(self, card: ToolCard, number: str, what: list[str]) -> bool:
        """Whether a tool speaks of just that number of things: `two cities`, when asked for two stops, is no answer."""
        if not what:
            return False
        said = " ".join(stem(w) for text in (card.description, *card.phrases) for w, _, _ in tokens(text))
        return f" {stem(number)} {stem(what[0])} " in f" {said} "

    def covers(self, stems: Collection[str], word: str) -> bool:
        """Whether a tool with these stems speaks of a word; of a compound, of all its parts."""
        return all(stem(part) in stems for part in word.replace("-", " ").split()) or stem(word) in stems

    def _similarities(self, reading: Reading, cards: Sequence[ToolCard]) -> list[float]:
        """The highest cosine of the message, or of its general form, with what each tool says of itself."""
        if not cards:
            return []
        texts = [[f"{c.label()}: {c.description}", c.description or c.label(), *c.phrases] for c in cards]
        try:
            questions = self._vectors.matrix(list(dict.fromkeys([reading.text, reading.general])))
            every = self._vectors.matrix([t for own in texts for t in own])
        except Exception as error:  # the embedder may be out of reach; words still tell something
            _log.warning("Tools are compared by words only: the embedder failed (%s).", error)
            return [self._by_words(reading, c) for c in cards]
        best = (every @ questions.T).max(axis=1)
        found, at = [], 0
        for own in texts:
            found.append(round(float(best[at : at + len(own)].max()), 4))
            at += len(own)
        return found

    def _by_words(self, reading: Reading, card: ToolCard) -> float:
        words = {stem(w) for w, _, _ in reading.content()}
        return len(words & self.stems(card)) / len(words) if words else 0.0
