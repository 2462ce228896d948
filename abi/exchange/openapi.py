"""The tools of a catalog as an OpenAPI 3.1 document: one operation each, as `abi serve` answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abi.exchange.tool_schemas import RESULT_SCHEMA, argument_schema, with_references
from abi.records.record import Record

__all__ = ["SERVER", "openapi_document"]

SERVER = "http://127.0.0.1:8765"
"""Where `abi serve` listens unless told otherwise."""

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details", "hint"],
            "properties": {
                "code": {"type": "string", "description": "Stable; meant for programs."},
                "message": {"type": "string"},
                "details": {"type": "object"},
                "hint": {"type": "string", "description": "What to do about it."},
            },
        }
    },
}


def openapi_document(tools: Sequence[Record], *, title: str, version: str) -> dict[str, Any]:
    """The document. `version` is the catalog's, so that clients see when it is another one."""
    schemas: dict[str, Any] = {"Error": _ERROR, "ToolResult": RESULT_SCHEMA}
    paths = {f"/tools/{tool.name}": {"post": _operation(tool, schemas)} for tool in tools}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": f"The tools of the catalog {title}."},
        "servers": [{"url": SERVER, "description": "abi serve"}],
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "A key of `abi key create`."}
            },
        },
    }


def _operation(tool: Record, schemas: dict[str, Any]) -> dict[str, Any]:
    arguments = _hoisted(tool, argument_schema(tool), "Arguments", schemas)
    result: dict[str, Any] = {"$ref": "#/components/schemas/ToolResult"}
    output = getattr(tool, "output_schema", None)
    if output:
        declared = _hoisted(tool, output, "Result", schemas)
        result = {"allOf": [result, {"properties": {"result": declared}}]}
    operation: dict[str, Any] = {
        "operationId": tool.name,
        "summary": tool.name.replace("_", " "),
        "description": tool.description,
        "requestBody": {"required": True, "content": {"application/json": {"schema": arguments}}},
        "responses": {
            "200": {"description": "What the tool gave.", "content": {"application/json": {"schema": result}}},
            "default": {
                "description": "What went wrong, and what to do about it.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if tool.annotations:
        operation["x-abi-annotations"] = tool.annotations
    return operation


def _hoisted(tool: Record, schema: dict[str, Any], what: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema, put among the components with its definitions: there `#` is the document."""

    def place(name: str) -> str:
        return f"#/components/schemas/{tool.name}_{what}" + (f"_{name}" if name else "")

    for name, definition in schema.get("$defs", {}).items():
        schemas[place(name).rpartition("/")[2]] = with_references(definition, place)
    schemas[place("").rpartition("/")[2]] = with_references(schema, place)
    return {"$ref": place("")}
