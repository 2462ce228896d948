"""The triples of records that were derived from a graph, with what renews them and the agent that has them."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from abi import terms
from abi.graph.mapping import iri_of, record_quads
from abi.graph.names import Names
from abi.graph.store import GraphStore
from abi.records.record import Record

__all__ = ["derived_quads"]

_N = ox.NamedNode


def derived_quads(
    store: GraphStore, records: Sequence[Record], graph: str, base: str, agent: str, source: str | None, digest: str
) -> list[ox.Quad]:
    """All quads of a derived graph. The agent's own triples stay in its own graph: these only add to what it has."""
    names = Names(base, store)
    node = _N(graph)
    label = f"derived from {source or 'all graphs'}"
    quads = [
        ox.Quad(node, _N(terms.RDF_TYPE), _N(terms.INFORMATION_CONTENT_ENTITY), node),
        ox.Quad(node, _N(terms.RDF_TYPE), _N(terms.OWL_NAMED_INDIVIDUAL), node),
        ox.Quad(node, _N(terms.RDFS_LABEL), ox.Literal(label), node),
        ox.Quad(node, _N(terms.CONTENT_HASH), ox.Literal(digest), node),
    ]
    if source is not None:
        quads.append(ox.Quad(node, _N(terms.DCTERMS + "source"), _N(source), node))
    owner = _N(names.resolve("agent", agent))
    there = any(True for _ in store.match(owner, _N(terms.NAME)))
    for record in records:
        iri = iri_of(record, base)
        names.learn(record.family, record.name, iri)
    for record in records:
        iri = iri_of(record, base)
        quads += record_quads(record, graph, names, iri)
        if there:
            link = terms.HAS_INTENT if record.family == "intent" else terms.HAS_TOOL
            quads.append(ox.Quad(owner, _N(link), _N(iri), node))
    return quads
