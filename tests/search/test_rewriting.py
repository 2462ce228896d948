"""Search inside SPARQL: what becomes of each place in which it may stand, evaluated by the store itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import AbiError, QuerySyntaxError
from abi.graph.oxigraph import OxigraphStore
from abi.search.rewriting import rewrite
from abi.settings import PREFIXES

EX = "https://example.org/"
DATA = """
PREFIX ex: <https://example.org/>
INSERT DATA { GRAPH ex:g {
  ex:a a ex:Tool ; ex:name "a" ; ex:size 1 . ex:b a ex:Tool ; ex:name "b" ; ex:size 2, 3 .
  ex:c a ex:Prompt ; ex:name "c" ; ex:size 4 . ex:d a ex:Tool ; ex:name "d" } }
"""
NAMES = {**PREFIXES, "ex": EX}


class Fixed:
    """Finds by the letters of a text: `ab` finds ex:a, then ex:b; the first is the nearest."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def found(self, text: str) -> Sequence[str]:
        self.asked.append(text)
        return [EX + letter for letter in text if letter in "abcd"]

    def similar(self, text: str) -> Mapping[str, float]:
        return {iri: 0.9 - 0.1 * n for n, iri in enumerate(self.found(text))}


@pytest.fixture(scope="module")
def store() -> OxigraphStore:
    made = OxigraphStore.memory(prefixes=NAMES)
    made.update(DATA)
    return made


def ask(store: OxigraphStore, text: str) -> list[dict[str, object]]:
    rows = store.query(rewrite(text, NAMES, Fixed))
    short = [{k: str(v).removeprefix(EX) if isinstance(v, str) else v for k, v in row.items()} for row in rows.python()]
    return [{k: float(v) if not isinstance(v, (str, int)) else v for k, v in row.items()} for row in short]


def names(store: OxigraphStore, text: str, variable: str = "x") -> list[object]:
    return [row[variable] for row in ask(store, text)]


@pytest.mark.parametrize(
    "pattern",
    [
        '?x abi:search "ab"',
        '?x abi:search "ab" .',
        '?x abi:search "ab" ;',
        '?x abi:search "ab" ; .',
        "?x abi:search 'ab'@en .",
        '?x abi:search """ab"""^^xsd:string .',
        '?x <https://w3id.org/abi/search> "ab" .',
        '?x a ex:Tool ; abi:search "ab" .',
        '?x abi:search "ab" ; a ex:Tool .',
        '?x a ex:Tool ; abi:search "ab" ; ex:name ?n .',
        '?x a ex:Tool ;; abi:search "ab" ;; ex:name ?n ; .',
        '?x ex:size ?s, ?t ; abi:search "ab" .',
        '?x ex:name ?n . ?x abi:search "ab" . ?x a ex:Tool',
        'FILTER(?n != "zz") ?x ex:name ?n ; abi:search "ab" .',
        '?y ex:name "c" FILTER(?y != ex:d) ?x ex:name ?n ; abi:search "ab" .',
        '?y ex:name "c" BIND(1 + (2 * 3) AS ?z) ?x ex:name ?n ; abi:search "ab" .',
        '?x (ex:name|ex:size) ?n ; abi:search "ab" FILTER(?n != "zz")',
        'GRAPH ?g { ?x ex:name ?n ; abi:search "ab" }',
        'GRAPH ?g { ?x ex:name ?n } ?x abi:search "ab"',
        '{ ?x abi:search "a" } UNION { ?x abi:search "b" }',
        '{ SELECT ?x WHERE { ?x ex:name ?n ; abi:search "ab" } }',
        '?x abi:search "abc" . ?x abi:search "dab"',
        '?x abi:search "abc" MINUS { ?x abi:search "c" }',
        '?x ex:name ?n FILTER EXISTS { ?x abi:search "ab" }',
        '?x ex:name ?n FILTER NOT EXISTS { ?x abi:search "cd" }',
        '?x abi:search "ab" OPTIONAL { ?x ex:missing ?m }',
        '?x abi:search "ab" # ?x abi:search "cd"\n',
        'VALUES ?x { ex:a ex:b ex:c } ?x abi:search "ab"',
    ],
)
def test_a_pattern_finds(pattern: str, store: OxigraphStore) -> None:
    assert sorted(set(names(store, f"SELECT DISTINCT ?x WHERE {{ {pattern} }}")), key=str) == ["a", "b"]


def test_a_pattern_about_one_thing(store: OxigraphStore) -> None:
    query = "ASK { %s abi:search 'ab' ; ex:name ?n }"
    assert store.query(rewrite(query % "ex:a", NAMES, Fixed)).boolean is True
    assert store.query(rewrite(query % "<https://example.org/c>", NAMES, Fixed)).boolean is False


