"""Index, check, load, export and versions over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .conftest import BASE, Served, lay_out, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    with serving(root) as made:
        made.workspace.index()
        yield made


def test_changes_need_a_writer(served: Served) -> None:
    changes = [("/index", {}), ("/versions", {}), ("/intents/derive", {}), ("/vectors/build", {})]
    for role, status in ((None, 401), ("reader", 403)):
        with served.client(role) as client:
            for path, body in changes:
                assert client.post(path, json=body).status_code == status, path
            assert client.post("/load", files={"file": ("a.ttl", b"")}).status_code == status


def test_files_are_checked_and_indexed(served: Served) -> None:
    broken = served.workspace.root / "tools" / "broken.rq"
    broken.write_text("# record_kind: sparql_query\n# name: broken\n# description: Broken.\nSELECT ?s WHERE { ?s\n")
    with served.client("writer") as writer:
        checked = writer.post("/check", json={}).json()
        assert checked["conforms"] is False and checked["findings"][0]["path"] == "tools/broken.rq"
        indexed = writer.post("/index", json={}).json()
        assert indexed["written"] is False and indexed["findings"]
        broken.write_text(broken.read_text() + "?p ?o }\n")
        assert writer.post("/index", json={"dry_run": True}).json()["added"] == 1
        assert writer.post("/tools/broken").status_code == 404
        assert writer.post("/index", json={"paths": ["tools/broken.rq"]}).json()["added"] == 1
        assert writer.post("/tools/broken").status_code == 200
        for path in ("../outside.rq", "/etc/passwd", "tools/../../x", "a\x00b"):
            for verb in ("/check", "/index"):
                refused = writer.post(verb, json={"paths": [path]})
                assert (refused.status_code, refused.json()["error"]["code"]) == (400, "usage"), refused.text


def test_what_has_a_default_for_everything_needs_no_body(served: Served) -> None:
    with served.client("writer") as writer:
        for path in ("/check", "/index", "/versions", "/intents/derive", "/vectors/build"):
            answer = writer.post(path)
            assert answer.status_code in (200, 201), (path, answer.text)
            assert writer.post(path, json={"unknown": 1}).status_code == 422, path


def test_files_of_the_caller_are_loaded_all_or_none(served: Served) -> None:
    good = ("some/where/more.ttl", b"<urn:a> <urn:b> 1, 2 .")
    with served.client("writer") as writer:
        loaded = writer.post("/load", files=[("file", good)]).json()
        assert loaded == {"graph": f"{BASE}graph/more", "triples": 2, "findings": []}
        bad = ("bad.ttl", b"<urn:a> <urn:b>")
        refused = writer.post("/load", files=[("file", ("new.ttl", b"<urn:c> <urn:d> 1 .")), ("file", bad)]).json()
        assert refused["triples"] == 0 and refused["findings"][0]["path"] == "bad.ttl"
        assert writer.get("/sparql", params={"query": "ASK { <urn:c> ?p ?o }"}).json()["boolean"] is False
        named = writer.post("/load", params={"graph": "urn:g"}, files=[("file", good)]).json()
        assert (named["graph"], named["triples"]) == ("urn:g", 2)
        # what crashes a parser ends a process that is not the server
        deep = b"<urn:a> <urn:b> " + b"[ <urn:c> " * 5000 + b"1" + b"]" * 5000 + b" ."
        assert writer.post("/load", files=[("file", ("deep.ttl", deep))]).json()["findings"]
        assert writer.post("/load", content=b"x", headers={"Content-Type": "text/turtle"}).status_code == 415
        assert writer.post("/load", content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400
        assert writer.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("parameters", "accept", "media", "holds"),
    [
        ({}, "*/*", "application/trig", "GRAPH"),
        ({}, "application/n-quads", "application/n-quads", f"<{BASE}apple>"),
        ({"format": "jsonld"}, "*/*", "application/ld+json", "apple"),
        ({"source": "graph/fruit.ttl"}, "*/*", "text/turtle; charset=utf-8", "apple"),
        ({"graph": f"{BASE}source/graph/fruit.ttl"}, "application/rdf+xml", "application/rdf+xml", "apple"),
        ({"format": "openapi"}, "*/*", "application/json", "about_fruit"),
        ({"format": "mcp"}, "*/*", "application/json", "about_fruit"),
    ],
)
def test_exports(served: Served, parameters: dict[str, str], accept: str, media: str, holds: str) -> None:
    with served.client("reader") as reader:
        answer = reader.get("/export", params=parameters, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media), answer.text
    assert holds.lower() in answer.text.lower()


def test_exports_that_cannot_be_had(served: Served) -> None:
    with served.client("reader") as reader:
        for parameters, status in (
            ({"graph": "urn:none"}, 404),
            ({"source": "nothing.ttl"}, 404),
            ({"format": "docx"}, 400),
            ({"graph": "urn:g", "source": "x"}, 400),
            ({"format": "mcp", "graph": "urn:g"}, 400),
            ({"edited": "true"}, 400),
        ):
            assert reader.get("/export", params=parameters).status_code == status, parameters
        unedited = {"source": "graph/fruit.ttl", "edited": "true"}
        assert reader.get("/export", params=unedited).status_code == 204
        with served.client("writer") as writer:
            writer.post(
                "/update",
                data={"update": f"INSERT DATA {{ GRAPH <{BASE}source/graph/fruit.ttl> {{ <urn:x> <urn:y> 1 }} }}"},
            )
        edited = reader.get("/export", params=unedited)
        assert edited.status_code == 200 and "urn:x" in edited.text


def test_versions(served: Served) -> None:
    with served.client("writer") as writer, served.client("reader") as reader:
        first = writer.post("/versions", json={"message": "one", "allow_dirty": True}).json()
        assert first["published"] and first["message"] == "one"
        writer.post("/load", files=[("file", ("more.ttl", b"<urn:a> <urn:b> 1 ."))])
        second = writer.post("/versions", json={"message": "two", "allow_dirty": True}).json()
        listed = reader.get("/versions", params={"limit": 1}).json()
        assert listed["versions"][0]["version"] == second["version"] and listed["total"] == 2
        assert reader.get(listed["next"]).json()["versions"][0]["version"] == first["version"]
        between = reader.get(f"/versions/{first['version']}/diff", params={"to": second["version"]}).json()
        assert [graph["graph"] for graph in between["graphs"]] == [f"{BASE}graph/more"]
        assert reader.get("/versions/latest/diff").json()["graphs"] == []
        assert reader.get("/versions/0000000/diff").status_code == 404


def test_bodies_are_bounded(served: Served) -> None:
    with served.client("writer") as writer:
        answer: httpx.Response = writer.post(
            "/check", content=b"x" * 300_000, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
