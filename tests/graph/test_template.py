from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import ArgumentError, Invalid
from abi.graph.rows import XSD, Term
from abi.graph.template import RDF_JSON, Template, check_template, compile_template
from abi.graph.tokens import tokenize
from abi.records.record import Parameter

PREFIXES = {"ex": "urn:ex:"}
IRI = Term("iri", "urn:ex:boise")
TEXT = Term("literal", "Boise")
FIVE = Term("literal", "5", XSD + "integer")


def parameter(name: str, **more: object) -> Parameter:
    if "value_class" not in more:
        more.setdefault("datatype", XSD + "string")
    return Parameter(name=name, **more)  # type: ignore[arg-type]


def thing(name: str, **more: object) -> Parameter:
    return parameter(name, value_class="urn:ex:Thing", **more)


def number(name: str, **more: object) -> Parameter:
    return parameter(name, datatype=XSD + "integer", **more)


def template(query: str, *parameters: Parameter) -> Template:
    return compile_template(query, parameters, PREFIXES)


def codes(query: str, *parameters: Parameter) -> list[tuple[str, int]]:
    found = check_template(query, parameters, PREFIXES, path="tools/x.rq", first_line=10)
    assert all(f.path == "tools/x.rq" and f.severity == "error" and f.message for f in found)
    return [(f.code, f.line) for f in found]


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def store() -> ox.Store:
    made = ox.Store()
    p, q, label = (ox.NamedNode(f"urn:ex:{n}") for n in ("p", "q", "label"))
    for i in range(4):
        made.add(ox.Quad(ox.NamedNode("urn:ex:boise"), p, ox.NamedNode(f"urn:ex:o{i}")))
        made.add(ox.Quad(ox.NamedNode("urn:ex:paris"), p, ox.NamedNode(f"urn:ex:o{i}")))
        made.add(ox.Quad(ox.NamedNode(f"urn:ex:o{i}"), q, ox.Literal(i)))
    made.add(ox.Quad(ox.NamedNode("urn:ex:boise"), label, ox.Literal("Boise")))
    made.add(ox.Quad(ox.NamedNode("urn:ex:paris"), label, ox.Literal("Paris")))
    return made


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT ?o { ?x ex:p ?o }", 4),
        ("SELECT ?x ?o { $x ex:p ?o }", 4),
        ("SELECT * { { { ?x ex:p ?o } } }", 4),
        ("SELECT ?o { { ?x ex:p ?o } UNION { ?o ex:label ?l . FILTER(?o = ?x) } }", 5),
        ("SELECT ?o { { SELECT ?x ?o { ?x ex:p ?o } LIMIT 3 } }", 3),
        ("SELECT ?x ?o { { SELECT ?x ?o { ?x ex:p ?o } LIMIT 3 } ?x ex:label ?l }", 3),
        ("SELECT ?x { { SELECT DISTINCT ?x { ?x ex:p ?o } } }", 1),
        ("SELECT ?s { ?s ex:p ?o FILTER(?s=?x&&?o!=?x) }", 4),
        ("SELECT ?s ?y { ?s ex:p ?o BIND(?x AS ?y) FILTER EXISTS { ?x ex:p ?o } }", 8),
        ("SELECT ?x (COUNT(?o) AS ?n) { ?x ex:p ?o } GROUP BY ?x", 1),
        ("SELECT ?x (COUNT(?o) AS ?n) { ?x ex:nothing ?o } GROUP BY ?x", 0),
        ("SELECT ?o { ?x ex:p ?o } ORDER BY ?x DESC(?x) ?o", 4),
        ("SELECT ?o { ?x ex:p ?o FILTER(BOUND(?x)) }", 4),
        ("SELECT ?o { ?x ex:p/ex:q ?o . FILTER(?o<3) } HAVING(?x != 1)", 3),
        ("SELECT ?o { VALUES ?y { 1 } ?x ex:p ?o } VALUES (?z) {(1)}", 4),
        ("SELECT ?o { ?x ex:p ?o MINUS { ?x ex:p ?o } }", 0),
        ("SELECT ?o { ?x ex:p ?o # ?x\n FILTER(\"?x\" != '''\n#?x ?x''') }", 4),
        ("SELECT ?s { ?s ex:p ?o . FILTER(?s IN (?x, ex:nobody)) }", 4),
        ("SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x ex:p ?o }", 1),
    ],
)
def test_an_iri_in_every_place(store: ox.Store, query: str, rows: int) -> None:
    bound = template(query, thing("x")).bind({"x": IRI})
    assert len(list(store.query(bound))) == rows, bound  # type: ignore[arg-type]


def test_projected_values_come_back(store: ox.Store) -> None:
    bound = template("SELECT ?x ?text ?o { ?x ex:p ?o } LIMIT 1", thing("x"), parameter("text")).bind(
        {"x": IRI, "text": TEXT}
    )
    row = next(iter(store.query(bound)))  # type: ignore[arg-type]
    assert (row["x"], row["text"]) == (ox.NamedNode("urn:ex:boise"), ox.Literal("Boise"))  # type: ignore[index]


