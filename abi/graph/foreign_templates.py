"""SPARQL templates in ABI's vocabulary, as tools.

Their triples stay as they are. What abi makes of them stands in one graph of its own, `{base}adopted`, which every
change that touches them brings up to date: by a file, a load or an update, whichever way they come, they are tools at
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi import terms
from abi.graph.change import Candidate, Net, Node
from abi.graph.mapping import iri_of, record_quads
from abi.graph.names import Names
from abi.records.jinja_query import template_variables
from abi.records.record import JinjaQuery, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from abi.graph.store import GraphStore

__all__ = ["adopted_graph", "foreign_records", "with_adopted"]

_SPACES = ("http://ontology.naas.ai/intentMapping/", "http://ontology.naas.ai/abi/")
_N = ox.NamedNode
_TYPE, _LABEL, _NAME = _N(terms.RDF_TYPE), _N(terms.RDFS_LABEL), _N(terms.NAME)
_SOURCE, _DEFINED_IN, _LINE = _N(terms.DCTERMS + "source"), _N(terms.DEFINED_IN), _N(terms.LINE)
_CLASSES = {_N(space + "TemplatableSparqlQuery") for space in _SPACES}
_TEMPLATE_WORDS = ("intentDescription", "sparqlTemplate", "hasArgument")
_ARGUMENT_WORDS = ("argumentName", "argumentDescription", "validationPattern", "validationFormat", "isOptional")
_TOUCHING = {_N(space + word) for space in _SPACES for word in (*_TEMPLATE_WORDS, *_ARGUMENT_WORDS)}
_WORD = re.compile(r"\W+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def adopted_graph(base: str) -> str:
    """The graph of the tools that were made of others' templates."""
    return f"{base}adopted"


def with_adopted(net: Net, store: GraphStore, base: str, locate: Callable[[str], tuple[str, int] | None]) -> Net:
    """The change with what follows from it for the tools that are made of templates."""
    if not any(_touches(q) for q in (*net.added, *net.removed)):
        return net
    candidate = Candidate(store, net)
    graph = adopted_graph(base)
    held = dict.fromkeys(store.quads(graph))
    wanted = dict.fromkeys(_quads(candidate, graph, base, held, locate))
    removed, added = dict.fromkeys(net.removed), dict.fromkeys(net.added)
    for quad in held:
        if quad not in wanted:
            added.pop(quad, None)
            removed[quad] = None
    for quad in wanted:
        removed.pop(quad, None)
        if quad not in held:
            added[quad] = None
    return Net(list(removed), list(added))


def foreign_records(quads: Sequence[ox.Quad], base: str) -> list[tuple[str, JinjaQuery]]:
    """The templates that quads describe, by their own IRI, as the records that become of them."""
    if not any(_touches(q) for q in quads):
        return []
    return _records(_Described(quads), set(), base)


def _touches(quad: ox.Quad) -> bool:
    return quad.predicate in _TOUCHING or (quad.predicate == _TYPE and quad.object in _CLASSES)


