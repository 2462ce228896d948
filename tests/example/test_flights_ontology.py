"""The example's ontology under the whole of BFO: consistent, satisfiable, and wrong data is caught."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
from flights_facts import WORKSPACE

ROOT = Path(__file__).parents[2]
BFO = ROOT.parent / "shared" / "data" / "bfo" / "bfo-core.ttl"
EX = "https://example.org/flights/"
FL = EX + "schema#"
OBO = "http://purl.obolibrary.org/obo/"
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

SAMPLE = {
    *(f"{EX}airport/{code}" for code in ("BOI", "SEA", "ORD", "CLD", "ROP", "00M")),
    *(f"{EX}city/{slug}" for slug in ("boise-id", "seattle-wa", "chicago-il", "bay-springs-ms")),
    *(f"{EX}state/{code}" for code in ("ID", "WA", "IL", "MS")),
    *(f"{EX}country/{slug}" for slug in ("united-states", "thailand")),
    *(f"{EX}route/{pair}-2008" for pair in ("BOI-SEA", "SEA-BOI", "ORD-SEA")),
    f"{EX}year/2008",
}


def ontology() -> list[ox.Quad]:
    return list(ox.parse(path=str(WORKSPACE / "ontology" / "flights.ttl"), format=ox.RdfFormat.TURTLE))


def individuals() -> list[ox.Quad]:
    files = sorted((WORKSPACE / "graph").glob("*.ttl"))
    return [
        q for path in files for q in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE) if q.subject.value in SAMPLE
    ]


def reason(quads: list[ox.Quad], tmp_path: Path) -> list[str]:
    """IRIs of the unsatisfiable classes. Raises OwlReadyInconsistentOntologyError where there is no model."""
    import owlready2

    # The imports are merged by hand, so that nothing is looked for on the network.
    triples = [ox.Triple(q.subject, q.predicate, q.object) for q in quads if q.predicate.value != OWL + "imports"]
    path = tmp_path / "merged.nt"
    path.write_bytes(ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"")
    world = owlready2.World()
    world.get_ontology(path.as_uri()).load()
    owlready2.sync_reasoner_hermit(world, debug=0)
    return [c.iri for c in world.inconsistent_classes()]


def bfo() -> list[ox.Quad]:
    if not BFO.is_file():
        pytest.skip("the whole of BFO is not at ../shared/data/bfo")
    return list(ox.parse(path=str(BFO), format=ox.RdfFormat.TURTLE))


def test_consistent_with_the_whole_of_bfo(tmp_path: Path) -> None:
    sample = individuals()
    assert {q.subject.value for q in sample} == SAMPLE
    assert reason(bfo() + ontology() + sample, tmp_path) == []


@pytest.mark.parametrize(
    ("subject", "wrong_class"),
    [
        ("airport/BOI", FL + "FlightSeries"),
        ("airport/BOI", OBO + "BFO_0000040"),
        ("state/ID", FL + "City"),
        ("route/BOI-SEA-2008", OBO + "BFO_0000031"),
        ("year/2008", OBO + "BFO_0000015"),
    ],
)
def test_the_reasoner_catches_wrong_data(tmp_path: Path, subject: str, wrong_class: str) -> None:
    import owlready2

    wrong = ox.Quad(ox.NamedNode(EX + subject), RDF_TYPE, ox.NamedNode(wrong_class))
    with pytest.raises(owlready2.OwlReadyInconsistentOntologyError):
        reason([*bfo(), *ontology(), *individuals(), wrong], tmp_path)


def test_what_it_takes_from_bfo_is_in_the_import_module() -> None:
    module = list(ox.parse(path=str(ROOT / "ontology" / "bfo.ttl"), format=ox.RdfFormat.TURTLE))
    declared = {q.subject.value for q in module if q.predicate == RDF_TYPE}
    iri = {q.subject.value for q in module if q.predicate == RDF_TYPE and q.object.value == OWL + "Ontology"}
    mine = ontology()
    used = {term.value for q in mine for term in q if isinstance(term, ox.NamedNode) and term.value.startswith(OBO)}
    assert used
    assert used <= declared
    assert {q.object.value for q in mine if q.predicate.value == OWL + "imports"} == iri


def test_every_term_has_one_label_and_one_definition_and_is_used_as_declared() -> None:
    mine = ontology()
    terms = {q.subject.value for q in mine if q.subject.value.startswith(FL)}
    for term in terms:
        for predicate in (RDFS + "label", SKOS + "definition"):
            values = [q.object for q in mine if q.subject.value == term and q.predicate.value == predicate]
            assert len(values) == 1, (term, predicate)
            assert values[0].language == "en"
    files = sorted((WORKSPACE / "graph").glob("*.ttl"))
    data = [q for path in files for q in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)]
    used = {
        t.value for q in data for t in (q.predicate, q.object) if isinstance(t, ox.NamedNode) and t.value.startswith(FL)
    }
    assert used <= terms
    annotations = {q.subject.value for q in mine if q.object.value == OWL + "AnnotationProperty"}
    others = {q.predicate.value for q in [*mine, *data] if q.predicate.value.startswith((SKOS, "http://purl.org/dc/"))}
    assert others <= annotations


@pytest.mark.parametrize("folder", ["ontology", "graph"])
def test_an_editor_finds_the_imports_without_a_network(folder: str) -> None:
    import xml.etree.ElementTree as ElementTree

    here = WORKSPACE / folder
    entries = ElementTree.parse(here / "catalog-v001.xml").getroot()
    found = {entry.attrib["name"]: (here / entry.attrib["uri"]).resolve() for entry in entries}
    files = [*here.glob("*.ttl"), *found.values()]
    quads = [q for path in files for q in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)]
    assert {q.object.value for q in quads if q.predicate.value == OWL + "imports"} <= found.keys()
    for iri, path in found.items():
        text = path.read_text(encoding="utf-8")
        assert f"<{iri}> a owl:Ontology" in text
