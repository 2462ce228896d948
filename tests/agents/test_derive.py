"""Intents and templates made from what a graph holds, and the agents that come with abi."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.errors import NotFound, UsageError

LIBRARY = """
@prefix l: <https://example.org/library#> . @prefix d: <https://example.org/d/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
l:Livre rdfs:label "livre"@fr, "book"@en . l:Author rdfs:label "author" .
d:b1 a l:Livre ; rdfs:label "Germinal" ; l:pages 500 ; l:writtenBy d:zola ; l:size [ l:height 20 ] .
d:b2 a l:Livre ; rdfs:label "Nana" ; l:pages 400 ; l:writtenBy d:zola ; l:size [ l:height 21 ] .
d:b3 a l:Livre ; rdfs:label "Emma" ; l:pages 350 ; l:writtenBy d:austen ; l:size [ l:height 19 ] .
d:zola a l:Author ; rdfs:label "Zola" ; l:bornIn d:paris .
d:austen a l:Author ; rdfs:label "Austen" ; l:bornIn d:steventon .
d:paris a l:Town ; l:townName "Paris" . d:steventon a l:Town ; l:townName "Steventon" .
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("library") / "ws"
    Workspace.init(root, base_iri="https://example.org/lib/")
    (root / "library.ttl").write_text(LIBRARY, encoding="utf-8")
    with Workspace.open(root) as workspace:
        workspace.index()
        workspace.load([root / "library.ttl"], graph="https://example.org/lib/graph/books")
        yield workspace


@pytest.fixture(scope="module")
def derived(library: Workspace) -> Workspace:
    library.derive()
    return library


def test_what_is_derived_is_in_a_graph_of_its_own_and_only_written_where_something_moved(library: Workspace) -> None:
    first = library.derive()
    assert first.graph == "https://example.org/lib/derived/graph"
    assert (first.tools, first.intents) == (first.intents, first.tools)
    assert 0 < first.tools <= 100
    version = library.version()
    again = library.derive()
    assert (again.written, library.version()) == (False, version)
    assert again.document() == first.document()


def test_every_derived_tool_runs(derived: Workspace) -> None:
    names = [
        e.name for e in derived.ls("tools").entries if e.name.startswith("graph_") and e.name != "graph_statistics"
    ]
    assert {"graph_list_livre", "graph_count_livre", "graph_list_book", "graph_count_book"} & set(names)
    for name in names:
        assert derived.run(name).query


def test_a_list_is_filtered_by_value_and_by_range(derived: Workspace) -> None:
    rows = derived.run("graph_list_book", min_pages=400).result
    assert sorted(r["label"] for r in rows) == ["Germinal", "Nana"]
    assert derived.run("graph_count_book", with_label="emma").result == [{"number": 1}]


def test_a_path_is_asked_in_either_direction(derived: Workspace) -> None:
    by_author = derived.run("graph_book_written_by_author", end_is="Zola").result
    assert sorted(r["start_name"] for r in by_author) == ["Germinal", "Nana"]
    (of_book,) = derived.run("graph_book_written_by_author", start_is="Emma").result
    assert of_book["end_name"] == "Austen"
    counted = derived.run("graph_count_book_by_town").result
    assert [(r["name"], r["number"]) for r in counted] == [("Paris", 2), ("Steventon", 1)]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many livres are there?", {3}),
        ("How many books by town?", {"Paris", 2}),
        ("What is the average pages of the books?", {"416.6666666666667"}),
        ("Which author has the most books?", {"Zola", 2}),
        ("What is the total height by author?", {"Zola", 41}),
    ],
)
def test_the_graph_is_asked_offline_and_the_query_is_shown(
    question: str, values: set[object], derived: Workspace
) -> None:
    turn = derived.chat(question, agent="KnowledgeGraphAgent")
    assert turn.grounded is True, turn.answer
    (call,) = turn.tool_calls
    assert call["query"]
    assert any({str(v) for v in values} <= {str(v) for v in row.values()} for row in call["rows"]), call["rows"]


def test_what_can_be_asked_is_told_from_the_graph(derived: Workspace) -> None:
    answer = derived.chat("what can I ask?", agent="KnowledgeGraphAgent").answer
    assert "How many books are there?" in answer
    assert "How many books by author?" in answer


def test_a_question_about_something_else_is_refused(derived: Workspace) -> None:
    turn = derived.chat("How many books were stolen by author?", agent="KnowledgeGraphAgent")
    assert turn.grounded is False
    assert turn.tool_calls == []
    assert "stolen" in turn.answer


def test_one_graph_alone_is_derived_into_another(derived: Workspace) -> None:
    report = derived.derive("https://example.org/lib/graph/books")
    assert report.graph.startswith("https://example.org/lib/derived/books-")
    with pytest.raises(NotFound):
        derived.derive("https://example.org/lib/graph/none")
    with pytest.raises(UsageError):
        derived.derive("no iri")


def test_a_load_renews_what_was_derived(derived: Workspace, tmp_path: Path) -> None:
    more = tmp_path / "more.ttl"
    more.write_text(
        "<https://example.org/d/m> a <https://example.org/library#Magazine> ; <https://example.org/library#issue> 7 .",
        encoding="utf-8",
    )
    assert not any(e.name == "graph_count_magazine" for e in derived.ls("tools").entries)
    derived.load([more])
    assert derived.run("graph_count_magazine").result == [{"number": 1}]
    assert json.dumps(derived.derive().document())


@pytest.mark.parametrize(
    ("agent", "question", "tool", "said"),
    [
        ("OntologyAgent", "what are the seven buckets?", "list_buckets", "WHAT: process"),
        ("OntologyAgent", 'define the term "role"', "define_term", "role is a class"),
        ("KnowledgeGraphAgent", "statistics of the graph", "graph_statistics", "named graphs"),
        ("KnowledgeGraphAgent", "Tell me about Emma", "describe_entity", "pages 350"),
        ("AgentCatalogAgent", "which agents are there?", "list_records", "SearchAgent"),
        ("AgentCatalogAgent", 'which agent fits the task "search for classes"?', "recommend_agent", "SearchAgent"),
        ("AgentCatalogAgent", 'what uses "search_class"?', "uses_of_record", "SearchAgent has the tool search_class"),
        ("SearchAgent", 'find things called "Germinal"', "search_entities", "Germinal"),
    ],
)
def test_the_agents_that_come_with_abi_answer_by_real_tools(
    agent: str, question: str, tool: str, said: str, derived: Workspace
) -> None:
    turn = derived.chat(question, agent=agent)
    assert [c["tool"] for c in turn.tool_calls] == [tool], turn.answer
    assert said in turn.answer


def test_a_class_is_put_in_its_bucket(derived: Workspace) -> None:
    result = derived.run("bucket_of_class", class_name="https://w3id.org/abi/Turn")
    assert {r["bucket"] for r in result.result} == {"WHAT"}
