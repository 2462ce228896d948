"""Values put into the text of a query, each checked against the place where it lands and escaped for it.

A text with values is cut into tokens with a word in place of each value. The token that such a word is in says what the
value may be: a part of a string's body, an IRI, or, on its own, a number, a prefixed name, an IRI in brackets or a
keyword that the argument's pattern lists. Whatever else is refused, with the argument's name. The finished text is cut
into tokens again, and nothing but those values may differ.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from abi.errors import ArgumentError, QueryRefused, QuerySyntaxError
from abi.graph.tokens import Token, tokenize

__all__ = ["Piece", "Place", "fill", "listed_keywords", "places", "samples"]

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|^`\\\x00-\x20]*")
_IRI_PART = re.compile(r"[^<>\"{}|^`\\\x00-\x20]*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?")
_COUNT = re.compile(r"[0-9]{1,18}")
_WORD = re.compile(r"[A-Za-z]+")
_LIST = re.compile(r"\^?\(?(?:\?:)?([A-Za-z]+(?:\|[A-Za-z]+)*)\)?\$?")
_DIGITS = str.maketrans("0123456789", "abcdefghij")
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_SPECIAL = re.compile(r"\\[uU]|[\\\"'\n\r\t\x08\f]")


class Piece(NamedTuple):
    """A piece of a text: written by its author (`names` is None), or a value with the arguments it was made of."""

    text: str | None
    names: tuple[str, ...] | None = None

    @property
    def argument(self) -> str:
        return ", ".join(self.names or ()) or "a computed value"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lands: `kind` is string, iri, comment, count (of rows) or term."""

    piece: int
    kind: str
    alone: bool
    """Whether it is the whole of its token, an IRI's brackets apart."""
    quote: str
    """What a string is in; else meaningless."""


def listed_keywords(pattern: str | None) -> tuple[str, ...]:
    """The words that a pattern lists, `^(ASC|DESC)$` say; none where it allows anything else."""
    found = _LIST.fullmatch(pattern or "")
    return tuple(found.group(1).split("|")) if found else ()


def places(pieces: Sequence[Piece]) -> list[Place]:
    """The place of each value, in order. Raises QueryRefused, with the argument's name, where no value may stand."""
    text, marks = _marked(pieces)
    return _places(pieces, tokenize(text, comments=True), marks)


def samples(pieces: Sequence[Piece], keywords: Mapping[str, Sequence[str]] | None = None) -> list[Piece]:
    """The pieces with a value in each place that fits there. Raises as `places`."""
    found = list(pieces)
    for place in places(pieces):
        names = pieces[place.piece].names or ()
        allowed = [word for name in names for word in (keywords or {}).get(name, ())]
        on_its_own = allowed[0] if allowed else "1"
        text = {"iri": "urn:abi:sample", "count": "1", "term": on_its_own}.get(place.kind, "x")
        if place.kind == "iri" and not place.alone:
            text = "x"
        found[place.piece] = Piece(text, names)
    return found


def fill(
    pieces: Sequence[Piece],
    keywords: Mapping[str, Sequence[str]] | None = None,
    prefixes: Collection[str] = (),
) -> str:
    """The text with its values. `keywords`: for an argument the words that its value may be. `prefixes`: those that a
    value may use beside those that the text declares.

    Raises ArgumentError for a value that cannot stand in its place, QueryRefused where none can, QuerySyntaxError.
    """
    text, marks = _marked(pieces)
    tokens = tokenize(text, comments=True)
    written: dict[int, str] = {}
    for place in _places(pieces, tokens, marks):
        piece = pieces[place.piece]
        names = piece.names or ()
        allowed = [word for name in names for word in (keywords or {}).get(name, ())]
        written[place.piece] = _written(piece, place, allowed)
    whole = "".join((p.text or "") if p.names is None else written[i] for i, p in enumerate(pieces))
    _compare(tokens, tokenize(whole, comments=True), marks, pieces, {*_declared(tokens), *prefixes})
    return whole


def _marked(pieces: Sequence[Piece]) -> tuple[str, dict[str, int]]:
    """The text with a word for each value, and the value that each word stands for."""
    own = "".join(p.text or "" for p in pieces if p.names is None)
    # A word that the author did not write. No escape of SPARQL begins with z, so that none can swallow a part of it;
    # letters only, so that it is never two tokens.
    stem = next(s for n in range(len(own) + 1) if (s := f"zvalue{_letters(n)}x") not in own)
    marks = {f"{stem}{_letters(i)}z": i for i, p in enumerate(pieces) if p.names is not None}
    words = {i: word for word, i in marks.items()}
    return "".join((p.text or "") if p.names is None else words[i] for i, p in enumerate(pieces)), marks


def _letters(number: int) -> str:
    return str(number).translate(_DIGITS)


