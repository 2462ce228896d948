"""`abi export` to the formats of other programs, and `abi load` of Agent Catalog's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.parametrize("format", ["openapi", "mcp", "openai-tools", "agentc-tools", "agentc-prompts"])
def test_a_catalog_goes_to_stdout_or_a_file(format: str, workspace: Path, run: Run) -> None:
    done = run("-C", workspace, "export", "--format", format)
    assert done.code == 0 and json.loads(done.out)
    written = run("-C", workspace, "export", "--format", format, "-o", workspace / "x.json", "--json")
    assert written.document["bytes"] == (workspace / "x.json").stat().st_size
    assert written.code == 0


def test_what_is_left_out_is_told_on_stderr(workspace: Path, run: Run) -> None:
    done = run("-C", workspace, "export", "--format", "agentc-tools")
    assert "sparql_query" in done.err
    assert [item["name"] for item in json.loads(done.out)["items"]] == ["times"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "mcp", "--graph", "urn:g"],
        ["--format", "mcp", "--source", "tools/times.py"],
        ["--annotations", 'a = "b"'],
        ["--format", "nt", "--annotations", 'a = "b"'],
    ],
)
def test_what_does_not_go_together(arguments: list[str], workspace: Path, run: Run) -> None:
    assert run("-C", workspace, "export", *arguments).code == 2


def test_a_published_version_is_exported(workspace: Path, run: Run) -> None:
    version = run("-C", workspace, "publish", "--json").document["version"]
    (workspace / "tools" / "times.py").unlink()
    assert run("-C", workspace, "index").code == 0
    then = json.loads(run("-C", workspace, "export", "--format", "openapi", "--version", version).out)
    now = json.loads(run("-C", workspace, "export", "--format", "openapi").out)
    assert "/tools/times" in then["paths"] and "/tools/times" not in now["paths"]
    assert then["info"]["version"] == version


def test_catalog_files_come_back_as_files(workspace: Path, run: Run, tmp_path: Path) -> None:
    for format in ("agentc-tools", "agentc-prompts"):
        assert run("-C", workspace, "export", "--format", format, "-o", tmp_path / f"{format}.json").code == 0
    root = tmp_path / "other"
    assert run("init", root).code == 0
    loaded = run("-C", root, "load", tmp_path / "agentc-tools.json", tmp_path / "agentc-prompts.json")
    assert loaded.code == 0, loaded.err
    assert loaded.out.splitlines() == ["tools/times.py", "prompts/greeting.jinja", "prompts/house_rules.prompt"]
    assert "abi index" in loaded.err
    again = run("-C", root, "load", tmp_path / "agentc-tools.json", "--json")
    assert (again.document["created"], again.document["unchanged"]) == ([], ["tools/times.py"])
    (root / "tools" / "times.py").write_text("mine")
    refused = run("-C", root, "load", tmp_path / "agentc-tools.json")
    assert refused.code == 1 and "tools/times.py" in refused.err and "Nothing was written" in refused.err


def test_a_json_file_that_is_no_catalog(workspace: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"@graph": []}')
    done = run("-C", workspace, "load", tmp_path / "x.json")
    assert done.code == 3 and "tools.json" in done.err
    (tmp_path / "x.ttl").write_text("<urn:a> <urn:b> <urn:c> .")
    assert run("-C", workspace, "load", tmp_path / "x.json", tmp_path / "x.ttl").code == 2
    assert run("-C", workspace, "load", tmp_path / "x.json", "--graph", "urn:g").code == 2
