from __future__ import annotations

from pathlib import Path

import pytest

from abi.workspace import Workspace

TOOL = """# record_kind: sparql_query
# name: tool_{n}
# description: The weather forecast number {n} of a city, for as many as {n} days to come.
SELECT ?s WHERE {{ ?s ?p ?o }} LIMIT {n}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/w/\n")
    (tmp_path / "tools").mkdir()
    for n in range(1, 60):
        (tmp_path / "tools" / f"t{n}.rq").write_text(TOOL.format(n=n))
    with Workspace.open(tmp_path) as workspace:
        assert workspace.index().written
    return tmp_path


@pytest.mark.parametrize("part", [2, 3, 6])
def test_a_damaged_search_index_is_told_and_made_anew(root: Path, part: int) -> None:
    path = root / ".abi" / "search.sqlite"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // part)
        file.write(b"\xff" * min(20_000, size // 4))
    with Workspace.open(root, read_only=True) as workspace:
        told = workspace.status()
        assert told.search_index.startswith("damaged: ") and "abi doctor" in told.search_index
        (check,) = [c for c in workspace.doctor().checks if c.name == "search index"]
        assert check.ok and "was damaged" in check.message and "made anew" in check.message
        assert "\n" not in check.message
        assert workspace.status().search_index == "sound"
        assert workspace.find("tools", "the weather forecast of a city").hits
        (check,) = [c for c in workspace.doctor().checks if c.name == "search index"]
        assert check.message == f"version {workspace.version()}, as the graph"
    with Workspace.open(root, read_only=True) as workspace:
        assert workspace.status().document()["search_index"] == "sound"
