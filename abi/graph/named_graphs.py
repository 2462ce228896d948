"""Whole named graphs written and dropped from outside, through the gate: what the Graph Store Protocol asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyoxigraph as ox

from abi.errors import Changed, Denied, Invalid, NotFound, UsageError
from abi.findings import has_errors
from abi.graph.catalog import iri_term
from abi.graph.change import Change
from abi.graph.formats import format_of
from abi.graph.names import provenance_graph
from abi.graph.rdf_source import Parser, parse_text
from abi.graph.store import BOOKKEEPING

if TYPE_CHECKING:
    from abi.graph.gate import Gate
    from abi.graph.oxigraph import OxigraphStore
    from abi.settings import Settings

__all__ = ["GraphWritten", "Part", "checked_iri", "drop_graph", "graph_tag", "write_graph"]

Condition = Callable[["str | None"], bool]
"""Given a graph's tag (None: there is no such graph), whether the change is still wanted."""


@dataclass(frozen=True, slots=True)
class Part:
    """RDF from outside, in a syntax by any of its names."""

    data: bytes
    format: str


@dataclass(slots=True)
class GraphWritten:
    """What became of a graph. `tag` is its new one; None where it is gone."""

    graph: str
    created: bool
    tag: str | None
    version: int
    added: int = 0
    removed: int = 0
    subjects: set[str] = field(default_factory=set)


def graph_tag(store: OxigraphStore, graph: str) -> str | None:
    """Differs whenever the content of a graph does; None where it holds nothing."""
    return f"{store.changed_at(graph)}" if _holds(store, graph) else None


def write_graph(
    store: OxigraphStore,
    gate: Gate,
    graph: str,
    parts: Sequence[Part],
    settings: Settings,
    *,
    add: bool = False,
    wanted: Condition | None = None,
    parser: Parser | None = None,
) -> GraphWritten:
    """Replace what a graph holds, or add to it.

    Raises Invalid for what does not parse or breaks a rule, Denied for a graph that abi keeps itself, Changed where the
    graph is not `wanted` so any more, UsageError for a name that is no IRI.
    """
    _refuse_kept(graph, settings)
    quads: list[ox.Quad] = []
    for part in parts:
        row = format_of(part.format)
        # What several parts say is one graph, but a blank node of one is none of another: labels are made anew.
        parsed = parse_text(part.data, row, graph, path="body", settings=settings, base=graph, parser=parser)
        if has_errors(parsed.findings):
            raise Invalid("The RDF cannot be taken; nothing was written.", parsed.findings)
        quads += parsed.quads
    return _apply(store, gate, graph, Change(add=quads) if add else Change(replace={graph: quads}), wanted)


def drop_graph(
    store: OxigraphStore, gate: Gate, graph: str, settings: Settings, *, wanted: Condition | None = None
) -> GraphWritten:
    """Take all triples of a graph away. Raises NotFound where it has none; besides as `write_graph`."""
    _refuse_kept(graph, settings)
    if not _holds(store, graph):
        raise NotFound(f"There is no graph <{graph}>.")
    return _apply(store, gate, graph, Change(drop={graph}), wanted)


def _apply(store: OxigraphStore, gate: Gate, graph: str, change: Change, wanted: Condition | None) -> GraphWritten:
    with store.writing:
        before = graph_tag(store, graph)
        if wanted is not None and not wanted(before):
            raise Changed(f"The graph <{graph}> is not as the request expects it.", hint="Get it again.")
        net = gate.net(change)
        written = gate.write(net, mark_edited=gate.edited_graphs(net))
        return GraphWritten(
            graph,
            before is None,
            graph_tag(store, graph),
            written.version,
            written.added,
            written.removed,
            {q.subject.value for q in (*net.added, *net.removed) if isinstance(q.subject, ox.NamedNode)},
        )


def checked_iri(graph: str) -> None:
    """Raises UsageError for a name that is no IRI."""
    try:
        iri_term(graph)
        ox.NamedNode(graph)
    except ValueError as error:
        raise UsageError(f"{graph[:200]!r} is no IRI.") from error


def _refuse_kept(graph: str, settings: Settings) -> None:
    checked_iri(graph)
    if graph in (BOOKKEEPING, provenance_graph(settings.base_iri)):
        raise Denied(f"The graph <{graph}> is kept by abi itself.", hint="Index, restore or load files to change it.")


def _holds(store: OxigraphStore, graph: str) -> bool:
    return next(store.quads(graph), None) is not None
