"""`abi:search` and `abi:similarity` in a whole workspace: in process, in workers, in tools, in --where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.errors import QuerySyntaxError

TOOL = """# record_kind: sparql_query
# name: {name}
# description: {about}
# parameters:
#   text: {{type: xsd:string, description: what to look for}}
# annotations: {{domain: {domain}}}
{query}
"""
PLAIN = "SELECT ?thing WHERE { ?thing rdfs:label ?text }"
SEARCHING = "SELECT ?name WHERE { ?tool a abi:SparqlTemplate ; abi:search ?text ; abi:name ?name }"


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root = tmp_path_factory.mktemp("queries")
    (root / "abi.yaml").write_text("base_iri: https://example.org/q/\n")
    (root / "tools").mkdir()
    for name, about, domain, query in (
        ("unpaid", "Invoices of a customer that have not been paid.", "finance", PLAIN),
        ("stops", "Journeys between two airports with one change of plane.", "travel", PLAIN),
        ("tools_for", "Tools of this catalog that are for something.", "meta", SEARCHING),
    ):
        (root / "tools" / f"{name}.rq").write_text(TOOL.format(name=name, about=about, domain=domain, query=query))
    with Workspace.open(root) as workspace:
        assert workspace.index().written
        yield workspace


QUERY = """SELECT ?name WHERE { ?tool a abi:SparqlTemplate ; abi:name ?name }
ORDER BY DESC(abi:similarity(?tool, "who still owes us money for a bill")) LIMIT 1"""


def test_in_process_and_in_a_worker(ws: Workspace) -> None:
    assert ws.query(QUERY) == ws.sparql(QUERY).python() == [{"name": "unpaid"}]


def test_search_and_filters_join(ws: Workspace) -> None:
    query = """SELECT ?name ?domain WHERE {
      ?tool abi:search "flights with a layover" ; abi:name ?name ; abi:hasAnnotation ?a .
      ?a abi:key "domain" ; abi:value ?domain }"""
    assert {"name": "stops", "domain": "travel"} in ws.query(query)


def test_nonsense_finds_nothing(ws: Workspace) -> None:
    assert ws.query('SELECT ?x WHERE { ?x abi:search "qwertz uiop asdfgh" }') == []
    assert ws.query('SELECT ?x WHERE { ?x abi:search "  " }') == []


def test_in_a_tool_with_its_argument(ws: Workspace) -> None:
    rows = ws.run("tools_for", text="airports and planes").rows
    assert rows is not None and "stops" in [row["name"].value for row in rows]


def test_in_the_where_of_a_search(ws: Workspace) -> None:
    hits = ws.find("tools", where='?record abi:search "invoices of customers"').hits
    assert "unpaid" in [hit.name for hit in hits]


def test_a_fault_has_its_place(ws: Workspace) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        ws.sparql("SELECT ?x WHERE {\n ?x abi:search ?y }")
    assert raised.value.details == {"line": 2, "column": 5}


def test_similarity_is_the_score_of_find(ws: Workspace, tmp_path: Path) -> None:
    (hit,) = ws.find("tools", "unpaid invoices", limit=1).hits
    (row,) = ws.query(f'SELECT (abi:similarity(<{hit.iri}>, "unpaid invoices") AS ?s) {{}}')
    assert float(row["s"]) == pytest.approx(hit.score, abs=1e-4)
