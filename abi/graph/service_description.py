"""What a SPARQL endpoint tells of itself (SPARQL 1.1 Service Description)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyoxigraph as ox

from abi.graph.formats import FORMATS, serialize
from abi.graph.store import BOOKKEEPING

if TYPE_CHECKING:
    from abi.graph.oxigraph import OxigraphStore

__all__ = ["describe"]

_SD = "http://www.w3.org/ns/sparql-service-description#"
_VOID = "http://rdfs.org/ns/void#"
_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")
_GRAPHS = 1_000
_SYNTAXES = "Turtle TriG N-Triples N-Quads JSON-LD RDF_XML".split()
_RESULTS = "SPARQL_Results_JSON SPARQL_Results_XML SPARQL_Results_CSV SPARQL_Results_TSV".split()


def describe(endpoint: str, store: OxigraphStore, format: str, *, results: Sequence[str] = ()) -> bytes:
    """The description of the service at `endpoint`, in an RDF syntax. Graphs are named up to the first thousand.

    `results`: the media types that it answers with.
    """
    service, dataset = ox.NamedNode(endpoint), ox.BlankNode("dataset")
    default = ox.BlankNode("default")
    quads: list[ox.Quad] = []

    def say(subject: ox.NamedNode | ox.BlankNode, name: str, value: ox.NamedNode | ox.BlankNode | ox.Literal) -> None:
        predicate = ox.NamedNode(name if ":" in name else _SD + name)
        quads.append(ox.Quad(subject, predicate, value))

    def is_a(subject: ox.NamedNode | ox.BlankNode, name: str) -> None:
        quads.append(ox.Quad(subject, _TYPE, ox.NamedNode(_SD + name)))

    is_a(service, "Service")
    say(service, "endpoint", service)
    for language in ("SPARQL10Query", "SPARQL11Query", "SPARQL11Update"):
        say(service, "supportedLanguage", ox.NamedNode(_SD + language))
    for feature in ("UnionDefaultGraph", "EmptyGraphs"):
        if feature == "UnionDefaultGraph":
            say(service, "feature", ox.NamedNode(_SD + feature))
    for name in (*_SYNTAXES, *_RESULTS):
        say(service, "resultFormat", ox.NamedNode(f"http://www.w3.org/ns/formats/{name}"))
    for name in _SYNTAXES:
        say(service, "inputFormat", ox.NamedNode(f"http://www.w3.org/ns/formats/{name}"))
    for media in results:
        say(service, "http://purl.org/dc/terms/format", ox.Literal(media))
    say(service, "defaultDataset", dataset)
    is_a(dataset, "Dataset")
    say(dataset, "defaultGraph", default)
    is_a(default, "Graph")
    say(default, _VOID + "triples", ox.Literal(str(len(store)), datatype=_INTEGER))
    for number, graph in enumerate(g for g in store.graphs() if g != BOOKKEEPING):
        if number >= _GRAPHS:
            break
        node = ox.BlankNode(f"g{number}")
        say(dataset, "namedGraph", node)
        is_a(node, "NamedGraph")
        say(node, "name", ox.NamedNode(graph))
    assert {row.name for row in FORMATS} >= {format}
    return serialize(quads, format, {"sd": _SD, "void": _VOID, "format": "http://www.w3.org/ns/formats/"})
