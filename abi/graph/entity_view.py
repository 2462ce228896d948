"""Anything of the graph, described: what it is, all that is said of it, and who points at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.errors import ArgumentError, NotFound, UsageError
from abi.graph.resolve import labels_of, resolve
from abi.graph.store import GraphStore
from abi.graph.used_terms import local_name, short

__all__ = ["describe", "find_entity"]

_USERS = 50
"""Things that point at one, at most; a class may have any number of individuals."""
_VALUES = 200
"""Values of one property that are shown."""


def find_entity(store: GraphStore, name: str, prefixes: Mapping[str, str]) -> str:
    """The IRI of what an IRI, `prefix:name`, label, code or alternative label means.

    Raises NotFound, with near names, and UsageError where it means several things.
    """

    def query(text: str, *, rows: int | None = None) -> Any:
        return store.query(text, max_rows=rows)

    try:
        return resolve(query, name, terms.OWL + "Thing", prefixes=prefixes).iri
    except ArgumentError as error:
        if any(f.get("code") == "ambiguous" for f in error.details["faults"]):
            raise UsageError(error.message, hint=error.hint, details=error.details) from None
        raise NotFound(f"No record and nothing else in the graph is called {name!r}.", hint=error.hint) from None


def describe(store: GraphStore, iri: str, prefixes: Mapping[str, str]) -> dict[str, Any]:
    """`{name, kind, iri, types, statements, used_by}`; a statement is `{property, label, values}`, a value that is an
    IRI `{iri, label}`, any other its Python value."""
    node = ox.NamedNode(iri)
    said: dict[str, list[Any]] = {}
    for quad in store.match(node):
        values = said.setdefault(quad.predicate.value, [])
        if quad.object not in values:
            values.append(quad.object)
    users: dict[tuple[str, str], None] = {}
    for quad in store.match(None, None, node):
        if isinstance(quad.subject, ox.NamedNode):
            users[quad.subject.value, quad.predicate.value] = None
        if len(users) == _USERS:
            break
    mentioned = [iri, *said, *(u for pair in users for u in pair)]
    mentioned += [v.value for values in said.values() for v in values[:_VALUES] if isinstance(v, ox.NamedNode)]
    labels = labels_of(lambda text, *, rows=None: store.query(text, max_rows=rows), mentioned)

    def named(one: str) -> str:
        return labels.get(one) or local_name(one)

    types = [v.value for v in said.get(terms.RDF_TYPE, []) if isinstance(v, ox.NamedNode)]
    types = [t for t in types if t != terms.OWL_NAMED_INDIVIDUAL] or types  # which says no more than that it is one
    statements = [
        {
            "property": short(predicate, prefixes),
            "label": named(predicate),
            "values": [_value(v, named) for v in sorted(values, key=str)[:_VALUES]],
        }
        for predicate, values in sorted(said.items())
        if predicate != terms.RDF_TYPE
    ]
    return {
        "name": named(iri),
        "kind": "entity",
        "iri": iri,
        "types": [{"iri": t, "label": named(t)} for t in sorted(types)],
        "statements": statements,
        "used_by": [{"name": named(s), "kind": named(p), "iri": s} for s, p in users],
    }


def _value(value: Any, named: Any) -> Any:
    if isinstance(value, ox.NamedNode):
        return {"iri": value.value, "label": named(value.value)}
    if isinstance(value, ox.Literal):
        return value.value if value.language is None else f"{value.value} ({value.language})"
    return str(value)
