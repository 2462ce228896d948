"""What a tool takes, as JSON Schema 2020-12, for programs that call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from abi.records.record import Record
from abi.tools.arguments import HasParameters, argument_model

__all__ = ["RESULT_SCHEMA", "argument_schema", "with_references"]

RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["tool", "arguments", "result", "query", "row_count", "truncated", "seconds", "answer", "citations"],
    "properties": {
        "tool": {"type": "string"},
        "arguments": {"type": "object", "description": "The values that were used."},
        "result": {"description": "Rows as objects, or whatever the tool returned."},
        "query": {"type": ["string", "null"], "description": "The query that ran."},
        "row_count": {"type": ["integer", "null"]},
        "truncated": {"type": "boolean"},
        "seconds": {"type": "number"},
        "answer": {"type": ["string", "null"], "description": "The rows in words, where the tool has words for them."},
        "citations": {"type": "array", "items": {"type": "object"}, "description": "The entities of the rows."},
    },
}
"""What a call gives: `ToolResult.document()`."""


def argument_schema(record: Record) -> dict[str, Any]:
    """The schema of a record's arguments: always of an object, without what the caller's identity fills.

    It is the record's own where it has one, with all that a model cannot say, else that of its argument model.
    """
    own = getattr(record, "input_schema", None) or {}
    parameters = getattr(record, "parameters", [])
    shown = {p.name for p in parameters if p.filled_from is None}
    is_whole = getattr(record, "arguments_by_schema", False) or (shown and shown == own.get("properties", {}).keys())
    if own and is_whole and own.get("type", "object") == "object":
        return {"type": "object", "properties": {}, **own}
    if not hasattr(record, "parameters"):
        return {"type": "object", "properties": {}, "additionalProperties": False}
    schema = argument_model(cast("HasParameters", record)).model_json_schema(by_alias=True)
    schema.pop("title", None)
    schema.pop("description", None)  # the tool's own, which stands beside the schema everywhere
    for definition in schema.get("properties", {}).values():
        if isinstance(definition, dict):
            definition.pop("title", None)
            # It says no more than that the argument may be left out, and with an enum it is no valid default.
            if definition.get("default", ...) is None:
                del definition["default"]
    return {"type": "object", "properties": {}, **schema}


def with_references(schema: Any, place: Callable[[str], str]) -> Any:
    """The schema with each `#/$defs/NAME` replaced by what `place` gives for NAME, and without its `$defs`."""
    prefix = "#/$defs/"

    def walk(node: Any, root: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        out = {}
        for key, value in node.items():
            if root and key == "$defs":
                continue
            if key == "$ref" and isinstance(value, str) and value.startswith(prefix):
                name, slash, rest = value.removeprefix(prefix).partition("/")
                value = place(name) + slash + rest
            elif key == "$ref" and value == "#":
                value = place("")
            out[key] = value if key in ("const", "enum", "default", "examples") else walk(value)
        return out

    return walk(schema, root=True)
