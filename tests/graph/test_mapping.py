from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi import terms
from abi.errors import Invalid, NotFound
from abi.findings import Finding
from abi.graph.literals import value_order
from abi.graph.mapping import (
    Names,
    edited_quads,
    iri_of,
    provenance_quads,
    read_quads,
    read_record,
    read_records,
    record_quads,
)
from abi.graph.oxigraph import OxigraphStore
from abi.graph.record_table import RECORDS
from abi.records.record import (
    KINDS,
    AgentSpecification,
    CouchbaseSecrets,
    EmbeddingSecrets,
    HttpRequest,
    Intent,
    JinjaPrompt,
    JinjaQuery,
    Parameter,
    PythonFunction,
    RawPrompt,
    Record,
    SemanticSearch,
    Source,
    SparqlQuery,
    SqlppQuery,
    StructuredPrompt,
    SystemPrompt,
    ToolSelector,
    VectorSearch,
)

BASE = "https://example.org/mine/"
GRAPH = BASE + "source/a"

texts = st.text(min_size=1, max_size=12)
names = st.text(min_size=1, max_size=8).filter(lambda t: "://" not in t and not t.startswith("urn:"))
maybe = st.none() | texts
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=4), json_values, max_size=3)
shares = st.floats(min_value=0, max_value=1)


def a_set(of: st.SearchStrategy[str], **kwargs: Any) -> st.SearchStrategy[list[str]]:
    return st.lists(of, unique=True, max_size=4, **kwargs).map(sorted)


def value_set() -> st.SearchStrategy[list[Any]]:
    def canonical(values: list[Any]) -> list[Any]:
        distinct = {repr(v) if not isinstance(v, (dict, list)) else str(value_order(v)): v for v in values if v != ""}
        # 0.0 and -0.0 are one number, and 1 and 1.0 are two literals
        return sorted((v for k, v in distinct.items() if k != "-0.0"), key=value_order)

    return st.lists(json_values, max_size=4).map(canonical)


@st.composite
def parameters(draw: st.DrawFn) -> list[Parameter]:
    made = []
    for index, name in enumerate(draw(st.lists(names, unique=True, max_size=3))):
        by_class = draw(st.booleans())
        made.append(
            Parameter(
                name=name,
                description=draw(st.text(max_size=8)),
                datatype=None if by_class else terms.XSD_STRING,
                value_class="https://example.org/C" if by_class else None,
                required=draw(st.booleans()),
                default=draw(json_values.filter(lambda v: v not in ("", {}))),
                enum=draw(value_set()),
                minimum=draw(st.none() | numbers),
                maximum=draw(st.none() | numbers),
                pattern=draw(maybe),
                examples=draw(value_set()),
                filled_from=draw(st.sampled_from([None, "principal"])),
                position=index,
            )
        )
    return made


selectors = st.lists(
    st.builds(ToolSelector, name=maybe, query=maybe, annotations=maybe, limit=st.integers(0, 99)), max_size=3
)


def common() -> dict[str, st.SearchStrategy[Any]]:
    return {
        "name": names,
        "description": st.text(max_size=20),
        "annotations": st.dictionaries(st.text(max_size=6), st.text(max_size=6), max_size=3),
        "secrets": a_set(texts),
        "extras": objects,
    }


def intents(agent: str | None) -> st.SearchStrategy[Intent]:
    return st.builds(
        Intent,
        **common(),
        values=a_set(texts),
        type=st.sampled_from(["agent", "tool", "raw"]),
        target=names,
        scope=st.sampled_from(["all", "direct"]),
        agent=st.just(agent),
    )


@st.composite
def agents(draw: st.DrawFn) -> AgentSpecification:
    name = draw(names)
    prompt = draw(
        st.sampled_from([SystemPrompt()]) | st.builds(SystemPrompt, text=texts) | st.builds(SystemPrompt, prompt=names)
    )
    fields = {k: draw(v) for k, v in common().items()}
    return AgentSpecification(
        **{**fields, "name": name},
        system_prompt=prompt,
        tools=draw(a_set(names)),
        agents=draw(a_set(names)),
        intents=draw(st.lists(intents(name), max_size=2, unique_by=lambda i: i.name)),
        uses_intents=draw(a_set(names)),
        model=draw(maybe),
        threshold=draw(shares),
        threshold_neighbor=draw(shares),
        direct_intent_score=draw(shares),
        sequential_supervisor=draw(st.booleans()),
        delegates_to_abi=draw(st.booleans()),
        may_write=draw(st.booleans()),
        releases_turn_on=draw(maybe),
        class_name=draw(maybe),
        hooks=draw(a_set(st.sampled_from(["on_ai_message", "on_human_message", "retains_active_turn"]))),
    )


STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "python_function": st.builds(
        PythonFunction,
        **common(),
        function=texts,
        form=st.none() | st.sampled_from(["workflow", "pipeline", "integration"]),
        is_async=st.booleans(),
        parameters=parameters(),
        input_schema=objects,
        output_schema=st.none() | objects.filter(bool),
        answer=maybe,
    ),
    "sqlpp_query": st.builds(
        SqlppQuery,
        **common(),
        query=texts,
        parameters=parameters(),
        input_schema=objects,
        output_schema=st.none() | objects.filter(bool),
        couchbase=st.builds(CouchbaseSecrets, conn_string=maybe, username=maybe, password=maybe, certificate=maybe),
        answer=maybe,
    ),
    "semantic_search": st.builds(
        SemanticSearch,
        **common(),
        parameters=parameters(),
        input_schema=objects,
        vector_search=st.builds(
            VectorSearch,
            **dict.fromkeys(
                ("bucket", "scope", "collection", "index", "vector_field", "text_field", "embedding_url"), maybe
            ),
            value_class=st.none() | st.just(BASE + "Class"),
            text_property=st.none() | st.just(BASE + "text"),
            embedding_model=texts,
            num_candidates=st.integers(1, 99),
        ),
        couchbase=st.builds(CouchbaseSecrets, conn_string=maybe, username=maybe, password=maybe, certificate=maybe),
        embedding=st.builds(EmbeddingSecrets, auth=maybe, username=maybe, password=maybe),
        answer=maybe,
    ),
    "sparql_query": st.builds(SparqlQuery, **common(), query=texts, parameters=parameters(), answer=maybe),
    "jinja_query": st.builds(JinjaQuery, **common(), query=texts, parameters=parameters(), answer=maybe),
    "http_request": st.builds(
        HttpRequest,
        **common(),
        method=texts,
        path=texts,
        specification=objects.filter(bool),
        specification_source=st.just("") | texts,
        specification_hash=st.just("") | texts,
        credentials=st.dictionaries(texts, texts | st.dictionaries(texts, texts, max_size=2), max_size=2),
        parameters=parameters(),
        input_schema=objects,
        output_schema=st.none() | objects.filter(bool),
    ),
    "raw_prompt": st.builds(RawPrompt, **common(), text=texts, tools=selectors),
    "jinja_prompt": st.builds(JinjaPrompt, **common(), text=texts, parameters=parameters(), tools=selectors),
    "prompt": st.builds(
        StructuredPrompt,
        **common(),
        text=texts,
        content=st.none() | objects.filter(bool) | st.lists(texts, min_size=1, max_size=3),
        output_schema=st.none() | objects.filter(bool),
        tools=selectors,
    ),
    "agent": agents(),
    "intent": intents(None) | names.flatmap(intents),
}


def test_each_kind_has_a_table_and_each_field_a_column() -> None:
    assert set(RECORDS) == set(KINDS) == set(STRATEGIES)
    for kind, table in RECORDS.items():
        mapped = {c.field.split(".")[0] for c in table.columns} | {p.field for p in table.parts}
        mapped |= {"kind", "name", "annotations", "source", "agent"}
        assert set(KINDS[kind].model_fields) <= mapped, kind
        for parts in table.parts:
            if parts.table not in RECORDS.values():
                mapped = {c.field for c in parts.table.columns} | {"name", "position"}
                assert set(parts.table.model.model_fields) <= mapped


@pytest.mark.parametrize("kind", sorted(STRATEGIES))
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_record_comes_back_from_its_triples(kind: str, data: st.DataObject) -> None:
    record: Record = data.draw(STRATEGIES[kind])
    store = OxigraphStore.memory()
    bearer = Names(BASE)
    store.apply([], record_quads(record, GRAPH, bearer))
    assert read_record(store, iri_of(record, BASE), bearer) == record
    records = dict(read_records(store, kind, names=bearer))
    assert records[iri_of(record, BASE)] == record


@given(record=STRATEGIES["agent"] | STRATEGIES["sparql_query"])
@settings(max_examples=50, deadline=None)
def test_its_triples_are_in_one_graph_without_blank_nodes_and_in_stored_form(record: Record) -> None:
    quads = record_quads(record, GRAPH, Names(BASE))
    assert {q.graph_name for q in quads} == {ox.NamedNode(GRAPH)}
    assert not [q for q in quads if isinstance(q.subject, ox.BlankNode) or isinstance(q.object, ox.BlankNode)]
    store = OxigraphStore.memory()
    store.apply([], quads)
    assert set(store.quads(GRAPH)) == set(quads)
    for subject in {q.subject for q in quads}:
        predicates = [q.predicate.value for q in quads if q.subject == subject]
        assert predicates.count(terms.RDFS_LABEL) == 1
        types = [q.object.value for q in quads if q.subject == subject and q.predicate.value == terms.RDF_TYPE]
        assert terms.OWL_NAMED_INDIVIDUAL in types


