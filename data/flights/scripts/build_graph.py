"""Writes graph/airports.ttl, graph/places.ttl and graph/routes.ttl from two CSV files.

    python scripts/build_graph.py path/to/airports.csv path/to/flights-airport.csv [--to graph]

The CSV files are works of the US government, as packed in vega-datasets (`airports.csv`, `flights-airport.csv`):
airports with code, name, city, state, country and position; and, for each pair of airports, the number of flights
flown in 2008. The names of the states and territories are the US postal abbreviations, known to everybody, and stand
below. graph/names.ttl is written by hand and is left alone.

Individuals are not declared as owl:NamedIndividual: that they have a class says it, OWL 2 does not ask for more, and it
would be 12,000 triples to load and to check. The same input gives the same bytes. Standard library only.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from pathlib import Path

YEAR = 2008
SOURCE = "US government works, as packed in vega-datasets: airports.csv, flights-airport.csv"
UNKNOWN = "NA"

STATES = dict(
    line.split(" ", 1)
    for line in """\
AK Alaska;AL Alabama;AR Arkansas;AS American Samoa;AZ Arizona;CA California;CO Colorado;CQ Northern Mariana Islands
CT Connecticut;DC District of Columbia;DE Delaware;FL Florida;GA Georgia;GU Guam;HI Hawaii;IA Iowa;ID Idaho;IL Illinois
IN Indiana;KS Kansas;KY Kentucky;LA Louisiana;MA Massachusetts;MD Maryland;ME Maine;MI Michigan;MN Minnesota;MO Missouri
MS Mississippi;MT Montana;NC North Carolina;ND North Dakota;NE Nebraska;NH New Hampshire;NJ New Jersey;NM New Mexico
NV Nevada;NY New York;OH Ohio;OK Oklahoma;OR Oregon;PA Pennsylvania;PR Puerto Rico;RI Rhode Island;SC South Carolina
SD South Dakota;TN Tennessee;TX Texas;UT Utah;VA Virginia;VI Virgin Islands;VT Vermont;WA Washington;WI Wisconsin
WV West Virginia;WY Wyoming""".replace("\n", ";").split(";")
)
COUNTRIES = {
    "USA": ("United States", ["USA", "United States of America"]),
    "Thailand": ("Thailand", []),
    "Palau": ("Palau", []),
    "N Mariana Islands": None,  # a territory of the United States; see STATES
    "Federated States of Micronesia": ("Federated States of Micronesia", ["Micronesia"]),
}
# The source gives these five islands of the Marianas (about 145 degrees east) a western longitude.
EASTERN = {"GRO", "GSN", "GUM", "TNI", "TT01"}
# Two cities are written with their state, and one of them with the state of its neighbour.
CITY_NAMES = {"Westport, NY": "Westport", "Pullman/Moscow,ID": "Pullman/Moscow"}
SPELLINGS = [(r"\bFt\.? ", "Fort "), (r"\bMt\.? ", "Mount "), (r"\bSt ", "St. ")]

PREFIXES = {
    "airport": "https://example.org/flights/airport/",
    "city": "https://example.org/flights/city/",
    "country": "https://example.org/flights/country/",
    "dcterms": "http://purl.org/dc/terms/",
    "fl": "https://example.org/flights/schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "route": "https://example.org/flights/route/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "state": "https://example.org/flights/state/",
    "year": "https://example.org/flights/year/",
}

Airport = dict[str, str]
City = tuple[str, str]  # name, postal code of the state


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("airports", type=Path, help="airports.csv")
    parser.add_argument("routes", type=Path, help="flights-airport.csv")
    parser.add_argument("--to", type=Path, default=Path(__file__).parents[1] / "graph", help="folder to write to")
    arguments = parser.parse_args()
    airports, routes = read(arguments.airports), read(arguments.routes)
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name, text in build(airports, routes).items():
        (arguments.to / name).write_text(text, encoding="utf-8", newline="\n")


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, with runs of blanks made one."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: " ".join(value.split()) for key, value in row.items()} for row in csv.DictReader(file)]


def build(airports: list[Airport], routes: list[dict[str, str]]) -> dict[str, str]:
    """File name to Turtle text."""
    airports = sorted(airports, key=lambda row: row["iata"])
    routes = sorted(routes, key=lambda row: (row["origin"], row["destination"]))
    served = {row[end] for row in routes for end in ("origin", "destination")}
    return {
        "airports.ttl": document("airports", "Airports", [airport_block(row, row["iata"] in served) for row in airports]),
        "places.ttl": document("places", "Cities, states, countries and years", place_blocks(airports)),
        "routes.ttl": document("routes", f"Flights flown from airport to airport in {YEAR}", map(route_block, routes)),
    }


def document(name: str, title: str, blocks: object) -> str:
    """A Turtle file: the prefixes that it uses, the ontology header, then the blocks."""
    header = block(
        f"<https://example.org/flights/graph/{name}>",
        "a owl:Ontology",
        "owl:imports <https://example.org/flights/schema>",
        f"dcterms:title {literal(title)}",
        f"dcterms:description {literal('Written by scripts/build_graph.py; change the script, not this file.')}",
        f"dcterms:source {literal(SOURCE)}",
        "dcterms:license <https://creativecommons.org/publicdomain/mark/1.0/>",
    )
    body = "\n".join([header, *blocks])  # type: ignore[misc]
    used = [f"@prefix {p}: <{iri}> ." for p, iri in sorted(PREFIXES.items()) if re.search(rf"(?m)(^|\s){p}:", body)]
    return "\n".join(used) + "\n\n" + body


def airport_block(row: Airport, served: bool) -> str:
    city = city_of(row)
    lines = [
        "a fl:Airport",
        f"rdfs:label {literal(row['name'])}",
        f"skos:notation {literal(row['iata'])}",
    ]
    if served and city:
        # People name an airport with scheduled flights by its city. Where a city has two, both bear its name,
        # so that "Chicago" is ambiguous, as it should be.
        name, state = city
        names = [*parts(name), f"{name}, {STATES[state]}", f"{name}, {state}"]
        lines.append("skos:altLabel " + ", ".join(map(literal, sorted(set(names) - {row["name"]}))))
    if city:
        lines.append(f"fl:city city:{slug(city)}")
    elif country := COUNTRIES[row["country"]]:
        lines.append(f"fl:country country:{dashed(country[0])}")
    else:
        lines.append("fl:country country:united-states")
    longitude = row["longitude"].lstrip("-") if row["iata"] in EASTERN else row["longitude"]
    lines += [f"fl:latitude {decimal(row['latitude'])}", f"fl:longitude {decimal(longitude)}"]
    return block(f"airport:{row['iata']}", *lines)


def place_blocks(airports: list[Airport]) -> list[str]:
    cities = sorted({city for row in airports if (city := city_of(row))}, key=slug)
    by_slug = defaultdict(list)
    for city in cities:
        by_slug[slug(city)].append(city)
    if doubles := [names for names in by_slug.values() if len(names) > 1]:
        raise SystemExit(f"cities that would share an IRI: {doubles}")
    whole = set(cities)
    shares = Counter((part, state) for name, state in cities for part in parts(name))
    blocks = []
    for name, state in cities:
        # A part of a compound such as "Arcata/Eureka" is a name of it, unless it is a city of its own.
        own = [p for p in parts(name) if p != name and (p, state) not in whole and shares[p, state] == 1]
        blocks.append(
            block(
                f"city:{slug((name, state))}",
                "a fl:City",
                f"rdfs:label {literal(f'{name}, {STATES[state]}')}",
                "skos:altLabel " + ", ".join(map(literal, sorted({name, *own}))),
                f"fl:state state:{state}",
            )
        )
    for label, others in sorted(entry for entry in COUNTRIES.values() if entry):
        lines = ["a fl:Country", f"rdfs:label {literal(label)}"]
        if others:
            lines.append("skos:altLabel " + ", ".join(map(literal, sorted(others))))
        blocks.append(block(f"country:{dashed(label)}", *lines))
    for code, label in sorted(STATES.items()):
        # The postal code is a notation, not an alternative label: in running text "in", "or" and "me" are words.
        blocks.append(
            block(
                f"state:{code}",
                "a fl:State",
                f"rdfs:label {literal(label)}",
                f"skos:notation {literal(code)}",
                "fl:country country:united-states",
            )
        )
    blocks.append(block(f"year:{YEAR}", "a fl:CalendarYear", f"rdfs:label {literal(str(YEAR))}"))
    return blocks


def route_block(row: dict[str, str]) -> str:
    origin, destination = row["origin"], row["destination"]
    return block(
        f"route:{origin}-{destination}-{YEAR}",
        "a fl:FlightSeries",
        f"rdfs:label {literal(f'Flights from {origin} to {destination} in {YEAR}')}",
        f"fl:from airport:{origin} ; fl:to airport:{destination} ; fl:flights {int(row['count'])} ; fl:period year:{YEAR}",
    )


def city_of(row: Airport) -> City | None:
    if row["city"] == UNKNOWN or row["state"] == UNKNOWN:
        return None
    name = CITY_NAMES.get(row["city"], row["city"])
    for pattern, full in SPELLINGS:
        name = re.sub(pattern, full, name)
    return name, row["state"]


def parts(name: str) -> list[str]:
    return name.split("/")


def slug(city: City) -> str:
    return f"{dashed(city[0])}-{city[1].lower()}"


def dashed(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def block(subject: str, *lines: str) -> str:
    return f"{subject} " + " ;\n  ".join(lines) + " .\n"


def literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def decimal(text: str) -> str:
    """A position in the canonical form of xsd:decimal, as Turtle's shorthand where that reads as a decimal."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    if not (whole + fraction).isdigit():
        raise SystemExit(f"not a decimal: {text}")
    if fraction:
        return f"{sign}{whole}.{fraction}"
    return f'"{sign}{whole}"^^<http://www.w3.org/2001/XMLSchema#decimal>'


if __name__ == "__main__":
    main()
