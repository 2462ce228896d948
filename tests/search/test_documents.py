from __future__ import annotations

from abi import terms
from abi.graph.oxigraph import OxigraphStore
from abi.search.documents import Document, read_documents
from abi.settings import Settings

BASE = "https://example.org/flights/"


def by_iri(documents: list[Document]) -> dict[str, Document]:
    assert len({d.iri for d in documents}) == len(documents)
    return {d.iri: d for d in documents}


def test_a_tool(store: OxigraphStore, settings: Settings) -> None:
    tool = by_iri(read_documents(store.query, settings))[f"{BASE}tool/find_indirect_routes"]
    assert tool == Document(
        iri=f"{BASE}tool/find_indirect_routes",
        family="tool",
        kind="sparql_query",
        name="find_indirect_routes",
        label="find indirect routes",
        description="Journeys between two airports with one change of plane.",
        text="origin, destination",
        passages=(
            "find indirect routes: Journeys between two airports with one change of plane. (origin, destination)",
        ),
        classes=(terms.SPARQL_TEMPLATE,),
        annotations=(("domain", "travel"), ("gdpr", "false")),
        source="tools/find_indirect_routes.rq:3",
    )


def test_an_intent_is_its_phrases(store: OxigraphStore, settings: Settings) -> None:
    intent = by_iri(read_documents(store.query, settings))[f"{BASE}agent/route_finder/intent/direct"]
    assert (intent.family, intent.kind, intent.name) == ("intent", "intent", "direct")
    assert intent.passages == ("fly from one airport to another", "which flights leave from an airport")


def test_classes_properties_and_individuals(store: OxigraphStore, settings: Settings) -> None:
    found = by_iri(read_documents(store.query, settings))
    airport = found[f"{BASE}Airport"]
    assert (airport.family, airport.name, airport.classes) == ("class", "airport", (f"{BASE}Place",))
    assert airport.labels == (("label", "airport"), ("label", "Flughafen"))
    assert airport.passages == ("airport: A site where aircraft take off and land.",)
    assert found[f"{BASE}locatedIn"].family == "property"
    seattle = found[f"{BASE}SEA"]
    assert (seattle.family, seattle.classes, seattle.passages) == ("entity", (f"{BASE}Airport",), ())
    assert seattle.labels == (
        ("label", "Seattle-Tacoma International"),
        ("alternative", "Sea-Tac"),
        ("code", "SEA"),
    )
    assert found[f"{BASE}BOI"].classes == (f"{BASE}Airport",)


def test_the_platforms_furniture_is_no_entity(store: OxigraphStore, settings: Settings) -> None:
    entities = {d.iri for d in read_documents(store.query, settings) if d.family == "entity"}
    assert entities == {
        f"{BASE}{n}" for n in ("BOI", "SEA", "ORD", "PDX", "PWM", "OR", "boise", "portland_or", "portland_me")
    }


def test_individuals_are_embedded_where_asked_for(store: OxigraphStore) -> None:
    settings = Settings(base_iri=BASE, embed_entities=[":Airport"])
    found = by_iri(read_documents(store.query, settings))
    assert found[f"{BASE}BOI"].passages == ("Boise Air Terminal",)
    assert found[f"{BASE}boise"].passages == ()


def test_only_some_subjects_and_what_they_are_parts_of(store: OxigraphStore, settings: Settings) -> None:
    part = f"{BASE}tool/find_direct_routes/parameter/origin"
    found = by_iri(read_documents(store.query, settings, {part, f"{BASE}SEA", f"{BASE}nothing"}))
    assert set(found) == {f"{BASE}tool/find_direct_routes", f"{BASE}SEA"}
    every = by_iri(read_documents(store.query, settings))
    assert all(every[iri] == document for iri, document in found.items())
    assert read_documents(store.query, settings, set()) == []


def test_a_triple_in_two_graphs_counts_once(store: OxigraphStore, settings: Settings) -> None:
    before = by_iri(read_documents(store.query, settings))
    store.update(f"INSERT {{ GRAPH <{BASE}copy> {{ ?s ?p ?o }} }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}")
    assert by_iri(read_documents(store.query, settings)) == before
