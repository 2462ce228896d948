"""SQL++ as words: what the embedded engine does not know is refused by its name, what is only written differently in
SQL is written so. What depends on the structure of the query comes after, in `abi.tools.sqlpp_duckdb`.

Lines stay where they are, so that every fault has its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from abi.records.sqlpp_tokens import SqlppFault, Token, tokenize
from abi.tools.sqlpp_functions import FUNCTIONS

__all__ = ["FUNCTION_PREFIX", "Rewritten", "refusals", "rewrite"]

FUNCTION_PREFIX = "sqlpp_f_"
"""Stands before a function's name until the function is put in its place; no SQL library takes it for its own."""

_STATEMENTS = frozenset(
    "insert upsert update delete merge create drop alter build infer explain advise prepare execute grant revoke begin "
    "commit rollback set attach copy pragma install load call export import use".split()
)
_REFUSED = {
    "nest": "NEST",
    "let": "LET",
    "letting": "LETTING",
    "keys": "USE KEYS and ON KEYS",
    "key": "ON KEY",
    "within": "WITHIN",
    "missing": "IS MISSING",
    "known": "IS KNOWN",
    "unknown": "IS UNKNOWN",
    "window": "WINDOW",
    "over": "OVER",
    "lateral": "LATERAL",
    "pivot": "PIVOT",
    "qualify": "QUALIFY",
}
_FIXES = {
    "missing": "Write IS NOT VALUED, which is true of what is missing or null.",
    "known": "Write IS VALUED.",
    "unknown": "Write IS NOT VALUED.",
    "let": "Write the expression where it is used, or in a subquery.",
    "letting": "Write the expression where it is used, or in a subquery.",
}
_RANGES = {"any": "sqlpp_any", "some": "sqlpp_any", "every": "sqlpp_every"}
_OPENS_END = {"case", *_RANGES}
# Words before a bracket that are no functions.
_BEFORE_BRACKET = frozenset(
    "select from where and or not in on as by having between then when else values union intersect except all distinct "
    "exists like is limit offset with case satisfies any some every for array raw value element join unnest using "
    "order group end filter".split()
)
_ELSEWHERE = "It runs on Couchbase only; leave it out for the embedded engine."


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`sql` is for DuckDB's parser; `raw`: the result is the values themselves (SELECT RAW)."""

    sql: str
    raw: bool


def refusals(query: str) -> list[SqlppFault]:
    """Everything in the query that is outside the subset, as far as its words tell."""
    try:
        words = [t for t in tokenize(query) if t.kind != "comment"]
    except SqlppFault as fault:
        return [fault]
    found: list[SqlppFault] = []
    if words and not (words[0].kind == "sign" or _word(words[0]) in ("select", "with", "from")):
        found.append(_refused(words[0], f"a statement that begins with {words[0].text.upper()}"))
    for n, token in enumerate(words):
        before = words[n - 1] if n else None
        after = words[n + 1] if n + 1 < len(words) else None
        if token.text == ";" and after is not None:
            found.append(_refused(after, "a second statement", "Keep one query in a file."))
            break
        if token.kind != "word" or (before is not None and before.text == "."):
            continue
        word = _word(token)
        if word in _REFUSED and (after is None or after.text not in (".", "(")):
            found.append(_refused(token, _REFUSED[word], _FIXES.get(word, _ELSEWHERE)))
        elif n and word in _STATEMENTS and after is not None and after.kind in ("word", "name"):
            found.append(_refused(token, token.text.upper()))
        elif word == "group" and after is not None and _word(after) == "as":
            found.append(_refused(token, "GROUP AS"))
        elif word == "first" and after is not None and after.text not in (".", ",", ")"):
            found += [_refused(token, "FIRST ... FOR")] if _has_for(words, n) else []
        elif after is not None and after.text == "(" and word not in _BEFORE_BRACKET | FUNCTIONS:
            if not _names_cte(words, n):
                close = get_close_matches(word, FUNCTIONS, n=1, cutoff=0.8)
                fix = f"Did you mean {close[0].upper()!r}?" if close else _ELSEWHERE
                found.append(_refused(token, f"the function {token.text.upper()}", fix))
        elif word in ("from", "join") and after is not None and after.kind == "text":
            found.append(_refused(after, "FROM a text", "Name a collection."))
    return found


