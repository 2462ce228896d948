"""The quick look never says yes where pySHACL says no: random records, randomly broken, against abi's own shapes."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi import terms
from abi.files import shipped
from abi.graph.change import Candidate, Net
from abi.graph.hierarchy import Hierarchy
from abi.graph.mapping import Names, record_quads
from abi.graph.oxigraph import OxigraphStore
from abi.graph.shape_files import load_shapes
from abi.graph.shapes import Shapes

from .test_mapping import BASE, GRAPH, STRATEGIES

EX = "https://example.org/"
HEAD = f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <{EX}> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . """
ODD = [
    ox.Literal(""),
    ox.Literal("x y"),
    ox.Literal("x", language="en"),
    ox.Literal(-1),
    ox.Literal(1.5),
    ox.Literal("abc", datatype=ox.NamedNode(terms.XSD_INTEGER)),
    ox.Literal("2", datatype=ox.NamedNode(terms.XSD_BOOLEAN)),
    ox.NamedNode(terms.TOOL_INTENT),
    ox.NamedNode(EX + "nothing"),
    ox.NamedNode(terms.TOOL),
    ox.BlankNode("b"),
]


def outcome(shapes: Shapes, quads: list[ox.Quad]) -> tuple[set[Any], set[Any]]:
    """The (shape, node) pairs that the quick look lets pass, and those in which pySHACL finds a violation."""
    candidate, hierarchy = Candidate(OxigraphStore.memory(), Net([], quads)), Hierarchy()
    passed, broken = set(), set()
    for shape, nodes in shapes.focus(candidate, hierarchy).items():
        check = shapes._checks[shape]
        for node in nodes:
            if check is not None and check(candidate, hierarchy, node) is True:
                passed.add((shape, node))
            if shapes.report({shape: [node]}, candidate, hierarchy):
                broken.add((shape, node))
    return passed, broken


@pytest.mark.parametrize("kind", sorted(STRATEGIES))
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_against_pyshacl(kind: str, data: st.DataObject) -> None:
    record = data.draw(STRATEGIES[kind])
    quads = record_quads(record, GRAPH, Names(BASE))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(quads) - 1))
        old = quads[at]
        do = data.draw(st.sampled_from(["drop", "change", "double"]))
        new = ox.Quad(old.subject, old.predicate, data.draw(st.sampled_from(ODD)), old.graph_name)
        if do == "drop" and len(quads) > 1:
            del quads[at]
        elif do == "change":
            quads[at] = new
        else:
            quads.append(new)
    passed, broken = outcome(load_shapes([shipped("shapes")]), quads)
    assert not passed & broken


def shapes_of(text: str) -> Shapes:
    return Shapes(ox.parse(HEAD + text, ox.RdfFormat.TURTLE))


def data_of(text: str) -> list[ox.Quad]:
    graph = ox.NamedNode(GRAPH)
    found = ox.parse(HEAD + text, ox.RdfFormat.TURTLE)
    return [ox.Quad(q.subject, q.predicate, q.object, graph) for q in found]


CASES = [
    ("sh:path :p ; sh:minCount 1", ":a :p 1", ":a :q 1"),
    ("sh:path :p ; sh:maxCount 1", ":a :p 1", ":a :p 1 , 2"),
    ("sh:path :p ; sh:datatype xsd:integer", ":a :p 1", ":a :p 1.5"),
    ("sh:path :p ; sh:datatype xsd:integer", ":a :p -1", ":a :p 'x'^^xsd:integer"),
    ("sh:path :p ; sh:nodeKind sh:IRIOrLiteral", ":a :p :b , 1", ":a :p []"),
    ("sh:path :p ; sh:class :D", ":a :p :b . :b a :D", ":a :p :b . :b a :E"),
    ("sh:path :p ; sh:pattern '^x+$'", ":a :p 'xx'", ":a :p 'xy'"),
    ("sh:path :p ; sh:pattern 'X' ; sh:flags 'i'", ":a :p 'xx'", ":a :p 'yy'"),
    ("sh:path :p ; sh:minLength 2 ; sh:maxLength 3", ":a :p 'xx'", ":a :p 'xxxx'"),
    ("sh:path :p ; sh:in ( 1 'a' :b )", ":a :p 1 , 'a' , :b", ":a :p 2"),
    ("sh:path :p ; sh:hasValue 'a'", ":a :p 'a' , 'b'", ":a :p 'b'"),
    ("sh:path :p ; sh:minInclusive 0 ; sh:maxExclusive 1", ":a :p 0 , 0.5 , 0.25e0", ":a :p 1"),
    ("sh:path :p ; sh:lessThan :q", ":a :p 1 ; :q 2", ":a :p 2 ; :q 2"),
    ("sh:path :p ; sh:lessThan :q", ":a :p 1 ; :q 2", ":a :p [] ; :q 2"),
    ("sh:path :p ; sh:lessThanOrEquals :q", ":a :p 2 ; :q 2", ":a :p 1 ; :q []"),
    ("sh:path ( :p :q ) ; sh:hasValue 1", ":a :p :b . :b :q 1", ":a :p :b . :b :q 2"),
    ("sh:path [ sh:inversePath :p ] ; sh:minCount 1", ":b :p :a", ":a :p :b"),
    ("sh:path [ sh:alternativePath ( :p :q ) ] ; sh:maxCount 1", ":a :p 1 ; :q 1", ":a :p 1 ; :q 2"),
    ("sh:path :p ; sh:not [ sh:datatype xsd:string ]", ":a :p 1", ":a :p 'x'"),
    ("sh:path :p ; sh:or ( [ sh:datatype xsd:string ] [ sh:class :D ] )", ":a :p 'x'", ":a :p 1"),
    ("sh:path :p ; sh:and ( [ sh:minLength 1 ] [ sh:maxLength 2 ] )", ":a :p 'x'", ":a :p 'xxx'"),
    ("sh:path :p ; sh:node [ sh:property [ sh:path :q ; sh:minCount 1 ] ]", ":a :p :b . :b :q 1", ":a :p :b . :b :r 1"),
]


@pytest.mark.parametrize(("constraint", "good", "bad"), CASES)
def test_each_constraint_both_ways(constraint: str, good: str, bad: str) -> None:
    shapes = shapes_of(f":S a sh:NodeShape ; sh:targetClass :C ; sh:property [ {constraint} ] .")
    pair = (ox.NamedNode(EX + "S"), ox.NamedNode(EX + "a"))
    assert outcome(shapes, data_of(f":a a :C . {good} .")) == ({pair}, set())
    assert outcome(shapes, data_of(f":a a :C . {bad} .")) == (set(), {pair})


@pytest.mark.parametrize(
    "constraint",
    [
        "sh:path [ sh:zeroOrMorePath :p ] ; sh:maxCount 1",
        "sh:path :p ; sh:uniqueLang true",
        "sh:path :p ; sh:qualifiedValueShape [ sh:class :D ] ; sh:qualifiedMaxCount 0",
    ],
)
def test_what_is_not_compiled_is_left_to_pyshacl(constraint: str) -> None:
    shapes = shapes_of(f":S a sh:NodeShape ; sh:targetClass :C ; sh:property [ {constraint} ] .")
    passed, broken = outcome(shapes, data_of(":a a :C ; :p :b , 'x'@en , 'y'@en . :b a :D ."))
    assert passed == set()
    assert len(broken) == 1
