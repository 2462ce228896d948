"""RDF files into the graph through the gate, and graphs out again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.errors import NotFound, Unreadable, Unsupported, UsageError
from abi.graph.formats import FORMATS, parse

TURTLE = """\
@prefix ex: <https://example.org/t/schema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:a rdfs:label "a" ; ex:knows [ rdfs:label "somebody" ] .
"""
OTHER = '<https://example.org/t/schema#b> <http://www.w3.org/2000/01/rdf-schema#label> "b" .\n'


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    Workspace.init(tmp_path / "ws", base_iri="https://example.org/t/")
    with Workspace.open(tmp_path / "ws") as workspace:
        workspace.index()
        yield workspace


def file(ws: Workspace, name: str, text: str) -> Path:
    path = ws.root / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gets_a_graph_of_its_own_that_loading_again_renews(ws: Workspace) -> None:
    first = ws.load([file(ws, "people.ttl", TURTLE)])
    assert (first.graph, first.triples) == ("https://example.org/t/graph/people", 3)
    file(ws, "people.ttl", OTHER)
    ws.load([ws.root / "people.ttl"])
    assert ws.query("SELECT ?l WHERE { GRAPH <https://example.org/t/graph/people> { ?s rdfs:label ?l } }") == [
        {"l": "b"}
    ]
    assert ws.find("entities", name="a").hits == [] and ws.find("entities", "b").hits


def test_a_named_graph_is_added_to(ws: Workspace) -> None:
    graph = "https://example.org/people"
    report = ws.load([file(ws, "a.ttl", TURTLE), file(ws, "b.nt", OTHER)], graph=graph)
    assert (report.graph, report.triples) == (graph, 4)
    assert ws.load([ws.root / "b.nt"], graph=graph).triples == 0


def test_a_file_that_names_its_graphs_keeps_them(ws: Workspace) -> None:
    ws.load([file(ws, "x.trig", "<https://e.org/g> { <https://e.org/s> <https://e.org/p> 1 }")])
    assert ws.query("ASK { GRAPH <https://e.org/g> { ?s ?p 1 } }")


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("bad.ttl", "<https://e.org/s> <https://e.org/p> .", "rdf-syntax"),
        ("relative.ttl", "<s> <https://e.org/p> 1 .", "rdf-relative-iri"),
        ("own.trig", "<urn:abi:store> { <urn:abi:store> <https://w3id.org/abi/graphVersion> 99 }", "graph-reserved"),
    ],
)
def test_with_a_fault_in_any_file_nothing_is_written(ws: Workspace, name: str, text: str, code: str) -> None:
    before = ws.version()
    report = ws.load([file(ws, "good.nt", OTHER), file(ws, name, text)])
    assert [f.code for f in report.findings] == [code]
    assert ws.version() == before
    assert not ws.query('ASK { ?s rdfs:label "b" }')


def test_what_breaks_a_rule_is_not_loaded(ws: Workspace) -> None:
    bad = "@prefix abi: <https://w3id.org/abi/> . abi:x a abi:AgentSpecification ; abi:name 'x y' ."
    report = ws.load([file(ws, "agent.ttl", bad)])
    assert any(f.severity == "error" for f in report.findings)
    assert not ws.query("ASK { abi:x ?p ?o }")


def test_wrong_calls_say_so(ws: Workspace) -> None:
    with pytest.raises(Unreadable):
        ws.load([ws.root / "nowhere.ttl"])
    for graph in ("no iri", "urn:abi:store"):
        with pytest.raises(UsageError):
            ws.load([file(ws, "b.nt", OTHER)], graph=graph)
    with pytest.raises(NotFound):
        ws.export(graph="https://example.org/nothing")
    with pytest.raises(NotFound):
        ws.export(source="nowhere.ttl")
    with pytest.raises(Unsupported):
        ws.export(source="abi:sparql/tools/describe_entity.rq", format="rq")


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_a_graph_goes_out_and_comes_in_again(ws: Workspace, row: object, tmp_path: Path) -> None:
    name: str = row.name  # type: ignore[attr-defined]
    ws.load([file(ws, "b.nt", OTHER)], graph="https://example.org/out")
    out = ws.export(graph="https://example.org/out", format=name)
    assert len(parse(out, name)) == 1
    path = tmp_path / f"again{row.extensions[0]}"  # type: ignore[attr-defined]
    path.write_bytes(out)
    assert ws.load([path], graph="https://example.org/in").findings == []
    assert ws.query('SELECT ?s WHERE { GRAPH <https://example.org/in> { ?s rdfs:label "b" } }')


def test_the_whole_graph_comes_without_the_stores_own(ws: Workspace) -> None:
    everything = ws.export()
    assert b"urn:abi:store" not in everything
    assert b"https://w3id.org/abi/Tool" in everything or b"abi:Tool" in everything
