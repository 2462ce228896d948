"""A message as the offline model reads it: entities that it names, numbers, dates, quoted texts, words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from abi.agents.mentions import general_form
from abi.agents.words import GENERIC, stem, tokens

if TYPE_CHECKING:
    from abi.agents.services import Linker
    from abi.search.linker import Candidate, Mention

__all__ = ["Found", "Reading", "read"]

_QUOTED = re.compile(r"\"([^\"]{1,200})\"|“([^”]{1,200})”|(?<!\w)'([^']{1,200})'(?!\w)|`([^`]{1,200})`")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w])")
_IRI = re.compile(r"<?((?:https?://|urn:)[^\s<>\"{}|\\^`]+[^\s<>\"{}|\\^`.,;:!?)])>?")
_ISO = re.compile(r"(?<![\w-])(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?(?![\w-])")
_MONTHS = "january february march april may june july august september october november december".split()
_WRITTEN = re.compile(
    r"\b(?:(?P<d1>\d{1,2})(?:st|nd|rd|th)? (?P<m1>[A-Za-z]{3,9})|(?P<m2>[A-Za-z]{3,9}) (?P<d2>\d{1,2})(?:st|nd|rd|th)?)"
    r",? (?P<y>\d{4})\b"
)
_SURE = 0.7
_BEFORE_NAMES = frozenset("from to in into at near between and of via for about".split())
_TALKING = frozenset({"i", "we", "you"})
_SPELLED = {w: n for n, w in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)}
_SPELLED |= {"fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100, "dozen": 12}


@dataclass(frozen=True)
class Found:
    """A piece of the message that can be a value: where it stands, what it says, what it may be.

    `candidates`: the things of the graph that it may name, best first.
    """

    kind: str  # entity, quoted, number, date, iri, unknown (a name that the graph does not hold)
    start: int
    end: int
    text: str
    value: Any = None
    candidates: tuple[Candidate, ...] = ()


@dataclass
class Reading:
    """What one message holds. Positions count characters of `text`."""

    text: str
    found: list[Found]
    general: str = ""
    """The message with the names of classes in place of the entities."""
    words: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def entities(self) -> list[Found]:
        return [f for f in self.found if f.kind == "entity"]

    def of(self, kind: str) -> list[Found]:
        return [f for f in self.found if f.kind == kind]

    def content(self, used: Iterable[Found] = ()) -> list[tuple[str, int, int]]:
        """Words that tell what is asked for: not generic, and not within what was `used` as a value."""
        spans = [(f.start, f.end) for f in used]
        return [
            (w, s, e)
            for w, s, e in self.words
            if (w.casefold() not in GENERIC or self._foretells(w, s, e))
            and not any(a <= s and e <= b for a, b in spans)
        ]

    def _foretells(self, word: str, start: int, end: int) -> bool:
        """Whether the word asks for what is to come: `will`, said of a thing and not of who talks or is talked to."""
        beside = {*self.before(start, 1), *self.after(end, 1)}
        return word.casefold() == "will" and not beside & _TALKING

    def before(self, position: int, count: int = 3) -> list[str]:
        """The words before a position, nearest first, in lower case."""
        return [w.casefold() for w, _, e in reversed(self.words) if e <= position][:count]

    def after(self, position: int, count: int = 3) -> list[str]:
        return [w.casefold() for w, s, _ in self.words if s >= position][:count]


def read(text: str, linker: Linker, *, known: frozenset[str] = frozenset()) -> Reading:
    """Read a message. `known`: stems of words that tools speak of; in lower case they are no entities."""
    linked = linker.mentions(text)
    reading = Reading(text, [], general_form(text, linked), tokens(text))
    taken: list[Found] = []

    def add(found: Found) -> None:
        if not any(f.start < found.end and found.start < f.end for f in taken):
            taken.append(found)

    for match in _IRI.finditer(text):
        add(Found("iri", match.start(), match.end(), match.group(1), match.group(1)))
    for match in _QUOTED.finditer(text):
        inner = next(g for g in match.groups() if g is not None)
        candidates = _candidates(linker, inner)
        add(Found("quoted", match.start(), match.end(), inner, inner, candidates))
    for found in _dates(text):
        add(found)
    for mention in linked:
        if _is_name(mention.text, known) and _is_meant(mention, reading):
            add(Found("entity", mention.start, mention.end, mention.text, None, tuple(mention.candidates)))
    for match in _NUMBER.finditer(text):
        plain = match.group().replace(",", "")
        add(Found("number", match.start(), match.end(), match.group(), float(plain) if "." in plain else int(plain)))
    for word, start, end in reading.words:
        if word.casefold() in _SPELLED:
            add(Found("number", start, end, word, _SPELLED[word.casefold()]))
    for start, end in _names(reading, known):
        add(Found("unknown", start, end, text[start:end]))
    reading.found = sorted(taken, key=lambda f: f.start)
    return reading


def _candidates(linker: Linker, text: str) -> tuple[Candidate, ...]:
    whole = [m for m in linker.mentions(text) if m.start == 0 and m.end == len(text)]
    return tuple(c for m in whole for c in m.candidates)


def _is_name(text: str, known: frozenset[str]) -> bool:
    """False for everyday words and tools' own words that happen to be a code or a label (`and`, `can`, `day`)."""
    words = [w for w, _, _ in tokens(text)]
    if not words:
        return False
    if text.isupper() and len(text) > 1:
        return True
    return not all(w.casefold() in GENERIC or (w.islower() and stem(w) in known) for w in words)


def _is_meant(mention: Mention, reading: Reading) -> bool:
    """False for a word in lower case that is a small part of some name, where nothing says that it names something."""
    if mention.candidates[0].score >= _SURE or any(c.isupper() or c.isdigit() for c in mention.text):
        return True
    return bool(set(reading.before(mention.start, 1)) & _BEFORE_NAMES)


def _names(reading: Reading, known: frozenset[str]) -> Sequence[tuple[int, int]]:
    """Runs of capitalised words that are no everyday words, after the first word of a sentence."""
    runs: list[tuple[int, int]] = []
    for index, (word, start, end) in enumerate(reading.words):
        if not word[0].isupper() or word.casefold() in GENERIC or stem(word) in known:
            continue
        first = index == 0 or reading.text[:start].rstrip()[-1:] in ".!?:"
        if first and not word.isupper():
            continue
        if runs and reading.text[runs[-1][1] : start].strip() in ("", "-"):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _dates(text: str) -> list[Found]:
    found = []
    for match in _ISO.finditer(text):
        day, time, zone = match.groups()
        try:
            value = datetime.fromisoformat(f"{day}T{time or '00:00:00'}{(zone or 'Z').replace('Z', '+00:00')}")
        except ValueError:
            continue
        found.append(Found("date", match.start(), match.end(), match.group(), value))
    for match in _WRITTEN.finditer(text):
        name = (match["m1"] or match["m2"]).casefold()
        month = next((n for n, m in enumerate(_MONTHS, start=1) if m == name or m[:3] == name), None)
        if month is None:
            continue
        try:
            value = datetime.fromisoformat(
                f"{match['y']}-{month:02}-{int(match['d1'] or match['d2']):02}T00:00:00+00:00"
            )
        except ValueError:
            continue
        found.append(Found("date", match.start(), match.end(), match.group(), value))
    return found
