from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from abi import terms
from abi.search.documents import Document
from abi.search.index import SearchIndex
from abi.search.linker import Linker, Mention

BASE = "https://example.org/flights/"
AIRPORT, CITY, PLACE = f"{BASE}Airport", f"{BASE}City", f"{BASE}Place"


@pytest.fixture
def linker(index: SearchIndex) -> Linker:
    return Linker(index)


def said(mentions: list[Mention]) -> list[tuple[str, list[str]]]:
    """Each mention with the candidates that share its best score."""
    return [
        (m.text, [c.iri.removeprefix(BASE) for c in m.candidates if c.score == m.candidates[0].score]) for m in mentions
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("How do I fly from Boise Air Terminal to PDX?", [("Boise Air Terminal", ["BOI"]), ("PDX", ["PDX"])]),
        ("BOI-SEA", [("BOI", ["BOI"]), ("SEA", ["SEA"])]),
        ("from boi to sea", [("boi", ["BOI"]), ("sea", ["SEA"])]),
        ("I like the sea", []),
        ("now or never", []),
        ("flights to OR", [("OR", ["OR"])]),
        ("is sea-tac open", [("sea-tac", ["SEA"])]),
        ("chicago ohare international's lounge", [("chicago ohare international's", ["ORD"])]),
        ("Chicago O’Hare International", [("Chicago O’Hare International", ["ORD"])]),
        ("a CHICAGO  o'hare, international", [("CHICAGO  o'hare, international", ["ORD"])]),
        ("Bosie Air Terminal", [("Bosie Air Terminal", ["BOI"])]),
        ("the O'Hare airport", [("O'Hare", ["ORD"])]),
        ("thank you very much", []),
        ("", []),
    ],
)
def test_airports(linker: Linker, message: str, expected: list[tuple[str, list[str]]]) -> None:
    assert said(linker.mentions(message, classes=[AIRPORT, CITY])) == expected


def test_the_longest_match_wins(linker: Linker) -> None:
    mentions = linker.mentions("Portland International Jetport", classes=[AIRPORT])
    assert said(mentions) == [("Portland International Jetport", ["PWM"])]
    assert said(linker.mentions("Portland International", classes=[AIRPORT])) == [("Portland International", ["PDX"])]


def test_ambiguity_is_kept(linker: Linker) -> None:
    (mention,) = linker.mentions("what is in Portland", classes=[CITY])
    assert [c.iri for c in mention.candidates] == [f"{BASE}portland_me", f"{BASE}portland_or"]
    assert {c.score for c in mention.candidates} == {1.0}
    (airports,) = linker.mentions("what is in Portland", classes=[AIRPORT])
    assert {c.iri for c in airports.candidates} == {f"{BASE}PDX", f"{BASE}PWM"}
    assert all(0.5 < c.score < 0.85 for c in airports.candidates)


def test_without_a_class_the_exact_label_comes_first(linker: Linker) -> None:
    (mention,) = linker.mentions("flights from Boise")
    assert (mention.start, mention.end, mention.text) == (13, 18, "Boise")
    assert [(c.label, c.cls) for c in mention.candidates] == [("Boise", CITY), ("Boise Air Terminal", AIRPORT)]


def test_subclasses_count(linker: Linker) -> None:
    assert {c.cls for m in linker.mentions("Boise", classes=[PLACE]) for c in m.candidates} == {AIRPORT, CITY}


def test_classes_are_mentioned_too(linker: Linker) -> None:
    (mention,) = linker.mentions("which airports are there")
    assert [(c.iri, c.cls) for c in mention.candidates] == [(AIRPORT, terms.OWL_CLASS)]
    assert linker.mentions("which airports are there", families=["entity"]) == []
    (mention,) = linker.mentions("located in", families=["property"])
    assert mention.candidates[0].iri == f"{BASE}locatedIn"


def test_all_capitals_are_no_codes(linker: Linker) -> None:
    assert said(linker.mentions("WHAT OR WHO IS FROM BOI", classes=[AIRPORT, CITY])) == [("BOI", ["BOI"])]


def test_it_follows_the_index(linker: Linker, index: SearchIndex) -> None:
    assert linker.mentions("to Pocatello Regional") == []
    new = Document(f"{BASE}PIH", "entity", "entity", "Pocatello Regional", "Pocatello Regional")
    index.sync([Document(**{**_fields(new), "labels": (("label", "Pocatello Regional"),)})], [], 9)
    assert said(linker.mentions("to Pocatelo Regional")) == [("Pocatelo Regional", ["PIH"])]
    index.sync([], [new.iri], 10)
    assert linker.mentions("to Pocatello Regional") == []


def _fields(document: Document) -> dict[str, object]:
    return {name: getattr(document, name) for name in Document.__slots__}


words = st.sampled_from(
    "from to Boise BOI sea portland International's O'Hare , . … Termnal air or 12 \u0130 ß 東京".split(" ")
)


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(words, max_size=15).map(" ".join) | st.text(max_size=40))
def test_mentions_are_spans_in_order(linker: Linker, message: str) -> None:
    end = 0
    for mention in linker.mentions(message):
        assert end <= mention.start < mention.end <= len(message)
        assert message[mention.start : mention.end] == mention.text
        assert mention.candidates
        assert all(0 < c.score <= 1 for c in mention.candidates)
        end = mention.end
