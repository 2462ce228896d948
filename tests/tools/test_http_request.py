from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abi.errors import AbiError, ArgumentError, Denied, NetworkError, NotFound, ToolFailed
from abi.graph.rows import Rows
from abi.net import close_clients
from abi.records.openapi import METHODS
from abi.records.reader import ReadContext, read_file
from abi.records.record import HttpRequest
from abi.records.scan import SourceFile
from abi.settings import Settings
from abi.tools.arguments import argument_model
from abi.tools.runner import RunContext, ToolResult, run
from tests.tools.http_service import Service, running

SECRETS = {"TOKEN": "t0ken-canary", "USER": "ada", "PASSWORD": "pa:ss-canary"}
OK = {"200": {"description": "ok"}}


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as made:
        yield made
        close_clients()


class Tools:
    """Tools of operations, on the service."""

    def __init__(self, root: Path, service: Service) -> None:
        self.root = root
        self.service = service
        self.settings = Settings(base_iri="https://example.org/w/", net_allow=[service.url], net_seconds=1.0)
        self.document: dict[str, Any] = {}

    def make(
        self, operation: dict[str, Any], path: str = "/x", method: str = "get", secrets: Any = None, **document: Any
    ) -> HttpRequest:
        operation = {"operationId": "tool", "description": "A tool.", "responses": OK, **operation}
        self.document = {
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": self.service.url}],
            "paths": {path: {method: operation}},
            **document,
        }
        (self.root / "api.json").write_text(json.dumps(self.document))
        header = {
            "record_kind": "http_request",
            "open_api": {"filename": "api.json", "operations": [{"path": path, "method": method}]},
            **({"secrets": secrets} if secrets else {}),
        }
        (self.root / "tool.yaml").write_text(json.dumps(header))
        result = read_file(SourceFile("tool.yaml", self.root / "tool.yaml", 1, 0), ReadContext.of(self.settings))
        assert result.records, result.findings
        record = result.records[0]
        assert isinstance(record, HttpRequest)
        return record

    def context(self) -> RunContext:
        def query(text: str, *, rows: int | None = None) -> Rows:
            raise AssertionError("no query is asked")

        def secret(name: str) -> str:
            if name not in SECRETS:
                raise NotFound(f"The secret {name} has no value.")
            return SECRETS[name]

        return RunContext(query=query, settings=self.settings, root=self.root, secret=secret)

    def run(self, record: HttpRequest, /, **arguments: Any) -> ToolResult:
        return run(record, arguments, self.context())

    def asked(self, operation: dict[str, Any], /, path: str = "/x", method: str = "get", **arguments: Any) -> Any:
        """What the service was asked by a call."""
        self.run(self.make(operation, path, method), **arguments)
        return self.service.asked[-1]


@pytest.fixture
def tools(tmp_path: Path, service: Service) -> Tools:
    return Tools(tmp_path, service)


@pytest.mark.parametrize("method", METHODS)
def test_all_eight_methods(tools: Tools, method: str) -> None:
    result = tools.run(tools.make({}, "/things", method))
    asked = tools.service.asked[-1]
    assert (asked["method"], asked["path"]) == (method.upper(), "/things")
    if method == "head":
        assert result.result is None
    else:
        assert result.result["method"] == method.upper()
        assert result.document()["result"]["path"] == "/things"
        assert result.row_count == 1


