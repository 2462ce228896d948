"""Which of the formats that there are does a client want most: the Accept header of RFC 9110."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from abi.errors import NotAcceptable

__all__ = ["GRAPHS", "RESULTS", "Media", "choose"]


@dataclass(frozen=True, slots=True)
class Media:
    """A format, the media type that it is sent as, and others by which it may be asked for."""

    format: str
    type: str
    aliases: tuple[str, ...] = ()

    @property
    def header(self) -> str:
        return f"{self.type}; charset=utf-8" if self.type.startswith("text/") else self.type


RESULTS = (
    Media("json", "application/sparql-results+json", ("application/json",)),
    Media("xml", "application/sparql-results+xml", ("application/xml", "text/xml")),
    Media("csv", "text/csv"),
    Media("tsv", "text/tab-separated-values", ("text/tsv",)),
)
"""Of SELECT and ASK; the first where anything is taken."""
GRAPHS = (
    Media("turtle", "text/turtle", ("application/x-turtle",)),
    Media("jsonld", "application/ld+json", ("application/json",)),
    Media("trig", "application/trig"),
    Media("ntriples", "application/n-triples", ("text/plain",)),
    Media("nquads", "application/n-quads"),
    Media("rdfxml", "application/rdf+xml", ("application/xml", "text/xml")),
)
"""Of CONSTRUCT, DESCRIBE and named graphs."""


def choose(accept: str | None, offers: Sequence[Media]) -> Media:
    """The offer with the highest weight; the earlier of two. Raises NotAcceptable where none is taken."""
    found = _choose(accept or "*/*", tuple(offers))
    if found is None:
        known = ", ".join(offer.type for offer in offers)
        raise NotAcceptable("None of the formats that the Accept header names can be had.", hint=f"There are {known}.")
    return found


@lru_cache(maxsize=256)
def _choose(accept: str, offers: tuple[Media, ...]) -> Media | None:
    ranges = [r for part in accept[:4096].split(",")[:64] if (r := _range(part)) is not None]
    best: Media | None = None
    best_rank = (0.0, 0)
    for offer in offers:
        # Its own name before the names that it also goes by: those are asked for where that one is not.
        weight, specific = _weight(offer.type, ranges)
        rank = (weight, 2 if specific == 2 else 0)
        for alias in offer.aliases:
            other, exact = _weight(alias, ranges)
            if exact == 2 and other > 0 and specific < 2:
                rank = max(rank, (other, 1)) if weight > 0 else (other, 1)
        if rank[0] > best_rank[0] or (rank[0] == best_rank[0] and best is not None and rank[1] > best_rank[1]):
            best, best_rank = offer, rank
    return best if best_rank[0] > 0 else None


def _range(part: str) -> tuple[str, float] | None:
    name, *parameters = (word.strip() for word in part.split(";"))
    weight = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                weight = min(1.0, max(0.0, float(value)))
            except ValueError:
                weight = 0.0
    return (name.lower(), weight) if "/" in name else None


def _weight(media: str, ranges: list[tuple[str, float]]) -> tuple[float, int]:
    """The weight of the most specific range that holds a media type, and how specific it is: 2, 1 or 0."""
    family = media.partition("/")[0] + "/*"
    for specific, pattern in ((2, media), (1, family), (0, "*/*")):
        weights = [weight for name, weight in ranges if name == pattern]
        if weights:
            return max(weights), specific
    return 0.0, 0
