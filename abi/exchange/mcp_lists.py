"""Tools and prompts as the Model Context Protocol lists them: the results of `tools/list` and `prompts/list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abi.exchange.tool_schemas import RESULT_SCHEMA, argument_schema, with_references
from abi.records.record import Record

__all__ = ["ANNOTATIONS", "NEEDS_APPROVAL", "mcp_lists", "mcp_prompt", "mcp_tool"]

ANNOTATIONS = "w3id.org/abi/annotations"
"""The key of `_meta` under which a record's annotations stand: MCP's own `annotations` are hints of another sort."""
NEEDS_APPROVAL = "w3id.org/abi/needs_approval"
"""The key of `_meta` that is true where abi asks a person before each call."""
_READ_ONLY = ("sparql_query", "jinja_query", "semantic_search")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def mcp_tool(record: Record) -> dict[str, Any]:
    """One item of `tools/list`, every hint said. What a tool does that abi cannot know is taken for the worst, unless
    the record's own annotations `read_only`, `destructive`, `idempotent` or `open_world` say `true` or `false`."""
    tool: dict[str, Any] = {
        "name": record.name,
        "title": record.name.replace("_", " "),
        "description": record.description,
        "inputSchema": argument_schema(record),
        "outputSchema": _output_schema(record),
        "annotations": _hints(record),
    }
    meta: dict[str, Any] = {}
    if record.annotations:
        meta[ANNOTATIONS] = record.annotations
    if _needs_approval(record):
        meta[NEEDS_APPROVAL] = True
    if meta:
        tool["_meta"] = meta
    return tool


def _hints(record: Record) -> dict[str, bool]:
    method = str(getattr(record, "method", "")).upper()
    kind = getattr(record, "kind", "")
    reads = kind in _READ_ONLY or method in _SAFE_METHODS
    reads = _said(record, "read_only", reads)
    return {
        "readOnlyHint": reads,
        "destructiveHint": not reads and _said(record, "destructive", True),
        "idempotentHint": _said(record, "idempotent", reads or method in ("PUT", "DELETE")),
        "openWorldHint": _said(record, "open_world", kind not in _READ_ONLY),
    }


def _needs_approval(record: Record) -> bool:
    """Whether it is known to change something: a request that is none for reading, or a record that says so."""
    method = str(getattr(record, "method", "GET")).upper()
    return not _said(record, "read_only", method in _SAFE_METHODS and getattr(record, "form", None) != "pipeline")


def _said(record: Record, name: str, otherwise: bool) -> bool:
    value = str((record.annotations or {}).get(name, "")).lower()
    return value == "true" if value in ("true", "false") else otherwise


def _output_schema(record: Record) -> dict[str, Any]:
    """What a call gives: the tool's result, and how it was come by."""
    schema: dict[str, Any] = {**RESULT_SCHEMA, "properties": dict(RESULT_SCHEMA["properties"])}
    declared = getattr(record, "output_schema", None)
    if isinstance(declared, dict) and declared:
        names = declared.get("$defs", {})
        placed = {name: f"result_{number}" for number, name in enumerate(names)}

        def place(name: str) -> str:
            return f"#/$defs/{placed[name]}" if name in placed else "#/properties/result"

        schema["properties"]["result"] = with_references(declared, place)
        if names:
            schema["$defs"] = {placed[name]: with_references(part, place) for name, part in names.items()}
    return schema


def mcp_prompt(record: Record) -> dict[str, Any]:
    """One item of `prompts/list`."""
    prompt: dict[str, Any] = {
        "name": record.name,
        "title": record.name.replace("_", " "),
        "description": record.description,
        "arguments": [
            {"name": p.name, **({"description": p.description} if p.description else {}), "required": p.required}
            for p in getattr(record, "parameters", [])
            if p.filled_from is None
        ],
    }
    if record.annotations:
        prompt["_meta"] = {ANNOTATIONS: record.annotations}
    return prompt


def mcp_lists(tools: Sequence[Record], prompts: Sequence[Record]) -> dict[str, Any]:
    return {"tools": [mcp_tool(t) for t in tools], "prompts": [mcp_prompt(p) for p in prompts]}
