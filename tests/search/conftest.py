"""A small workspace's graph: four tools, a prompt, an agent with intents, and a few airports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from abi.graph.mapping import Names, provenance_quads, record_quads
from abi.graph.oxigraph import OxigraphStore
from abi.records.record import (
    AgentSpecification,
    Intent,
    JinjaPrompt,
    Parameter,
    PythonFunction,
    Record,
    Source,
    SparqlQuery,
)
from abi.search.index import SearchIndex
from abi.search.minilm import MiniLM
from abi.settings import Settings

BASE = "https://example.org/flights/"
DOMAIN = f"""
INSERT DATA {{ GRAPH <{BASE}source/graph/airports.ttl> {{
  <{BASE}Place> a owl:Class ; rdfs:label "place"@en ; skos:definition "Somewhere that one can be."@en .
  <{BASE}Airport> a owl:Class ; rdfs:label "airport"@en , "Flughafen"@de ; rdfs:subClassOf <{BASE}Place> ;
    skos:definition "A site where aircraft take off and land."@en .
  <{BASE}City> a owl:Class ; rdfs:label "city"@en ; rdfs:subClassOf <{BASE}Place> .
  <{BASE}locatedIn> a owl:ObjectProperty ; rdfs:label "located in"@en ; skos:definition "Part of a place."@en .
  <{BASE}BOI> a <{BASE}Airport>, owl:NamedIndividual ; rdfs:label "Boise Air Terminal" ; skos:notation "BOI" .
  <{BASE}SEA> a <{BASE}Airport> ; rdfs:label "Seattle-Tacoma International" ; skos:notation "SEA" ;
    skos:altLabel "Sea-Tac" ; rdfs:comment "Built after a call of the military in 1942." .
  <{BASE}ORD> a <{BASE}Airport> ; rdfs:label "Chicago O'Hare International" ; skos:notation "ORD" .
  <{BASE}PDX> a <{BASE}Airport> ; rdfs:label "Portland International" ; skos:notation "PDX" .
  <{BASE}PWM> a <{BASE}Airport> ; rdfs:label "Portland International Jetport" ; skos:notation "PWM" .
  <{BASE}OR> a <{BASE}City> ; rdfs:label "Or" ; skos:notation "OR" .
  <{BASE}boise> a <{BASE}City> ; rdfs:label "Boise" .
  <{BASE}portland_or> a <{BASE}City> ; rdfs:label "Portland" .
  <{BASE}portland_me> a <{BASE}City> ; rdfs:label "Portland" .
}} }}
"""


def place(name: str, required: bool = True) -> Parameter:
    return Parameter(name=name, value_class=f"{BASE}Airport", required=required)


RECORDS: list[Record] = [
    SparqlQuery(
        name="find_direct_routes",
        description="Airports that can be reached from an airport without a stop.",
        query="SELECT * {}",
        parameters=[place("origin")],
        annotations={"domain": "travel", "gdpr": "true"},
    ),
    SparqlQuery(
        name="find_indirect_routes",
        description="Journeys between two airports with one change of plane.",
        query="SELECT * {}",
        parameters=[place("origin"), Parameter(name="destination", value_class=f"{BASE}Airport", position=1)],
        annotations={"domain": "travel", "gdpr": "false"},
    ),
    SparqlQuery(
        name="unpaid_invoices",
        description="Invoices of a customer that have not been paid.",
        query="SELECT * {}",
        annotations={"domain": "finance"},
    ),
    PythonFunction(
        name="distance",
        description="How far two places are apart, as the crow flies, in kilometres.",
        function="distance",
    ),
    JinjaPrompt(
        name="route_prompt", description="Instructions on how to find routes between airports.", text="{{ x }}"
    ),
    AgentSpecification(
        name="route_finder",
        description="Finds routes between airports.",
        tools=["find_direct_routes"],
        intents=[
            Intent(
                name="direct",
                description="",
                values=["fly from one airport to another", "which flights leave from an airport"],
                type="tool",
                target="find_direct_routes",
                agent="route_finder",
            ),
            Intent(name="thanks", description="", values=["thank you"], type="raw", target="You are welcome."),
        ],
    ),
]


@pytest.fixture(scope="session")
def embedder() -> MiniLM:
    return MiniLM()


@pytest.fixture
def settings() -> Settings:
    return Settings(base_iri=BASE)


@pytest.fixture
def store() -> Iterator[OxigraphStore]:
    store = OxigraphStore.memory()
    names = Names(BASE)
    for record in RECORDS:
        path = f"tools/{record.name}.rq"
        quads = record_quads(record, f"{BASE}source/{path}", names)
        store.apply([], [*quads, *provenance_quads([record], Source(path=path, line=3, content_hash="0"), BASE)])
    store.update(DOMAIN)
    yield store
    store.close()


@pytest.fixture
def index(store: OxigraphStore, settings: Settings) -> Iterator[SearchIndex]:
    with SearchIndex() as index:
        index.rebuild(store.query, settings, store.version())
        yield index
