from __future__ import annotations

import itertools
import random
import sys

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi import terms
from abi.errors import Unsupported, UsageError
from abi.files import shipped
from abi.graph.formats import FORMATS, format_of, parse, serialize
from abi.settings import PREFIXES

EX = "https://example.org/"
N = ox.NamedNode
SHARED = {**PREFIXES, "ex": EX, "": EX + "deep/"}


def same(a: list[ox.Quad], b: list[ox.Quad]) -> bool:
    left, right = ox.Dataset(a), ox.Dataset(b)
    left.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    right.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return left == right


# What XML and SPARQL can hold: RDF/XML has no control characters, and a property ends in a name.
xml_text = st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufffe\uffff"))
any_text = st.text(max_size=12)
iris = st.builds(
    lambda base, local: N(base + local),
    st.sampled_from([EX, EX + "deep/", "urn:x:", terms.ABI]),
    st.text(alphabet="abcXYZ019_-.é%/~'()+!,;@", min_size=1, max_size=6).map(lambda t: t.replace("%", "%25")),
)
properties = st.sampled_from([N(EX + "p"), N(EX + "deep/q"), N(terms.RDF_TYPE), N(terms.RDFS_LABEL), N("urn:x:r")])
blanks = st.sampled_from([ox.BlankNode(b) for b in "abcd"])


def literals(text: st.SearchStrategy[str]) -> st.SearchStrategy[ox.Literal]:
    return st.one_of(
        text.map(ox.Literal),
        st.builds(lambda t, lang: ox.Literal(t, language=lang), text, st.sampled_from(["en", "de-ch"])),
        st.builds(
            lambda t, d: ox.Literal(t, datatype=N(d)),
            st.sampled_from(["1", "-2", "01", "1.50", ".5", "true", "1", "x", "1e3", "", "2020-01-01T00:00:00Z"]),
            st.sampled_from([terms.XSD_INTEGER, terms.XSD_DECIMAL, terms.XSD_BOOLEAN, terms.XSD_DOUBLE, EX + "d"]),
        ),
    )


def graphs(text: st.SearchStrategy[str], named: bool, blank: bool = True) -> st.SearchStrategy[list[ox.Quad]]:
    name = st.sampled_from([ox.DefaultGraph(), N(EX + "g"), N("urn:x:g")]) if named else st.just(ox.DefaultGraph())
    nodes = iris | blanks if blank else iris
    return st.lists(st.builds(ox.Quad, nodes, properties, nodes | literals(text), name), max_size=12)


@pytest.mark.parametrize("row", FORMATS, ids=lambda r: r.name)
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_what_is_written_is_read(row: object, data: st.DataObject) -> None:
    assert hasattr(row, "name")
    quads = data.draw(graphs(xml_text if row.name == "rdfxml" else any_text, row.graphs))  # type: ignore[attr-defined]
    assert same(parse(serialize(quads, row.name, SHARED), row.name), quads)


@pytest.mark.parametrize("row", FORMATS, ids=lambda r: r.name)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_the_order_given_does_not_matter(row: object, data: st.DataObject) -> None:
    quads = data.draw(graphs(xml_text, row.graphs, blank=False))  # type: ignore[attr-defined]
    shuffled = list(quads)
    random.Random(1).shuffle(shuffled)
    assert serialize(quads, row.name, SHARED) == serialize(shuffled, row.name, SHARED)  # type: ignore[attr-defined]


def test_turtle_as_a_person_would_write_it() -> None:
    text = b"""@prefix abi: <https://w3id.org/abi/> .
@prefix ex: <https://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

ex:guide a abi:AgentSpecification ;
  rdfs:label "guide" ;
  ex:knows [
      ex:list ( 1 "x"@en ex:c ) ;
      ex:name "in"
    ] ;
  abi:hasTool ex:a ,
    ex:b ;
  abi:intentThreshold 0.5 ;
  abi:mayWrite false ;
  abi:systemPrompt \"\"\"Be brief.
Say "no" if you must: "\\"\\"\\"".\"\"\" .

ex:z ex:p <https://example.org/not/local> .
"""
    text = text.replace(b'"\\"\\"\\"".', b"\\\\ it.")
    quads = parse(text, "turtle")
    assert serialize(quads, "turtle", SHARED) == text


