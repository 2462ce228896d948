from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import UsageError
from abi.records.annotation_predicate import And, Compare, In, Not, Or, Predicate, parse_predicate


def eq(key: str, value: str) -> Compare:
    return Compare(key, "=", value)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ('a="b"', eq("a", "b")),
        (' key =   "value"  ', eq("key", "value")),
        ('"v" = k OR k2="v2"', Or((eq("k", "v"), eq("k2", "v2")))),
        ('a="b"OR c="d"', Or((eq("a", "b"), eq("c", "d")))),
        ('a="b"ORc="d"andorder="e"', Or((eq("a", "b"), And((eq("c", "d"), eq("order", "e")))))),
        ('a="b" and c="d" or e="f"', Or((And((eq("a", "b"), eq("c", "d"))), eq("e", "f")))),
        ('a="b" AND (c="d" OR e="f")', And((eq("a", "b"), Or((eq("c", "d"), eq("e", "f")))))),
        ('NOT a="b"', Not(eq("a", "b"))),
        ('not (a != "b")', Not(Compare("a", "!=", "b"))),
        ('a IN ("b", "c d")', In("a", ("b", "c d"))),
        ('a.b-c="1.0 / x"', eq("a.b-c", "1.0 / x")),
        (r'a="say \"hi\" \\"', eq("a", 'say "hi" \\')),
        ('in="x" AND not="y"', And((eq("in", "x"), eq("not", "y")))),
        ('a="b" AND a="c"', And((eq("a", "b"), eq("a", "c")))),
    ],
)
def test_valid_predicates(text: str, tree: Predicate) -> None:
    assert parse_predicate(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "a",
        "a=b",
        "a='b'",
        'a="b" c="d"',
        'a="b" And c="d"',
        'a="b" AND',
        'AND a="b"',
        '(a="b"',
        'a="b")',
        "()",
        "NOT",
        'a IN "b"',
        "a IN ()",
        'a IN ("b",)',
        'a="b',
        '"a"="b"',
        'a="b"; DROP SCOPE myscope.mycollection;',
        "(" * 100 + 'a="b"' + ")" * 100,
        "NOT " * 100 + 'a="b"',
        'a="' + "x" * 5000 + '"',
    ],
)
def test_invalid_predicates_say_where_and_how(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_predicate(text)
    assert 'KEY = "VALUE"' in caught.value.hint


@settings(max_examples=150)
@given(st.text(max_size=60))
def test_any_value_can_be_written(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_predicate(f'key = "{escaped}"') == eq("key", value)


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["a", '"b"', "=", "!=", "(", ")", ",", "AND", "OR", "NOT", "IN", " ", "'"])).map(" ".join)
)
def test_any_text_parses_or_is_told(text: str) -> None:
    try:
        parse_predicate(text)
    except UsageError as error:
        assert error.message
