"""What the agents' room needs from the workspace that it runs in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from abi.graph.rows import Rows
    from abi.graph.store import GraphStore
    from abi.graph.traces import TraceStore
    from abi.graph.update import UpdateReport
    from abi.records.record import AgentHook, AgentSpecification, PythonFunction
    from abi.search.embedder import Embedder
    from abi.search.linker import Mention
    from abi.settings import Settings
    from abi.tools.runner import ToolResult

__all__ = ["Linker", "Services"]


class Linker(Protocol):
    """Finds the things of the graph that a message names; `abi.search.linker.Linker` is one."""

    def mentions(self, message: str) -> list[Mention]: ...


class Services(Protocol):
    """Given by the workspace. What is heavy (the embedder, the linker) may be made at its first use.

    `memory_path` is the SQLite file of the conversations, None for memory only; `memory_url` a PostgreSQL database that
    keeps them instead; `trace_store` is None where traces
    are off. `version()` is the graph's counter: agents are built again when it moves.
    """

    @property
    def settings(self) -> Settings: ...

    @property
    def store(self) -> GraphStore: ...

    @property
    def embedder(self) -> Embedder: ...

    @property
    def linker(self) -> Linker: ...

    @property
    def memory_path(self) -> Path | None: ...

    @property
    def memory_url(self) -> str | None: ...

    @property
    def trace_store(self) -> TraceStore | None: ...

    def version(self) -> int: ...

    def secret(self, name: str) -> str:
        """The value of a secret by its name. Raises NotFound where there is none."""
        ...

    def query(self, text: str, **limits: Any) -> Rows:
        """Rows of a SPARQL query over the graph, within the limits of the settings."""
        ...

    def update(self, text: str, *, dry_run: bool = False) -> UpdateReport:
        """Change the graph by SPARQL Update through the gate, or see what would change."""
        ...

    def run(self, name: str, /, **arguments: Any) -> ToolResult:
        """Call a tool of the catalog; none that changes the graph.

        Raises ArgumentError, ToolFailed, QueryTimeout and others of the tree.
        """
        ...

    def call_hook(self, record: AgentSpecification, hook: AgentHook, *arguments: str) -> Any:
        """Call a method of the Python class that an agent was read from. Raises Untrusted, ToolFailed."""
        ...

    def pipeline_update(self, record: PythonFunction, arguments: dict[str, Any]) -> str:
        """The update that would write what a pipeline gives. Raises ArgumentError, ToolFailed, Untrusted."""
        ...

    def find(self, kind: str | None = None, query: str | None = None, **options: Any) -> list[Any]:
        """Hits of the hybrid search, best first."""
        ...
