"""The graph files of the example workspace: written by its script, whole, and of plain shape."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest
from flights_facts import WORKSPACE, facts

from abi.settings import PREFIXES

SOURCE = Path(__file__).parents[3] / "shared" / "data" / "flights"
GENERATED = ["airports.ttl", "places.ttl", "routes.ttl"]
FILES = [*sorted((WORKSPACE / "graph").glob("*.ttl")), *sorted((WORKSPACE / "ontology").glob("*.ttl"))]
FL = "https://example.org/flights/schema#"
RDF_TYPE = PREFIXES["rdf"] + "type"
LABEL = PREFIXES["rdfs"] + "label"

needs_source = pytest.mark.skipif(
    not SOURCE.is_dir(), reason="the CSV files that the graph is made from are not at ../shared/data/flights"
)


def quads() -> list[ox.Quad]:
    return [q for path in FILES for q in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)]


@needs_source
def test_the_script_writes_the_same_bytes_again(tmp_path: Path) -> None:
    script = WORKSPACE / "scripts" / "build_graph.py"
    sources = [str(SOURCE / "airports.csv"), str(SOURCE / "flights-airport.csv")]
    subprocess.run([sys.executable, str(script), *sources, "--to", str(tmp_path)], check=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == GENERATED
    for name in GENERATED:
        assert (tmp_path / name).read_bytes() == (WORKSPACE / "graph" / name).read_bytes(), name


@needs_source
def test_nothing_of_the_source_is_lost() -> None:
    with (SOURCE / "airports.csv").open(newline="", encoding="utf-8") as file:
        airports = {row["iata"]: row for row in csv.DictReader(file)}
    with (SOURCE / "flights-airport.csv").open(newline="", encoding="utf-8") as file:
        flights = {(row["origin"], row["destination"]): int(row["count"]) for row in csv.DictReader(file)}
    held = facts()
    assert held.flights == flights
    assert held.airports.keys() == airports.keys()
    eastern = set()
    for code, row in airports.items():
        airport = held.airports[code]
        assert airport.name == " ".join(row["name"].split())
        assert airport.latitude == float(row["latitude"])
        if airport.longitude != float(row["longitude"]):
            assert airport.longitude == -float(row["longitude"])
            eastern.add(code)
        assert (airport.city is None) == (row["city"] == "NA")
    assert eastern == {"GRO", "GSN", "GUM", "TNI", "TT01"}, "only the Marianas' sign is mended"


def test_counts() -> None:
    counted = Counter(q.object.value for q in quads() if q.predicate.value == RDF_TYPE)
    assert counted[FL + "Airport"] == 3376
    assert counted[FL + "FlightSeries"] == 5366
    assert counted[FL + "State"] == 56
    assert counted[FL + "CalendarYear"] == 1


def test_every_individual_has_one_class_and_one_label() -> None:
    all_quads = quads()
    base = "https://example.org/flights/"
    kinds = ("airport/", "city/", "country/", "route/", "state/", "year/")
    subjects = {q.subject.value for q in all_quads if q.subject.value.startswith(tuple(base + k for k in kinds))}
    classes = Counter(q.subject.value for q in all_quads if q.predicate.value == RDF_TYPE)
    labels = Counter(q.subject.value for q in all_quads if q.predicate.value == LABEL)
    assert len(subjects) > 11_000
    assert {classes[s] for s in subjects} == {1}
    assert {labels[s] for s in subjects} == {1}


def test_every_link_leads_to_something() -> None:
    all_quads = quads()
    subjects = {q.subject.value for q in all_quads}
    for q in all_quads:
        if q.predicate.value.startswith(FL) and isinstance(q.object, ox.NamedNode):
            assert q.object.value in subjects, q


def test_literals_are_canonical_and_no_triple_stands_twice() -> None:
    all_quads = quads()
    assert len(all_quads) == len(set(all_quads)), "a triple stands in two files"
    store = ox.Store()
    store.extend(all_quads)
    kept = {q.object.value for q in store if isinstance(q.object, ox.Literal)}
    assert kept == {q.object.value for q in all_quads if isinstance(q.object, ox.Literal)}, "the store rewrites some"
    texts = [q.object.value for q in all_quads if isinstance(q.object, ox.Literal)]
    assert not [t for t in texts if t != t.strip() or "  " in t]


def test_airport_codes_are_unique_and_city_labels_too() -> None:
    all_quads = quads()
    notation = PREFIXES["skos"] + "notation"
    codes = Counter(
        q.object.value for q in all_quads if q.predicate.value == notation and "/airport/" in q.subject.value
    )
    assert set(codes.values()) == {1}
    assert all(re.fullmatch(r"[A-Z0-9]{3,4}", code) for code in codes)
    cities = Counter(q.object.value for q in all_quads if q.predicate.value == LABEL and "/city/" in q.subject.value)
    assert set(cities.values()) == {1}


def test_a_city_with_two_served_airports_gives_its_name_to_both() -> None:
    alternative = PREFIXES["skos"] + "altLabel"
    bearers: dict[str, set[str]] = {}
    for q in quads():
        if q.predicate.value == alternative and "/airport/" in q.subject.value:
            bearers.setdefault(q.object.value, set()).add(q.subject.value.rsplit("/", 1)[1])
    assert bearers["Chicago"] == {"MDW", "ORD"}
    assert bearers["Boise"] == {"BOI"}
    assert bearers["Portland"] == {"PDX", "PWM"}
    assert bearers["Portland, Oregon"] == {"PDX"}
