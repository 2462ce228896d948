"""The clauses of one DELETE/INSERT operation, cut out of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from abi.errors import QuerySyntaxError
from abi.graph.guard import Operation
from abi.graph.tokens import Token

__all__ = ["Clauses", "operation_text", "refuse_blanks"]


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of one DELETE/INSERT operation, as tokens with their braces."""

    graph: Token | None
    delete: Sequence[Token] | None
    insert: Sequence[Token] | None
    dataset: str
    where: Sequence[Token]

    @classmethod
    def of(cls, operation: Operation) -> Clauses:
        tokens = operation.tokens
        graph: Token | None = None
        blocks: dict[str, Sequence[Token]] = {}
        dataset: list[str] = []
        at, clause = 0, ""
        while at < len(tokens):
            token = tokens[at]
            if token.upper == "WITH":
                graph = _at(operation, at + 1)
                at += 2
            elif token.upper == "USING":
                named = _at(operation, at + 1).upper == "NAMED"
                iri = _at(operation, at + 2 if named else at + 1)
                dataset.append(f"FROM {'NAMED ' if named else ''}{iri.text}")
                at += 3 if named else 2
            elif token.text == "{":
                end = _closing(tokens, at)
                blocks[clause or "WHERE"] = tokens[at : end + 1]
                at, clause = end + 1, ""
            else:
                clause = token.upper or clause
                at += 1
        if "WHERE" not in blocks:
            raise QuerySyntaxError(f"line {operation.line}: the update has no WHERE", hint="WHERE {} is always true.")
        if operation.kind == "delete_where":
            blocks["DELETE"] = blocks["WHERE"]
        return cls(graph, blocks.get("DELETE"), blocks.get("INSERT"), " ".join(dataset), blocks["WHERE"])


def refuse_blanks(operation: Operation, tokens: Sequence[Token]) -> None:
    """What is deleted is named: a blank node would be a new one, and match nothing."""
    for token in tokens:
        if token.kind == "bnode" or token.text in ("[", "("):
            raise QuerySyntaxError(
                f"line {token.line}, column {token.column}: a blank node cannot stand in what is deleted",
                hint="Bind it to a variable in WHERE.",
                details={"line": token.line, "column": token.column},
            )


def _at(operation: Operation, index: int) -> Token:
    if index >= len(operation.tokens):
        raise QuerySyntaxError(f"line {operation.line}: the operation ends before it is whole")
    return operation.tokens[index]


def _closing(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index
    return len(tokens) - 1


def operation_text(operation: Operation, tokens: Sequence[Token]) -> str:
    """The source text of some tokens of an operation, with what is between them."""
    start = operation.tokens[0].start
    return operation.text[tokens[0].start - start : tokens[-1].end - start]