def test_one_change_moves_one_line() -> None:
    quads = parse(shipped("ontology", "abi.ttl").read_bytes(), "turtle")
    before = serialize(quads, "turtle", SHARED).decode().splitlines()
    subject = N(terms.TOOL)
    extra = ox.Quad(subject, N(terms.RDFS_COMMENT), ox.Literal("One more."))
    after = serialize([extra, *reversed(quads)], "turtle", SHARED).decode().splitlines()
    assert len(set(after) - set(before)) <= 2
    assert len(after) == len(before) + 1


def test_labels_of_blank_nodes_do_not_order_what_is_written() -> None:
    def text(a: str, b: str) -> bytes:
        quads = [
            ox.Quad(N(EX + "s"), N(EX + "p"), ox.BlankNode(a)),
            ox.Quad(ox.BlankNode(a), N(EX + "q"), ox.Literal("one")),
            ox.Quad(N(EX + "s"), N(EX + "p"), ox.BlankNode(b)),
            ox.Quad(ox.BlankNode(b), N(EX + "q"), ox.Literal("two")),
        ]
        return serialize(quads, "turtle", SHARED)

    assert text("x", "y") == text("y", "x")


def test_circles_and_chains_of_blank_nodes() -> None:
    b = [ox.BlankNode(f"n{i}") for i in range(sys.getrecursionlimit() * 2)]
    circle = [ox.Quad(b[0], N(EX + "p"), b[1]), ox.Quad(b[1], N(EX + "p"), b[0])]
    assert same(parse(serialize(circle, "turtle"), "turtle"), circle)
    chain = [ox.Quad(x, N(EX + "p"), y) for x, y in itertools.pairwise(b)]
    assert len(parse(serialize(chain, "turtle"), "turtle")) == len(chain)
    broken = [ox.Quad(x, N(terms.RDF_REST), y) for x, y in itertools.pairwise(b)]
    assert len(parse(serialize(broken, "turtle"), "turtle")) == len(broken)
    rest, first, nil = N(terms.RDF_REST), N(terms.RDF_FIRST), N(terms.RDF_NIL)
    members = [ox.Quad(x, first, ox.Literal(i)) for i, x in enumerate(b)]
    links = [ox.Quad(x, rest, y) for x, y in zip(b, [*b[1:], nil], strict=True)]
    whole = [ox.Quad(N(EX + "s"), N(EX + "p"), b[0]), *members, *links]
    assert len(parse(serialize(whole, "turtle"), "turtle")) == len(whole)


def test_a_blank_node_of_two_graphs_stays_one() -> None:
    b = ox.BlankNode("b")
    quads = [
        ox.Quad(N(EX + "s"), N(EX + "p"), b, N(EX + "g")),
        ox.Quad(b, N(EX + "p"), ox.Literal("x"), N(EX + "h")),
    ]
    assert same(parse(serialize(quads, "trig", SHARED), "trig"), quads)


def test_a_syntax_without_graphs_gets_each_triple_once() -> None:
    quads = [ox.Quad(N(EX + "s"), N(EX + "p"), N(EX + "o"), N(EX + g)) for g in "gh"]
    assert len(parse(serialize(quads, "turtle"), "turtle")) == 1
    assert len(parse(serialize(quads, "trig"), "trig")) == 2


def test_formats_are_known_by_name_extension_and_media_type() -> None:
    for row in FORMATS:
        for name in (row.name, row.media_type, row.media_type + "; charset=utf-8", *row.aliases, *row.extensions):
            assert format_of(name) is row
        for extension in row.extensions:
            assert format_of(f"some/folder.d/file{extension.upper()}") is row
    with pytest.raises(UsageError, match="no RDF syntax"):
        format_of("notes.txt")


def test_what_xml_cannot_say() -> None:
    for quad in (
        ox.Quad(N(EX + "s"), N(EX + "p/"), ox.Literal("x")),
        ox.Quad(N(EX + "s"), N(EX + "p"), ox.Literal("\x00")),
    ):
        with pytest.raises(Unsupported, match="RDF/XML"):
            serialize([quad], "rdfxml")
