from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.records.parameters import JSON, XSD
from abi.records.record import CouchbaseSecrets, SqlppQuery
from abi.records.sqlpp_tokens import SqlppFault, tokenize

from .conftest import Read, places

SEED = Path(__file__).parent / "seed" / "sqlpp_query.sqlpp"
SECRETS = "secrets:\n- couchbase: {conn_string: A, username: B, password: C}\n"
HEADER = f"/*\nname: t\ndescription: d\ninput: {{type: object, properties: {{x: {{type: string}}}}}}\n{SECRETS}*/\n"


def test_agent_catalogs_template_is_read_as_it_is(read: Read) -> None:
    result = read(SEED.read_bytes(), "tools/q.sqlpp")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, SqlppQuery)
    assert record.name == "find_high_order_item_customers_between_date"
    assert record.description.startswith("Given a date range, find the customers")
    assert record.annotations == {"gdpr_2016_compliant": "false", "ccpa_2019_compliant": "true"}
    assert record.couchbase == CouchbaseSecrets(
        conn_string="CB_CONN_STRING", username="CB_USERNAME", password="CB_PASSWORD"
    )
    assert sorted(record.secrets) == ["CB_CONN_STRING", "CB_PASSWORD", "CB_USERNAME"]
    assert [(p.name, p.datatype, p.required) for p in record.parameters] == [
        ("orderdate_start", XSD + "string", False),
        ("orderdate_end", XSD + "string", False),
    ]
    assert record.query.startswith("SELECT\n") and "-- The '$' syntax is used" in record.query
    text = SEED.read_text()
    line = text[: text.index("\nSELECT\n")].count("\n") + 2
    assert (result.line(record), result.line(record, "query")) == (9, line)


def test_comments_after_the_header_belong_to_the_query(read: Read) -> None:
    query = "/* $y is no parameter */ SELECT /* nor $z */ a FROM c -- nor $v\nWHERE c.t = '$w' AND c.x = $x /* end */"
    (record,) = read(HEADER + query, "q.sqlpp").records
    assert isinstance(record, SqlppQuery) and record.query == query


@pytest.mark.parametrize(
    ("start", "input_"),
    [
        ("/* name: t\ndescription: d\n", 'input: \'{"properties": {"x": {"type": "string"}}}\'\n'),
        ("-- a comment\n\n  /*\n  name: t\n  description: d\n", "  input: {properties: {x: {type: string}}}\n"),
    ],
)
def test_the_header_stands_anywhere_at_the_begin(read: Read, start: str, input_: str) -> None:
    indent = "  " if "\n  name" in start else ""
    text = start + input_ + "".join(indent + line + "\n" for line in SECRETS.splitlines()) + "*/ SELECT $x"
    result = read(text, "q.sqlpp")
    assert result.findings == []
    assert isinstance(result.records[0], SqlppQuery)


def test_what_an_input_may_be(read: Read) -> None:
    schema = (
        "input:\n  type: object\n  required: [n]\n  properties:\n    n: {type: integer, description: how many}\n"
        "    tags: {type: array, items: {type: string}}\n    who: {$ref: '#/$defs/person'}\n"
        "  $defs: {person: {type: object, properties: {name: {type: string}}}}\n"
        "output: {type: array, items: {type: object}}\n"
    )
    text = f"/*\nname: t\ndescription: d\n{schema}{SECRETS}*/ SELECT $n, $tags, @who"
    result = read(text, "q.sqlpp")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, SqlppQuery)
    assert [(p.name, p.datatype, p.required, p.description) for p in record.parameters] == [
        ("n", XSD + "integer", True, "how many"),
        ("tags", JSON, False, ""),
        ("who", JSON, False, ""),
    ]
    assert record.output_schema == {"type": "array", "items": {"type": "object"}}


