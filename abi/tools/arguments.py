"""What a tool or a prompt template may be called with: a Pydantic model made from its parameters.

Values come as JSON from agents and as strings from a command line; both give the same typed values. All faults of a
call are reported together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from abi.errors import ArgumentError
from abi.graph.rows import XSD, Term
from abi.patterns import bounded
from abi.records.record import Parameter
from abi.tools.schema_scalars import fail, matching

__all__ = ["HasParameters", "argument_error", "argument_model", "faults_of", "term_of", "validate"]

RDF_JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
MAX_TEXT = 10_000
"""Characters of one argument; the query that it goes into has its own limit."""
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|^`\\\x00-\x20]+")


class HasParameters(Protocol):
    """Any record with parameters."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> list[Parameter]: ...


def argument_model(record: HasParameters) -> type[BaseModel]:
    """The model of the record's arguments, without those that the caller's identity fills.

    Field names are the parameters' names; where pydantic cannot take one (`copy`, `_x`), it is the field's alias.
    Where a JSON Schema describes the arguments, the model is made from it.
    """
    # Triples that people write may have parameters and no schema.
    schema: dict[str, Any] = getattr(record, "input_schema", {})
    if getattr(record, "arguments_by_schema", False) and (schema or not record.parameters):
        from abi.tools.schema_model import schema_model

        return schema_model(schema, record.name)
    shown = [p for p in record.parameters if p.filled_from is None]
    return _model(record.name, record.description, tuple(p.model_dump_json() for p in shown))


def validate(record: HasParameters, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Typed values of the arguments that were given or have a default, by name, in the parameters' order.

    An argument that is None counts as not given. Raises ArgumentError with `details["faults"]`, a list of
    {argument, message} with every fault of the call.
    """
    values, faults = faults_of(record, raw)
    if faults:
        raise argument_error(record.name, faults)
    return values


def faults_of(record: HasParameters, raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The values that are right and the faults of the others."""
    model = argument_model(record)
    given = {str(name): value for name, value in raw.items() if value is not None}
    names = {field.alias or key: key for key, field in model.model_fields.items()}
    faults: list[dict[str, Any]] = []
    values: dict[str, Any] = {}
    try:
        with bounded():
            whole = model.model_validate(given)
        values = {name: getattr(whole, key) for name, key in names.items() if getattr(whole, key) is not None}
    except ValidationError as error:
        wrong = set()
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            name = str(one["loc"][0]) if one["loc"] else ""
            name = next((alias for alias, key in names.items() if key == name), name)
            wrong.add(name)
            faults.append({"argument": name, "message": _message(one["type"], one["msg"], names)})
        # What is right is kept, so that a caller can find more faults in it.
        values = {name: value for name, value in given.items() if name in names and name not in wrong}
    return values, faults


def argument_error(tool: str, faults: Sequence[dict[str, Any]], hint: str = "") -> ArgumentError:
    listed = "; ".join(f"{f['argument']}: {f['message']}" if f["argument"] else str(f["message"]) for f in faults)
    return ArgumentError(f"{tool} cannot be called like this: {listed}", hint=hint, details={"faults": list(faults)})


def term_of(parameter: Parameter, value: Any) -> Term:
    """A validated value as the RDF term that takes the parameter's place in a query."""
    if parameter.value_class is not None or parameter.datatype == XSD + "anyURI":
        return Term("iri", str(value))
    datatype = parameter.datatype or XSD + "string"
    if datatype == RDF_JSON:
        return Term("literal", json.dumps(value, ensure_ascii=False, sort_keys=True), RDF_JSON)
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, datetime):
        text = value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    elif isinstance(value, Decimal):
        text = format(value, "f")
    else:
        text = str(value)
    return Term("literal", text, None if datatype == XSD + "string" else datatype)


