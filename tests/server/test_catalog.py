"""Search, records, status and what the graph says of an IRI."""

from __future__ import annotations

import threading

import httpx
import pyoxigraph as ox
import pytest

from abi.graph.change import Change

from .conftest import BASE, Served


@pytest.fixture(scope="module")
def reader(grocery: Served):
    with grocery.client("reader") as client:
        yield client


def test_search(reader: httpx.Client) -> None:
    found = reader.post("/catalog/find", json={"kind": "tools", "query": "what is said of a fruit", "limit": 1}).json()
    assert [hit["name"] for hit in found["results"]] == ["about_fruit"] and 0 < found["results"][0]["score"] <= 1
    assert reader.post("/catalog/find", json={"name": "greeting"}).json()["results"][0]["score"] == 1
    assert reader.post("/catalog/find", json={"limit": 0}).status_code == 422
    refused = reader.post(
        "/catalog/find", json={"query": "x", "where": "SERVICE <http://127.0.0.1:1/> { ?record ?p ?o }"}
    )
    assert refused.status_code in (400, 403)


def test_pages_lead_to_each_other(reader: httpx.Client) -> None:
    whole = reader.get("/catalog/records").json()
    assert whole["total"] == len(whole["records"]) and whole["next"] is None
    names, address = [], "/catalog/records?limit=3"
    while address:
        page = reader.get(address).json()
        assert len(page["records"]) <= 3
        names += [record["iri"] for record in page["records"]]
        address = page["next"]
    assert names == [record["iri"] for record in whole["records"]]
    assert reader.get("/catalog/things").json()["error"]["code"] == "usage"


def test_one_record(reader: httpx.Client) -> None:
    shown = reader.get("/catalog/tools/about_fruit").json()
    assert shown["kind"] == "sparql_query" and [user["name"] for user in shown["used_by"]].count("grocer") == 1
    assert shown["source"].startswith("tools/about_fruit.rq")
    by_iri = reader.get(f"/catalog/records/{shown['iri'].replace('/', '%2F').replace(':', '%3A')}").json()
    assert by_iri == shown
    turtle = reader.get("/catalog/tools/about_fruit", headers={"Accept": "text/turtle"})
    assert turtle.headers["content-type"].startswith("text/turtle") and "abi:SparqlTemplate" in turtle.text
    assert reader.get("/catalog/prompts/about_fruit").status_code == 404


def test_status(reader: httpx.Client) -> None:
    status = reader.get("/status").json()
    assert status["records"]["sparql_query"] >= 3 and status["triples"] > 100 and status["edited"] == []


@pytest.mark.parametrize(
    ("accept", "media", "holds"),
    [
        ("text/turtle", "text/turtle; charset=utf-8", "apple"),
        ("application/ld+json", "application/ld+json", "apple"),
        ("application/n-triples", "application/n-triples", f"<{BASE}apple>"),
        ("application/json", "application/json", '"used_by"'),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8", "<h1>apple</h1>"),
    ],
)
def test_any_iri_is_dereferenced(reader: httpx.Client, accept: str, media: str, holds: str) -> None:
    answer = reader.get("/id/apple", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media)
    assert holds in answer.text and answer.headers["vary"] == "Accept"
    head = reader.head("/id/apple", headers={"Accept": accept})
    assert (head.status_code, head.headers["content-type"], head.content) == (200, media, b"")


def test_pages_hold_data_as_text_only(reader: httpx.Client) -> None:
    html = {"Accept": "text/html"}
    page = reader.get("/id/apple", headers=html)
    assert "<b onmouseover" not in page.text and "&lt;b onmouseover" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert f'href="/id/Fruit"' in page.text  # noqa: F541
    pear = reader.get("/id/pear", headers=html).text
    assert 'href="javascript:' not in pear and "javascript:alert(1)" in pear


def test_what_is_not_there(reader: httpx.Client) -> None:
    for path, status in (
        ("/id/quince", 404),
        ("/id/", 404),
        ("/id/a%22%3E%3Cb", 404),
        ("/id/%ff", 404),
        ("/id/apple%20pie", 404),
    ):
        for accept in ("text/html", "text/turtle", "application/json"):
            answer = reader.get(path, headers={"Accept": accept})
            assert answer.status_code in (status, 400) and answer.json()["error"]["code"], answer.text
    assert reader.get("/id/apple", headers={"Accept": "image/png"}).status_code == 406


def test_a_search_does_not_read_all_again_for_what_is_being_written(grocery: Served) -> None:
    """Between a change and the search index's following it, a search meets the index as it was."""
    workspace = grocery.workspace
    assert workspace.find("tools", "fruit").hits
    before = workspace.search_version
    committed, searched = threading.Event(), threading.Event()

    def write() -> None:
        with workspace._writing() as store:
            quad = ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.Literal(1), ox.NamedNode("urn:other"))
            workspace._gate(store).write(Change(add=[quad]))
            committed.set()
            searched.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    assert committed.wait(60)
    try:
        assert workspace.find("tools", "fruit").hits
        assert workspace.search_version == before < workspace.version()
    finally:
        searched.set()
        writer.join()
    # a change that nobody followed is caught up with
    assert workspace.find("tools", "fruit").hits
    assert workspace.search_version == workspace.version()
