"""What a query or an update from outside may be, decided on its tokens before any parser sees it.

Refused: SERVICE and LOAD (both open connections), datasets that are files, and texts long, deep or busy enough to take
the parser's stack (a native crash, not an exception). Everything else is the store's business: a text that passes here
may still be a syntax error there. Where the tokens leave doubt the answer is no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NoReturn

from abi.errors import QueryRefused, QuerySyntaxError
from abi.graph.tokens import Token, tokenize
from abi.settings import Settings
from abi.texts import need_whole

__all__ = ["Form", "Operation", "OperationKind", "Verdict", "check_query", "check_update"]

Form = Literal["select", "ask", "construct", "describe"]
OperationKind = Literal[
    "insert_data", "delete_data", "delete_where", "modify", "clear", "drop", "create", "copy", "move", "add"
]

_FORMS: dict[str, Form] = {"SELECT": "select", "ASK": "ask", "CONSTRUCT": "construct", "DESCRIBE": "describe"}
_UPDATES = frozenset("INSERT DELETE WITH LOAD CLEAR DROP CREATE COPY MOVE ADD".split())
_GRAPH_MANAGEMENT: dict[str, OperationKind] = {
    "CLEAR": "clear",
    "DROP": "drop",
    "CREATE": "create",
    "COPY": "copy",
    "MOVE": "move",
    "ADD": "add",
}
_TERMS = frozenset({"iri", "pname", "bnode", "var", "string", "number"})
_LIST_WEIGHT = 3
"""A term right behind a term may be an item of a collection or of DESCRIBE, which take the most stack a token: 8 MiB
end at 2,600 of them. At 5,000 in all, a third of that is let through."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A query that may run. `variables` are the names of all its variables, sorted."""

    form: Form
    variables: tuple[str, ...]
    has_dataset: bool
    """True where the query names its own graphs with FROM."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of an update: `prologue + text` is an update of its own. `tokens` are those of `text`, with
    positions in the whole update; `line` is where it begins."""

    kind: OperationKind
    text: str
    prologue: str
    prefixes: dict[str, str]
    base: str | None
    tokens: tuple[Token, ...]
    line: int


def check_query(text: str, settings: Settings, prefixes: dict[str, str] | None = None) -> Verdict:
    """Let a SELECT, ASK, CONSTRUCT or DESCRIBE through, or raise QueryRefused or QuerySyntaxError with its position.

    `prefixes`: what is predeclared; the settings' own if not given.
    """
    declared = prefixes if prefixes is not None else settings.all_prefixes()
    return _check_query(text, _Limits.of(settings), tuple(sorted(declared.items())))


def check_update(text: str, settings: Settings, prefixes: dict[str, str] | None = None) -> list[Operation]:
    """Split an update into its operations, or raise QueryRefused or QuerySyntaxError with the position.

    An update without any operation gives an empty list.
    """
    limits = _Limits.of(settings)
    declared = dict(prefixes if prefixes is not None else settings.all_prefixes())
    tokens = _scan(text, limits, update=True)
    operations: list[Operation] = []
    start, base, prologue = 0, None, ""
    while start < len(tokens):
        first, base = _prologue(tokens, start, declared, base)
        if first > start:
            prologue += text[tokens[start].start : tokens[first - 1].end] + "\n"
        if first == len(tokens):
            break
        stop = _end_of_operation(tokens, first)
        if stop > first:
            part = tuple(tokens[first:stop])
            kind = _operation_kind(part)
            _check_dataset(part, ("USING", "FROM"), declared)
            source = text[part[0].start : part[-1].end]
            operations.append(Operation(kind, source, prologue, dict(declared), base, part, part[0].line))
        elif tokens[first].text == ";" and first == start and not operations:
            _wrong(tokens[first], "an operation is missing before this `;`")
        start = stop + 1
    return operations


@dataclass(frozen=True, slots=True)
class _Limits:
    bytes: int
    depth: int
    operators: int

    @classmethod
    def of(cls, settings: Settings) -> _Limits:
        return cls(settings.max_query_bytes, settings.max_query_depth, settings.max_query_operators)


