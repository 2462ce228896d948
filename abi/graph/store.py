"""The seam to a quad store. Implementations: `abi.graph.oxigraph` (memory, disk); any SPARQL 1.1 server later.

Everything here is trusted: text from outside goes through `abi.graph.guard` and `abi.graph.worker` first, and changes
go through `abi.graph.gate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad

    from abi.graph.rows import Rows

__all__ = ["BOOKKEEPING", "BUMP_VERSION", "GRAPH_VERSION", "SCHEMA_VERSION", "GraphStore"]

BOOKKEEPING = "urn:abi:store"
"""The graph, and the one subject in it, that hold the store's own counters."""
GRAPH_VERSION = "https://w3id.org/abi/graphVersion"
SCHEMA_VERSION = "https://w3id.org/abi/schemaVersion"

BUMP_VERSION = f"""DELETE {{ GRAPH <{BOOKKEEPING}> {{ <{BOOKKEEPING}> <{GRAPH_VERSION}> ?old }} }}
INSERT {{ GRAPH <{BOOKKEEPING}> {{ <{BOOKKEEPING}> <{GRAPH_VERSION}> ?new }} }}
WHERE {{ {{ SELECT (COALESCE(MAX(?n), 0) + 1 AS ?new) WHERE {{ GRAPH <{BOOKKEEPING}> {{ ?s <{GRAPH_VERSION}> ?n }} }} }}
  OPTIONAL {{ GRAPH <{BOOKKEEPING}> {{ <{BOOKKEEPING}> <{GRAPH_VERSION}> ?old }} }} }}"""
"""The operation that moves the version by one; part of the same update as the change it counts."""


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

    def apply(self, removed: Sequence[Quad], added: Sequence[Quad]) -> int:
        """Take away and add quads and move the version by one, all of it or nothing. Gives the new version.

        Where blank nodes are in `removed`, their whole graphs are written anew in the same step.
        """
        ...

    def match(
        self,
        subject: NamedNode | BlankNode | None = None,
        predicate: NamedNode | None = None,
        object: NamedNode | BlankNode | Literal | None = None,
        graph: NamedNode | BlankNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        """The quads of one pattern; None matches everything. Cost grows with the answer, not with the store."""
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
