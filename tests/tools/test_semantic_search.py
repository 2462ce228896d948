from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from abi.errors import ArgumentError, Denied, NotFound, ToolFailed, Unsupported, UsageError
from abi.records.record import CouchbaseSecrets, SemanticSearch, VectorSearch
from abi.tools.record_embedder import record_embedder
from abi.tools.runner import RunContext
from abi.tools.runner import run as run_record
from abi.tools.semantic_search import build, prose
from abi.tools.vector_store import Text, VectorStore
from abi.workspace import Workspace

SEED = Path(__file__).parents[1] / "records" / "seed" / "semantic_search.yaml"
CANARY = "canary-7f3e-value"
DOCUMENTS = [
    {"id": "p1", "text": "A warm woollen coat for the winter.", "price": 90},
    {"id": "p2", "text": "A red bicycle for children."},
    {"id": "p3", "text": "Sandals and a hat for a day at the beach."},
    {"id": "p4", "text": ""},
    {"id": "p5"},
]
PLACES = """\
record_kind: semantic_search
name: search_places
description: Finds places that are like some words.
input: {type: object, properties: {words: {type: string}}}
vector_search: {class: ex:Place, text: rdfs:comment, num_candidates: 2}
answer: "Nearest is {{ rows[0].label }}."
"""
GRAPH = """\
@prefix : <https://example.org/w/> . @prefix ex: <https://example.org/w/schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Place a owl:Class ; rdfs:label "place" . ex:Beach a owl:Class ; rdfs:subClassOf ex:Place ; rdfs:label "beach" .
:north a ex:Beach ; rdfs:label "North Shore" ; rdfs:comment "Sand, waves and surfing all summer." .
:old a ex:Place ; rdfs:label "Old Mill" ; rdfs:comment "A museum of grinding wheat and baking bread." .
:peak a ex:Place ; rdfs:label "High Peak" ; rdfs:comment "Snow, ski lifts and a steep climb." .
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("CB_CONN_STRING", "duckdb:data")
    root = tmp_path / "w"
    for folder in ("tools", "graph", "data"):
        (root / folder).mkdir(parents=True)
    (root / "abi.yaml").write_text(
        "base_iri: https://example.org/w/\nprefixes: {ex: https://example.org/w/schema#}\n"
        "embedding_models: {sentence-transformers/all-MiniLM-L12-v2: minilm}\n"
    )
    (root / "tools" / "products.yaml").write_bytes(SEED.read_bytes())
    (root / "tools" / "places.yaml").write_text(PLACES)
    (root / "graph" / "places.ttl").write_text(GRAPH)
    (root / "data" / "my-collection.json").write_text(json.dumps(DOCUMENTS))
    return root


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        workspace.trust()
        report = workspace.index()
        assert report.written, report.findings
        yield workspace


def test_agent_catalogs_template_runs(workspace: Workspace) -> None:
    with pytest.raises(ToolFailed, match="search_for_relevant_products searches has no vectors yet") as caught:
        workspace.run("search_for_relevant_products", search_tags=["beach"])
    assert caught.value.hint == "Run `abi vectors build search_for_relevant_products`."
    built = workspace.vectors_build(["search_for_relevant_products"]).document()["built"]
    model = "sentence-transformers/all-MiniLM-L12-v2"
    assert built == [{"name": "search_for_relevant_products", "model": model, "texts": 3, "embedded": 3}]
    result = workspace.run("search_for_relevant_products", search_tags=["summer holiday", "swimming"])
    assert result.query == "summer holiday, swimming"
    assert result.result[0]["text"] == "Sandals and a hat for a day at the beach."
    assert len(result.result) == 3
    scores = [row["score"] for row in result.result]
    assert scores == sorted(scores, reverse=True) and all(0 <= s <= 1 for s in scores)
    assert workspace.vectors_build(["search_for_relevant_products"]).built[0]["embedded"] == 0


def test_a_class_of_the_graph_with_its_subclasses(workspace: Workspace) -> None:
    assert {b["name"] for b in workspace.vectors_build().built} == {"search_places", "search_for_relevant_products"}
    result = workspace.run("search_places", words="where can I go surfing?")
    assert result.result[0] | {"score": 0} == {
        "iri": "https://example.org/w/north",
        "label": "North Shore",
        "text": "Sand, waves and surfing all summer.",
        "score": 0,
    }
    assert result.row_count == 2
    assert result.citations[0] == ("https://example.org/w/north", "North Shore")
    assert result.answer == "Nearest is North Shore."
    (tool,) = [t for t in workspace.tools() if t.name == "search_places"]
    assert "North Shore" in tool.invoke({"words": "surfing"})


def test_texts_that_changed_are_built_again(workspace: Workspace, root: Path) -> None:
    workspace.vectors_build()
    (root / "data" / "my-collection.json").unlink()
    lines = [json.dumps(d) for d in [*DOCUMENTS, {"id": "p6", "text": "A tent for two."}]]
    (root / "data" / "my-collection.jsonl").write_text("\n".join(lines))
    with pytest.raises(ToolFailed, match="vectors of texts that have changed since"):
        workspace.run("search_for_relevant_products", search_tags=["camping"])
    assert workspace.vectors_build(["search_for_relevant_products"]).built[0]["embedded"] == 1
    assert workspace.run("search_for_relevant_products", search_tags=["camping"]).result[0]["text"] == "A tent for two."
    workspace.update(
        "INSERT DATA { GRAPH <urn:x> { <https://example.org/w/old> "
        '<http://www.w3.org/2000/01/rdf-schema#comment> "Bread is sold, too." } }'
    )
    with pytest.raises(ToolFailed, match="search_places"):
        workspace.run("search_places", words="bread")
    assert workspace.vectors_build(["search_places"]).built[0] | {"model": ""} == {
        "name": "search_places",
        "model": "",
        "texts": 4,
        "embedded": 1,
    }


def test_what_cannot_be_built(workspace: Workspace, root: Path) -> None:
    with pytest.raises(NotFound, match="nothing"):
        workspace.vectors_build(["nothing"])
    with pytest.raises(UsageError, match="only a semantic_search has vectors"):
        workspace.vectors_build(["search_entities"])
    with Workspace.open(root, read_only=True) as reader, pytest.raises(Denied):
        reader.vectors_build()


def test_arguments_are_checked(workspace: Workspace) -> None:
    with pytest.raises(ArgumentError, match="search_tags"):
        workspace.run("search_for_relevant_products", search_tags=[5, {"a": 1}])
    with pytest.raises(ToolFailed, match="nothing to search for"):
        workspace.run("search_for_relevant_products")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": " hi \n there "}, "hi there"),
        ({"search_tags": ["red", "warm"]}, "red, warm"),
        ({"what": "coats", "max_price": 20, "on_sale": True, "sold": False, "x": None}, "coats. max price 20. on sale"),
        ({"a": {"b": "x", "c": ["y", "z"]}}, "x, y, z"),
        ({}, ""),
    ],
)
def test_arguments_as_prose(arguments: dict[str, Any], words: str) -> None:
    assert prose(arguments) == words


def search(model: str = "minilm", place: str = "PLACE", **where: Any) -> SemanticSearch:
    return SemanticSearch(
        name="s",
        description="d",
        input_schema={"properties": {"q": {"type": "string"}}},
        vector_search=VectorSearch(
            collection="docs",
            text_field="text",
            vector_field="vec",
            bucket="b",
            scope="s",
            index="i",
            embedding_model=model,
            **where,
        ),
        couchbase=CouchbaseSecrets(conn_string=place, username="USER", password="PASSWORD"),
    )


def context(workspace: Workspace, **secrets: str) -> RunContext:
    return RunContext(workspace.sparql, workspace.settings, workspace.root, secret=lambda name: secrets[name])


def test_never_another_model_in_silence(workspace: Workspace) -> None:
    here = context(workspace, PLACE="duckdb:data")
    with pytest.raises(Unsupported, match="embedding model acme/unheard-of of the tool s cannot be had") as caught:
        run_record(search("acme/unheard-of"), {"q": "x"}, here)
    assert 'embedding_models: {"acme/unheard-of": minilm}' in caught.value.hint
    with pytest.raises(Unsupported):
        build(search("acme/unheard-of"), here)


def test_vectors_that_documents_have_are_taken(workspace: Workspace, root: Path) -> None:
    minilm = record_embedder(search(), workspace.settings, str)
    own = [float(x) for x in minilm.embed(["music"])[0]]
    with duckdb.connect(str(root / "docs.duckdb")) as database:
        database.execute("CREATE TABLE docs (id VARCHAR, text VARCHAR, vec FLOAT[384])")
        database.execute("INSERT INTO docs VALUES ('a', 'zzz', ?), ('b', 'A loaf of bread.', NULL)", [own])
    here = context(workspace, PLACE="duckdb:docs.duckdb")
    built = build(search(), here)
    assert (built.texts, built.embedded) == (2, 1)
    result = run_record(search(num_candidates=1), {"q": "music"}, here).result
    assert [row["text"] for row in result] == ["zzz"] and result[0]["score"] > 0.9


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("duckdb:nowhere", "The tool s failed: There is no folder"),
        ("duckdb:data", "has no collection docs"),
        ("postgres://db", "PLACE is no connection string"),
    ],
)
def test_what_fails_names_the_tool(workspace: Workspace, place: str, message: str) -> None:
    with pytest.raises(ToolFailed, match=message) as caught:
        run_record(search(), {"q": "x"}, context(workspace, PLACE=place, USER=CANARY, PASSWORD=CANARY))
    assert "tool s" in caught.value.message
    assert CANARY not in json.dumps(caught.value.document())


def test_vectors_of_another_length_are_left_out(tmp_path: Path) -> None:
    class Three:
        name, dimensions = "three", 3

        def embed(self, texts: Any) -> Any:
            return [[1.0, 0.0, float(len(t))] for t in texts]

        def similarity(self, cosine: Any) -> Any:
            return cosine

    store = VectorStore(tmp_path / "v.duckdb")
    assert store.built("s") is None
    store.build("s", [Text("1", "a"), Text("2", "bb"), Text("3", "c", [1.0, 0.0])], Three())
    assert [n.id for n in store.nearest("s", [1.0, 0.0, 1.0], 5)] == ["1", "2"]
    assert store.nearest("other", [1.0, 0.0, 1.0], 5) == []
    assert store.build("s", [], Three()).texts == 0
