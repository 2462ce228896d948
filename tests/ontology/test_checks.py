"""`sparql/checks`: nothing is found in what abi ships, and each finds the fault that it is for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.ontology.conftest import CHECKS, CORE, store_of

Rows = Callable[[ox.Store, str], list[dict[str, str]]]

PROLOGUE = """
@prefix : <https://example.org/> . @prefix abi: <https://w3id.org/abi/> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
GOOD = """
:Airport a owl:Class ; rdfs:subClassOf obo:BFO_0000029 ; rdfs:label "airport"@en ;
  skos:definition "A site at which aircraft land."@en .
:near a owl:ObjectProperty ; rdfs:label "near"@en ; skos:definition "Relates a site to another in reach."@en ;
  rdfs:domain :Airport ; rdfs:range :Airport .
:opened a owl:DatatypeProperty ; rdfs:label "opened"@en ; skos:definition "Gives the time of the first landing."@en ;
  rdfs:range xsd:dateTime .
:BOI a owl:NamedIndividual , :Airport ; rdfs:label "Boise"@en , "Boise"@fr ; skos:notation "BOI" ; :near :SEA ;
  :opened "1940-01-01T00:00:00Z"^^xsd:dateTime .
:SEA a owl:NamedIndividual , :Airport ; rdfs:label "Seattle" .
"""
FAULTS = {
    "class_as_individual": ":BOI :near :Airport .",
    "deprecated_in_use": ":Airport owl:deprecated true .",
    "duplicate_label": ':near rdfs:label "airport"@en .',
    "label_whitespace": ':BOI skos:altLabel " Boise" .',
    "missing_definition": ':City a owl:Class ; rdfs:subClassOf obo:BFO_0000029 ; rdfs:label "city"@en .',
    "missing_label": ":PDX a owl:NamedIndividual , :Airport .",
    "multiple_definitions": ':Airport skos:definition "A site with runways."@en .',
    "multiple_labels": ':BOI rdfs:label "Boise Air Terminal"@en .',
    "not_under_bfo": ':City a owl:Class ; rdfs:label "city"@en ; skos:definition "A place."@en .',
    "ontology_metadata": '<https://example.org/o> a owl:Ontology ; dcterms:title "Airports"@en .',
    "property_of_two_kinds": ":near a owl:DatatypeProperty .",
    "undeclared_class": ":BOI a :Hub .",
    "undeclared_property": ":BOI :far :SEA .",
    "undeclared_superclass": ":Airport rdfs:subClassOf :Port .",
    "unsupported_datatype": ':BOI :opened "1940-01-01"^^xsd:date .',
    "value_of_wrong_kind": ':BOI :near "Seattle" .',
}


def by_stem(path: Path) -> str:
    return path.stem


def store_with(text: str) -> ox.Store:
    store = store_of(*CORE)
    store.load(PROLOGUE + text, ox.RdfFormat.TURTLE, to_graph=ox.NamedNode("https://example.org/g"))
    return store


@pytest.mark.parametrize("check", CHECKS, ids=by_stem)
def test_nothing_is_found_in_the_ontology(check: Path, ontology: ox.Store, rows: Rows) -> None:
    assert rows(ontology, check.read_text("utf-8")) == []


@pytest.mark.parametrize("check", CHECKS, ids=by_stem)
def test_core_passes_without_the_mappings(check: Path, rows: Rows) -> None:
    assert rows(store_with(GOOD), check.read_text("utf-8")) == []


@pytest.mark.parametrize("check", CHECKS, ids=by_stem)
def test_each_check_finds_its_fault(check: Path, rows: Rows) -> None:
    assert rows(store_with(GOOD + FAULTS[check.stem]), check.read_text("utf-8"))


@pytest.mark.parametrize("check", CHECKS, ids=by_stem)
def test_each_check_says_what_it_finds_and_how_to_mend_it(check: Path) -> None:
    lines = check.read_text("utf-8").splitlines()
    assert lines[0] == f"# name: {check.stem}"
    assert re.fullmatch(r"# finds: [a-z].+[^.]", lines[1])
    assert re.fullmatch(r"# mend: .+", lines[2])
    assert all(len(line) <= 120 for line in lines)


def test_every_fault_has_a_check() -> None:
    assert sorted(FAULTS) == [c.stem for c in CHECKS]


def test_terms_of_an_ontology_that_is_not_loaded_need_no_definition(rows: Rows) -> None:
    borrowed = (
        GOOD + ':Borrowed a owl:Class ; rdfs:label "borrowed"@en ; rdfs:isDefinedBy <https://example.org/other> .'
    )
    for name in ("missing_definition", "not_under_bfo"):
        query = next(c for c in CHECKS if c.stem == name).read_text("utf-8")
        assert rows(store_with(borrowed), query) == []
        loaded = borrowed + "<https://example.org/other> a owl:Ontology ."
        assert len(rows(store_with(loaded), query)) == 1