@lru_cache(maxsize=1024)
def _model(name: str, description: str, parameters: tuple[str, ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for i, text in enumerate(parameters):
        parameter = Parameter.model_validate_json(text)
        usable = parameter.name.isidentifier() and not parameter.name.startswith("_")
        usable = usable and not hasattr(BaseModel, parameter.name)
        key = parameter.name if usable else f"argument_{i}"
        try:
            fields[key] = _field(parameter, None if usable else parameter.name)
        except ValueError as error:
            message = f"{name}: the pattern of {parameter.name} is no regular expression ({error})."
            raise ArgumentError(message) from error
    config = ConfigDict(
        extra="forbid",
        coerce_numbers_to_str=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        validate_default=True,
        populate_by_name=True,
    )
    title = "".join(part.capitalize() for part in re.split(r"\W|_", name)) + "Arguments"
    return create_model(title, __config__=config, __doc__=description or None, **fields)


def _field(parameter: Parameter, alias: str | None) -> Any:
    """The annotation and the field of one parameter."""
    kind, before, after = _type(parameter)
    limits: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    if parameter.minimum is not None:
        limits["ge"] = parameter.minimum
    if parameter.maximum is not None:
        limits["le"] = parameter.maximum
    if parameter.pattern is not None and kind is str:
        extra["pattern"] = f"^(?:{parameter.pattern})$"
        after = [*after, AfterValidator(matching(extra["pattern"], parameter.pattern))]
    if parameter.enum:
        extra["enum"] = parameter.enum
        after = [*after, AfterValidator(_one_of(parameter.enum))]
    annotation: Any = Annotated[(kind, Field(**limits), *before, *after)]
    default: Any = ...
    if not parameter.required or parameter.default is not None:
        default = parameter.default
        if default is None:
            annotation = annotation | None
    more: dict[str, Any] = {"alias": alias} if alias else {}
    return annotation, Field(
        default,
        description=_described(parameter),
        examples=parameter.examples or None,
        json_schema_extra=extra or None,
        **more,
    )


def _described(parameter: Parameter) -> str | None:
    text = parameter.description
    if parameter.value_class is not None:
        kind = re.split(r"[/#:]", parameter.value_class)[-1]
        text = f"{text} (name, code or IRI of {'anything' if kind == 'Thing' else kind})".strip()
    return text or None


def _type(parameter: Parameter) -> tuple[Any, list[Any], list[Any]]:
    """Python type of a parameter, with what goes before and after pydantic's own reading."""
    if parameter.value_class is not None:
        return str, [], [AfterValidator(_text)]
    datatype = parameter.datatype or XSD + "string"
    if datatype == RDF_JSON:
        return Any, [BeforeValidator(_json)], []
    local = datatype.removeprefix(XSD)
    if local in ("integer", "int", "long", "short", "nonNegativeInteger", "positiveInteger"):
        return int, [BeforeValidator(_no_boolean)], [AfterValidator(_integer(local))]
    if local == "decimal":
        return Decimal, [BeforeValidator(_no_boolean)], []
    if local in ("double", "float"):
        return float, [BeforeValidator(_no_boolean)], []
    if local == "boolean":
        return bool, [], []
    if local == "dateTime":
        return datetime, [BeforeValidator(_datetime)], []
    if local == "anyURI":
        return str, [], [AfterValidator(_iri)]
    return str, [], [AfterValidator(_text)]


def _text(value: str) -> str:
    if len(value) > MAX_TEXT:
        raise fail(f"a text has at most {MAX_TEXT:,} characters")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise fail("the text holds half of a character (a lone surrogate)")
    return value


def _iri(value: str) -> str:
    if len(value) > MAX_TEXT or not _IRI.fullmatch(value):
        raise fail("an absolute IRI is needed, like https://example.org/x")
    return value


def _json(value: Any) -> Any:
    """A structured value; text from a command line that is JSON is read as it."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise fail("a number is needed, not true or false")
    return value


def _integer(local: str) -> Callable[[int], int]:
    least = {"nonNegativeInteger": 0, "positiveInteger": 1}.get(local, -(2**63))

    def check(value: int) -> int:
        if not least <= value < 2**63:
            raise fail(f"the number must be from {least} to {2**63 - 1}")
        return value

    return check


def _datetime(value: Any) -> Any:
    """ISO 8601, with or without a time; without a zone it is UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise fail("a date or a time in ISO 8601 is needed, like 2026-01-31 or 2026-01-31T12:00:00Z") from None
    if not isinstance(value, datetime):
        raise fail("a date or a time in ISO 8601 is needed, like 2026-01-31 or 2026-01-31T12:00:00Z")
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _one_of(allowed: Sequence[Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        for one in allowed:
            if value == one or (not isinstance(value, bool) and str(value) == str(one)):
                return value
        raise fail(f"one of {', '.join(str(a) for a in allowed)} is needed")

    return check


def _message(kind: str, message: str, names: Mapping[str, str]) -> str:
    if kind == "missing":
        return "is needed"
    if kind == "extra_forbidden":
        known = ", ".join(names)
        return f"is not an argument; there {'are: ' + known if known else 'are none'}"
    return message[:1].lower() + message[1:]
