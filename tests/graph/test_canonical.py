from __future__ import annotations

import itertools
import random

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.graph.canonical import canonical_lines

GRAPH, P = ox.NamedNode("urn:g"), ox.NamedNode("urn:p")


def of_turtle(text: str) -> list[ox.Quad]:
    return [ox.Quad(*triple.triple, GRAPH) for triple in ox.parse(text, ox.RdfFormat.TURTLE)]


def renamed(quads: list[ox.Quad], seed: int = 0) -> list[ox.Quad]:
    """The same content, its blank nodes called otherwise, in another order."""
    names: dict[object, ox.BlankNode] = {}

    def name(term: object) -> object:
        return names.setdefault(term, ox.BlankNode()) if isinstance(term, ox.BlankNode) else term

    out = [ox.Quad(name(q.subject), q.predicate, name(q.object), q.graph_name) for q in quads]  # type: ignore[arg-type]
    random.Random(seed).shuffle(out)
    return out


def edges(*pairs: tuple[ox.BlankNode, ox.BlankNode]) -> list[ox.Quad]:
    return [ox.Quad(a, P, b, GRAPH) for a, b in pairs]


def circle(size: int) -> list[ox.Quad]:
    nodes = [ox.BlankNode() for _ in range(size)]
    return edges(*zip(nodes, [*nodes[1:], nodes[0]], strict=True))


def test_lines_are_sorted_n_quads_that_read_back() -> None:
    quads = of_turtle('<urn:a> <urn:p> "two\\nlines\\r\\u2028\\u0001\\"\\\\"@en, 1, [ <urn:q> ( 1 2 [] ) ] .')
    lines = canonical_lines(quads)
    assert lines == sorted(lines) and not any("\n" in line for line in lines)
    back = list(ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS))
    assert len(back) == len(quads) and canonical_lines(back) == lines


def test_renaming_blank_nodes_changes_nothing() -> None:
    text = """@prefix : <urn:x/> .
    :a :p [ :q 1 ; :l ( 1 2 [ :z 3 ] ) ] , [ :q 1 ; :l ( 1 2 [ :z 3 ] ) ] , [ :q 2 ] .
    [] :q 2 . [] :q 2 . _:x :k _:x . _:y :k _:y . _:m :k _:n . _:n :k _:m ."""
    quads = of_turtle(text)
    assert {tuple(canonical_lines(renamed(quads, seed))) for seed in range(20)} == {tuple(canonical_lines(quads))}


def test_a_knot_of_nodes_that_all_point_at_each_other_takes_no_time() -> None:
    nodes = [ox.BlankNode() for _ in range(12)]
    knot = edges(*itertools.permutations(nodes, 2))
    assert canonical_lines(knot) == canonical_lines(renamed(knot))


def test_what_looks_alike_from_each_node_is_still_told_apart() -> None:
    assert canonical_lines(circle(6)) != canonical_lines(circle(3) + circle(3))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8), st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_any_small_graph_has_one_form(pairs: list[tuple[int, int]], seed: int) -> None:
    nodes = [ox.BlankNode() for _ in range(5)]
    quads = edges(*((nodes[a], nodes[b]) for a, b in pairs))
    assert canonical_lines(renamed(quads, seed)) == canonical_lines(quads)


@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6),
)
@settings(max_examples=150, deadline=None)
def test_different_content_has_different_lines(one: set[tuple[int, int]], other: set[tuple[int, int]]) -> None:
    def lines(pairs: set[tuple[int, int]]) -> list[str]:
        nodes = [ox.BlankNode() for _ in range(4)]
        return canonical_lines(edges(*((nodes[a], nodes[b]) for a, b in pairs)))

    isomorphic = any({(p[a], p[b]) for a, b in one} == other for p in itertools.permutations(range(4)))
    assert (lines(one) == lines(other)) == isomorphic
