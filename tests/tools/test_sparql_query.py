from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abi.errors import ArgumentError, Invalid, QueryRefused, ToolFailed
from abi.graph.oxigraph import OxigraphStore
from abi.graph.worker import QueryWorker
from abi.records.record import Parameter, SparqlQuery
from abi.settings import Settings
from abi.tools.runner import RunContext, run
from abi.tools.sparql_query import check, columns

XSD = "http://www.w3.org/2001/XMLSchema#"
SETTINGS = Settings(base_iri="urn:x:", prefixes={"x": "urn:x:"}, tool_rows=3)
DATA = """
INSERT DATA { GRAPH <urn:g> {
  x:Airport a owl:Class ; rdfs:label "airport" .
  x:boi a x:Airport ; rdfs:label "Boise" ; skos:notation "BOI" ; x:state "ID" ; x:owner "alice" .
  x:sea a x:Airport ; rdfs:label "Seattle" ; skos:notation "SEA" ; x:state "WA" ; x:owner "bob" .
  x:pdx a x:Airport ; rdfs:label "Portland" ; x:state "OR" . x:pwm a x:Airport ; rdfs:label "Portland" ; x:state "ME" .
  x:boi x:to x:sea , x:pdx , x:pwm . x:sea x:to x:boi .
} GRAPH <urn:h> { x:boi x:to x:sea } }"""


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunContext]:
    store = OxigraphStore.memory(prefixes=SETTINGS.all_prefixes())
    store.update(DATA)
    with QueryWorker(store, prefixes=SETTINGS.all_prefixes()) as worker:
        yield RunContext(query=worker.query, settings=SETTINGS, root=Path())


def airport(name: str, **more: Any) -> Parameter:
    return Parameter(name=name, value_class="urn:x:Airport", **more)


def text(name: str, **more: Any) -> Parameter:
    return Parameter(name=name, datatype=XSD + "string", **more)


def routes(**more: Any) -> SparqlQuery:
    return SparqlQuery(
        name="routes",
        description="Where one can go.",
        query="SELECT DISTINCT ?airport ?name {\n  ?origin x:to ?airport . ?airport rdfs:label ?name .\n"
        "  #?state ?airport x:state ?state .\n} ORDER BY ?airport LIMIT ?limit",
        parameters=[
            airport("origin"),
            text("state", required=False, pattern="[A-Z]{2}"),
            Parameter(name="limit", datatype=XSD + "integer", default=50, minimum=1, maximum=100, required=False),
        ],
        **{
            "answer": "{{ row_count }} from {{ origin.label }}: {{ rows | map(attribute='airport') | join(', ') }}.",
            **more,
        },
    )


def test_a_call(context: RunContext) -> None:
    result = run(routes(), {"origin": "boi"}, context)
    assert result.arguments == {"origin": "urn:x:boi", "limit": 50}
    assert result.answer == "3 from Boise: Portland, Portland, Seattle."
    assert result.row_count == 3 and not result.truncated
    assert result.citations[0] == ("urn:x:boi", "Boise") and ("urn:x:sea", "Seattle") in result.citations
    assert result.result[2] == {"airport": "urn:x:sea", "name": "Seattle"}
    assert "<urn:x:boi>" in (result.query or "") and "LIMIT  50" in (result.query or "")
    document = result.document()
    assert document["tool"] == "routes" and document["row_count"] == 3 and document["seconds"] > 0
    assert document["citations"][0] == {"iri": "urn:x:boi", "label": "Boise"}


def test_optional_and_typed_arguments(context: RunContext) -> None:
    result = run(routes(), {"origin": "urn:x:boi", "state": "OR", "limit": "5"}, context)
    assert result.answer == "1 from Boise: Portland."
    assert result.arguments == {"origin": "urn:x:boi", "state": "OR", "limit": 5}


def test_all_faults_of_a_call(context: RunContext) -> None:
    with pytest.raises(ArgumentError) as caught:
        run(routes(), {"origin": "Boisse", "state": "Oregon", "limit": 0, "other": 1}, context)
    assert {f["argument"] for f in caught.value.details["faults"]} == {"origin", "state", "limit", "other"}
    assert "Boise" in caught.value.hint
    with pytest.raises(ArgumentError) as caught:
        run(routes(), {"origin": "portland"}, context)
    (fault,) = caught.value.details["faults"]
    assert fault["code"] == "ambiguous" and len(fault["candidates"]) == 2