def test_ask_construct_describe(store: ox.Store) -> None:
    assert bool(store.query(template("ASK { ?x ex:p ?o }", thing("x")).bind({"x": IRI})))
    assert (
        len(list(store.query(template("CONSTRUCT { ?x ?a ?o } WHERE { ?x ?a ?o }", thing("x")).bind({"x": IRI})))) == 5
    )  # type: ignore[arg-type]
    assert len(list(store.query(template("DESCRIBE ?x", thing("x")).bind({"x": IRI})))) == 5  # type: ignore[arg-type]


def test_limit_and_offset(store: ox.Store) -> None:
    made = template(
        "SELECT ?o { ?s ex:p ?o } LIMIT ?n OFFSET ?skip", number("n"), number("skip", required=False, default=0)
    )
    bound = made.bind({"n": FIVE, "skip": Term("literal", "6", XSD + "integer")})
    assert squeezed(bound).endswith("LIMIT 5 OFFSET 6")
    assert len(list(store.query(bound))) == 2  # type: ignore[arg-type]
    for wrong in (TEXT, Term("literal", "-1", XSD + "integer"), Term("literal", "5 UNION", XSD + "integer"), IRI):
        with pytest.raises(ArgumentError, match="whole number"):
            made.bind({"n": wrong, "skip": FIVE})


def test_optional_lines(store: ox.Store) -> None:
    made = template(
        "SELECT ?s ?o {\n ?s ex:p ?o .\n  #?x FILTER(?s = ?x) # kept\n#?x #?n FILTER(?o != ?x)\n}\n#?n LIMIT ?n",
        thing("x", required=False),
        number("n", required=False),
    )
    assert len(list(store.query(made.bind({})))) == 8  # type: ignore[arg-type]
    assert len(list(store.query(made.bind({"x": IRI})))) == 4  # type: ignore[arg-type]
    assert len(list(store.query(made.bind({"n": FIVE})))) == 5  # type: ignore[arg-type]
    assert "#?x #?n" in made.bind({"x": IRI})
    assert "#?x" not in made.bind({"x": IRI, "n": FIVE})


def test_what_is_not_given_stays_a_variable(store: ox.Store) -> None:
    made = template("SELECT ?x ?o { ?x ex:p ?o } ORDER BY ?x", thing("x", required=False))
    assert len(list(store.query(made.bind({})))) == 8  # type: ignore[arg-type]
    assert len(list(store.query(made.bind({"x": IRI})))) == 4  # type: ignore[arg-type]


def test_missing_prefixes_are_added_once() -> None:
    bound = template("PREFIX ex: <urn:other:> SELECT ?s { ?s ex:p skos:x ; a owl:Class }").bind({})
    assert bound.startswith("PREFIX owl: <http://www.w3.org/2002/07/owl#>\nPREFIX skos: <")
    assert bound.count("PREFIX ex:") == 1


@pytest.mark.parametrize(
    ("query", "parameters", "expected"),
    [
        ("SELECT * {\n ?a ?b ?c\n", [], [("template-syntax", 12)]),
        ("SELECT * {\n ?a ex:p\n }", [], [("template-syntax", 12)]),
        ("SELECT * {\n ?a no:p ?b }", [], [("template-prefix-undeclared", 11)]),
        ("SELECT * {\n ?a ?b ?c \u00a7 }", [], [("template-syntax", 11)]),
        ("INSERT DATA { ex:a ex:b 1 }", [], [("template-refused", 10)]),
        ("SELECT * {\n\n SERVICE <http://a/> {} }", [], [("template-refused", 12)]),
        ("SELECT * { ?a ?b ?c }", [thing("x")], [("template-parameter-unused", 10)]),
        ("SELECT * {\n #?y ?a ?b ?c\n }", [], [("template-parameter-undeclared", 11)]),
        ("SELECT * {\n #?a wordy comment\n ?a ?b ?c }", [], [("template-parameter-undeclared", 11)]),
        ("SELECT * {\n # ?a fine\n ?a ?b ?c }", [], []),
        ("SELECT * {\n BIND(1 AS ?x) }", [thing("x")], [("template-position", 11)]),
        ("SELECT (1 AS ?x) {\n }", [thing("x")], [("template-position", 10)]),
        ("SELECT * {\n VALUES ?x { 1 } }", [thing("x")], [("template-position", 11)]),
        ("SELECT * {\n VALUES (?a ?x) { (1 2) } }", [thing("x")], [("template-position", 11)]),
        ("SELECT * {}\nLIMIT ?n", [number("n", required=False)], [("template-position", 11)]),
        ("SELECT * {}\nLIMIT ?n", [parameter("n")], [("template-position", 11)]),
        ("SELECT * {}\nLIMIT ?n", [number("n", required=False, default=3)], []),
        ("SELECT * {\n ?a ?x ?b }", [parameter("x")], [("template-syntax", 11)]),
        ("SELECT * {\n ?a ex:p ?b\n #?x }\n }", [thing("x", required=False)], [("template-syntax", 13)]),
        ("SELECT * {\n #?x ?a ex:p ?x }", [thing("x", required=False)], [("template-syntax", 11)]),
        (
            "SELECT * {\n FILTER(?x = 1\n) }",
            [parameter("x", datatype=RDF_JSON)],
            [],
        ),
        ("", [], [("template-syntax", 10)]),
    ],
)
def test_findings(query: str, parameters: list[Parameter], expected: list[tuple[str, int]]) -> None:
    assert codes(query, *parameters) == expected


