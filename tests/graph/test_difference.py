from __future__ import annotations

from pathlib import Path

import pytest

from abi import Workspace

AGENT = """record_kind: agent
name: guide
description: Guides.
system_prompt: Be kind.
tools: [search_entities]
intents:
  - {values: [find a thing], type: tool, target: search_entities}
"""
QUERY = """# record_kind: sparql_query
# name: fruit
# description: Fruit that is called like a text.
# parameters:
#   text: {type: xsd:string}
#   limit: {type: xsd:integer, default: 5}
SELECT ?thing WHERE { ?thing rdfs:label ?text } LIMIT ?limit
"""


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    for path, text in {
        "abi.yaml": "base_iri: https://example.org/d/\n",
        "agents/guide.yaml": AGENT,
        "tools/fruit.rq": QUERY,
        "graph/a.ttl": "<urn:a> <urn:p> [ <urn:q> 1 ], 2 .",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    workspace = Workspace.open(tmp_path)
    workspace.index()
    workspace.publish()
    return workspace


def test_nothing_changed(ws: Workspace) -> None:
    difference = ws.diff("latest")
    assert not difference
    assert difference.document() == {"added": [], "removed": [], "changed": [], "graphs": []}


def test_a_changed_comment_is_no_change(ws: Workspace) -> None:
    path = ws.root / "agents/guide.yaml"
    path.write_text("# A remark.\n" + path.read_text())
    ws.index()
    assert not ws.diff("latest")


def test_fields_are_named_by_their_place(ws: Workspace) -> None:
    query = QUERY.replace("default: 5", "default: 7, maximum: 9").replace("string}", "string, description: which}")
    (ws.root / "tools/fruit.rq").write_text(query)
    (ws.root / "agents/guide.yaml").write_text(AGENT.replace("Be kind.", "Be brief."))
    ws.index()
    difference = ws.diff("latest")
    assert {(c.kind, c.name): c.fields for c in difference.changed} == {
        ("agent", "guide"): {"system_prompt.text": ("Be kind.", "Be brief.")},
        ("sparql_query", "fruit"): {
            "parameters.text.description": (None, "which"),
            "parameters.limit.default": (5, 7),
            "parameters.limit.maximum": (None, 9),
        },
    }
    assert (difference.added, difference.removed, difference.graphs) == ([], [], {})


def test_an_intent_of_an_agent_is_told_once(ws: Workspace) -> None:
    (ws.root / "agents/guide.yaml").write_text(AGENT.replace("find a thing", "find a fruit"))
    ws.index()
    document = ws.diff("latest").document()
    told = [(what, r["kind"]) for what in ("added", "removed", "changed") for r in document[what]]
    assert {kind for _, kind in told} == {"intent"}
    assert document["graphs"] == []


def test_records_come_and_go_and_other_triples_are_counted(ws: Workspace) -> None:
    (ws.root / "tools/fruit.rq").write_text(QUERY.replace("name: fruit", "name: vegetables"))
    (ws.root / "graph/a.ttl").write_text("<urn:a> <urn:p> [ <urn:q> 1 ], 3 . <urn:b> <urn:p> [ <urn:q> 2 ] .")
    ws.index()
    document = ws.diff("latest").document()
    assert [r["name"] for r in document["added"]] == ["vegetables"]
    assert [r["name"] for r in document["removed"]] == ["fruit"]
    assert document["changed"] == []
    assert document["graphs"] == [{"graph": "https://example.org/d/source/graph/a.ttl", "added": 3, "removed": 1}]


def test_between_two_versions(ws: Workspace) -> None:
    (ws.root / "tools/fruit.rq").write_text(QUERY.replace("Fruit that", "Fruits that"))
    ws.index()
    ws.publish()
    old, new = (v.version for v in ws.versions())
    forth, back = ws.diff(old, new), ws.diff(new, old)
    assert forth.changed[0].fields == {
        "description": ("Fruit that is called like a text.", "Fruits that is called like a text.")
    }
    assert back.changed[0].fields["description"] == forth.changed[0].fields["description"][::-1]
    assert not ws.diff(new)
