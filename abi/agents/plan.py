"""What a question about a graph asks for, in terms of its schema: the step between words and SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from abi.agents.graph_schema import Attribute
from abi.graph.rows import Term

__all__ = ["Column", "Condition", "Expression", "Function", "Having", "Measure", "Plan", "Rank", "Ratio"]

Function = Literal["count", "sum", "avg", "max", "min"]
Operator = Literal["=", ">", ">=", "<", "<="]
Arithmetic = Literal["/", "*", "-", "+"]


@dataclass(frozen=True, slots=True)
class Column:
    """A value, or (`attribute` None) the individuals themselves, of one class."""

    cls: str
    attribute: Attribute | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """A function over a class's individuals (`count`) or over the sum of several values, row by row."""

    function: Function
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Two expressions, combined. A side that is a `Column` is a value that the result is grouped by."""

    left: Measure | Ratio | Column
    operator: Arithmetic
    right: Measure | Ratio | Column


Expression = Measure | Ratio


@dataclass(frozen=True, slots=True)
class Condition:
    column: Column
    operator: Operator
    value: Term


@dataclass(frozen=True, slots=True)
class Having:
    measure: int
    operator: Operator
    value: Term


@dataclass(frozen=True, slots=True)
class Rank:
    """The `limit` rows that are first by a measure (its number), or by a column."""

    by: int | Column
    descending: bool
    limit: int


@dataclass
class Plan:
    """`columns` are shown, and what measures are grouped by. `said`: properties that the question speaks of."""

    columns: list[Column] = field(default_factory=list)
    measures: list[tuple[str, Expression]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    """Classes that only say of what: the average price of the orders."""
    having: list[Having] = field(default_factory=list)
    rank: Rank | None = None
    said: set[str] = field(default_factory=set)
    relations: dict[str, set[str]] = field(default_factory=dict)
    """Words that name a relation, with the properties that they may mean: one of them has to be followed."""

    def classes(self) -> list[str]:
        """All classes that it speaks of, in order."""
        found = [c.cls for c in self.columns]
        found += [c.cls for _, e in self.measures for m in measures_of(e) for c in m.columns]
        found += [c.column.cls for c in self.conditions]
        found += self.context
        if self.rank is not None and isinstance(self.rank.by, Column):
            found.append(self.rank.by.cls)
        return list(dict.fromkeys(found))


def measures_of(expression: Measure | Ratio | Column) -> Iterator[Measure]:
    """The measures in an expression, left to right."""
    if isinstance(expression, Measure):
        yield expression
    elif isinstance(expression, Ratio):
        yield from measures_of(expression.left)
        yield from measures_of(expression.right)
