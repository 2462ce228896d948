"""The catalog for other programs: each document is what its specification asks for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate as validate_openapi

from abi import Workspace
from abi.errors import UsageError
from abi.exchange.formats import CATALOG_FORMATS
from abi.exchange.tool_schemas import argument_schema, with_references


def exported(ws: Workspace, format: str, **options: Any) -> Any:
    return json.loads(ws.export_catalog(format, **options).data)


def names(ws: Workspace, kind: str) -> set[str]:
    return {entry.name for entry in ws.ls(kind).entries}


@pytest.mark.parametrize("format", CATALOG_FORMATS)
def test_every_format_is_one_json_document(format: str, ws: Workspace) -> None:
    data = ws.export_catalog(format).data
    assert data.endswith(b"\n") and json.loads(data)


def test_an_unknown_format_is_refused(ws: Workspace) -> None:
    with pytest.raises(UsageError) as raised:
        ws.export_catalog("wsdl")
    assert "openapi" in raised.value.hint


def test_the_schema_of_every_tool_is_one(ws: Workspace) -> None:
    for entry in ws.ls("tools").entries:
        schema = argument_schema(ws.record(entry.iri))
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object" and isinstance(schema["properties"], dict), entry.name
        shown = {p.name for p in ws.parameters_of(entry.iri) if p.filled_from is None}
        assert schema["properties"].keys() == shown, entry.name


def test_a_schema_has_what_is_nested(ws: Workspace) -> None:
    schema = argument_schema(ws.record("length_of"))
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"line": {"points": [{"x": 1}]}})
    assert not validator.is_valid({"line": {"points": [{"x": "far"}]}})
    assert not validator.is_valid({})


def test_openapi_is_valid_and_has_every_tool(ws: Workspace) -> None:
    document = exported(ws, "openapi")
    validate_openapi(document)
    assert document["openapi"].startswith("3.1")
    operations = {operation["post"]["operationId"] for operation in document["paths"].values()}
    assert operations == names(ws, "tools")
    schemas = document["components"]["schemas"]
    references = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(document)))
    assert references and {r.removeprefix("#/components/schemas/") for r in references} <= schemas.keys()


def test_openapi_says_of_which_state_it_is(ws: Workspace) -> None:
    assert exported(ws, "openapi")["info"]["version"] == f"graph-{ws.version()}"


def test_mcp_lists_tools_and_prompts(ws: Workspace) -> None:
    lists = exported(ws, "mcp")
    assert {tool["name"] for tool in lists["tools"]} == names(ws, "tools")
    assert {prompt["name"] for prompt in lists["prompts"]} == names(ws, "prompts")
    tools = {tool["name"]: tool for tool in lists["tools"]}
    assert tools["length_of"]["_meta"] == {"w3id.org/abi/annotations": {"domain": "geometry"}}
    assert tools["a_sparql_query"]["annotations"]["readOnlyHint"] is True
    assert all(tool["inputSchema"]["type"] == "object" for tool in lists["tools"])
    prompts = {prompt["name"]: prompt for prompt in lists["prompts"]}
    assert [a["name"] for a in prompts["a_jinja_prompt"]["arguments"]] == ["thing", "language"]
    assert [a["required"] for a in prompts["a_jinja_prompt"]["arguments"]] == [True, False]


def test_mcp_documents_are_what_its_own_models_take(ws: Workspace) -> None:
    types = pytest.importorskip("mcp.types", reason="the package mcp is an extra")
    lists = exported(ws, "mcp")
    types.ListToolsResult.model_validate({"tools": lists["tools"]})
    types.ListPromptsResult.model_validate({"prompts": lists["prompts"]})


def test_openai_tools(ws: Workspace) -> None:
    items = exported(ws, "openai-tools")
    assert {item["function"]["name"] for item in items} == names(ws, "tools")
    assert {item["type"] for item in items} == {"function"}
    assert all(item["function"].keys() == {"name", "description", "parameters"} for item in items)


def test_annotations_choose_the_records(ws: Workspace) -> None:
    lists = exported(ws, "mcp", annotations='domain = "geometry"')
    assert [tool["name"] for tool in lists["tools"]] == ["length_of"]
    assert lists["prompts"] == []


def test_references_are_followed_but_not_values() -> None:
    schema = {
        "$defs": {"A": {"properties": {"next": {"$ref": "#/$defs/A"}}}},
        "properties": {"a": {"$ref": "#/$defs/A/properties/next"}, "self": {"$ref": "#"}},
        "default": {"$ref": "#/$defs/A"},
        "examples": [{"$ref": "#"}],
    }
    assert with_references(schema, lambda name: f"#/x/{name}") == {
        "properties": {"a": {"$ref": "#/x/A/properties/next"}, "self": {"$ref": "#/x/"}},
        "default": {"$ref": "#/$defs/A"},
        "examples": [{"$ref": "#"}],
    }
