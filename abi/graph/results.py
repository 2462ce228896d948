"""What Oxigraph answers, as the types that every room may use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pyoxigraph as ox

from abi import terms
from abi.graph.rows import Row, Rows, Term

__all__ = ["rows_of", "term_of"]


def term_of(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
    """An Oxigraph term as the type that every room may use. Triple terms (RDF 1.2) come as their text."""
    if isinstance(term, ox.NamedNode):
        return Term("iri", term.value)
    if isinstance(term, ox.Literal):
        if term.language:
            return Term("literal", term.value, None, term.language)
        datatype = term.datatype.value
        return Term("literal", term.value, None if datatype == terms.XSD_STRING else datatype)
    if isinstance(term, ox.BlankNode):
        return Term("bnode", term.value)
    return Term("literal", str(term))


def rows_of(result: object, limit: int | None) -> Rows:
    """The rows of an answer, `limit` of them at most."""
    if isinstance(result, ox.QueryBoolean):
        return Rows("ask", boolean=bool(result))
    if isinstance(result, ox.QuerySolutions):
        names = [v.value for v in result.variables]
        rows = Rows("select", names)
        for solution in result:
            if limit is not None and len(rows.rows) >= limit:
                rows.truncated = True
                break
            row: Row = {n: term_of(t) for n, t in zip(names, solution, strict=True) if t is not None}
            rows.rows.append(row)
        return rows
    rows = Rows("construct", ["subject", "predicate", "object"])
    for triple in cast("Iterable[ox.Triple]", result):
        if limit is not None and len(rows.rows) >= limit:
            rows.truncated = True
            break
        rows.rows.append(
            {
                "subject": term_of(triple.subject),
                "predicate": term_of(triple.predicate),
                "object": term_of(triple.object),
            }
        )
    return rows
