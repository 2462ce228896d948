"""The RDF syntaxes, one row each; writing them in an order that does not change from one save to the next.

Turtle and TriG are written here: prefixes and subjects sorted, `a` and the label first, blank nodes inside what they
belong to. The other syntaxes are sorted and left to Oxigraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

import pyoxigraph as ox

from abi.errors import Unsupported, UsageError
from abi.graph.turtle import write_trig, write_turtle

__all__ = ["FORMATS", "Format", "format_of", "parse", "serialize"]


@dataclass(frozen=True, slots=True)
class Format:
    """One syntax. `graphs`: whether it can say in which graph a triple is."""

    name: str
    extensions: tuple[str, ...]
    media_type: str
    graphs: bool
    syntax: ox.RdfFormat
    aliases: tuple[str, ...] = ()


FORMATS: tuple[Format, ...] = (
    Format("turtle", (".ttl",), "text/turtle", False, ox.RdfFormat.TURTLE, ("ttl",)),
    Format("trig", (".trig",), "application/trig", True, ox.RdfFormat.TRIG),
    Format("ntriples", (".nt",), "application/n-triples", False, ox.RdfFormat.N_TRIPLES, ("nt", "n-triples")),
    Format("nquads", (".nq",), "application/n-quads", True, ox.RdfFormat.N_QUADS, ("nq", "n-quads")),
    Format("jsonld", (".jsonld",), "application/ld+json", True, ox.RdfFormat.JSON_LD, ("json-ld",)),
    Format(
        "rdfxml",
        (".rdf", ".owl", ".xml"),
        "application/rdf+xml",
        False,
        ox.RdfFormat.RDF_XML,
        ("rdf/xml", "rdf-xml", "xml"),
    ),
)


def format_of(name: str) -> Format:
    """The format of a name (`turtle`, `ttl`), a media type, or a path's extension. Raises UsageError."""
    wanted = name.strip().split(";")[0].strip().lower()
    suffix = PurePath(wanted).suffix
    for row in FORMATS:
        if wanted in (row.name, row.media_type, *row.aliases) or suffix in row.extensions or wanted in row.extensions:
            return row
    known = ", ".join(row.name for row in FORMATS)
    raise UsageError(f"no RDF syntax is known by {name}", hint=f"Known are {known}, and the extensions of their files.")


def serialize(quads: Iterable[ox.Quad], format: str | Format, prefixes: Mapping[str, str] | None = None) -> bytes:
    """The quads in a syntax, as UTF-8, in an order of their own.

    A syntax without graphs gets the triples of all of them. Raises UsageError for an unknown format, Unsupported
    where RDF/XML cannot write an IRI or a character.
    """
    row = format if isinstance(format, Format) else format_of(format)
    declared = dict(sorted((prefixes or {}).items()))
    given = list(dict.fromkeys(quads if row.graphs else (ox.Quad(*q.triple) for q in quads)))
    if row.name == "turtle":
        return write_turtle(given, declared).encode()
    if row.name == "trig":
        return write_trig(given, declared).encode()
    if row.name == "rdfxml":
        _refuse_what_xml_cannot_say(given)
    given.sort(key=lambda q: (str(q.graph_name), str(q.subject), q.predicate.value, str(q.object)))
    terms: list[ox.Quad] | list[ox.Triple] = given if row.graphs else [q.triple for q in given]
    used = _used(declared, given) if row.name == "rdfxml" else declared
    out = ox.serialize(terms, format=row.syntax, prefixes={p: n for p, n in used.items() if p})
    assert out is not None
    return out


def parse(data: bytes | str, format: str | Format) -> list[ox.Quad]:
    """The quads of a text that is trusted (it has no limits; files from people go through `rdf_source`).

    Raises SyntaxError as Oxigraph words it.
    """
    row = format if isinstance(format, Format) else format_of(format)
    return list(ox.parse(data, row.syntax))


_NAME = re.compile(r"[A-Za-z_][\w.\-]*\Z")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _refuse_what_xml_cannot_say(quads: list[ox.Quad]) -> None:
    for quad in quads:
        if _NAME.search(quad.predicate.value) is None:
            raise Unsupported(
                f"RDF/XML cannot write the property <{quad.predicate.value}>: it does not end in a name",
                hint="Use another format, for example turtle.",
            )
        if isinstance(quad.object, ox.Literal) and _NOT_XML.search(quad.object.value):
            raise Unsupported(
                f"RDF/XML cannot write a control character, which <{quad.predicate.value}> has",
                hint="Use another format, for example turtle.",
            )


def _used(prefixes: dict[str, str], quads: list[ox.Quad]) -> dict[str, str]:
    predicates = {q.predicate.value for q in quads}
    return {p: n for p, n in prefixes.items() if any(i.startswith(n) for i in predicates)}
