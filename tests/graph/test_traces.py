"""Turns as triples: what is kept, how it is read, who waits for whom."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from abi import terms
from abi.errors import NotFound
from abi.files import shipped
from abi.graph.oxigraph import OxigraphStore
from abi.graph.trace_triples import turn_quads
from abi.graph.traces import TraceStore, prune
from abi.settings import Settings

BASE = "https://example.org/t/"
SETTINGS = Settings(base_iri=BASE)
NOW = datetime.now(UTC).replace(microsecond=250_000)


@dataclass
class Turn:
    thread_id: str = "t 1"
    number: int = 1
    agent: str = "guide"
    agent_iri: str = BASE + "agent/guide"
    message: str = "How many?"
    answer: str = "Two."
    grounded: bool | None = True
    needs: dict[str, Any] | None = None
    model: str = "offline:grounded"
    graph_version: int = 7
    started: datetime = NOW
    ended: datetime = NOW + timedelta(seconds=1)
    tool_calls: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {
                "tool": "count_it",
                "arguments": {"what": BASE + "x"},
                "query": "SELECT (2 AS ?n) {}",
                "rows": [{"n": 2}],
                "row_count": 1,
                "truncated": False,
                "seconds": 0.01,
            }
        ]
    )
    citations: list[dict[str, str]] = field(default_factory=lambda: [{"iri": BASE + "x", "label": "the x"}])
    routing: dict[str, Any] = field(
        default_factory=lambda: {"step": "direct", "reason": "It is near.", "candidates": [], "chosen": "count_it"}
    )
    details: dict[str, Any] = field(
        default_factory=lambda: {
            "candidates": [
                {
                    "intent": "count things",
                    "target": "count_it",
                    "type": "tool",
                    "score": 0.95,
                    "iri": BASE + "agent/guide/intent/count",
                }
            ]
        }
    )

    @property
    def turn(self) -> str:
        return f"{BASE}thread/t%201/turn/{self.number}"


@pytest.fixture(params=["memory", "disk"])
def traces(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    store = TraceStore(None if request.param == "memory" else tmp_path / "traces", SETTINGS)
    yield store
    store.close()


def test_a_turn_is_read_back_whole(traces: TraceStore) -> None:
    turn = Turn()
    traces.write(turn)
    found = traces.turn("thread/t%201/turn/1")
    assert found["turn"] == turn.turn
    assert found["thread_id"] == "t 1"
    assert (found["agent"], found["message"], found["answer"], found["grounded"]) == (
        "guide",
        "How many?",
        "Two.",
        True,
    )
    (call,) = found["tool_calls"]
    assert call["tool"] == "count_it"
    assert call["arguments"] == {"what": BASE + "x"}
    assert call["query"] == "SELECT (2 AS ?n) {}"
    assert call["row_count"] == 1
    assert found["citations"] == [{"iri": BASE + "x", "label": "the x"}]
    assert found["routing"] == {
        "step": "direct",
        "reason": "It is near.",
        "candidates": [{"intent": "count things", "target": "count_it", "score": 0.95}],
        "chosen": "count_it",
    }
    assert found["started"] == f"{NOW:%Y-%m-%dT%H:%M:%S}.25Z"


def test_why_this_answer_is_a_query(traces: TraceStore) -> None:
    traces.write(Turn())
    traces.write(Turn(number=2, message="And now?"))
    rows = traces.query(
        "SELECT ?question ?query ?rows ?cited WHERE { ?turn abi:hasMessage ?m ; abi:hasToolCall ?call ; abi:cites ?c . "
        "?m abi:messageRole 'human' ; abi:messageText ?question . ?c rdfs:label ?cited . "
        "?call abi:boundQuery ?query ; abi:rowCount ?rows } ORDER BY ?question"
    )
    assert [r["question"] for r in rows.python()] == ["And now?", "How many?"]
    assert rows.python()[0]["cited"] == "the x"


def test_a_thread_has_one_graph(traces: TraceStore) -> None:
    traces.write(Turn())
    traces.write(Turn(number=2))
    rows = traces.query("SELECT DISTINCT ?g WHERE { GRAPH ?g { ?t a abi:Turn } }")
    assert [r["g"].value for r in rows] == [BASE + "thread/t%201"]
    assert {q.graph_name.value for q in traces.quads(Turn().turn)} == {BASE + "thread/t%201"}  # type: ignore[union-attr]


def test_no_such_turn(traces: TraceStore) -> None:
    with pytest.raises(NotFound, match="no turn"):
        traces.turn("thread/none/turn/1")


def test_odd_turns_can_be_kept(traces: TraceStore) -> None:
    traces.write(
        Turn(
            message='a lone \ud800 surrogate\n"quoted" \\',
            answer="",
            grounded=None,
            needs={"argument": "what"},
            tool_calls=[{"tool": "f", "arguments": {}, "error": "It raised.", "result": None}],
            citations=[],
            routing={"step": "none", "chosen": None},
            details={},
        )
    )
    found = traces.turn(Turn().turn)
    assert found["grounded"] is None
    assert found["needs"] == {"argument": "what"}
    assert found["tool_calls"][0]["error"] == "It raised."


def test_triples_pass_the_shapes_and_use_declared_terms_only() -> None:
    from pyshacl import validate
    from rdflib import Graph

    quads = turn_quads(Turn(), BASE, owner="me")
    data = Graph()
    text = "\n".join(f"{ox.Triple(q.subject, q.predicate, q.object)} ." for q in quads)
    data.parse(data=text, format="nt")
    shapes = Graph()
    for name in ("turn", "conversation", "message", "routing", "routing_candidate", "tool_call"):
        shapes.parse(shipped("shapes") / f"{name}.ttl")
    conforms, _, report = validate(data, shacl_graph=shapes, advanced=False)
    assert conforms, report
    declared = shipped("ontology", "abi.ttl").read_text(encoding="utf-8")
    used = {str(p) for p in data.predicates()} | {
        str(o) for o in data.objects(None, None) if str(o).startswith(terms.ABI)
    }
    for term in used:
        if term.startswith(terms.ABI):
            assert f"\nabi:{term.removeprefix(terms.ABI)} a " in declared, term


def test_another_writer_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "traces"
    holder = OxigraphStore.open(path, create=True)
    traces = TraceStore(path, SETTINGS)
    traces.write(Turn())
    holder.close()
    assert traces.turn(Turn().turn)["answer"] == "Two."
    traces.close()


def test_a_lock_that_stays_gives_a_warning_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "traces"
    holder = OxigraphStore.open(path, create=True)
    traces = TraceStore(path, SETTINGS, wait_seconds=0.1)
    with caplog.at_level(logging.WARNING, logger="abi"):
        traces.write(Turn())
        traces.flush()
    assert "left no trace" in caplog.text
    holder.close()
    traces.write(Turn(number=2))
    assert traces.turn(Turn(number=2).turn)["message"] == "How many?"
    traces.close()


def test_the_lock_is_let_go_after_a_turn(tmp_path: Path) -> None:
    traces = TraceStore(tmp_path / "traces", SETTINGS)
    traces.write(Turn())
    traces.close()
    OxigraphStore.open(tmp_path / "traces").close()


def test_old_turns_go_and_empty_conversations_with_them() -> None:
    store = OxigraphStore.memory()
    old = NOW - timedelta(days=100)
    for turn in (Turn(number=1, started=old, ended=old), Turn(number=2)):
        store.apply([], turn_quads(turn, BASE))
    assert prune(store, NOW - timedelta(days=90)) == 1
    left = {q.subject.value for q in store.quads() if "/turn/" in str(q.subject)}  # type: ignore[union-attr]
    assert left
    assert all("/turn/2" in iri for iri in left)
    assert prune(store, NOW + timedelta(days=1)) == 1
    assert store.query("SELECT * WHERE { ?s a abi:Conversation }").rows == []
