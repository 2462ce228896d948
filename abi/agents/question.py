"""A question about a graph, read word by word against its lexicon: mentions, operations, values, definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from abi import terms
from abi.agents.lexicon import Element, Lexicon, Phrase
from abi.agents.question_words import COMPARISONS, FILLERS, GROUPING, OPERATIONS, STRICT, known_words
from abi.agents.words import stem
from abi.graph.rows import Term

__all__ = ["Item", "Question", "ValueMatch", "read_question"]

_TOKEN = re.compile(
    r"(?P<quoted>\"[^\"]{1,200}\"|“[^”]{1,200}”|(?<!\w)'[^']{1,200}'(?!\w))"
    r"|(?P<date>(?<!\d)\d{4}-\d{2}-\d{2}(?!\d))"
    r"|(?P<number>(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.])-?\d+(?:\.\d+)?(?!\w))"
    r"|(?P<word>[^\W_]+(?:['’.-][^\W_]+)*)"
    r"|(?P<mark>[,;:.?!()=<>]+)"
)
_NEAR = 90
"""From this likeness (0 to 100) on, an unknown long word is taken for a known one."""
_LONGEST_VALUE = 6

ValueMatch = Callable[[Sequence[str]], dict[str, list[tuple[str, str, Term]]]]
"""Texts to what they are in the data: (class, property, the value itself)."""


@dataclass(slots=True)
class Token:
    kind: str
    text: str
    stem: str
    start: int
    end: int


@dataclass(slots=True)
class Item:
    """A piece of the question. `kind`: mention, name (of a definition), op, compare, group, number, date, value, mark,
    filler, unknown."""

    kind: str
    start: int
    end: int
    text: str
    elements: list[Element] = field(default_factory=list)
    op: str = ""
    term: Term | None = None
    values: list[tuple[str, str, Term]] = field(default_factory=list)
    used: bool = False


@dataclass
class Question:
    text: str
    items: list[Item]

    def content(self) -> list[Item]:
        return [i for i in self.items if i.kind not in ("filler", "mark")]


def read_question(
    text: str, lexicon: Lexicon, values: ValueMatch | None = None, names: dict[Phrase, str] | None = None
) -> Question:
    """Read a question. `names`: phrases that it defines itself; they win over the lexicon's where they are as long."""
    tokens = _tokens(text, lexicon, names or {})
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        item, at = _item(tokens, at, lexicon, names or {})
        items.append(item)
    if values is not None:
        items = _with_values(text, items, values)
    return Question(text, items)


def _tokens(text: str, lexicon: Lexicon, names: dict[Phrase, str]) -> list[Token]:
    known = known_words() | lexicon.words | {w for p in names for w in p}
    found = []
    for match in _TOKEN.finditer(text):
        kind, said = str(match.lastgroup), match.group()
        base = stem(said) if kind == "word" else said
        if kind == "word" and base not in known and len(base) >= 6 and said[1:].islower():
            base = _mended(base, known)
        found.append(Token(kind, said, base, match.start(), match.end()))
    return found


def _mended(word: str, known: frozenset[str]) -> str:
    """The known word that an unknown one is a misspelling of; itself where there is none."""
    from rapidfuzz import process
    from rapidfuzz.distance import DamerauLevenshtein

    near = process.extract(word, known, limit=2, score_cutoff=_NEAR)
    near = [m for m in near if abs(len(m[0]) - len(word)) <= 1 and DamerauLevenshtein.distance(m[0], word) <= 1]
    return str(near[0][0]) if len(near) == 1 else word


def _item(tokens: Sequence[Token], at: int, lexicon: Lexicon, names: dict[Phrase, str]) -> tuple[Item, int]:
    first = tokens[at]
    if first.kind != "word":
        item = Item("value" if first.kind == "quoted" else first.kind, first.start, first.end, first.text)
        if first.kind == "number":
            plain = first.text.replace(",", "")
            item.term = Term("literal", plain, terms.XSD_DECIMAL if "." in plain else terms.XSD_INTEGER)
        elif first.kind == "date":
            item.term = Term("literal", first.text, terms.XSD_DATE)
        elif first.kind == "quoted":
            item.text = first.text[1:-1]
        return item, at + 1
    end, elements, name = _mention(tokens, at, lexicon, names)
    words = [t.text.casefold() for t in tokens[at : at + 3] if t.kind == "word"]
    for table, kind in ((COMPARISONS, "compare"), (OPERATIONS, "op")):
        for length in (3, 2, 1):
            op = table.get(tuple(words[:length])) if len(words) >= length else None
            # `total number of flights` is a total, where the graph has a value called number of flights.
            longer = any(_mention(tokens, at + k, lexicon, names)[0] > at + length for k in range(1, length))
            if op is not None and at + length >= end and not longer:
                last = tokens[at + length - 1]
                return Item(kind, first.start, last.end, " ".join(words[:length]), op=op), at + length
    if end > at:
        span = (first.start, tokens[end - 1].end)
        text = " ".join(t.text for t in tokens[at:end])
        return Item("name" if name else "mention", *span, text, elements, op=name), end
    word = first.text.casefold()
    if word in GROUPING:
        return Item("group", first.start, first.end, word), at + 1
    idle = word in FILLERS or first.stem in _FILLER_STEMS
    return Item("filler" if idle and word not in STRICT else "unknown", first.start, first.end, first.text), at + 1


_FILLER_STEMS = frozenset(stem(w) for w in FILLERS if len(w) > 3)


def _mention(
    tokens: Sequence[Token], at: int, lexicon: Lexicon, names: dict[Phrase, str]
) -> tuple[int, list[Element], str]:
    """The longest phrase that begins here: where it ends, what it may mean, and its name if it is a defined one."""
    longest = max(lexicon.longest, max((len(p) for p in names), default=0))
    for length in range(min(longest, len(tokens) - at), 0, -1):
        piece = tokens[at : at + length]
        if any(t.kind not in ("word", "number") for t in piece):
            continue
        phrase = tuple(t.stem for t in piece)
        if phrase in names:
            return at + length, [], names[phrase]
        if phrase in lexicon.phrases and not (length == 1 and piece[0].text.casefold() in FILLERS | STRICT):
            return at + length, list(lexicon.phrases[phrase]), ""
    return at, [], ""


def _with_values(text: str, items: list[Item], values: ValueMatch) -> list[Item]:
    """Unknown words and quoted texts, as values that the data holds; the longest run of words that is one wins."""
    runs: dict[str, tuple[int, int]] = {}
    for first, item in enumerate(items):
        if item.kind not in ("unknown", "value"):
            continue
        for start in range(max(0, first - 2), first + 1):
            for end in range(first + 1, min(first + _LONGEST_VALUE, len(items)) + 1):
                piece = items[start:end]
                if (
                    any(i.kind in ("op", "compare", "date") for i in piece)
                    or piece[0].kind == piece[-1].kind == "filler"
                ):
                    continue
                said = item.text if end - start == 1 else text[piece[0].start : piece[-1].end]
                runs.setdefault(said, (start, end))
    if not runs:
        return items
    found = values(list(runs))
    taken: list[tuple[int, int, str]] = []
    for said in sorted(found, key=lambda t: (-len(t), t)):
        start, end = runs[said]
        if found[said] and not any(a < end and start < b for a, b, _ in taken):
            taken.append((start, end, said))
    result = list(items)
    for start, end, said in sorted(taken, reverse=True):
        made = Item("value", items[start].start, items[end - 1].end, said, values=found[said])
        result[start:end] = [made]
    return result
