"""A prompt's tools, chosen in a workspace: when it is checked, indexed and fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi.workspace import Workspace

SEED = Path(__file__).parents[1] / "records" / "seed"
TOOL = """\
# name: {name}
# description: {description}
# annotations: {{gdpr_2016_compliant: "{gdpr}"}}
SELECT ?s WHERE {{ ?s ?p ?o }} LIMIT 1
"""
TOOLS = {
    "find_direct_routes": ("Routes between two airports without a stop.", "true"),
    "find_indirect_routes": ("Routes between two airports with one stop.", "false"),
    "flights_by_name": ("Find flights by their name.", "true"),
    "bake_bread": ("How long to bake a loaf of bread.", "false"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("tools", "prompts"):
        (tmp_path / folder).mkdir()
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/w/\n")
    for name, (description, gdpr) in TOOLS.items():
        text = TOOL.format(name=name, description=description, gdpr=gdpr)
        (tmp_path / "tools" / f"{name}.rq").write_text(text)
    return tmp_path


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        yield workspace


def prompt(name: str, tools: str) -> str:
    return f"record_kind: prompt\nname: {name}\ndescription: d\ncontent: Go.\ntools:\n{tools}"


@pytest.mark.parametrize("file", ["raw_prompt.prompt", "jinja_prompt.jinja"])
def test_the_tools_of_agent_catalogs_templates(workspace: Workspace, root: Path, file: str) -> None:
    (root / "prompts" / file).write_bytes((SEED / file).read_bytes())
    report = workspace.index()
    assert report.written and report.findings == []
    arguments = {"source_airport": "BOI", "destination_airport": "SEA"} if file.startswith("jinja") else {}
    document = workspace.run("route_finding_prompt", **arguments).document()
    assert document["tools"][:3] == ["find_indirect_routes", "find_direct_routes", "flights_by_name"]
    assert "unmatched" not in document
    text = workspace.prompt("route_finding_prompt", **arguments)
    assert text == document["text"]
    assert text.startswith("Goal:\nYour goal is to find a sequence of routes")


def test_selectors_of_every_form(workspace: Workspace, root: Path) -> None:
    tools = (
        "  - bake_bread\n  - {name: find_direct_routes, annotations: 'gdpr_2016_compliant = \"true\"'}\n"
        "  - {query: routes between airports, limit: 0, annotations: 'gdpr_2016_compliant = \"false\"'}\n"
    )
    (root / "prompts" / "p.yaml").write_text(prompt("p", tools))
    assert workspace.index().findings == []
    document = workspace.run("p").document()
    assert document["tools"][:2] == ["bake_bread", "find_direct_routes"]
    assert "find_indirect_routes" in document["tools"] and "flights_by_name" not in document["tools"]
    assert document["content"] == document["text"] == "Go."


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("  - find_direct_rutes\n", "selects the tool find_direct_rutes, which does not exist"),
        (
            "  - {name: bake_bread, annotations: 'gdpr_2016_compliant = \"true\"'}\n",
            "selects the tool bake_bread with gdpr_2016_compliant",
        ),
        ("  - {query: routes, annotations: 'team = \"x\"'}\n", 'selects tools with team = "x", and there is none'),
    ],
)
def test_what_nothing_matches_is_a_warning_when_it_is_checked(
    workspace: Workspace, root: Path, tools: str, message: str
) -> None:
    (root / "prompts" / "p.yaml").write_text(prompt("p", tools))
    report = workspace.check()
    assert report.conforms
    (finding,) = report.findings
    assert (finding.path, finding.severity, finding.code) == ("prompts/p.yaml", "warning", "selector-unmatched")
    assert message in finding.message and finding.fix
    assert workspace.index().written
    document = workspace.run("p").document()
    assert document["tools"] == [] and len(document["unmatched"]) == 1


def test_a_search_that_finds_nothing_is_a_warning_when_it_is_indexed(workspace: Workspace, root: Path) -> None:
    (root / "prompts" / "p.yaml").write_text(prompt("p", "  - {query: xylophone quark zebra}\n"))
    report = workspace.index()
    assert report.written
    (finding,) = report.findings
    assert (finding.path, finding.severity, finding.code) == ("prompts/p.yaml", "warning", "selector-unmatched")
    assert 'tools for "xylophone quark zebra"' in finding.message
    assert workspace.run("p").document()["unmatched"] == ['tools for "xylophone quark zebra"']


def test_a_query_outside_the_subset_is_told_where_it_is_known_to_run(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (SEED / "sqlpp_query.sqlpp").read_text().replace("COUNT(*) AS item_cnt", "META(c).id AS item_cnt")
    line = text[: text.index("META(c)")].count("\n") + 1
    (root / "tools" / "q.sqlpp").write_text(text)
    monkeypatch.setenv("ABI_CONFIG_DIR", str(root / "config"))
    monkeypatch.delenv("CB_CONN_STRING", raising=False)
    workspace.trust()  # where a connection leads is known to a trusted workspace only
    for place, severity in ((None, "warning"), ("duckdb:data", "error"), ("couchbases://db.example", "")):
        if place:
            monkeypatch.setenv("CB_CONN_STRING", place)
        found = [(f.path, f.line, f.severity, f.code) for f in workspace.check().findings]
        assert found == ([("tools/q.sqlpp", line, severity, "sqlpp-unsupported")] if severity else [])