def test_iris_are_minted_by_the_rule() -> None:
    raw = RawPrompt(name="häl lo/x", description="d", text="t")
    assert iri_of(raw, BASE) == BASE + "prompt/h%C3%A4l%20lo%2Fx"
    own = Intent(name="go", description="", values=["a"], type="raw", target="b", agent="nav")
    assert iri_of(own, BASE) == BASE + "agent/nav/intent/go"
    assert iri_of(own.model_copy(update={"agent": None}), BASE) == BASE + "intent/go"
    query = SparqlQuery(
        name="q",
        description="d",
        query="ASK {}",
        annotations={"k y": "v"},
        parameters=[Parameter(name="a b", datatype=terms.XSD_STRING)],
    )
    subjects = {q.subject.value for q in record_quads(query, GRAPH, Names(BASE))}
    assert subjects == {BASE + "tool/q", BASE + "tool/q/annotation/k%20y", BASE + "tool/q/parameter/a%20b"}


def test_provenance_goes_to_its_own_graph_and_comes_back() -> None:
    source = Source(path="tools/a b.rq", line=3, content_hash="00ff", commit="abc")
    record = SparqlQuery(name="q", description="d", query="ASK {}", source=source)
    store = OxigraphStore.memory()
    store.apply([], record_quads(record, GRAPH, Names(BASE)) + provenance_quads([record], source, BASE))
    assert store.graphs()[:2] == [BASE + "provenance", GRAPH]
    assert read_record(store, BASE + "tool/q") == record
    assert store.query(f"ASK {{ <{BASE}source/tools/a%20b.rq> a abi:SourceFile ; abi:path 'tools/a b.rq' }}").boolean


def test_an_agents_intents_have_their_own_lines() -> None:
    file = Source(path="a.yaml", line=1, content_hash="00")
    own = Intent(
        name="hi", description="", values=["hi"], type="raw", target="Hello.", agent="a",
        source=file.model_copy(update={"line": 7}),
    )  # fmt: skip
    agent = AgentSpecification(name="a", description="d", intents=[own], source=file)
    store = OxigraphStore.memory()
    store.apply([], record_quads(agent, GRAPH, Names(BASE)) + provenance_quads([agent], file, BASE))
    assert read_record(store, BASE + "agent/a") == agent
    assert read_record(store, BASE + "agent/a/intent/hi") == own


def test_edited_marks() -> None:
    (quad,) = edited_quads(["a b.ttl"], BASE)
    assert quad.subject == ox.NamedNode(BASE + "source/a%20b.ttl")
    assert quad.predicate.value == terms.EDITED


def turtle(text: str) -> list[ox.Quad]:
    head = "@prefix : <https://example.org/mine/> . @prefix abi: <https://w3id.org/abi/> . @prefix ex: <https://ex.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "  # noqa: E501
    return list(ox.parse(head + text, ox.RdfFormat.TURTLE))


def read(text: str) -> tuple[dict[str, Record], list[Finding]]:
    records, findings = read_quads(turtle(text), Names(BASE))
    return dict(records), findings


def test_what_people_write_by_hand_reads_with_defaults() -> None:
    records, findings = read("""
        ex:guide a abi:AgentSpecification ; rdfs:label "guide"@en ; abi:description "Führt."@de , "Leads."@en ;
          abi:intentThreshold 0.5 ; abi:intentThresholdNeighbor "0.1"^^xsd:double ; abi:directIntentScore 1 ;
          abi:hasTool ex:finder , <https://example.org/mine/tool/minted> ;
          abi:hasSystemPrompt <https://example.org/mine/prompt/p> ;
          abi:hasIntent ex:thanks , [ a abi:Intent ; abi:name "bye" ; abi:intentValue "bye" ;
                                       abi:intentType abi:raw-intent ; abi:reply "Bye." ] .
        ex:thanks a abi:Intent ; abi:name "thanks" ; abi:intentValue "thanks", "thank you" ;
          abi:intentType abi:raw-intent ; abi:reply "You are welcome." ; abi:intentScope abi:scope-all .
        ex:finder a abi:SparqlTemplate ; abi:name "finder" ; abi:description "Finds." ; abi:queryText "ASK {}" ;
          abi:hasParameter [ abi:name "b" ; abi:datatype xsd:integer ; abi:position 1 ; abi:defaultValue 5 ] ,
                           [ abi:name "a" ; abi:valueClass ex:Thing ; abi:position 0 ; abi:minimum 0.5 ] .
    """)
    assert findings == []
    guide = records["https://ex.org/guide"]
    assert isinstance(guide, AgentSpecification)
    assert (guide.name, guide.description) == ("guide", "Leads.")
    assert (guide.threshold, guide.threshold_neighbor, guide.direct_intent_score) == (0.5, 0.1, 1.0)
    assert guide.may_write is False
    assert guide.tools == ["https://ex.org/finder", "minted"]
    assert guide.system_prompt == SystemPrompt(prompt="p")
    assert guide.uses_intents == ["https://ex.org/thanks"]
    assert [i.name for i in guide.intents] == ["bye"]
    finder = records["https://ex.org/finder"]
    assert isinstance(finder, SparqlQuery)
    assert [p.name for p in finder.parameters] == ["a", "b"]
    assert finder.parameters[1].default == 5
    assert finder.parameters[0].minimum == 0.5
    thanks = records["https://ex.org/thanks"]
    assert isinstance(thanks, Intent)
    assert (thanks.agent, thanks.scope, thanks.values) == (None, "all", ["thank you", "thanks"])


