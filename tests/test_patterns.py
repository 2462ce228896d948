from __future__ import annotations

import pytest

from abi.errors import ArgumentError
from abi.patterns import bounded, compiled

HANGS = "(?!x)(a|a)*$"
"""Takes more steps than a lifetime has, for a text that it does not match."""
LONG = "a" * 60 + "!"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a+$", "aa", True),
        ("^a+$", "aa\n", False),
        ("^(?!b)a+$", "aa", True),
        ("^(?!b)a+$", "aa\n", False),
        (r"^(?!b)a\$$", "a$", True),
        (r"^(?!b)[$\]]+$", "$]", True),
        (r"^(?!b)[^$]$", "a", True),
        (r"^(?<q>['\"]).\k<q>$", "'x'", True),
        (r"^(?<q>['\"]).\k<q>$", "'x\"", False),
        (r"^(.)\1$", "aa", True),
        (r"^(?=.)\p{L}\u00e9\/$", "xé/", True),
        ("b(?=c)", "abc", True),
    ],
)
def test_a_pattern_is_found_as_ecma_262_has_it(pattern: str, text: str, found: bool) -> None:
    assert compiled(pattern).matches(text) is found


@pytest.mark.parametrize("pattern", ["(", "(?=", "(?=a", "(?=" * 3000 + ")" * 3000, r"(?P<a>x)(?=\k<b>)"])
def test_what_is_no_pattern_is_told(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compiled(pattern)


def test_a_match_that_does_not_end_is_given_up() -> None:
    with pytest.raises(ArgumentError, match=r"takes longer than 1 s") as caught:
        compiled(HANGS).matches(LONG)
    assert "look-around" in caught.value.hint


def test_many_matches_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    class Slow:
        def search(self, text: str, timeout: float) -> None:
            given.append(timeout)

    moments = iter(range(100))
    monkeypatch.setattr("abi.patterns.time.monotonic", lambda: next(moments) * 0.4)
    pattern = compiled("(?=b)c")
    monkeypatch.setattr(pattern, "_backtracking", Slow())
    with bounded():
        for _ in range(4):
            pattern.matches("a")
    pattern.matches("a")
    assert given == pytest.approx([1.0, 0.6, 0.2, 0.001, 1.0])
