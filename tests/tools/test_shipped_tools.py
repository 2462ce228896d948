"""The tools of every workspace, over a small graph whose answers are known, and over one with hubs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from abi.errors import ArgumentError
from abi.files import shipped
from abi.graph.oxigraph import OxigraphStore
from abi.graph.worker import QueryWorker
from abi.records.reader import ReadContext, read_file
from abi.records.record import SparqlQuery
from abi.records.scan import SourceFile
from abi.settings import Settings
from abi.tools.runner import RunContext, ToolResult, run
from abi.tools.sparql_query import check

SETTINGS = Settings(base_iri="urn:x:", prefixes={"x": "urn:x:"})
NAMES = {
    "class_hierarchy", "count_by_class", "describe_entity", "instances_of", "list_properties", "neighbours",
    "path_between", "search_class", "search_entities",
}  # fmt: skip
DATA = """
INSERT DATA {
  GRAPH <urn:o> {
    x:Place a owl:Class ; rdfs:label "place"@en ; skos:definition "Somewhere one can be."@en .
    x:City a owl:Class ; rdfs:subClassOf x:Place ; rdfs:label "city"@en ; skos:definition "A place with people."@en .
    x:Port a owl:Class ; rdfs:subClassOf x:Place ; rdfs:label "port"@en . x:Sea a owl:Class ; rdfs:label "sea" .
    x:at a owl:ObjectProperty ; rdfs:label "located at"@en .
  }
  GRAPH <urn:d> {
    x:boise a x:City , owl:NamedIndividual ; rdfs:label "Boise" ; skos:altLabel "City of Trees" .
    x:boise x:at x:idaho ; x:size 235 .
    x:nampa a x:City ; rdfs:label "Nampa" ; x:at x:idaho . x:idaho a x:Place ; rdfs:label "Idaho" ; x:at x:usa .
    x:usa a x:Place ; rdfs:label "USA" . x:dock a x:Port ; rdfs:label "Boise Dock" ; x:at x:boise .
    x:far a x:Place ; rdfs:label "Faraway" . _:b a x:City ; rdfs:label "Boise blank" .
    x:tool a abi:SparqlTemplate ; rdfs:label "boise_tool" .
  }
  GRAPH <urn:e> { x:boise a x:City ; rdfs:label "Boise" ; x:at x:idaho }
}"""


def shipped_tools() -> dict[str, tuple[SparqlQuery, int, int]]:
    tools = {}
    for path in sorted(shipped("sparql", "tools").glob("*.rq")):
        status = path.stat()
        file = SourceFile(f"sparql/tools/{path.name}", path, status.st_size, status.st_mtime_ns)
        result = read_file(file, ReadContext.of(SETTINGS))
        assert not result.findings, result.findings
        (record,) = result.records
        assert isinstance(record, SparqlQuery) and record.name == path.stem
        tools[record.name] = (record, result.line(record, "query"), result.line(record, "answer"))
    return tools


TOOLS = shipped_tools()


@pytest.fixture(scope="module")
def context() -> Iterator[RunContext]:
    store = OxigraphStore.memory(prefixes=SETTINGS.all_prefixes())
    store.update(DATA)
    with QueryWorker(store, prefixes=SETTINGS.all_prefixes()) as worker:
        yield RunContext(query=worker.query, settings=SETTINGS, root=Path())


def call(context: RunContext, name: str, **arguments: object) -> ToolResult:
    return run(TOOLS[name][0], arguments, context)


def column(result: ToolResult, name: str) -> list[object]:
    return [row[name] for row in result.result]


def test_they_are_all_there() -> None:
    assert set(TOOLS) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_they_are_sound_and_described(name: str) -> None:
    record, query_line, answer_line = TOOLS[name]
    assert check(record, SETTINGS, path=f"{name}.rq", query_line=query_line, answer_line=answer_line) == []
    assert 12 <= len(record.description.split()) <= 27
    assert record.answer and "not rows" in record.answer
    assert all(p.description for p in record.parameters)
    assert all(p.examples for p in record.parameters if p.required)


def test_search_entities(context: RunContext) -> None:
    result = call(context, "search_entities", text="BOISE")
    assert column(result, "entity") == ["urn:x:boise", "urn:x:dock"]
    assert result.answer == 'With "BOISE" in the name the graph has Boise (city), Boise Dock (port).'
    assert column(call(context, "search_entities", text="trees"), "label") == ["Boise"]
    assert column(call(context, "search_entities", text="boise", class_name="port"), "label") == ["Boise Dock"]
    assert column(call(context, "search_entities", text="boise", class_name="place", limit=1), "label") == ["Boise"]
    assert call(context, "search_entities", text="boise_tool", class_name="abi:SparqlTemplate").row_count == 1
    assert "is in the graph" in (call(context, "search_entities", text="zzz").answer or "")


def test_describe_entity(context: RunContext) -> None:
    result = call(context, "describe_entity", entity="Boise")
    assert result.answer == (
        "Boise: type city; alternative label City of Trees; label Boise; located at Idaho; size 235; "
        "is the located at of Boise Dock."
    ).replace("alternative label", "altLabel")
    assert call(context, "describe_entity", entity="Idaho", limit=1).row_count == 2
    with pytest.raises(ArgumentError):
        call(context, "describe_entity", entity="Nothing")


def test_search_class(context: RunContext) -> None:
    result = call(context, "search_class", text="place")
    assert column(result, "label") == ["place", "city"]
    assert "city (A place with people.)" in (result.answer or "")
    assert call(context, "search_class", text="zzz").row_count == 0


def test_class_hierarchy(context: RunContext) -> None:
    result = call(context, "class_hierarchy", class_name="place")
    assert result.answer == "city is a kind of place; port is a kind of place."
    assert column(call(context, "class_hierarchy", class_name="city"), "relation") == ["superclass"]
    assert "no class above or below sea" in (call(context, "class_hierarchy", class_name="sea").answer or "")


def test_instances_and_counts(context: RunContext) -> None:
    result = call(context, "instances_of", class_name="place", limit=2)
    assert result.answer == "The graph holds 6 individuals of the class place; the first 2 by name: Boise, Boise Dock."
    assert "no individual of the class sea" in (call(context, "instances_of", class_name="sea").answer or "")
    counts = call(context, "count_by_class")
    assert [(r["label"], r["individuals"]) for r in counts.result] == [("place", 3), ("city", 2), ("port", 1)]
    assert column(call(context, "count_by_class", class_name="city"), "individuals") == [2]
    assert call(context, "count_by_class", class_name="sea").row_count == 0


def test_list_properties(context: RunContext) -> None:
    result = call(context, "list_properties", class_name="city")
    assert {r["label"]: r["individuals"] for r in result.result} == {
        "label": 2,
        "located at": 2,
        "size": 1,
        "altLabel": 1,
    }
    assert (result.answer or "").startswith("Individuals of the class city have: ")
    assert call(context, "list_properties", class_name="sea").row_count == 0


def test_neighbours(context: RunContext) -> None:
    result = call(context, "neighbours", entity="Boise")
    assert result.answer == "Linked to Boise: located at → Idaho, Boise Dock → located at."
    assert "Nothing is linked" in (call(context, "neighbours", entity="Faraway").answer or "")


@pytest.mark.parametrize(
    ("source", "target", "links", "first"),
    [
        ("Boise", "Idaho", 1, "Boise → located at → Idaho"),
        ("Boise", "Nampa", 2, "Boise → located at → Idaho ← located at ← Nampa"),
        ("Boise Dock", "Nampa", 3, "Boise Dock → located at → Boise → located at → Idaho ← located at ← Nampa"),
        ("USA", "Boise Dock", 3, "USA ← located at ← Idaho ← located at ← Boise ← located at ← Boise Dock"),
    ],
)
def test_path_between(context: RunContext, source: str, target: str, links: int, first: str) -> None:
    result = call(context, "path_between", source=source, target=target)
    assert (result.result[0]["links"], result.result[0]["entry"]) == (links, first)


def test_no_path(context: RunContext) -> None:
    result = call(context, "path_between", source="Boise", target="Faraway")
    assert result.answer == "No chain of up to four links between Boise and Faraway was found in the graph."


def test_hubs_are_borne() -> None:
    """60,000 triples, most of them through three hubs; every tool ends well within its time."""
    store = OxigraphStore.memory(prefixes=SETTINGS.all_prefixes())
    node = ox.NamedNode
    label, kind, graph = node("http://www.w3.org/2000/01/rdf-schema#label"), node("urn:x:Leaf"), node("urn:g")
    rdf_type = node("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    quads = [ox.Quad(kind, rdf_type, node("http://www.w3.org/2002/07/owl#Class"), graph)]
    quads += [ox.Quad(node(f"urn:x:hub{h}"), label, ox.Literal(f"hub {h}"), graph) for h in range(3)]
    for i in range(12_000):
        leaf = node(f"urn:x:leaf{i}")
        quads += [ox.Quad(leaf, rdf_type, kind, graph), ox.Quad(leaf, label, ox.Literal(f"leaf {i}"), graph)]
        quads += [ox.Quad(leaf, node(f"urn:x:p{h}"), node(f"urn:x:hub{h}"), graph) for h in range(3)]
    store.inner.bulk_extend(quads)
    with QueryWorker(store, prefixes=SETTINGS.all_prefixes()) as worker:
        context = RunContext(query=worker.query, settings=SETTINGS, root=Path())
        assert call(context, "path_between", source="hub 0", target="hub 1").result[0]["links"] == 2
        assert call(context, "path_between", source="leaf 1", target="leaf 2").result[0]["links"] == 2
        assert call(context, "path_between", source="leaf 1", target="hub 2").result[0]["links"] == 1
        assert call(context, "neighbours", entity="hub 0").row_count == 25
        assert call(context, "describe_entity", entity="hub 0").row_count == 51
        assert call(context, "instances_of", class_name="urn:x:Leaf").result[0]["total"] == 12_000
        assert call(context, "search_entities", text="leaf").row_count == 20
        assert call(context, "list_properties", class_name="urn:x:Leaf").row_count == 4
        assert call(context, "count_by_class").result[0]["individuals"] == 12_000