@lru_cache(maxsize=512)
def _check_query(text: str, limits: _Limits, prefixes: tuple[tuple[str, str], ...]) -> Verdict:
    tokens = _scan(text, limits, update=False)
    declared = dict(prefixes)
    first, _ = _prologue(tokens, 0, declared, None)
    if first == len(tokens):
        raise QuerySyntaxError("There is no query in this text.", hint="Begin with SELECT, ASK, CONSTRUCT or DESCRIBE.")
    head = tokens[first]
    form = _FORMS.get(head.upper)
    if form is None:
        if head.upper in _UPDATES:
            raise QueryRefused(
                f"line {head.line}, column {head.column}: {head.upper} is an update, and only queries are let through.",
                hint="Changes go through `abi update`.",
                details=_where(head),
            )
        _wrong(head, f"a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not with `{head.text[:40]}`")
    if prefixes:  # without them it is not known which prefixes the store declares itself
        for token in tokens[first:]:
            if token.kind == "pname" and token.text.partition(":")[0] not in declared:
                name = token.text.partition(":")[0]
                raise QuerySyntaxError(
                    f"line {token.line}, column {token.column}: the prefix {name}: is not declared.",
                    hint="Add it to `prefixes` in abi.yaml, or begin the query with a PREFIX line.",
                    details=_where(token),
                )
    has_dataset = _check_dataset(tokens[first:], ("FROM",), declared)
    variables = tuple(sorted({t.name for t in tokens if t.kind == "var"}))
    return Verdict(form, variables, has_dataset)


def _scan(text: str, limits: _Limits, *, update: bool) -> tuple[Token, ...]:
    """Tokens of a text that is within its limits and opens no connection."""
    need_whole("The query", text)
    size = len(text.encode())
    if size > limits.bytes:
        raise QueryRefused(
            f"This text has {size:,} bytes; {limits.bytes:,} are allowed.", hint="The limit is max_query_bytes."
        )
    tokens = tokenize(text)
    closing: list[bool] = []  # for each open bracket, whether what is in it is data
    weight = 0
    data = False
    for i, token in enumerate(tokens):
        word = token.upper
        if token.kind in ("word", "pname"):
            _check_connection(tokens, i, update=update)
        if word == "VALUES" or (word == "DATA" and update):
            data = True
        elif token.text in ("{", "(", "[", "<<"):
            # A VALUES clause's own list of variables stands in ( ) before its { }.
            closing.append((bool(closing) and closing[-1]) or (data and token.text == "{"))
            data = data and token.text != "{"
            if len(closing) > limits.depth:
                raise QueryRefused(
                    f"line {token.line}, column {token.column}: brackets are nested deeper than {limits.depth}.",
                    hint="The limit is max_query_depth.",
                    details=_where(token),
                )
        elif token.text in ("}", ")", "]", ">>") and closing:
            closing.pop()
        if not closing or not closing[-1]:
            in_list = token.kind in _TERMS and i > 0 and tokens[i - 1].kind in _TERMS
            weight += _LIST_WEIGHT if in_list else 1
    if weight > limits.operators:
        raise QueryRefused(
            f"This text has {weight:,} words and signs outside of its data; {limits.operators:,} are allowed.",
            hint="Put long lists into VALUES; the limit is max_query_operators.",
        )
    return tokens


def _check_connection(tokens: Sequence[Token], i: int, *, update: bool) -> None:
    """Refuse SERVICE and LOAD, also glued to another word: the parser needs no space between `true` and `SERVICE`."""
    token = tokens[i]
    if token.kind == "word":
        upper = token.upper
        if "SERVICE" in upper:
            _refuse(token, "SERVICE sends a query to another server, which is not allowed")
        if update and "LOAD" in upper:
            _refuse(token, "LOAD fetches a document, which is not allowed")
        return
    prefix = token.text.partition(":")[0].upper()
    follows = tokens[i + 1].text if i + 1 < len(tokens) else ""
    before = tokens[i - 1].upper if i else ""
    # `SERVICE:x {` may be a SERVICE at `:x`; after these words it can only be the name of a graph.
    if prefix.endswith(("SERVICE", "SILENT")) and follows == "{" and before not in ("GRAPH", "FROM", "NAMED"):
        _refuse(token, "SERVICE sends a query to another server, which is not allowed")


