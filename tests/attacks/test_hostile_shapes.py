"""The shapes of a workspace that came from elsewhere: they are used by `abi check`, before anybody trusts it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from abi import Workspace
from abi.errors import Invalid
from abi.graph import shapes
from tests.attacks.test_queries import Listener

HEAD = """\
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix m: <https://example.org/m/s#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
DATA = """\
@prefix m: <https://example.org/m/s#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
m:C a owl:Class ; rdfs:label "C"@en ; rdfs:subClassOf <http://purl.obolibrary.org/obo/BFO_0000040> ;
  skos:definition "A c."@en .
m:a a m:C, owl:NamedIndividual ; rdfs:label "a" .
"""
SHAPE = "m:S a sh:NodeShape ; sh:targetClass m:C ; "


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("graph", "shapes"):
        (tmp_path / "w" / folder).mkdir(parents=True)
    (tmp_path / "w" / "abi.yaml").write_text("base_iri: https://example.org/m/\n", encoding="utf-8")
    (tmp_path / "w" / "graph" / "a.ttl").write_text(DATA, encoding="utf-8")
    return tmp_path / "w"


def fault(root: Path) -> str:
    with Workspace.open(root) as workspace, pytest.raises(Invalid) as caught:
        workspace.check()
    return str([str(f) for f in caught.value.findings])


def write(root: Path, shape: str) -> None:
    (root / "shapes" / "x.ttl").write_text(HEAD + shape + " .", encoding="utf-8")


def test_the_data_conforms_to_a_sound_shape_with_a_query(root: Path) -> None:
    query = "SELECT $this WHERE { $this e:never ?value }"
    declared = '[ sh:declare [ sh:prefix "e" ; sh:namespace "https://example.org/e/"^^xsd:anyURI ] ]'
    write(root, SHAPE + f'sh:sparql [ sh:message "x" ; sh:prefixes {declared} ; sh:select "{query}" ]')
    with Workspace.open(root) as workspace:
        assert workspace.check().findings == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT $this WHERE { $this a ?t . SERVICE <%> { ?a ?b ?c } }",
        "SELECT $this WHERE { $this a ?t . #\\n SERVICE#\\n SILENT <%> { ?a ?b ?c } }",
        "SELECT $this WHERE { $this a ?t . \\\\u0053ERVICE <%> { ?a ?b ?c } }",
        "SELECT $this ?value FROM <%> WHERE { ?z ?p ?value }",
        "SELECT $this ?value FROM <file:///etc/hostname> WHERE { ?z ?p ?value }",
        "SELECT $this ?value FROM NAMED <file:///etc/hostname> WHERE { GRAPH ?g { ?z ?p ?value } }",
        "SELECT $this { " + "{" * 3000 + "}" * 3000 + " }",
        "INSERT DATA { <urn:a> <urn:b> 1 }",
        "garbage",
    ],
)
def test_a_query_of_a_shape_reaches_nothing(root: Path, query: str) -> None:
    listener = Listener()
    query = query.replace("%", f"http://127.0.0.1:{listener.port}/")
    write(root, SHAPE + f'sh:sparql [ sh:message "x" ; sh:select "{query}" ]')
    assert "shapes/x.ttl" in fault(root)
    listener.close()
    assert listener.connections == 0


@pytest.mark.parametrize(
    "shape",
    [
        'sh:property [ sh:path rdfs:label ; sh:pattern "(" ]',
        "sh:property [ sh:path ( m:x _:l ) ] . _:l rdf:first m:y ; rdf:rest _:l",
        'sh:property [ sh:path rdfs:label ; sh:minCount "abc" ]',
        'sh:targetSubjectsOf "text", _:x ; sh:datatype "s" ; sh:class "c" ; sh:nodeKind "n"',
        'sh:sparql [ sh:select "SELECT $this { $this nowhere:p ?value }" ]',
    ],
)
def test_a_broken_shape_is_a_finding(root: Path, shape: str) -> None:
    write(root, SHAPE + shape)
    assert "a shape cannot be used" in fault(root)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
@pytest.mark.parametrize(
    "shape",
    [
        'sh:property [ sh:path rdfs:comment ; sh:pattern "^(a+)+$" ]',
        'sh:property [ sh:path rdfs:comment ; sh:pattern "^(a|a)*$" ; sh:flags "i" ]',
        "sh:sparql [ sh:select '''SELECT $this { "
        + " ".join(f"?a{i} ?b{i} ?c{i} . OPTIONAL {{ ?d{i} ?e{i} ?f{i} }}" for i in range(6))
        + " $this ?p ?o }''' ]",
    ],
)
def test_a_shape_that_never_ends_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.setattr(shapes, "SECONDS", 1.0)
    with (root / "graph" / "a.ttl").open("a", encoding="utf-8") as data:
        data.write('m:a rdfs:comment "' + "a" * 60 + '!" .')
    write(root, SHAPE + shape)
    assert "<https://example.org/m/s#S> takes longer than 1.1 s" in fault(root)


def test_files_of_shapes_are_read_within_limits(root: Path) -> None:
    file = root / "shapes" / "x.ttl"
    (root.parent / "secret").write_text("canary: 1", encoding="utf-8")
    file.symlink_to(root.parent / "secret")
    said = fault(root)
    assert "out of the workspace" in said and "canary" not in said
    file.unlink()
    file.symlink_to(root / "nowhere")
    assert "shapes/x.ttl" in fault(root)
    file.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(file)
        assert "shapes/x.ttl" in fault(root)
        file.unlink()
    write(root, "m:a m:b " + "[ m:c " * 5000)
    assert "nested" in fault(root)
    with file.open("wb") as big:
        big.truncate(10**9)
    assert "bytes" in fault(root)