FAULTS = [
    # header lines (from line 2), query, expected (line, field, code)
    ("name: t\ninput: {}\n" + SECRETS, "SELECT 1", (2, "description", "description-missing")),
    ("name: t\ndescription: d\n" + SECRETS, "SELECT 1", (2, "input", "input-missing")),
    ("name: t\ndescription: d\ninput: {}\n", "SELECT 1", (2, "secrets", "secrets-missing")),
    ("name: tool 1\ndescription: d\ninput: {}\n" + SECRETS, "SELECT 1", (2, "name", "name-invalid")),
    ("name: class\ndescription: d\ninput: {}\n" + SECRETS, "SELECT 1", (2, "name", "name-invalid")),
    (
        "name: t\ndescription: d\ninput: {}\nrecord_kind: raw_prompt\n" + SECRETS,
        "SELECT 1",
        (5, "record_kind", "kind-misplaced"),
    ),
    (
        "name: t\ndescription: d\ninput: {}\nrecord_kind: sqlp_query\n" + SECRETS,
        "SELECT 1",
        (5, "record_kind", "kind-unknown"),
    ),
    ("name: t\ndescription: d\ninput: '[]'\n" + SECRETS, "SELECT 1", (4, "input", "type-wrong")),
    ("name: t\ndescription: d\ninput: '{\"a\": '\n" + SECRETS, "SELECT 1", (4, "input", "input-syntax")),
    ("name: t\ndescription: d\ninput: {type: array}\n" + SECRETS, "SELECT 1", (4, "input", "input-schema")),
    ("name: t\ndescription: d\ninput:\n  type: objekt\n" + SECRETS, "SELECT 1", (5, "input.type", "input-schema")),
    (
        "name: t\ndescription: d\ninput:\n  properties:\n    x:\n      minimum: low\n" + SECRETS,
        "SELECT $x",
        (7, "input.properties.x.minimum", "input-schema"),
    ),
    (
        "name: t\ndescription: d\ninput:\n  properties:\n    x:\n      pattern: (\n" + SECRETS,
        "SELECT $x",
        (7, "input.properties.x.pattern", "input-schema"),
    ),
    (
        "name: t\ndescription: d\ninput:\n  patternProperties:\n    '[a': {}\n" + SECRETS,
        "SELECT 1",
        (5, "input.patternProperties", "input-schema"),
    ),
    (
        "name: t\ndescription: d\ninput:\n  patternProperties: {}\n  unevaluatedProperties: false\n" + SECRETS,
        "SELECT 1",
        (4, "input", "input-schema"),
    ),
    *(
        (
            f"name: t\ndescription: d\ninput:\n  $ref: '{ref}'\n  $defs: {{a: {{$ref: '#/$defs/a'}}}}\n" + SECRETS,
            "SELECT 1",
            (4, "input", "input-schema"),
        )
        for ref in ("http://example.org/x", "file:///etc/passwd", "#/$defs/b", "#/$defs/a", "other.json")
    ),
    (
        "name: t\ndescription: d\ninput: '" + '{"not": ' * 65 + "{}" + "}" * 65 + "'\n" + SECRETS,
        "SELECT 1",
        (4, "input", "input-schema"),
    ),
    ("name: t\ndescription: d\ninput: {}\noutput: 5\n" + SECRETS, "SELECT 1", (5, "output", "type-wrong")),
    (
        "name: t\ndescription: d\ninput: {}\nsecrets:\n- couchbase: {conn_string: A, username: B}\n",
        "SELECT 1",
        (5, "secrets", "secrets-missing"),
    ),
    (
        "name: t\ndescription: d\ninput: {}\nsecrets:\n- couchbse: {conn_string: A}\n",
        "SELECT 1",
        (6, "secrets.0.couchbse", "secrets-unknown"),
    ),
    (
        "name: t\ndescription: d\ninput: {}\nsecrets:\n- couchbase: {conn_string: A, username: B, password: pa$$}\n",
        "SELECT 1",
        (6, "secrets.0.couchbase.password", "secret-literal"),
    ),
    (
        "name: t\ndescription: d\ninput: {}\nannotations: {a: true}\n" + SECRETS,
        "SELECT 1",
        (5, "annotations.a", "annotation-type"),
    ),
    ("name: t\ndescription: d\ninput: {}\n" + SECRETS, "", (7, "query", "query-missing")),
    ("name: t\ndescription: d\ninput: {}\n" + SECRETS, "SELECT\n $x", (8, "query", "parameter-undeclared")),
    ("name: t\ndescription: d\ninput: {}\n" + SECRETS, "SELECT\n $1", (8, "query", "parameter-positional")),
    (
        "name: t\ndescription: d\ninput:\n  properties:\n    x: {}\n" + SECRETS,
        "SELECT 1",
        (6, "input.properties.x", "parameter-unused"),
    ),
    ("name: t\ndescription: d\ninput: {}\n" + SECRETS, "SELECT\n 'a", (8, "query", "query-syntax")),
    ("name: t\ndescription: d\ninput: {}\n" + SECRETS, "SELECT /* 1", (7, "query", "query-syntax")),
]


@pytest.mark.parametrize(("header", "query", "expected"), FAULTS)
def test_faults_have_their_place(read: Read, header: str, query: str, expected: tuple[int, str, str]) -> None:
    result = read(f"/*\n{header}*/{query}", "tools/q.sqlpp")
    assert expected in places(result)
    assert all(f.fix for f in result.findings)


@pytest.mark.parametrize("text", ["SELECT 1", "-- only\nSELECT /* x */ 1", "", "/* name: t", "/* */ SELECT 1"])
def test_a_file_without_a_header(read: Read, text: str) -> None:
    result = read(text, "q.sqlpp")
    assert {f.code for f in result.findings} & {"header-missing", "file-empty"}
    assert result.records == []


@settings(max_examples=200)
@given(st.text(alphabet="a1 .$@'\"`/*-\n\\?;(é", max_size=40))
def test_the_words_of_any_query(text: str) -> None:
    try:
        tokens = tokenize(text)
    except SqlppFault as fault:
        assert 1 <= fault.line <= text.count("\n") + 1
        return
    assert all(text[t.start : t.end] == t.text for t in tokens)
    assert all(t.line == text.count("\n", 0, t.start) + 1 for t in tokens)
    rest = text
    for token in reversed(tokens):
        rest = rest[: token.start] + rest[token.end :]
    assert not rest.strip()


def test_patterns_of_either_engine_and_values_that_are_no_schemas_pass(read: Read) -> None:
    schema = {"properties": {"x": {"pattern": r"^\p{L}+$"}, "y": {"pattern": "a(?=b)", "default": {"pattern": "("}}}}
    text = f"/*\nname: t\ndescription: d\ninput: '{json.dumps(schema)}'\n{SECRETS}*/\nSELECT $x, $y"
    assert not [f for f in read(text, "t.sqlpp").findings if f.severity == "error"]
