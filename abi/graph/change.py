"""A change to the graph before it is made, and the state that it would lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyoxigraph as ox

from abi import terms
from abi.errors import Invalid
from abi.findings import Finding
from abi.graph.literals import stored_form
from abi.graph.store import GraphStore

__all__ = ["Candidate", "Change", "Net", "Node", "Object"]

Node = ox.NamedNode | ox.BlankNode
Object = ox.NamedNode | ox.BlankNode | ox.Literal
_TYPE = ox.NamedNode(terms.RDF_TYPE)


@dataclass(slots=True)
class Net:
    """What a change really takes away from a store and adds to it; both may be empty."""

    removed: list[ox.Quad]
    added: list[ox.Quad]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)

    def graphs(self) -> list[str]:
        """The named graphs that change, sorted."""
        return sorted({q.graph_name.value for q in (*self.removed, *self.added) if isinstance(q.graph_name, Node)})


@dataclass(slots=True)
class Change:
    """Whole graphs to `replace` (by IRI, with their new quads) or to `drop`, then quads to `remove` and to `add`."""

    replace: dict[str, list[ox.Quad]] = field(default_factory=dict)
    drop: set[str] = field(default_factory=set)
    add: list[ox.Quad] = field(default_factory=list)
    remove: list[ox.Quad] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.replace or self.drop or self.add or self.remove)

    def net(self, store: GraphStore) -> Net:
        """The difference to the store. A replaced graph that holds blank nodes differs, even if only in their labels.

        Raises Invalid for a quad that no graph of abi may hold: without a graph, or with a triple as its term.
        """
        removed: dict[ox.Quad, None] = {}
        added: dict[ox.Quad, None] = {}
        for graph in sorted(self.drop - set(self.replace)):
            removed.update(dict.fromkeys(store.quads(graph)))
        for graph, quads in self.replace.items():
            wanted = dict.fromkeys(map(_storable, quads))
            node = ox.NamedNode(graph)
            if any(q.graph_name != node for q in wanted):
                raise ValueError(f"a quad of another graph is among those of <{graph}>")
            held = set(store.quads(graph))
            removed.update(dict.fromkeys(q for q in held if q not in wanted))
            added.update(dict.fromkeys(q for q in wanted if q not in held))
        for quad in map(_storable, self.remove):
            if quad in added:
                del added[quad]
            elif _holds(store, quad):
                removed[quad] = None
        for quad in map(_storable, self.add):
            if quad in removed:
                del removed[quad]
            elif quad not in added and not _holds(store, quad):
                added[quad] = None
        return Net(list(removed), list(added))


def _storable(quad: ox.Quad) -> ox.Quad:
    # Each look at a part of a quad makes an object anew, and this is done for every quad that comes in.
    subject, value = quad.subject, quad.object
    if isinstance(subject, ox.Triple) or isinstance(value, ox.Triple):
        raise _refused("triple-term", "a triple is used as a term; use a node that stands for it", quad)
    if isinstance(quad.graph_name, ox.DefaultGraph):
        raise _refused("graph-missing", "a triple is in no named graph; write GRAPH <iri> { ... } around it", quad)
    if isinstance(value, ox.Literal):
        form = stored_form(value)
        if form is not value:
            return ox.Quad(subject, quad.predicate, form, quad.graph_name)
    return quad


def _refused(code: str, message: str, quad: ox.Quad) -> Invalid:
    text = f"{message}: {str(quad)[:200]}"
    return Invalid("the change cannot be made", [Finding("", 0, "", "error", code, text)])


def _holds(store: GraphStore, quad: ox.Quad) -> bool:
    subject, value = quad.subject, quad.object
    assert not isinstance(subject, ox.Triple) and not isinstance(value, ox.Triple)
    return next(iter(store.match(subject, quad.predicate, value, quad.graph_name)), None) is not None


class Candidate:
    """The store as it would be after a net change, asked triple by triple. Cost grows with what is asked."""

    def __init__(self, store: GraphStore, net: Net) -> None:
        self._store = store
        self.net = net
        self._removed = set(net.removed)
        self._added: dict[Node, list[ox.Quad]] = {}
        self._added_to: dict[tuple[ox.NamedNode, Object], list[ox.Quad]] | None = None
        for quad in net.added:
            self._added.setdefault(quad.subject, []).append(quad)  # type: ignore[arg-type]
        self._about: dict[Node, dict[ox.NamedNode, dict[Object, None]]] = {}
        self._types: dict[Node, frozenset[str]] = {}

    def subjects_changed(self) -> Iterable[Node]:
        """Every subject with an added or a removed triple, once."""
        touched = dict.fromkeys(self._added)
        for quad in self.net.removed:
            touched[quad.subject] = None  # type: ignore[index]
        return touched

    def quads(self, subject: Node) -> Iterator[ox.Quad]:
        for quad in self._store.match(subject):
            if quad not in self._removed:
                yield quad
        yield from self._added.get(subject, ())

    def about(self, subject: Node) -> dict[ox.NamedNode, dict[Object, None]]:
        """All that is said of a subject, over all graphs: predicate to objects."""
        known = self._about.get(subject)
        if known is None:
            known = {}
            for quad in self.quads(subject):
                known.setdefault(quad.predicate, {})[quad.object] = None  # type: ignore[index]
            self._about[subject] = known
        return known

    def objects(self, subject: Object, predicate: ox.NamedNode) -> list[Object]:
        if isinstance(subject, ox.Literal):
            return []
        return list(self.about(subject).get(predicate, ()))

    def subjects(self, predicate: ox.NamedNode, value: Object) -> list[Node]:
        """Who has this value."""
        found = dict.fromkeys(q.subject for q in self._pattern(predicate, value))
        return list(found)  # type: ignore[arg-type]

    def graphs(self, subject: Node, predicate: ox.NamedNode, value: Object) -> list[str]:
        """In which graphs a triple stands, sorted."""
        found = {q.graph_name.value for q in self._pattern(predicate, value, subject) if isinstance(q.graph_name, Node)}
        return sorted(found)

    def types(self, subject: Node) -> frozenset[str]:
        known = self._types.get(subject)
        if known is None:
            about = self._about.get(subject)
            if about is not None:
                found = (t.value for t in about.get(_TYPE, ()) if isinstance(t, ox.NamedNode))
            else:
                # Far cheaper than all about it, for the many subjects that no shape is for.
                stored = (q for q in self._store.match(subject, _TYPE) if q not in self._removed)
                new = (q for q in self._added.get(subject, ()) if q.predicate == _TYPE)
                found = (q.object.value for q in (*stored, *new) if isinstance(q.object, ox.NamedNode))
            known = self._types[subject] = frozenset(found)
        return known

    def _pattern(self, predicate: ox.NamedNode, value: Object, subject: Node | None = None) -> Iterator[ox.Quad]:
        if self._added_to is None:
            self._added_to = {}
            for quad in self.net.added:
                self._added_to.setdefault((quad.predicate, quad.object), []).append(quad)  # type: ignore[arg-type]
        for quad in self._store.match(subject, predicate, value):
            if quad not in self._removed:
                yield quad
        for quad in self._added_to.get((predicate, value), ()):
            if subject is None or quad.subject == subject:
                yield quad