def test_each_argument_in_its_place(tools: Tools) -> None:
    parameters = [
        {"name": "thing id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "X-Trace", "in": "header", "schema": {"type": "integer"}},
        {"name": "session", "in": "cookie", "schema": {"type": "string"}},
        {"name": "unused", "in": "query", "schema": {"type": "string"}},
        {"name": "size", "in": "query", "schema": {"type": "integer", "default": 10}},
    ]
    body = {"content": {"application/json": {"schema": {"properties": {"name": {"type": "string"}}}}}}
    asked = tools.asked(
        {"parameters": parameters, "requestBody": body},
        "/things/{thing id}",
        "put",
        thing_id="a/b c",
        tags=["x", "y&z"],
        X_Trace="7",
        session="s",
        name="Ada",
    )
    assert asked["path"] == "/things/a%2Fb%20c"
    assert asked["query"] == "tags=x&tags=y%26z&size=10"
    assert asked["headers"]["x-trace"] == "7"
    assert asked["headers"]["cookie"] == "session=s"
    assert asked["headers"]["content-type"] == "application/json"
    assert json.loads(asked["body"]) == {"name": "Ada"}


@pytest.mark.parametrize(
    ("media_type", "body"),
    [("application/x-www-form-urlencoded", "name=A+B&n=1"), ("application/json", '{"name":"A B","n":1}')],
)
def test_bodies(tools: Tools, media_type: str, body: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
    operation = {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}
    asked = tools.asked(operation, method="post", name="A B", n=1)
    assert (asked["headers"]["content-type"], asked["body"]) == (media_type, body)


def test_all_faults_of_the_arguments_are_told_and_nothing_is_sent(tools: Tools) -> None:
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
        {"name": "kind", "in": "query", "schema": {"enum": ["a", "b"]}},
    ]
    record = tools.make({"parameters": parameters}, "/things/{id}")
    with pytest.raises(ArgumentError) as caught:
        tools.run(record, kind="c", colour="red")
    assert {f["argument"] for f in caught.value.details["faults"]} == {"id", "kind", "colour"}
    assert caught.value.message.startswith("tool cannot be called like this: ")
    assert tools.service.asked == []


def test_an_argument_that_would_leave_its_place_is_a_fault_of_it(tools: Tools) -> None:
    text = {"type": "string"}
    path = tools.make({"parameters": [{"name": "id", "in": "path", "required": True, "schema": text}]}, "/things/{id}")
    with pytest.raises(ArgumentError, match=r"id: '\.\.' cannot stand in a path"):
        tools.run(path, id="..")
    header = tools.make({"parameters": [{"name": "X-A", "in": "header", "schema": text}]})
    with pytest.raises(ArgumentError, match="X_A: a header takes"):
        tools.run(header, X_A="a\r\nAuthorization: x")
    assert tools.service.asked == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": 201, "content": b'{"a": [1, null]}'}, {"a": [1, None]}),
        ({"status": 204, "content": b""}, None),
        ({"status": 202, "content": b"[]"}, []),
        ({"content": "grün".encode(), "headers": {"Content-Type": "text/plain; charset=utf-8"}}, "grün"),
        ({"content": "grün".encode("latin1"), "headers": {"Content-Type": "text/plain; charset=latin1"}}, "grün"),
        (
            {"content": b"\x00\x01", "headers": {"Content-Type": "image/png"}},
            {"media_type": "image/png", "base64": "AAE="},
        ),
        ({"content": b'{"a": 1}', "headers": {"Content-Type": "application/problem+json"}}, {"a": 1}),
    ],
)
def test_every_2xx_is_a_success(tools: Tools, answer: dict[str, Any], expected: Any) -> None:
    tools.service.answers["*"] = answer
    assert tools.run(tools.make({})).result == expected


@pytest.mark.parametrize("status", [301, 400, 401, 404, 418, 500, 503])
def test_any_other_status_is_an_error_with_status_and_body(tools: Tools, status: int) -> None:
    tools.service.answers["*"] = {"status": status, "content": b"why it failed"}
    with pytest.raises(ToolFailed, match=rf"tool: GET /x answered with status {status}: why it failed") as caught:
        tools.run(tools.make({}))
    assert caught.value.details == {"tool": "tool", "status": status, "body": "why it failed"}


def test_the_body_of_an_error_is_cut(tools: Tools) -> None:
    tools.service.answers["*"] = {"status": 500, "content": b"x" * 100_000}
    with pytest.raises(ToolFailed) as caught:
        tools.run(tools.make({}))
    assert len(caught.value.message) < 2_100
    assert caught.value.message.endswith("[cut]")


