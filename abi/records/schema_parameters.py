"""The parameters of a tool whose arguments a JSON Schema describes: one for each property, as far as one can say it.

They are for search, for cards and for agents that fill arguments; what a value must be like, the schema itself says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from abi.records.parameters import JSON, XSD, fits
from abi.records.record import Parameter

__all__ = ["schema_parameters"]

_TYPES = {"integer": "integer", "number": "double", "boolean": "boolean", "string": "string"}
_FORMATS = {"date": "date", "date-time": "dateTime", "uri": "anyURI"}


def schema_parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """In the order of the properties. Structured and mixed values are of the datatype rdf:JSON."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping):
        return []
    found = []
    for position, (name, given) in enumerate(properties.items()):
        inner = _followed(schema, given)
        datatype = _datatype(inner)
        default = inner.get("default")
        enum = [v for v in inner.get("enum", []) if v is not None] if isinstance(inner.get("enum"), list) else []
        examples = inner.get("examples") if isinstance(inner.get("examples"), list) else [inner.get("example")]
        found.append(
            Parameter(
                name=name,
                description=_text(given, "description") or _text(inner, "description"),
                datatype=datatype,
                required=name in required and default is None,
                default=default if fits(datatype, default) else None,
                enum=enum if all(fits(datatype, v) for v in enum) else [],
                examples=[e for e in examples or [] if e is not None and fits(datatype, e) and (not enum or e in enum)],
                position=position,
            )
        )
    return found


def _datatype(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type")
    kinds = [k for k in (kinds if isinstance(kinds, list) else [kinds]) if k != "null"]
    enum = [v for v in schema.get("enum") or [] if v is not None]
    if kinds == [None] and enum and all(isinstance(v, str) for v in enum):
        kinds = ["string"]
    if len(kinds) != 1 or kinds[0] not in _TYPES:
        return JSON
    if kinds[0] == "string":
        return XSD + _FORMATS.get(str(schema.get("format", "")), "string")
    return XSD + _TYPES[kinds[0]]


def _followed(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    for _ in range(20):
        ref = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(ref, str) or not ref.startswith("#/"):
            break
        here: Any = root
        for part in ref[2:].split("/"):
            here = here.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
        schema = here
    return schema if isinstance(schema, Mapping) else {}


def _text(value: Any, key: str) -> str:
    text = value.get(key) if isinstance(value, Mapping) else None
    return text.strip() if isinstance(text, str) else ""
