"""The words of a SPARQL query or update, in one linear pass, without parsing it.

The guard, the template and the update splitter read tokens instead of text, so that a keyword in a string, a comment
or an IRI is never taken for one, and a parameter is a token and never a piece of one.

Oxigraph's parser has no tokenizer of its own: it tries `<` as an operator where an expression may go on, so that
`?a<?b)SERVICE?x#>` is an IRI by SPARQL's longest match and a comparison for the parser. Such a `<` is refused here,
with a message that says where to put a space.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from abi.errors import QueryRefused, QuerySyntaxError

__all__ = ["Token", "TokenKind", "tokenize"]

TokenKind = Literal["iri", "pname", "bnode", "var", "string", "langtag", "number", "word", "punct", "comment"]


class Token(NamedTuple):
    """One token: `text` is exactly `source[start:end]`; `line` and `column` count from 1, in characters."""

    kind: TokenKind
    text: str
    start: int
    end: int
    line: int
    column: int

    @property
    def upper(self) -> str:
        """Upper case of a word (keywords are case-insensitive); empty for all other kinds."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """A variable without its `?` or `$`; an IRI without its brackets, its escapes as they are."""
        return self.text[1:-1] if self.kind == "iri" else self.text[1:] if self.kind == "var" else self.text


_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040"
_CHARS = _NAME + "\\-"
_PLX = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LOCAL = rf"(?:[{_BASE}_0-9:]|{_PLX})(?:\.*+(?:[{_CHARS}:]|{_PLX}))*+"
# Only what the parser takes: where it refuses an escape, it reads `"""` as an empty string and goes on in the text.
_UNIT = r"(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})"
_ESCAPED = rf"\\u{_UNIT}|\\U0000{_UNIT}|\\U(?:000[1-9A-Fa-f]|0010)[0-9A-Fa-f]{{4}}"
_ECHAR = rf"\\[tbnrf\"'\\]|{_ESCAPED}"

# All quantifiers are possessive or stop at a character that cannot be in the token: no backtracking, linear time.
_SPACE = re.compile(r"[ \t\r\n]++")
_RUN = re.compile(rf"[{_BASE}](?:\.*+[{_CHARS}])*+")
_LOCAL_PART = re.compile(rf":(?:{_LOCAL})?")
_TOKEN = re.compile(
    rf"""
      (?P<comment>\#[^\r\n]*+)
    | (?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPED})*+>)
    | (?P<string>\"\"\"(?:[^"\\]|{_ECHAR}|"(?!""))*+\"\"\"|'''(?:[^'\\]|{_ECHAR}|'(?!''))*+'''
                |"(?!"")(?:[^"\\\r\n]|{_ECHAR})*+"|'(?!'')(?:[^'\\\r\n]|{_ECHAR})*+')
    | (?P<var>[?$][{_BASE}_0-9][{_NAME}]*+)
    | (?P<bnode>_:[{_BASE}_0-9](?:\.*+[{_CHARS}])*+)
    | (?P<number>(?:[0-9]++(?:\.[0-9]*+(?=[eE][+-]?[0-9]))?|\.[0-9]++(?=[eE]))[eE][+-]?[0-9]++
                |[0-9]*+\.[0-9]++|[0-9]++)
    | (?P<langtag>@[A-Za-z]++(?:-{{1,2}}[A-Za-z0-9]++)*+)
    | (?P<word>[{_BASE}_][{_NAME}]*+)
    | (?P<punct>\^\^|&&|\|\||!=|<=|>=|<<|>>|[{{}}()\[\];,.=<>!+\-*/|^?~@])
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENS = {"(": ")", "{": "}", "[": "]"}
_OPERAND = frozenset({"iri", "pname", "bnode", "var", "string", "langtag", "number"})
_PLAIN_IRI = re.compile(r"<[A-Za-z][A-Za-z0-9+.\-]*+:(?://[^>]*+|[^>()?$#!&=,;*+'\\]*+)>")


def tokenize(text: str, *, comments: bool = False) -> tuple[Token, ...]:
    """Cut a query or an update into tokens; white space is left out, comments too unless `comments`.

    Raises QuerySyntaxError where a character cannot begin a token or a string does not end, and QueryRefused where a
    `<` could be read in two ways. Both carry `line` and `column` in `details`.
    """
    tokens: list[Token] = []
    brackets: list[str] = []  # the closing ones that are awaited; a VALUES block's is "V"
    values = False
    pos, line, line_start, no_name_before = 0, 1, 0, 0
    last: Token | None = None
    end = len(text)
    while pos < end:
        space = _SPACE.match(text, pos)
        if space is not None:
            line, line_start = _advance(text, pos, space.end(), line, line_start)
            pos = space.end()
            continue
        column = pos - line_start + 1
        kind: TokenKind
        stop = 0
        if pos >= no_name_before:
            stop, no_name_before = _prefixed_name(text, pos)
        if stop:
            kind = "pname"
        else:
            match = _TOKEN.match(text, pos)
            if match is None:
                raise _unreadable(text, pos, line, column)
            kind, stop = match.lastgroup, match.end()  # type: ignore[assignment]
        token = Token(kind, text[pos:stop], pos, stop, line, column)
        if kind == "string" or kind == "comment":
            line, line_start = _advance(text, pos, stop, line, line_start)
        pos = stop
        if kind == "comment":
            if comments:
                tokens.append(token)
            continue
        if token.text[0] == "<" and brackets and brackets[-1] == ")" and last is not None:
            _check_unambiguous(token, last)
        if kind == "punct":
            if token.text in _OPENS:
                closing = _OPENS[token.text]
                in_values = bool(brackets) and brackets[-1] == "V"
                brackets.append("V" if (values and closing == "}") or (in_values and closing == ")") else closing)
                values = values and closing != "}"
            elif token.text in ")}]" and brackets:
                brackets.pop()
        elif token.upper == "VALUES":
            values = True
        tokens.append(token)
        last = token
    return tuple(tokens)


def _prefixed_name(text: str, pos: int) -> tuple[int, int]:
    """End of the prefixed name at `pos` (0: there is none), and the position before which none can begin.

    The second keeps it linear: a run of name characters without a colon is not looked at again from each of its dots.
    """
    run = _RUN.match(text, pos)
    colon = run.end() if run is not None else pos
    if text.startswith(":", colon):
        local = _LOCAL_PART.match(text, colon)
        assert local is not None
        return local.end(), 0
    return 0, colon


def _advance(text: str, start: int, stop: int, line: int, line_start: int) -> tuple[int, int]:
    """Line and start of line after `text[start:stop]`; CR LF, LF and CR alone each end a line."""
    for found in _NEWLINE.finditer(text, start, stop):
        line += 1
        line_start = found.end()
    return line, line_start


_NEWLINE = re.compile(r"\r\n|\n|\r")


def _check_unambiguous(token: Token, last: Token) -> None:
    """Refuse a `<...>` or `<<` after an operand in parentheses, unless it cannot be a comparison."""
    if last.kind not in _OPERAND and last.text not in (")", "]") and last.upper not in ("TRUE", "FALSE"):
        return
    if token.text == "<<" or (token.kind == "iri" and not _PLAIN_IRI.fullmatch(token.text)):
        raise QueryRefused(
            f"line {token.line}, column {token.column}: `{token.text[:60]}` can be read as an IRI or as a comparison.",
            hint="Put a space after the `<` of a comparison; write the IRI as a prefixed name.",
            details={"line": token.line, "column": token.column},
        )


def _unreadable(text: str, pos: int, line: int, column: int) -> QuerySyntaxError:
    char = text[pos]
    if char in "\"'":
        message = f"line {line}, column {column}: this string does not end."
        hint = "Close it with the same quotes; a string over several lines needs three of them."
    else:
        message = f"line {line}, column {column}: {char!r} cannot stand here."
        hint = ""
    return QuerySyntaxError(message, hint=hint, details={"line": line, "column": column})