def test_a_service_that_hangs(tools: Tools) -> None:
    tools.service.answers["*"] = {"hang": True}
    started = time.monotonic()
    with pytest.raises(NetworkError, match=r"tool: .*/x cannot be reached: it took too long"):
        tools.run(tools.make({}))
    assert time.monotonic() - started < 10


def test_a_service_that_sends_too_much(tools: Tools) -> None:
    tools.settings = tools.settings.model_copy(update={"net_bytes": 10_000})
    tools.service.answers["*"] = {"content": b"x" * 20_000}
    with pytest.raises(NetworkError, match=r"tool: .* sends more than 10,000 bytes"):
        tools.run(tools.make({}))


def test_a_service_that_is_not_there(tools: Tools) -> None:
    tools.settings = tools.settings.model_copy(update={"net_allow": ["http://127.0.0.1:1"]})
    with pytest.raises(NetworkError, match=r"tool: http://127\.0\.0\.1:1/x cannot be reached"):
        tools.run(tools.make({}, servers=[{"url": "http://127.0.0.1:1"}]))


def test_redirects(tools: Tools) -> None:
    tools.service.answers["/x"] = {"status": 302, "content": b"", "headers": {"Location": "/y"}}
    assert tools.run(tools.make({})).result["path"] == "/y"
    tools.service.answers["/x"]["headers"]["Location"] = "http://169.254.169.254/latest/meta-data/"
    with pytest.raises(Denied, match=r"tool: Requests to http://169\.254\.169\.254 are not allowed"):
        tools.run(tools.make({}))


def test_a_host_that_is_not_listed(tools: Tools) -> None:
    record = tools.make({})
    tools.settings = tools.settings.model_copy(update={"net_allow": []})
    with pytest.raises(Denied, match=f"tool: Requests to {tools.service.url} are not allowed") as caught:
        tools.run(record)
    assert "net_allow" in caught.value.hint
    assert tools.service.asked == []


def test_the_first_server_that_is_allowed_is_asked(tools: Tools) -> None:
    record = tools.make({}, servers=[{"url": "https://far.example"}, {"url": tools.service.url + "/v2/"}])
    assert tools.run(record).result["path"] == "/v2/x"


def test_what_is_declared_is_what_comes(tools: Tools) -> None:
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    }
    record = tools.make(
        {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}
    )
    tools.service.answers["*"] = {"content": b'{"name": "x", "more": 1}'}
    assert tools.run(record).result == {"name": "x", "more": 1}
    tools.service.answers["*"] = {"content": b'{"n": "many"}'}
    with pytest.raises(ToolFailed, match=r"does not declare: .*name: is needed") as caught:
        tools.run(record)
    assert {f["argument"] for f in caught.value.details["faults"]} == {"name", "n"}
    tools.service.answers["*"] = {"content": b"<html>"}
    with pytest.raises(ToolFailed, match="sent application/json that is none"):
        tools.run(record)


SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "key"},
    "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://x.example/", "scopes": {}}}},
    "digest": {"type": "http", "scheme": "digest"},
}


@pytest.mark.parametrize(
    ("scheme", "secret", "where", "expected"),
    [
        ("bearer", "TOKEN", "authorization", "Bearer t0ken-canary"),
        ("oauth", {"token": "TOKEN"}, "authorization", "Bearer t0ken-canary"),
        ("basic", {"username": "USER", "password": "PASSWORD"}, "authorization", "Basic YWRhOnBhOnNzLWNhbmFyeQ=="),
        ("header", "TOKEN", "x-key", "t0ken-canary"),
        ("cookie", "TOKEN", "cookie", "key=t0ken-canary"),
        ("query", "TOKEN", None, "api%20key=t0ken-canary"),
    ],
)
def test_security_schemes(tools: Tools, scheme: str, secret: Any, where: str | None, expected: str) -> None:
    components = {"securitySchemes": SCHEMES}
    record = tools.make({"security": [{scheme: []}]}, secrets=[{scheme: secret}], components=components)
    result = tools.run(record)
    asked = tools.service.asked[-1]
    assert (asked["headers"][where] if where else asked["query"]) == expected
    assert "canary" not in record.model_dump_json()
    assert "canary" not in json.dumps(result.document()["arguments"])


