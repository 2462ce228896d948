from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.cli.markdown_stream import MarkdownStream

BOLD, CODE, DIM, END = "\x1b[1m", "\x1b[36m", "\x1b[2m", "\x1b[0m"


def whole(*pieces: str) -> str:
    stream = MarkdownStream()
    return "".join(map(stream, pieces)) + stream.rest()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a **b** c", f"a {BOLD}b{END} c"),
        ("2 * 3 ** x", f"2 * 3 {BOLD} x{END}"),
        ("run `abi ls`.", f"run {CODE}abi ls{END}."),
        ("# Title\ntext", f"{BOLD}Title{END}\ntext"),
        ("- one\n* two\n-three", "\N{BULLET} one\n\N{BULLET} two\n-three"),
        ("```sparql\nSELECT * {}\n```\nend", f"{DIM}SELECT * {{}}\n{END}end"),
        ("**never closed\nnext", f"{BOLD}never closed{END}\nnext"),
        ("#no heading", "#no heading"),
    ],
)
def test_marks_become_styles(text: str, shown: str) -> None:
    assert whole(text) == shown
    assert whole(*text) == shown


@given(st.text(alphabet="ab *`#-\n", max_size=40), st.integers(1, 5))
def test_any_pieces_give_the_same_and_no_word_is_lost(text: str, size: int) -> None:
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    shown = whole(*pieces)
    assert shown == whole(text)
    plain = re.sub(r"\x1b\[\d+m", "", shown)
    if "```" not in text:
        assert re.sub(r"[^ab]", "", plain) == re.sub(r"[^ab]", "", text)


def test_words_do_not_wait_for_the_end_of_their_line() -> None:
    stream = MarkdownStream()
    assert stream("one ") == "one "
    assert stream("two") == "two"
