"""Questions about a graph that no tool was written for: what the offline model makes of them, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.agents.composer import Composed, Composer
from abi.agents.graph_schema import read_schema
from abi.agents.lexicon import Lexicon
from abi.graph.guard import check_query
from abi.graph.oxigraph import OxigraphStore
from abi.settings import Settings

SHOP = """
@prefix s: <https://example.org/shop#> . @prefix d: <https://example.org/data/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
s:Customer a owl:Class ; rdfs:label "customer"@en, "client"@fr .
s:Order a owl:Class ; rdfs:label "order" ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty s:hasPrice ;
    owl:someValuesFrom s:Price ] .
s:Company rdfs:subClassOf s:Customer . s:Person rdfs:subClassOf s:Customer .
s:Price a owl:Class ; rdfs:label "Price" .
s:placedBy a owl:ObjectProperty ; rdfs:label "placed by" . s:hasPrice a owl:ObjectProperty .
d:acme a s:Company ; rdfs:label "Acme"@en ; s:town "Lyon" . d:zoe a s:Person ; rdfs:label "Zoe" ; s:town "Paris" .
d:o1 a s:Order ; s:orderNumber 1 ; s:placedBy d:acme ; s:orderDate "2024-01-05"^^xsd:date ;
    s:hasPrice [ s:priceAmount 100 ; s:taxAmount 20 ] ; s:deliveredFrom d:w1 ; s:returnedTo d:w2 .
d:o2 a s:Order ; s:orderNumber 2 ; s:placedBy d:acme ; s:orderDate "2024-02-05"^^xsd:date ;
    s:hasPrice [ s:priceAmount 50 ; s:taxAmount 10 ] ; s:deliveredFrom d:w1 ; s:returnedTo d:w1 .
d:o3 a s:Order ; s:orderNumber 3 ; s:placedBy d:zoe ; s:orderDate "2024-03-05"^^xsd:date ;
    s:hasPrice [ s:priceAmount 70 ; s:taxAmount 14 ] ; s:deliveredFrom d:w2 ; s:returnedTo d:w2 .
d:w1 a s:Warehouse ; s:code "W1" . d:w2 a s:Warehouse ; s:code "W2" .
"""


class _Services:
    settings = Settings(base_iri="https://example.org/")

    def __init__(self, turtle: str) -> None:
        self.store = OxigraphStore.memory()
        graph = ox.NamedNode("urn:g")
        quads = [ox.Quad(t.subject, t.predicate, t.object, graph) for t in ox.parse(turtle, format=ox.RdfFormat.TURTLE)]
        self.store.inner.extend(quads)

    def version(self) -> int:
        return self.store.version()

    def query(self, text: str, *, rows: int | None = None) -> Any:
        check_query(text, self.settings, self.settings.all_prefixes())
        return self.store.query(text, max_rows=rows)


@pytest.fixture(scope="module")
def shop() -> _Services:
    return _Services(SHOP)


@pytest.fixture(scope="module")
def composer(shop: _Services) -> Composer:
    return Composer(shop)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ask(shop: _Services, composer: Composer) -> Callable[[str], list[list[str]]]:
    def answer(question: str) -> list[list[str]]:
        composed = composer.compose(question)
        assert composed.query is not None, composed
        rows = shop.query(composed.query)
        return [[row[v].value for v in rows.variables if v in row] for row in rows]

    return answer


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many orders are there?", [["3"]]),
        ("How many customers do we have?", [["2"]]),
        ("How many orders by customer?", [["Acme", "2"], ["Zoe", "1"]]),
        ("What is the total price amount by customer?", [["Acme", "150"], ["Zoe", "70"]]),
        ("What is the average tax amount of the orders?", [["14.6666"]]),
        ("total price by client", [["Acme", "150"], ["Zoe", "70"]]),
        ("Which customer has the most orders?", [["Acme", "2"]]),
        ("Which order has the highest price amount?", [["1", "100"]]),
        ("List the orders placed by Acme", [["1"], ["2"]]),
        ("How many orders were placed by customers in Paris?", [["1"]]),
        ("orders with a price amount over 60 by order number", [["1"], ["3"]]),
        ("How many orders after 2024-02-01?", [["2"]]),
        ("What is the town of Acme?", [["Lyon"]]),
        ("the order date of order number 2", [["2024-02-05"]]),
        ("Which customers have more than 1 order?", [["Acme", "2"]]),
        ("Combien de orders par client", [["Acme", "2"], ["Zoe", "1"]]),
        (
            "What is the full cost by order number where full cost is the sum of price amount and tax amount?",
            [["1", "120"], ["2", "60"], ["3", "84"]],
        ),
        ("What is the mean cost, which is the total price amount divided by the number of orders?", [["73.333"]]),
    ],
)
def test_a_question_gets_the_rows_that_answer_it(
    question: str, rows: list[list[str]], ask: Callable[[str], list[list[str]]]
) -> None:
    found = ask(question)
    assert len(found) == len(rows)
    for wanted, row in zip(rows, found, strict=True):
        assert all(any(cell.startswith(value) for cell in row) for value in wanted), found


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("How many orders were cancelled by customers?", "cancelled"),
        ("Which customers have no orders?", "no"),
        ("orders without a price", "without"),
        ("What is the margin by customer?", "margin"),
        ("How many orders by Brasil?", "Brasil"),
        ("List the last orders", "last"),
    ],
)
def test_what_the_graph_does_not_speak_of_is_refused_and_named(question: str, word: str, composer: Composer) -> None:
    composed = composer.compose(question)
    assert composed.query is None
    assert word in composed.words


def test_two_links_of_different_meaning_are_asked_about(composer: Composer) -> None:
    composed = composer.compose("How many orders by warehouse?")
    assert composed == Composed(None, (), ("delivered from", "returned to"))


def test_a_link_that_is_named_is_followed(composer: Composer, ask: Callable[[str], list[list[str]]]) -> None:
    assert ask("How many orders delivered by warehouse?") == [["W1", "2"], ["W2", "1"]]


def test_no_join_counts_a_number_twice(ask: Callable[[str], list[list[str]]]) -> None:
    (row,) = ask("What is the total price amount and the number of customers?")
    assert row == ["220", "2"]


def test_the_names_of_all_languages_are_read(shop: _Services) -> None:
    lexicon = Lexicon(read_schema(shop.query))
    customer = "https://example.org/shop#Customer"
    assert lexicon.class_phrases(customer)[:2] == [("customer",), ("client",)]
    assert lexicon.schema.members[customer] == (
        "https://example.org/shop#Company",
        "https://example.org/shop#Person",
    )


def test_value_nodes_without_a_type_are_called_as_their_range(shop: _Services) -> None:
    lexicon = Lexicon(read_schema(shop.query))
    assert lexicon.name("~https://example.org/shop#hasPrice") == "Price"
    quantity = lexicon.quantity("~https://example.org/shop#hasPrice")
    assert quantity is not None and quantity.property.endswith("priceAmount")


def test_the_digest_moves_with_the_data(shop: _Services) -> None:
    before = read_schema(shop.query).digest()
    assert read_schema(shop.query).digest() == before
    assert read_schema(_Services(SHOP + " d:o4 a s:Order .").query).digest() != before


@given(st.text(alphabet="abcdefgh \"'{}<>?.;\\\n0123456789-sumofordersby", max_size=60))
@settings(max_examples=150, deadline=None)
def test_no_text_of_a_question_gets_into_a_query(text: str) -> None:
    services = _Services(SHOP)
    composed = Composer(services).compose(f"How many orders by customer {text}")  # type: ignore[arg-type]
    if composed.query is not None:
        services.query(composed.query)
