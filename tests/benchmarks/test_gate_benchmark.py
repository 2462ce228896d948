"""One validated record write: bound 5 ms of CPU, the same at 1,000 and at 10,000 records.

Run with: pytest tests/benchmarks/test_gate_benchmark.py --benchmark-only
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from abi import terms
from abi.files import shipped
from abi.graph.change import Change
from abi.graph.gate import Gate
from abi.graph.mapping import Names, provenance_quads, record_quads
from abi.graph.names import source_graph
from abi.graph.oxigraph import OxigraphStore
from abi.records.record import Parameter, Source, SparqlQuery

BASE = "https://example.org/mine/"
BOUND = 0.005
WORDS = "airports that can be reached from an airport of a state without a stop on the way and how often a week".split()


def a_change(number: int, edition: int = 0) -> Change:
    source = Source(path=f"tools/t{number}.rq", content_hash="0" * 64)
    graph = source_graph(BASE, source.path)
    record = SparqlQuery(
        name=f"tool_{number}",
        description=" ".join(WORDS[(number + i) % len(WORDS)] for i in range(20)) + f" {edition}",
        query="SELECT ?a WHERE { ?a ?b ?c }",
        annotations={"domain": "travel"},
        parameters=[Parameter(name=n, description="A part.", datatype=terms.XSD_STRING) for n in ("a", "b", "c")],
        source=source,
    )
    return Change(
        replace={graph: record_quads(record, graph, Names(BASE))}, add=provenance_quads([record], source, BASE)
    )


@pytest.fixture(params=[1_000, 10_000])
def gate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gate]:
    store = OxigraphStore.open(tmp_path / "graph", create=True)
    quads: list[ox.Quad] = []
    for number in range(request.param):
        change = a_change(number)
        quads += [q for graph in change.replace.values() for q in graph] + change.add
    for name in ("abi.ttl", "bfo.ttl"):
        graph = ox.NamedNode(f"urn:{name}")
        quads += [ox.Quad(*q.triple, graph) for q in ox.parse(path=str(shipped("ontology", name)))]
    store.apply([], quads)
    store.flush()
    store.inner.optimize()  # else the compaction of so large a load runs beside the measurement
    gate = Gate(store, [shipped("shapes")], base=BASE)
    gate.write(a_change(0, edition=-1))  # shapes are parsed once a process
    yield gate
    store.close()


def test_one_record_written(benchmark: Any, gate: Gate) -> None:
    editions = itertools.count(1)
    changes = itertools.cycle(range(500))
    spent: list[float] = []

    def write() -> None:
        change = a_change(next(changes), next(editions))
        started = time.process_time()
        gate.write(change)
        spent.append(time.process_time() - started)

    benchmark.pedantic(write, rounds=200, warmup_rounds=20)
    median = sorted(spent)[len(spent) // 2]
    print(f"\nvalidated write, {len(gate.store)} triples: {median * 1000:.2f} ms CPU (bound {BOUND * 1000:.0f} ms)")


def test_a_thousand_records_written(benchmark: Any, tmp_path: Path) -> None:
    store = OxigraphStore.open(tmp_path / "graph", create=True)
    gate = Gate(store, [shipped("shapes")], base=BASE)
    changes = [a_change(n) for n in range(1_000)]
    whole = Change(
        replace={g: q for c in changes for g, q in c.replace.items()}, add=[q for c in changes for q in c.add]
    )
    benchmark.pedantic(lambda: gate.write(whole), rounds=1)
    store.close()


def test_domain_triples_that_no_shape_is_for(benchmark: Any) -> None:
    store = OxigraphStore.memory()
    gate = Gate(store, [shipped("shapes")], base=BASE)
    graph = BASE + "source/graph/airports.ttl"
    quads = [
        ox.Quad(
            ox.NamedNode(f"{BASE}a{n % 9000}"),
            ox.NamedNode(terms.RDF_TYPE if n < 9000 else f"{BASE}p{n // 9000}"),
            ox.NamedNode(f"{BASE}Airport") if n < 9000 else ox.Literal(f"value {n}"),
            ox.NamedNode(graph),
        )
        for n in range(60_000)
    ]
    change = Change(replace={graph: quads})
    benchmark.pedantic(lambda: gate.check(change), rounds=3)
