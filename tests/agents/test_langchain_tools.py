from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from abi.agents.langchain_tools import CONTENT_CHARACTERS, catalog_tool, content_of
from abi.errors import ToolFailed

from .conftest import BASE, DIRECT, SmallServices


def test_a_record_is_a_tool_with_its_argument_model(services: SmallServices) -> None:
    tool = catalog_tool(DIRECT, services.run)
    assert tool.name == "find_direct_routes"
    assert tool.description == DIRECT.description
    assert set(tool.args) == {"origin", "limit"}
    schema = tool.tool_call_schema.model_json_schema()  # type: ignore[union-attr]
    assert schema["required"] == ["origin"]
    with pytest.raises(ValidationError):
        tool.args_schema.model_validate({"origin": "BOI", "limit": 0})  # type: ignore[union-attr]


def test_content_for_the_model_and_the_whole_result_as_artifact(services: SmallServices) -> None:
    tool = catalog_tool(DIRECT, services.run)
    message = tool.invoke({"type": "tool_call", "name": tool.name, "args": {"origin": "BOI"}, "id": "1"})
    assert json.loads(message.content)["row_count"] == 2
    assert message.artifact.tool == "find_direct_routes"
    assert message.artifact.arguments["origin"] == BASE + "BOI"


def test_called_directly_it_gives_content(services: SmallServices) -> None:
    assert "Seattle-Tacoma Intl" in catalog_tool(DIRECT, services.run).invoke({"origin": "Boise Air Terminal"})


def test_wrong_arguments_and_failures_are_told_not_raised(services: SmallServices) -> None:
    tool = catalog_tool(DIRECT, services.run)
    assert "origin" in tool.invoke({})
    assert "Atlantis" in tool.invoke({"origin": "Atlantis"})

    def fail(name: str, arguments: dict) -> None:
        raise ToolFailed("It raised.")

    services.run_hook = fail
    assert tool.invoke({"origin": "BOI"}) == "It raised."


def test_long_results_are_cut_at_a_row(services: SmallServices) -> None:
    rows = [{"n": i, "text": "x" * 100} for i in range(500)]
    text = content_of({"rows": rows, "row_count": 500, "truncated": True})
    told = json.loads(text)
    assert len(text) <= CONTENT_CHARACTERS
    assert told["row_count"] == 500
    assert told["truncated"] is True
    assert told["shown_rows"] == len(told["rows"]) < 100
    assert len(content_of({"result": "y" * 50_000})) < CONTENT_CHARACTERS + 100
