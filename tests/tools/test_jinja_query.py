# ruff: noqa: E501 - queries are written out
"""SPARQL templates of others: loaded unchanged, run as tools, and never anything but what their author wrote."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from abi import Workspace
from abi.errors import ArgumentError, QueryRefused, ToolFailed
from abi.records.record import JinjaQuery, Parameter
from abi.settings import Settings
from abi.tools.jinja_pieces import pieces_of
from abi.tools.jinja_query import check

DATA = Path(__file__).parents[3] / "shared" / "data" / "templates" / "OntologySparqlQueries.ttl"
here = pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/templates is not here")
SETTINGS = Settings(base_iri="urn:x:", prefixes={}, render_seconds=5)
XSD = "http://www.w3.org/2001/XMLSchema#"
PEOPLE = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix cco: <https://www.commoncoreontologies.org/> .
@prefix nx: <http://ontology.naas.ai/abi/> .
@prefix d: <https://example.org/d/> .
d:ada a owl:NamedIndividual, cco:ont00001262 ; rdfs:label "Ada Lovelace" ; nx:hasSkill d:maths .
d:alan a owl:NamedIndividual, cco:ont00001262 ; rdfs:label "Alan \\"T\\" Turing" ; nx:hasSkill d:maths .
d:maths a owl:NamedIndividual, cco:ont00000089 ; rdfs:label "mathematics" ; nx:isSkillOf d:ada, d:alan .
"""
NAMES = {
    "count_instances_by_class",
    "get_individuals_from_class",
    "get_persons_associated_with_skill",
    "get_skills_associated_with_person",
    "get_subject_graph",
    "search_class_query",  # abi itself has a search_class
    "search_commercial_organization",
    "search_individuals_from_class",
    "search_legal_name",
    "search_linkedin_page",
    "search_person",
    "search_skill",
    "search_ticker",
    "search_website",
}
PERSON = "https://www.commoncoreontologies.org/ont00001262"


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    if not DATA.is_file():
        pytest.skip("../shared/data/templates is not here")
    root = tmp_path_factory.mktemp("templates")
    (root / "graph").mkdir()
    shutil.copy(DATA, root / "graph")
    (root / "graph" / "people.ttl").write_text(PEOPLE)
    (root / "agents").mkdir()
    (root / "agents" / "a.yaml").write_text(
        "record_kind: agent\nname: people\ndescription: Knows people.\ntools: [search_person]\n"
        "intents: [{values: [who is called so], type: tool, target: search_person}]\n"
    )
    (root / "abi.yaml").write_text("base_iri: https://example.org/d/\nsources: [graph, agents]\n")
    with Workspace.open(root) as workspace:
        report = workspace.index()
        assert report.written and not report.findings, report.findings
        yield workspace


def records(ws: Workspace) -> dict[str, JinjaQuery]:
    from abi.graph.mapping import Names, read_records

    found = read_records(ws.store, "jinja_query", names=Names(ws.settings.base_iri, ws.store))
    return {r.name: r for _, r in found if isinstance(r, JinjaQuery)}


@here
def test_all_templates_become_tools_and_their_triples_stay_as_they_are(ws: Workspace) -> None:
    from abi.graph.formats import parse

    assert set(records(ws)) == NAMES
    held = {
        (q.subject, q.predicate, q.object) for q in ws.store.quads("https://example.org/d/source/graph/" + DATA.name)
    }
    assert held == {(q.subject, q.predicate, q.object) for q in parse(DATA.read_bytes(), "turtle")}
    shown = ws.show("search_person")
    assert shown.document()["kind"] == "jinja_query" and "Search for persons" in shown.document()["description"]
    entry = next(e for e in ws.ls("tools").entries if e.name == "search_person")
    assert entry.source == f"graph/{DATA.name}:{_line('searchPersonQuery a')}"


def _line(text: str) -> int:
    return next(n for n, line in enumerate(DATA.read_text().splitlines(), 1) if text in line)


@here
def test_they_are_found_run_and_given_to_agents(ws: Workspace) -> None:
    assert "search_person" in [h.name for h in ws.find("tools", "persons by their name", limit=5).hits]
    result = ws.run("search_person", search_label="Ada Lovelace")
    assert [row["label"] for row in result.result] == ["Ada Lovelace"] and result.citations
    assert ws.run("get_skills_associated_with_person", person_name='Alan "T" Turing').result == [
        {"skill_label": "mathematics"}
    ]
    assert len(ws.run("get_individuals_from_class", class_uri=PERSON).result) == 2
    assert ws.run("count_instances_by_class").row_count  # no arguments
    tool = next(t for t in ws.tools("persons by their name") if t.name == "search_person")
    assert "Ada Lovelace" in str(tool.invoke({"search_label": "Ada Lovelace"}))
    assert [t.name for t in ws.agents() if "search_person" in str(t)] == ["people"]


