"""What tools give back: plain JSON values, and the same as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from abi.graph.rows import XSD, Rows, Term

__all__ = ["jsonable", "literal_of", "rows_of"]

_JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"


def jsonable(value: Any) -> Any:
    """Plain JSON values; numbers stay numbers, times are ISO 8601, what JSON does not know is its text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(v) for v in value]
    return str(value)


def rows_of(result: Any) -> Rows:
    """A JSON value as rows: a list gives one row an item, a mapping one column a key, anything else is `result`."""
    items = [] if result is None else result if isinstance(result, list) else [result]
    rows = [
        {str(k): _cell(v) for k, v in (i.items() if isinstance(i, dict) else [("result", i)]) if v is not None}
        for i in items
    ]
    variables = list(dict.fromkeys(name for row in rows for name in row))
    return Rows("select", variables=variables, rows=rows)


def literal_of(value: str | bool | int | float) -> Term:
    """A JSON scalar as the literal of its XSD type."""
    if isinstance(value, str):
        return Term("literal", value)
    if isinstance(value, bool):
        return Term("literal", "true" if value else "false", XSD + "boolean")
    if isinstance(value, int):
        return Term("literal", str(value), XSD + "integer")
    return Term("literal", repr(value), XSD + "double")


def _cell(value: Any) -> Term:
    if isinstance(value, str | bool | int | float):
        return literal_of(value)
    return Term("literal", json.dumps(value, ensure_ascii=False), _JSON)
