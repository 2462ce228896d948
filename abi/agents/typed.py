"""Typed extraction: numbers, dates, quoted texts, enumerations, patterns and IRIs for a tool's plain parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime

from abi import terms
from abi.agents.cards import ToolCard
from abi.agents.reading import Found, Reading
from abi.agents.words import GENERIC, split_name, stem
from abi.records.record import Parameter

__all__ = ["extract"]

_INTEGERS = frozenset(
    terms.XSD + n for n in "integer int long short nonNegativeInteger positiveInteger unsignedInt unsignedLong".split()
)
_NUMBERS = _INTEGERS | {terms.XSD_DECIMAL, terms.XSD_DOUBLE, terms.XSD_FLOAT}
_DATES = frozenset({terms.XSD_DATE_TIME, terms.XSD_DATE})
_LIMIT = frozenset("limit top first max maximum most n count rows results".split())
_LIMIT_CUES = frozenset("top first best limit only".split())
_BEFORE_COUNTS = frozenset("the a list show give me name find which what".split())
_LOW_CUES = ("at least", "more than", "over", "above", "minimum", "min", "from")
_HIGH_CUES = ("at most", "less than", "fewer than", "under", "below", "up to", "within", "maximum", "max")
_ARTICLES = frozenset("a an the".split())


def extract(parameter: Parameter, card: ToolCard, reading: Reading, used: Sequence[Found]) -> Found | None:
    """The piece of the message that can be this parameter's value, with the value in `value`; None where none can."""
    free = [f for f in reading.found if f not in used]
    datatype = parameter.datatype or terms.XSD_STRING
    if parameter.enum:
        return _of_enum(parameter, reading)
    if datatype in _NUMBERS:
        return _number(parameter, card, reading, [f for f in free if f.kind == "number"])
    if datatype in _DATES:
        return _date(parameter, reading, [f for f in free if f.kind == "date"])
    if datatype == terms.XSD_ANY_URI:
        return next((f for f in free if f.kind == "iri"), None)
    if datatype == terms.XSD_STRING:
        return _string(parameter, card, reading, free)
    return None


def _of_enum(parameter: Parameter, reading: Reading) -> Found | None:
    for value in sorted(parameter.enum, key=lambda v: -len(str(v))):
        spoken = re.escape(str(value)).replace("_", "[_ ]")
        match = re.search(rf"(?<!\w){spoken}(?!\w)", reading.text, re.IGNORECASE)
        if match:
            return Found("enum", match.start(), match.end(), match.group(), value)
    return None


def _number(parameter: Parameter, card: ToolCard, reading: Reading, numbers: list[Found]) -> Found | None:
    whole = parameter.datatype in _INTEGERS
    fitting = [
        n
        for n in numbers
        if not (whole and isinstance(n.value, float))
        and (parameter.minimum is None or n.value >= parameter.minimum)
        and (parameter.maximum is None or n.value <= parameter.maximum)
    ]
    if not fitting:
        return None
    names = {w.casefold() for w in split_name(parameter.name)}
    for number in fitting:
        before = reading.before(number.start)
        if names & set(before[:1]) or (names & _LIMIT and set(before[:1]) & _LIMIT_CUES):
            return _with_cue(number, reading, 1)
        if names & {*before, *reading.after(number.end, 1)}:
            return number
        lead = " ".join(reversed(before))
        for own, cues in (({"min", "minimum", "least"}, _LOW_CUES), ({"max", "maximum", "most", "hops"}, _HIGH_CUES)):
            cue = next((c for c in cues if lead.endswith(c)), None)
            if names & own and cue is not None:
                return _with_cue(number, reading, len(cue.split()))
    rivals = [p for p in card.fillable if p.datatype in _NUMBERS]
    alone = len(fitting) == 1 and (len(rivals) == 1 or (parameter.required and sum(p.required for p in rivals) == 1))
    if not alone:
        return None
    if parameter.required:
        return fitting[0]
    # "the 5 busiest airports": a number right before what is counted limits the answer
    before = reading.before(fitting[0].start, 1)
    counts = bool(reading.after(fitting[0].end, 1)) and (not before or before[0] in _BEFORE_COUNTS)
    return fitting[0] if names & _LIMIT and counts else None


def _with_cue(number: Found, reading: Reading, words: int) -> Found:
    """The number with the words before it that say what it is (`top 5`), which are used with it."""
    starts = [s for _, s, e in reading.words if e <= number.start]
    start = starts[-words] if len(starts) >= words else number.start
    return Found(number.kind, start, number.end, number.text, number.value)


def _date(parameter: Parameter, reading: Reading, dates: list[Found]) -> Found | None:
    if not dates:
        return None
    words = {w.casefold() for w in split_name(parameter.name)}
    late = bool(words & {"to", "until", "end", "before", "last"})
    chosen = dates[-1] if late else dates[0]
    for found in dates:
        cue = reading.before(found.start, 1)
        if cue and (cue[0] in words or (late and cue[0] in ("to", "until", "before", "and"))):
            chosen = found
    value = chosen.value
    assert isinstance(value, datetime)
    shown: datetime | date = value.date() if parameter.datatype == terms.XSD_DATE else value
    return Found("date", chosen.start, chosen.end, chosen.text, shown.isoformat())


def _string(parameter: Parameter, card: ToolCard, reading: Reading, free: list[Found]) -> Found | None:
    matches = re.compile(parameter.pattern).fullmatch if parameter.pattern else None
    for found in free:
        if found.kind == "quoted" and (matches is None or matches(found.text)):
            return Found("quoted", found.start, found.end, found.text, found.text)
    if matches is not None or parameter.examples:
        shapes = {_shape(str(e)) for e in parameter.examples if len(str(e).split()) == 1}
        for word, start, end in reading.words:
            if any(f.start <= start and end <= f.end for f in reading.found if f not in free):
                continue
            fits = matches(word) is not None if matches is not None else word.isupper() and _shape(word) in shapes
            if fits and word.casefold() not in GENERIC:
                return Found("string", start, end, word, word)
        if matches is not None:
            return None
    return _rest(card, reading, free) if parameter.required else None


def _rest(card: ToolCard, reading: Reading, free: list[Found]) -> Found | None:
    """What follows a tool's own word, for a tool that takes any text: `search entities for boise air`."""
    own = {stem(w) for w in split_name(card.name)}
    cue_end = None
    for word, _, end in reading.words:
        if stem(word) in own or word.casefold() in ("called", "named"):
            cue_end = end
    if cue_end is None:
        return None
    for found in free:
        if found.kind in ("entity", "unknown"):
            return Found(found.kind, found.start, found.end, found.text, found.text)
    rest = [(w, s, e) for w, s, e in reading.words if s >= cue_end and w.casefold() not in _ARTICLES]
    while rest and rest[0][0].casefold() in GENERIC:
        rest = rest[1:]
    if not rest:
        return None
    text = reading.text[rest[0][1] : rest[-1][2]]
    return Found("string", rest[0][1], rest[-1][2], text, text)


def _shape(text: str) -> str:
    return "".join("A" if c.isupper() else "a" if c.islower() else "0" if c.isdigit() else c for c in text)
