"""Search inside SPARQL, replaced by its results before a query is evaluated, so that no worker carries an embedder.

    SELECT ?tool WHERE { ?tool a abi:SparqlTemplate ; abi:search "flights without a stop" }
    SELECT ?x WHERE { ?x a abi:Tool } ORDER BY DESC(abi:similarity(?x, "flights without a stop")) LIMIT 3

`abi:search` as a property, between a variable (or an IRI) and a text, becomes a VALUES of what a search finds.
`abi:similarity`, from 0 to 1, becomes a variable that VALUES binds at the end of the group in which the function stands
(before it, in a BIND), and 0 where nothing is bound. Both work on tokens: nothing in a string or a comment is touched,
and lines stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from abi import terms
from abi.errors import QuerySyntaxError
from abi.graph.rows import Term
from abi.graph.tokens import Token, tokenize
from abi.search.visible_variables import closing, is_select, visible_variables, where_group

__all__ = ["SEARCH", "SIMILARITY", "Searches", "rewrite"]

SEARCH = terms.ABI + "search"
SIMILARITY = terms.ABI + "similarity"

_MENTIONED = re.compile(r"search|similarity", re.IGNORECASE)
_STRING_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_AGGREGATES = frozenset({"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"})
_MOST = 20
"""Different searches in one query; each costs milliseconds, outside of the query's time limit."""


class Searches(Protocol):
    """What a search finds; IRIs, and similarities from 0 to 1."""

    def found(self, text: str) -> Sequence[str]: ...
    def similar(self, text: str) -> Mapping[str, float]: ...


@dataclass(slots=True)
class _Edits:
    """What is put in before a position of the text, and what is cut out of it."""

    inserted: dict[int, list[str]] = field(default_factory=dict)
    cut: list[tuple[int, int]] = field(default_factory=list)

    def insert(self, at: int, text: str) -> None:
        self.inserted.setdefault(at, []).append(text)

    def applied(self, text: str) -> str:
        out: list[str] = []
        cuts = sorted(self.cut)
        position = 0
        for at in sorted({*self.inserted, *(start for start, _ in cuts)}):
            if at > position:
                out.append(text[position:at])
                position = at
            out += self.inserted.get(at, [])
            for start, end in cuts:
                if start == at and end > position:
                    # The lines stay, for the positions of errors.
                    out.append("\n" * text.count("\n", position, end) + " ")
                    position = end
        return "".join([*out, text[position:]])


def rewrite(text: str, prefixes: Mapping[str, str], searches: Callable[[], Searches]) -> str:
    """The query with its searches replaced; the text itself, and nothing asked of `searches`, where it has none.

    Raises QuerySyntaxError with the position where a search cannot stand as it does, QueryRefused as `tokenize`.
    """
    if not _MENTIONED.search(text):
        return text
    tokens = tokenize(text)
    names = _Names(tokens, prefixes)
    wanted = [(i, names.iri(token)) for i, token in enumerate(tokens) if token.kind in ("pname", "iri")]
    calls = [(i, iri) for i, iri in wanted if iri in (SEARCH, SIMILARITY) and not _in_prologue(tokens, i)]
    if not calls:
        return text
    if len(calls) > _MOST:
        _wrong(tokens[calls[_MOST][0]], f"a query has at most {_MOST} searches")
    edits = _Edits()
    one = _Rewriter(tokens, names, searches(), edits)
    for i, iri in calls:
        if iri == SEARCH:
            one.pattern(i)
        else:
            one.function(i)
    one.finish()
    return edits.applied(text)


class _Names:
    """Prefixed names as IRIs."""

    def __init__(self, tokens: Sequence[Token], prefixes: Mapping[str, str]) -> None:
        self._prefixes = dict(prefixes)
        for i, token in enumerate(tokens[:-2]):
            if token.upper == "PREFIX" and tokens[i + 1].kind == "pname" and tokens[i + 2].kind == "iri":
                self._prefixes[tokens[i + 1].text[:-1]] = tokens[i + 2].name

    def iri(self, token: Token) -> str | None:
        if token.kind == "iri":
            return token.name
        prefix, _, local = token.text.partition(":")
        return self._prefixes[prefix] + local if token.kind == "pname" and prefix in self._prefixes else None


