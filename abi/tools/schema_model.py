"""A Pydantic model for a JSON Schema (2020-12), and values checked by it.

Pydantic has the types: nested objects, arrays, enums, unions, formats, `$ref` (also of a schema inside itself),
optional properties, defaults. What it has no type for (`not`, `if`, `oneOf`, `contains`, `patternProperties`, ...)
jsonschema checks over the whole value. `properties` without a `type` mean an object, `items` an array.

A text stays the text that was given, whatever its format: what is passed on is what the caller wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticUndefined, SchemaError

from abi.errors import Unsupported
from abi.patterns import bounded
from abi.tools.arguments import argument_error
from abi.tools.schema_types import TypeBuilder, means_nothing

__all__ = ["schema_faults", "schema_model", "schema_validate", "schema_values"]


def schema_model(schema: Mapping[str, Any] | bool, name: str) -> type[BaseModel]:
    """The model of a schema: one field for each property; a RootModel where the schema is not of an object.

    Property names that pydantic cannot take are aliases of a field. An object at the root takes no property that
    it does not name, unless `additionalProperties` says so. Equal schemas give the same class. Raises Unsupported
    for a `$ref` that leaves the schema or leads nowhere, and for a pattern that is no regular expression.
    """
    return _cached(json.dumps(schema, ensure_ascii=False), name)


@lru_cache(maxsize=512)
def _cached(text: str, name: str) -> type[BaseModel]:
    schema = json.loads(text)
    try:
        return TypeBuilder(schema, name).root_model()
    except (ValueError, SchemaError) as error:
        raise Unsupported(f"The schema of {name} has a pattern that is no regular expression: {error}") from error
    except RecursionError as error:
        raise Unsupported(f"The schema of {name} is nested too deeply.") from error


def schema_validate(schema: Mapping[str, Any] | bool, raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The arguments as JSON values, with the defaults of those that were not given.

    Raises ArgumentError with `details["faults"]`, a list of {argument, message}: every fault of the call;
    `argument` is dotted for a value inside another (`user.address.0.city`).
    """
    return schema_values(schema_model(schema, name), raw, name)


def schema_values(model: type[BaseModel], raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """As `schema_validate`, with a model that was made before."""
    values, faults = schema_faults(model, raw)
    if faults:
        raise argument_error(name, faults)
    return cast("dict[str, Any]", values)


def schema_faults(model: type[BaseModel], raw: Any) -> tuple[Any, list[dict[str, str]]]:
    """The value as plain JSON, and what is wrong with it: {argument, message} each. The value is None where any is."""
    if isinstance(raw, Mapping):
        raw = {str(key): value for key, value in raw.items()}
    try:
        with bounded():
            return _plain(model.model_validate(raw), top=True), []
    except ValidationError as error:
        return None, _faults(error, raw, model)
    except RecursionError:
        return None, [{"argument": "", "message": "is nested too deeply"}]


def _plain(value: Any, top: bool = False) -> Any:
    """JSON values of a validated one: what was given, and what has a default."""
    if isinstance(value, RootModel):
        return _plain(value.root)
    if isinstance(value, BaseModel):
        out: dict[str, Any] = {}
        for key, field in type(value).model_fields.items():
            one = getattr(value, key)
            given = key in value.model_fields_set
            # At the top, None is how a caller says that an optional argument is not given.
            if one is None and (not given or (top and means_nothing(field))):
                continue
            if given or field.default is not PydanticUndefined:
                out[field.alias or key] = _plain(one)
        out.update((key, _plain(one)) for key, one in (value.model_extra or {}).items())
        return out
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _faults(error: ValidationError, raw: Any, model: type[BaseModel]) -> list[dict[str, str]]:
    """One fault for each place; what several branches of a union say about it is joined."""
    places: dict[str, list[str]] = {}
    aliases = {key: field.alias for key, field in model.model_fields.items() if field.alias}
    for one in error.errors(include_url=False):
        context = one.get("ctx", {})
        where = _place(one["loc"], raw, one["type"], aliases)
        message = _message(one["type"], one["msg"], context, model, where)
        for place, text in context.get("faults", [(where, message)]):
            if text not in places.setdefault(place, []):
                places[place].append(text)
    return [{"argument": where, "message": " or ".join(messages)} for where, messages in places.items()]


def _place(loc: tuple[int | str, ...], raw: Any, kind: str, aliases: Mapping[str, str]) -> str:
    """The path into what was given; pydantic puts the names of union branches between its parts."""
    parts: list[str] = []
    here: Any = raw
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        within = isinstance(here, dict) and part in here
        within = within or (isinstance(here, (list, tuple)) and isinstance(part, int) and part < len(here))
        if within:
            here = here[part]
        elif not (last and kind in ("missing", "extra_forbidden")):
            continue
        parts.append(aliases.get(str(part), str(part)) if index == 0 else str(part))
    return ".".join(parts)


def _message(kind: str, message: str, context: Mapping[str, Any], model: type[BaseModel], where: str) -> str:
    if kind == "missing":
        return "is needed"
    if kind == "extra_forbidden":
        if "." in where:
            return "is not known here"
        known = ", ".join(field.alias or key for key, field in model.model_fields.items())
        return f"is not an argument; there {'are: ' + known if known else 'are none'}"
    if kind == "model_type":
        return "should be an object"
    return message[:1].lower() + message[1:]
