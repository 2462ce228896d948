from __future__ import annotations

import pytest

from abi.errors import ArgumentError
from abi.graph.oxigraph import OxigraphStore
from abi.graph.resolve import Candidate, candidates, labels_of, resolve
from abi.graph.rows import Rows

DATA = """
PREFIX : <urn:x:> PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
INSERT DATA {
  GRAPH <urn:o> { :Airport a owl:Class ; rdfs:label "Airport"@en . :Heliport a owl:Class ; rdfs:subClassOf :Airport .
    :City a owl:Class ; rdfs:label "city" . :Bare a :Undeclared . }
  GRAPH <urn:d> {
    :boi a :Airport ; rdfs:label "Boise Air Terminal" ; skos:altLabel "Boise" ; skos:notation "BOI" .
    :sea a :Airport ; rdfs:label "Seattle-Tacoma" ; skos:notation "SEA" .
    :boise a :City ; rdfs:label "Boise" .
    :pad a :Heliport ; rdfs:label "McDonald Pad" , "Hubschrauberlandeplatz"@de .
    :s1 a :City ; rdfs:label "Springfield" . :s2 a :City ; rdfs:label "springfield"@en .
    :quoted a :City ; rdfs:label '''a "b" \\\\ } c''' . _:b a :City ; rdfs:label "Nowhere" . }
  GRAPH <urn:e> { :boi a :Airport ; rdfs:label "Boise Air Terminal" ; skos:notation "BOI" }
}"""
AIRPORT, CITY = "urn:x:Airport", "urn:x:City"
THING, CLASS = "http://www.w3.org/2002/07/owl#Thing", "http://www.w3.org/2002/07/owl#Class"


@pytest.fixture(scope="module")
def store() -> OxigraphStore:
    made = OxigraphStore.memory()
    made.update(DATA)
    return made


@pytest.fixture
def query(store: OxigraphStore):  # type: ignore[no-untyped-def]
    def ask(text: str, *, rows: int | None = None) -> Rows:
        return store.query(text, max_rows=rows)

    return ask


@pytest.mark.parametrize(
    ("text", "value_class", "iri"),
    [
        ("Boise Air Terminal", AIRPORT, "boi"),
        ("  boise   air terminal ", AIRPORT, "boi"),
        ("boi", AIRPORT, "boi"),
        ("Boise", AIRPORT, "boi"),
        ("Boise", CITY, "boise"),
        ("Boise", THING, "boise"),
        ("urn:x:boi", AIRPORT, "boi"),
        ("<urn:x:boi>", THING, "boi"),
        ("x:boi", AIRPORT, "boi"),
        ("mcdonald pad", AIRPORT, "pad"),
        ("hubschrauberlandeplatz", AIRPORT, "pad"),
        ("airport", CLASS, "Airport"),
        ("urn:x:Heliport", CLASS, "Heliport"),
        ("urn:x:Undeclared", CLASS, "Undeclared"),
        ('A "B" \\ } C', CITY, "quoted"),
    ],
)
def test_found(query, text: str, value_class: str, iri: str) -> None:  # type: ignore[no-untyped-def]
    assert resolve(query, text, value_class, prefixes={"x": "urn:x:"}).iri == f"urn:x:{iri}"


def test_labels(query) -> None:  # type: ignore[no-untyped-def]
    assert resolve(query, "SEA", AIRPORT) == Candidate("urn:x:sea", "Seattle-Tacoma")
    assert resolve(query, "urn:x:Heliport", CLASS).label == "Heliport"
    assert labels_of(query, ["urn:x:pad", "urn:x:Bare", "no iri", "urn:x:pad"]) == {"urn:x:pad": "McDonald Pad"}
    assert labels_of(query, []) == {}


def test_ambiguous(query) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ArgumentError, match="can mean 2 things") as caught:
        resolve(query, "springfield", CITY, argument="place")
    fault = caught.value.details["faults"][0]
    assert (fault["argument"], fault["code"]) == ("place", "ambiguous")
    assert [c["iri"] for c in fault["candidates"]] == ["urn:x:s1", "urn:x:s2"]


def test_unknown_says_what_is_near(query) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ArgumentError, match=r"No Airport is called 'Seattel'") as caught:
        resolve(query, "Seattel", AIRPORT, argument="origin")
    assert caught.value.details["faults"][0]["near"] == ["Seattle-Tacoma"]
    with pytest.raises(ArgumentError, match="Nothing in the graph"):
        resolve(query, "Zzyzx", THING)


@pytest.mark.parametrize(
    "text", ["", "  ", "\ud800", "urn:x:boise", "Nowhere", "urn:x:a> } #", '" } UNION { ?x ?y ?z } #']
)
def test_nothing(query, text: str) -> None:  # type: ignore[no-untyped-def]
    assert candidates(query, text, AIRPORT) == []
