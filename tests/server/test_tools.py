"""Tools and prompts over HTTP, and the OpenAPI document that follows the graph."""

from __future__ import annotations

import httpx
import pytest
from openapi_spec_validator import validate

from .conftest import Served


@pytest.fixture(scope="module")
def reader(grocery: Served):
    with grocery.client("reader") as client:
        yield client


def test_a_tool_has_an_address_and_a_schema(reader: httpx.Client) -> None:
    called = reader.post("/tools/about_fruit", json={"fruit": "apple", "limit": 2}).json()
    assert called["row_count"] == 2 and called["arguments"]["fruit"].endswith("/apple")
    document = reader.get("/openapi.json").json()
    operation = document["paths"]["/tools/about_fruit"]["post"]
    body = operation["requestBody"]["content"]["application/json"]
    schema = document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    assert schema["required"] == ["fruit"] and schema["properties"]["limit"]["maximum"] == 100
    assert body["example"] == {"fruit": "apple"}
    assert reader.post("/tools/about_fruit", json=body["example"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "content", "media", "status", "code"),
    [
        ("/tools/about_fruit", b"{}", "application/json", 422, "arguments"),
        ("/tools/about_fruit", b'{"fruit": "apple", "limit": 1000}', "application/json", 422, "arguments"),
        ("/tools/about_fruit", b'{"fruit": "quince"}', "application/json", 422, "arguments"),
        ("/tools/about_fruit", b'["apple"]', "application/json", 400, "usage"),
        ("/tools/about_fruit", b"{", "application/json", 400, "usage"),
        ("/tools/about_fruit", b"fruit=apple", "application/x-www-form-urlencoded", 415, "wrong_media"),
        ("/tools/about_frui", b"{}", "application/json", 404, "not_found"),
        ("/tools/greeting", b"{}", "application/json", 404, "not_found"),
        ("/prompts/about_fruit", b"{}", "application/json", 404, "not_found"),
    ],
)
def test_what_is_no_call(reader: httpx.Client, path: str, content: bytes, media: str, status: int, code: str) -> None:
    answer = reader.post(path, content=content, headers={"Content-Type": media})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_an_argument_of_the_caller_is_the_key_and_not_what_is_sent(grocery: Served, reader: httpx.Client) -> None:
    assert reader.post("/tools/whose").json()["result"] == [{"caller": "reader"}]
    with grocery.client("writer") as writer:
        assert writer.post("/tools/whose").json()["result"] == [{"caller": "writer"}]
    assert reader.post("/tools/whose", json={"who": "admin"}).status_code == 422


def test_prompts_are_rendered(reader: httpx.Client) -> None:
    rendered = reader.post("/prompts/greeting", json={"somebody": "<Eve>"}).json()
    assert rendered["text"].strip() == "Greet <Eve>."
    assert reader.post("/prompts/greeting", json={}).json()["error"]["code"] == "arguments"


def test_the_document_is_sound_and_follows_the_graph(grocery: Served, reader: httpx.Client) -> None:
    before = reader.get("/openapi.json").json()
    validate(before)
    assert "/tools/new_one" not in before["paths"] and "/prompts/greeting" in before["paths"]
    query = "# record_kind: sparql_query\n# name: new_one\n# description: A new one.\nSELECT ?s WHERE { ?s a :Fruit }\n"
    (grocery.workspace.root / "tools" / "new_one.rq").write_text(query)
    with grocery.client("writer") as writer:
        assert writer.post("/index", json={"paths": ["tools"]}).json()["added"] == 1
    after = reader.get("/openapi.json").json()
    assert "/tools/new_one" in after["paths"] and after["x-abi-graph-version"] > before["x-abi-graph-version"]
    assert reader.post("/tools/new_one").json()["row_count"] == 2


def test_the_document_tells_strangers_nothing_of_the_graph(grocery: Served) -> None:
    with grocery.client() as anyone:
        for path in ("/openapi.json", "/docs"):
            told = anyone.get(path)
            assert told.status_code == 200 and "about_fruit" not in told.text and "/catalog/find" in told.text
        validate(anyone.get("/openapi.json").json())


def test_every_route_is_in_the_document(grocery: Served, reader: httpx.Client) -> None:
    paths = set(reader.get("/openapi.json").json()["paths"])
    wanted = "/agents /agents/{name}/completion /agents/{name}/stream-completion /index /check /catalog/find /versions "
    wanted += "/catalog/{kind}/{name} /threads /export /health /metrics /sparql /update /store /status /load"
    assert set(wanted.split()) <= paths and any(path.startswith("/id/") for path in paths)


def test_the_page_needs_nothing_from_elsewhere(reader: httpx.Client) -> None:
    page = reader.get("/docs")
    assert "about_fruit" in page.text and "<script" not in page.text and "://cdn" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
