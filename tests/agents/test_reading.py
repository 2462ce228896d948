"""Words, values and entities of a message."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.agents.cards import ToolCard, card_of_schema
from abi.agents.mentions import general_form
from abi.agents.reading import Reading, read
from abi.agents.typed import extract
from abi.agents.words import content_stems, split_name, stem
from abi.records.record import Parameter

from .conftest import BASE, SmallServices

XSD = "http://www.w3.org/2001/XMLSchema#"


class NoLinker:
    def mentions(self, message: str) -> list:
        return []


def reading(text: str) -> Reading:
    return read(text, NoLinker())


def value(text: str, *others: Parameter, **parameter: object) -> object:
    asked = Parameter(**{"name": "x", **parameter})  # type: ignore[arg-type]
    card = ToolCard("find_things", "find_things", "Finds things.", (asked, *others))
    found = extract(asked, card, reading(text), [])
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("text", "parameter", "expected"),
    [
        ("the top 5 airports", {"name": "limit", "datatype": XSD + "integer", "required": False}, 5),
        ("the 5 busiest airports", {"name": "limit", "datatype": XSD + "integer", "required": False}, 5),
        ("the five busiest airports", {"name": "limit", "datatype": XSD + "integer", "required": False}, 5),
        ("airports of 2008", {"name": "limit", "datatype": XSD + "integer", "required": False}, None),
        ("at least 1,200 flights", {"name": "min_flights", "datatype": XSD + "integer", "required": False}, 1200),
        ("within 3 hops", {"name": "hops", "datatype": XSD + "integer", "required": False}, 3),
        ("a size of 2.5", {"name": "size", "datatype": XSD + "decimal"}, 2.5),
        ("a size of 2.5", {"name": "size", "datatype": XSD + "integer"}, None),
        ("7 of them", {"datatype": XSD + "integer", "maximum": 5}, None),
        ("since 2026-01-31", {"datatype": XSD + "dateTime"}, "2026-01-31T00:00:00+00:00"),
        ("since 31 January 2026", {"datatype": XSD + "date"}, "2026-01-31"),
        ("since March 3rd, 2026", {"datatype": XSD + "date"}, "2026-03-03"),
        ("since 2026-02-31", {"datatype": XSD + "date"}, None),
        ('called "Boise Air"', {}, "Boise Air"),
        ("things in ID", {"pattern": "[A-Z]{2}"}, "ID"),
        ("is it in us", {"pattern": "[A-Z]{2}"}, None),
        ("the code BOI", {"examples": ["SEA"]}, "BOI"),
        ("sort it descending", {"enum": ["ascending", "descending"]}, "descending"),
        ("a round trip", {"enum": ["one_way", "round_trip"]}, "round_trip"),
        ("find things about blue whales", {}, "about blue whales"),
        ("see https://example.org/a.", {"datatype": XSD + "anyURI"}, "https://example.org/a"),
    ],
)
def test_typed_extraction(text: str, parameter: dict, expected: object) -> None:
    found = value(text, **parameter)
    assert found == expected or (expected == "about blue whales" and found == "blue whales")


def test_a_range_of_dates() -> None:
    text = "from 2026-01-01 to 2026-02-01"
    assert value(text, name="start", datatype=XSD + "date") == "2026-01-01"
    assert value(text, name="end", datatype=XSD + "date") == "2026-02-01"


def test_dates_are_aware() -> None:
    (found,) = reading("at 2026-01-31T10:00:00Z").of("date")
    assert found.value == datetime(2026, 1, 31, 10, tzinfo=UTC)


def test_entities_are_linked_and_everyday_words_are_not(services: SmallServices) -> None:
    found = read("How far is it from Boise Air Terminal to SEA?", services.linker)
    assert [f.text for f in found.entities] == ["Boise Air Terminal", "SEA"]
    assert found.entities[1].candidates[0].iri == BASE + "SEA"


def test_names_that_the_graph_does_not_hold_are_noticed(services: SmallServices) -> None:
    found = read("Flights from New Atlantis to SEA", services.linker)
    assert [f.text for f in found.of("unknown")] == ["New Atlantis"]


def test_general_form(services: SmallServices) -> None:
    def general(text: str) -> str:
        return general_form(text, services.linker.mentions(text))

    assert general("direct flights from SEA") == "direct flights from an airport"
    assert general("airports in Idaho please") == "airports in a state please"
    assert general("and from SEA?") == "and from SEA?"
    assert general("SEA") == "SEA"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("flights", "flight"),
        ("cities", "city"),
        ("busiest", "busy"),
        ("flying", "fly"),
        ("stopped", "stop"),
        ("routes", "route"),
    ],
)
def test_stems(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_synonyms_are_few_and_general() -> None:
    assert stem("flew") in content_stems(["flights"])
    assert stem("price") not in content_stems(["flights of an airport"])
    assert stem("airline") not in content_stems(["flights of an airport"])


def test_names_are_split() -> None:
    assert split_name("https://example.org/x#findDirectRoutes") == ["find", "Direct", "Routes"]
    assert split_name("find_direct-routes") == ["find", "direct", "routes"]


def test_a_tool_without_a_record_is_read_from_its_schema() -> None:
    card = card_of_schema(
        "add",
        "Adds.",
        {"properties": {"a": {"type": "integer"}, "b": {"anyOf": [{"type": "number"}]}}, "required": ["a"]},
    )
    assert [(p.name, p.datatype, p.required) for p in card.parameters] == [
        ("a", XSD + "integer", True),
        ("b", XSD + "double", False),
    ]


@settings(max_examples=200)
@given(st.text(max_size=120))
def test_any_text_can_be_read(text: str) -> None:
    found = reading(text)
    assert all(0 <= f.start < f.end <= len(text) for f in found.found)
    spans = sorted((f.start, f.end) for f in found.found)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    for name, datatype in (("limit", "integer"), ("x", "string"), ("x", "date"), ("x", "anyURI"), ("x", "double")):
        value(text, name=name, datatype=XSD + datatype)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When will it fly?", ["will", "fly"]),
        ("Will you list them?", []),
        ("I will fly", ["fly"]),
        ("What will we list next?", ["next"]),
        ("Why is it there?", ["Why"]),
    ],
)
def test_words_that_ask_for_a_reason_or_for_what_is_to_come_tell_what_is_asked(text: str, expected: list[str]) -> None:
    assert [w for w, _, _ in reading(text).content()] == expected