def test_rows_are_cut_and_it_is_said(context: RunContext) -> None:
    tool = SparqlQuery(name="all", description="All.", query="SELECT ?s { ?s a x:Airport }")
    result = run(tool, {}, context)
    assert (result.row_count, result.truncated) == (3, True)


def test_ask_and_construct(context: RunContext) -> None:
    ask = SparqlQuery(
        name="is", description="Is it?", query="ASK { ?a x:to ?b }", parameters=[airport("a"), airport("b")],
        answer="{{ 'Yes' if result else 'No' }}, {{ a }} to {{ b }}.",
    )  # fmt: skip
    result = run(ask, {"a": "SEA", "b": "BOI"}, context)
    assert (result.result, result.row_count, result.answer) == (True, None, "Yes, Seattle to Boise.")
    assert run(ask, {"a": "SEA", "b": "urn:x:pdx"}, context).answer == "No, Seattle to Portland."
    made = SparqlQuery(name="c", description="C.", query="CONSTRUCT WHERE { ?a x:to ?b }", parameters=[airport("a")])
    assert run(made, {"a": "SEA"}, context).result == [
        {"subject": "urn:x:sea", "predicate": "urn:x:to", "object": "urn:x:boi"}
    ]


def test_the_caller_is_never_an_argument(context: RunContext) -> None:
    tool = SparqlQuery(
        name="mine", description="Mine.", query="SELECT ?a { ?a x:owner ?me }",
        parameters=[text("me", filled_from="principal")],
    )  # fmt: skip
    named = RunContext(query=context.query, settings=SETTINGS, root=Path(), principal='alice" }')
    assert run(tool, {}, named).result == []
    named = RunContext(query=context.query, settings=SETTINGS, root=Path(), principal="alice")
    assert run(tool, {}, named).result == [{"a": "urn:x:boi"}]
    with pytest.raises(ArgumentError, match="not an argument"):
        run(tool, {"me": "bob"}, named)
    with pytest.raises(ArgumentError, match="identity"):
        run(tool, {}, context)


def test_unsound_records_are_refused_when_called_too(context: RunContext) -> None:
    broken = SparqlQuery(name="b", description="B.", query="SELECT * { SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } }")
    with pytest.raises((Invalid, QueryRefused)):
        run(broken, {}, context)
    with pytest.raises(ToolFailed, match="routes"):
        run(routes(answer="{{ rows.append(1) }}"), {"origin": "BOI"}, context)


def test_check_finds_both_halves() -> None:
    findings = check(
        routes(answer="{{ nobody }}").model_copy(update={"query": "SELECT * {\n ?origin ?p }"}),
        SETTINGS,
        path="tools/r.rq",
        query_line=10,
        answer_line=7,
    )
    assert ("template-syntax", 11) in {(f.code, f.line) for f in findings}
    assert ("answer-template", 7) in {(f.code, f.line) for f in findings}
    assert {f.field for f in findings if f.code == "template-parameter-unused"} == {
        "parameters.state",
        "parameters.limit",
    }
    assert check(routes(), SETTINGS) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.text(max_size=30), st.sampled_from(['BOI" } UNION { ?s ?p ?o', "BOI } #", "<urn:x:boi> <urn:x:to>"]))
)
def test_no_argument_reaches_more_than_it_names(context: RunContext, value: str) -> None:
    try:
        result = run(routes(answer=None), {"origin": value}, context)
    except ArgumentError:
        return
    assert result.arguments["origin"] in {"urn:x:boi", "urn:x:sea", "urn:x:pdx", "urn:x:pwm"}


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("SELECT ?a (COUNT(?b) AS ?n) ?c WHERE { ?a ?b ?c }", ["a", "n", "c"]),
        ("PREFIX x: <urn:x:>\nSELECT DISTINCT\n  #?x ?z\n ?a { ?q ?w ?e }", ["z", "a"]),
        ("SELECT ?x # note ?y\n FROM <urn:g> { SELECT ?q { ?q ?w ?e } }", ["x"]),
        ("SELECT (SUM(?a * (2 + ?b)) AS ?two) { ?a ?p ?b }", ["two"]),
        ("SELECT * { ?a ?b ?c }", None),
        ("ASK { ?a ?b ?c }", None),
        ("CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c }", None),
    ],
)
def test_the_columns_of_a_query(query: str, given: list[str] | None) -> None:
    assert columns(query) == given
