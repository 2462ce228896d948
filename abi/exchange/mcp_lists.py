"""Tools and prompts as the Model Context Protocol lists them: the results of `tools/list` and `prompts/list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abi.exchange.tool_schemas import argument_schema
from abi.records.record import Record

__all__ = ["ANNOTATIONS", "mcp_lists", "mcp_prompt", "mcp_tool"]

ANNOTATIONS = "w3id.org/abi/annotations"
"""The key of `_meta` under which a record's annotations stand: MCP's own `annotations` are hints of another sort."""
_READ_ONLY = ("sparql_query", "semantic_search")


def mcp_tool(record: Record) -> dict[str, Any]:
    """One item of `tools/list`."""
    tool: dict[str, Any] = {
        "name": record.name,
        "title": record.name.replace("_", " "),
        "description": record.description,
        "inputSchema": argument_schema(record),
    }
    if getattr(record, "kind", "") in _READ_ONLY:
        tool["annotations"] = {"readOnlyHint": True, "openWorldHint": False}
    if record.annotations:
        tool["_meta"] = {ANNOTATIONS: record.annotations}
    return tool


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
