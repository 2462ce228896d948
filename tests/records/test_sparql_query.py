from __future__ import annotations

import pytest

from abi.records.record import SparqlQuery

from .conftest import Read, places

XSD = "http://www.w3.org/2001/XMLSchema#"

ROUTES = """\
# record_kind: sparql_query
# name: find_direct_routes
# description: Airports that can be reached from an airport without a stop.
# parameters:
#   origin: {class: fl:Airport, description: where the journey starts, examples: [BOI]}
#   state:  {type: xsd:string, pattern: "[A-Z]{2}", required: false}
#   limit:  {type: xsd:integer, default: 50, minimum: 1, maximum: 1000}
#   user:   {type: xsd:string, from: principal}
# answer: "{{ row_count }} airports can be reached directly from {{ origin.label }}."
# annotations: {domain: travel}
SELECT ?airport WHERE {
  ?route fl:from ?origin ; fl:to ?airport .
  #?state ?airport fl:state ?state .
} LIMIT ?limit
"""


def test_a_whole_file_becomes_a_record(read: Read) -> None:
    result = read(ROUTES, "tools/routes.rq")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, SparqlQuery)
    assert record.name == "find_direct_routes"
    assert record.annotations == {"domain": "travel"}
    assert record.query.startswith("SELECT ?airport") and record.query.endswith("LIMIT ?limit")
    assert "#?state ?airport" in record.query
    origin, state, limit, user = record.parameters
    assert (origin.value_class, origin.datatype, origin.required) == ("https://example.org/fl#Airport", None, True)
    assert (origin.description, origin.examples) == ("where the journey starts", ["BOI"])
    assert (state.datatype, state.required, state.pattern) == (XSD + "string", False, "[A-Z]{2}")
    assert (limit.required, limit.default, limit.minimum, limit.maximum) == (False, 50, 1, 1000)
    assert (user.filled_from, [p.position for p in record.parameters]) == ("principal", [0, 1, 2, 3])
    assert record.source is not None
    assert (record.source.path, record.source.line) == ("tools/routes.rq", 2)
    assert (result.line(record, "query"), result.line(record, "parameters.state")) == (11, 6)


FAULTS = [
    ("#   a: {class: fl:Airport, type: xsd:string}", (4, "parameters.a.class", "parameter-type")),
    ("#   a: {}", (4, "parameters.a", "parameter-type")),
    ("#   a: {type: string}", (4, "parameters.a.type", "iri-unknown")),
    ("#   a: {type: xsd:strin}", (4, "parameters.a.type", "datatype-unknown")),
    ("#   a: {type: fl:Airport}", (4, "parameters.a.type", "datatype-unknown")),
    ("#   a: {class: xsd:string}", (4, "parameters.a.class", "parameter-type")),
    ("#   a: {class: zz:Airport}", (4, "parameters.a.class", "iri-unknown")),
    ("#   a: {type: xsd:integer, default: x}", (4, "parameters.a.default", "value-type")),
    ("#   a: {type: xsd:integer, default: true}", (4, "parameters.a.default", "value-type")),
    ("#   a: {type: xsd:byte, default: 128}", (4, "parameters.a.default", "value-type")),
    ("#   a: {type: xsd:date, default: 2024-13-01}", (4, "parameters.a.default", "value-type")),
    ("#   a: {type: xsd:string, default: 3}", (4, "parameters.a.default", "value-type")),
    ("#   a: {type: xsd:string, enum: [b, c], default: a}", (4, "parameters.a.default", "value-enum")),
    ("#   a: {type: xsd:string, pattern: '(b', default: a}", (4, "parameters.a.pattern", "pattern-syntax")),
    ("#   a: {type: xsd:string, pattern: '^b', examples: [b, a]}", (4, "parameters.a.examples.1", "value-pattern")),
    ("#   a: {type: xsd:integer, maximum: 3, default: 4}", (4, "parameters.a.default", "value-range")),
    ("#   a: {type: xsd:integer, minimum: 3, maximum: 1}", (4, "parameters.a.minimum", "value-range")),
    ("#   a: {type: xsd:string, minimum: 3}", (4, "parameters.a.minimum", "parameter-limit")),
    ("#   a: {type: xsd:string, required: yes}", (4, "parameters.a.required", "type-wrong")),
    ("#   a: {type: xsd:string, required: true, default: x}", (4, "parameters.a.required", "parameter-required")),
    ("#   a: {type: xsd:string, from: principle}", (4, "parameters.a.from", "value-unknown")),
    ("#   a: {type: xsd:string, requird: false}", (4, "parameters.a.requird", "key-unknown")),
    ("#   a: {type: xsd:string, enum: b}", (4, "parameters.a.enum", "type-wrong")),
    ("#   a: xsd:string", (4, "parameters.a", "type-wrong")),
    ("#   a b: {type: xsd:string}", (4, "parameters.a b", "parameter-name")),
]


@pytest.mark.parametrize(("line", "place"), FAULTS)
def test_faults_of_parameters(read: Read, line: str, place: tuple[int, str, str]) -> None:
    result = read(f"# name: a\n# description: b\n# parameters:\n{line}\nASK {{ ?a ?b ?c }}", "a.rq")
    assert places(result) == {place}
    assert all(f.message and f.fix for f in result.findings)


def test_all_faults_are_told_at_once(read: Read) -> None:
    text = "# name: my tool\n# colour: red\n# annotations: {a: true, b: 'x'}\n# secrets: [MY_KEY, 'hunter 2!']\n"
    result = read(text, "a.rq")
    assert places(result) == {
        (1, "name", "name-invalid"),
        (2, "colour", "key-unknown"),
        (1, "description", "description-missing"),
        (3, "annotations.a", "annotation-type"),
        (4, "secrets.1", "secret-literal"),
        (5, "query", "query-missing"),
    }
    assert result.records == []
    fixes = {f.code: f.fix for f in result.findings}
    assert fixes["annotation-type"] == 'Put it in quotes: a: "true".'
    assert fixes["name-invalid"] == "Write 'my_tool'."


def test_an_unknown_key_is_kept_and_a_near_one_named(read: Read) -> None:
    result = read("# name: a\n# description: b\n# anwser: x\nASK {}", "a.rq")
    (record,) = result.records
    assert record.extras == {"anwser": "x"}
    (finding,) = result.findings
    assert (finding.severity, finding.fix) == ("warning", "Did you mean 'answer'?")


@pytest.mark.parametrize("name", ["class", "two words", "9lives", "", "~", "a-b", "[a]", "1"])
def test_a_name_is_an_identifier(read: Read, name: str) -> None:
    result = read(f"# name: {name}\n# description: b\nASK {{}}", "a.rq")
    assert result.records == []
    assert {f.field for f in result.findings} == {"name"}


def test_a_long_description_is_warned_about(read: Read) -> None:
    result = read(f"# name: a\n# description: {'word ' * 257}\nASK {{}}", "a.rq")
    assert [(f.code, f.severity) for f in result.findings] == [("description-long", "warning")]
    assert len(result.records) == 1


def test_secrets_of_agent_catalog_are_names_wherever_they_stand(read: Read) -> None:
    secrets = "#   - couchbase: {username: CB_USER, password: CB_PASS}\n#   - KEY\n"
    text = f"# name: a\n# description: b\n# secrets:\n{secrets}ASK {{}}"
    (record,) = read(text, "a.rq").records
    assert record.secrets == ["CB_USER", "CB_PASS", "KEY"]
