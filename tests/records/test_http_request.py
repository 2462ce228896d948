from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from abi.errors import NetworkError
from abi.records.http_request import _parse
from abi.records.openapi import METHODS, Operation, OperationFault
from abi.records.openapi_snapshot import narrowed
from abi.records.reader import ReadContext, ReadResult, read_file
from abi.records.record import HttpRequest
from abi.records.scan import SourceFile
from abi.settings import Settings
from tests.records.conftest import Read, places

SEED = """\
# To signal to Agent Catalog that this file describes HTTP requests, you must set the record kind.
# One tool is generated per specified endpoint.
#
# The following file is a template for a set of HTTP request tools.
#
record_kind: http_request

# As a supplement to the tool similarity search, users can optionally specify search annotations.
# The values of these annotations MUST be strings (e.g., not 'true', but '"true"').
# This field is optional, and does not have to be present.
annotations:
  gdpr_2016_compliant: "false"
  ccpa_2019_compliant: "true"

# HTTP requests must be specified using an OpenAPI spec.
open_api:
  # The path relative to the tool-calling code.
  # The OpenAPI spec can either be in JSON or YAML.
  filename: path_to_openapi_spec.json

  # A URL denoting where to retrieve the OpenAPI spec.
  # The filename or the url must be specified (not both).
  # url: http://url_to_openapi_spec/openapi.json

  # Which OpenAPI operations should be indexed as tools are specified below.
  # This field is mandatory, and each operation is validated against the spec on index.
  operations:

    # All operations must specify a path and a method.
    # 1. The path corresponds to an OpenAPI path object.
    # 2. The method corresponds to GET/POST/PUT/PATCH/DELETE/HEAD/OPTIONS/TRACE.
    # See https://swagger.io/specification/#path-item-object for more information.
    - path: /users/create
      method: post
    - path: /users/delete/{user_id}
      method: delete
"""

USERS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Users", "version": "1"},
    "servers": [
        {"url": "https://{region}.example.org/v1", "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}}}
    ],
    "paths": {
        "/users/create": {
            "post": {
                "operationId": "create_user",
                "description": "Creates a user.",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}},
                },
                "responses": {
                    "201": {
                        "description": "Created.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}},
                    }
                },
            }
        },
        "/users/delete/{user_id}": {
            "parameters": [
                {"$ref": "#/components/parameters/UserId"},
                {"name": "force", "in": "query", "schema": {"type": "string"}},
            ],
            "delete": {
                "operationId": "delete_user",
                "description": "Deletes a user.",
                "parameters": [{"name": "force", "in": "query", "schema": {"type": "boolean"}}],
                "responses": {"204": {"description": "Gone."}},
            },
            "get": {"operationId": "get_user", "summary": "One user.", "responses": {"200": {"description": "It."}}},
        },
        "/other": {
            "get": {"operationId": "other", "description": "Other.", "responses": {"200": {"description": "x"}}}
        },
    },
    "components": {
        "parameters": {
            "UserId": {"name": "user_id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
        },
        "schemas": {
            "User": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "description": "What the user is called."},
                    "nick": {"type": "string", "nullable": True},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/User"}},
                    "id": {"type": "integer", "readOnly": True},
                },
            },
            "Unused": {"type": "object"},
        },
    },
}


def line_of(words: str, text: str = SEED) -> int:
    return text.count("\n", 0, text.index(words)) + 1


FILENAME, POST, DELETE = line_of("  filename:"), line_of("- path: /users/create"), line_of("- path: /users/delete")
OPEN_API = line_of("open_api:")
KIND = line_of("record_kind:")

WriteSpecification = Callable[..., None]


@pytest.fixture
def settings() -> Settings:
    return Settings(base_iri="https://example.org/w/", net_allow=["eu.example.org", "us.example.org"])


@pytest.fixture
def write(tmp_path: Path) -> WriteSpecification:
    def writer(specification: Any, path: str = "tools/path_to_openapi_spec.json") -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        text = specification if isinstance(specification, str) else json.dumps(specification)
        (tmp_path / path).write_text(text)

    return writer


