"""Where the parts of a query are, by its tokens, and which variables a `SELECT *` gives."""

from __future__ import annotations

from collections.abc import Sequence

from abi.graph.tokens import Token

__all__ = ["closing", "is_select", "visible_variables", "where_group"]

_PAIRS = {"(": ")", "{": "}", "[": "]"}


def closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the bracket that closes the one at `opening`; the last index where none does."""
    mine = tokens[opening].text
    theirs = _PAIRS.get(mine, "")
    depth = 0
    for i in range(opening, len(tokens)):
        depth += (tokens[i].text == mine) - (tokens[i].text == theirs)
        if depth == 0:
            return i
    return len(tokens) - 1


def is_select(tokens: Sequence[Token], group: int) -> bool:
    """Whether the group that opens at `group` holds a query of its own."""
    return group + 1 < len(tokens) and tokens[group + 1].upper == "SELECT"


def where_group(tokens: Sequence[Token], group: int) -> int | None:
    """The `{` of the WHERE of the query in a group; of the whole query for -1."""
    stop = closing(tokens, group) if group >= 0 else len(tokens)
    i, template = group + 1, False
    while i < stop:
        token = tokens[i]
        if token.text == "(":
            i = closing(tokens, i)
        elif token.upper == "CONSTRUCT":
            template = tokens[i + 1].text == "{" if i + 1 < stop else False
        elif token.text == "{":
            if not template:
                return i
            i, template = closing(tokens, i), False
        i += 1
    return None


def visible_variables(tokens: Sequence[Token], group: int) -> list[str]:
    """The names of the variables that a group binds, in the order in which they come.

    What stands only in a FILTER, a MINUS or inside of another query, which does not give it, is not among them.
    """
    found: dict[str, None] = {}
    i, stop = group + 1, closing(tokens, group)
    if is_select(tokens, group):
        return _projected(tokens, group)
    while i < stop:
        token = tokens[i]
        following = tokens[i + 1]
        if token.kind == "var":
            found[token.name] = None
        elif token.upper == "FILTER":
            i = _end_of_filter(tokens, i)
        elif token.upper == "BIND" and following.text == "(":
            i = closing(tokens, i + 1)
            if tokens[i - 1].kind == "var":
                found[tokens[i - 1].name] = None
        elif token.upper == "MINUS" and following.text == "{":
            i = closing(tokens, i + 1)
        elif token.text == "{" and is_select(tokens, i):
            found |= dict.fromkeys(_projected(tokens, i))
            i = closing(tokens, i)
        i += 1
    return list(found)


def _projected(tokens: Sequence[Token], group: int) -> list[str]:
    """What the SELECT in a group gives."""
    where = where_group(tokens, group)
    if where is None:
        return []
    found: dict[str, None] = {}
    i = group + 2
    while i < where:
        token = tokens[i]
        if token.text == "*":
            return visible_variables(tokens, where)
        if token.text == "(":
            i = closing(tokens, i)
            token = tokens[i - 1]
        if token.kind == "var":
            found[token.name] = None
        i += 1
    return list(found)


def _end_of_filter(tokens: Sequence[Token], i: int) -> int:
    """The last token of the FILTER at `i`: of its brackets, its function's or its EXISTS group."""
    i += 1
    while i < len(tokens) and tokens[i].text not in ("(", "{"):
        i += 1
    return closing(tokens, i) if i < len(tokens) else len(tokens) - 1
