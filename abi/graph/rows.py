"""What a query gives back, in types that every room may use (no RDF library needed to read them)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

__all__ = ["Row", "Rows", "Term"]

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_INTEGERS = {
    XSD + n
    for n in (
        "integer int long short byte nonNegativeInteger positiveInteger negativeInteger nonPositiveInteger "
        "unsignedInt unsignedLong unsignedShort unsignedByte"
    ).split()
}


@dataclass(frozen=True, slots=True)
class Term:
    """An RDF term. `datatype` is None for plain strings (xsd:string) and for IRIs and blank nodes."""

    kind: Literal["iri", "literal", "bnode"]
    value: str
    datatype: str | None = None
    language: str | None = None

    def __str__(self) -> str:
        return self.value

    def python(self) -> str | int | float | bool | Decimal | datetime:
        """The nearest Python value; the lexical form where the literal is ill-typed or of another type."""
        if self.kind != "literal" or self.datatype is None:
            return self.value
        try:
            if self.datatype in _INTEGERS:
                return int(self.value)
            if self.datatype == XSD + "decimal":
                return Decimal(self.value)
            if self.datatype in (XSD + "double", XSD + "float"):
                return float(self.value)
            if self.datatype == XSD + "boolean":
                return {"true": True, "1": True, "false": False, "0": False}.get(self.value, self.value)
            if self.datatype == XSD + "dateTime":
                return datetime.fromisoformat(self.value)
        except (ValueError, InvalidOperation):
            return self.value
        return self.value

    def n3(self) -> str:
        """The term in N-Triples form, ready to stand in a query."""
        if self.kind == "iri":
            return f"<{self.value}>"
        if self.kind == "bnode":
            return f"_:{self.value}"
        escaped = "".join(_ESCAPES.get(c, c) for c in self.value)
        if self.language:
            return f'"{escaped}"@{self.language}'
        if self.datatype and self.datatype != XSD + "string":
            return f'"{escaped}"^^<{self.datatype}>'
        return f'"{escaped}"'

    def json(self) -> dict[str, str]:
        """The term as SPARQL 1.1 Query Results JSON has it."""
        if self.kind == "iri":
            return {"type": "uri", "value": self.value}
        if self.kind == "bnode":
            return {"type": "bnode", "value": self.value}
        out = {"type": "literal", "value": self.value}
        if self.language:
            out["xml:lang"] = self.language
        elif self.datatype and self.datatype != XSD + "string":
            out["datatype"] = self.datatype
        return out


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}

Row = dict[str, Term]
"""One solution: variable name (without `?`) to term; unbound variables are absent."""


@dataclass(slots=True)
class Rows:
    """The answer to one query.

    `form` tells which of the fields holds it: `select` -> `variables` and `rows`; `ask` -> `boolean`; `construct`
    (and describe) -> `rows` with the variables subject, predicate, object. `truncated` is True where a row or byte
    limit cut it.
    """

    form: Literal["select", "ask", "construct"]
    variables: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    boolean: bool | None = None
    truncated: bool = False
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def python(self) -> list[dict[str, Any]]:
        """Rows as plain Python values, one dict a row; unbound variables are None."""
        return [{v: (row[v].python() if v in row else None) for v in self.variables} for row in self.rows]

    def json(self) -> dict[str, Any]:
        """SPARQL 1.1 Query Results JSON (select and ask)."""
        if self.form == "ask":
            return {"head": {}, "boolean": self.boolean}
        bindings = [{v: t.json() for v, t in row.items()} for row in self.rows]
        return {"head": {"vars": self.variables}, "results": {"bindings": bindings}}
