"""Mentions: which things of the graph a message names, and where.

Labels, alternative labels and codes are looked up for every run of words of the message; then words that no label
knows are corrected by one or two letters, and words that stand in few labels lead to these. What is ambiguous stays
ambiguous: a mention carries all its candidates, with scores:

    1.0          the label, or a code written as codes are
    0.95         an alternative label
    0.75         a code in lower case after a word like `from`
    up to 0.9    a label with letters wrong
    up to 0.85   a part of a label, the more the larger the part
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from abi import terms
from abi.search.normal import STOP_WORDS, Word, words_of
from abi.search.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from abi.search.index import SearchIndex

__all__ = ["Candidate", "Linker", "Mention"]

MOST_WORDS = 8
"""Longer labels are met by their parts."""
MOST_CANDIDATES = 20
LEAST = 0.45
"""A reading that is worse is none."""
COMMON = 50
"""A word that stands in more labels than this names none of them on its own."""
_EXACT = {"label": 1.0, "alternative": 0.95, "code": 1.0}
_BEFORE_CODES = frozenset("from to in at near between and of via into for or by through".split())
_TYPE_OF_FAMILY = {"class": terms.OWL_CLASS, "property": terms.RDF_PROPERTY}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A thing that a mention may mean. `cls` is one of its `classes`, the first by IRI."""

    iri: str
    label: str
    cls: str
    score: float
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """`message[start:end]` is `text`; `candidates` are best first, several of one score where it is ambiguous."""

    start: int
    end: int
    text: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    word: Word
    text: str
    upper: bool
    """Written as codes are: capitals and digits only, in a message that is not all capitals."""
    capital: bool
    """Begins with a capital, in a message that is not all capitals."""
    first: bool

    @property
    def normal(self) -> str:
        return self.word.normal

    @property
    def proper(self) -> bool:
        """Has a capital that the beginning of the message does not explain."""
        return self.capital and not self.first


