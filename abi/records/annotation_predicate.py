"""The language in which records are chosen by their annotations.

    gdpr = "true" AND NOT (region != "eu" OR team IN ("a", "b"))

`AND` binds tighter than `OR`. Values stand in double quotes; `"v" = k` is the same as `k = "v"`. Keywords are upper
or lower case. A comparison with `=` or `IN` holds where the record has that annotation with that value; `!=` holds
where it has the annotation with another value; a record without it matches neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from abi.errors import UsageError

__all__ = ["And", "Compare", "In", "Not", "Or", "Predicate", "holds", "parse_predicate"]

_MAX_LENGTH = 4096
_MAX_DEPTH = 50
_GLUED = re.compile(r"(?:AND|OR|and|or)(?=.)")
_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(!=|[=(),])|([\w.:/-]+))', re.DOTALL)
_EXAMPLE = 'Write KEY = "VALUE", joined by AND, OR, NOT and parentheses: domain = "travel" AND NOT stage = "draft".'


@dataclass(frozen=True, slots=True)
class Compare:
    key: str
    operator: Literal["=", "!="]
    value: str


@dataclass(frozen=True, slots=True)
class In:
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    operand: Predicate


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Predicate, ...]


Predicate = Compare | In | Not | And | Or


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Literal["text", "sign", "word", "end"]
    text: str
    start: int

    def keyword(self) -> str:
        """The keyword that this word is, or an empty text. Mixed case is no keyword."""
        upper = self.text.upper()
        return upper if self.kind == "word" and self.text in (upper, upper.lower()) else ""


def parse_predicate(text: str) -> Predicate:
    """Parse a predicate. Raises UsageError that names the column (from 1) and shows how to write it."""
    if len(text) > _MAX_LENGTH:
        raise UsageError(f"The annotation predicate is longer than {_MAX_LENGTH} characters.", hint=_EXAMPLE)
    parser = _Parser(_tokens(text))
    predicate = parser.any_of(0)
    parser.expect_end()
    return predicate


def holds(predicate: Predicate, annotations: Mapping[str, str]) -> bool:
    """Whether a record with these annotations is chosen."""
    if isinstance(predicate, Compare):
        same = annotations.get(predicate.key) == predicate.value
        return predicate.key in annotations and same == (predicate.operator == "=")
    if isinstance(predicate, In):
        return annotations.get(predicate.key) in predicate.values
    if isinstance(predicate, Not):
        return not holds(predicate.operand, annotations)
    of = (holds(operand, annotations) for operand in predicate.operands)
    return all(of) if isinstance(predicate, And) else any(of)


def _wrong(what: str, start: int) -> UsageError:
    return UsageError(f"Annotation predicate, column {start + 1}: {what}.", hint=_EXAMPLE)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if not match:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise _wrong(f"{text[start]!r} is not expected; values stand in double quotes", start)
        quoted, sign, word = match.groups()
        if quoted is not None:
            tokens.append(_Token("text", re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL), match.start(1)))
        elif sign is not None:
            tokens.append(_Token("sign", sign, match.start(2)))
        else:
            # Agent Catalog reads `a="b"ORc="d"`: after a value only a keyword can come.
            glued = _GLUED.match(word) if tokens and tokens[-1].kind == "text" else None
            if glued:
                word = glued[0]
            tokens.append(_Token("word", word, match.start(3)))
            position = match.start(3) + len(word)
            continue
        position = match.end()
    return [*tokens, _Token("end", "", end)]


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def sign(self, *signs: str) -> str:
        """Takes one of the signs, or raises."""
        token = self.take()
        if token.kind != "sign" or token.text not in signs:
            found = repr(token.text) if token.kind != "end" else "the end"
            raise _wrong(f"{' or '.join(signs)} is expected, not {found}", token.start)
        return token.text

    def value(self) -> str:
        token = self.take()
        if token.kind != "text":
            found = f"not {token.text!r}" if token.kind != "end" else "not the end"
            raise _wrong(f"a value in double quotes is expected, {found}", token.start)
        return token.text

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise _wrong(f"AND or OR is expected, not {self.token.text!r}", self.token.start)

    def any_of(self, depth: int) -> Predicate:
        operands = [self.all_of(depth)]
        while self.token.keyword() == "OR":
            self.take()
            operands.append(self.all_of(depth))
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def all_of(self, depth: int) -> Predicate:
        operands = [self.one(depth)]
        while self.token.keyword() == "AND":
            self.take()
            operands.append(self.one(depth))
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def one(self, depth: int) -> Predicate:
        if depth > _MAX_DEPTH:
            raise _wrong(f"nested more than {_MAX_DEPTH} deep", self.token.start)
        token = self.take()
        following = self.token
        compares = following.kind == "sign" and following.text in ("=", "!=")
        if token.keyword() == "NOT" and not compares:
            return Not(self.one(depth + 1))
        if token.kind == "sign" and token.text == "(":
            inner = self.any_of(depth + 1)
            self.sign(")")
            return inner
        if token.kind == "text":
            operator = self.sign("=", "!=")
            key = self.take()
            if key.kind != "word":
                raise _wrong("a key is expected after the sign", key.start)
            return Compare(key.text, "=" if operator == "=" else "!=", token.text)
        if token.kind != "word":
            raise _wrong("a key is expected", token.start)
        if following.keyword() == "IN":
            self.take()
            self.sign("(")
            values = [self.value()]
            while self.sign(",", ")") == ",":
                values.append(self.value())
            return In(token.text, tuple(values))
        operator = self.sign("=", "!=")
        return Compare(token.text, "=" if operator == "=" else "!=", self.value())
