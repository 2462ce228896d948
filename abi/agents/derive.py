"""`abi intents derive`: intents and templates for what a graph holds, as triples in a graph of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from abi import terms
from abi.agents.derived_tools import derived_records
from abi.agents.graph_schema import Query, read_schema
from abi.agents.words import split_name
from abi.errors import NotFound
from abi.records.record import Record

if TYPE_CHECKING:
    from abi.graph.gate import Gate
    from abi.graph.oxigraph import OxigraphStore

__all__ = ["KNOWLEDGE_AGENT", "DeriveReport", "derive", "derived_sources"]

KNOWLEDGE_AGENT = "KnowledgeGraphAgent"
"""The agent that gets what is derived."""
_FORM = "1"
"""Moves when the templates are made in another way, so that all are made again."""


@dataclass(slots=True)
class DeriveReport:
    """`graph` holds the triples. `written` is False where nothing of schema or data had moved."""

    graph: str
    intents: int = 0
    tools: int = 0
    written: bool = False
    subjects: set[str] = field(default_factory=set)

    def document(self) -> dict[str, Any]:
        return {"intents": self.intents, "tools": self.tools, "graph": self.graph}


def derive(store: OxigraphStore, gate: Gate, query: Query, base: str, source: str | None = None) -> DeriveReport:
    """Derive from one named graph, or from all that the workspace holds, and replace what was derived before.

    `query` is guarded and limited. Raises NotFound for a graph that holds no individuals, Invalid.
    """
    schema = read_schema(query, source)
    if not schema.classes:
        where = f"The graph {source}" if source else "The graph"
        raise NotFound(f"{where} holds no individuals of any class.", hint="`abi load` brings RDF in.")
    slug = "_".join(split_name(source.rstrip("/#"))).casefold() if source else "graph"
    short = hashlib.sha256(source.encode()).hexdigest()[:6] if source else ""
    slug = "".join(c if c.isascii() and c.isalnum() else "_" for c in slug) or "graph"
    report = DeriveReport(f"{base}derived/{slug}{'-' + short if short else ''}")
    digest = hashlib.sha256(f"{_FORM} {schema.digest()}".encode()).hexdigest()

    def holds(pattern: str) -> bool:
        return bool(query(f"ASK {{ {pattern} }}").boolean)

    made = derived_records(schema, slug, source or base, holds)
    report.tools, report.intents = len(made.tools), len(made.intents)
    if _kept(store, report.graph) != digest:
        _write(store, gate, base, report, [*made.tools, *made.intents], source, digest)
    return report


def derived_sources(store: OxigraphStore, base: str) -> list[str | None]:
    """The graphs that intents were derived from, None for all together: what has to be renewed when the data moves."""
    rows = store.query(
        f"SELECT ?graph ?source WHERE {{ GRAPH ?graph {{ ?graph <{terms.CONTENT_HASH}> ?hash "
        f"OPTIONAL {{ ?graph <{terms.DCTERMS}source> ?source }} }} FILTER(STRSTARTS(STR(?graph), "
        f'"{base}derived/")) }} ORDER BY ?graph'
    )
    return [row["source"].value if "source" in row else None for row in rows]


def _kept(store: OxigraphStore, graph: str) -> str:
    rows = store.query(f"SELECT ?hash WHERE {{ GRAPH <{graph}> {{ <{graph}> <{terms.CONTENT_HASH}> ?hash }} }}")
    return next((row["hash"].value for row in rows), "")


def _write(
    store: OxigraphStore,
    gate: Gate,
    base: str,
    report: DeriveReport,
    records: Sequence[Record],
    source: str | None,
    digest: str,
) -> None:
    from abi.graph.change import Change
    from abi.graph.derived import derived_quads

    quads = derived_quads(store, records, report.graph, base, KNOWLEDGE_AGENT, source, digest)
    gate.write(Change(replace={report.graph: quads}))
    report.written = True
    report.subjects = {str(getattr(q.subject, "value", "")) for q in quads}
