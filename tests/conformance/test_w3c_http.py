"""The W3C test suites of the SPARQL 1.1 Protocol, the Graph Store Protocol and the Service Description.

The suites call the default graph of the store what is `{base}default` here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from rdflib import RDF, Graph, Namespace, URIRef
from rdflib.compare import isomorphic

from tests.server.conftest import Served, serving

from .requests import DATA, Case, Exchange, cases

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the W3C manifests are not beside the project")
SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
PROTOCOL = list(cases(DATA / "protocol" / "manifest.ttl"))
STORES = [
    *cases(DATA / "graph-store-protocol" / "manifest-direct.ttl"),
    *cases(DATA / "graph-store-protocol" / "manifest-indirect.ttl"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("w3c") / "w") as made:
        yield made


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client("writer") as made:
        clear = made.post("/update", content="CLEAR ALL", headers={"Content-Type": "application/sparql-update"})
        assert clear.status_code == 200, clear.text
        yield made


def send(client: httpx.Client, exchange: Exchange, path: str) -> httpx.Response:
    headers = {"accept": "*/*", **exchange.headers}
    request = client.build_request(exchange.method, "/", content=exchange.body, headers=headers)
    # As it is written in the manifest: a client would normalise its escapes.
    request.url = client.base_url.copy_with(raw_path=path.encode())
    return client.send(request)


def test_the_manifests_are_all_there() -> None:
    assert (len(PROTOCOL), len(STORES)) == (34, 13)


@pytest.mark.parametrize("case", PROTOCOL, ids=str)
def test_protocol(client: httpx.Client, case: Case) -> None:
    for graph, file in case.data:
        put = client.put("/store", params={"graph": graph}, content=file.read_bytes(),
                         headers={"Content-Type": "application/n-triples"})  # fmt: skip
        assert put.status_code in (201, 204), put.text
    for number, exchange in enumerate(case.exchanges):
        body = exchange.body or b""
        query = exchange.path.partition("?")[2]
        is_update = exchange.headers.get("content-type", "").startswith("application/sparql-update")
        is_update = is_update or ("update" in (case.name if not number else "") and "query" not in query)
        ends = ["/update", "/sparql"] if is_update and b"ASK" not in body else ["/sparql"]
        for end in ends if len(case.exchanges) == 1 else ends[:1]:
            answer = send(client, exchange, end + (f"?{query}" if query else ""))
            assert exchange.expects(answer.status_code), f"{end} {answer.status_code} {answer.text}"
        if exchange.boolean is not None:
            assert answer.json()["boolean"] is exchange.boolean, answer.text
        if exchange.format is not None:
            expected = {"boolean": "sparql-results", "tabular": "sparql-results", "RDF": "turtle"}[exchange.format]
            assert expected in answer.headers["content-type"]


@pytest.mark.parametrize("case", STORES, ids=str)
def test_graph_store(client: httpx.Client, case: Case) -> None:
    location = ""
    if case.name.startswith(("put_get_repeat", "put_get_uri")):
        for path in ("/person/1.ttl", "?graph=http://www.example/gsp/person/1.ttl"):
            client.delete(f"/store{path}")
    for exchange in case.exchanges:
        path = re.sub(r"^/gsp", "/store", exchange.path).replace("$LOCATION$", location)
        answer = send(client, exchange, path)
        assert exchange.expects(answer.status_code), f"{exchange.method} {path}: {answer.status_code} {answer.text}"
        if exchange.location:
            location = answer.headers["location"]
        for name, value in exchange.answer_headers.items():
            assert answer.headers[name] == value
        if exchange.answer_body is not None:
            assert isomorphic(
                Graph().parse(data=answer.text, format="turtle"),
                Graph().parse(data=exchange.answer_body, format="turtle"),
            ), answer.text


def _http_rdf_update() -> dict[str, str]:
    file = DATA / "http-rdf-update" / "manifest.ttl"
    if not file.is_file():
        return {}
    graph = Graph().parse(file)
    comments = URIRef("http://www.w3.org/2000/01/rdf-schema#comment")
    found = {}
    for test in graph.subjects(
        RDF.type, URIRef("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#GraphStoreProtocolTest")
    ):
        for comment in graph.objects(test, comments):
            if "#### Request" in comment:
                found[str(test).rsplit("#", 1)[1]] = str(comment)
    return found


OLD_ORDER = """
put__initial_state get_of_put__initial_state put__graph_already_in_store get_of_put__graph_already_in_store
put__default_graph get_of_put__default_graph delete__existing_graph get_of_delete__existing_graph
delete__nonexistent_graph post__existing_graph get_of_post__existing_graph post__multipart_formdata
get_of_post__multipart_formdata post__create__new_graph get_of_post__create__new_graph get_of_post__after_noop
head_on_an_existing_graph head_on_a_nonexisting_graph
""".split()


def test_the_older_suite_of_updates_by_http(client: httpx.Client) -> None:
    """It is written as text, one request after the other, each building on those before it."""
    texts = _http_rdf_update()
    assert set(OLD_ORDER) == set(texts)
    place = {"$GRAPHSTORE$": "/store", "$NEWPATH$": ""}
    client.delete("/store/person/1.ttl")
    client.delete("/store/person/2.ttl")
    for name in OLD_ORDER:
        if name == "delete__existing_graph":
            turtle = {"Content-Type": "text/turtle"}
            assert client.put("/store/person/2.ttl", content="<urn:a> <urn:b> 1 .", headers=turtle).status_code == 201
        request, _, answer = texts[name].partition("#### Response")
        lines = [line[4:] for line in request.partition("#### Request")[2].strip("\n").split("\n")]
        first = next(n for n, line in enumerate(lines) if line.strip())
        method, target, _ = lines[first].split(" ")
        for word, value in place.items():
            target = target.replace(word, value)
        target = target.replace("$HOST$", "www.example")
        head_end = lines.index("", first) if "" in lines[first:] else len(lines)
        headers = dict(line.split(": ", 1) for line in lines[first + 1 : head_end] if ": " in line)
        headers.pop("Host", None)
        body = "\r\n".join(lines[head_end + 1 :]).replace("$HOST$", "www.example").replace("$GRAPHSTORE$", "gsp")
        if body.strip() and not body.rstrip().endswith((".", "--")):
            body = body.rstrip() + " .\r\n"  # the suite's own slip: a statement without its end
        body = re.sub(r'"(Doe|Jane)"\r\n\r\n--', r'"\1" .\r\n\r\n--', body)
        if target.startswith("/store?graph=http://"):
            target = "/store/person/1.ttl"  # its address is not the graph's name here
        exchange = Exchange(method, target, headers, body.encode() if body.strip() else None)
        got = send(client, exchange, exchange.path)
        expected = int(re.search(r"\d{3}", answer)[0])  # type: ignore[index]
        allowed = {200: {200, 204}, 201: {201, 204} if "default" in name else {201}}.get(expected, {expected})
        assert got.status_code in allowed, f"{name}: {method} {target} {got.status_code} {got.text}"
        if name == "post__create__new_graph":
            place["$NEWPATH$"] = f"/store?graph={got.headers['location']}"


@pytest.fixture(scope="module")
def description(server: Served) -> tuple[str, Graph]:
    with server.client("reader") as reader:
        answer = reader.get("/sparql", headers={"Accept": "text/turtle"})
        for media in ("application/rdf+xml", "application/ld+json", "application/n-triples"):
            assert reader.get("/sparql", headers={"Accept": media}).headers["content-type"].startswith(media)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/turtle")
    return f"{server.url}/sparql", Graph().parse(data=answer.text, format="turtle")


def test_service_description_returns_rdf(description: tuple[str, Graph]) -> None:
    assert len(description[1]) > 10


def test_service_description_has_endpoint_triple(description: tuple[str, Graph]) -> None:
    endpoint, graph = description
    assert (None, SD.endpoint, URIRef(endpoint)) in graph


def test_service_description_conforms_to_schema(description: tuple[str, Graph]) -> None:
    _, graph = description
    for service in graph.subjects(RDF.type, SD.Service):
        assert list(graph.objects(service, SD.endpoint))
        for dataset in graph.objects(service, SD.defaultDataset):
            assert (dataset, RDF.type, SD.Dataset) in graph
            for default in graph.objects(dataset, SD.defaultGraph):
                assert (default, RDF.type, SD.Graph) in graph
            for named in graph.objects(dataset, SD.namedGraph):
                assert (named, RDF.type, SD.NamedGraph) in graph and list(graph.objects(named, SD.name))
