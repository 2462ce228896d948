"""The files of the ontology as an editor meets them: one ontology each, resolved offline, in one order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
from rdflib import OWL, RDF, RDFS, SKOS, Graph, URIRef
from rdflib.compare import to_isomorphic

import abi
from abi import terms
from abi.files import shipped
from abi.graph.formats import parse, serialize
from tests.ontology.conftest import BFO_WHOLE, CORE, MAPPINGS

FILES = [*CORE, *MAPPINGS]
CATALOGS = [shipped("ontology", "catalog-v001.xml"), shipped("ontology", "mappings", "catalog-v001.xml")]


def by_name(path: Path) -> str:
    return path.name


@pytest.fixture(params=FILES, ids=by_name)
def path(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


def resolved(catalog: Path) -> dict[str, Path]:
    namespace = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"
    root = ElementTree.parse(catalog).getroot()
    return {u.attrib["name"]: Path(u.attrib["uri"]) for u in root.iter(f"{namespace}uri")}


def header(path: Path) -> tuple[URIRef, Graph]:
    graph = Graph().parse(path)
    (iri,) = graph.subjects(RDF.type, OWL.Ontology)
    assert isinstance(iri, URIRef)
    return iri, graph


def test_both_parsers_read_the_same(path: Path) -> None:
    mine = to_isomorphic(Graph().parse(path))
    triples = ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)
    theirs = Graph().parse(data=ox.serialize((q.triple for q in triples), format=ox.RdfFormat.N_TRIPLES), format="nt")
    assert mine == to_isomorphic(theirs)


def test_one_ontology_with_the_version_of_the_package(path: Path) -> None:
    iri, graph = header(path)
    assert [str(v) for v in graph.objects(iri, OWL.versionInfo)] == [abi.__version__]
    assert [str(v) for v in graph.objects(iri, OWL.versionIRI)] == [f"{str(iri).rstrip('/')}/{abi.__version__}"]


def test_core_imports_bfo_only_and_nobody_imports_a_mapping() -> None:
    imports = {p.name: {str(o) for o in header(p)[1].objects(None, OWL.imports)} for p in FILES}
    assert imports.pop("abi.ttl") == {terms.BFO_MODULE}
    assert imports.pop("bfo.ttl") == set()
    assert set(imports) == {"cco.ttl", "iao.ttl", "prov.ttl"}
    # Flat: a mapping lists what abi imports too.
    assert all(i == {terms.ABI_ONTOLOGY, terms.BFO_MODULE} for i in imports.values())


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda p: p.parent.name)
def test_catalog_resolves_every_import_by_a_relative_path(catalog: Path) -> None:
    entries = resolved(catalog)
    for name, target in entries.items():
        assert not target.is_absolute() and ":" not in str(target)
        iri, graph = header(catalog.parent / target)
        assert name in {str(iri), *(str(v) for v in graph.objects(iri, OWL.versionIRI))}
    ours = [p for p in FILES if p.parent == catalog.parent]
    wanted = {str(o) for p in ours for o in header(p)[1].objects(None, OWL.imports)}
    assert wanted | {str(header(p)[0]) for p in FILES} <= set(entries)


def test_no_shacl_no_lists_in_terms_and_no_date(path: Path) -> None:
    text = path.read_text("utf-8")
    for unwanted in (terms.SH, "xsd:date ", "rdf:first", "\r", "\t"):
        assert unwanted not in text
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_each_triple_stands_in_one_file() -> None:
    seen: dict[tuple[str, str, str], str] = {}
    for path in FILES:
        for s, p, o in Graph().parse(path):
            if isinstance(s, URIRef) and isinstance(o, URIRef):
                key = (str(s), str(p), str(o))
                assert seen.setdefault(key, path.name) == path.name, key


def test_files_are_in_the_order_in_which_abi_writes_turtle(path: Path) -> None:
    text = path.read_text("utf-8")
    prefixes = dict(re.findall(r"^@prefix (\w+): <([^>]+)> \.$", text, re.M))
    written = serialize(parse(text, "turtle"), "turtle", prefixes).decode()
    prologue, *blocks = written.rstrip("\n").split("\n\n")
    # The ontology's own block stands at the head, where a reader looks for it.
    blocks.sort(key=lambda block: not block.split("\n")[0].endswith(" a owl:Ontology ;"))
    assert text == "\n\n".join([prologue, *blocks]) + "\n"


def test_own_terms_are_labelled_and_defined_in_english() -> None:
    _, graph = header(CORE[0])
    for term in {s for s in graph.subjects(RDF.type, None) if str(s).startswith(terms.ABI)} - {URIRef(terms.ABI)}:
        assert [o.language for o in graph.objects(term, RDFS.label)] == ["en"]
        (definition,) = graph.objects(term, SKOS.definition)
        assert definition.language == "en" and str(definition).endswith(".") and len(str(definition).split()) > 5


def test_definitions_of_classes_name_a_superclass() -> None:
    graph = Graph()
    for path in CORE:
        graph.parse(path)
    for term in graph.subjects(RDF.type, OWL.Class):
        if str(term).startswith(terms.ABI):
            genus = [
                str(graph.value(s, RDFS.label)) for s in graph.objects(term, RDFS.subClassOf) if isinstance(s, URIRef)
            ]
            definition = str(graph.value(term, SKOS.definition))
            assert any(re.match(rf"An? {re.escape(g)}\b", definition) for g in genus), (term, definition)


def test_every_class_falls_into_a_bucket(
    ontology: ox.Store, rows: Callable[[ox.Store, str], list[dict[str, str]]]
) -> None:
    found = rows(
        ontology,
        f"""SELECT DISTINCT ?class ?bucket WHERE {{
          ?class a <{terms.OWL_CLASS}> .
          FILTER(STRSTARTS(STR(?class), "{terms.ABI}"))
          OPTIONAL {{ ?class <{terms.RDFS_SUBCLASSOF}>+ ?above . ?above <{terms.BUCKET}> ?bucket }} }}""",
    )
    assert len(found) == len({f["class"] for f in found}) and all("bucket" in f for f in found)
    buckets = rows(ontology, f"SELECT DISTINCT ?b WHERE {{ ?c <{terms.BUCKET}> ?b }}")
    assert len(buckets) == 7


def test_import_module_says_nothing_that_bfo_does_not() -> None:
    if not BFO_WHOLE.exists():
        pytest.skip("the whole of BFO is not beside the project")
    iri, module = header(CORE[1])
    whole = Graph().parse(BFO_WHOLE)
    for s, p, o in module:
        borrowed = str(s).startswith(terms.BFO) and isinstance(o, URIRef)
        if borrowed and p not in (RDFS.isDefinedBy, RDF.type):
            assert (s, p, o) in whole
    assert not list(module.subject_objects(SKOS.definition))
    assert {str(o) for o in module.objects(None, RDFS.isDefinedBy)} >= {"http://purl.obolibrary.org/obo/bfo.owl"}
    assert "creativecommons.org/licenses/by/4.0" in str(module.value(iri, URIRef(terms.DCTERMS_LICENSE)))
