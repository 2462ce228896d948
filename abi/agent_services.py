"""What the agents' room is given of a workspace (`abi.agents.services.Services`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abi.graph.oxigraph import OxigraphStore
    from abi.graph.rows import Rows
    from abi.graph.traces import TraceStore
    from abi.graph.update import UpdateReport
    from abi.records.record import AgentHook, AgentSpecification, PythonFunction
    from abi.search.embedder import Embedder
    from abi.search.linker import Linker
    from abi.tools.runner import ToolResult
    from abi.workspace import Workspace

__all__ = ["AgentServices"]


class AgentServices:
    """What the agents' room needs of the workspace (`abi.agents.services.Services`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.settings = workspace.settings
        self.version: Callable[[], int] = workspace.version
        self.query: Callable[..., Rows] = workspace.sparql
        self.update: Callable[..., UpdateReport] = workspace.update
        self.secret: Callable[[str], str] = workspace._secret

    @property
    def store(self) -> OxigraphStore:
        return self._workspace.store

    @property
    def embedder(self) -> Embedder:
        return self._workspace.embedder

    @property
    def linker(self) -> Linker:
        from abi.search.linker import Linker

        return Linker(self._workspace.search_index)

    @property
    def memory_path(self) -> Path | None:
        workspace = self._workspace
        return None if workspace.settings.store == "memory" else workspace.root / ".abi" / "memory.sqlite"

    @property
    def memory_url(self) -> str | None:
        """The PostgreSQL database that POSTGRES_URL names; of a published version no conversation is kept.

        None in a workspace that nobody trusts: its conversations stay in its folder.
        """
        from abi.errors import NotFound, Untrusted

        if self._workspace.catalog_version is not None:
            return None
        try:
            return self.secret("POSTGRES_URL") or None
        except (NotFound, Untrusted):
            return None

    @property
    def trace_store(self) -> TraceStore | None:
        return self._workspace.traces if self.settings.traces == "on" else None

    def run(self, name: str, /, **arguments: Any) -> ToolResult:
        """Call a tool. What changes the graph is proposed first: see `pipeline_update`."""
        return self._workspace.run_report(name, arguments, may_write=False)

    def pipeline_update(self, record: PythonFunction, arguments: dict[str, Any]) -> str:
        """The update that would write what a pipeline gives. Raises ArgumentError, ToolFailed, Untrusted."""
        from abi.agents.update_graph import MOST
        from abi.tools.pipeline import pipeline_update

        workspace = self._workspace
        parser = partial(workspace.pool.parse, seconds=self.settings.query_seconds_cap)
        return pipeline_update(record, arguments, workspace.run_context, parser, MOST)

    def call_hook(self, record: AgentSpecification, hook: AgentHook, *arguments: str) -> Any:
        """Call a method of the Python class that an agent was read from. Raises Untrusted, ToolFailed."""
        from abi.tools.agent_hook import call_hook

        if self._workspace.catalog_version is not None:
            self._workspace._require_published_code(record)
        return call_hook(record, hook, arguments, self._workspace.run_context)

    def find(self, kind: str | None = None, query: str | None = None, **options: Any) -> list[Any]:
        return self._workspace.find(kind, query, **options).hits