class Linker:
    """Links messages to what an index holds. Follows the index: there is nothing to refresh."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index

    def mentions(
        self, message: str, *, classes: Iterable[str] | None = None, families: Collection[str] = ("entity", "class")
    ) -> list[Mention]:
        """The mentions of a message, in order and without overlap; the run of words that is matched best wins.

        `classes` (IRIs) keeps individuals of those classes and of their subclasses only. `families` may also name
        `property`.
        """
        tokens = _tokens(message)
        if not tokens:
            return []
        spans: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        for span, found in (*self._exact(tokens), *self._partial(tokens)):
            for document, score in found.items():
                spans[span][document] = max(score, spans[span].get(document, 0.0))
        known = self._candidates({d for found in spans.values() for d in found}, classes, families)
        linked = []
        for (first, last), found in spans.items():
            candidates = [
                Candidate(c.iri, c.label, c.cls, score, c.classes)
                for document, score in found.items()
                if score >= LEAST and (c := known.get(document)) is not None
            ]
            candidates.sort(key=lambda c: (-c.score, c.label, c.iri))
            if candidates:
                linked.append((first, last, tuple(candidates[:MOST_CANDIDATES])))
        # The more words are explained, and the better, the likelier the reading.
        linked.sort(key=lambda s: (-(s[1] - s[0] + 1) * s[2][0].score, s[0]))
        taken: set[int] = set()
        mentions = []
        for first, last, chosen in linked:
            covered = set(range(first, last + 1))
            if covered & taken:
                continue
            taken |= covered
            start, end = tokens[first].word.start, tokens[last].word.end
            mentions.append(Mention(start, end, message[start:end], chosen))
        return sorted(mentions, key=lambda m: m.start)

    def _exact(self, tokens: list[_Token]) -> list[tuple[tuple[int, int], dict[int, float]]]:
        """Whole labels and codes, with letters wrong or not, by the span of tokens that they cover."""
        variants = [self._variants(token) for token in tokens]
        asked: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
        for first in range(len(tokens)):
            for last in range(first, min(first + MOST_WORDS, len(tokens))):
                if last == first and not _may_stand_alone(tokens[first]):
                    continue
                for choice in list(product(*variants[first : last + 1]))[:8]:
                    quality = min(q for _, q in choice)
                    asked[" ".join(w for w, _ in choice)].append((first, last, quality))
                ending = tokens[last].normal
                if len(ending) > 3 and ending.endswith("s"):
                    stem = " ".join([*(t.normal for t in tokens[first:last]), ending[:-1]])
                    asked[stem].append((first, last, 0.97))
        found: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        for document, form, label in self.index.rows(
            "SELECT document, form, normal FROM labels WHERE normal IN (SELECT value FROM json_each(?))",
            (json.dumps(list(asked)),),
        ):
            for first, last, quality in asked[label]:
                score = _EXACT[form] if quality == 1.0 else _EXACT[form] * quality
                if form == "code":
                    score = _code_score(tokens, first, last) if quality == 1.0 else 0.0
                elif first == last and tokens[first].normal in STOP_WORDS and not tokens[first].proper:
                    score = 0.0
                if score:
                    span = found[first, last]
                    span[document] = max(score, span.get(document, 0.0))
        return list(found.items())

    def _partial(self, tokens: list[_Token]) -> list[tuple[tuple[int, int], dict[int, float]]]:
        """Labels that hold a run of words, none of which is a stop word, and more besides."""
        vocabulary = vocabulary_of(self.index)
        words: list[str | None] = []
        qualities: list[float] = []
        for token in tokens:
            best = next(((w, q) for w, q in self._variants(token) if w in vocabulary.known), None)
            # Short words in lower case are words: the sea is not Sea-Tac.
            usable = best is not None and len(token.normal) > (2 if token.capital else 3)
            usable = usable and token.normal not in STOP_WORDS
            words.append(best[0] if usable and best else None)
            qualities.append(best[1] if best else 0.0)
        wanted = sorted({w for w in words if w is not None})
        if not wanted:
            return []
        holders: dict[str, set[int]] = defaultdict(set)
        for word in wanted:
            rows = self.index.rows("SELECT label FROM words WHERE word = ? LIMIT 2000", (word,))
            holders[word] = {row[0] for row in rows}
        spans: list[tuple[tuple[int, int], set[int], float]] = []
        for first in range(len(tokens)):
            common: set[int] | None = None
            for last in range(first, min(first + MOST_WORDS, len(tokens))):
                held = words[last]
                if held is None:
                    break
                common = holders[held] if common is None else common & holders[held]
                if not common:
                    break
                if len(common) <= COMMON:
                    quality = min(qualities[first : last + 1])
                    # A word in lower case is more often just a word.
                    proper = any(t.capital for t in tokens[first : last + 1])
                    spans.append(((first, last), common, quality if proper else quality * 0.8))
        ids = sorted({label for _, labels, _ in spans for label in labels})
        known = {
            row[0]: (row[1], row[2])
            for row in self.index.rows(
                "SELECT id, document, normal FROM labels WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(ids),),
            )
        }
        out = []
        for (first, last), labels, quality in spans:
            length = sum(len(w) for w in words[first : last + 1] if w)
            found: dict[int, float] = {}
            for label in labels:
                document, text = known[label]
                share = min(1.0, length / max(1, len(text.replace(" ", ""))))
                found[document] = max(found.get(document, 0.0), (0.5 + 0.35 * share) * quality)
            out.append(((first, last), found))
        return out

    def _variants(self, token: _Token) -> list[tuple[str, float]]:
        """The word itself, and for one that no label knows, the likeliest words that were meant."""
        known = vocabulary_of(self.index)
        if token.normal in known.known or token.normal in STOP_WORDS or token.upper:
            return [(token.normal, 1.0)]
        least = 4 if token.capital else 6
        if len(token.normal) < least or token.normal.isdigit():
            return [(token.normal, 1.0)]
        return [(token.normal, 1.0), *known.near(token.normal)[:2]]

    def _candidates(
        self, documents: set[int], classes: Iterable[str] | None, families: Collection[str]
    ) -> dict[int, Candidate]:
        rows = self.index.rows(
            "SELECT id, iri, label, family FROM documents WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(documents)),),
        )
        types: dict[int, list[str]] = defaultdict(list)
        for document, cls in self.index.rows(
            "SELECT document, class FROM classes WHERE document IN (SELECT value FROM json_each(?)) ORDER BY class",
            (json.dumps(sorted(documents)),),
        ):
            types[document].append(cls)
        allowed = None if classes is None else self._with_subclasses(classes)
        out = {}
        for document, iri, label, family in rows:
            of = (_TYPE_OF_FAMILY[family],) if family in _TYPE_OF_FAMILY else tuple(types[document])
            if family not in families or (allowed is not None and not allowed.intersection(of)):
                continue
            out[document] = Candidate(iri, label, of[0] if of else "", 0.0, of)
        return out

    def _with_subclasses(self, classes: Iterable[str]) -> set[str]:
        rows = self.index.rows(
            "WITH RECURSIVE below (class) AS (SELECT value FROM json_each(?) UNION "
            "SELECT d.iri FROM below JOIN classes c ON c.class = below.class "
            "JOIN documents d ON d.id = c.document AND d.family = 'class') SELECT class FROM below",
            (json.dumps(list(classes)),),
        )
        return {row[0] for row in rows}


def _tokens(message: str) -> list[_Token]:
    words = words_of(message)
    shouted = message.isupper() and len(words) > 2
    tokens = []
    for number, word in enumerate(words):
        text = message[word.start : word.end]
        upper = len(text) > 1 and text.upper() == text and any(c.isalpha() for c in text) and not shouted
        tokens.append(_Token(word, text, upper, text[:1].isupper() and not shouted, number == 0))
    return tokens


def _may_stand_alone(token: _Token) -> bool:
    return token.normal not in STOP_WORDS or token.upper or token.proper


def _code_score(tokens: list[_Token], first: int, last: int) -> float:
    """How surely these tokens are a code: 0 where they are more likely words or numbers."""
    if all(t.upper for t in tokens[first : last + 1]):
        return 1.0
    word = tokens[first].normal
    if first == last and word.isdigit():
        return 0.6
    if any(c.isdigit() for c in word):
        return 1.0
    if word in STOP_WORDS or len(word) < 2:
        return 0.0
    return 0.75 if first > 0 and tokens[first - 1].normal in _BEFORE_CODES else 0.0
