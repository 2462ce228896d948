from __future__ import annotations

import contextlib
import json
import warnings
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, RootModel

from abi.errors import ArgumentError, Unsupported
from abi.tools.schema_model import schema_faults, schema_model, schema_validate

USER = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "friends": {"type": "array", "items": {"$ref": "#/$defs/User"}},
        "boss": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
    },
    "required": ["name"],
}


PATTERN = "PATTERN"


def arguments(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def faults(schema: Any, raw: Any) -> dict[str, str]:
    return {f["argument"]: f["message"] for f in schema_faults(schema_model(schema, "tool"), raw)[1]}


def test_model_has_a_field_for_each_property_and_is_made_once() -> None:
    schema = arguments({"a": {"type": "integer"}, "b": {"type": "string"}}, required=["a"])
    model = schema_model(schema, "count_things")
    assert model is schema_model(dict(schema), "count_things")
    assert issubclass(model, BaseModel)
    assert list(model.model_fields) == ["a", "b"]
    assert model(a=1, b="x").model_dump() == {"a": 1, "b": "x"}


def test_nested_objects_arrays_and_references_to_themselves() -> None:
    schema = arguments({"user": {"$ref": "#/$defs/User"}}, **{"$defs": {"User": USER}})
    raw = {"user": {"name": "Ada", "friends": [{"name": "Bob", "boss": None}], "age": 3}}
    assert schema_validate(schema, raw, "tool") == raw
    assert faults(schema, {"user": {"name": "Ada", "friends": [{"friends": []}]}}) == {
        "user.friends.0.name": "is needed"
    }


def test_a_schema_that_is_a_list_of_itself() -> None:
    schema = arguments({"tree": {"$ref": "#/$defs/Tree"}}, **{"$defs": {"Tree": {"items": {"$ref": "#/$defs/Tree"}}}})
    assert schema_validate(schema, {"tree": [[], [[]]]}, "tool") == {"tree": [[], [[]]]}
    assert "tree.1.0" in faults(schema, {"tree": [[], [3]]})


def test_all_of_with_itself_inside() -> None:
    node = {"properties": {"next": {"allOf": [{"$ref": "#/$defs/Node"}, {"required": ["value"]}]}, "value": {}}}
    schema = arguments({"node": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": node}})
    assert schema_validate(schema, {"node": {"next": {"value": 1}}}, "tool") == {"node": {"next": {"value": 1}}}
    assert faults(schema, {"node": {"next": {}}}) == {"node.next.value": "is needed"}


def test_defaults_are_filled_in_and_what_was_not_given_is_left_out() -> None:
    inner = arguments({"b": {"default": [1]}, "c": {"type": "string"}})
    schema = arguments({"a": {"type": "integer", "default": 5}, "b": {"type": "string"}, "inner": inner})
    assert schema_validate(schema, {}, "tool") == {"a": 5}
    assert schema_validate(schema, {"b": None, "inner": {}}, "tool") == {"a": 5, "inner": {"b": [1]}}


def test_null_is_kept_where_the_schema_knows_it() -> None:
    schema = arguments({"a": {"type": ["string", "null"]}, "b": {"enum": [None, 1]}})
    assert schema_validate(schema, {"a": None, "b": None}, "tool") == {"a": None, "b": None}


def test_texts_of_a_command_line_become_values() -> None:
    properties = {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "level": {"enum": [1, 2]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "zip": {"type": "string"},
    }
    raw = {"count": "3", "ratio": "0.5", "on": "true", "level": "2", "tags": '["x"]', "zip": 83701}
    expected = {"count": 3, "ratio": 0.5, "on": True, "level": 2, "tags": ["x"], "zip": "83701"}
    assert schema_validate(arguments(properties), raw, "tool") == expected


def test_whole_numbers_stay_whole() -> None:
    value = schema_validate(arguments({"n": {"type": "number"}}), {"n": 2**60 + 1}, "tool")["n"]
    assert value == 2**60 + 1
    assert isinstance(value, int)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, True, "a number is needed, not true or false"),
        ({"type": "integer"}, 1.5, "fractional part"),
        ({"type": "string"}, False, "a text is needed"),
        ({"type": "boolean"}, 1, "true or false is needed"),
        ({"type": "string", "maxLength": 2}, "abc", "string should have at most 2 characters"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "abc", "must match '^[A-Z]+$'"),
        ({"type": "string", "pattern": "a(?=b)"}, "ac", "must match"),
        ({"type": "integer", "minimum": 1}, 0, "greater than or equal to 1"),
        ({"type": "array", "items": {}, "maxItems": 1}, [1, 2], "at most 1 item"),
        ({"enum": ["a", 3]}, "b", 'one of "a", 3 is needed'),
        ({"const": 1}, True, "one of 1 is needed"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, [1], "valid integer or input should be a valid string"),
        ({"type": "string", "format": "date-time"}, "2026-01-31", "format date-time, like 2026-01-31T12:00:00Z"),
        ({"type": "string", "format": "date"}, "31.1.2026", "format date, like"),
        ({"type": "string", "format": "uuid"}, "x", "format uuid, like"),
        ({"type": "string", "format": "email"}, "x", "format email, like"),
        ({"type": "string", "format": "uri"}, "x y", "format uri, like"),
        ({"type": "string", "format": "ipv4"}, "1.2.3", "format ipv4, like"),
        ({"type": "string", "format": "byte"}, "?", "format byte, like"),
        ({"not": {"const": 3}}, 3, "should not be valid"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "non-unique"),
        ({"type": "array", "contains": {"const": 1}}, [2], "does not contain"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "valid under each of"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "x"}, "valid integer"),
        ({"type": "object", "additionalProperties": False}, {"a": "x"}, "is not known here"),
        (False, 1, "no value is allowed"),
    ],
)
def test_a_value_that_does_not_fit_is_named(schema: Any, value: Any, message: str) -> None:
    found = faults(arguments({"x": schema}, required=["x"]), {"x": value})
    assert [k.split(".")[0] for k in found] == ["x"]
    assert message in next(iter(found.values()))


