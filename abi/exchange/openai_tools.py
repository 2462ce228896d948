"""Tools as the chat completions of OpenAI and of all that are compatible take them under `tools`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from abi.exchange.tool_schemas import argument_schema
from abi.findings import Finding
from abi.records.record import Record

__all__ = ["openai_tools"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def openai_tools(tools: Sequence[Record]) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The list, and a warning for each tool whose name such a service does not take: it is left out."""
    items, findings = [], []
    for tool in tools:
        if not _NAME.fullmatch(tool.name):
            path, line = (tool.source.path, tool.source.line) if tool.source else ("", 0)
            message = f"{tool.name} is left out: names of tools have at most 64 letters, digits, _ and - there"
            findings.append(Finding(path, line, "name", "warning", "export-name", message, "Give it a shorter name."))
            continue
        function = {"name": tool.name, "description": tool.description, "parameters": argument_schema(tool)}
        items.append({"type": "function", "function": function})
    return items, findings