class _Described:
    """What quads say, asked as a candidate is."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self._about: dict[object, dict[ox.NamedNode, list[Any]]] = {}
        self._subjects: dict[tuple[object, object], list[Node]] = {}
        for q in quads:
            self._about.setdefault(q.subject, {}).setdefault(q.predicate, []).append(q.object)
            self._subjects.setdefault((q.predicate, q.object), []).append(q.subject)  # type: ignore[arg-type]

    def objects(self, subject: Node, predicate: ox.NamedNode) -> list[Any]:
        return self._about.get(subject, {}).get(predicate, [])

    def subjects(self, predicate: ox.NamedNode, value: ox.NamedNode | ox.Literal) -> list[Node]:
        return self._subjects.get((predicate, value), [])


def _quads(
    candidate: Candidate,
    graph: str,
    base: str,
    held: Iterable[ox.Quad],
    locate: Callable[[str], tuple[str, int] | None],
) -> Iterable[ox.Quad]:
    own: set[object] = {q.subject for q in held}
    lines = {(q.subject, q.object) for q in held if q.predicate == _LINE}
    node, names = _N(graph), Names(base)
    for iri, record in _records(candidate, own, base):
        tool = _N(iri_of(record, base))
        yield from record_quads(record, graph, names)
        yield ox.Quad(tool, _SOURCE, _N(iri), node)
        place = locate(iri)
        for quad in candidate.quads(_N(iri)):
            is_it, where = quad.predicate == _TYPE and quad.object in _CLASSES, quad.graph_name
            if is_it and isinstance(where, ox.NamedNode) and where.value.startswith(f"{base}source/"):
                yield ox.Quad(tool, _DEFINED_IN, where, node)
        if place is not None:
            yield ox.Quad(tool, _LINE, ox.Literal(place[1]), node)
        else:
            yield from (ox.Quad(tool, _LINE, line, node) for subject, line in lines if subject == tool)


def _records(described: Candidate | _Described, own: set[object], base: str) -> list[tuple[str, JinjaQuery]]:
    """One record for each template that has a text, by IRI; `own` are subjects whose names are not taken by others."""
    subjects = {s for c in _CLASSES for s in described.subjects(_TYPE, c) if isinstance(s, ox.NamedNode)}
    taken: set[str] = set()
    found = []
    for subject in sorted(subjects, key=lambda s: s.value):
        query = _text(described, subject, "sparqlTemplate")
        if not query.strip():
            continue
        local = subject.value.replace("#", "/").rstrip("/").rsplit("/", 1)[-1]
        second = _identifier(_CAMEL.sub("_", local).lower())
        name = _identifier(_literal(described.objects(subject, _LABEL))) or second
        for choice in (name, second, f"{second}_query"):
            if choice and choice not in taken and not _elsewhere(described, choice, own):
                name = choice
                break
        taken.add(name)
        description = _text(described, subject, "intentDescription") or name.replace("_", " ")
        record = JinjaQuery(
            name=name, description=description, query=query, parameters=_parameters(described, subject, query)
        )
        found.append((subject.value, record))
    return found


def _elsewhere(described: Candidate | _Described, name: str, own: set[object]) -> bool:
    return any(s not in own for s in described.subjects(_NAME, ox.Literal(name)))


def _parameters(described: Candidate | _Described, subject: ox.NamedNode, query: str) -> list[Parameter]:
    variables = template_variables(query)
    nodes = {n for space in _SPACES for n in described.objects(subject, _N(space + "hasArgument"))}
    found: dict[str, Parameter] = {}
    for node in sorted((n for n in nodes if isinstance(n, Node)), key=lambda n: n.value):
        name = _text(described, node, "argumentName").strip()
        if not name or name in found:
            continue
        optional = _text(described, node, "isOptional")
        required = optional not in ("true", "1")
        # All arguments of ABI are needed; one that the template itself asks for need not be.
        if not optional and variables is not None and name not in variables.needed:
            required = False
        pattern = _text(described, node, "validationPattern") or None
        found[name] = Parameter(
            name=name,
            description=_text(described, node, "argumentDescription"),
            datatype=terms.XSD + "string",
            required=required,
            # Searched for anywhere in a value, as ABI does, a dot says that there is one; patterns match in full here.
            pattern=r"[\s\S]+" if pattern == "." else pattern,
        )
    order = {name: query.find(name) for name in found}
    ordered = sorted(found.values(), key=lambda p: (order[p.name] < 0, order[p.name], p.name))
    return [p.model_copy(update={"position": n}) for n, p in enumerate(ordered)]


def _text(described: Candidate | _Described, subject: Node, word: str) -> str:
    return _literal([o for space in _SPACES for o in described.objects(subject, _N(space + word))])


def _literal(values: Iterable[object]) -> str:
    """Of several texts the one without a language, then the English one, then the first by language and text."""
    texts = [v for v in values if isinstance(v, ox.Literal)]
    texts.sort(key=lambda t: (bool(t.language), not (t.language or "").startswith("en"), t.language or "", t.value))
    return texts[0].value if texts else ""


def _identifier(text: str) -> str:
    import keyword

    word = _WORD.sub("_", text.strip()).strip("_")
    word = f"_{word}" if word[:1].isdigit() else word
    return f"{word}_" if keyword.iskeyword(word) else word