def _in_prologue(tokens: Sequence[Token], i: int) -> bool:
    return i > 1 and tokens[i - 2].upper == "PREFIX"


class _Rewriter:
    def __init__(self, tokens: Sequence[Token], names: _Names, searches: Searches, edits: _Edits) -> None:
        self.tokens = tokens
        self.names = names
        self.searches = searches
        self.edits = edits
        self._similar: dict[tuple[int, str, str], str] = {}
        self._stars: dict[int, list[str]] = {}
        self._wrapped: set[int] = set()
        self._used = {token.name for token in tokens if token.kind == "var"}

    # ?x abi:search "text"

    def pattern(self, i: int) -> None:
        tokens = self.tokens
        before, after = self._at(i - 1), self._at(i + 1)
        if after is None or after.kind != "string":
            _wrong(tokens[i], 'abi:search is followed by one text: ?record abi:search "what to look for"')
        last = self._end_of_literal(i + 1)
        follows = self._at(last + 1)
        if follows is not None and follows.text in ("]", ")"):
            _wrong(tokens[i], "abi:search cannot stand inside of ( ) or [ ]")
        if follows is None or (follows.text not in (".", ";", "{", "}") and follows.upper not in _AFTER_TRIPLES):
            _wrong(tokens[last], "abi:search takes one text; several searches are several patterns")
        self._refuse_in_template(i)
        leading = before is not None and before.text == ";"
        subject = self._subject(i) if leading else i - 1
        term = tokens[subject] if subject >= 0 else None
        if term is None or term.kind not in ("var", "iri", "pname"):
            _wrong(tokens[i], "abi:search stands between a variable, or an IRI, and a text")
        self.edits.insert(term.start, self._found(term, _value(tokens[i + 1])))
        if leading:
            # Its own part of the list: `; abi:search "text"`.
            self.edits.cut.append((tokens[i - 1].start, tokens[last].end))
        elif follows.text == ";" and not self._list_ends(last + 1):
            self.edits.cut.append((tokens[i].start, self._end_of_semicolons(last + 1)))
        else:
            end = self._end_of_semicolons(last + 1) if follows.text == ";" else tokens[last].end
            self.edits.cut.append((term.start, end))

    def _found(self, term: Token, text: str) -> str:
        values = " ".join(Term("iri", iri).n3() for iri in self.searches.found(text))
        if term.kind == "var":
            return f"VALUES {term.text} {{ {values} }} "
        name = self._fresh("search")
        return f"VALUES ?{name} {{ {values} }} FILTER(?{name} = {term.text}) "

    def _subject(self, i: int) -> int:
        """Where the subject stands, of whose list of properties the one at `i` is not the first."""
        start = self._start_of_triples(i)
        n = start
        while n < i:  # a FILTER or BIND needs no dot before or after it
            if self.tokens[n].upper in ("FILTER", "BIND"):
                while n < i and self.tokens[n].text != "(":
                    n += 1
                n = closing(self.tokens, n)
                start = n + 1
            n += 1
        if self.tokens[start].text in ("(", "["):
            _wrong(self.tokens[i], "abi:search stands between a variable, or an IRI, and a text")
        return start

    def _start_of_triples(self, i: int) -> int:
        depth = 0
        while i > 0:
            text = self.tokens[i - 1].text
            if text in (")", "]"):
                depth += 1
            elif text in ("(", "["):
                if depth == 0:
                    _wrong(self.tokens[i], "abi:search cannot stand inside of ( ) or [ ]")
                depth -= 1
            elif depth == 0 and text in (".", "{", "}"):
                return i
            i -= 1
        return i

    def _list_ends(self, i: int) -> bool:
        """Whether nothing of a list of properties follows the semicolon at `i`."""
        while i < len(self.tokens) and self.tokens[i].text == ";":
            i += 1
        following = self._at(i)
        return following is None or following.text in (".", "}")

    def _end_of_semicolons(self, i: int) -> int:
        while i + 1 < len(self.tokens) and self.tokens[i + 1].text == ";":
            i += 1
        return self.tokens[i].end

    def _end_of_literal(self, i: int) -> int:
        following = self._at(i + 1)
        if following is not None and following.kind == "langtag":
            return i + 1
        if following is not None and following.text == "^^":
            return i + 2
        return i

    def _refuse_in_template(self, i: int) -> None:
        for at, token in enumerate(self.tokens[:i]):
            following = self._at(at + 1)
            if token.upper != "CONSTRUCT" or following is None:
                continue
            if following.upper == "WHERE":
                _wrong(self.tokens[i], "CONSTRUCT WHERE takes no search; write CONSTRUCT { ... } WHERE { ... }")
            if following.text == "{" and at + 1 < i < closing(self.tokens, at + 1):
                _wrong(self.tokens[i], "abi:search finds; it is nothing that could be constructed")

    # abi:similarity(?x, "text")

    def function(self, i: int) -> None:
        tokens = self.tokens
        shape = tokens[i + 1 : i + 5]
        last = self._end_of_literal(i + 4) if len(shape) == 4 and shape[3].kind == "string" else i
        end = self._at(last + 1)
        if [t.text for t in shape[:1]] != ["("] or last == i or shape[2].text != "," or end is None or end.text != ")":
            _wrong(tokens[i], 'this function is called like abi:similarity(?record, "what to compare with")')
        term, text = shape[1], _value(shape[3])
        if term.kind in ("iri", "pname"):
            iri = self.names.iri(term)
            value = f"{self.searches.similar(text).get(iri or '', 0.0):.4f}"
        elif term.kind == "var":
            value = self._bound(i, term, text)
        else:
            _wrong(term, "abi:similarity compares what a variable or an IRI names")
        self.edits.insert(tokens[i].start, value)
        self.edits.cut.append((tokens[i].start, end.end))

    def _bound(self, i: int, term: Token, text: str) -> str:
        """The expression that stands for a call, and what binds its variable."""
        group = self._group(i)
        select = group < 0 or is_select(self.tokens, group)
        where = where_group(self.tokens, group) if select else group
        if where is None:
            _wrong(self.tokens[i], "abi:similarity needs a WHERE { ... } that binds its variable")
        end = closing(self.tokens, where)
        if not any(t.kind == "var" and t.name == term.name for t in self._pattern(where, end, i)):
            _wrong(term, f"?{term.name} is not bound in the group in which abi:similarity stands")
        bind = None if select else self._bind_before(i, where)
        key = (self.tokens[bind].start if bind is not None else self.tokens[end].start, term.name, text)
        if key not in self._similar:
            name = self._similar[key] = self._fresh("similarity")
            rows = " ".join(f"({Term('iri', iri).n3()} {s:.4f})" for iri, s in self.searches.similar(text).items())
            if is_select(self.tokens, where) and where not in self._wrapped:
                self._wrapped.add(where)
                self.edits.insert(self.tokens[where + 1].start, "{ ")
                self.edits.insert(key[0], " } ")
            self.edits.insert(key[0], f" OPTIONAL {{ VALUES (?{term.name} ?{name}) {{ {rows} }} }} ")
            self._hide_from_stars(i)
        value = f"COALESCE(?{self._similar[key]}, 0.0)"
        grouped = select and self._is_grouped(group) and not self._in_group_by(i)
        return f"SAMPLE({value})" if grouped and not self._in_aggregate(i) else value

    def _pattern(self, where: int, end: int, call: int) -> list[Token]:
        """The tokens of a group without the arguments of the call."""
        return [t for n, t in enumerate(self.tokens[where:end], where) if not call <= n <= call + 5]

    def _group(self, i: int) -> int:
        """The innermost `{` around a token; -1 where it is in none."""
        depth = 0
        for n in range(i - 1, -1, -1):
            if self.tokens[n].text == "}":
                depth += 1
            elif self.tokens[n].text == "{":
                if depth == 0:
                    return n
                depth -= 1
        return -1

    def _bind_before(self, i: int, group: int) -> int | None:
        """The BIND whose expression the token at `i` is in."""
        for n in range(i - 1, group, -1):
            if self.tokens[n].upper == "BIND" and closing(self.tokens, n + 1) > i:
                return n
        return None

    def _in_group_by(self, i: int) -> bool:
        for n in range(i - 1, -1, -1):
            word = self.tokens[n].upper
            if word == "GROUP":
                return True
            if word in ("HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES", "SELECT") or self.tokens[n].text == "}":
                return False
        return False

    def _is_grouped(self, group: int) -> bool:
        """Whether a SELECT groups its rows: by GROUP BY, or by an aggregate in what it gives."""
        stop = closing(self.tokens, group) if group >= 0 else len(self.tokens)
        depth = 0
        for n in range(group + 1, stop):
            text = self.tokens[n].text
            depth += (text == "{") - (text == "}")
            if depth == 0 and (self.tokens[n].upper == "GROUP" or self._is_aggregate(n)):
                return True
        return False

    def _is_aggregate(self, n: int) -> bool:
        following = self._at(n + 1)
        return self.tokens[n].upper in _AGGREGATES and following is not None and following.text == "("

    def _in_aggregate(self, i: int) -> bool:
        return any(self._is_aggregate(n) and closing(self.tokens, n + 1) > i for n in range(i))

    def _hide_from_stars(self, i: int) -> None:
        """Every `SELECT *` around gets its variables by name, as they were before there were others."""
        group = i
        while True:
            group = self._group(group)
            if group < 0 or is_select(self.tokens, group):
                star = self._star(group)
                where = where_group(self.tokens, group)
                if star is not None and where is not None and star not in self._stars:
                    self._stars[star] = visible_variables(self.tokens, where)
            if group < 0:
                return

    def _star(self, group: int) -> int | None:
        for n in range(group + 1, len(self.tokens)):
            if self.tokens[n].text == "{":
                return None
            if self.tokens[n].text == "*" and self.tokens[n - 1].upper in ("SELECT", "DISTINCT", "REDUCED"):
                return n
        return None

    def finish(self) -> None:
        for star, variables in self._stars.items():
            self.edits.insert(self.tokens[star].start, " ".join(f"?{name}" for name in variables))
            self.edits.cut.append((self.tokens[star].start, self.tokens[star].end))

    # Both

    def _at(self, i: int) -> Token | None:
        return self.tokens[i] if 0 <= i < len(self.tokens) else None

    def _fresh(self, what: str) -> str:
        number = 1
        while f"abi_{what}_{number}" in self._used:
            number += 1
        name = f"abi_{what}_{number}"
        self._used.add(name)
        return name


_AFTER_TRIPLES = frozenset("FILTER OPTIONAL MINUS UNION GRAPH BIND VALUES".split())


def _value(token: Token) -> str:
    """The text of a string token."""
    quotes = 3 if token.text[:3] in ('"""', "'''") else 1
    return _STRING_ESCAPE.sub(_unescaped, token.text[quotes:-quotes])


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    return chr(int(digits, 16)) if digits else _PLAIN_ESCAPES.get(match[3], match[3])


def _wrong(token: Token, what: str) -> NoReturn:
    raise QuerySyntaxError(
        f"line {token.line}, column {token.column}: {what}.", details={"line": token.line, "column": token.column}
    )
