"""The SHACL shapes of abi and of a workspace: which nodes they are for, and whether those conform.

Nodes are looked at quickly first (`abi.graph.conformance`); what is not surely fine is validated by pySHACL, over the
node and what it is linked to. Shapes are kept out of the store. A rule in SPARQL (sh:sparql) sees that neighbourhood,
not the whole graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi import terms
from abi.errors import AbiError, Invalid
from abi.findings import Finding, Severity
from abi.graph.change import Candidate, Node, Object
from abi.graph.conformance import Check, Description, Unsure, compile_shape
from abi.graph.hierarchy import Hierarchy
from abi.graph.time_limit import time_limit

if TYPE_CHECKING:
    from rdflib import Graph

__all__ = ["Shapes", "Violation"]

_SH = terms.SH
_DEEP = 3
"""How many links away from a node pySHACL sees its surroundings."""
_WIDE = 2000
"""How many nodes of them at most; beyond, only their types."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One shape that one node breaks. `field` is the shape's sh:name, else the local name of its path."""

    node: Object
    shape: str
    """The IRI of the shape; empty where it has none."""
    path: str
    field: str
    named: bool
    """Whether `field` is a sh:name: a field as record files write it."""
    severity: Severity
    message: str
    fix: str


@contextmanager
def _usable() -> Iterator[None]:
    """What goes wrong inside is a fault of the shapes: a path in a circle, a number that is a word."""
    try:
        yield
    except AbiError:
        raise
    except Exception as error:
        said = str(getattr(error, "message", None) or error).partition("\n")[0] or type(error).__name__
        text = f"a shape cannot be used: {said}"
        raise Invalid(text, [Finding("shapes", 0, "", "error", "shape-broken", text)]) from error


_INCOMPARABLE = "Cannot use sh:lessThan"
SECONDS, SECONDS_A_NODE = 20.0, 0.1
"""What one shape may take: a workspace's own may hold a pattern or a query that never ends."""


def _time_for(shape: Object, nodes: Sequence[Object]) -> AbstractContextManager[None]:
    named = f"<{shape.value}>" if isinstance(shape, ox.NamedNode) else "a shape without a name"
    return time_limit(SECONDS + SECONDS_A_NODE * len(nodes), named)


