"""The tools, prompts and agents that a server offers, read once for each version of the graph."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from abi.errors import NotFound

if TYPE_CHECKING:
    from abi.agents.definition import AgentDefinition
    from abi.records.record import Record
    from abi.workspace import Workspace

__all__ = ["Offer", "ServedCatalog"]


class Offer:
    """What there is at one version of the graph; each part is read when it is first asked for."""

    def __init__(self, workspace: Workspace, version: int) -> None:
        self._workspace = workspace
        self.version = version

    @cached_property
    def tools(self) -> dict[str, Record]:
        """Tools by name."""
        return self._records("tools")

    @cached_property
    def prompts(self) -> dict[str, Record]:
        """Prompts by name."""
        return self._records("prompts")

    @cached_property
    def agents(self) -> dict[str, AgentDefinition]:
        """Agents by name, the root agent first."""
        return {definition.name: definition for definition in self._workspace.agents()}

    @cached_property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The JSON Schema of each tool's arguments, by the tool's name."""
        from abi.exchange.tool_schemas import argument_schema

        return {name: argument_schema(record) for name, record in self.tools.items()}

    def tool(self, name: str) -> Record:
        """Raises NotFound."""
        return _one(self.tools, name, "tool")

    def prompt(self, name: str) -> Record:
        """Raises NotFound."""
        return _one(self.prompts, name, "prompt")

    def _records(self, kind: str) -> dict[str, Record]:
        return {record.name: record for record in self._workspace.records(kind)}


class ServedCatalog:
    """Gives the offer of the graph as it is now."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._offer: Offer | None = None

    def now(self) -> Offer:
        version = self._workspace.version()
        with self._lock:
            if self._offer is None or self._offer.version != version:
                self._offer = Offer(self._workspace, version)
            return self._offer


def _one(records: dict[str, Record], name: str, kind: str) -> Record:
    found = records.get(name)
    if found is None:
        from rapidfuzz import process

        near = [match[0] for match in process.extract(name, list(records), limit=3, score_cutoff=60)]
        hint = f"Did you mean {', '.join(near)}?" if near else f"GET /catalog/{kind}s lists those that there are."
        raise NotFound(f"There is no {kind} {name!r}.", hint=hint)
    return found
