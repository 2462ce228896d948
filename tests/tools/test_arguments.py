from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import ArgumentError
from abi.graph.rows import XSD, Term
from abi.records.record import Parameter, SparqlQuery
from abi.tools.arguments import RDF_JSON, argument_model, term_of, validate


def record(*parameters: Parameter) -> SparqlQuery:
    return SparqlQuery(name="find_it", description="Finds it.", query="ASK {}", parameters=list(parameters))


def p(name: str, datatype: str = "string", **more: Any) -> Parameter:
    if "value_class" not in more:
        more["datatype"] = datatype if ":" in datatype else XSD + datatype
    return Parameter(name=name, **more)


@pytest.mark.parametrize(
    ("parameter", "raw", "value", "term"),
    [
        (p("x"), "text", "text", '"text"'),
        (p("x"), 5, "5", '"5"'),
        (p("x", "integer"), "5", 5, f'"5"^^<{XSD}integer>'),
        (p("x", "integer"), -5, -5, f'"-5"^^<{XSD}integer>'),
        (p("x", "decimal"), "1.50", Decimal("1.50"), f'"1.50"^^<{XSD}decimal>'),
        (p("x", "double"), "1e3", 1000.0, f'"1000.0"^^<{XSD}double>'),
        (p("x", "boolean"), "true", True, f'"true"^^<{XSD}boolean>'),
        (p("x", "boolean"), False, False, f'"false"^^<{XSD}boolean>'),
        (
            p("x", "dateTime"),
            "2026-01-31",
            datetime(2026, 1, 31, tzinfo=UTC),
            f'"2026-01-31T00:00:00Z"^^<{XSD}dateTime>',
        ),
        (p("x", "dateTime"), "2026-01-31T12:00:00+02:00", None, f'"2026-01-31T10:00:00Z"^^<{XSD}dateTime>'),
        (p("x", "anyURI"), "https://a/b", "https://a/b", "<https://a/b>"),
        (p("x", RDF_JSON), '{"a": [1]}', {"a": [1]}, f'"{{\\"a\\": [1]}}"^^<{RDF_JSON}>'),
        (p("x", RDF_JSON), [1, None], [1, None], f'"[1, null]"^^<{RDF_JSON}>'),
        (p("x", value_class="urn:C"), "BOI", "BOI", None),
        (p("x", enum=["a", "b"]), "b", "b", '"b"'),
        (p("x", "integer", enum=[1, 2]), "2", 2, None),
        (p("x", pattern="[A-Z]{2}"), "ID", "ID", '"ID"'),
        (p("x", pattern="(?!no).*"), "yes", "yes", '"yes"'),
        (p("x", "integer", default=7, required=False), None, 7, None),
    ],
)
def test_values(parameter: Parameter, raw: Any, value: Any, term: str | None) -> None:
    got = validate(record(parameter), {"x": raw})["x"]
    assert value is None or (got == value and type(got) is type(value))
    assert term is None or term_of(parameter, got).n3() == term


