"""The `parameters:` of a header, and whether a value fits the type of a parameter."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from abi.records.header import Header, near, type_name
from abi.records.record import Parameter

if TYPE_CHECKING:
    from abi.records.reader import ReadContext

__all__ = ["DATATYPES", "JSON", "XSD", "fits", "read_parameters"]

XSD = "http://www.w3.org/2001/XMLSchema#"
JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
_INTEGERS = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte"
).split()
_RANGES: dict[str, tuple[int | None, int | None]] = {
    **{name: (-(2**bits), 2**bits - 1) for name, bits in (("long", 63), ("int", 31), ("short", 15), ("byte", 7))},
    **{f"unsigned{name}": (0, 2**bits - 1) for name, bits in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))},
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
}
_FLOATS = ["decimal", "double", "float"]
_TEXTS = "string anyURI date dateTime time duration gYear gYearMonth language token base64Binary".split()
DATATYPES = {XSD + n for n in [*_INTEGERS, *_FLOATS, *_TEXTS, "boolean"]} | {JSON}
"""What `type:` may be."""
_WORDS = {
    "str": "string",
    "text": "string",
    "number": "double",
    "bool": "boolean",
    "datetime": "dateTime",
    "uri": "anyURI",
    "iri": "anyURI",
    "url": "anyURI",
}


def fits(datatype: str | None, value: Any) -> bool:
    """Whether a JSON value has a form of the datatype; a `class:` parameter (None) takes texts."""
    name = (datatype or XSD + "string").removeprefix(XSD)
    if datatype == JSON:
        return True
    if name in _INTEGERS:
        return isinstance(value, int) and not isinstance(value, bool) and _in_range(name, value)
    if name in _FLOATS:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "boolean":
        return isinstance(value, bool)
    if not isinstance(value, str):
        return False
    try:
        if name == "base64Binary":
            base64.b64decode(value, validate=True)
        reader = {"date": date.fromisoformat, "dateTime": datetime.fromisoformat, "time": time.fromisoformat}.get(name)
        if reader:
            reader(value)
    except (ValueError, binascii.Error):
        return False
    return True


def _in_range(name: str, value: int) -> bool:
    low, high = _RANGES.get(name, (None, None))
    return _between(low, value, high)


def read_parameters(header: Header, context: ReadContext, *, default_type: str | None = None) -> list[Parameter]:
    """Read `parameters: {name: {type: ..., ...}}`. `default_type` stands in where neither class nor type is given."""
    parameters: list[Parameter] = []
    for name, value in header.mapping("parameters").items():
        where = f"parameters.{name}"
        if not re.match(r"[A-Za-z_]\w*\Z", name, re.ASCII):
            message = f"The parameter name {name!r} is no variable name."
            header.fault(where, "parameter-name", message, "Use letters, digits and underscores.")
            continue
        if value is None:
            value = {}
        if not isinstance(value, dict):
            message = f"The parameter {name!r} must be a mapping, not {type_name(value)}."
            fix = f"Write {name}: {{type: {value if isinstance(value, str) and ':' in value else 'xsd:string'}}}."
            header.fault(where, "type-wrong", message, fix)
            continue
        inner = header.child(where, value)
        parameters.append(_parameter(inner, name, len(parameters), context, default_type))
        inner.extras()
    return parameters


def _parameter(header: Header, name: str, position: int, context: ReadContext, default_type: str | None) -> Parameter:
    datatype, value_class = _type(header, name, context, default_type)
    default = header.raw("default")
    required = header.boolean("required", default is None)
    if required and default is not None:
        message = f"The parameter {name!r} is required and has a default."
        header.fault("required", "parameter-required", message, "Remove one of the two.", "warning")
    low, high = header.limit("minimum"), header.limit("maximum")
    if low is not None and high is not None and low > high:
        header.fault("minimum", "value-range", f"minimum {low} is above maximum {high}.", "Swap them.")
        low = high = None
    pattern = _pattern(header)
    enum = header.items("enum")
    examples = header.items("examples")
    for key in ("minimum", "maximum"):
        if header.raw(key) is not None and datatype and not fits(datatype, 1):
            header.fault(key, "parameter-limit", f"{key} is for numbers; {name!r} is none.", "Remove it.")
            low = high = None
    known = datatype is not None or value_class is not None
    candidates = [("default", default)] if default is not None else []
    candidates += [(f"enum.{n}", v) for n, v in enumerate(enum)]
    candidates += [(f"examples.{n}", v) for n, v in enumerate(examples)]
    for where, value in candidates:
        if known and not fits(datatype, value):
            called = (datatype or "a text: IRI, label or code").replace(XSD, "xsd:").replace(JSON, "rdf:JSON")
            message = f"{where.split('.')[0]} {value!r} is not {called}."
            fix = f'Put it in quotes: "{value}".' if fits(datatype, str(value)) else "Correct the value or the type."
            header.fault(where, "value-type", message, fix)
        elif enum and value not in enum:
            header.fault(where, "value-enum", f"{value!r} is not one of enum.", "Add it to enum, or correct it.")
        elif pattern and isinstance(value, str) and not _matches(pattern, value):
            header.fault(where, "value-pattern", f"{value!r} does not match the pattern.", "Correct one of the two.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and not _between(low, value, high):
            header.fault(where, "value-range", f"{value} is outside minimum and maximum.", "Correct one of them.")
    filled_from = header.text("from")
    if filled_from not in (None, "principal"):
        fix = near(str(filled_from), ["principal"]) or "Write from: principal, or remove it."
        header.fault("from", "value-unknown", f"from {filled_from!r} is not known.", fix)
        filled_from = None
    return Parameter(
        name=name,
        description=header.text("description") or "",
        datatype=datatype if value_class is None else None,
        value_class=value_class,
        required=required and default is None,
        default=default,
        enum=enum,
        minimum=low,
        maximum=high,
        pattern=pattern,
        examples=examples,
        filled_from="principal" if filled_from else None,
        position=position,
    )


def _between(low: float | None, value: float, high: float | None) -> bool:
    return (low is None or low <= value) and (high is None or value <= high)


def _pattern(header: Header) -> str | None:
    pattern = header.text("pattern")
    if pattern is None:
        return None
    try:
        _validator(pattern)
    except SchemaError as error:
        why = str(error).split("error: ")[-1].strip()
        fix = "Correct it; look-around and back-references are not supported."
        header.fault("pattern", "pattern-syntax", f"The pattern does not parse: {why}.", fix)
        return None
    return pattern


def _validator(pattern: str) -> SchemaValidator:
    """The engine that checks arguments, too. Unlike `re`, it takes linear time whatever the pattern."""
    return SchemaValidator(core_schema.str_schema(pattern=pattern))


def _matches(pattern: str, value: str) -> bool:
    return _validator(pattern).isinstance_python(value)


def _type(header: Header, name: str, context: ReadContext, default_type: str | None) -> tuple[str | None, str | None]:
    value_class, datatype = header.text("class"), header.text("type")
    if value_class and datatype:
        message = f"The parameter {name!r} has both a class and a type."
        header.fault("class", "parameter-type", message, "Keep class for things, type for values.")
        datatype = None
    if not value_class and not datatype:
        if default_type:
            return default_type, None
        if not any(isinstance(header.value.get(key), (int, float, list, dict)) for key in ("class", "type")):
            fix = "Add `type: xsd:string` for a value, or `class: prefix:Class` for a thing of the graph."
            header.fault("", "parameter-type", f"The parameter {name!r} has neither a class nor a type.", fix)
        return XSD + "string", None
    field, word = ("class", value_class) if value_class else ("type", datatype)
    assert word is not None
    try:
        iri = context.expand(word)
    except ValueError as error:
        local = _WORDS.get(word.lower(), word)
        fix = (
            f"Write xsd:{local}."
            if field == "type" and XSD + local in DATATYPES
            else "Write it as prefix:Name or as a whole IRI."
        )
        header.fault(field, "iri-unknown", str(error), fix)
        return XSD + "string", None
    if field == "class":
        if iri in DATATYPES:
            header.fault("class", "parameter-type", f"{word} is a type of values.", f"Write type: {word}.")
            return iri, None
        return None, iri
    if iri not in DATATYPES:
        local = iri.removeprefix(XSD)
        known = [d.removeprefix(XSD) for d in DATATYPES if d.startswith(XSD)]
        fix = near(local, known) if iri.startswith(XSD) else f"Write class: {word} if it is a class of things."
        header.fault("type", "datatype-unknown", f"The type {word} is not supported.", fix or "Write xsd:string.")
        return XSD + "string", None
    return iri, None