@here
def test_arguments_that_may_be_left_out(ws: Workspace) -> None:
    all_of_them = ws.run("search_individuals_from_class", class_uri=PERSON)
    assert all_of_them.row_count == 2 and "LIMIT 20" in str(all_of_them.query)
    some = ws.run("search_individuals_from_class", class_uri=PERSON, search_string="ada")
    assert some.row_count == 1 and "LIMIT" not in str(some.query) and "STRSTARTS" in str(some.query)
    near = ws.run("get_subject_graph", subject_uri="https://example.org/d/ada", depth="1")
    far = ws.run("get_subject_graph", subject_uri="https://example.org/d/ada")
    assert "?o1" in str(far.query) and "?o1" not in str(near.query) and far.row_count > near.row_count
    assert ws.run("get_subject_graph", subject_uri="https://example.org/d/ada", depth=1).query == near.query


@here
@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("search_ticker", {"search_label": "AAPL\nX"}, "search_label"),
        ("search_ticker", {"search_label": "xxAAPLxx"}, "search_label"),  # the whole value, not a part of it
        ("search_person", {"search_label": "ab"}, "search_label"),
        ("search_person", {}, "search_label"),
        ("get_subject_graph", {"subject_uri": "https://x/> ?p ?o . <https://y", "depth": "1"}, "subject_uri"),
        ("get_subject_graph", {"subject_uri": "https://example.org/d/ada", "depth": "3"}, "depth"),
        ("get_individuals_from_class", {"class_uri": "Person"}, "class_uri"),
        ("search_class_query", {"search_label": ""}, "search_label"),
        ("search_class_query", {"search_label": "process", "more": "x"}, "more"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_arguments_name(
    ws: Workspace, tool: str, arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(ArgumentError, match=named):
        ws.run(tool, **arguments)


@here
def test_a_value_cannot_ask_another_graph(ws: Workspace) -> None:
    """The value that, put in as it is, answers yes or no about any triple."""
    value = 'zz")) . FILTER(EXISTS { GRAPH ?g { ?a ?b "Ada Lovelace" } }) . #'
    assert ws.run("search_person", search_label=value).row_count == 0


hostile = st.text(min_size=3, max_size=60) | st.sampled_from(
    [
        'x" } UNION {?s ?p ?o} #',
        "x\\",
        'x\\" . ?s ?p ?o',
        "https://e.org/> ?p ?o . <https://e.org/",
        "x'''",
        'x"""',
        "\\u0022 ) } UNION { ?s ?p ?o } #",
        "{{ 7*7 }}{% raw %}",
        "x\r\n} #",
    ]
)


@here
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # an algebra takes too long to be asked for thousands of times
)
@given(value=hostile, data=st.data())
def test_only_the_one_term_differs_in_the_algebra(ws: Workspace, value: str, data: st.DataObject) -> None:
    """For every template: whatever is given, the query means what it meant, with other texts in the same places."""
    from abi.tools.jinja_query import _query

    for record in records(ws).values():
        if not record.parameters:
            continue
        target = data.draw(st.sampled_from([p.name for p in record.parameters]))
        benign = {p.name: "https://e.org/aaa" for p in record.parameters} | {"depth": "2"}
        try:
            attacked = _query(
                pieces_of(record.name, record.query, benign | {target: value}, SETTINGS), record, SETTINGS
            )
        except ArgumentError as error:
            assert target in str(error)
            continue
        plain = _query(pieces_of(record.name, record.query, benign, SETTINGS), record, SETTINGS)
        if target != "depth":  # which chooses between two queries of the author's
            assert _differences(_algebra(plain), _algebra(attacked)) <= {(benign[target], value)}


def _algebra(query: str) -> Any:
    from rdflib.plugins.sparql import prepareQuery

    return prepareQuery(query).algebra


def _differences(one: Any, other: Any) -> set[tuple[str, str]]:
    """The texts of the terms in which two algebras differ; fails where they differ in anything else."""
    from rdflib import BNode, Literal, URIRef

    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other) and getattr(one, "name", "") == getattr(other, "name", "")
        return {d for key in one for d in _differences(one[key], other[key])}
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        return {d for a, b in zip(one, other, strict=True) for d in _differences(a, b)}
    if isinstance(one, (Literal, URIRef)):
        assert getattr(one, "datatype", None) == getattr(other, "datatype", None)
        return set() if str(one) == str(other) else {(str(one), str(other))}
    if not isinstance(one, BNode) and not callable(one) and type(one).__module__ in ("builtins", "rdflib.term"):
        assert one == other
    return set()