def test_one_of_several_ways_to_be_let_in(tools: Tools) -> None:
    components = {"securitySchemes": SCHEMES}
    security = [{"bearer": []}, {"header": [], "query": []}]
    record = tools.make({"security": security}, secrets=[{"header": "TOKEN"}, {"query": "USER"}], components=components)
    tools.run(record)
    asked = tools.service.asked[-1]
    assert (asked["headers"]["x-key"], asked["query"]) == ("t0ken-canary", "api%20key=ada")
    assert "authorization" not in asked["headers"]
    tools.run(tools.make({"security": [{"bearer": []}, {}]}, components=components))
    assert "authorization" not in tools.service.asked[-1]["headers"]


def test_secrets_that_are_missing(tools: Tools) -> None:
    components = {"securitySchemes": SCHEMES}
    with pytest.raises(ToolFailed, match="needs bearer, for which no secret is named"):
        tools.run(tools.make({"security": [{"bearer": []}]}, components=components))
    with pytest.raises(NotFound, match="The secret ABSENT has no value"):
        tools.run(tools.make({"security": [{"bearer": []}]}, secrets=[{"bearer": "ABSENT"}], components=components))
    with pytest.raises(ToolFailed, match="needs two secrets"):
        tools.run(tools.make({"security": [{"basic": []}]}, secrets=[{"basic": "TOKEN"}], components=components))
    with pytest.raises(ToolFailed, match="does not know"):
        tools.run(tools.make({"security": [{"digest": []}]}, secrets=[{"digest": "TOKEN"}], components=components))
    assert tools.service.asked == []


def test_no_secret_is_in_an_error(tools: Tools) -> None:
    record = tools.make(
        {"security": [{"query": []}]}, secrets=[{"query": "TOKEN"}], components={"securitySchemes": SCHEMES}
    )
    tools.service.answers["*"] = {"hang": True}
    with pytest.raises(AbiError) as caught:
        tools.run(record)
    assert "canary" not in json.dumps(caught.value.document())


def test_the_model_of_the_arguments(tools: Tools) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    model = argument_model(tools.make({"requestBody": body}, method="post"))
    assert model.model_fields["name"].is_required()


def test_a_langchain_agents_tool(tools: Tools) -> None:
    """Called as a model calls it, with nested values and names that LangChain has for itself; faults are answers."""
    from abi.agents.langchain_tools import catalog_tool

    person = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    parameters = [{"name": n, "in": "query", "schema": {"type": "string"}} for n in ("config", "copy", "X-Y")]
    body = {"required": True, "content": {"application/json": {"schema": {"properties": {"person": person}}}}}
    record = tools.make({"parameters": parameters, "requestBody": body}, method="post")

    class Services:
        def run(self, name: str, /, **arguments: Any) -> ToolResult:
            assert name == "tool"
            return tools.run(record, **arguments)

    made = catalog_tool(record, Services().run)
    call = {"config": "c", "copy": "d", "X_Y": "e", "person": {"name": "Ada"}}
    message = made.invoke({"name": "tool", "args": call, "id": "1", "type": "tool_call"})
    assert json.loads(message.content)["result"]["query"] == "config=c&copy=d&X-Y=e"
    assert json.loads(tools.service.asked[-1]["body"]) == {"person": {"name": "Ada"}}
    tools.service.answers["*"] = {"status": 500, "content": b"broken"}
    message = made.invoke({"name": "tool", "args": call, "id": "2", "type": "tool_call"})
    assert (message.status, "status 500: broken" in message.content) == ("error", True)
    message = made.invoke({"name": "tool", "args": {"person": {}}, "id": "3", "type": "tool_call"})
    assert message.status == "error"
