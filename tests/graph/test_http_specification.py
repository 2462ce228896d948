"""An OpenAPI document on its way into the graph: fetched through the guarded client, and read again when it changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abi import terms
from abi.files import shipped
from abi.graph.indexing import Indexer, IndexReport
from abi.graph.mapping import Names, read_record
from abi.graph.oxigraph import OxigraphStore
from abi.net import close_clients
from abi.records.record import HttpRequest
from abi.settings import Settings
from abi.workspace import Workspace as Opened
from tests.tools.http_service import Service, running

RECORD = """\
record_kind: http_request
open_api:
  {place}
  operations:
    - {{path: "/things/{{id}}", method: get}}
"""


def document(description: str = "One thing.") -> dict[str, Any]:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    responses = {"200": {"description": "It."}}
    get = {"operationId": "thing", "description": description, "parameters": [parameter], "responses": responses}
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/things/{id}": {"get": get}}}


class Workspace:
    def __init__(self, root: Path, allow: list[str]) -> None:
        self.root = root
        self.settings = Settings(base_iri="https://example.org/w/", sources=["tools"], net_allow=allow, net_seconds=2)
        self.store = OxigraphStore.memory()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def index(self) -> IndexReport:
        return Indexer(self.root, self.settings, self.store, [shipped("shapes")]).index()

    def tool(self) -> HttpRequest:
        record = read_record(self.store, "https://example.org/w/tool/thing", Names("https://example.org/w/"))
        assert isinstance(record, HttpRequest)
        return record


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as made:
        yield made
        close_clients()


def test_a_record_is_read_again_when_its_document_has_changed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, ["http://localhost"])
    workspace.write("tools/thing.yaml", RECORD.format(place="filename: thing.json"))
    workspace.write("tools/thing.json", json.dumps(document()))
    assert [f for f in workspace.index().findings if f.severity == "error"] == []
    assert workspace.tool().description == "One thing."
    assert workspace.index().changed == 0
    workspace.write("tools/thing.json", json.dumps(document("Another thing.")))
    assert workspace.index().changed == 1
    assert workspace.tool().description == "Another thing."
    # What was read stays where the document is gone: a record is complete without it.
    (tmp_path / "tools" / "thing.json").unlink()
    assert not workspace.index().findings
    assert workspace.tool().description == "Another thing."


def test_the_graph_holds_all_that_a_call_needs(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, ["http://localhost"])
    workspace.write("tools/thing.yaml", RECORD.format(place="filename: thing.json"))
    workspace.write("tools/thing.json", json.dumps(document()))
    workspace.index()
    (tmp_path / "tools" / "thing.json").unlink()
    record = workspace.tool()
    assert record.specification["paths"]["/things/{id}"]["get"]["servers"] == [{"url": "http://localhost/"}]
    assert [p.name for p in record.parameters] == ["id"]
    asked = (
        f"ASK {{ ?tool a <{terms.HTTP_REQUEST}> ; <{terms.HTTP_METHOD}> 'GET' ; <{terms.URL_PATH}> '/things/{{id}}' }}"
    )
    assert workspace.store.query(asked).boolean is True


def test_a_url_is_fetched_where_it_is_allowed(tmp_path: Path, service: Service) -> None:
    service.answers["/openapi.json"] = {"content": json.dumps(document()).encode()}
    place = f"url: {service.url}/openapi.json"
    workspace = Workspace(tmp_path, [service.url])
    workspace.write("tools/thing.yaml", RECORD.format(place=place))
    assert workspace.index().findings == []
    assert workspace.tool().specification_source == f"{service.url}/openapi.json"
    servers = workspace.tool().specification["paths"]["/things/{id}"]["get"]["servers"]
    assert servers == [{"url": f"{service.url}/"}]
    assert len(service.asked) == 1
    workspace.index()
    assert len(service.asked) == 1  # the file is the same, and its document is kept


def test_a_tool_works_on_what_was_indexed_and_doctor_tells_of_the_change(tmp_path: Path, service: Service) -> None:
    def changed(operation: str) -> bytes:
        made = document("Another thing.")
        made["servers"] = [{"url": service.url}]
        made["paths"][f"/{operation}/{{id}}"] = made["paths"].pop("/things/{id}")
        return json.dumps(made).encode()

    service.answers["/openapi.json"] = {"content": changed("things")}
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "file.json").write_bytes(changed("things").replace(b'"thing"', b'"other_thing"'))
    (tmp_path / "tools" / "url.yaml").write_text(RECORD.format(place=f"url: {service.url}/openapi.json"))
    (tmp_path / "tools" / "file.yaml").write_text(RECORD.format(place="filename: file.json"))
    (tmp_path / "abi.yaml").write_text(f"base_iri: https://example.org/w/\nnet_allow: ['{service.url}']\n")

    def told() -> tuple[bool, str, str]:
        with Opened.open(tmp_path) as workspace:
            (check,) = [c for c in workspace.doctor().checks if c.name == "specifications"]
            return check.ok, check.message, check.fix

    def paths() -> list[str]:
        with Opened.open(tmp_path) as workspace:
            return [workspace.run(name, id=1).result["path"] for name in ("thing", "other_thing")]

    with Opened.open(tmp_path) as workspace:
        assert workspace.index().written
    assert told() == (True, "2 as they were indexed", "") and paths() == ["/things/1", "/things/1"]
    service.answers["/openapi.json"] = {"content": changed("new")}
    (tmp_path / "tools" / "file.json").write_bytes(changed("things") + b" ")
    assert paths() == ["/things/1", "/things/1"]
    ok, message, fix = told()
    assert not ok and f"{service.url}/openapi.json, tools/file.json" in message and "abi index" in fix
    # The record still says where its operation was: read anew, it is told that it is no longer there.
    with Opened.open(tmp_path) as workspace:
        (fault,) = workspace.index([tmp_path / "tools" / "url.yaml"]).findings
        assert (fault.path, fault.line, fault.code) == ("tools/url.yaml", 5, "operation-missing")
    assert paths() == ["/things/1", "/things/1"]
    service.answers["/openapi.json"] = {"status": 500}
    (tmp_path / "tools" / "file.json").unlink()
    ok, message, _ = told()
    assert ok and "Not to be had now" in message and paths() == ["/things/1", "/things/1"]


@pytest.mark.parametrize(
    ("allow", "answer", "words"),
    [
        (False, {}, "not allowed"),
        (True, {"status": 500}, "status 500"),
        (True, {"hang": True}, "too long"),
        (True, {"status": 302, "headers": {"Location": "http://169.254.169.254/latest"}}, "not allowed"),
    ],
)
def test_a_url_that_cannot_be_fetched(
    tmp_path: Path, service: Service, allow: bool, answer: dict[str, Any], words: str
) -> None:
    service.answers["*"] = answer
    workspace = Workspace(tmp_path, [service.url] if allow else [])
    workspace.write("tools/thing.yaml", RECORD.format(place=f"url: {service.url}/openapi.json"))
    report = workspace.index()
    assert not report.written
    finding = report.findings[0]
    assert (finding.path, finding.line, finding.field) == ("tools/thing.yaml", 3, "open_api.url")
    assert finding.code == "specification-unreachable"
    assert words in finding.message
    assert allow or service.asked == []