def changed(at: str, value: Any) -> dict[str, Any]:
    """USERS with the value at a place, like `paths//users/create/post/description`; None takes the key away."""
    copy = json.loads(json.dumps(USERS))
    *parts, last = at.split("|")
    here = copy
    for part in parts:
        here = here[part]
    if value is None:
        del here[last]
    else:
        here[last] = value
    return copy


def records(result: ReadResult) -> dict[str, HttpRequest]:
    return {r.name: r for r in result.records if isinstance(r, HttpRequest)}


def test_the_seeds_template_gives_a_tool_for_each_operation(read: Read, write: WriteSpecification) -> None:
    write(USERS)
    result = read(SEED, "tools/users.yaml")
    assert result.findings == []
    found = records(result)
    assert list(found) == ["create_user", "delete_user"]
    create, delete = found.values()
    assert (create.method, create.path, create.description) == ("POST", "/users/create", "Creates a user.")
    assert create.annotations == {"gdpr_2016_compliant": "false", "ccpa_2019_compliant": "true"}
    assert create.source is not None
    assert (create.source.path, create.source.line) == ("tools/users.yaml", POST)
    assert create.specification_source == "tools/path_to_openapi_spec.json"
    assert create.specification_hash == hashlib.sha256(json.dumps(USERS).encode()).hexdigest()
    assert create.specification["components"] == {"schemas": {"User": USERS["components"]["schemas"]["User"]}}
    assert create.specification["paths"]["/users/create"]["post"]["servers"] == [{"url": "https://eu.example.org/v1"}]
    assert list(delete.specification["paths"]) == ["/users/delete/{user_id}"]
    assert "get" not in delete.specification["paths"]["/users/delete/{user_id}"]


def test_arguments_are_one_flat_object_with_a_schema(read: Read, write: WriteSpecification) -> None:
    write(USERS)
    create, delete = records(read(SEED, "tools/users.yaml")).values()
    Draft202012Validator.check_schema(create.input_schema)
    assert list(create.input_schema["properties"]) == ["name", "nick", "friends"]
    assert create.input_schema["required"] == ["name"]
    assert create.input_schema["properties"]["nick"] == {"type": ["string", "null"]}
    assert create.input_schema["properties"]["friends"]["items"] == {"$ref": "#/$defs/User"}
    assert create.output_schema is not None
    assert create.output_schema["$ref"] == "#/$defs/User"
    assert [(p.name, p.required) for p in create.parameters] == [("name", True), ("nick", False), ("friends", False)]
    # The path item's parameter, by reference, and the operation's, which stands before the path item's.
    assert delete.input_schema["properties"] == {
        "user_id": {"type": "integer", "minimum": 1},
        "force": {"type": "boolean"},
    }
    assert delete.input_schema["required"] == ["user_id"]
    assert delete.output_schema is None


@pytest.mark.parametrize("path", ["tools/path_to_openapi_spec.json", "path_to_openapi_spec.json"])
def test_the_specification_lies_beside_the_record_or_at_the_root(
    read: Read, write: WriteSpecification, path: str
) -> None:
    write(USERS, path)
    found = records(read(SEED, "tools/users.yaml"))
    assert found["create_user"].specification_source == path