@pytest.mark.parametrize(
    ("triples", "code", "field"),
    [
        ('abi:intentThreshold "high"', "value-type", "threshold"),
        ("abi:intentThreshold 1.5", "value-invalid", "threshold"),
        ("abi:intentThreshold 0.1 , 0.2", "value-several", "threshold"),
        ('abi:mayWrite "perhaps"', "value-type", "may_write"),
        ("abi:systemPrompt ex:p", "value-type", "system_prompt.text"),
        ('abi:hasTool "name"', "value-type", "tools"),
        ('abi:extraKeys "{"', "value-type", "extras"),
        ("a abi:RawPrompt", "kind-several", "kind"),
        ('abi:chatModel "a" , "b"', "value-several", "model"),
        (
            'abi:hasIntent [ a abi:Intent ; abi:name "i" ; abi:intentType abi:Tool ]',
            "value-type",
            "intents.i.type",
        ),
    ],
)
def test_faults_are_findings(triples: str, code: str, field: str) -> None:
    text = f'ex:a a abi:AgentSpecification ; abi:name "a" ; abi:description "d" ; {triples} .'
    records, findings = read(text + ' ex:ok a abi:RawPrompt ; abi:promptText "t" .')
    assert list(records) == ["https://ex.org/ok"]
    assert [(f.code, f.field, f.severity) for f in findings] == [(code, field, "error")]


def test_missing_and_faulty_records_of_a_store() -> None:
    store = OxigraphStore.memory()
    with pytest.raises(NotFound):
        read_record(store, BASE + "tool/none")
    store.update("INSERT DATA { GRAPH <urn:g> { <urn:a> a abi:AgentSpecification ; abi:mayWrite 7 } }")
    with pytest.raises(Invalid) as caught:
        read_record(store, "urn:a")
    assert [f.code for f in caught.value.findings] == ["value-type"]
    findings: list[Finding] = []
    assert read_records(store, names=Names(BASE), findings=findings) == []
    assert [f.code for f in findings] == ["value-type"]


def test_parts_of_one_name_and_texts_that_cannot_be_stored_are_refused() -> None:
    twice = [Parameter(name="a", datatype=terms.XSD_STRING)] * 2
    with pytest.raises(Invalid) as caught:
        record_quads(SparqlQuery(name="q", description="d", query="x", parameters=twice), GRAPH, Names(BASE))
    assert [(f.code, f.field) for f in caught.value.findings] == [("name-duplicate", "parameters.a")]
    with pytest.raises(Invalid) as caught:
        record_quads(RawPrompt(name="q", description="d", text="\ud800"), GRAPH, Names(BASE))
    assert [f.code for f in caught.value.findings] == ["value-unstorable"]


def test_a_triple_in_two_graphs_is_read_once() -> None:
    store = OxigraphStore.memory()
    record = RawPrompt(name="p", description="d", text="t")
    quads = record_quads(record, GRAPH, Names(BASE)) + record_quads(record, BASE + "source/b", Names(BASE))
    store.apply([], quads)
    assert read_record(store, BASE + "prompt/p") == record


def test_names_resolve_to_records_with_any_iri() -> None:
    store = OxigraphStore.memory()
    store.update("INSERT DATA { GRAPH <urn:g> { <https://ex.org/f> a abi:SparqlTemplate ; abi:name 'finder' } }")
    known = Names(BASE, store)
    assert known.resolve("tool", "finder") == "https://ex.org/f"
    assert known.resolve("prompt", "finder") == BASE + "prompt/finder"
    assert known.resolve("tool", "other") == BASE + "tool/other"
    assert known.resolve("tool", "https://ex.org/any") == "https://ex.org/any"
    known.learn("tool", "other", "https://ex.org/o")
    assert known.resolve("tool", "other") == "https://ex.org/o"
    assert known.reference("tool", BASE + "tool/x%20y") == "x y"
    assert known.reference("tool", BASE + "tool/x/parameter/y") == BASE + "tool/x/parameter/y"
    assert known.reference("tool", "https://ex.org/f") == "https://ex.org/f"