def _has_for(words: list[Token], start: int) -> bool:
    for token in words[start + 1 :]:
        if _word(token) in ("for", "from", "end"):
            return _word(token) == "for"
    return False


def _names_cte(words: list[Token], n: int) -> bool:
    """`WITH x (a, b) AS`: the name of a table, with its columns."""
    return bool(n) and _word(words[n - 1]) == "with"


def _word(token: Token) -> str:
    return token.text.lower() if token.kind == "word" else ""


def _refused(token: Token, what: str, fix: str = _ELSEWHERE) -> SqlppFault:
    return SqlppFault(token.line, f"The embedded engine does not know {what}.", fix, "sqlpp-unsupported")


def rewrite(query: str) -> Rewritten:
    """The query in words that DuckDB's parser takes. Raises SqlppFault for what is outside the subset."""
    faults = refusals(query)
    if faults:
        raise faults[0]
    writer = _Writer(query)
    return Rewritten(writer.whole(), writer.raw)


class _Writer:
    def __init__(self, query: str) -> None:
        self.query = query
        self.words = [t for t in tokenize(query) if t.kind != "comment"]
        while self.words and self.words[-1].text == ";":
            self.words.pop()
        self.raw = False
        self.depth = 0
        self.selects = 0

    def whole(self) -> str:
        return self.span(0, len(self.words))

    def span(self, start: int, end: int) -> str:
        parts: list[str] = []
        n = start
        while n < end:
            text, after = self.one(n, end)
            gap = self.query[self.words[n - 1].end : self.words[n].start] if n > start else ""
            # What lies between two words is white space and comments: its lines are kept.
            parts += ["\n" * gap.count("\n") or (" " if gap else ""), text]
            n = after
        return "".join(parts)

    def one(self, n: int, end: int) -> tuple[str, int]:
        """The word at `n`, or the construct that begins with it, and where to go on."""
        token = self.words[n]
        word = _word(token) if n == 0 or self.words[n - 1].text != "." else ""
        following = _word(self.words[n + 1]) if n + 1 < end else ""
        if token.text in "()":
            self.depth += 1 if token.text == "(" else -1
        if token.kind == "text":
            return "'" + token.value.replace("'", "''") + "'", n + 1
        if token.kind == "name":
            return '"' + token.value.replace('"', '""') + '"', n + 1
        if token.kind == "parameter":
            return f"${token.value}", n + 1
        if token.text == "==":
            return "=", n + 1
        if word in _RANGES:
            return self.quantified(n, end)
        if word == "array" and n + 1 < end and self.words[n + 1].text not in ("(", "[", ".", ",", ")"):
            return self.comprehension(n, end)
        if word == "select":
            return self.select(n, end)
        if word == "is" and following in ("valued", "not"):
            return self.valued(n, end)
        if word in ("unnest", "flatten") and following:
            return "CROSS JOIN", n + 1
        if word in ("inner", "left") and following in ("unnest", "outer", "flatten"):
            return self.unnest(n, end)
        if word in FUNCTIONS and n + 1 < end and self.words[n + 1].text == "(":
            return FUNCTION_PREFIX + word, n + 1
        return token.text, n + 1

    def select(self, n: int, end: int) -> tuple[str, int]:
        """`SELECT RAW x`: the values themselves."""
        top = self.depth == 0
        text, n = self.words[n].text, n + 1
        if n < end and _word(self.words[n]) in ("distinct", "all"):
            text += " DISTINCT" if _word(self.words[n]) == "distinct" else ""
            n += 1
        raw = n + 1 < end and _word(self.words[n]) in ("raw", "value", "element")
        if raw and self.words[n + 1].text not in (",", ".") and _word(self.words[n + 1]) not in ("as", "from"):
            self.raw = self.raw or top
            return f"{text} /* raw */", n + 1
        return text, n

    def valued(self, n: int, end: int) -> tuple[str, int]:
        inverted = _word(self.words[n + 1]) == "not"
        at = n + 1 + inverted
        if at < end and _word(self.words[at]) == "valued":
            return ("IS NULL" if inverted else "IS NOT NULL"), at + 1
        return self.words[n].text, n + 1

    def unnest(self, n: int, end: int) -> tuple[str, int]:
        left = _word(self.words[n]) == "left"
        at = n + 1 + (_word(self.words[n + 1]) == "outer")
        if at >= end or _word(self.words[at]) not in ("unnest", "flatten"):
            return self.words[n].text, n + 1  # LEFT OUTER JOIN
        if not left:
            return "CROSS JOIN", at + 1
        stop = at + 1
        while (
            stop < end and (self.words[stop].text == "." or (stop > at + 1 and self.words[stop - 1].text == "."))
        ) or (stop == at + 1 and stop < end):
            stop += 1
        if stop < end and _word(self.words[stop]) == "as":
            stop += 1
        if stop < end and self.words[stop].kind in ("word", "name"):
            stop += 1
        return f"LEFT JOIN {self.span(at + 1, stop)} ON TRUE", stop

    def quantified(self, n: int, end: int) -> tuple[str, int]:
        """`ANY v IN list SATISFIES condition END`."""
        token = self.words[n]
        function = _RANGES[_word(token)]
        if _word(token) == "any" and n + 2 < end and _word(self.words[n + 1]) == "and":
            raise _refused(token, "ANY AND EVERY")
        name, source, stop = self.binding(n + 1, end, ("satisfies",), token)
        close = self.closing(stop + 1, end, token)
        condition = self.span(stop + 1, close)
        return f"{FUNCTION_PREFIX}{function}({source}, {name} -> ({condition}))", close + 1

    def comprehension(self, n: int, end: int) -> tuple[str, int]:
        """`ARRAY expression FOR v IN list WHEN condition END`."""
        token = self.words[n]
        middle = self.until(n + 1, end, ("for",), token)
        expression = self.span(n + 1, middle)
        name, source, stop = self.binding(middle + 1, end, ("when", "end"), token)
        condition = "TRUE"
        close = stop
        if _word(self.words[stop]) == "when":
            close = self.closing(stop + 1, end, token)
            condition = self.span(stop + 1, close)
        call = f"{FUNCTION_PREFIX}sqlpp_array({source}, {name} -> ({condition}), {name} -> ({expression}))"
        return call, close + 1

    def binding(self, n: int, end: int, stops: tuple[str, ...], token: Token) -> tuple[str, str, int]:
        what = token.text.upper()
        if n + 1 >= end or self.words[n].kind not in ("word", "name") or _word(self.words[n + 1]) != "in":
            message = f"After {what} a variable and IN are expected."
            raise SqlppFault(token.line, message, f"Write {what} v IN list ... END.")
        stop = self.until(n + 2, end, stops, token)
        depth = 0
        for inner in self.words[n + 2 : stop]:
            depth += (inner.text in ("(", "[", "{")) - (inner.text in (")", "]", "}"))
            if inner.text == "," and depth == 0:
                raise _refused(token, f"{what} over several variables")
        return self.span(n, n + 1), self.span(n + 2, stop), stop

    def until(self, n: int, end: int, stops: tuple[str, ...], token: Token) -> int:
        """Where one of the words stands that is not inside a bracket or another construct with END."""
        depth = 0
        for at in range(n, end):
            word = _word(self.words[at]) if self.words[at - 1].text != "." else ""
            if depth == 0 and word in stops:
                return at
            opens = self.words[at].text in ("(", "[", "{") or word in _OPENS_END or self.is_comprehension(at, end)
            depth += opens - (self.words[at].text in (")", "]", "}") or word == "end")
        wanted = " or ".join(stops).upper()
        raise SqlppFault(token.line, f"{token.text.upper()} has no {wanted}.", f"Add {wanted}.")

    def closing(self, n: int, end: int, token: Token) -> int:
        return self.until(n, end, ("end",), token)

    def is_comprehension(self, at: int, end: int) -> bool:
        after = self.words[at + 1].text if at + 1 < end else ""
        return _word(self.words[at]) == "array" and after not in ("", "(", "[", ".", ",", ")")