def test_the_specification_lies_in_the_working_directory(
    read: Read, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path_factory.mktemp("here")
    (here / "path_to_openapi_spec.json").write_text(json.dumps(USERS))
    monkeypatch.chdir(here)
    assert list(records(read(SEED, "tools/users.yaml"))) == ["create_user", "delete_user"]


def test_yaml_specifications(read: Read, write: WriteSpecification) -> None:
    write(yaml.safe_dump(USERS), "tools/users.openapi.yaml")
    text = SEED.replace("path_to_openapi_spec.json", "users.openapi.yaml")
    assert list(records(read(text, "tools/users.yaml"))) == ["create_user", "delete_user"]
    assert read(yaml.safe_dump(USERS), "tools/users.openapi.yaml").findings == []


def test_openapi_3_1(read: Read, write: WriteSpecification) -> None:
    document = changed("openapi", "3.1.0")
    document["components"]["schemas"]["User"]["properties"]["nick"] = {"type": ["string", "null"]}
    write(document)
    found = records(read(SEED, "tools/users.yaml"))
    assert found["create_user"].input_schema["properties"]["nick"] == {"type": ["string", "null"]}


def test_a_url_is_fetched_by_whoever_may(tmp_path: Path, settings: Settings) -> None:
    text = SEED.replace("filename: path_to_openapi_spec.json", "url: https://eu.example.org/openapi.json")
    document = changed("servers", [{"url": "/v2"}])
    (tmp_path / "users.yaml").write_text(text)
    file = SourceFile("users.yaml", tmp_path / "users.yaml", len(text), 0)
    result = read_file(file, ReadContext.of(settings, lambda url: json.dumps(document).encode()))
    found = records(result)["create_user"]
    assert found.specification_source == "https://eu.example.org/openapi.json"
    # Relative servers are taken from where the document lies.
    assert found.specification["paths"]["/users/create"]["post"]["servers"] == [{"url": "https://eu.example.org/v2"}]

    def unreachable(url: str) -> bytes:
        raise NetworkError("nobody there", hint="Look there.")

    for fetch in (unreachable, None):
        result = read_file(file, ReadContext.of(settings, fetch))
        assert not result.records
        assert places(result) == {(FILENAME, "open_api.url", "specification-unreachable")}


OPERATION = "open_api.operations.0.path"


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "code", "words"),
    [
        (
            "record_kind: http_request",
            "record_kind: http_requests",
            KIND,
            "record_kind",
            "kind-unknown",
            "http_request",
        ),
        ('"false"', "false", line_of("gdpr"), "annotations.gdpr_2016_compliant", "annotation-type", '"false"'),
        ("post", "fetch", POST + 1, "open_api.operations.0.method", "method-invalid", "'patch'"),
        ("post", "put", POST + 1, "open_api.operations.0.method", "operation-missing", "The path has: post"),
        ("/users/create", "/users/creat", POST, OPERATION, "operation-missing", "'/users/create'"),
        (
            "path_to_openapi_spec.json",
            "path_to_openapi_spec.jsn",
            FILENAME,
            "open_api.filename",
            "specification-missing",
            "path_to_openapi_spec.json",
        ),
        (
            "path_to_openapi_spec.json",
            "../../../../../../etc/passwd",
            FILENAME,
            "open_api.filename",
            "path-outside",
            "workspace",
        ),
        ("  # url: http", "  url: http", line_of("# url:"), "open_api.url", "specification-ambiguous", "Keep one"),
        ("  filename: path_to_openapi_spec.json", "", OPEN_API, "open_api", "specification-missing", "filename"),
        ("      method: post\n", "", POST, "open_api.operations.0.method", "method-missing", "method:"),
        (
            "    - path: /users/create\n      method: post",
            "    - method: post",
            POST,
            OPERATION,
            "path-missing",
            "path:",
        ),
        (
            "    - path: /users/create\n      method: post",
            "    - /users/create",
            POST,
            "open_api.operations.0",
            "type-wrong",
            "path:",
        ),
    ],
)
def test_faults_of_the_record(
    read: Read, write: WriteSpecification, old: str, new: str, line: int, field: str, code: str, words: str
) -> None:
    write(USERS)
    result = read(SEED.replace(old, new, 1), "tools/users.yaml")
    errors = [f for f in result.findings if f.severity == "error"]
    assert [(f.line, f.field, f.code) for f in errors] == [(line, field, code)]
    assert words in errors[0].fix or words in errors[0].message
    assert "create_user" not in records(result) or code == "annotation-type"