def jinja(query: str, *parameters: Parameter) -> JinjaQuery:
    return JinjaQuery(name="t", description="d", query=query, parameters=list(parameters))


def text(name: str, **more: Any) -> Parameter:
    return Parameter(name=name, datatype=XSD + "string", **more)


def test_what_jinja_evaluates_is_evaluated_apart_and_comes_out_in_pieces() -> None:
    template = (
        'ASK { ?s ?p {% for v in a.split(",") %}"{{ v | upper }}"{% if not loop.last %},{% endif %}{% endfor %} }'
    )
    pieces = pieces_of("t", template, {"a": 'x,y"z'}, SETTINGS)
    assert [p.text for p in pieces if p.names is not None] == ["X", 'Y"Z']
    assert {p.names for p in pieces} == {None, ("v",)}
    assert check(jinja(template, text("a")), SETTINGS) == []


@pytest.mark.parametrize(
    "template",
    [
        "{% set q %}ASK {}{% endset %}{{ q }}",
        "{% macro q() %}ASK {}{% endmacro %}{{ q() }}",
        "{% include 'x' %}",
        "{% filter upper %}ASK {}{% endfilter %}",
        "ASK { {{ a",
        "{{ a }}",
        "ASK { {{ a }} }",
        "DELETE WHERE { ?s ?p ?o }",
        'ASK { SERVICE <http://e.org/> { ?s ?p "{{ a }}" } }',
        "ASK { ?s ?p ?{{ a }} }",
        'ASK { ?s ?p "{{ b }}" }',
    ],
)
def test_templates_that_are_not_sound_are_told(template: str) -> None:
    findings = check(jinja(template, text("a")), SETTINGS, path="x.rq", line=7)
    assert findings and all(f.path == "x.rq" and f.line >= 7 and f.fix and f.severity == "error" for f in findings)


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{% for i in range(10**9) %}{% for j in range(10**9) %}{% endfor %}{% endfor %}ASK {}", ToolFailed),
        ("{{ ''.__class__.__mro__ }}", ToolFailed),
        ("{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}", ToolFailed),
        ("{{ 10 ** 10000000 }}", ToolFailed),
    ],
)
def test_templates_that_never_end_or_look_around_are_ended(template: str, error: type[Exception]) -> None:
    quick = SETTINGS.model_copy(update={"render_seconds": 2.0})
    with pytest.raises(error):
        pieces_of("t", template, {}, quick)


def test_an_update_is_a_template_at_once(tmp_path: Path) -> None:
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/u/\nsources: []\n")
    insert = """PREFIX im: <http://ontology.naas.ai/abi/>
    INSERT DATA { GRAPH <urn:g> {
      im:q a im:TemplatableSparqlQuery ; rdfs:label "things called" , "choses"@fr ; im:intentDescription "Things."@en, "Choses"@fr ;
        im:sparqlTemplate 'SELECT ?s { ?s rdfs:label "{{ name }}" }' ; im:hasArgument im:name .
      im:name a im:QueryArgument ; im:argumentName "name" ; im:argumentDescription "Name" .
      <urn:s> rdfs:label "x" } }"""
    with Workspace.open(tmp_path) as ws:
        ws.index()
        ws.update(insert)
        assert ws.run("things_called", name="x").result == [{"s": "urn:s"}]
        assert "things_called" in [h.name for h in ws.find("tools", "Things.", limit=3).hits]
        ws.update(
            "DELETE DATA { GRAPH <urn:g> { <http://ontology.naas.ai/abi/q> a <http://ontology.naas.ai/abi/TemplatableSparqlQuery> } }"
        )
        assert "things_called" not in [e.name for e in ws.ls("tools").entries]
        assert "things_called" not in [h.name for h in ws.find("tools", "Things.", limit=3).hits]
        with pytest.raises(QueryRefused):
            ws.query("LOAD <urn:x>")


def test_a_template_that_cannot_be_made_safe_is_told_and_refused(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "t.ttl").write_text(
        "@prefix im: <http://ontology.naas.ai/intentMapping/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'im:q a im:TemplatableSparqlQuery ; rdfs:label "bad" ; im:intentDescription "Bad." ;\n'
        '  im:sparqlTemplate "SELECT ?{{ v }} { ?s ?p ?o }" ; im:hasArgument im:v .\n'
        'im:v a im:QueryArgument ; im:argumentName "v" .\n'
    )
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/u/\nsources: [graph]\n")
    with Workspace.open(tmp_path) as ws:
        report = ws.index()
        assert report.written and [(f.path, f.line, f.severity) for f in report.findings] == [
            ("graph/t.ttl", 2, "warning")
        ]
        with pytest.raises(QueryRefused, match=r"\bv\b"):
            ws.run("bad", v="s")
