"""The clients that people have, against this server."""

from __future__ import annotations

import pytest
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import CSV, GET, JSON, POST, TURTLE, XML, SPARQLWrapper

from .conftest import Served

QUERY = "SELECT ?n { <urn:f7> <urn:name> ?n }"


@pytest.mark.parametrize("method", [GET, POST])
def test_sparqlwrapper(served: Served, method: str) -> None:
    client = SPARQLWrapper(f"{served.url}/sparql", f"{served.url}/update")
    client.addCustomHttpHeader("Authorization", f"Bearer {served.keys['writer']}")
    client.setMethod(method)
    client.setQuery(QUERY)
    client.setReturnFormat(JSON)
    assert client.query().convert()["results"]["bindings"][0]["n"]["value"] == "fruit 7"
    client.setReturnFormat(XML)
    assert "fruit 7" in client.query().convert().toxml()
    client.setReturnFormat(CSV)
    assert client.query().convert() == b"n\r\nfruit 7\r\n"
    client.setQuery("CONSTRUCT WHERE { <urn:f7> ?p ?o }")
    client.setReturnFormat(TURTLE)
    assert len(Graph().parse(data=client.query().convert(), format="turtle")) == 2
    client.setMethod(POST)
    client.setQuery("INSERT DATA { GRAPH <urn:w> { <urn:a> <urn:b> 1 } } ; DROP GRAPH <urn:w>")
    assert client.query().response.status == 200


def test_rdflib_reads(served: Served) -> None:
    store = SPARQLStore(f"{served.url}/sparql", headers={"Authorization": f"Bearer {served.keys['reader']}"})
    assert [str(row[0]) for row in Graph(store, identifier=URIRef("urn:g")).query(QUERY)] == ["fruit 7"]
    # A Dataset names a default graph of rdflib's own with each query.
    assert [str(row[0]) for row in Dataset(store=store).query(QUERY)] == ["fruit 7"]


def test_rdflib_writes(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.keys['writer']}"}
    store = SPARQLUpdateStore(f"{served.url}/sparql", f"{served.url}/update", headers=headers)
    graph = Graph(store, identifier=URIRef("urn:rdflib"))
    triple = (URIRef("urn:a"), URIRef("urn:b"), Literal("c"))
    graph.add(triple)
    assert triple in graph and len(graph) == 1
    assert list(graph.query("SELECT ?o { ?s ?p ?o }", initBindings={"s": URIRef("urn:a")}))
    graph.remove(triple)
    assert len(graph) == 0
