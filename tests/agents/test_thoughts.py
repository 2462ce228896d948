from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.agents.thoughts import ThoughtFilter, without_thoughts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a<think>b</think>\n c", "ac"),
        ("<think>never ends", ""),
        ("a < b <thin", "a < b <thin"),
        ("<think></think>", ""),
    ],
)
def test_thoughts_are_left_out(text: str, said: str) -> None:
    assert without_thoughts(text) == said


_PARTS = st.lists(st.sampled_from(["<think>", "</think>", "<", "<th", "a", " ", "\n", ">"]), max_size=12)


@given(_PARTS, st.data())
def test_in_pieces_as_in_whole(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    thoughts, said = ThoughtFilter(), ""
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        said += thoughts(text[start:stop])
    assert said + thoughts.rest() == without_thoughts(text)
