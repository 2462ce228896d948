"""Literals whose text is none of their datatype, `"abc"^^xsd:integer`: RDF has them, no query can use them."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable

import pyoxigraph as ox

from abi.findings import Finding

__all__ = ["ill_typed", "ill_typed_literals"]

_XSD = "http://www.w3.org/2001/XMLSchema#"
_TOLD = 50
"""Findings of one file: where all of a column is wrong, the first few say it."""
_ZONE = r"(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?"
_YEAR, _MONTH, _DAY = r"-?(?:[1-9]\d{3,}|0\d{3})", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATE = rf"{_YEAR}-{_MONTH}-{_DAY}"
_TIME = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)"
_YEARS, _DAYS = r"(?:\d+Y)?(?:\d+M)?", r"(?:\d+D)?"
_CLOCK = r"(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?"
_REAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN"
_FORMS = {
    "boolean": "true|false|1|0",
    "integer": r"[+-]?\d+",
    "decimal": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)",
    "double": _REAL,
    "float": _REAL,
    "date": _DATE + _ZONE,
    "dateTime": f"{_DATE}T{_TIME}{_ZONE}",
    "dateTimeStamp": f"{_DATE}T{_TIME}(?!$){_ZONE}",
    "time": _TIME + _ZONE,
    "gYear": _YEAR + _ZONE,
    "gYearMonth": f"{_YEAR}-{_MONTH}{_ZONE}",
    "gMonth": f"--{_MONTH}{_ZONE}",
    "gMonthDay": f"--{_MONTH}-{_DAY}{_ZONE}",
    "gDay": f"---{_DAY}{_ZONE}",
    "duration": rf"-?P(?=[\dT]){_YEARS}{_DAYS}{_CLOCK}",
    "dayTimeDuration": rf"-?P(?=[\dT]){_DAYS}{_CLOCK}",
    "yearMonthDuration": rf"-?P(?=\d){_YEARS}",
    "hexBinary": r"(?:[0-9a-fA-F]{2})*",
    "base64Binary": r"(?:(?:[A-Za-z0-9+/] ?){4})*(?:(?:[A-Za-z0-9+/] ?){2}(?:[A-Za-z0-9+/] ?|= ?)=)?",
    "language": r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*",
}
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_BOUNDS: dict[str, tuple[int | None, int | None]] = {
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    **{name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in _BITS.items()},
    **{f"unsigned{name.capitalize()}": (0, 2**bits - 1) for name, bits in _BITS.items()},
}
_COMPILED = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
_MAX_DIGITS = 4000
"""Python refuses to read longer numbers; no bounded type has them."""


def ill_typed(text: str, datatype: str) -> bool:
    """Whether a text is none of an XML Schema datatype. Of other datatypes nothing is known."""
    local = datatype.removeprefix(_XSD) if datatype.startswith(_XSD) else ""
    bounds = _BOUNDS.get(local)
    form = _COMPILED.get("integer" if bounds else local)
    if form is None:
        return False
    if form.fullmatch(text) is None:
        return True
    if bounds is not None:
        least, most = bounds
        if len(text) > _MAX_DIGITS:
            return least is not None and most is not None
        return (least is not None and int(text) < least) or (most is not None and int(text) > most)
    if local in ("date", "dateTime", "dateTimeStamp") and text[0] != "-" and text[4] == "-" and text[:4] != "0000":
        return int(text[8:10]) > monthrange(int(text[:4]), int(text[5:7]))[1]
    return False


def ill_typed_literals(quads: Iterable[ox.Quad], text: str, path: str) -> list[Finding]:
    """A warning for each such literal of a file, where its text first stands; at most so many, and how many more."""
    found: dict[tuple[str, str], ox.Quad] = {}
    for quad in quads:
        value = quad.object
        if isinstance(value, ox.Literal) and ill_typed(value.value, value.datatype.value):
            found.setdefault((value.value, value.datatype.value), quad)
    findings = []
    for (value_text, datatype), quad in list(found.items())[:_TOLD]:
        local = datatype.removeprefix(_XSD)
        at = max(text.find(f"{mark}{value_text}{end}") for mark, end in (('"', '"'), ("'", "'"), (">", "<")))
        line = text.count("\n", 0, at) + 1 if at >= 0 else 0
        name = getattr(quad.predicate, "value", "").replace("#", "/").rsplit("/", 1)[-1]
        message = f'"{value_text[:100]}" is no {local}, which {name} says that it is'
        fix = f"Correct the value or its datatype, xsd:{local}: queries cannot compare it or compute with it."
        findings.append(Finding(path, line, "", "warning", "literal-ill-typed", message, fix))
    if len(found) > _TOLD:
        message = f"{len(found) - _TOLD:,} more literals are none of their datatypes"
        findings.append(
            Finding(path, 0, "", "warning", "literal-ill-typed", message, "Correct those that are told first.")
        )
    return findings
