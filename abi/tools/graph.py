"""`Graph`: how a Python tool asks the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from abi.graph.rows import XSD, Rows, Term
from abi.tools.json_values import literal_of

if TYPE_CHECKING:
    from abi.records.record import Parameter
    from abi.settings import Settings

__all__ = ["IRI", "Ask", "Graph", "asking"]

Ask = Callable[[str, Mapping[str, Term]], Rows]
"""Evaluates a query, each term put in place of the variable of its name."""


class IRI(str):
    """The IRI of a thing: what an `Entity` argument is, and what `Graph.query` gives for one; no other text is."""

    __slots__ = ()


class Graph:
    """The workspace's graph, to read. A tool that has a parameter of this type is given it; no caller sees it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def query(self, text: str, **values: Any) -> list[dict[str, Any]]:
        """The rows of a SELECT, with the workspace's prefixes; an ASK gives one row with `boolean`.

        Each keyword stands in place of the variable of its name, as a term and never as text. Unbound variables are
        None. Raises QueryRefused, QuerySyntaxError, QueryTimeout, and Invalid where a keyword does not occur.
        """
        rows = self._ask(text, {name: _term(value) for name, value in values.items()})
        if rows.form == "ask":
            return [{"boolean": rows.boolean}]
        return [{name: _value(row.get(name)) for name in rows.variables} for row in rows]


def asking(query: Callable[..., Rows], settings: Settings) -> Ask:
    """What a `Graph` asks with: the guard, the settings' limits, and `query` for what passes them."""
    from abi.graph.guard import check_query
    from abi.graph.template import compile_template

    def ask(text: str, terms: Mapping[str, Term]) -> Rows:
        parameters = [_parameter(name, term) for name, term in terms.items()]
        template = compile_template(text, parameters, settings.all_prefixes(), settings)
        bound = template.bind(dict(terms))
        check_query(bound, settings)
        return query(bound, rows=settings.query_rows)

    return ask


def _value(term: Term | None) -> Any:
    if term is None:
        return None
    return IRI(term.value) if term.kind == "iri" else term.python()


def _term(value: Any) -> Term:
    if isinstance(value, IRI):
        return Term("iri", str(value))
    if isinstance(value, str | bool | int | float):
        return literal_of(value)
    if isinstance(value, Decimal):
        return Term("literal", format(value, "f"), XSD + "decimal")
    if isinstance(value, datetime):
        return Term("literal", value.astimezone(UTC).isoformat().replace("+00:00", "Z"), XSD + "dateTime")
    if isinstance(value, date):
        return Term("literal", value.isoformat(), XSD + "date")
    raise TypeError(f"a {type(value).__name__} is no term; give a text, a number, a date or an IRI")


def _parameter(name: str, term: Term) -> Parameter:
    from abi.records.record import Parameter

    if term.kind == "iri":
        return Parameter(name=name, value_class="http://www.w3.org/2002/07/owl#Thing")
    return Parameter(name=name, datatype=term.datatype or XSD + "string")
