from __future__ import annotations

import contextlib

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import AbiError, QueryRefused, QuerySyntaxError
from abi.graph.tokens import tokenize


def words(text: str) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT*{?s ?p$o}", "word:SELECT punct:* punct:{ var:?s var:?p var:$o punct:}"),
        ("a:b.c.", "pname:a:b.c punct:."),
        ("a:b\\,c:%20.x:", "pname:a:b\\,c:%20.x:"),
        (":x", "pname::x"),
        (":", "pname::"),
        ("é.f-g:h", "pname:é.f-g:h"),
        ("true.SERVICE", "word:true punct:. word:SERVICE"),
        ("_:b1.c. ", "bnode:_:b1.c punct:."),
        (
            "1 1.5 .5 1. 1e5 1.e5 .5E-3",
            "number:1 number:1.5 number:.5 number:1 punct:. number:1e5 number:1.e5 number:.5E-3",
        ),
        ('"a"@en-GB "b"^^a:b', 'string:"a" langtag:@en-GB string:"b" punct:^^ pname:a:b'),
        ("'''it's''' ''", "string:'''it's''' string:''"),
        ('"SERVICE # not \\" one" #SERVICE\r?x', 'string:"SERVICE # not \\" one" var:?x'),
        ("<http://a/#b>?c", "iri:<http://a/#b> var:?c"),
        ("?a <= ?b&&?c>=3||!?d", "var:?a punct:<= var:?b punct:&& var:?c punct:>= number:3 punct:|| punct:! var:?d"),
        ("<<?a ?b ?c>>", "punct:<< var:?a var:?b var:?c punct:>>"),
        ("<urn:p>?", "iri:<urn:p> punct:?"),
        ("<urn:\\u00e9>", "iri:<urn:\\u00e9>"),
    ],
)
def test_kinds(text: str, expected: str) -> None:
    assert " ".join(f"{k}:{t}" for k, t in words(text)) == expected


def test_positions_count_lines_of_every_kind_of_ending() -> None:
    tokens = tokenize('a:b\r\n"""x\ny"""\r ?z # c\n?w')
    assert [(t.line, t.column) for t in tokens] == [(1, 1), (2, 1), (4, 2), (5, 1)]
    assert [t.kind for t in tokenize("?a #x\n?b", comments=True)] == ["var", "comment", "var"]


def test_names() -> None:
    iri, var, word = tokenize("<urn:x> ?abc filter")
    assert (iri.name, var.name, word.upper, var.upper) == ("urn:x", "abc", "FILTER", "")


@pytest.mark.parametrize(
    "text",
    [
        '"abc',
        "'''abc''",
        '"a\nb"',
        "\x00",
        "?x \u00a0",
        "§",
        '"\\x"',
        '"""\\x"""',
        '"\\uD800"',
        '"\\U00110000"',
        "\\u0053ERVICE",
    ],
)
def test_unreadable(text: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        tokenize(text)
    assert caught.value.details["line"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { FILTER(?a<?b)SERVICE?x#>\n{?a ?b ?c}}",
        "SELECT * { FILTER(?a<b:c)SERVICE?x#>\n{?a ?b ?c}}",
        "SELECT * { FILTER(1<<http://a/#>)SERVICE<http://b/>{}\n)}",
        "SELECT * { FILTER((1)<urn:x#>)\n}",
        "SELECT * { FILTER(true<?b&&?c>1) }",
    ],
)
def test_a_comparison_that_could_be_an_iri_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused, match="IRI or as a comparison"):
        tokenize(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { FILTER(?a IN (<urn:a#b>, <urn:c?d>)) VALUES (?a ?b) { (<urn:a#b> <urn:c#d>) } }",
        "SELECT * { FILTER(?a < ?b && ?c > 1 && ?a = <urn:x#y>) ?a <urn:p#q> <urn:x?y> }",
        "SELECT * { ?a ?b (?c <http://x/?y#z> <urn:a:b>) }",
    ],
)
def test_plain_iris_stay_what_they_are(text: str) -> None:
    assert tokenize(text)


@pytest.mark.parametrize(
    "unit", ["a.", "<", "<a", "?", "-", "a-", "_:", "a:", ".", '""', "'", "\\", "@a-", "1e", "{", "#\n"]
)
def test_hostile_repetition_is_linear(unit: str) -> None:
    with contextlib.suppress(AbiError):
        tokenize(unit * (65_536 // len(unit)))


FRAGMENTS = (
    "SELECT * WHERE { } ( ) "
    "?a ?b $c <urn:x> <http://x/#y> <urn:x#y> a:b : :c a:b.c . ; , [ ] # \n \r \t FILTER BIND AS IN "
    'SERVICE < > << >> = != <= && || ! + - * / ^ ? | true a 1 1.5 1. .5 1e5 \'x\' "y" \'\' "" """z""" @en ^^ \\ _:b '
    "VALUES UNDEF OPTIONAL UNION EXISTS IF COUNT LIMIT e E x \\u0041 \\x \" '"
).split(" ")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14), st.sampled_from(["", " "]))
def test_what_the_parser_reads_is_what_the_tokens_say(fragments: list[str], between: str) -> None:
    """Where the parser takes a text, it takes the same tokens with white space between them and gives the same rows."""
    for shell in ("SELECT*{?a ?b ?c%s}", "SELECT*{FILTER(?a%s)}", "SELECT*{?a ?b %s}", "SELECT*{VALUES(?a ?b){(%s)}}"):
        text = "PREFIX a: <urn:a> PREFIX : <urn:e> " + shell % between.join(fragments)
        try:
            tokens = tokenize(text)
        except AbiError:
            continue
        if any("SERVICE" in t.text.upper() for t in tokens if t.kind in ("word", "pname")):
            continue
        assert "".join(t.text for t in tokenize(text, comments=True)) == "".join(_without_space(text))
        outcome = _evaluate(text)
        if outcome is not None:
            assert outcome == _evaluate(_spaced(tokens)), _spaced(tokens)


def _spaced(tokens: tuple) -> str:  # type: ignore[type-arg]
    out: list[str] = []
    for token in tokens:
        glued = token.kind == "langtag" or token.text == "^^" or (out and out[-1] == "^^")
        out.append(token.text if glued else "\n" + token.text)
    return "".join(out)


def _without_space(text: str) -> list[str]:
    out, position = [], 0
    for token in tokenize(text, comments=True):
        assert not text[position : token.start].strip(" \t\r\n")
        out.append(token.text)
        position = token.end
    assert not text[position:].strip(" \t\r\n")
    return out


def _evaluate(text: str) -> list[str] | None:
    try:
        return [str(s) for s in pyoxigraph.Store().query(text)]  # type: ignore[union-attr]
    except (SyntaxError, ValueError, OSError):
        return None