def _places(pieces: Sequence[Piece], tokens: Sequence[Token], marks: Mapping[str, int]) -> list[Place]:
    found: list[Place] = []
    if not marks:
        return found
    pattern = re.compile("|".join(marks))
    for at, token in enumerate(tokens):
        for word in pattern.findall(token.text):
            before = tokens[at - 1] if at else None
            further = tokens[at - 2] if at > 1 else None
            declares = before is not None and (
                before.upper == "BASE" or (further is not None and further.upper == "PREFIX")
            )
            piece = pieces[marks[word]]
            kind = "term"
            if token.kind in ("string", "comment"):
                kind = str(token.kind)
            elif token.kind == "iri" and not declares:
                kind = "iri"
            elif token.text == word and before is not None and before.upper in ("LIMIT", "OFFSET"):
                kind = "count"
            elif token.text == word and not declares and (before is None or before.upper not in ("PREFIX", "BASE")):
                pass
            else:
                raise _no_place(piece, token, word, declares)
            found.append(Place(marks[word], kind, token.text.strip("<>") == word, token.text[0]))
    if len(found) != len(marks):
        raise QueryRefused("The template has a value where the query has no token.")
    return sorted(found, key=lambda p: p.piece)


def _no_place(piece: Piece, token: Token, word: str, declares: bool) -> QueryRefused:
    shown = token.text.replace(word, "{{ " + piece.argument + " }}")[:80]
    what = "a prefix's IRI, which changes what other names mean" if declares else f"a part of `{shown}`"
    return QueryRefused(
        f"line {token.line}, column {token.column}: the value of {piece.argument} would be {what}.",
        hint='A value stands in a string ("{{ x }}"), in an IRI (<{{ x }}>), or on its own, as a number or a name.',
        details={"line": token.line, "column": token.column, "argument": piece.argument},
    )


def _written(piece: Piece, place: Place, allowed: Sequence[str]) -> str:
    if piece.text is None:
        raise _refused(piece, "is not given, and the query has a place for it")
    text = piece.text
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise _refused(piece, "holds half of a character (a lone surrogate)")
    if place.kind == "comment":
        return ""
    if place.kind == "string":
        other = "'" if place.quote == '"' else '"'
        # Only what must be: not every parser takes an escape of the other quote.
        return _SPECIAL.sub(lambda m: other if m.group() == other else _escape(m), text)
    if place.kind == "iri":
        if not _IRI_PART.fullmatch(text):
            raise _refused(piece, "stands in an IRI and has a character that no IRI has")
        return text
    if place.kind == "count":
        if not _COUNT.fullmatch(text):
            raise _refused(piece, "is a number of rows: a whole number from 0")
        return f" {text} "
    if text in allowed or _NUMBER.fullmatch(text):
        return f" {text} "
    try:
        tokens = tokenize(text)
    except (QuerySyntaxError, QueryRefused):
        tokens = ()
    if len(tokens) == 1 and tokens[0].text == text and tokens[0].kind in ("pname", "iri"):
        return f" {text} "
    words = f" or one of {', '.join(allowed)}" if allowed else ""
    raise _refused(piece, f"stands on its own, so it must be a number, a prefixed name, an IRI in <>{words}")


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    # Some parsers look for \uXXXX before anything else, also behind a backslash that is escaped itself.
    if len(found) == 2:
        return "\\\\" + f"\\U{ord(found[1]):08X}"
    return _ESCAPES[found]


def _refused(piece: Piece, why: str) -> ArgumentError:
    shown = "" if piece.text is None else f" {piece.text[:60]!r}"
    faults = [{"argument": piece.argument, "message": why}]
    return ArgumentError(f"{piece.argument}:{shown} {why}.", details={"faults": faults})


def _declared(tokens: Sequence[Token]) -> set[str]:
    return {t.text.partition(":")[0] for at, t in enumerate(tokens) if at and tokens[at - 1].upper == "PREFIX"}


def _compare(
    before: Sequence[Token],
    after: Sequence[Token],
    marks: Mapping[str, int],
    pieces: Sequence[Piece],
    prefixes: set[str],
) -> None:
    """Refuse a text in which more than the values has changed: what is checked piece by piece is true of the whole."""
    pattern = re.compile("|".join(marks)) if marks else None
    at = 0
    for token in before:
        words = pattern.findall(token.text) if pattern else []
        here = after[at] if at < len(after) else None
        if not words:
            if here is None or (here.kind, here.text) != (token.kind, token.text):
                raise _changed(pieces)
            at += 1
            continue
        piece = pieces[marks[words[0]]]
        if here is None:
            raise _changed(pieces)
        if token.kind == "word":
            signed = here.text in ("+", "-") and at + 1 < len(after) and after[at + 1].kind == "number"
            at += signed
            if after[at].kind not in ("number", "pname", "iri") and not _WORD.fullmatch(after[at].text):
                raise _changed(pieces)
            if after[at].kind == "iri" and not _IRI.fullmatch(after[at].name):
                raise _refused(piece, "is not an absolute IRI")
            if after[at].kind == "pname" and (prefix := after[at].text.partition(":")[0]) not in prefixes:
                raise _refused(piece, f"uses the prefix {prefix}:, which the query does not declare")
        elif here.kind != token.kind:
            raise _changed(pieces)
        elif token.kind == "iri" and not _IRI.fullmatch(here.name):
            raise _refused(piece, "does not make an absolute IRI")
        at += 1
    if at != len(after):
        raise _changed(pieces)


def _changed(pieces: Sequence[Piece]) -> ArgumentError:
    names = sorted({p.argument for p in pieces if p.names is not None})
    return ArgumentError(f"The values of {', '.join(names)} would change the query around them.")
