"""The words of a SQL++ query: where its parameters stand, and what is only a comment or a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["SqlppFault", "Token", "TokenKind", "tokenize"]

TokenKind = Literal["comment", "text", "name", "number", "word", "parameter", "positional", "sign"]

_TOKEN = re.compile(
    r"""
    (?P<comment>--[^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^']|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<name>`(?:[^`]|``)*`)
  | (?P<positional>\$[0-9]+|\?)
  | (?P<parameter>[$@][A-Za-z_][A-Za-z0-9_]*)
  | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)
  | (?P<word>[A-Za-z_][A-Za-z0-9_$]*)
  | (?P<sign><=|>=|<>|!=|==|\|\||[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {"/": ("A comment `/*`", "*/"), "'": ("A text", "'"), '"': ("A text", '"'), "`": ("A name", "`")}


class SqlppFault(Exception):
    """What is wrong with a query, on which of its lines (from 1). `code` ends the finding's code."""

    def __init__(self, line: int, message: str, fix: str = "", code: str = "query-syntax") -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.fix = fix
        self.code = code


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is the text without quotes, and the name of a parameter. `start` and `end` are offsets."""

    kind: TokenKind
    text: str
    value: str
    start: int
    end: int
    line: int


def tokenize(query: str) -> list[Token]:
    """All words, comments among them, in order. Raises SqlppFault for a comment, text or name that is not closed."""
    tokens: list[Token] = []
    line, position = 1, 0
    for match in _TOKEN.finditer(query):
        line += query.count("\n", position, match.start())
        position = match.start()
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        text = match.group()
        if kind == "sign" and (text in "'\"`" or query.startswith("/*", match.start())):
            what, sign = _UNCLOSED[text]
            raise SqlppFault(line, f"{what} is not closed.", f"Close it by {sign}")
        tokens.append(Token(kind, text, _value(kind, text), match.start(), match.end(), line))
    return tokens


def _value(kind: TokenKind, text: str) -> str:
    if kind == "parameter":
        return text[1:]
    if kind == "name":
        return text[1:-1].replace("``", "`")
    if kind != "text":
        return text
    inner = text[1:-1].replace(text[0] * 2, text[0])
    return re.sub(r"\\(.)", _escape, inner, flags=re.DOTALL) if text[0] == '"' else inner


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group(1), match.group(1))
