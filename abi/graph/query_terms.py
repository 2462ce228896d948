"""The classes and properties that a query of a record names and that stand nowhere: most are misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi import terms
from abi.findings import Finding
from abi.graph.used_terms import local_name, short, used_iris

if TYPE_CHECKING:
    from abi.graph.change import Net
    from abi.graph.loading import Loaded
    from abi.graph.store import GraphStore

__all__ = ["unknown_query_terms", "whole_query"]

_OPTIONAL = re.compile(r"^[ \t]*(?:#[?$]\w+[ \t]*)+", re.MULTILINE)
"""What makes a line part of the query only where a parameter is given."""
_TYPE = ox.NamedNode(terms.RDF_TYPE)
_DECLARED = tuple(
    ox.NamedNode(t)
    for t in (
        terms.OWL_CLASS,
        terms.OWL + "ObjectProperty",
        terms.OWL + "DatatypeProperty",
        terms.OWL + "AnnotationProperty",
        terms.RDF + "Property",
        terms.RDFS + "Class",
    )
)


def whole_query(query: str) -> str:
    """The query with all its optional lines in it, each character where it was."""
    return _OPTIONAL.sub(lambda m: " " * len(m.group()), query)


def unknown_query_terms(
    loaded: Sequence[Loaded], net: Net, stores: Sequence[GraphStore], prefixes: Mapping[str, str]
) -> list[Finding]:
    """A warning for each term of a query that neither the change nor a store has, with a near name.

    Only terms of a namespace of which something is known: what is in other ones may be loaded later.
    """
    used: list[tuple[Loaded, Any, str, int]] = []
    for one in loaded:
        for iri, record in one.records:
            if getattr(record, "kind", "") != "sparql_query" or one.file.path.startswith("abi:"):
                continue
            text = whole_query(record.query)  # type: ignore[attr-defined]
            first = one.lines.get(f"{iri}/query")
            for term, token in used_iris(text, prefixes).items():
                line = first + token.line - 1 if first else one.lines.get(iri, 1)
                used.append((one, record, term, line))
    wanted = {term for _, _, term, _ in used}
    for store in stores:
        wanted = {term for term in wanted if not _stands(store, term)}
    if wanted:
        _strike(net.added, wanted)
    if not wanted:
        return []
    spaces = {_namespace(term) for term in wanted}
    known = set(_known(net.added, stores, spaces))
    found = []
    for one, record, term, line in used:
        if term not in wanted or not any(k.startswith(_namespace(term)) for k in known):
            continue
        message = f"The query of {record.name} uses {short(term, prefixes)}, which stands nowhere in the graph."
        near = _near(term, known)
        fix = f"Did you mean {short(near, prefixes)}?" if near else "Correct it, or declare it in an ontology."
        found.append(Finding(one.file.path, line, "query", "warning", "term-unknown", message, fix))
    return found


def _stands(store: GraphStore, term: str) -> bool:
    node = ox.NamedNode(term)
    patterns = ((node, None, None, None), (None, node, None, None), (None, None, node, None), (None, None, None, node))
    return any(next(iter(store.match(*pattern)), None) is not None for pattern in patterns)


def _strike(quads: Iterable[ox.Quad], wanted: set[str]) -> None:
    """Take out of `wanted` what any quad has; the look ends where nothing is left."""
    for quad in quads:
        for part in (quad.predicate, quad.subject, quad.object, quad.graph_name):
            if isinstance(part, ox.NamedNode) and part.value in wanted:
                wanted.discard(part.value)
                if not wanted:
                    return


def _known(added: Iterable[ox.Quad], stores: Iterable[GraphStore], spaces: set[str]) -> Iterator[str]:
    """The classes and properties of some namespaces: declared, or used as such."""
    for quad in added:
        yield from _of(quad, spaces)
    for store in stores:
        for declared in _DECLARED:
            for quad in store.match(None, _TYPE, declared):
                yield from _of(quad, spaces)


def _of(quad: ox.Quad, spaces: set[str]) -> Iterator[str]:
    if _namespace(quad.predicate.value) in spaces:
        yield quad.predicate.value
    if quad.predicate == _TYPE and isinstance(quad.object, ox.NamedNode):
        if _namespace(quad.object.value) in spaces:
            yield quad.object.value
        subject = quad.subject if quad.object in _DECLARED else None
        if isinstance(subject, ox.NamedNode) and _namespace(subject.value) in spaces:
            yield subject.value


def _namespace(iri: str) -> str:
    return iri[: max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":")) + 1]


def _near(term: str, known: Iterable[str]) -> str | None:
    from rapidfuzz import fuzz, process

    same = {k: local_name(k) for k in sorted(known) if _namespace(k) == _namespace(term)}
    best = process.extractOne(local_name(term), same, scorer=fuzz.ratio, score_cutoff=60)
    return str(best[2]) if best else None
