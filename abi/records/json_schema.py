"""The `input:` and `output:` of a record: a JSON Schema (2020-12), as JSON text or as a mapping."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from abi.records.header import Header, type_name

__all__ = ["read_schema", "schema_faults"]

_EXAMPLE = '{"type": "object", "properties": {"NAME": {"type": "string"}}}'


def read_schema(header: Header, field: str, *, required: bool = False) -> dict[str, Any] | None:
    """The schema in a field; None where there is none or it is faulty. Each fault has the line of its key."""
    value = header.raw(field)
    if value is None or (isinstance(value, str) and not value.strip()):
        if required:
            fix = f"Add `{field}:` with a JSON Schema of the arguments, for example {_EXAMPLE}."
            header.fault(field, f"{field}-missing", f"The {field} is missing.", fix)
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error) or "it is nested too deeply"
            message = f"The {field} is no JSON: {why}{_place(value, error)}."
            header.fault(field, f"{field}-syntax", message, "Correct it, or write the schema as a mapping.")
            return None
    if not isinstance(value, dict):
        message = f"The {field} must be a JSON Schema, which is a mapping, not {type_name(value)}."
        header.fault(field, "type-wrong", message, f"Write for example {_EXAMPLE}.")
        return None
    faults = schema_faults(json.dumps(value, sort_keys=True))
    for where, message in faults:
        at = f"{field}.{where}" if where else field
        header.fault(at, f"{field}-schema", f"The {field} is no JSON Schema: {message}.", "See json-schema.org.")
    return None if faults else value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not known in JSON")


def _place(text: str, error: Exception) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return ""
    near = text[error.pos : error.pos + 20].split("\n")[0].strip()
    return f", at {near!r}" if near else ", at its end"


@lru_cache(maxsize=1024)
def schema_faults(text: str) -> tuple[tuple[str, str], ...]:
    """What is wrong with a schema (as JSON text) by the meta-schema: the dotted path of each fault, and words."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    places: dict[str, str] = {}
    for error in validator.iter_errors(json.loads(text)):
        # Of the branches of an anyOf, what is nearest to right is told.
        nearest = best_match([error]) or error
        path = ".".join(str(part) for part in nearest.absolute_path)
        places.setdefault(path, f"{_brief(nearest.message)}")
    return tuple(sorted(places.items()))


def _brief(message: str) -> str:
    return message if len(message) <= 200 else message[:200] + "..."
