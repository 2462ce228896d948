from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.agents.choice import Picked, intents_question, pick

OPTIONS = ["route_finder", "airport_guide", "Portland Intl"]


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        ("1", 0),
        (" 2. ", 1),
        ("#3", 2),
        ("the first", 0),
        ("second one please", 1),
        ("number 3", 2),
        ("option two", 1),
        ("the last one", 2),
        ("route_finder", 0),
        ("Route Finder", 0),
        ("airport guide!", 1),
        ("portland intl", 2),
        ("Portland", 2),
        ("I want the airport guide", 1),
    ],
)
def test_by_number_by_ordinal_or_by_name(answer: str, index: int) -> None:
    assert pick(answer, OPTIONS) == Picked(index)


@pytest.mark.parametrize("answer", ["0", "4", "99", "the fifth"])
def test_out_of_range(answer: str) -> None:
    assert pick(answer, OPTIONS) == Picked(None, out_of_range=True)


@pytest.mark.parametrize(
    "answer", ["", "something else", "which 2 airports are the busiest of all states?", "intl guide"]
)
def test_what_names_no_option(answer: str) -> None:
    assert pick(answer, OPTIONS) == Picked(None)


@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=6))
def test_any_answer_to_any_options(answer: str, options: list[str]) -> None:
    picked = pick(answer, options)
    assert picked.index is None or 0 <= picked.index < len(options)


def test_the_question_reads_as_abi_asks_it() -> None:
    assert intents_question([("A", "do a", 0.95), ("B", "do b", 0.9)]) == (
        "I found multiple intents that could handle your request:\n\n"
        "1. **A** (confidence: 95.0%)\n   Intent: do a\n\n"
        "2. **B** (confidence: 90.0%)\n   Intent: do b\n\n"
        "Please choose an intent by number (e.g., '1' or '2')"
    )
