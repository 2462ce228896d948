"""Whole graphs over HTTP: formats, tags, conditions, what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pyoxigraph as ox
import pytest

from .conftest import BASE, Served

TURTLE = {"Content-Type": "text/turtle"}


@pytest.fixture
def writer(served: Served) -> Iterator[httpx.Client]:
    with served.client("writer") as client:
        yield client
        client.delete("/store?graph=urn:h")


@pytest.mark.parametrize(
    ("media", "syntax"),
    [
        ("text/turtle", ox.RdfFormat.TURTLE),
        ("application/trig", ox.RdfFormat.TRIG),
        ("application/n-triples", ox.RdfFormat.N_TRIPLES),
        ("application/n-quads", ox.RdfFormat.N_QUADS),
        ("application/ld+json", ox.RdfFormat.JSON_LD),
        ("application/rdf+xml", ox.RdfFormat.RDF_XML),
    ],
)
def test_every_syntax_goes_in_and_comes_out(writer: httpx.Client, media: str, syntax: ox.RdfFormat) -> None:
    triples = [ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:x:b"), ox.Literal("é\n", language="fr"))]
    body = ox.serialize(triples, format=syntax)
    put = writer.put("/store?graph=urn:h", content=body, headers={"Content-Type": media})
    assert put.status_code == 201, put.text
    got = writer.get("/store?graph=urn:h", headers={"Accept": media})
    assert got.headers["content-type"].startswith(media)
    assert [q.triple for q in ox.parse(got.content, syntax)] == triples


def test_conditions(writer: httpx.Client) -> None:
    made = writer.put("/store?graph=urn:h", content="<urn:a> <urn:b> 1 .", headers=TURTLE)
    assert made.status_code == 201 and made.headers["location"] == "urn:h"
    got = writer.get("/store?graph=urn:h", headers={"Accept": "text/turtle"})
    tag = got.headers["etag"]
    assert writer.get("/store?graph=urn:h", headers={"If-None-Match": tag}).status_code == 304
    writer.put("/store?graph=urn:other", content="<urn:a> <urn:b> 1 .", headers=TURTLE)
    assert writer.get("/store?graph=urn:h", headers={"Accept": "text/turtle"}).headers["etag"] == tag
    late = writer.put("/store?graph=urn:h", content="", headers={**TURTLE, "If-None-Match": "*"})
    assert (late.status_code, late.json()["error"]["code"]) == (412, "changed")
    changed = writer.post("/store?graph=urn:h", content="<urn:a> <urn:b> 2 .", headers={**TURTLE, "If-Match": tag})
    assert changed.status_code == 204 and changed.headers["etag"] != tag
    assert writer.delete("/store?graph=urn:h", headers={"If-Match": tag}).status_code == 412
    assert writer.delete("/store?graph=urn:h", headers={"If-Match": changed.headers["etag"]}).status_code == 204
    assert writer.delete("/store?graph=urn:h").status_code == 404
    update = {"update": "INSERT DATA { GRAPH <urn:h> { <urn:a> <urn:b> 3 } }"}
    assert writer.post("/update", data=update).status_code == 200
    assert writer.get("/store?graph=urn:h", headers={"Accept": "text/turtle"}).headers["etag"] != tag


@pytest.mark.parametrize(
    ("method", "url", "body", "media", "status"),
    [
        ("PUT", "?graph=urn:h", "<urn:a> <urn:b> .", "text/turtle", 422),
        ("PUT", "?graph=urn:h", "<urn:a> <urn:b> 1 .", "text/csv", 415),
        ("PUT", "?graph=urn:h", "<urn:a> <urn:b> 1 .", "text/turtle; charset=utf-16", 415),
        ("PUT", "?graph=not an iri", "<urn:a> <urn:b> 1 .", "text/turtle", 400),
        ("PUT", "?graph=relative", "<urn:a> <urn:b> 1 .", "text/turtle", 400),
        ("PUT", "?graph=urn:h&default", "<urn:a> <urn:b> 1 .", "text/turtle", 400),
        ("PUT", "", "<urn:a> <urn:b> 1 .", "text/turtle", 400),
        ("PUT", "?graph=urn:abi:store", "<urn:a> <urn:b> 1 .", "text/turtle", 403),
        ("DELETE", "?graph=urn:abi:store", "", "text/turtle", 403),
        ("PUT", f"?graph={BASE}provenance", "<urn:a> <urn:b> 1 .", "text/turtle", 403),
        ("PUT", "?graph=urn:h", "<urn:a> <urn:b> 1 <urn:other> .", "application/n-quads", 422),
        ("PUT", "?graph=urn:h", "x", "multipart/form-data; boundary=y", 400),
        ("PATCH", "?graph=urn:h", "", "text/turtle", 405),
        ("GET", "?graph=urn:none", "", "text/turtle", 404),
        ("GET", "", "", "text/turtle", 400),
    ],
)
def test_what_is_refused(writer: httpx.Client, method: str, url: str, body: str, media: str, status: int) -> None:
    answer = writer.request(method, f"/store{url}", content=body, headers={"Content-Type": media})
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) == {"code", "message", "details", "hint"}


def test_a_fault_has_its_line(writer: httpx.Client) -> None:
    answer = writer.put("/store?graph=urn:h", content="<urn:a> <urn:b> 1 .\n<urn:a> 'b' 1 .", headers=TURTLE)
    (finding,) = answer.json()["error"]["details"]["findings"]
    assert finding["line"] == 2 and finding["code"] == "rdf-syntax"


def test_records_pass_the_gate(writer: httpx.Client) -> None:
    bad = "@prefix abi: <https://w3id.org/abi/> . <urn:t> a abi:SparqlTemplate ; abi:name 'x' ."
    answer = writer.put("/store?graph=urn:h", content=bad, headers=TURTLE)
    assert answer.status_code == 422 and answer.json()["error"]["details"]["findings"]
    assert writer.get("/store?graph=urn:h").status_code == 404


def test_a_relative_iri_is_relative_to_the_graph(writer: httpx.Client) -> None:
    writer.put("/store/things/one", content="<two> <urn:b> <> .", headers=TURTLE)
    got = writer.get(f"/store?graph={BASE}things/one", headers={"Accept": "application/n-triples"})
    assert got.text == f"<{BASE}things/two> <urn:b> <{BASE}things/one> .\n"
    assert writer.get(f"/store?graph={BASE}things/one&x=1", headers={"Accept": "image/png"}).status_code == 406
