"""The ontology, the shapes and the checks as they are shipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Graph

from abi.files import shipped

ROOT = Path(__file__).parents[2]
CORE = [shipped("ontology", "abi.ttl"), shipped("ontology", "bfo.ttl")]
MAPPINGS = sorted(shipped("ontology", "mappings").glob("*.ttl"))
SHAPES = sorted(shipped("shapes").glob("*.ttl"))
CHECKS = sorted(shipped("sparql", "checks").glob("*.rq"))
BFO_WHOLE = ROOT.parent / "shared" / "data" / "bfo" / "bfo-core.ttl"
EXAMPLES = Path(__file__).parent / "examples.ttl"


def store_of(*paths: Path) -> ox.Store:
    """Each file in a graph of its own, as a workspace has them."""
    store = ox.Store()
    for path in paths:
        store.bulk_load(path=str(path), format=ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(path.as_uri()))
    return store


@pytest.fixture(scope="session")
def ontology() -> ox.Store:
    return store_of(*CORE, *MAPPINGS)


@pytest.fixture(scope="session")
def shapes() -> Graph:
    graph = Graph()
    for path in SHAPES:
        graph.parse(path)
    return graph


@pytest.fixture(scope="session")
def class_axioms() -> Graph:
    """What `sh:class` wants beside the data."""
    graph = Graph()
    for path in CORE:
        graph.parse(path)
    axioms = Graph()
    from rdflib import RDFS, URIRef

    for s, p, o in graph.triples((None, RDFS.subClassOf, None)):
        if isinstance(o, URIRef):
            axioms.add((s, p, o))
    return axioms


@pytest.fixture(scope="session")
def rows() -> Callable[[ox.Store, str], list[dict[str, str]]]:
    def run(store: ox.Store, query: str) -> list[dict[str, str]]:
        answer = store.query(query, use_default_graph_as_union=True)
        assert isinstance(answer, ox.QuerySolutions)
        names = [v.value for v in answer.variables]
        return [{n: str(s[n]) for n in names if s[n] is not None} for s in answer]

    return run
