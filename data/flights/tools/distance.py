"""How far apart two airports are."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt
from typing import Annotated

from abi import Entity, Graph, tool

EARTH_RADIUS_KM = 6371.0088  # the mean radius of the International Union of Geodesy and Geophysics

POSITION = "SELECT ?latitude ?longitude WHERE { ?airport fl:latitude ?latitude ; fl:longitude ?longitude }"


@tool(
    answer="The great circle distance from {{ origin.label }} to {{ destination.label }} is {{ result }} km.",
    annotations={"domain": "geography"},
)
def distance(
    origin: Annotated[str, Entity("fl:Airport")],
    destination: Annotated[str, Entity("fl:Airport")],
    graph: Graph,
) -> float:
    """How far it is from one airport to another: the great circle distance in kilometres.

    Args:
        origin: the airport to measure from, for example BOI
        destination: the airport to measure to, for example SEA
    """
    (a,) = graph.query(POSITION, airport=origin)
    (b,) = graph.query(POSITION, airport=destination)
    return round(great_circle_km(a["latitude"], a["longitude"], b["latitude"], b["longitude"]), 1)


def great_circle_km(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    """The shortest way over a sphere of the Earth's mean radius, by the haversine formula; degrees in, km out."""
    phi1, lambda1, phi2, lambda2 = (radians(float(x)) for x in (latitude1, longitude1, latitude2, longitude2))
    h = sin((phi2 - phi1) / 2) ** 2 + cos(phi1) * cos(phi2) * sin((lambda2 - lambda1) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(h)))