def test_no_open_api_and_no_operations(read: Read, write: WriteSpecification) -> None:
    write(USERS)
    head, _, _ = SEED.partition("open_api:")
    assert places(read(head, "tools/users.yaml")) == {(KIND, "open_api", "open-api-missing")}
    head, _, _ = SEED.partition("  operations:")
    assert places(read(head, "tools/users.yaml")) == {(OPEN_API, "open_api.operations", "operations-missing")}


CREATE = "paths|/users/create|post|"


@pytest.mark.parametrize(
    ("document", "field", "code", "words"),
    [
        (
            changed(CREATE + "description", None),
            OPERATION,
            "description-missing",
            "neither a description nor a summary",
        ),
        ("{", "open_api.filename", "specification-syntax", "no JSON"),
        (b"\xff\xff".decode("latin1"), "open_api.filename", "specification-version", "no OpenAPI"),
        ("[]", "open_api.filename", "specification-version", "no OpenAPI"),
        ({"swagger": "2.0", "paths": {}}, "open_api.filename", "specification-version", "Swagger 2.0"),
        (changed("openapi", "4.0.0"), "open_api.filename", "specification-version", "OpenAPI 4.0.0"),
        (changed("paths", {}), "open_api.filename", "specification-empty", "no paths"),
        ("[" * 100_000, "open_api.filename", "specification-syntax", "nest"),
        (changed(CREATE + "requestBody", {"$ref": "other.json#/x"}), OPERATION, "specification-invalid", "leaves"),
        (changed(CREATE + "requestBody", {"$ref": "file:///etc/passwd"}), OPERATION, "specification-invalid", "leaves"),
        (
            changed(CREATE + "requestBody", {"$ref": "http://169.254.169.254/"}),
            OPERATION,
            "specification-invalid",
            "leaves",
        ),
        (changed(CREATE + "requestBody", {"$ref": "#/components/x"}), OPERATION, "specification-invalid", "nowhere"),
        (changed(CREATE + "responses", None), OPERATION, "specification-invalid", "responses"),
        (changed("servers", [{"url": "https://{a}.example.org"}]), OPERATION, "specification-invalid", "'a'"),
    ],
)
def test_faults_of_the_specification(
    read: Read, write: WriteSpecification, document: Any, field: str, code: str, words: str
) -> None:
    write(document)
    result = read(SEED, "tools/users.yaml")
    errors = [f for f in result.findings if f.severity == "error"]
    assert (errors[0].field, errors[0].code) == (field, code)
    assert errors[0].line == (FILENAME if field.endswith("filename") else POST)
    assert words in errors[0].message
    assert "create_user" not in records(result)


@pytest.mark.parametrize(
    ("at", "value", "code", "name", "words"),
    [
        ("operationId", None, "operation-id-missing", "post_users_create", "no operationId"),
        ("operationId", "create-user", "operation-id-invalid", "create_user", "'create-user' is no identifier"),
        ("operationId", "class", "operation-id-invalid", "class_", "'class'"),
        ("operationId", "1st", "operation-id-invalid", "argument_1st", "'1st'"),
        ("description", "a " * 300, "description-long", "create_user", "256"),
        ("security", [{"key": []}], "secret-missing", "create_user", "needs key"),
        ("servers", [{"url": "https://evil.example"}], "host-not-allowed", "create_user", "https://evil.example"),
    ],
)
def test_warnings(read: Read, write: WriteSpecification, at: str, value: Any, code: str, name: str, words: str) -> None:
    document = changed(CREATE + at, value)
    document["components"]["securitySchemes"] = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    write(document)
    result = read(SEED, "tools/users.yaml")
    assert [(f.line, f.field, f.severity, f.code) for f in result.findings] == [(POST, OPERATION, "warning", code)]
    assert words in result.findings[0].message
    assert next(iter(records(result))) == name


def test_the_summary_stands_in_for_a_description(read: Read, write: WriteSpecification) -> None:
    write(USERS)
    result = read(SEED.replace("method: delete", "method: get"), "tools/users.yaml")
    assert records(result)["get_user"].description == "One user."
    assert [(f.line, f.severity, f.code) for f in result.findings] == [(DELETE, "warning", "description-from-summary")]


