"""An annotation predicate as a SPARQL expression over `?record`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from abi import terms
from abi.graph.rows import Term
from abi.records.annotation_predicate import And, Compare, In, Not, Predicate, parse_predicate

__all__ = ["annotation_filter"]


def annotation_filter(text: str) -> str:
    """`FILTER(...)` that keeps the `?record`s for which the predicate holds. Raises UsageError where it does not parse.

    Keys and values stand in it as literals in N-Triples form, so nothing in them is read as SPARQL.
    """
    return f"FILTER({_expression(parse_predicate(text), count())})"


def _expression(node: Predicate, numbers: Iterator[int]) -> str:
    if isinstance(node, Compare):
        return _exists(node.key, f"{node.operator} {_literal(node.value)}", numbers)
    if isinstance(node, In):
        return _exists(node.key, f"IN ({', '.join(_literal(value) for value in node.values)})", numbers)
    if isinstance(node, Not):
        return f"!({_expression(node.operand, numbers)})"
    sign = " && " if isinstance(node, And) else " || "
    return "(" + sign.join(_expression(operand, numbers) for operand in node.operands) + ")"


def _exists(key: str, comparison: str, numbers: Iterator[int]) -> str:
    """The record has that annotation with a value that compares so."""
    node = f"?annotation{next(numbers)}"
    return (
        f"EXISTS {{ ?record <{terms.HAS_ANNOTATION}> {node} . {node} <{terms.KEY}> {_literal(key)} ; "
        f"<{terms.VALUE}> {node}_value FILTER({node}_value {comparison}) }}"
    )


def _literal(text: str) -> str:
    return Term("literal", text).n3()
