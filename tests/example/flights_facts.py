"""What the example's files say, read with plain Python: no store, no query, nothing of abi."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from math import acos, cos, radians, sin
from pathlib import Path

WORKSPACE = Path(__file__).parents[2] / "data" / "flights"


@dataclass(frozen=True)
class Airport:
    code: str
    name: str
    city: str | None
    state: str | None
    country: str
    latitude: float
    longitude: float


@dataclass
class Facts:
    airports: dict[str, Airport] = field(default_factory=dict)
    flights: dict[tuple[str, str], int] = field(default_factory=dict)

    def direct(self, origin: str) -> list[str]:
        """Codes that were reached from an airport, the most flown first."""
        ends = [(-n, end) for (start, end), n in self.flights.items() if start == origin]
        return [end for _, end in sorted(ends)]

    def stops(self, origin: str, destination: str) -> list[str]:
        """Codes of airports that lie between two others, by the rarer leg, then both legs together."""
        found = []
        for stop in self.direct(origin):
            second = self.flights.get((stop, destination))
            if second and stop != destination:
                first = self.flights[origin, stop]
                found.append((-min(first, second), -(first + second), stop))
        return [stop for *_, stop in sorted(found)]

    def traffic(self) -> dict[str, int]:
        """Code to flights that took off or landed there."""
        total: dict[str, int] = defaultdict(int)
        for (start, end), n in self.flights.items():
            total[start] += n
            total[end] += n
        return total

    def busiest(self, state: str | None = None) -> list[str]:
        total = self.traffic()
        codes = [c for c in total if state is None or self.airports[c].state == state]
        return sorted(codes, key=lambda code: (-total[code], code))

    def located(self, *, city: str | None = None, state: str | None = None, country: str | None = None) -> list[str]:
        wanted = {"city": city, "state": state, "country": country}
        return sorted(
            a.code for a in self.airports.values() if all(v is None or getattr(a, k) == v for k, v in wanted.items())
        )

    def kilometres(self, origin: str, destination: str) -> float:
        """Great circle by the spherical law of cosines; the tool uses the haversine formula."""
        a, b = self.airports[origin], self.airports[destination]
        phi1, phi2 = radians(a.latitude), radians(b.latitude)
        angle = acos(sin(phi1) * sin(phi2) + cos(phi1) * cos(phi2) * cos(radians(b.longitude - a.longitude)))
        return 6371.0088 * angle


@cache
def facts() -> Facts:
    """Read from graph/airports.ttl, graph/places.ttl and graph/routes.ttl, whose layout the script fixes."""
    places = dict(_blocks("places.ttl"))
    state_of = {s: _one(body, r"fl:state (state:\w+)") for s, body in places.items()}
    country_of = {s: _one(body, r"fl:country (country:[\w-]+)") for s, body in places.items()}
    out = Facts()
    for subject, body in _blocks("airports.ttl"):
        if not subject.startswith("airport:"):
            continue
        city = _one(body, r"fl:city (city:[\w-]+)")
        state = state_of[city] if city else None
        country = country_of[state] if state else _one(body, r"fl:country (country:[\w-]+)")
        assert country is not None
        code = subject.removeprefix("airport:")
        out.airports[code] = Airport(
            code=code,
            name=_label(body),
            city=_label(places[city]) if city else None,
            state=_label(places[state]) if state else None,
            country=_label(places[country]),
            latitude=float(_one(body, r"fl:latitude (\S+)") or "nan"),
            longitude=float(_one(body, r"fl:longitude (\S+)") or "nan"),
        )
    for subject, body in _blocks("routes.ttl"):
        if subject.startswith("route:"):
            origin, destination = _one(body, r"fl:from airport:(\w+)"), _one(body, r"fl:to airport:(\w+)")
            assert origin and destination
            out.flights[origin, destination] = int(_one(body, r"fl:flights (\d+)") or 0)
    return out


def _blocks(name: str) -> list[tuple[str, str]]:
    text = (WORKSPACE / "graph" / name).read_text(encoding="utf-8")
    blocks = [block for block in text.split("\n\n") if not block.startswith("@prefix")]
    return [(block.split(" ", 1)[0], block) for block in blocks]


def _one(text: str, pattern: str) -> str | None:
    found = re.search(pattern, text)
    return found.group(1) if found else None


def _label(text: str) -> str:
    label = _one(text, r'rdfs:label "((?:[^"\\]|\\.)*)"')
    assert label is not None
    return label.replace('\\"', '"').replace("\\\\", "\\")
