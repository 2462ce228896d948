"""The `input:` and `output:` of a record: a JSON Schema (2020-12), as JSON text or as a mapping."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from abi.patterns import compiled
from abi.records.header import Header, type_name
from abi.records.openapi_references import OperationFault, references, resolved

__all__ = ["read_schema", "schema_faults"]

_MAX_DEPTH = 64
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
    schema = json.loads(text)
    if _is_deep(schema):
        return (("", f"it is nested more than {_MAX_DEPTH} deep"),)
    for error in validator.iter_errors(schema):
        # Of the branches of an anyOf, what is nearest to right is told.
        nearest = best_match([error]) or error
        path = ".".join(str(part) for part in nearest.absolute_path)
        places.setdefault(path, f"{_brief(nearest.message)}")
    for ref in () if places else references(schema):
        try:
            if ref != "#":
                resolved(schema, ref)
        except OperationFault:
            places.setdefault("", f"the reference {_brief(repr(ref))} leads to nothing inside it")
    for path, pattern in () if places else _patterns(schema, ""):
        if (why := _no_pattern(pattern)) is not None:
            places.setdefault(path, f"{_brief(repr(pattern))} is no regular expression: {_brief(why)}")
    if not places and '"unevaluatedProperties"' in text and '"patternProperties"' in text:
        places[""] = "unevaluatedProperties beside patternProperties is not supported, additionalProperties is"
    return tuple(sorted(places.items()))


def _is_deep(schema: Any) -> bool:
    """All that reads a schema follows it down by recursion."""
    level: list[Any] = [schema]
    for _ in range(_MAX_DEPTH):
        level = [v for one in level for v in (one.values() if isinstance(one, dict) else one)]
        level = [value for value in level if isinstance(value, (dict, list))]
        if not level:
            return False
    return True


def _patterns(schema: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each regular expression of a schema, with its dotted path. Values of instances are no schemas."""
    parts = enumerate(schema) if isinstance(schema, list) else schema.items() if isinstance(schema, dict) else ()
    for key, value in parts:
        at = f"{path}.{key}" if path else str(key)
        if key == "pattern" and isinstance(value, str):
            yield at, value
        elif key == "patternProperties" and isinstance(value, dict):
            yield from ((at, pattern) for pattern in value)
        if key not in ("const", "default", "enum", "examples"):
            yield from _patterns(value, at)


def _no_pattern(pattern: str) -> str | None:
    """Why neither of the engines by which arguments are checked takes a pattern; None where one does."""
    try:
        compiled(pattern)
    except ValueError as error:
        return str(error)
    return None


def _brief(message: str) -> str:
    return message if len(message) <= 200 else message[:200] + "..."
