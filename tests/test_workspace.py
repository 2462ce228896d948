"""The verbs of a workspace that no room tests by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.errors import Denied, NotFound, QueryRefused, QuerySyntaxError, StoreMissing, UsageError
from abi.secrets import secret

TOOL = """\
# record_kind: sparql_query
# name: labelled
# description: Things whose label is a text.
# parameters:
#   text: {type: xsd:string}
SELECT ?s WHERE { ?s rdfs:label ?text }
"""
AGENT = """\
record_kind: agent
name: clerk
description: Looks things up.
tools: [labelled]
intents:
  - {values: [hello there], type: raw, target: Good day., scope: all}
"""
THINGS = """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/w/one> rdfs:label "one" .
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "w", base_iri="https://example.org/w/")
    for path, text in (("tools/labelled.rq", TOOL), ("agents/clerk.yaml", AGENT), ("graph/things.ttl", THINGS)):
        (tmp_path / "w" / path).write_text(text, encoding="utf-8")
    return tmp_path / "w"


@pytest.fixture
def ws(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        workspace.index()
        yield workspace


def test_it_is_found_from_any_folder_inside(root: Path) -> None:
    assert Workspace.find_root(root / "tools") == root
    with pytest.raises(NotFound, match=r"abi\.yaml"):
        Workspace.find_root(root.parent)


def test_a_workspace_is_not_made_twice(root: Path) -> None:
    with pytest.raises(UsageError, match="already"):
        Workspace.init(root)


def test_before_the_first_index_there_is_nothing_to_ask(root: Path) -> None:
    with Workspace.open(root) as ws:
        for ask in (ws.ls, ws.status, lambda: ws.run("labelled", text="x"), lambda: ws.sparql("ASK {}")):
            with pytest.raises(StoreMissing) as error:
                ask()
            assert "abi index" in error.value.hint


def test_read_only_refuses_what_writes(ws: Workspace) -> None:
    with Workspace.open(ws.root, read_only=True) as reader:
        assert reader.run("labelled", text="one").row_count == 1
        for write in (reader.index, lambda: reader.update("INSERT DATA {}"), lambda: reader.load([])):
            with pytest.raises(Denied):
                write()


def test_a_query_gives_python_values_or_rdflib_terms(ws: Workspace) -> None:
    from rdflib import Graph, Literal, URIRef

    assert ws.query('SELECT ?s WHERE { ?s rdfs:label "one" }') == [{"s": "https://example.org/w/one"}]
    assert ws.query("SELECT ?l WHERE { <https://example.org/w/one> rdfs:label ?l }", as_rdflib=True) == [
        {"l": Literal("one")}
    ]
    assert ws.query('ASK { ?s rdfs:label "one" }') is True
    graph = ws.query('CONSTRUCT { ?s rdfs:label ?l } WHERE { ?s rdfs:label ?l FILTER(?l = "one") }')
    assert isinstance(graph, Graph)
    assert list(graph.objects(URIRef("https://example.org/w/one"))) == [Literal("one")]


def test_queries_are_guarded_on_every_way(ws: Workspace) -> None:
    for ask in (ws.query, ws.sparql):
        with pytest.raises(QueryRefused):
            ask("SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }")
        with pytest.raises(QuerySyntaxError):
            ask("SELECT * WHERE { ?s ?p }")


def test_the_rdflib_view_reads_and_its_writes_pass_the_gate(ws: Workspace) -> None:
    from rdflib import Literal, URIRef

    view = ws.dataset()
    assert (URIRef("https://example.org/w/one"), None, Literal("one")) in view
    view.update('INSERT DATA { GRAPH <https://example.org/w/more> { <https://example.org/w/two> rdfs:label "two" } }')
    assert ws.run("labelled", text="two").row_count == 1


def test_queries_of_the_rdflib_view_pass_the_guard(ws: Workspace) -> None:
    view = ws.dataset()
    for text in (
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } }",
        "SELECT * FROM <file:///etc/hostname> { ?a ?b ?c }",
        "ASK " + "{" * 5000 + "}" * 5000,
    ):
        with pytest.raises(QueryRefused):
            view.query(text)
    assert len(list(view.query("SELECT * { ?s rdfs:label 'one' }"))) == 1


@pytest.mark.parametrize("thread", ["a b", "a/b", "../../x", "<x> <y>", "%2e%2e", "line\nline", "é😀", "turn/1"])
def test_a_turn_is_shown_by_the_name_of_its_thread(ws: Workspace, thread: str) -> None:
    turn = ws.chat("hello there", agent="clerk", thread_id=thread)
    for name in (f"thread/{thread}/turn/1", turn.turn, turn.turn.removeprefix("https://example.org/w/")):
        assert ws.show(name).document()["answer"] == "Good day."


def test_of_a_turn_that_is_not_there_nothing_is_shown(ws: Workspace) -> None:
    for name in ("thread/none/turn/1", "thread/a b", "thread/<>/turn/x", "thread/", "thread/x/turn/"):
        with pytest.raises(NotFound):
            ws.show(name)


