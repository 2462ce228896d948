from __future__ import annotations

import pytest
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.plugins.sparql import prepareQuery

from abi.errors import Denied, Unsupported
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rdflib_view import dataset, rdflib_rows

A, P, G = URIRef("urn:a"), URIRef("urn:p"), URIRef("urn:g")


@pytest.fixture
def store() -> OxigraphStore:
    store = OxigraphStore.memory()
    store.update(
        "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 'x', 'y'@en, 1 } GRAPH <urn:h> { <urn:b> <urn:p> <urn:a> } }"
    )
    return store


def test_plain_strings_are_plain(store: OxigraphStore) -> None:
    view = store.dataset()
    assert set(view.objects(A, P)) == {Literal("x"), Literal("y", lang="en"), Literal(1)}
    assert {row.o for row in view.query("SELECT ?o WHERE { <urn:a> <urn:p> ?o }")} == set(view.objects(A, P))
    built = view.query("CONSTRUCT { ?s <urn:made> ?o } WHERE { ?s <urn:p> ?o FILTER(isLiteral(?o)) }").graph
    assert built is not None and (A, URIRef("urn:made"), Literal("x")) in set(built)


def test_the_default_graph_is_the_union_and_graphs_are_apart(store: OxigraphStore) -> None:
    view = store.dataset()
    assert bool(view.query("ASK { <urn:b> <urn:p>/<urn:p> 'x' }"))
    assert len(view.graph(G)) == 3
    assert {str(row.s) for row in view.graph(URIRef("urn:h")).query("SELECT ?s WHERE { ?s <urn:p> ?o }")} == {"urn:b"}


def test_nothing_reaches_the_slow_engine(store: OxigraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import rdflib.plugins.sparql.processor as slow

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("rdflib's own engine was used")

    view = store.dataset()
    prepared = prepareQuery("SELECT ?o WHERE { ?s <urn:p> ?o }")
    for name in ("evalQuery", "evalUpdate", "translateQuery", "translateUpdate", "parseQuery", "parseUpdate"):
        monkeypatch.setattr(slow, name, forbidden, raising=False)
    assert len(list(view.query(prepared))) == 4
    assert len(list(view.query("SELECT ?o WHERE { ?s <urn:p> ?o }", initBindings={"o": Literal("x")}))) == 1
    with pytest.raises(Unsupported, match="initBindings"):
        view.query("SELECT ?o WHERE { ?s <urn:p> ?o }", initBindings={"s": A})
    assert len(list(view.graph(G).query("SELECT ?o WHERE { ?s <urn:p> ?o }"))) == 3
    assert list(view.query("SELECT ?s FROM <file:///etc/passwd> WHERE { ?s ?p ?o }")) == []
    for write in (
        lambda: view.update("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 2 } }"),
        lambda: view.graph(G).add((A, P, Literal(2))),
        lambda: view.graph(G).remove((A, P, None)),
        lambda: view.remove_graph(G),
    ):
        with pytest.raises(Denied, match="read-only"):
            write()
    with pytest.raises(Unsupported):
        view.graph(G).update("INSERT DATA { <urn:a> <urn:p> 2 }")


def test_writes_go_through_the_function(store: OxigraphStore) -> None:
    sent: list[str] = []

    def write(text: str) -> None:
        sent.append(text)
        store.update(text)

    view: Dataset = dataset(store, write)
    view.graph(G).add((A, P, Literal('z " } DROP ALL')))
    assert (A, P, Literal('z " } DROP ALL')) in view.graph(G)
    view.graph(G).remove((A, P, Literal("x")))
    assert (A, P, Literal("x")) not in view.graph(G)
    view.update("PREFIX e: <urn:> INSERT DATA { GRAPH e:g { e:a e:p 'w' } }")
    assert (A, P, Literal("w")) in view.graph(G)
    view.remove_graph(URIRef("urn:h"))
    assert len(view.graph(URIRef("urn:h"))) == 0
    assert len(sent) == 4


def test_a_graph_without_a_name_is_refused(store: OxigraphStore) -> None:
    view = dataset(store, store.update)
    with pytest.raises(Unsupported, match="named graph"):
        view.add((A, P, Literal("lost")))
    with pytest.raises(Unsupported, match="named graph"):
        Graph(store=view.store).add((A, P, Literal("lost")))


def test_rows_in_rdflibs_terms(store: OxigraphStore) -> None:
    rows = store.query("SELECT ?o ?none WHERE { <urn:a> <urn:p> ?o } ORDER BY ?o")
    assert {row["o"] for row in rdflib_rows(rows)} == {Literal("x"), Literal("y", lang="en"), Literal(1)}
    assert rdflib_rows(store.query("ASK { <urn:b> ?p <urn:a> }")) is True
    assert set(rdflib_rows(store.query("CONSTRUCT { ?s <urn:q> ?o } WHERE { ?s ?p ?o . <urn:a> ?p 'x' }"))) >= {
        (A, URIRef("urn:q"), Literal("x")),
        (URIRef("urn:b"), URIRef("urn:q"), A),
    }


def test_prefixes_are_there(store: OxigraphStore) -> None:
    view = store.dataset()
    assert dict(view.namespaces())["abi"] == URIRef("https://w3id.org/abi/")
    assert bool(view.query("ASK { ?s ?p ?o FILTER(?p != rdf:type && ?p != abi:name) }"))
