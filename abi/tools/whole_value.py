"""jsonschema over a whole value, with regular expressions that end: its own go to `re`, which may not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from abi.errors import Unsupported
from abi.patterns import compiled

__all__ = ["whole_validator"]


def whole_validator(schema: Any) -> Any:
    """A validator for JSON Schema 2020-12; `iter_errors` is for inside of `bounded`.

    Raises Unsupported for the one pair of keywords of which jsonschema keeps the matching to itself, and ValueError for
    what is no regular expression.
    """
    from referencing import Registry

    text = json.dumps(schema, default=str)
    if '"unevaluatedProperties"' in text and '"patternProperties"' in text:
        raise Unsupported(
            "A schema with unevaluatedProperties and patternProperties cannot be checked.",
            hint="Use additionalProperties, or name the properties.",
        )
    # With a registry of its own, jsonschema fetches nothing.
    return _class()(schema, registry=Registry())


@cache
def _class() -> Any:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(value, "string") and not compiled(wanted).matches(value):
            yield ValidationError(f"{value!r} does not match {wanted!r}")

    def pattern_properties(validator: Any, wanted: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
        for one, inner in wanted.items() if validator.is_type(value, "object") else ():
            for key in value:
                if compiled(one).matches(key):
                    yield from validator.descend(value[key], inner, path=key, schema_path=one)

    plain = Draft202012Validator.VALIDATORS["additionalProperties"]

    def additional(validator: Any, more: Any, value: Any, schema: Any) -> Iterator[Any]:
        patterns = schema.get("patternProperties", {})
        if not patterns or not validator.is_type(value, "object"):
            yield from plain(validator, more, value, schema)
            return
        named = schema.get("properties", {})
        extras = [k for k in value if k not in named and not any(compiled(p).matches(k) for p in patterns)]
        if validator.is_type(more, "object"):
            for key in extras:
                yield from validator.descend(value[key], more, path=key)
        elif not more and extras:
            listed = ", ".join(map(repr, sorted(extras)))
            verb = "does" if len(extras) == 1 else "do"
            yield ValidationError(f"{listed} {verb} not match any of the regexes: {', '.join(map(repr, patterns))}")

    keywords = {"pattern": pattern, "patternProperties": pattern_properties, "additionalProperties": additional}
    return extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call]