def test_what_finds_nothing_gives_nothing(store: OxigraphStore) -> None:
    assert names(store, 'SELECT ?x WHERE { ?x abi:search "zzz" }') == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('?x WHERE { ?x a ex:Tool } ORDER BY DESC(abi:similarity(?x, "ba")) ?x', ["b", "a", "d"]),
        ('?x WHERE { ?x a ex:Tool FILTER(abi:similarity(?x, "bca") > 0.75) }', ["b"]),
        ('?x WHERE { FILTER(abi:similarity(?x, "bca") < 0.1) ?x a ex:Tool }', ["d"]),
        ('?x WHERE { ?x a ex:Tool BIND(abi:similarity(?x, "ba") AS ?s) FILTER(?s > 0) } ORDER BY ?s', ["a", "b"]),
        (
            '?x WHERE { ?x a ex:Tool } ORDER BY DESC(abi:similarity(?x, "ba") + abi:similarity(?x, "d")) ?x',
            ["b", "d", "a"],
        ),
        ('?x WHERE { ?x a ex:Tool ; ex:size ?n } GROUP BY ?x ORDER BY DESC(abi:similarity(?x, "ba"))', ["b", "a"]),
        ('?x WHERE { ?x ex:size ?n } GROUP BY ?x HAVING(abi:similarity(?x, "bc") > 0) ORDER BY ?x', ["b", "c"]),
        ('?x WHERE { ?x ex:size ?n } GROUP BY ?x HAVING(MAX(abi:similarity(?x, "bc")) > 0.85)', ["b"]),
        ('?x WHERE { { SELECT ?x WHERE { ?x a ex:Tool } ORDER BY DESC(abi:similarity(?x, "ba")) LIMIT 1 } }', ["b"]),
        ('?x WHERE { SELECT ?x WHERE { ?x a ex:Tool } } ORDER BY DESC(abi:similarity(?x, "da")) LIMIT 1', ["d"]),
        (
            '?x WHERE { { ?x a ex:Prompt } UNION { ?x a ex:Tool } } ORDER BY DESC(abi:similarity(?x, "cd")) LIMIT 2',
            ["c", "d"],
        ),
        (
            "?x WHERE { ?x a ex:Tool OPTIONAL { ?x ex:size ?n"
            ' FILTER(abi:similarity(?x, "a") > 0.5) } FILTER(BOUND(?n)) }',
            ["a"],
        ),
        ('?x WHERE { ?x ex:name ?n ; abi:search "abc" FILTER(abi:similarity(?x, "cb") > 0.85) }', ["c"]),
        ('?x WHERE { ?x a ex:Tool FILTER EXISTS { ?x a ex:Tool FILTER(abi:similarity(?x, "ba") > 0.85) } }', ["b"]),
    ],
)
def test_a_function_orders_and_filters(query: str, expected: list[str], store: OxigraphStore) -> None:
    assert names(store, f"SELECT {query}") == expected


def test_what_is_not_near_has_similarity_0(store: OxigraphStore) -> None:
    query = 'SELECT ?x (abi:similarity(?x, "b") AS ?s) WHERE { ?x a ex:Tool } ORDER BY ?x'
    assert ask(store, query) == [{"x": "a", "s": 0.0}, {"x": "b", "s": 0.9}, {"x": "d", "s": 0.0}]


def test_of_an_iri_it_is_a_number(store: OxigraphStore) -> None:
    assert ask(store, 'SELECT (abi:similarity(ex:b, "ab") AS ?s) (abi:similarity(<urn:z>, "ab") AS ?t) {}') == [
        {"s": 0.8, "t": 0.0}
    ]


def test_in_group_by(store: OxigraphStore) -> None:
    query = 'SELECT ?s (COUNT(*) AS ?n) WHERE { ?x a ex:Tool } GROUP BY (abi:similarity(?x, "b") AS ?s) ORDER BY ?s'
    assert ask(store, query) == [{"s": 0.0, "n": 2}, {"s": 0.9, "n": 1}]


def test_in_aggregates(store: OxigraphStore) -> None:
    query = 'SELECT (MAX(abi:similarity(?x, "ab")) AS ?s) WHERE { ?x a ex:Tool }'
    assert ask(store, query) == [{"s": 0.9}]


