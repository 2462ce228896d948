"""Types for the values of a JSON Schema that are no objects and no lists: texts and their formats, numbers, enums."""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Annotated, Any, Union
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from abi.patterns import compiled

__all__ = ["FORMATS", "documented", "fail", "matching", "one_of", "scalar"]


def documented(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in schema.items() if k in _SHOWN}


_SHOWN = frozenset(
    "type format enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern "
    "minItems maxItems uniqueItems".split()
)


def scalar(kind: str, schema: dict[str, Any]) -> Any:
    shown = WithJsonSchema({**documented(schema), "type": kind})
    if kind == "null":
        return None
    if kind == "boolean":
        return Annotated[bool, BeforeValidator(_no_number), shown]
    if kind in ("integer", "number"):
        names = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
        names["multipleOf"] = "multiple_of"
        limits = {new: schema[old] for old, new in names.items() if _is_number(schema.get(old))}
        python: Any = int if kind == "integer" else Union[int, float]  # noqa: UP007
        return Annotated[python, Field(**limits), BeforeValidator(_no_boolean), shown]
    names = {"minLength": "min_length", "maxLength": "max_length"}
    limits = {new: schema[old] for old, new in names.items() if old in schema}
    check = FORMATS.get(schema.get("format", ""))
    after = [AfterValidator(_formatted(schema["format"], *check))] if check else []
    if "pattern" in schema:
        after.append(AfterValidator(matching(schema["pattern"])))
    return Annotated[(str, Field(**limits), BeforeValidator(_text), *after, shown)]


def one_of(allowed: Sequence[Any], schema: dict[str, Any]) -> Any:
    texts = {str(a): a for a in allowed if not isinstance(a, str)}

    def check(value: Any) -> Any:
        for one in allowed:
            if value == one and isinstance(value, bool) == isinstance(one, bool):
                return one
        if isinstance(value, str):
            # From a command line, everything is a text.
            for text, one in texts.items():
                if value == text or value == json.dumps(one):
                    return one
        raise fail(f"one of {', '.join(json.dumps(a, ensure_ascii=False) for a in allowed)} is needed")

    return Annotated[Any, AfterValidator(check), WithJsonSchema(documented(schema))]


def fail(message: str) -> PydanticCustomError:
    return PydanticCustomError("argument", "{message}", {"message": message})


def matching(pattern: str, shown: str | None = None) -> Callable[[str], str]:
    """Raises ValueError for a pattern that is no regular expression."""
    one = compiled(pattern)

    def check(value: str) -> str:
        if not one.matches(value):
            raise fail(f"must match {shown or pattern!r}")
        return value

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise fail("a number is needed, not true or false")
    return value


def _no_number(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise fail("true or false is needed, not a number")
    return value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        raise fail("a text is needed, not true or false")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value


def _formatted(name: str, read: Callable[[str], Any], example: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        try:
            if read(value) is None:
                raise ValueError
        except (ValueError, TypeError):
            raise fail(f"should be of the format {name}, like {example}") from None
        return value

    return check


def _zoned(value: str) -> datetime | None:
    moment = datetime.fromisoformat(value)
    return moment if "T" in value.upper() and moment.tzinfo else None


def _uri(value: str) -> Any:
    return urlsplit(value).scheme and re.fullmatch(r"[^<>\"{}|^`\\\x00-\x20]+", value)


FORMATS: dict[str, tuple[Callable[[str], Any], str]] = {
    "date-time": (_zoned, "2026-01-31T12:00:00Z"),
    "date": (lambda v: date.fromisoformat(v) if re.fullmatch(r"\d{4}-\d\d-\d\d", v) else None, "2026-01-31"),
    "time": (lambda v: time.fromisoformat(v) if ":" in v else None, "12:00:00Z"),
    "uuid": (lambda v: uuid.UUID(v) if len(v) == 36 else None, "123e4567-e89b-12d3-a456-426614174000"),
    "email": (lambda v: re.fullmatch(r"[^@\s]+@[^@\s]+", v), "name@example.org"),
    "uri": (lambda v: _uri(v) or None, "https://example.org/x"),
    "ipv4": (ipaddress.IPv4Address, "192.0.2.1"),
    "ipv6": (ipaddress.IPv6Address, "2001:db8::1"),
    "byte": (lambda v: base64.b64decode(v, validate=True) is not None or None, "aGVsbG8="),
}
"""Formats that are checked; any other is an annotation, as JSON Schema has it."""
