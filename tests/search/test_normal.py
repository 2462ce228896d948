from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.search.normal import content_words, normal, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Boise Air Terminal", "boise air terminal"),
        ("  St. Louis,\tMissouri ", "st louis missouri"),
        ("Chicago O'Hare", "chicago ohare"),
        ("Boise's airport", "boise airport"),
        ("Boise’s", "boise"),
        ("ÜBER-Straße", "uber strasse"),
        ("Zürich/Kloten", "zurich kloten"),
        ("find_direct_routes", "find direct routes"),
        ("東京", "東京"),
        ("...", ""),
    ],
)
def test_normal(text: str, expected: str) -> None:
    assert normal(text) == expected


@given(st.text(max_size=60))
def test_normal_is_stable_and_spans_are_true(text: str) -> None:
    once = normal(text)
    assert normal(once) == once
    for word in words_of(text):
        assert 0 <= word.start < word.end <= len(text)
        assert '"' not in word.normal
        assert " " not in word.normal


def test_content_words() -> None:
    assert content_words("What are the flights from Boise? Flights!") == ["flights", "boise"]
    assert content_words("what is it") == ["what", "is", "it"]
