from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import ArgumentError, QueryRefused
from abi.graph.tokens import tokenize
from abi.graph.value_places import Piece, fill, listed_keywords, places

hostile = st.text(max_size=40) | st.text(st.sampled_from("\"'\\{}<>#?$.;,|^`()uU0041 \n\r\t\x00x:@-"), max_size=40)


def pieces(template: str, *values: str | None) -> list[Piece]:
    """`template` with `%` for each value, whose arguments are a, b, c."""
    parts = template.split("%")
    found = [Piece(parts[0])]
    for name, value, part in zip("abc", values, parts[1:], strict=False):
        found += [Piece(value, (name,)), Piece(part)]
    return found


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        ('ASK { ?s ?p "%" }', "string"),
        ("ASK { ?s ?p '''a % b''' }", "string"),
        ("ASK { ?s a <%> }", "iri"),
        ("ASK { ?s a <http://e.org/%> }", "iri"),
        ("SELECT * { ?s ?p ?o } LIMIT %", "count"),
        ("SELECT * { ?s ?p ?o } # %\n", "comment"),
        ("ASK { ?s ?p ?o FILTER(?o > %) }", "term"),
    ],
)
def test_the_place_of_a_value(template: str, kind: str) -> None:
    assert [p.kind for p in places(pieces(template, "1"))] == [kind]


@pytest.mark.parametrize(
    "template",
    [
        "ASK { ?% ?p ?o }",
        "ASK { ?s ex:% ?o }",
        "ASK { ?s %:x ?o }",
        'ASK { ?s ?p "x"@% }',
        "ASK { _:% ?p ?o }",
        "PREFIX x: <%> ASK { ?s x:p ?o }",
        "BASE <%> ASK { ?s <p> ?o }",
        "PREFIX %: <urn:x:> ASK { ?s ?p ?o }",
        "ASK { ?s ?p x% }",
    ],
)
def test_where_no_value_may_stand_the_argument_is_named(template: str) -> None:
    with pytest.raises(QueryRefused, match=r"\ba\b") as error:
        fill(pieces(template, "x"))
    assert error.value.details["argument"] == "a"


@pytest.mark.parametrize(
    ("template", "good", "bad"),
    [
        (
            "ASK { ?s a <%> }",
            ["http://e.org/x", "urn:x:y"],
            ["x", "", "urn:a> ?p ?o . <urn:b", "urn:a b", "urn:\\u003e"],
        ),
        ("ASK { ?s a <http://e.org/%> }", ["", "x/y"], ["x>", "a b", '"']),
        ("SELECT * { ?s ?p ?o } LIMIT %", ["0", "10"], ["-1", "1.5", "1 OFFSET 2", "", "ex:a", "9" * 19, "1}#"]),
        (
            "PREFIX ex: <urn:e:> ASK { ?s ?p % }",
            ["1", "-2", "1.5e3", "ex:a", "<urn:x>"],
            ["", "x", "?x", '"x"', "ex:a ex:b", "ex:a#", "other:a", "true", "1 ; ?p 2", "<x>", "1}", "+ 1", "a"],
        ),
    ],
)
def test_what_may_stand_in_a_place(template: str, good: list[str], bad: list[str]) -> None:
    for value in good:
        assert value in fill(pieces(template, value))
    for value in bad:
        with pytest.raises(ArgumentError, match=r"\ba\b"):
            fill(pieces(template, value))


def test_keywords_are_those_that_a_pattern_lists() -> None:
    assert listed_keywords("^(ASC|DESC)$") == listed_keywords("ASC|DESC") == ("ASC", "DESC")
    assert listed_keywords("^(?:a|b)$") == ("a", "b") and listed_keywords(".+") == listed_keywords(None) == ()
    template = "SELECT * { ?s ?p ?o } ORDER BY %(?s)"
    assert "DESC" in fill(pieces(template, "DESC"), {"a": ("ASC", "DESC")})
    for value in ("desc", "ASC(?p) DESC", "STR"):
        with pytest.raises(ArgumentError, match=r"one of ASC, DESC"):
            fill(pieces(template, value), {"a": ("ASC", "DESC")})


def test_a_value_that_is_missing_is_named() -> None:
    with pytest.raises(ArgumentError, match="a: is not given"):
        fill(pieces('ASK { ?s ?p "%" }', None))


def test_two_values_in_one_string() -> None:
    assert fill(pieces('ASK { ?s ?p "%-%" }', 'x"', "\\")) == 'ASK { ?s ?p "x\\"-\\\\" }'


@settings(max_examples=100, deadline=None)
@given(value=hostile, quotes=st.sampled_from(['"', "'", '"""', "'''"]))
def test_a_string_stays_one_string_and_says_what_was_given(value: str, quotes: str) -> None:
    from pyoxigraph import Literal, Store

    text = f"SELECT ({quotes}a %{quotes} AS ?x) " + "{ }"
    try:
        query = fill(pieces(text, value))
    except ArgumentError as error:
        assert "surrogate" in str(error)
        return
    assert [t.kind for t in tokenize(query)] == [t.kind for t in tokenize(text.replace("%", "v"))]
    (row,) = Store().query(query)  # type: ignore[misc]
    assert row["x"] == Literal("a " + value)


@settings(max_examples=100, deadline=None)
@given(value=hostile)
@pytest.mark.parametrize(
    "template", ["ASK { ?s a <%> }", "ASK { ?s ?p % }", "SELECT * { ?s ?p ?o } LIMIT %", "ASK { ?s ?p ?o } # %\n"]
)
def test_whatever_passes_changes_one_token_only(template: str, value: str) -> None:
    try:
        query = fill(pieces(template, value))
    except ArgumentError:
        return
    before, after = tokenize(template.replace("%", "1")), tokenize(query)
    assert len(before) <= len(after) <= len(before) + 1  # a sign is a token of its own
    assert before[0].text == after[0].text and before[-1].kind == after[-1].kind
