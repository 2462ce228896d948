"""One contract, every GraphStore: what the other rooms count on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from abi.errors import QuerySyntaxError, StoreError
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Term
from abi.graph.store import BUMP_VERSION

EX = "https://example.org/"
P = ox.NamedNode(EX + "p")


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OxigraphStore]:
    made: dict[str, Callable[[], OxigraphStore]] = {
        "memory": OxigraphStore.memory,
        "disk": lambda: OxigraphStore.open(tmp_path / "graph", create=True),
    }
    store = made[request.param]()
    yield store
    store.close()


def quad(s: str, o: str, g: str = "g") -> ox.Quad:
    return ox.Quad(ox.NamedNode(EX + s), P, ox.Literal(o), ox.NamedNode(EX + g))


def test_an_empty_store(store: OxigraphStore) -> None:
    assert store.version() == 0
    assert list(store.quads(EX + "g")) == []
    assert store.query("SELECT ?s WHERE { GRAPH <https://example.org/g> { ?s ?p ?o } }").rows == []


def test_apply_adds_removes_and_counts(store: OxigraphStore) -> None:
    assert store.apply([], [quad("a", "1"), quad("b", "2")]) == 1
    assert store.apply([quad("a", "1")], [quad("c", "3")]) == 2
    assert store.version() == 2
    assert {q.object.value for q in store.quads(EX + "g")} == {"2", "3"}


def test_a_large_addition_counts_once_too(store: OxigraphStore) -> None:
    assert store.apply([], [quad(f"s{i}", str(i)) for i in range(2000)]) == 1
    assert store.apply([], [quad("one", "more")]) == 2
    assert store.apply([], [quad(f"t{i}", str(i)) for i in range(2000)]) == 3
    assert store.version() == 3
    assert len(list(store.quads(EX + "g"))) == 4001


def test_queries_see_the_union_unless_told(store: OxigraphStore) -> None:
    store.apply([], [quad("a", "1", "g1"), quad("b", "2", "g2")])
    text = f"SELECT ?o WHERE {{ ?s <{EX}p> ?o }} ORDER BY ?o"
    assert [r["o"].value for r in store.query(text)] == ["1", "2"]
    assert [r["o"].value for r in store.query(text, default_graphs=[EX + "g2"])] == ["2"]
    assert store.query(text, default_graphs=[]).rows == []
    assert [r["o"].value for r in store.query(text.replace("WHERE", f"FROM <{EX}g2> WHERE"))] == ["2"]
    assert len(store.query(text.replace("WHERE", "WHERE # FROM <urn:x>\n"))) == 2
    inside = "SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } }"
    assert [r["g"].value for r in store.query(inside, named_graphs=[EX + "g1"])] == [EX + "g1"]


def test_rows_carry_typed_terms(store: OxigraphStore) -> None:
    store.update(
        f"INSERT DATA {{ GRAPH <{EX}g> {{ <{EX}a> <{EX}p> 'plain', 'deux'@fr, 3, true, <{EX}b> . _:x <{EX}q> 1.50 }} }}"
    )
    objects = {r["o"] for r in store.query(f"SELECT ?o WHERE {{ <{EX}a> ?p ?o }}")}
    assert objects == {
        Term("literal", "plain"),
        Term("literal", "deux", None, "fr"),
        Term("literal", "3", "http://www.w3.org/2001/XMLSchema#integer"),
        Term("literal", "true", "http://www.w3.org/2001/XMLSchema#boolean"),
        Term("iri", EX + "b"),
    }
    (row,) = store.query(f"SELECT ?s WHERE {{ ?s <{EX}q> ?o }}")
    assert row["s"].kind == "bnode"


def test_the_three_forms_and_the_row_limit(store: OxigraphStore) -> None:
    store.apply([], [quad("a", str(i)) for i in range(5)])
    assert store.query(f"ASK {{ <{EX}a> ?p '3' }}").boolean is True
    cut = store.query(f"SELECT ?o WHERE {{ <{EX}a> ?p ?o }}", max_rows=3)
    assert (len(cut), cut.truncated) == (3, True)
    whole = store.query(f"SELECT ?o WHERE {{ <{EX}a> ?p ?o }}", max_rows=5)
    assert (len(whole), whole.truncated) == (5, False)
    made = store.query(f"CONSTRUCT {{ ?s <{EX}made> ?o }} WHERE {{ ?s <{EX}p> ?o }}", max_rows=2)
    assert (made.form, made.variables, len(made)) == ("construct", ["subject", "predicate", "object"], 2)


def test_prefixes_are_predeclared(store: OxigraphStore) -> None:
    store.update("INSERT DATA { GRAPH <urn:g> { <urn:a> a abi:Tool } }")
    assert store.query("ASK { ?s rdf:type abi:Tool }").boolean


def test_an_update_is_all_or_nothing(store: OxigraphStore) -> None:
    before = len(store)
    with pytest.raises((StoreError, QuerySyntaxError)):
        # The second operation fails when it runs: there is no such document and nothing is fetched.
        store.update(f"INSERT DATA {{ GRAPH <{EX}g> {{ <{EX}a> <{EX}p> 1 }} }} ; LOAD <file:///nowhere.ttl>")
    assert len(store) == before


def test_syntax_errors_have_their_own_name(store: OxigraphStore) -> None:
    with pytest.raises(QuerySyntaxError, match="does not parse"):
        store.query("SELECT ?s WHERE { ?s ")
    with pytest.raises(QuerySyntaxError):
        store.update("INSERT { }")
    with pytest.raises(QuerySyntaxError):
        store.query("ASK {}", default_graphs=["not an iri"])


def test_subject_quads_and_match(store: OxigraphStore) -> None:
    store.apply([], [quad("a", "1"), quad("b", "2"), quad("c", "2")])
    assert {q.object.value for q in store.subject_quads([EX + "a", EX + "b", EX + "none"])} == {"1", "2"}
    assert {q.subject.value for q in store.match(None, P, ox.Literal("2"))} == {EX + "b", EX + "c"}


def test_graphs_are_those_that_hold_something(store: OxigraphStore) -> None:
    store.apply([], [quad("a", "1", "g2"), quad("a", "1", "g1")])
    store.apply([quad("a", "1", "g2")], [])
    assert [g for g in store.graphs() if g.startswith(EX)] == [EX + "g1"]


def test_removing_blank_nodes_rewrites_their_graph(store: OxigraphStore) -> None:
    body = f"<{EX}a> <{EX}q> _:x . _:x <{EX}p> 'in' . <{EX}b> <{EX}q> _:y . _:y <{EX}p> 'y'"
    store.update(f"INSERT DATA {{ GRAPH <{EX}g> {{ {body} }} }}")
    gone = [q for q in store.quads(EX + "g") if q.object == ox.Literal("y")]
    new = [ox.Quad(gone[0].subject, P, ox.Literal("z"), ox.NamedNode(EX + "g"))]
    store.apply(gone, new)
    path = f"SELECT ?v WHERE {{ ?s <{EX}q>/<{EX}p> ?v }} ORDER BY ?v"
    assert [r["v"].value for r in store.query(path)] == ["in", "z"]


def test_what_a_literal_holds_comes_back(store: OxigraphStore) -> None:
    hostile = 'quote " backslash \\ newline \n return \r tab \t bell \x07 nul \x00 } ; DROP ALL # \\u0041 é 𝄞'
    store.apply([], [quad("a", hostile)])
    assert [q.object.value for q in store.quads(EX + "g")] == [hostile]


def test_bump_alone_moves_the_version(store: OxigraphStore) -> None:
    store.update(BUMP_VERSION)
    store.update(BUMP_VERSION)
    assert store.version() == 2


def test_threads_lose_no_count(store: OxigraphStore) -> None:
    def write(name: str) -> None:
        for i in range(20):
            store.apply([], [quad(f"{name}{i}", "x")])

    threads = [threading.Thread(target=write, args=(n,)) for n in "abcd"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert store.version() == 80
    assert len(list(store.quads(EX + "g"))) == 80


def test_closed_is_closed(store: OxigraphStore) -> None:
    store.flush()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.query("ASK {}")
