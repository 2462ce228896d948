from __future__ import annotations

from pathlib import Path

from abi.workspace import Workspace

PROMPT = """---
record_kind: raw_prompt
name: guide
description: Guides people.
tools:
  - query: SEARCH
  - {name: weather}
---
Guide them.
"""
TOOL = """# record_kind: sparql_query
# name: weather
# description: The weather forecast of a city for the coming days.
SELECT ?s WHERE { ?s ?p ?o } LIMIT 1
"""


def test_a_search_that_finds_no_tool_is_a_warning_before_anything_is_indexed(tmp_path: Path) -> None:
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/w/\n")
    for folder in ("tools", "prompts"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools" / "weather.rq").write_text(TOOL)
    prompt = tmp_path / "prompts" / "guide.prompt"
    prompt.write_text(PROMPT.replace("SEARCH", "the weather forecast of a city"))
    with Workspace.open(tmp_path) as workspace:
        assert workspace.check().findings == []
        prompt.write_text(PROMPT.replace("SEARCH", "bake a chocolate cake with nuts in the oven"))
        (found,) = workspace.check().findings
        assert (found.path, found.line, found.field, found.severity, found.code) == (
            "prompts/guide.prompt",
            3,
            "tools",
            "warning",
            "selector-unmatched",
        )
        assert 'guide selects tools for "bake a chocolate cake' in found.message
        assert workspace.check([tmp_path / "prompts"]).findings == [found]
        assert workspace.check([tmp_path / "tools"]).findings == []
        assert not (tmp_path / ".abi" / "graph").exists()