class Shapes:
    """The shapes of some files. Independent of any store; safe to share."""

    @_usable()
    def __init__(self, triples: Iterable[ox.Quad]) -> None:
        self._triples = list(triples)
        self._said: Description = {}
        for quad in self._triples:
            self._said.setdefault(quad.subject, {}).setdefault(quad.predicate.value, []).append(quad.object)
        self._by_class: dict[str, list[Any]] = {}
        self._by_node: dict[Any, list[Any]] = {}
        self._by_subject_of: dict[str, list[Any]] = {}
        self._by_object_of: dict[str, list[Any]] = {}
        self._checks: dict[Any, Check | None] = {}
        for shape in self._said:
            self._read_targets(shape)
        self._inverse = self._find_inverse()
        self._expanding = self._find_expanding()
        self._class_paths = self._find_class_paths()
        self._pyshacl: Any = None

    def _read_targets(self, shape: Any) -> None:
        said = self._said[shape]
        classes = {t.value for t in said.get(terms.RDF_TYPE, ()) if isinstance(t, ox.NamedNode)}
        targets = [t.value for t in said.get(_SH + "targetClass", ())]
        if classes & {terms.RDFS_CLASS, terms.OWL_CLASS} and _SH + "NodeShape" in classes:
            targets.append(shape.value)
        for index, keys in (
            (self._by_class, targets),
            (self._by_node, said.get(_SH + "targetNode", [])),
            (self._by_subject_of, [p.value for p in said.get(_SH + "targetSubjectsOf", ())]),
            (self._by_object_of, [p.value for p in said.get(_SH + "targetObjectsOf", ())]),
        ):
            for key in keys:
                index.setdefault(key, []).append(shape)
                if shape not in self._checks:
                    try:
                        self._checks[shape] = compile_shape(self._said, shape)
                    except (Unsure, ValueError):
                        self._checks[shape] = None

    def _find_inverse(self) -> list[ox.NamedNode]:
        """Predicates that some path walks backwards: their objects are concerned by a changed triple."""
        found = {p for said in self._said.values() for p in said.get(_SH + "inversePath", ())}
        found |= {ox.NamedNode(p) for p in self._by_object_of}
        return sorted((p for p in found if isinstance(p, ox.NamedNode)), key=lambda p: p.value)

    def _find_expanding(self) -> list[ox.NamedNode]:
        """Predicates behind which a shape looks further: whoever links to a changed node by them is concerned too."""
        found: set[ox.NamedNode] = set()
        for said in self._said.values():
            for path in said.get(_SH + "path", ()):
                further = any(_SH + p in said for p in ("node", "property", "qualifiedValueShape"))
                if isinstance(path, ox.NamedNode):
                    found |= {path} if further else set()
                elif _SH + "alternativePath" not in self._said.get(path, {}) or further:
                    found |= self._predicates(path)
        return sorted(found, key=lambda p: p.value)

    def _predicates(self, path: Any) -> set[ox.NamedNode]:
        if isinstance(path, ox.NamedNode):
            return set() if path.value == terms.RDF_NIL else {path}
        return {p for values in self._said.get(path, {}).values() for v in values for p in self._predicates(v)}

    # Which nodes

    @_usable()
    def focus(self, candidate: Candidate, hierarchy: Hierarchy) -> dict[Any, list[Object]]:
        """The nodes that a change concerns, by the shapes that are for them."""
        found: dict[Any, dict[Object, None]] = {}
        for node in self._concerned(candidate):
            for shape in self._shapes_for(node, candidate, hierarchy):
                found.setdefault(shape, {})[node] = None
        return {shape: list(nodes) for shape, nodes in found.items()}

    def _concerned(self, candidate: Candidate) -> Iterable[Node]:
        touched = dict.fromkeys(candidate.subjects_changed())
        changed = (*candidate.net.removed, *candidate.net.added)
        further: dict[Node, None] = {}
        for quad in candidate.net.removed:
            # A node that lost its class: whoever links to it may have relied on it.
            if quad.predicate.value == terms.RDF_TYPE:
                for predicate in self._class_paths:
                    further.update(dict.fromkeys(candidate.subjects(predicate, quad.subject)))  # type: ignore[arg-type]
        for predicate in self._expanding:
            todo, depth = list(touched), 0
            while todo and depth < _DEEP:
                above = dict.fromkeys(s for node in todo for s in candidate.subjects(predicate, node))
                todo = [s for s in above if s not in touched and s not in further]
                further.update(above)
                depth += 1
        backwards = {p.value for p in self._inverse}
        if backwards:
            objects = (q.object for q in changed if q.predicate.value in backwards)
            further.update(dict.fromkeys(o for o in objects if isinstance(o, Node)))
        above_target = [q for q in candidate.net.added if q.predicate.value == terms.RDFS_SUBCLASSOF]
        for quad in above_target:  # a class that came under a shape brings its individuals
            further.update(
                dict.fromkeys(candidate.subjects(ox.NamedNode(terms.RDF_TYPE), quad.subject))  # type: ignore[arg-type]
            )
        touched.update(further)
        return touched

    def _find_class_paths(self) -> list[ox.NamedNode]:
        """Predicates whose objects must be of some class."""
        found = {
            path
            for said in self._said.values()
            if any(_SH + c in said for c in ("class", "or", "node", "and"))
            for path in said.get(_SH + "path", ())
            if isinstance(path, ox.NamedNode)
        }
        return sorted(found, key=lambda p: p.value)

    def _shapes_for(self, node: Node, candidate: Candidate, hierarchy: Hierarchy) -> Iterable[Any]:
        types = candidate.types(node)
        found: dict[Any, None] = {}
        if types:
            for class_iri in hierarchy.classes_of(types, candidate):
                found.update(dict.fromkeys(self._by_class.get(class_iri, ())))
        if self._by_node:
            found.update(dict.fromkeys(self._by_node.get(node, ())))
        for predicate, shapes in self._by_subject_of.items():
            if candidate.objects(node, ox.NamedNode(predicate)):
                found.update(dict.fromkeys(shapes))
        for predicate, shapes in self._by_object_of.items():
            if candidate.subjects(ox.NamedNode(predicate), node):
                found.update(dict.fromkeys(shapes))
        return found

    # Whether they conform

    @_usable()
    def violations(self, focus: dict[Any, list[Object]], candidate: Candidate, hierarchy: Hierarchy) -> list[Violation]:
        """What the nodes break; in no particular order. Raises Invalid where a shape itself is broken."""
        doubtful: dict[Any, list[Object]] = {}
        for shape, nodes in focus.items():
            check = self._checks.get(shape)
            with _time_for(shape, nodes):
                left = nodes if check is None else [n for n in nodes if check(candidate, hierarchy, n) is not True]
            if left:
                doubtful[shape] = left
        return self.report(doubtful, candidate, hierarchy) if doubtful else []

    @_usable()
    def report(self, focus: dict[Any, list[Object]], candidate: Candidate, hierarchy: Hierarchy) -> list[Violation]:
        """The same as pySHACL finds it, without the quick look."""
        from pyshacl.errors import ReportableRuntimeError
        from pyshacl.graph_abstraction import DataGraph
        from pyshacl.validator import Validator

        from abi.graph.rdflib_view import rdflib_term

        data = self._neighbourhood({n for nodes in focus.values() for n in nodes}, candidate, hierarchy)
        found: dict[Violation, None] = {}
        shapes = self._shapes_graph()
        graph = DataGraph.from_rdflib_graph(data)
        validator = Validator(graph, shacl_graph=shapes.graph, options={"advanced": False, "inplace": True})
        executor = validator.make_executor()
        for shape, nodes in focus.items():
            pyshape = shapes.lookup_shape_from_node(rdflib_term(shape))
            try:
                with _time_for(shape, nodes):
                    _, results = pyshape.validate(executor, graph, focus=[rdflib_term(n) for n in nodes])
            except ReportableRuntimeError as error:
                if not error.message.startswith(_INCOMPARABLE):
                    raise
                found |= dict.fromkeys(self._incomparable(pyshape, executor, graph, shape, nodes))
                continue
            for _, _, parts in results:
                found[self._violation(parts, shape)] = None
        return list(found)

    def _incomparable(
        self, pyshape: Any, executor: Any, graph: Any, shape: Any, nodes: list[Object]
    ) -> list[Violation]:
        """One by one: pySHACL gives up at a blank node under `sh:lessThan`, which is a fault of that node only."""
        from pyshacl.errors import ReportableRuntimeError

        from abi.graph.rdflib_view import rdflib_term

        found: list[Violation] = []
        for node in nodes:
            try:
                _, results = pyshape.validate(executor, graph, focus=[rdflib_term(node)])
                found += [self._violation(parts, shape) for _, _, parts in results]
            except ReportableRuntimeError as error:
                if not error.message.startswith(_INCOMPARABLE):
                    raise
                named = shape.value if isinstance(shape, ox.NamedNode) else ""
                message = "a value that has to be compared with another is a blank node"
                found.append(Violation(node, named, "", "", False, "error", message, "Write a literal there."))
        return found

    def _shapes_graph(self) -> Any:
        if self._pyshacl is None:
            from pyshacl.shapes_graph import ShapesGraph

            self._pyshacl = ShapesGraph(_rdflib_graph(self._triples))
            self._pyshacl.shapes  # noqa: B018 (builds its index)
        return self._pyshacl

    def _neighbourhood(self, nodes: Iterable[Object], candidate: Candidate, hierarchy: Hierarchy) -> Graph:
        quads: list[ox.Quad] = []
        seen: set[Object] = set()
        types: set[str] = set()
        level: list[Object] = list(nodes)
        for depth in range(_DEEP + 1):
            following: dict[Object, None] = {}
            for node in level:
                if node in seen or isinstance(node, ox.Literal):
                    continue
                seen.add(node)
                node_types = candidate.types(node)
                types |= node_types
                if depth == _DEEP or len(seen) > _WIDE:
                    quads += [_quad(node, ox.NamedNode(terms.RDF_TYPE), ox.NamedNode(t)) for t in node_types]
                    continue
                for predicate, values in candidate.about(node).items():
                    quads += [_quad(node, predicate, v) for v in values]
                    following.update(values)
                for predicate in self._inverse:
                    behind = candidate.subjects(predicate, node)
                    quads += [_quad(s, predicate, node) for s in behind]
                    following.update(dict.fromkeys(behind))
            level = list(following)
        subclass = ox.NamedNode(terms.RDFS_SUBCLASSOF)
        for one in types:
            above = hierarchy.above(one, candidate) - {one}
            quads += [_quad(ox.NamedNode(one), subclass, ox.NamedNode(c)) for c in above]
        return _rdflib_graph(quads)

    def _violation(self, parts: Sequence[tuple[Any, Any, Any]], target: Any) -> Violation:
        said: dict[str, list[Any]] = {}
        for _, predicate, value in parts:
            said.setdefault(str(predicate), []).append(value[1] if isinstance(value, tuple) else value)
        source = _oxigraph_term(said[_SH + "sourceShape"][0])
        about = self._said.get(source, {})
        severity = str(said[_SH + "resultSeverity"][0])
        path = str(said.get(_SH + "resultPath", [""])[0])
        path = path if ":" in path else ""
        names = about.get(_SH + "name") or self._said.get(target, {}).get(_SH + "name")
        named = source if isinstance(source, ox.NamedNode) else target
        return Violation(
            node=_oxigraph_term(said[_SH + "focusNode"][0]),
            shape=named.value if isinstance(named, ox.NamedNode) else "",
            path=path,
            field=names[0].value if names else _local(path),
            named=bool(names),
            severity="error" if severity == _SH + "Violation" else "warning",
            message="; ".join(sorted({str(m) for m in said.get(_SH + "resultMessage", ())})) or "it breaks a shape",
            fix=" ".join(d.value for d in about.get(_SH + "description", ())),
        )


def _quad(subject: Any, predicate: ox.NamedNode, value: Any) -> ox.Quad:
    return ox.Quad(subject, predicate, value)


def _rdflib_graph(quads: Iterable[ox.Quad]) -> Graph:
    from rdflib import Graph

    from abi.graph.rdflib_view import rdflib_term

    graph = Graph(bind_namespaces="none")
    for q in quads:
        graph.add((rdflib_term(q.subject), rdflib_term(q.predicate), rdflib_term(q.object)))
    return graph


def _oxigraph_term(term: Any) -> Any:
    from oxrdflib._converter import to_ox

    return to_ox(term)


def _local(iri: str) -> str:
    return iri.replace("#", "/").rstrip("/").rsplit("/", 1)[-1] if iri else ""
