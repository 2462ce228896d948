"""Agent Catalog's Python interface over an abi workspace: change the import, and the rest stays.

    import abi.compat.agentc as agentc

    catalog = agentc.Catalog()                       # the workspace of this folder, or the nearest one above it
    tools = catalog.find("tool", query="finding flights", annotations='domain="travel"', limit=3)
    prompt = catalog.find("prompt", name="route_finding_prompt")

`Catalog` is that of release 1.x, `Provider` that of 0.1.5. Where the original's behaviour is a fault, this one does
what its documentation says: annotations count beside a name, a prompt's missing tool is left out and told in the log,
a query that fits nothing finds nothing, and what a tool is called with is checked.
"""

from __future__ import annotations

from abi.compat.agentc.catalog import (
    LATEST_SNAPSHOT_VERSION,
    Catalog,
    Prompt,
    RecordDescriptor,
    SearchResult,
    Tool,
    VersionDescriptor,
)
from abi.compat.agentc.provider import PromptResult, Provider, ToolResult
from abi.compat.agentc.refiner import ClosestCluster
from abi.records.decorator import tool

__all__ = [
    "LATEST_SNAPSHOT_VERSION",
    "Catalog",
    "ClosestCluster",
    "Prompt",
    "PromptResult",
    "Provider",
    "RecordDescriptor",
    "SearchResult",
    "Tool",
    "ToolResult",
    "VersionDescriptor",
    "tool",
]