@pytest.mark.parametrize(
    ("parameter", "raw"),
    [
        (p("x", "integer"), "five"),
        (p("x", "integer"), True),
        (p("x", "integer"), 1.5),
        (p("x", "integer"), 2**63),
        (p("x", "positiveInteger"), 0),
        (p("x", "integer", minimum=1, maximum=10), 11),
        (p("x", "integer", minimum=1, maximum=10), "0"),
        (p("x", "double"), "nan"),
        (p("x", "double", maximum=1.5), 2),
        (p("x", "boolean"), "perhaps"),
        (p("x", "dateTime"), "yesterday"),
        (p("x", "dateTime"), 5),
        (p("x", "anyURI"), "no iri"),
        (p("x", "anyURI"), "urn:a> }"),
        (p("x", enum=["a"]), "c"),
        (p("x", pattern="[A-Z]{2}"), "IDA"),
        (p("x", pattern="[A-Z]{2}"), "ID\n"),
        (p("x", pattern="(?!no)[a-z]*"), "yes\n"),
        (p("x", pattern="a|b"), "ac"),
        (p("x"), {"a": 1}),
        (p("x"), "y" * 10_001),
        (p("x"), "\ud800"),
        (p("x"), None),
        (p("x", value_class="urn:C"), ["a"]),
    ],
)
def test_refused(parameter: Parameter, raw: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        validate(record(parameter), {"x": raw})
    (fault,) = caught.value.details["faults"]
    assert fault["argument"] == "x" and fault["message"]
    assert "pydantic" not in caught.value.message and "find_it" in caught.value.message


def test_all_faults_at_once() -> None:
    tool = record(
        p("a", "integer"), p("b"), p("c", "boolean"), p("d", required=False), p("who", filled_from="principal")
    )
    with pytest.raises(ArgumentError) as caught:
        validate(tool, {"a": "x", "c": "perhaps", "e": 1, "who": "me"})
    assert {f["argument"] for f in caught.value.details["faults"]} == {"a", "b", "c", "e", "who"}
    assert validate(tool, {"a": 1, "b": "x", "c": True, "d": None}) == {"a": 1, "b": "x", "c": True}


def test_schema() -> None:
    tool = record(
        p("origin", value_class="urn:x/Airport", description="where it starts", examples=["BOI"]),
        p("state", pattern="[A-Z]{2}", required=False),
        p("limit", "integer", default=50, minimum=1, maximum=1000),
        p("sort", enum=["name", "size"]),
        p("who", filled_from="principal"),
    )
    schema = argument_model(tool).model_json_schema()
    assert schema["description"] == "Finds it."
    assert schema["required"] == ["origin", "sort"] and schema["additionalProperties"] is False
    properties = schema["properties"]
    assert list(properties) == ["origin", "state", "limit", "sort"]
    assert properties["origin"]["description"] == "where it starts (name, code or IRI of Airport)"
    assert properties["origin"]["examples"] == ["BOI"]
    assert (properties["limit"]["minimum"], properties["limit"]["maximum"], properties["limit"]["default"]) == (
        1,
        1000,
        50,
    )
    assert properties["sort"]["enum"] == ["name", "size"]
    assert argument_model(tool) is argument_model(tool)


def test_names_that_pydantic_keeps_for_itself() -> None:
    tool = record(p("copy"), p("_x", "integer"), p("model_dump"), p("class"))
    assert validate(tool, {"copy": "a", "_x": "1", "model_dump": "b", "class": "c"}) == {
        "copy": "a", "_x": 1, "model_dump": "b", "class": "c",
    }  # fmt: skip
    assert set(argument_model(tool).model_json_schema()["properties"]) == {"copy", "_x", "model_dump", "class"}
    with pytest.raises(ArgumentError) as caught:
        validate(tool, {})
    assert {f["argument"] for f in caught.value.details["faults"]} == {"copy", "_x", "model_dump", "class"}


def test_a_bad_default_or_pattern_is_a_fault() -> None:
    with pytest.raises(ArgumentError):
        validate(record(p("x", "integer", default="many", required=False)), {})
    with pytest.raises(ArgumentError, match="regular expression"):
        validate(record(p("x", pattern="(")), {"x": "a"})


def test_a_hostile_pattern_is_linear() -> None:
    with pytest.raises(ArgumentError):
        validate(record(p("x", pattern="(a+)+b")), {"x": "a" * 5000})
    with pytest.raises(ArgumentError, match="takes longer than 1 s"):
        validate(record(p("x", pattern="(?!x)(a|a)*")), {"x": "a" * 60 + "!"})


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=50))
def test_any_text_comes_through_whole(text: str) -> None:
    parameter = p("x")
    try:
        value = validate(record(parameter), {"x": text})["x"]
    except ArgumentError:
        assert any("\ud800" <= c <= "\udfff" for c in text)
        return
    assert term_of(parameter, value) == Term("literal", text)
