"""The gate, which looks quickly first and asks pySHACL only in doubt, finds in each fault what pySHACL finds."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from rdflib import Graph

from abi.files import shipped
from abi.findings import Finding
from abi.graph.change import Change
from abi.graph.gate import Gate
from abi.graph.oxigraph import OxigraphStore
from tests.ontology.conftest import CORE
from tests.ontology.faults import FAULTS, GOOD, RULE, Fault

GRAPH = "https://example.org/source/examples.ttl"


@pytest.fixture(scope="module")
def gate() -> Gate:
    store = OxigraphStore.memory()
    gate = Gate(store, [shipped("shapes")])
    for path in CORE:
        quads = quads_of(path.read_bytes(), path.as_uri())
        gate.commit(Change(replace={path.as_uri(): quads}))
    assert findings(gate, GOOD) == []
    # From here on only what a fault changes is new, as it is when a file is edited.
    gate.commit(Change(replace={GRAPH: quads_of(GOOD.serialize(format="nt").encode(), GRAPH)}))
    return gate


def quads_of(turtle: bytes, graph: str) -> list[ox.Quad]:
    name = ox.NamedNode(graph)
    return [ox.Quad(t.subject, t.predicate, t.object, name) for t in ox.parse(turtle, ox.RdfFormat.TURTLE)]


def findings(gate: Gate, graph: Graph) -> list[Finding]:
    return gate.check(Change(replace={GRAPH: quads_of(graph.serialize(format="nt").encode(), GRAPH)}))


def test_good_examples_pass_without_a_word(gate: Gate) -> None:
    assert gate.check_all() == []


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_fault_is_found_under_its_code(fault: Fault, gate: Gate) -> None:
    (finding, *_) = [f for f in findings(gate, fault.graph()) if f.code == fault.rule.removeprefix(RULE)]
    assert finding.message and finding.fix and finding.severity in ("error", "warning")