def test_two_operations_of_one_name(read: Read, write: WriteSpecification) -> None:
    write(changed("paths|/users/delete/{user_id}|delete|operationId", "create_user"))
    result = read(SEED, "tools/users.yaml")
    assert [f.code for f in result.findings if f.severity == "error"] == ["name-duplicate"]


def test_secrets_by_security_scheme(read: Read, write: WriteSpecification) -> None:
    write(USERS)
    text = SEED + "secrets:\n  - {bearerAuth: USERS_TOKEN}\n  - {basicAuth: {username: U, password: P}}\n"
    found = records(read(text, "tools/users.yaml"))["create_user"]
    assert found.credentials == {"bearerAuth": "USERS_TOKEN", "basicAuth": {"username": "U", "password": "P"}}
    assert found.secrets == ["USERS_TOKEN", "U", "P"]
    literal = read(SEED + "secrets: [{bearerAuth: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789}]\n", "tools/u.yaml")
    assert "secret-literal" in {f.code for f in literal.findings}


def test_server_variables_of_the_record(read: Read, write: WriteSpecification) -> None:
    write(USERS)
    text = SEED.replace("  operations:", "  server_variables: {region: us}\n  operations:")
    found = records(read(text, "tools/users.yaml"))["create_user"]
    assert found.specification["paths"]["/users/create"]["post"]["servers"] == [{"url": "https://us.example.org/v1"}]
    result = read(text.replace("us}", "mars}"), "tools/users.yaml")
    assert {f.code for f in result.findings} == {"specification-invalid"}


def test_a_symbolic_link_out_of_the_workspace_is_not_followed(
    read: Read, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "users.json"
    outside.write_text(json.dumps(USERS))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "path_to_openapi_spec.json").symlink_to(outside)
    assert places(read(SEED, "tools/users.yaml")) == {(FILENAME, "open_api.filename", "path-outside")}


def operation(parts: dict[str, Any], version: str = "3.1.0", **document: Any) -> Operation:
    whole = {"openapi": version, "paths": {"/x/{id}": {"post": parts}}, **document}
    return Operation(narrowed(whole, [("/x/{id}", "post")]), "/x/{id}", "post")


def test_arguments_of_one_name_are_told_apart() -> None:
    parameters = [{"name": "id", "in": place} for place in ("path", "query", "header", "cookie")]
    parameters += [{"name": "X-Request-ID", "in": "header"}, {"name": "Authorization", "in": "header"}]
    schema = {"properties": {"id": {"type": "string"}, "page-size": {}, "class": {}}, "required": ["id"]}
    found = operation({"parameters": parameters, "requestBody": {"content": {"application/json": {"schema": schema}}}})
    assert [(a.name, a.wire, a.place, a.required) for a in found.arguments] == [
        ("id", "id", "path", True),
        ("query_id", "id", "query", False),
        ("header_id", "id", "header", False),
        ("cookie_id", "id", "cookie", False),
        ("X_Request_ID", "X-Request-ID", "header", False),
        ("body_id", "id", "body", False),
        ("page_size", "page-size", "body", False),
        ("class_", "class", "body", False),
    ]
    # The body may be left out; where it is not, it needs what it requires.
    assert found.input_schema["dependentRequired"] == {"page_size": ["body_id"], "class_": ["body_id"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {}},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"properties": {"a": {}}, "allOf": [{"required": ["a"]}]},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        True,
    ],
)
def test_a_body_that_is_no_plain_object_is_one_argument(schema: Any) -> None:
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    found = operation({"parameters": [{"name": "body", "in": "query"}], "requestBody": body})
    assert [(a.name, a.place, a.required) for a in found.arguments] == [
        ("body", "query", False),
        ("request_body", "body", True),
    ]


