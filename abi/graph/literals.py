"""Python values and RDF literals, in the one form that abi writes."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import pyoxigraph as ox

from abi import terms

__all__ = ["json_text", "number", "stored_form", "value_of", "value_order", "value_term"]

_JSON = ox.NamedNode(terms.RDF_JSON)
_INTEGER = ox.NamedNode(terms.XSD_INTEGER)
_BOOLEAN = ox.NamedNode(terms.XSD_BOOLEAN)
_INTEGERS = {
    terms.XSD + n
    for n in (
        "integer int long short byte nonNegativeInteger positiveInteger negativeInteger nonPositiveInteger "
        "unsignedInt unsignedLong unsignedShort unsignedByte"
    ).split()
}
_REALS = {terms.XSD_DOUBLE, terms.XSD_FLOAT}


def json_text(value: Any) -> str:
    """JSON in one form: sorted keys, no spaces, no escapes that are not needed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def value_term(value: Any) -> ox.Literal:
    """A JSON value as the literal of its type; lists, objects and null as rdf:JSON."""
    if isinstance(value, bool):
        return ox.Literal("true" if value else "false", datatype=_BOOLEAN)
    if isinstance(value, int):
        return ox.Literal(str(value), datatype=_INTEGER)
    if isinstance(value, (float, str)):
        return ox.Literal(value)
    return ox.Literal(json_text(value), datatype=_JSON)


def value_of(term: object) -> Any:
    """The JSON value of a term. Literals of other types come as their text, IRIs as their text.

    Raises ValueError where the text does not fit the literal's type.
    """
    if not isinstance(term, ox.Literal):
        return getattr(term, "value", str(term))
    text, datatype = term.value, term.datatype.value
    if datatype == terms.XSD_BOOLEAN:
        if text in ("true", "1"):
            return True
        if text in ("false", "0"):
            return False
        raise ValueError(f"'{text}' is neither true nor false")
    if datatype in _INTEGERS or datatype in _REALS or datatype == terms.XSD_DECIMAL:
        return number(term)
    if datatype == terms.RDF_JSON:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from error
    return text


def number(term: object) -> int | float:
    """The number of a literal of any numeric type. Raises ValueError."""
    if isinstance(term, ox.Literal):
        text, datatype = term.value.strip(), term.datatype.value
        try:
            if datatype in _INTEGERS:
                return int(text)
            if datatype == terms.XSD_DECIMAL:
                return float(Decimal(text))
            if datatype in _REALS:
                return float(text)
        except (ValueError, InvalidOperation):
            pass
    raise ValueError(f"'{getattr(term, 'value', term)}' is not a number")


def value_order(value: Any) -> tuple[int, Any, str]:
    """A key that sorts JSON values of mixed types: truth values, numbers, texts, the rest."""
    if isinstance(value, bool):
        return (0, value, "")
    if isinstance(value, (int, float)):
        return (1, value, type(value).__name__)
    if isinstance(value, str):
        return (2, value, "")
    return (3, json_text(value), "")


@lru_cache(maxsize=4096)
def stored_form(literal: ox.Literal) -> ox.Literal:
    """The literal as the store gives it back: it rewrites numbers, dates and truth values (`1.50` to `1.5`).

    Compare in this form, or an unchanged file looks changed.
    """
    if literal.language or literal.datatype.value not in _REWRITTEN:
        return literal
    scratch = ox.Store()
    scratch.add(ox.Quad(_INTEGER, _INTEGER, literal))
    (quad,) = scratch
    assert isinstance(quad.object, ox.Literal)
    return quad.object


_REWRITTEN = (
    _INTEGERS
    | _REALS
    | {terms.XSD_DECIMAL, terms.XSD_BOOLEAN}
    | {
        terms.XSD + n
        for n in (
            "dateTime date time dateTimeStamp gYear gYearMonth gMonth gMonthDay gDay duration dayTimeDuration "
            "yearMonthDuration"
        ).split()
    }
)