@pytest.mark.parametrize("store", ["graph", "traces"])
def test_of_a_damaged_store_it_is_said_what_to_do(root: Path, store: str) -> None:
    with Workspace.open(root) as ws:
        ws.index()
        ws.chat("hello there", agent="clerk")
    (root / ".abi" / store / "CURRENT").write_text("damaged", encoding="utf-8")
    with Workspace.open(root) as ws:
        faults = {check.name: check for check in ws.doctor().checks if not check.ok}
        assert store in faults
        assert f"Move {root / '.abi' / store} away" in str(faults[store])
    (root / ".abi" / store).rename(root / "away")
    with Workspace.open(root) as ws:
        ws.index()
        assert ws.chat("hello there", agent="clerk").answer == "Good day."
        assert all(check.ok for check in ws.doctor().checks)


def test_langchain_tools_can_be_called(ws: Workspace) -> None:
    (tool,) = [t for t in ws.tools() if t.name == "labelled"]
    assert "text" in tool.args
    assert "https://example.org/w/one" in str(tool.invoke({"text": "one"}))
    assert [t.name for t in ws.tools("things with a label", limit=1)]


def test_one_triple_changes_what_an_agent_says_next(ws: Workspace) -> None:
    agent = ws.agent("clerk")
    assert agent.invoke("hello there", thread_id="t").answer == "Good day."
    intent = ws.query('SELECT ?i WHERE { ?i abi:reply "Good day." }')[0]["i"]
    graph = "https://example.org/w/source/agents/clerk.yaml"
    ws.update(
        f'WITH <{graph}> DELETE {{ <{intent}> abi:reply ?r }} INSERT {{ <{intent}> abi:reply "Good night." }} '
        f"WHERE {{ <{intent}> abi:reply ?r }}"
    )
    assert agent.invoke("hello there", thread_id="t").answer == "Good night."


def test_an_index_by_another_process_is_met_by_the_next_message(ws: Workspace) -> None:
    agent = ws.agent("clerk")
    assert agent.invoke("hello there").answer == "Good day."
    (ws.root / "agents/clerk.yaml").write_text(AGENT.replace("Good day.", "Well met."), encoding="utf-8")
    with Workspace.open(ws.root) as other:
        other.index()
    assert agent.invoke("hello there").answer == "Well met."


def test_a_turn_can_be_shown_and_asked_for_afterwards(ws: Workspace) -> None:
    turn = ws.chat('which things have the label "one"', agent="clerk", thread_id="t")
    shown = ws.show("thread/t/turn/1").document()
    assert shown["answer"] == turn.answer
    assert "abi:Turn" in ws.show("thread/t/turn/1").turtle()
    assert len(ws.sparql("SELECT ?t WHERE { ?t a abi:Turn }", traces=True)) == 1


def test_a_store_in_memory_does_all_of_it(root: Path) -> None:
    settings = (root / "abi.yaml").read_text(encoding="utf-8")
    (root / "abi.yaml").write_text(settings + "store: memory\n", encoding="utf-8")
    with Workspace.open(root) as ws:
        ws.index()
        assert ws.run("labelled", text="one").row_count == 1
        assert ws.chat("hello there", agent="clerk").answer == "Good day."
        assert ws.find("tools", "things with a label").hits
    assert not (root / ".abi").exists()


def test_the_doctor_finds_nothing_wrong_and_then_what_is(ws: Workspace) -> None:
    assert ws.doctor().ok, ws.doctor()
    (ws.root / "tools/labelled.rq").write_text(TOOL.replace("SELECT ?s", "SELECT"), encoding="utf-8")
    failed = [c for c in ws.doctor().checks if not c.ok]
    assert [c.name for c in failed] == ["files"]
    assert "tools/labelled.rq:6" in failed[0].message and failed[0].fix


def test_before_the_first_index_the_doctor_says_so_once(root: Path) -> None:
    with Workspace.open(root) as ws:
        assert [c.name for c in ws.doctor().checks if not c.ok] == ["graph"]


def test_a_record_cannot_lose_its_type_and_stay(ws: Workspace) -> None:
    from abi.errors import Invalid

    with pytest.raises(Invalid) as error:
        ws.update("DELETE WHERE { <https://example.org/w/agent/clerk> a abi:AgentSpecification }")
    assert "kind-missing" in {f.code for f in error.value.findings}


def test_secrets_are_names_and_their_places(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws.root / "key.txt").write_text("from a file\n", encoding="utf-8")
    settings = ws.settings.model_copy(update={"secrets": {"A": "env:ABI_TEST_SECRET", "B": "file:key.txt", "C": "x"}})
    monkeypatch.setenv("ABI_TEST_SECRET", "from the environment")
    monkeypatch.setenv("PLAIN", "by its own name")
    assert secret("A", settings, ws.root) == "from the environment"
    assert secret("B", settings, ws.root) == "from a file"
    assert secret("PLAIN", settings, ws.root) == "by its own name"
    with pytest.raises(UsageError):
        secret("C", settings, ws.root)
    with pytest.raises(NotFound):
        secret("NOWHERE_AT_ALL", settings, ws.root)