@pytest.mark.parametrize(
    "group",
    [
        "?x a ex:Tool ; ex:name ?n",
        "?x a ex:Tool BIND(1 AS ?one) MINUS { ?x ex:none ?m }",
        "?x a ex:Tool FILTER NOT EXISTS { ?x ex:none ?m }",
        "?x a ex:Tool OPTIONAL { ?x ex:size ?n } FILTER(?x != ex:zz)",
        "?x a ex:Tool { SELECT ?x (COUNT(?s) AS ?n) WHERE { ?x ex:name ?s } GROUP BY ?x }",
        "?x a ex:Tool { SELECT * WHERE { ?x ex:name ?s FILTER(STRLEN(?s) > 0) } }",
        "GRAPH ?g { ?x a ex:Tool } VALUES (?p ?q) { (1 2) }",
        "SELECT ?x WHERE { ?x a ex:Tool ; ex:name ?hidden }",
    ],
)
def test_a_star_gives_what_it_gave(group: str, store: OxigraphStore) -> None:
    plain = store.query(f"SELECT * WHERE {{ {group} }}")
    ordered = store.query(rewrite(f'SELECT * WHERE {{ {group} }} ORDER BY abi:similarity(?x, "ab")', NAMES, Fixed))
    assert sorted(ordered.variables) == sorted(plain.variables)
    rows = [sorted(str(sorted(row.items())) for row in found.python()) for found in (ordered, plain)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("query", "says", "column"),
    [
        ("SELECT ?x WHERE { ?x abi:search ?text }", "one text", 22),
        ('SELECT ?x WHERE { ?x abi:search "a", "b" }', "several patterns", 33),
        ('SELECT ?x WHERE { ?x abi:search/ex:name "a" }', "one text", 22),
        ('SELECT ?x WHERE { ?x ^abi:search "a" }', "between a variable", 23),
        ('SELECT ?x WHERE { [] abi:search "a" }', "between a variable", 22),
        ('SELECT ?x WHERE { ?x ex:y [ a ex:Z ; abi:search "a" ] }', "( ) or [ ]", 38),
        ('SELECT ?x WHERE { (1 2) ex:y ?z ; abi:search "a" }', "between a variable", 35),
        ('CONSTRUCT { ?x abi:search "a" } WHERE { ?x a ex:Tool }', "constructed", 16),
        ('CONSTRUCT WHERE { ?x abi:search "a" }', "CONSTRUCT WHERE", 22),
        ("SELECT ?x WHERE { ?x a ex:Tool FILTER(abi:similarity(?x) > 0) }", "is called like", 39),
        ("SELECT ?x WHERE { ?x a ex:Tool FILTER(abi:similarity(?x, ?y) > 0) }", "is called like", 39),
        ('SELECT ?x WHERE { ?x a ex:Tool FILTER(abi:similarity(STR(?x), "a") > 0) }', "is called like", 39),
        ('SELECT ?x WHERE { ?x a ex:Tool FILTER(abi:similarity("x", "a") > 0) }', "a variable or an IRI", 54),
        ('SELECT ?x WHERE { ?x a ex:Tool FILTER(abi:similarity(?y, "a") > 0) }', "?y is not bound", 54),
    ],
)
def test_what_cannot_be_asked_is_told_with_its_place(query: str, says: str, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        rewrite(query, NAMES, Fixed)
    assert says in raised.value.message
    assert raised.value.details == {"line": 1, "column": column}


def test_too_many_searches() -> None:
    patterns = " ".join(f'?x abi:search "a{n}" .' for n in range(21))
    with pytest.raises(QuerySyntaxError, match="at most 20"):
        rewrite(f"SELECT ?x WHERE {{ {patterns} }}", NAMES, Fixed)


def test_a_text_is_read_as_sparql_reads_it() -> None:
    searches = Fixed()
    query = r"""SELECT ?x WHERE { ?x abi:search "it's \"\u00e9\U0001F600\"\t\\n" }"""
    rewrite(query, NAMES, lambda: searches)
    assert searches.asked == ['it\'s "\u00e9\U0001f600"\t\\n']


def test_lines_stay_where_they_are() -> None:
    query = """SELECT ?x WHERE {
  ?x a ex:Tool ;
    abi:search '''a
b''' .
  ?x ex:name ?n
} ORDER BY
 abi:similarity(?x,
 "a")"""
    assert rewrite(query, NAMES, Fixed).count("\n") == query.count("\n")


def test_another_prefix_is_another_name() -> None:
    query = 'PREFIX abi: <https://example.org/other/> SELECT ?x WHERE { ?x abi:search "a" }'
    assert rewrite(query, NAMES, Fixed) == query
    own = 'PREFIX my: <https://w3id.org/abi/> SELECT ?x WHERE { ?x my:search "a" }'
    assert "VALUES ?x { <https://example.org/a> }" in rewrite(own, NAMES, Fixed)


def test_strings_and_comments_are_no_searches() -> None:
    query = 'SELECT ?x WHERE { ?x ex:name "?x abi:search \'a\'" } # abi:similarity(?x, "a")'
    assert rewrite(query, NAMES, Fixed) == query


def test_a_query_of_its_own_variables_keeps_them(store: OxigraphStore) -> None:
    query = "SELECT ?x ?abi_similarity_1 WHERE { ?x a ex:Tool ; ex:name ?abi_similarity_1"
    query += ' FILTER(abi:similarity(?x, "b") > 0) }'
    assert ask(store, query) == [{"x": "b", "abi_similarity_1": "b"}]


@given(st.text(alphabet="?x abi:searchmlty\"(){},.;[]<>\n#'ASELECTWHR*", max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_it(text: str) -> None:
    for query in (text, f"SELECT * WHERE {{ {text} }}", f'SELECT ?x WHERE {{ ?x a ex:Tool {text} ; abi:search "a" }}'):
        with suppress(AbiError):
            rewrite(query, NAMES, Fixed)