def test_json_is_preferred_to_forms_and_forms_to_the_rest() -> None:
    kinds = ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "application/vnd.x+json"]
    for n in range(1, len(kinds) + 1):
        found = operation({"requestBody": {"content": {kind: {} for kind in kinds[:n]}}})
        assert found.body is not None
        assert found.body.media_type == kinds[n - 1]


def test_cycles_of_references() -> None:
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"properties": {"a": {"$ref": "#/components/schemas/A"}}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
    found = operation({"requestBody": body}, components={"schemas": schemas})
    assert found.input_schema["$defs"].keys() == {"A", "B"}
    loop = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    with pytest.raises(OperationFault, match="leads to itself"):
        operation({"requestBody": body}, components={"schemas": loop}).arguments  # noqa: B018


def test_a_fault_of_a_document_is_one_line(read: Read, write: WriteSpecification) -> None:
    loop = {"schema": {"$ref": "#/components/schemas/A"}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {
            "/a": {"get": {"operationId": "a", "description": "d", "parameters": [{"name": "q", "in": "bogus"}]}},
            "/b": {
                "get": {"operationId": "b", "description": "d", "parameters": [{"name": "q", "in": "query", **loop}]}
            },
        },
        "components": {"schemas": {"A": {"$ref": "#/components/schemas/A"}}},
    }
    write(document, "s.json")
    listed = "".join(f"  - path: {path}\n    method: get\n" for path in ("/a", "/b"))
    findings = read(
        f"record_kind: http_request\nopen_api:\n  filename: s.json\n  operations:\n{listed}", "t.yaml"
    ).findings
    assert all("\n" not in f.message for f in findings)
    told = {f.line: f.message for f in findings if f.severity == "error"}
    assert told.keys() == {5, 7}
    assert told[7] == "GET /b: The reference '#/components/schemas/A' leads to itself."


def test_words_of_openapi_3_0_become_those_of_json_schema() -> None:
    schema = {
        "type": "integer",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 9,
        "exclusiveMaximum": False,
        "nullable": True,
        "enum": [1, 2],
    }
    found = operation({"parameters": [{"name": "a", "in": "query", "schema": schema}]}, "3.0.3")
    expected = {"type": ["integer", "null"], "exclusiveMinimum": 0, "maximum": 9, "enum": [1, 2, None]}
    assert found.input_schema["properties"]["a"] == expected


def test_references_into_paths_and_names_that_look_like_references() -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "", "version": ""},
        "paths": {
            "/a/{x}": {
                "get": {"parameters": [{"name": "x", "in": "path", "required": True, "schema": {"type": "string"}}]}
            },
            "/b/{x}": {"get": {"parameters": [{"$ref": "#/paths/~1a~1{x}/get/parameters/0"}]}},
            "/c": {
                "get": {
                    "parameters": [
                        {
                            "name": "q",
                            "in": "query",
                            "schema": {"properties": {"example": {"$ref": "#/components/schemas/S"}, "$ref": {}}},
                            "example": {"$ref": "#/nowhere"},
                        }
                    ]
                }
            },
        },
        "components": {"schemas": {"S": {"type": "string"}}},
    }
    found = Operation(narrowed(document, [("/b/{x}", "get")]), "/b/{x}", "get")
    assert [a.name for a in found.arguments] == ["x"]
    found = Operation(narrowed(document, [("/c", "get")]), "/c", "get")
    assert found.input_schema["$defs"] == {"S": {"type": "string"}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("$ref parameters schema in name content properties type allOf servers url".split()),
            inner | st.sampled_from(["#/components/schemas/User", "#", "#/paths", "query", "application/json"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["parameters", "requestBody", "responses", "servers", "security", "description"]), json_values)
def test_any_document_is_read_or_has_findings(read: Read, write: WriteSpecification, at: str, value: Any) -> None:
    write(changed(CREATE + at, value if value is not None else {}))
    _parse.cache_clear()
    result = read(SEED, "tools/users.yaml")
    assert "create_user" in records(result) or any(f.severity == "error" for f in result.findings)


def test_all_eight_methods() -> None:
    assert set(METHODS) == {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
