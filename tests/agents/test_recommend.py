"""Which agent fits a task, by words and by what the graph says of its model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi.workspace import Workspace

AGENT = "record_kind: agent\nname: {name}\ndescription: Writes poems on {about}.\nmodel: {model}\n"
MODELS = """@prefix abi: <https://w3id.org/abi/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix m: <https://example.org/models/> .
m:dear a owl:NamedIndividual , abi:ModelDescription ; rdfs:label "dear" ; abi:modelName "openai:dear" ;
  abi:inputPrice 10.0 ; abi:outputPrice 40.0 ; abi:tokensPerSecond 90.0 ; abi:contextWindow 200000 .
m:cheap a owl:NamedIndividual , abi:ModelDescription ; rdfs:label "cheap" ; abi:modelName "ollama:cheap" ;
  abi:inputPrice 0.0 ; abi:outputPrice 0.0 ; abi:tokensPerSecond 8.0 ; abi:contextWindow 4096 .
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("poets") / "w"
    Workspace.init(root)
    for name, about, model in (
        ("rilke", "panthers and swans", "openai:dear"),
        ("busch", "panthers", "ollama:cheap"),
        ("benn", "panthers", "offline:grounded"),
    ):
        (root / "agents" / f"{name}.yaml").write_text(AGENT.format(name=name, about=about, model=model))
    (root / "graph" / "models.ttl").write_text(MODELS)
    with Workspace.open(root) as opened:
        assert opened.index().written
        yield opened


@pytest.mark.parametrize(
    ("prefer", "names"),
    [(None, ["benn", "busch", "rilke"]), ("cheap", ["busch", "rilke", "benn"]), ("fast", ["rilke", "busch", "benn"])],
)
def test_cost_and_speed_of_the_model_order_those_that_fit(
    workspace: Workspace, prefer: str | None, names: list[str]
) -> None:
    given = {"prefer": prefer} if prefer else {}
    result = workspace.run("recommend_agent", task="panther poems", **given).document()["result"]
    assert [row["name"] for row in result] == names
    rilke = next(row for row in result if row["name"] == "rilke")
    assert (rilke["model"], rilke["context_window"]) == ("openai:dear", 200000)
    assert float(rilke["output_price"]) == 40.0


def test_a_faulty_description_is_a_finding(workspace: Workspace) -> None:
    path: Path = workspace.root / "graph" / "faulty.ttl"
    path.write_text(
        MODELS.split("m:dear")[0] + 'm:x a abi:ModelDescription ; abi:modelName "x" ; abi:inputPrice -1.0 .\n'
    )
    codes = {f.code for f in workspace.check().findings}
    path.unlink()
    assert {"model-name", "model-input-price"} <= codes
