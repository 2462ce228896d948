"""The HTTP requests that a manifest of the W3C test suites describes, in their order, with what is expected of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rdflib import RDF, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "w3c"
HT = Namespace("http://www.w3.org/2011/http#")
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
CNT = Namespace("http://www.w3.org/2011/content#")
UT = Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
LABEL = URIRef("http://www.w3.org/2000/01/rdf-schema#label")
_NAMES = {"OK": 200, "Created": 201, "NoContent": 204, "NotFound": 404}


@dataclass
class Exchange:
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    statuses: list[str] = field(default_factory=list)
    boolean: bool | None = None
    format: str | None = None
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer_body: str | None = None
    location: str | None = None

    def expects(self, status: int) -> bool:
        """`StatusCode2xx` is a class of statuses, the others are one each."""
        return any(
            status // 100 == int(s[10]) if s.startswith("StatusCode") else status == _NAMES[s] for s in self.statuses
        )


@dataclass
class Case:
    name: str
    exchanges: list[Exchange]
    data: list[tuple[str, Path]]

    def __str__(self) -> str:
        return self.name


def cases(manifest: Path) -> Iterator[Case]:
    if not manifest.is_file():
        return
    graph = Graph().parse(manifest, publicID=manifest.as_uri())
    (root,) = graph.subjects(RDF.type, MF.Manifest)
    for test in Collection(graph, graph.value(root, MF.entries)):
        action = graph.value(test, MF.action)
        if action is None:
            continue
        requests = Collection(graph, graph.value(action, HT.requests))
        data = [
            (str(graph.value(d, LABEL)), manifest.parent / str(graph.value(d, UT.graph)).rsplit("/", 1)[1])
            for d in graph.objects(test, UT.graphData)
        ]
        yield Case(str(test).rsplit("#", 1)[1], [_exchange(graph, r) for r in requests], data)


def _exchange(graph: Graph, node: object) -> Exchange:
    answer = graph.value(node, HT.resp)
    boolean = graph.value(answer, MF.expectedBoolean)
    return Exchange(
        str(graph.value(node, HT.methodName)),
        str(graph.value(node, HT.absolutePath)),
        _headers(graph, node),
        _body(graph, node),
        [str(s).rsplit("#", 1)[1] for s in graph.objects(answer, MF.expectedStatus)],
        None if boolean is None else bool(Literal(boolean).toPython()),
        str(f) if (f := graph.value(answer, MF.expectedFormat)) else None,
        _headers(graph, answer),
        b.decode() if (b := _body(graph, answer)) is not None else None,
        str(found) if (found := graph.value(answer, MF.expectedLocation)) else None,
    )


def _headers(graph: Graph, node: object) -> dict[str, str]:
    head = graph.value(node, HT.headers)
    if head is None:
        return {}
    return {str(graph.value(h, HT.fieldName)): str(graph.value(h, HT.fieldValue)) for h in Collection(graph, head)}


def _body(graph: Graph, node: object) -> bytes | None:
    body = graph.value(node, HT.body)
    if body is None:
        return None
    return str(graph.value(body, CNT.chars)).encode(str(graph.value(body, CNT.characterEncoding) or "UTF-8"))