def _prologue(
    tokens: Sequence[Token], start: int, declared: dict[str, str], base: str | None
) -> tuple[int, str | None]:
    """Index of the first token after PREFIX and BASE; adds to `declared`."""
    i = start
    while i < len(tokens):
        word = tokens[i].upper
        if word == "PREFIX":
            if i + 2 >= len(tokens) or tokens[i + 1].kind != "pname" or tokens[i + 2].kind != "iri":
                _wrong(tokens[i], "PREFIX needs a name with a colon and an IRI: `PREFIX ex: <https://example.org/>`")
            if not tokens[i + 1].text.endswith(":"):
                _wrong(tokens[i + 1], "a prefix ends with its colon")
            declared[tokens[i + 1].text[:-1]] = tokens[i + 2].name
            i += 3
        elif word in ("BASE", "VERSION"):
            if i + 1 >= len(tokens) or tokens[i + 1].kind not in ("iri", "string"):
                _wrong(tokens[i], f"{word} needs a value")
            base = tokens[i + 1].name if word == "BASE" else base
            i += 2
        else:
            break
    return i, base


def _check_dataset(tokens: Sequence[Token], words: tuple[str, ...], declared: dict[str, str]) -> bool:
    """Refuse a dataset that is a file. (The store only ever takes these IRIs as names of graphs; others would read.)"""
    found = False
    for i, token in enumerate(tokens[:-1]):
        if not token.upper.endswith((*words, "NAMED")):
            continue
        found = True
        source = tokens[i + 1]
        iri = source.name
        if source.kind == "pname":
            prefix, _, local = source.text.partition(":")
            iri = declared.get(prefix, prefix + ":") + local
        if source.kind in ("iri", "pname") and iri.lower().startswith("file:"):
            _refuse(source, "a dataset names graphs of the store, never files")
    return found


def _end_of_operation(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for i in range(start, len(tokens)):
        text = tokens[i].text
        if text in ("{", "(", "["):
            depth += 1
        elif text in ("}", ")", "]"):
            depth -= 1
        elif text == ";" and depth == 0:
            return i
    return len(tokens)


def _operation_kind(tokens: Sequence[Token]) -> OperationKind:
    head, following = tokens[0], tokens[1] if len(tokens) > 1 else tokens[0]
    word, second = head.upper, following.upper
    if word in _GRAPH_MANAGEMENT:
        return _GRAPH_MANAGEMENT[word]
    if word == "INSERT" and second == "DATA":
        return "insert_data"
    if word == "DELETE" and second == "DATA":
        return "delete_data"
    if word == "DELETE" and second == "WHERE":
        return "delete_where"
    if word in _FORMS:
        raise QuerySyntaxError(
            f"line {head.line}, column {head.column}: {word} is a query, not an update.",
            hint="Queries go through `abi sparql`.",
            details=_where(head),
        )
    if word != "WITH" and (word not in ("INSERT", "DELETE") or following.text != "{"):
        _wrong(head, f"an update begins with INSERT, DELETE, WITH, CLEAR, DROP, ..., not with `{head.text[:40]}`")
    return "modify"


def _where(token: Token) -> dict[str, int]:
    return {"line": token.line, "column": token.column}


def _wrong(token: Token, what: str) -> NoReturn:
    raise QuerySyntaxError(f"line {token.line}, column {token.column}: {what}.", details=_where(token))


def _refuse(token: Token, what: str) -> NoReturn:
    raise QueryRefused(f"line {token.line}, column {token.column}: {what}.", details=_where(token))
