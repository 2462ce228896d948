"""Traces over the SPARQL protocol: everybody's, for admins only."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Served, lay_out, serving

TURNS = "SELECT ?answer { ?turn a abi:Turn ; abi:answer ?answer }"
DEATH = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?p ?q ?r . ?s ?t ?u }"


@pytest.fixture
def told(grocery: Served) -> Served:
    with grocery.client("writer") as writer:
        for prompt in ("thank you", "how many fruits are there"):
            asked = {"prompt": prompt, "thread_id": "traced"}
            assert writer.post("/agents/grocer/completion", json=asked).status_code == 200
    return grocery


def test_an_admin_asks_them_in_each_way(told: Served) -> None:
    direct = {"Content-Type": "application/sparql-query", "Accept": "text/csv"}
    with told.client("admin") as admin:
        ways = [
            admin.get("/traces/sparql", params={"query": TURNS}, headers={"Accept": "text/csv"}),
            admin.post("/traces/sparql", data={"query": TURNS}, headers={"Accept": "text/csv"}),
            admin.post("/traces/sparql", content=TURNS, headers=direct),
        ]
        for answer in ways:
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
            assert "You are welcome." in answer.text
        head = admin.head("/traces/sparql", params={"query": TURNS}, headers={"Accept": "text/csv"})
        assert (head.status_code, head.content) == (200, b"")
        graphs = admin.get(
            "/traces/sparql", params={"query": "SELECT DISTINCT ?g { GRAPH ?g { ?t a abi:Turn } }"}
        ).json()
        found = [row["g"]["value"] for row in graphs["results"]["bindings"]]
        one = next(graph for graph in found if "traced" in graph)
        only = {"query": TURNS, "default-graph-uri": one}
        assert "You are welcome." in admin.get("/traces/sparql", params=only).text
        other = {"query": TURNS, "default-graph-uri": "urn:none"}
        assert admin.get("/traces/sparql", params=other).json()["results"]["bindings"] == []
        turtle = admin.get("/traces/sparql", params={"query": "CONSTRUCT WHERE { ?t a abi:Turn }"})
        assert turtle.headers["content-type"].startswith("text/turtle")


def test_a_turn_is_there_as_soon_as_it_has_ended(told: Served) -> None:
    count = "SELECT (COUNT(?t) AS ?n) { ?t a abi:Turn }"
    with told.client("admin") as admin:
        before = told.workspace.sparql(count, traces=True).python()[0]["n"]
        admin.post("/agents/grocer/completion", json={"prompt": "thank you"})
        assert told.workspace.sparql(count, traces=True).python()[0]["n"] == before + 1


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_nobody_else_sees_them(told: Served, role: str) -> None:
    with told.client(role) as client:
        for answer in (
            client.get("/traces/sparql", params={"query": TURNS}),
            client.post("/traces/sparql", data={"query": TURNS}),
            client.get("/traces/sparql", params={"query": "nonsense"}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "denied")
    with told.client() as nobody:
        assert nobody.get("/traces/sparql", params={"query": TURNS}).status_code == 401


@pytest.mark.parametrize("store", ["disk", "memory"])
def test_without_keys_they_are_shown_to_nobody(tmp_path: Path, store: str) -> None:
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    with serving(root, f"store: {store}", keys=False) as served, served.client() as anyone:
        served.workspace.index()
        anyone.post("/agents/grocer/completion", json={"prompt": "thank you"})
        assert anyone.get("/traces/sparql", params={"query": TURNS}).status_code == 401
        assert [r["answer"] for r in served.workspace.sparql(TURNS, traces=True).python()] == ["You are welcome."]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("SELECT * { ?s", 400, "query_syntax"),
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", 403, "query_refused"),
        ("INSERT DATA { <urn:a> <urn:b> 1 }", 403, "query_refused"),
        (DEATH, 503, "query_timeout"),
    ],
)
def test_their_queries_are_guarded_and_limited(told: Served, query: str, status: int, code: str) -> None:
    with told.client("admin") as admin:
        answer = admin.get("/traces/sparql", params={"query": query, "timeout": "0.5"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_they_are_not_changed(told: Served) -> None:
    update = {"update": "DROP ALL"}
    with told.client("admin") as admin:
        assert admin.post("/traces/sparql", data=update).status_code == 400
        assert admin.get("/traces/sparql").status_code == 400
        answer = admin.put("/traces/sparql", params={"query": TURNS})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
        assert "You are welcome." in admin.get("/traces/sparql", params={"query": TURNS}).text


def test_without_a_conversation_there_is_nothing_to_ask(tmp_path: Path) -> None:
    with serving(tmp_path / "w") as served, served.client("admin") as admin:
        answer = admin.get("/traces/sparql", params={"query": TURNS})
        assert answer.status_code == 503 and "first turn" in answer.json()["error"]["hint"]
