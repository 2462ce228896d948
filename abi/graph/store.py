"""The seam to a quad store. Implementations: `abi.graph.oxigraph` (memory, disk); any SPARQL 1.1 server later.

Everything here is trusted: text from outside goes through `abi.graph.guard` and `abi.graph.worker` first, and changes
go through `abi.graph.gate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyoxigraph import Quad

    from abi.graph.rows import Rows

__all__ = ["GraphStore"]


class GraphStore(Protocol):
    """A set of named graphs. Queries see the union of all graphs unless `default_graphs` names some."""

    read_only: bool

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
        max_rows: int | None = None,
    ) -> Rows:
        """Evaluate a SELECT, ASK, CONSTRUCT or DESCRIBE. Raises QuerySyntaxError."""
        ...

    def update(self, text: str) -> None:
        """Apply one SPARQL Update, all of it or nothing. Raises QuerySyntaxError, StoreError."""
        ...

    def quads(self, graph: str | None = None) -> Iterator[Quad]:
        """The quads of one named graph, or of all of them."""
        ...

    def subject_quads(self, subjects: Iterable[str]) -> Iterator[Quad]:
        """All quads whose subject is one of the IRIs; cost grows with their number, not with the store."""
        ...

    def graphs(self) -> list[str]:
        """IRIs of the named graphs that hold something, sorted."""
        ...

    def __len__(self) -> int:
        """Quads in the store; constant time or an index scan, never a query."""
        ...

    def version(self) -> int:
        """The counter that every committed change moves by one; 0 for an empty store."""
        ...

    def signature(self) -> object:
        """Something cheap that differs when another process has written; compare, do not read."""
        ...

    def refresh(self) -> None:
        """A read-only snapshot looks again at what is on disk; nothing to do for a writer."""
        ...

    def flush(self) -> None:
        """Everything acknowledged survives a power cut from here on."""
        ...

    def close(self) -> None:
        """Let go of the lock. The store cannot be used afterwards."""
        ...