def test_all_findings_at_once_and_invalid() -> None:
    query = "SELECT * {\n #?q ?a ?b ?c\n BIND(1 AS ?x)\n}"
    assert {c for c, _ in codes(query, thing("x"), thing("y"))} == {
        "template-parameter-undeclared",
        "template-position",
        "template-parameter-unused",
    }
    with pytest.raises(Invalid) as caught:
        template(query, thing("x"), thing("y"))
    assert len(caught.value.findings) == 3


@pytest.mark.parametrize(
    "term",
    [
        Term("iri", "urn:a> } #"),
        Term("iri", "no scheme"),
        Term("iri", "relative"),
        Term("iri", "urn:a\\u003e"),
        Term("iri", "urn:a b"),
        Term("bnode", "b"),
        Term("literal", "x", "urn:d>"),
        Term("literal", "x", None, "en> "),
        Term("literal", "\ud800"),
    ],
)
def test_terms_that_cannot_stand_in_a_query(term: Term) -> None:
    with pytest.raises(ArgumentError):
        template("SELECT * { ?s ?p ?x }", parameter("x")).bind({"x": term})


def test_wrong_names() -> None:
    made = template("SELECT * { ?s ?p ?x }", parameter("x"))
    with pytest.raises(ArgumentError, match="missing for x"):
        made.bind({})
    with pytest.raises(ArgumentError, match="no parameter"):
        made.bind({"x": TEXT, "y": TEXT})


PIECES = [
    *'" \' """ \\ \\u0022 } { # > < ?x $x %22 @en ^^ \\\\ ) .'.split(),
    *("\n", "\r", "\x00", "\u2028", "\ud800", " UNION ", "?s ?p ?o", "SERVICE <http://a/>", "LIMIT 1"),
]
HOSTILE = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)
EVERYWHERE = """SELECT ?x ?s (COUNT(?s) AS ?n) {
  { ?s ex:label ?x } UNION { ?s ex:label ?l . FILTER(?l=?x||CONTAINS(?l,?x)&&BOUND(?x)) }
  { SELECT ?s ?x { ?s ex:p ?o FILTER(?x!=?o) } }
  #?x FILTER NOT EXISTS { ?s ex:secret ?x }
} GROUP BY ?s ?x ORDER BY ?x"""


@settings(max_examples=200, deadline=None)
@given(HOSTILE)
def test_no_text_changes_the_query(text: str) -> None:
    """Any text gives the tokens that a harmless one gives, but for the one literal; and only equal rows."""
    made = template(EVERYWHERE, parameter("x"))
    term = Term("literal", text)
    if any("\ud800" <= c <= "\udfff" for c in text):
        with pytest.raises(ArgumentError):
            made.bind({"x": term})
        return
    harmless = [(t.kind, t.text) for t in tokenize(made.bind({"x": TEXT}))]
    hostile = [(t.kind, t.text) for t in tokenize(made.bind({"x": term}))]
    assert len(harmless) == len(hostile)
    literals = {h[1] for f, h in zip(harmless, hostile, strict=True) if f != h}
    assert len(literals) <= 1 and all(h[0] == f[0] for f, h in zip(harmless, hostile, strict=True))
    assert [f for f in harmless if f[1] == TEXT.n3()] == [("string", TEXT.n3())] * sum(
        h == ("string", term.n3()) for h in hostile
    )


@settings(max_examples=200, deadline=None)
@given(HOSTILE.filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)))
def test_only_what_equals_the_text_is_found(text: str) -> None:
    store = ox.Store()
    canary = ox.Quad(ox.NamedNode("urn:canary"), ox.NamedNode("urn:ex:label"), ox.Literal("canary"))
    store.add(canary)
    store.add(ox.Quad(ox.NamedNode("urn:echo"), ox.NamedNode("urn:ex:label"), ox.Literal(text)))
    bound = template("SELECT ?s ?x { ?s ex:label ?x }", parameter("x")).bind({"x": Term("literal", text)})
    rows = list(store.query(bound))  # type: ignore[arg-type]
    expected = {"urn:echo"} | ({"urn:canary"} if text == "canary" else set())
    assert {row["s"].value for row in rows} == expected  # type: ignore[index,union-attr]
    assert all(row["x"].value == text for row in rows)  # type: ignore[index,union-attr]


@settings(max_examples=100, deadline=None)
@given(HOSTILE)
def test_no_iri_changes_the_query(text: str) -> None:
    made = template("SELECT ?o { ?x ex:p ?o . FILTER(?o<?x) }", thing("x"))
    try:
        bound = made.bind({"x": Term("iri", "urn:" + text)})
    except ArgumentError:
        return
    assert [t.kind for t in tokenize(bound)] == [t.kind for t in tokenize(made.bind({"x": IRI}))]
