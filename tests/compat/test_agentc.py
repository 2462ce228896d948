"""Agent Catalog's interface over a workspace: what its own tests ask of it, and what its documentation promises."""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest

import abi.compat.agentc as agentc
from abi import Workspace
from abi.errors import ArgumentError

FILES = {
    "abi.yaml": "base_iri: https://example.org/travel/\n",
    "tools/blogs.py": '''from agentc import tool


@tool(annotations={"gdpr_2016_compliant": "true", "ccpa_2019_compliant": "false"})
def get_travel_blog_snippets_from_user_interests(user_interests: list[str], num_results: int = 3) -> list[str]:
    """Search through snippets of travel blogs for interests of the user."""
    return [f"About {interest}" for interest in user_interests][:num_results]
''',
    "tools/airports.py": '''from agentc import tool


@tool(name="check_if_airport_exists", annotations={"gdpr_2016_compliant": "false"})
def exists(airport_code: str) -> bool:
    """Check if the given airport is valid, by its code."""
    return airport_code in ("SFO", "BOI")
''',
    "tools/count.py": '''import os

from abi import tool


@tool
def secret_length() -> int:
    """How many letters are in the pass phrase of the vault."""
    return 6
''',
    "prompts/location.prompt": """---
record_kind: raw_prompt
name: get_user_location
description: Asks a user for their location.
---
Where are you now? Ask the user for their location.
""",
    "prompts/blogs.jinja": """---
record_kind: jinja_prompt
name: blogs_about
description: Instructions on how to summarise travel blogs for somebody.
tools:
  - query: searching travel blogs
    annotations: gdpr_2016_compliant = "true"
    limit: 1
  - name: check_if_airport_exists
annotations:
  organization: sequoia
---
Summarise blogs about {{ subject }}.
""",
    "prompts/structured.yaml": """record_kind: prompt
name: find_itinerary
description: Instructions on how to find flights with few stops.
content:
  agent_instructions: Use the tools.
  output_format_instructions: Answer in JSON.
output: {type: object, properties: {flights: {type: array}}}
""",
}
PREDICATES = [
    'a="b"',
    ' key =   "value"  ',
    '"v" = k OR k2="v2"',
    'a="b"ORc="d"',
    'a="b" AND c="d"',
    'a="b" and c="d" or e="f"',
    'a="b" AND c="d" OR e="f" AND g="h"',
    '"b"=a',
    'a_1-2="b_1-2"',
    'a="b" OR c="d" OR e="f"',
]
NO_PREDICATES = ["a=b c=d", "", '="b"', "; DROP SCOPE myscope.mycollection;"]


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("travel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABI_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        for path, text in FILES.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
        with Workspace.open(root) as workspace:
            workspace.trust()
            report = workspace.index()
            assert report.written, report.findings
            yield workspace


@pytest.fixture
def catalog(ws: Workspace) -> agentc.Catalog:
    return agentc.Catalog(workspace=ws)


@pytest.fixture
def provider(ws: Workspace) -> agentc.Provider:
    return agentc.Provider(workspace=ws)


def test_a_tool_is_found_by_what_it_is_for(catalog: agentc.Catalog) -> None:
    (found,) = catalog.find("tool", query="searching travel blogs")
    assert found.meta.name == found.func.__name__ == "get_travel_blog_snippets_from_user_interests"
    assert found.func(["hiking", "food"], num_results=1) == ["About hiking"]
    assert found.input["required"] == ["user_interests"]


def test_by_name_it_is_one_or_none(catalog: agentc.Catalog) -> None:
    found = catalog.find("tool", name="check_if_airport_exists")
    assert found.func(airport_code="SFO") is True and found.func("XXX") is False
    assert catalog.find("tool", name="no_such_tool") is None
    assert catalog.find_prompts(name="no_such_prompt") is None


def test_a_tool_that_is_called_otherwise_than_its_function_runs(catalog: agentc.Catalog) -> None:
    (found,) = catalog.find_tools("is airport valid")
    assert found.meta.name == "check_if_airport_exists" and found.func("BOI") is True


def test_annotations_count_beside_a_name(catalog: agentc.Catalog) -> None:
    name = "check_if_airport_exists"
    assert catalog.find("tool", name=name, annotations='gdpr_2016_compliant="false"').meta.name == name
    assert catalog.find("tool", name=name, annotations='gdpr_2016_compliant="true"') is None


def test_annotations_filter_a_search(catalog: agentc.Catalog) -> None:
    found = catalog.find("tool", query="airport", annotations='gdpr_2016_compliant="true"', limit=0)
    assert "check_if_airport_exists" not in [tool.meta.name for tool in found]
    contradiction = 'gdpr_2016_compliant="true" AND gdpr_2016_compliant="false"'
    assert catalog.find("tool", query="travel blogs", annotations=contradiction, limit=0) == []


def test_nonsense_finds_nothing(catalog: agentc.Catalog) -> None:
    assert catalog.find("tool", query="qwertz uiop asdfgh") == []


def test_limit_holds_for_tools_and_prompts(catalog: agentc.Catalog) -> None:
    assert len(catalog.find("prompt", query="instructions on how to find or summarise", limit=1)) == 1
    assert len(catalog.find("prompt", query="instructions on how to find or summarise", limit=2)) == 2
    assert len(catalog.find("prompt", query="instructions on how to find or summarise", limit=None)) >= 2


@pytest.mark.parametrize("predicate", PREDICATES)
def test_annotation_strings_that_are_right(predicate: str, catalog: agentc.Catalog) -> None:
    assert catalog.find("tool", query="travel blogs", annotations=predicate) == []


@pytest.mark.parametrize("predicate", NO_PREDICATES)
def test_annotation_strings_that_are_wrong(predicate: str, catalog: agentc.Catalog) -> None:
    with pytest.raises(ValueError):
        catalog.find("tool", query="travel blogs", annotations=predicate)


@pytest.mark.parametrize("wrong", [{}, {"query": "a", "name": "b"}, {"query": "a", "limit": -1}])
def test_exactly_one_of_query_and_name(wrong: dict[str, Any], catalog: agentc.Catalog) -> None:
    with pytest.raises(ValueError):
        catalog.find("tool", **wrong)
    with pytest.raises(ValueError):
        catalog.find("model", query="a")  # type: ignore[arg-type]


def test_a_decorator_makes_what_is_returned(ws: Workspace) -> None:
    with_decorator = agentc.Catalog(workspace=ws, tool_decorator=lambda found: {"tool": found.func})
    (found,) = with_decorator.find("tool", query="searching travel blogs")
    assert list(found) == ["tool"] and callable(found["tool"])
    prompt = with_decorator.find("prompt", name="blogs_about")
    assert [list(one) for one in prompt.tools] == [["tool"], ["tool"]]


def test_arguments_are_checked_and_signatures_told(catalog: agentc.Catalog) -> None:
    func = catalog.find("tool", name="get_travel_blog_snippets_from_user_interests").func
    assert list(inspect.signature(func).parameters) == ["user_interests", "num_results"]
    assert func.__doc__.startswith("Search through snippets")
    with pytest.raises(ArgumentError, match="num_results"):
        func(user_interests=["a"], num_results="many")
    with pytest.raises(TypeError, match="multiple values"):
        func(["a"], user_interests=["b"])


def test_a_function_is_what_langchain_takes(catalog: agentc.Catalog) -> None:
    from langchain_core.tools import StructuredTool

    func = catalog.find("tool", name="check_if_airport_exists").func
    made = StructuredTool.from_function(func)
    assert list(made.args) == ["airport_code"] and made.invoke({"airport_code": "BOI"}) is True


def test_a_prompt_brings_its_tools(catalog: agentc.Catalog) -> None:
    prompt = catalog.find("prompt", name="blogs_about")
    assert prompt.content.strip() == "Summarise blogs about {{ subject }}."
    assert [tool.meta.name for tool in prompt.tools] == [
        "get_travel_blog_snippets_from_user_interests",
        "check_if_airport_exists",
    ]
    assert prompt.meta.annotations == {"organization": "sequoia"}


def test_a_prompt_without_tools_has_none(catalog: agentc.Catalog) -> None:
    (prompt,) = catalog.find("prompt", query="asking a user their location")
    assert (prompt.meta.name, prompt.tools, prompt.output) == ("get_user_location", [], None)


def test_a_structured_prompt_keeps_its_structure(catalog: agentc.Catalog) -> None:
    prompt = catalog.find("prompt", name="find_itinerary")
    assert prompt.content == {
        "agent_instructions": "Use the tools.",
        "output_format_instructions": "Answer in JSON.",
    }
    assert prompt.output["properties"] == {"flights": {"type": "array"}}


def test_a_missing_tool_is_left_out_and_told(ws: Workspace, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "abi.yaml").write_text(FILES["abi.yaml"])
    (tmp_path / "prompts").mkdir()
    text = FILES["prompts/blogs.jinja"].replace("  - name: check_if_airport_exists\n", "")
    (tmp_path / "prompts/blogs.jinja").write_text(text)
    with Workspace.open(tmp_path) as other:
        assert other.index().written
        prompt = agentc.Catalog(workspace=other).find("prompt", name="blogs_about")
    assert prompt.tools == [] and "finds none" in caplog.text


def test_version_and_identifier(catalog: agentc.Catalog, ws: Workspace) -> None:
    version = catalog.version
    assert version.timestamp.tzinfo is not None and version.version_system == "raw"
    meta = catalog.find("tool", name="check_if_airport_exists").meta
    assert meta.identifier.startswith("tools/airports.py:check_if_airport_exists:")
    assert meta.record_kind == "python_function"
    with pytest.raises(AttributeError):
        _ = meta.nothing_like_it


def test_a_published_version_is_found_by_its_commit(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        given = ["-c", "user.name=Ann", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", *arguments]
        return subprocess.run(["git", *given], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / "abi.yaml").write_text(FILES["abi.yaml"])
    (tmp_path / "prompts").mkdir()
    prompt = tmp_path / "prompts" / "location.prompt"
    prompt.write_text(FILES["prompts/location.prompt"])
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD")
    with Workspace.open(tmp_path) as ws:
        ws.index()
        ws.publish()
        prompt.write_text(prompt.read_text().replace("Where are you now?", "And where are you?"))
        ws.index()
    with agentc.Catalog(project_path=tmp_path) as catalog:
        assert catalog.version.is_dirty and catalog.version.identifier == commit
        now = catalog.find("prompt", name="get_user_location")
        then = catalog.find("prompt", name="get_user_location", catalog_id=commit)
        assert now.content.startswith("And where") and then.content.startswith("Where are you now")


def test_secrets_that_are_given_come_first(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydantic import SecretStr

    monkeypatch.setenv("CB_PASSWORD", "of the environment")
    agentc.Catalog(workspace=ws, secrets={"CB_PASSWORD": SecretStr("given"), "PLAIN": "plain"})
    assert ws.run_context.secret is not None
    assert ws.run_context.secret("CB_PASSWORD") == "given"
    assert ws.run_context.secret("PLAIN") == "plain"
    ws.given_secrets.clear()
    assert ws.run_context.secret("CB_PASSWORD") == "of the environment"


def test_configuration_of_the_original_is_taken_and_else_refused(ws: Workspace) -> None:
    agentc.Catalog(workspace=ws, bucket="travel-sample", conn_string="couchbase://localhost")
    with pytest.raises(TypeError, match="colour"):
        agentc.Catalog(workspace=ws, colour="blue")


def test_the_workspace_is_found_as_the_original_finds_its_catalog(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agentc.Catalog(catalog_path=ws.root / ".agent-catalog") as catalog:
        assert catalog.workspace.root == ws.root
    monkeypatch.setenv("AGENT_CATALOG_PROJECT_PATH", str(ws.root / "tools"))
    with agentc.Catalog() as catalog:
        assert catalog.workspace.root == ws.root


# 0.1.5


def test_get_tools_for_gives_functions(provider: agentc.Provider) -> None:
    (func,) = provider.get_tools_for(query="searching travel blogs")
    assert func.__name__ == "get_travel_blog_snippets_from_user_interests"
    (named,) = provider.get_tools_for(name="check_if_airport_exists")
    assert named("SFO") is True
    assert provider.get_tools_for(name="no_such_tool") == []


def test_get_prompt_for_gives_one_or_none(provider: agentc.Provider) -> None:
    prompt = provider.get_prompt_for(query="asking a user their location")
    assert prompt is not None
    assert (prompt.meta.name, prompt.tools) == ("get_user_location", [])
    assert prompt.prompt.startswith("Where are you now?")
    assert provider.get_prompt_for(name="no_such_prompt") is None
    assert provider.get_prompt_for(query="qwertz uiop asdfgh") is None


def test_a_jinja_prompt_is_a_template(provider: agentc.Provider) -> None:
    prompt = provider.get_item(item_type="prompt", name="blogs_about")
    assert isinstance(prompt.prompt, jinja2.Template)
    assert prompt.prompt.render(subject="food").strip() == "Summarise blogs about food."
    assert len(prompt.tools) == 2
    with pytest.raises(jinja2.exceptions.SecurityError):
        prompt.prompt.environment.from_string("{{ ''.__class__.__mro__ }}").render()


def test_get_item_by_query_gives_a_list(provider: agentc.Provider) -> None:
    assert [p.meta.name for p in provider.get_item("prompt", query="asking a user their location")] == [
        "get_user_location"
    ]
    assert provider.get_item("tool", name="no_such_tool") is None


def test_a_providers_decorator(ws: Workspace) -> None:
    provider = agentc.Provider(workspace=ws, decorator=lambda x: {"tool": x.func, "name": x.meta.name})
    (found,) = provider.get_tools_for("searching travel blogs")
    assert found["name"] == "get_travel_blog_snippets_from_user_interests"


# Refiner


@pytest.mark.parametrize(
    ("deltas", "kept"),
    [
        ([0.1] * 10, 10),
        ([0.999, 0.6, 0.6, 0.5, 0.3, -0.3], 1),
        ([0.999, 0.9989, 0.6, 0.6, 0.5, 0.3, -0.3], 2),
        ([0.4], 1),
        ([], 0),
    ],
)
def test_the_closest_cluster_is_never_empty(deltas: list[float], kept: int) -> None:
    results = [agentc.SearchResult(entry=None, delta=delta) for delta in deltas]  # type: ignore[arg-type]
    assert [r.delta for r in agentc.ClosestCluster()(results)] == deltas[:kept]
    assert len(agentc.ClosestCluster(no_more_than_k=1)(results)) == min(1, len(deltas))


def test_a_refiner_sees_all_and_limits_afterwards(ws: Workspace) -> None:
    seen: list[int] = []

    def refiner(results: list[agentc.SearchResult]) -> list[agentc.SearchResult]:
        seen.append(len(results))
        return results[::-1]

    catalog = agentc.Catalog(workspace=ws, refiner=refiner)
    found = catalog.find("tool", query="check airports and search travel blogs", limit=1)
    assert seen[0] > 1 and len(found) == 1