def test_every_fault_of_a_call_is_reported() -> None:
    schema = arguments({"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"not": {}}}, required=["a", "b"])
    with pytest.raises(ArgumentError) as caught:
        schema_validate(schema, {"a": "x", "d": 1}, "tool")
    assert [f["argument"] for f in caught.value.details["faults"]] == ["a", "b", "d"]
    assert "d: is not an argument; there are: a, b, c" in caught.value.message


def test_formats_keep_the_text_that_was_given() -> None:
    schema = arguments({"at": {"type": "string", "format": "date-time"}})
    assert schema_validate(schema, {"at": "2026-01-31T12:00:00+00:00"}, "tool") == {"at": "2026-01-31T12:00:00+00:00"}
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    assert schema_validate(schema, {"at": moment}, "tool") == {"at": "2026-01-31T00:00:00+00:00"}


@pytest.mark.parametrize("name", ["page-size", "copy", "json", "class", "_id", "model_dump", "a b", "1st", "self", "é"])
def test_names_that_pydantic_cannot_take(name: str) -> None:
    schema = arguments(
        {name: {"type": "integer"}, "other": {"$ref": "#/$defs/X"}}, **{"$defs": {"X": arguments({name: {}})}}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw = {name: 1, "other": {name: 2}}
        assert schema_validate(schema, raw, "tool") == raw
    assert name in faults(schema, {name: "x"})


@pytest.mark.parametrize("ref", ["other.json#/a", "https://example.org/x", "#/$defs/Missing", "#anchor", 3])
def test_references_that_leave_the_schema_are_refused(ref: Any) -> None:
    with pytest.raises(Unsupported, match="refers to"):
        schema_model(arguments({"a": {"$ref": ref}}), "tool")


def test_a_pattern_that_does_not_parse_is_refused() -> None:
    with pytest.raises(Unsupported, match="no regular expression"):
        schema_model(arguments({"a": {"type": "string", "pattern": "("}}), "tool")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": PATTERN},
        {"type": "array", "items": {"type": "string", "pattern": PATTERN}},
        {"not": {"pattern": PATTERN}},
        {"if": {"pattern": PATTERN}, "then": False},
        {"oneOf": [{"type": "string", "pattern": PATTERN, "maxLength": 100}, {"type": "null"}]},
        {"type": "object", "propertyNames": {"pattern": PATTERN}},
        {"type": "object", "patternProperties": {PATTERN: {"type": "integer"}}},
        {"type": "object", "patternProperties": {PATTERN: True}, "additionalProperties": False},
        {"type": "object", "patternProperties": {PATTERN: True}, "additionalProperties": {"type": "integer"}},
    ],
)
@pytest.mark.parametrize(("pattern", "ends"), [("^(a|a)*$", True), ("^(?!x)(a|a)*$", False)])
def test_no_pattern_hangs_wherever_it_stands(schema: Any, pattern: str, ends: bool) -> None:
    """A linear one is told whether it matches; with look-around the time has a limit."""
    schema = json.loads(json.dumps(schema).replace(PATTERN, pattern))
    text = "a" * 60 + "!"
    value = [text] if schema.get("type") == "array" else {text: 1} if schema.get("type") == "object" else text
    model = schema_model(arguments({"x": schema}), "tool")
    with contextlib.nullcontext() if ends else pytest.raises(ArgumentError, match=r"takes longer than 1 s"):
        schema_faults(model, {"x": value})


@pytest.mark.parametrize("pattern", ["^a$", "^(?!b)a$"])
def test_a_line_s_end_is_no_end_of_a_text(pattern: str) -> None:
    by_type: dict[str, Any] = {"type": "string", "pattern": pattern}
    by_value: dict[str, Any] = {"not": {"not": {"pattern": pattern}}}
    by_name = {"type": "object", "patternProperties": {pattern: {}}, "additionalProperties": False}
    assert not faults(arguments({"x": by_type, "y": by_value, "z": by_name}), {"x": "a", "y": "a", "z": {"a": 1}})
    wrong = faults(arguments({"x": by_type, "y": by_value, "z": by_name}), {"x": "a", "y": "a\n", "z": {"a\n": 1}})
    assert wrong.keys() == {"y", "z"}
    assert faults(arguments({"x": by_type}), {"x": "a\n"}).keys() == {"x"}


def test_the_names_that_patterns_leave_over() -> None:
    schema = {"type": "object", "properties": {"b": {}}, "patternProperties": {"^a": {"type": "integer"}}}
    value = {"b": "x", "a1": 1, "c": 2}
    closed = arguments({"x": {**schema, "additionalProperties": False}})
    assert faults(closed, {"x": value}) == {"x": "'c' does not match any of the regexes: '^a'"}
    texts = arguments({"x": {**schema, "additionalProperties": {"type": "string"}}})
    assert faults(texts, {"x": value}) == {"x.c": "2 is not of type 'string'"}
    assert faults(arguments({"x": schema}), {"x": {"a1": "no"}}) == {"x.a1": "'no' is not of type 'integer'"}
    with pytest.raises(Unsupported, match="unevaluatedProperties and patternProperties"):
        schema_model(arguments({"x": {**schema, "unevaluatedProperties": False}}), "tool")


def test_a_model_of_a_value_that_is_no_object() -> None:
    model = schema_model({"type": "array", "items": {"type": "integer"}}, "result")
    assert issubclass(model, RootModel)
    assert schema_faults(model, [1, 2]) == ([1, 2], [])
    assert schema_faults(model, [1, "x"])[1][0]["argument"] == "1"


def test_the_model_shows_the_schema() -> None:
    properties = {
        "a": {"type": "integer", "minimum": 1, "description": "how many", "default": 2},
        "b": {"type": "string", "format": "date"},
        "c": {"enum": ["x", "y"]},
    }
    shown = schema_model(arguments(properties, required=["c"]), "tool").model_json_schema()
    assert shown["properties"]["a"]["description"] == "how many"
    assert {k: shown["properties"]["b"][k] for k in ("type", "format")} == properties["b"]
    assert shown["properties"]["c"]["enum"] == ["x", "y"]
    assert shown["required"] == ["c"]
    Draft202012Validator.check_schema(shown)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "b", "2026-01-31"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
scalars = st.sampled_from(
    [
        {"type": "integer", "minimum": 0},
        {"type": "number", "exclusiveMaximum": 3},
        {"type": "string", "minLength": 1},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": [1, "a", None, True]},
        {"type": ["integer", "null"]},
        {"type": "string", "pattern": "^a"},
        {"not": {"type": "string"}},
        {},
        True,
    ]
)


def _combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
    objects = st.builds(
        lambda p, r, more: {"type": "object", "properties": p, "required": r, **more},
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        names,
        st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": {"type": "integer"}}]),
    )
    return (
        objects
        | st.builds(lambda i, n: {"type": "array", "items": i, "maxItems": n}, inner, st.integers(0, 3))
        | st.builds(
            lambda key, b: {key: b},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        )
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "enum": [1, "a", None, True]},
        {"allOf": [{"type": "integer"}, {"enum": [1, "a", None, True]}]},
        {"type": "integer", "const": "a"},
        {"enum": [1, 20], "maximum": 5},
        {"const": 1, "enum": [2]},
    ],
)
@pytest.mark.parametrize("value", [None, True, 1, 2, 20, "a"])
def test_a_listed_value_must_keep_the_other_rules_too(schema: dict[str, Any], value: Any) -> None:
    _, found = schema_faults(schema_model(arguments({"x": schema}, required=["x"]), "tool"), {"x": value})
    assert (not found) == Draft202012Validator(schema).is_valid(value)


@settings(max_examples=300, deadline=None)
@given(st.recursive(scalars, _combined, max_leaves=6), values)
def test_agrees_with_json_schema(schema: Any, value: Any) -> None:
    """What JSON Schema accepts is accepted and unchanged; what is accepted comes out as JSON Schema accepts it."""
    whole = arguments({"x": schema}, required=["x"])
    out, found = schema_faults(schema_model(whole, "tool"), {"x": value})
    judge = Draft202012Validator(schema)
    if judge.is_valid(value):
        assert not found
        assert json.dumps(out["x"], sort_keys=True) == json.dumps(value, sort_keys=True)
    elif not found:
        assert judge.is_valid(out["x"])


@settings(max_examples=100, deadline=None)
@given(st.recursive(scalars, _combined, max_leaves=8) | values)
def test_any_schema_gives_a_model_or_is_refused(schema: Any) -> None:
    with contextlib.suppress(Unsupported):
        schema_model(arguments({"x": schema}), "tool")
