"""Workflows, pipelines and integrations: called in Python, by the workspace, over HTTP and by an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents.openai_server import OpenAIServer, calls, says

from abi import Integration, Pipeline, Workflow, WorkflowParameters, Workspace, tool
from abi.errors import ArgumentError, Denied, Invalid, ToolFailed, Untrusted
from abi.tools.trust import trust

from .conftest import BASE, Served, serving

FLOWS = '''\
from rdflib import RDF, RDFS, Graph, Literal, URIRef

from abi import Integration, Pipeline, PipelineParameters, Workflow, WorkflowParameters, tool

BASE = "https://example.org/served/"


class Words(WorkflowParameters):
    text: str
    most: int = 10


class CountWords(Workflow):
    """Counts the words of a text, up to a limit."""

    def run(self, parameters: Words) -> int:
        return min(len(parameters.text.split()), parameters.most)


class Names(PipelineParameters):
    names: list[str]
    odd: str = ""


class LoadCities(Pipeline):
    """Loads cities by their names."""

    def run(self, parameters: Names):
        if parameters.odd:
            return {"text": parameters.odd, "number": 3}.get(parameters.odd, parameters.odd)
        graph = Graph()
        for name in parameters.names:
            graph.add((URIRef(BASE + name), RDFS.label, Literal(name)))
        return graph


class Weather(Integration):
    """Speaks to a weather service."""

    asked = 0

    @tool
    def weather_in(self, city: str) -> dict:
        """How the weather is in a city."""
        self.asked += 1
        return {"city": city, "asked": self.asked}
'''
KEEPER = """\
record_kind: agent
name: keeper
description: Keeps cities.
tools: [load_cities, count_words]
may_write: true
"""
CITIES = f"{BASE}pipeline/load_cities"
HELD = f"SELECT ?label {{ GRAPH <{CITIES}> {{ ?city rdfs:label ?label }} }} ORDER BY ?label"


def lay_out(root: Path) -> None:
    (root / "tools").mkdir(parents=True)
    (root / "agents").mkdir()
    (root / "tools" / "flows.py").write_text(FLOWS)
    (root / "agents" / "keeper.yaml").write_text(KEEPER)
    (root / "agents" / "looker.yaml").write_text(KEEPER.replace("keeper", "looker").replace("true", "false"))


@pytest.fixture(scope="module")
def flowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABI_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        root = tmp_path_factory.mktemp("flowing") / "w"
        lay_out(root)
        trust(root)
        with serving(root) as made:
            made.workspace.index()
            yield made


def held(workspace: Workspace) -> list[str]:
    return [row["label"] for row in workspace.query(HELD)]


def test_each_is_a_tool_of_the_workspace(flowing: Served) -> None:
    workspace = flowing.workspace
    assert workspace.run("count_words", text="one two three", most=2).result == 2
    assert [workspace.run("weather_in", city="Oslo").result["asked"] for _ in range(2)] == [1, 2]
    forms = {(r["n"], r["f"].rpartition("/")[2]) for r in workspace.query(
        "SELECT ?n ?f { ?t abi:callableForm ?f ; abi:name ?n }"
    )}  # fmt: skip
    assert forms == {
        ("count_words", "workflow-form"),
        ("load_cities", "pipeline-form"),
        ("weather_in", "integration-form"),
    }
    (found,) = workspace.tools("how many words has a text", limit=1)
    assert found.name == "count_words" and "3" in found.invoke({"text": "one two three"})
    with pytest.raises(ArgumentError, match="most"):
        workspace.run("count_words", text="one", most="many", least=1)


def test_a_pipeline_replaces_what_its_graph_held(flowing: Served) -> None:
    workspace = flowing.workspace
    first = workspace.run("load_cities", names=["Oslo", "Bergen"]).result
    assert (first["graph"], first["added"], held(workspace)) == (CITIES, 2, ["Bergen", "Oslo"])
    again = workspace.run("load_cities", names=["Oslo"]).result
    assert (again["added"], again["removed"], held(workspace)) == (0, 1, ["Oslo"])


@pytest.mark.parametrize(
    ("odd", "error"),
    [
        ("number", ToolFailed),
        ("no turtle", Invalid),
        ("<urn:t> a <https://w3id.org/abi/SparqlTemplate> .", Invalid),
    ],
)
def test_what_cannot_be_taken_changes_nothing(flowing: Served, odd: str, error: type[Exception]) -> None:
    workspace = flowing.workspace
    workspace.run("load_cities", names=["Bodo"])
    with pytest.raises(error):
        workspace.run("load_cities", names=[], odd=odd)
    assert held(workspace) == ["Bodo"]


def test_agent_catalog_has_no_such_tools_and_that_is_told(flowing: Served) -> None:
    made = flowing.workspace.export_catalog("agentc-tools")
    told = " ".join(f.message for f in made.findings)
    assert all(name in told for name in ("count_words", "load_cities", "weather_in"))


def test_over_http_a_pipeline_needs_a_writer(flowing: Served) -> None:
    with flowing.client("reader") as reader, flowing.client("writer") as writer:
        assert reader.post("/tools/count_words", json={"text": "a b"}).json()["result"] == 2
        assert reader.post("/tools/weather_in", json={"city": "Oslo"}).json()["result"]["city"] == "Oslo"
        for path, body in (
            ("/tools/load_cities", {"names": ["Narvik"]}),
            ("/run", {"name": "load_cities", "arguments": {"names": ["Narvik"]}}),
        ):
            refused = reader.post(path, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "denied")
        assert "Narvik" not in held(flowing.workspace)
        assert writer.post("/tools/load_cities", json={"names": ["Narvik"]}).json()["result"]["graph"] == CITIES
        assert held(flowing.workspace) == ["Narvik"]
        assert writer.post("/tools/load_cities", json={"name": []}).status_code == 422


def test_an_agent_proposes_and_a_person_approves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    root = tmp_path / "w"
    lay_out(root)
    trust(root)
    load = calls("load_cities", names=["Oslo"])
    with OpenAIServer([load, says("Not loaded."), load, says("Loaded."), load, says("No such tool.")]) as model:
        settings = f"models:\n  m: {{model: 'openai:m', base_url: '{model.url}'}}\nmodel: m\n"
        with serving(root, settings) as served, served.client("writer") as writer:
            served.workspace.index()

            def say(agent: str, **body: Any) -> Any:
                return writer.post(f"/agents/{agent}/completion", json=body).json()

            ask = {"prompt": "load Oslo", "thread_id": "t", "write": True}
            proposed = say("keeper", **ask)
            assert proposed["needs"]["approval"]["added"] == [
                f'<{BASE}Oslo> <http://www.w3.org/2000/01/rdf-schema#label> "Oslo" <{CITIES}>'
            ]
            assert held(served.workspace) == []
            assert say("keeper", thread_id="t", approve=False)["answer"] == "Not loaded."
            assert held(served.workspace) == []
            say("keeper", **ask)
            assert say("keeper", thread_id="t", approve=True)["answer"] == "Loaded."
            assert held(served.workspace) == ["Oslo"]
            # An agent that may not write has no such tool, whatever its model calls.
            assert say("looker", **{**ask, "thread_id": "u"})["answer"] == "No such tool."
            offered = [t["function"]["name"] for t in model.requests[-1]["tools"]]
            assert "count_words" in offered and "load_cities" not in offered


def test_nothing_runs_before_trust_nor_writes_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    root = tmp_path / "w"
    lay_out(root)
    (root / "abi.yaml").write_text(f"base_iri: {BASE}\n")
    with Workspace.open(root) as workspace:
        workspace.index()
        for name, arguments in (
            ("count_words", {"text": "a"}),
            ("load_cities", {"names": []}),
            ("weather_in", {"city": "x"}),
        ):
            with pytest.raises(Untrusted):
                workspace.run(name, **arguments)
    trust(root)
    with Workspace.open(root, read_only=True) as workspace, pytest.raises(Denied, match="pipeline"):
        workspace.run("load_cities", names=[])


class Words(WorkflowParameters):
    text: str


class Count(Workflow):
    """Counts words."""

    def run(self, parameters: Words) -> int:
        return len(parameters.text.split())


class Plain(Pipeline):
    """Gives no triples."""

    name = "nothing"

    def run(self, many: int = 0) -> str:
        return "" * many


class Service(Integration):
    @tool
    def ping(self, host: str) -> str:
        """Whether a host is there."""
        return f"{host} is there"

    def close(self) -> None:
        pass


def test_in_python_alone_they_are_langchain_tools() -> None:
    (count,) = Count.New().as_tools()
    assert (count.name, count.description, count.invoke({"text": "a b"})) == ("count", "Counts words.", 2)
    (nothing,) = Plain.New().as_tools()
    assert (nothing.name, nothing.invoke({"many": 1})) == ("nothing", "")
    (ping,) = Service.New().as_tools()
    assert (ping.name, ping.invoke({"host": "h"})) == ("ping", "h is there")
