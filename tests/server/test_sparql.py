"""Queries and updates over HTTP."""

from __future__ import annotations

import json
import socket
import time

import httpx
import pytest

from .conftest import BASE, Served

ASK = "ASK { <urn:f1> <urn:size> 1 }"
DEATH = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture(scope="module")
def reader(served: Served):
    with served.client("reader") as client:
        yield client


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/sparql-results+json"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/tab-separated-values", "text/tab-separated-values; charset=utf-8"),
    ],
)
def test_results(reader: httpx.Client, accept: str, media: str) -> None:
    query = "SELECT ?s { ?s <urn:size> 7 }"
    given = {"Accept": accept} if accept else {"Accept": "*/*"}
    ways = [
        reader.get("/sparql", params={"query": query}, headers=given),
        reader.post("/sparql", data={"query": query}, headers=given),
        reader.post("/sparql", content=query, headers={**given, "Content-Type": "application/sparql-query"}),
    ]
    for answer in ways:
        assert (answer.status_code, answer.headers["content-type"]) == (200, media)
        assert answer.headers["x-abi-truncated"] == "false" and "urn:f7" in answer.text
    head = reader.head("/sparql", params={"query": query}, headers=given)
    assert (head.status_code, head.content, head.headers["content-type"]) == (200, b"", media)
    assert head.headers["content-length"] == str(len(ways[0].content))


@pytest.mark.parametrize("media", ["text/turtle", "application/trig", "application/n-triples", "application/n-quads"])
def test_graphs(reader: httpx.Client, media: str) -> None:
    answer = reader.get("/sparql", params={"query": "CONSTRUCT WHERE { <urn:f7> ?p ?o }"}, headers={"Accept": media})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith(media)
    assert "fruit 7" in answer.text


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"query": "SELECT * { ?s"}, 400, "query_syntax"),
        ({"query": "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }"}, 403, "query_refused"),
        ({"query": ASK, "timeout": "soon"}, 400, "usage"),
        ({"query": ASK, "default-graph-uri": "no iri"}, 400, "query_syntax"),
        ({"update": "CLEAR ALL"}, 400, "usage"),
    ],
)
def test_faults_have_one_shape(reader: httpx.Client, change: dict[str, str], status: int, code: str) -> None:
    answer = reader.get("/sparql", params=change)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert set(error) == {"code", "message", "details", "hint"}


def test_a_syntax_fault_has_its_place(reader: httpx.Client) -> None:
    error = reader.get("/sparql", params={"query": "SELECT * {\n ?s ?p }"}).json()["error"]
    assert error["details"]["line"] == 2 and error["details"]["column"] > 1


def test_what_cannot_be_had(reader: httpx.Client) -> None:
    assert reader.get("/sparql", params={"query": ASK}, headers={"Accept": "image/png"}).status_code == 406
    assert reader.post("/sparql", content=ASK, headers={"Content-Type": "text/plain"}).status_code == 415
    answer = reader.put("/sparql", params={"query": ASK})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    assert reader.get("/nowhere").json()["error"]["code"] == "not_found"


def test_the_time_of_a_query_is_limited_and_its_process_ended(reader: httpx.Client) -> None:
    started = time.monotonic()
    answer = reader.get("/sparql", params={"query": DEATH, "timeout": "0.4"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "query_timeout")
    assert time.monotonic() - started < 25 and "retry-after" in answer.headers


def test_a_query_ends_with_its_client(served: Served) -> None:
    port = int(served.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        query = httpx.QueryParams({"query": DEATH.replace("?l", "?left"), "timeout": "50"})
        key = served.keys["reader"]
        connection.sendall(f"GET /sparql?{query} HTTP/1.1\r\nHost: localhost\r\n"
                           f"Authorization: Bearer {key}\r\n\r\n".encode())  # fmt: skip
        while not served.workspace.pool.counts()["running"]:
            time.sleep(0.01)
        time.sleep(0.2)
    for _ in range(2000):
        if not served.workspace.pool.counts()["running"]:
            return
        time.sleep(0.02)
    raise AssertionError("the query goes on")


def test_too_many_rows_are_cut_and_marked(reader: httpx.Client, served: Served) -> None:
    query = "SELECT ?a ?b { ?a <urn:size> ?b . ?c <urn:size> ?d }"
    answer = reader.get("/sparql", params={"query": query})
    assert answer.headers["x-abi-truncated"] == "true"
    document = json.loads(answer.content)
    assert document["truncated"] is True and len(document["results"]["bindings"]) == 10_000
    lines = reader.get("/sparql", params={"query": query}, headers={"Accept": "text/csv"})
    assert lines.headers["x-abi-truncated"] == "true" and lines.text.count("\r\n") == 10_001


def test_updates_need_a_writer(served: Served) -> None:
    text = "INSERT DATA { <urn:new> <urn:size> 1 }"
    for role, status in ((None, 401), ("reader", 403), ("writer", 200)):
        with served.client(role) as client:
            answer = client.post("/update", content=text, headers={"Content-Type": "application/sparql-update"})
            assert answer.status_code == status, answer.text
            if status == 200:
                assert answer.json()["added"] == 1
                # what one has written oneself is there at once
                where = {"query": f"ASK {{ GRAPH <{BASE}default> {{ <urn:new> <urn:size> 1 }} }}"}
                assert client.get("/sparql", params=where).json()["boolean"] is True
                assert client.post("/sparql", data={"update": "CLEAR DEFAULT"}).json()["removed"] == 1


def test_the_trap_of_rdflib(reader: httpx.Client) -> None:
    for extra in ({}, {"default-graph-uri": "urn:x-rdflib:default"}, {"default-graph-uri": "urn:g"}):
        assert reader.get("/sparql", params={"query": ASK, **extra}).json()["boolean"] is True
    assert reader.get("/sparql", params={"query": ASK, "named-graph-uri": "urn:g"}).json()["boolean"] is False


def test_health_and_metrics(served: Served, reader: httpx.Client) -> None:
    with served.client() as anyone:
        assert anyone.get("/health/live").json() == {"status": "live"}
        assert anyone.get("/health").json()["status"] == "ready"
        assert anyone.get("/sparql", params={"query": ASK}).status_code == 401
        assert anyone.get("/metrics").status_code == 401
    text = reader.get("/metrics").text
    assert 'abi_requests_total{route="/sparql",method="GET",status="200"}' in text
    assert "abi_query_processes" in text and "/nowhere" not in text


def test_the_log_has_each_request_and_no_secret(served: Served, reader: httpx.Client) -> None:
    answer = reader.get("/sparql", params={"query": "ASK { <urn:canary> ?p ?o }"})
    lines = [json.loads(line) for line in served.log.getvalue().splitlines()]
    (mine,) = [line for line in lines if line["request"] == answer.headers["x-request-id"]]
    assert (mine["path"], mine["status"], mine["principal"]) == ("/sparql", 200, "reader")
    assert "canary" not in served.log.getvalue()
    assert not any(key in served.log.getvalue() for key in served.keys.values())


def test_search_inside_of_a_query(reader: httpx.Client) -> None:
    query = 'SELECT ?x { ?x ?p ?o ; abi:search "no such thing" } ORDER BY DESC(abi:similarity(?x, "no such thing"))'
    answer = reader.get("/sparql", params={"query": query})
    assert answer.status_code == 200 and answer.json()["results"]["bindings"] == []
    wrong = reader.get("/sparql", params={"query": "SELECT ?x { ?x abi:search ?y }"})
    assert wrong.status_code == 400 and "one text" in wrong.json()["error"]["message"]
