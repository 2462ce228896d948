"""What a turn leaves behind is good by the ontology, the shapes and the checks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace

import pyoxigraph as ox
import pytest
from rdflib import Graph

from abi.graph.traces import turn_quads
from tests.ontology.conftest import CHECKS, CORE, store_of
from tests.ontology.test_shapes import findings

BASE = "https://example.org/flights/"
TURN = SimpleNamespace(
    thread_id="t 1",
    turn=f"{BASE}thread/t%201/turn/1",
    number=1,
    agent="route_finder",
    agent_iri=f"{BASE}agent/route_finder",
    message="Where can I fly from Boise?",
    answer="3 airports.",
    grounded=True,
    needs={"argument": "origin"},
    tool_calls=[
        {
            "tool": "find_direct_routes",
            "arguments": {"origin": "BOI"},
            "query": "SELECT * {}",
            "row_count": 3,
            "truncated": False,
            "seconds": 0.002,
            "error": "none, but it could have one",
            "result": {"km": 1.5},
        }
    ],
    citations=[{"iri": f"{BASE}airport/BOI", "label": "Boise"}],
    routing={"step": "direct", "chosen": "find_direct_routes"},
    started=datetime(2026, 1, 31, 9, 30, tzinfo=UTC),
    ended=datetime(2026, 1, 31, 9, 30, 1, tzinfo=UTC),
    model="offline:grounded",
    graph_version=7,
    details={
        "chosen_iri": f"{BASE}tool/find_direct_routes",
        "candidates": [
            {
                "intent": "direct flights",
                "target": "find_direct_routes",
                "type": "tool",
                "score": 0.93,
                "iri": f"{BASE}agent/route_finder/intent/direct-flights",
            }
        ],
    },
)


@pytest.fixture(scope="module")
def quads() -> list[ox.Quad]:
    return turn_quads(TURN, BASE, "ann")


def test_shapes_find_nothing(quads: list[ox.Quad], class_axioms: Graph) -> None:
    text = ox.serialize((q.triple for q in quads), format=ox.RdfFormat.N_TRIPLES)
    assert findings(Graph().parse(data=text, format="nt"), class_axioms) == {}


def test_checks_find_nothing(quads: list[ox.Quad], rows: Callable[[ox.Store, str], list[dict[str, str]]]) -> None:
    store = store_of(*CORE)
    store.extend(quads)
    for check in CHECKS:
        assert rows(store, check.read_text("utf-8")) == [], check.stem
