"""The one door to the graph: a change is checked as a whole, and is made as a whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyoxigraph as ox

from abi import terms
from abi.errors import Invalid
from abi.findings import Finding, has_errors
from abi.graph.change import Candidate, Change, Net, Node
from abi.graph.foreign_templates import with_adopted
from abi.graph.hierarchy import Hierarchy
from abi.graph.integrity import Fault, integrity_faults
from abi.graph.names import provenance_graph
from abi.graph.shape_files import load_shapes
from abi.graph.shapes import Shapes, Violation

if TYPE_CHECKING:
    from abi.graph.oxigraph import OxigraphStore

__all__ = ["Gate", "Written"]

Locate = Callable[[str], "tuple[str, int] | None"]
_N = ox.NamedNode
_DEFINED_IN, _PATH, _LINE, _NAME = _N(terms.DEFINED_IN), _N(terms.PATH), _N(terms.LINE), _N(terms.NAME)
_EDITED = _N(terms.EDITED)
_TRUE = ox.Literal("true", datatype=_N(terms.XSD_BOOLEAN))
_PARTS = ("/parameter/", "/annotation/", "/selector/")
_PART_LINKS = tuple(_N(t) for t in (terms.HAS_PARAMETER, terms.HAS_ANNOTATION, terms.SELECTS_TOOL, terms.HAS_INTENT))


@dataclass(frozen=True, slots=True)
class Written:
    """A change that was made: the version it led to, how many triples came and went, and its warnings."""

    version: int
    added: int
    removed: int
    findings: list[Finding] = field(default_factory=list)


class Gate:
    """Checks changes to one store against shapes and over many records, and applies them.

    `locate` gives the file and line in which an IRI is described (the change's own files; the gate itself knows what
    the provenance graph says). `base` is the workspace's IRI, under which the provenance graph lives.
    """

    def __init__(
        self,
        store: OxigraphStore,
        shapes_dirs: Sequence[Path] = (),
        locate: Locate | None = None,
        *,
        base: str = "",
    ) -> None:
        self.store = store
        self.base = base
        self.locate: Locate = locate or (lambda iri: None)
        self.expected: Callable[[str, str], bool] = lambda name, path: False
        """Whether a name that is nowhere may stand in a file other than `path` that could not be read whole."""
        self._folders = list(shapes_dirs)
        self._hierarchy = Hierarchy()
        self._hierarchy_version = -1
        self._loaded: Shapes | None = None
        self._loaded_at = 0.0

    def check(self, change: Change | Net) -> list[Finding]:
        """All that is wrong with a change, sorted by place; the store is not touched.

        Raises Invalid where no graph of abi may hold the change, or a file of shapes is broken.
        """
        with self.store.writing:
            return self._findings(self.net(change))

    def check_all(self) -> list[Finding]:
        """All that is wrong with what the store holds now; for a workspace whose shapes changed."""
        with self.store.writing:
            everything = [q for q in self.store.quads() if isinstance(q.graph_name, Node)]
            # The candidate asks the store as well: every triple twice in one graph is still one triple.
            return self._findings(Net([], everything))

    def commit(self, change: Change | Net, *, mark_edited: Iterable[str] = ()) -> int:
        """Make a change that was checked, in one step. Gives the store's version, which is unmoved by no change.

        `mark_edited`: IRIs of source graphs that are no longer what their file says.
        """
        with self.store.writing:
            return self._commit(self.net(change), mark_edited)

    def write(self, change: Change | Net, *, mark_edited: Iterable[str] = (), strict: bool = False) -> Written:
        """Check and make a change. Raises Invalid with all findings where one is an error; nothing is written then."""
        with self.store.writing:
            net = self.net(change)
            findings = self._findings(net)
            if has_errors(findings, strict=strict):
                errors = sum(f.severity == "error" for f in findings) or len(findings)
                raise Invalid(
                    f"the change breaks {errors} rule{'s' if errors != 1 else ''}; nothing was written",
                    findings,
                    hint="Mend what the findings name, then try again.",
                )
            added, removed = len(net.added), len(net.removed)
            return Written(self._commit(net, mark_edited), added, removed, findings)

    def edited_graphs(self, net: Net) -> list[str]:
        """The source graphs that a change from outside touches: they are marked."""
        return [g for g in net.graphs() if self.base and g.startswith(f"{self.base}source/")]

    def net(self, change: Change | Net) -> Net:
        """What a change really does to the store, with what follows from it for tools made of others' templates."""
        if isinstance(change, Net):
            return change
        net = change.net(self.store)
        return with_adopted(net, self.store, self.base, self.locate) if self.base else net

    def _commit(self, net: Net, mark_edited: Iterable[str]) -> int:
        if not net:
            return self.store.version()
        changed_classes = any(q.predicate.value == terms.RDFS_SUBCLASSOF for q in (*net.added, *net.removed))
        marks = [
            ox.Quad(_N(g), _EDITED, _TRUE, _N(provenance_graph(self.base or g.partition("source/")[0])))
            for g in mark_edited
        ]
        new = set(net.added)
        before = self._hierarchy_version
        known = before == self.store.version()
        version = self.store.apply(net.removed, [*net.added, *(m for m in marks if m not in new)])
        if known and not changed_classes:
            self._hierarchy_version = version
        return version

    def _findings(self, net: Net) -> list[Finding]:
        if not net:
            return []
        candidate = Candidate(self.store, net)
        hierarchy = self._hierarchy_for(net)
        shapes = self._shapes()
        violations = shapes.violations(shapes.focus(candidate, hierarchy), candidate, hierarchy)
        place = _Places(candidate, self.locate)
        faults = [
            f for f in integrity_faults(candidate) if not f.missing or not self.expected(f.missing, place.of(f.node)[0])
        ]
        findings = [self._told_by_shape(v, place) for v in violations] + [self._told(f, place) for f in faults]
        return sorted(set(findings))

    def _shapes(self) -> Shapes:
        # A server's gate lives for days while shape files are edited; a look once a second is enough.
        now = time.monotonic()
        if self._loaded is None or now - self._loaded_at > 1:
            self._loaded, self._loaded_at = load_shapes(self._folders), now
        return self._loaded

    def _hierarchy_for(self, net: Net) -> Hierarchy:
        if any(q.predicate.value == terms.RDFS_SUBCLASSOF for q in (*net.added, *net.removed)):
            return Hierarchy()
        version = self.store.version()
        if version != self._hierarchy_version:
            self._hierarchy = Hierarchy()
            self._hierarchy_version = version
        return self._hierarchy

    def _told_by_shape(self, violation: Violation, place: _Places) -> Finding:
        node = violation.node
        assert not isinstance(node, ox.Literal)
        path, line = place.of(node)
        local = violation.shape.replace("#", "/").rstrip("/").rsplit("/", 1)[-1]
        # abi's own rules are named after what they find; those of a workspace may be named anything.
        code = local if violation.shape.startswith(terms.SHAPES) else f"shape-{local or 'violation'}"
        name = place.name(node)
        message = f"{name}: {violation.message}" if name else violation.message
        return Finding(path, line, place.field(node, violation), violation.severity, code, message, violation.fix)

    def _told(self, fault: Fault, place: _Places) -> Finding:
        path, line = place.of(fault.node, fault.graph)
        message = fault.message
        if fault.other is not None:
            other_path, other_line = place.of(fault.other)
            if other_path:
                where = f"{other_path}:{other_line}" if other_line else other_path
                message += f" (the other: {where})"
        return Finding(path, line, fault.field, fault.severity, fault.code, message, fault.fix)


class _Places:
    """Where in the files a node is described, and how its fields are called there."""

    def __init__(self, candidate: Candidate, locate: Locate) -> None:
        self._candidate = candidate
        self._locate = locate

    def of(self, node: Node, graph: str = "") -> tuple[str, int]:
        # Two files may describe one IRI: then the graph tells which of them is meant.
        path = _path_of(graph) if graph else ""
        for one in (node, *self._owners(node)):
            found = self._locate(one.value)
            if found is not None and (not path or found[0] == path):
                return found
        for one in (node, *self._owners(node)):
            for file in self._candidate.objects(one, _DEFINED_IN):
                paths = [t.value for t in self._candidate.objects(file, _PATH)]
                if paths and (not path or path in paths):
                    lines = [int(t.value) for t in self._candidate.objects(one, _LINE) if t.value.isdigit()]
                    return path or paths[0], min(lines, default=0)
        if path:
            return path, 0
        graphs = sorted({q.graph_name.value for q in self._candidate.quads(node) if isinstance(q.graph_name, Node)})
        return next((p for g in graphs if (p := _path_of(g))), ""), 0

    def name(self, node: Node) -> str:
        """The record that a node is or belongs to, as people call it."""
        for one in (*reversed(self._owners(node)), node):
            for term in self._candidate.objects(one, _NAME):
                return term.value
        return node.value.replace("#", "/").rstrip("/").rsplit("/", 1)[-1] if isinstance(node, ox.NamedNode) else ""

    def field(self, node: Node, violation: Violation) -> str:
        types = self._candidate.types(node)
        if terms.TOOL_PARAMETER in types:
            rest = violation.field.removeprefix("parameters.")
            return f"parameters.{self._own_name(node)}.{rest}"
        if terms.INTENT in types and self._owners(node):
            return f"intents.{self._own_name(node)}.{violation.field}".rstrip(".")
        return violation.field

    def _own_name(self, node: Node) -> str:
        for term in self._candidate.objects(node, _NAME):
            return term.value
        return unquote(node.value.rsplit("/", 1)[-1])

    def _owners(self, node: Node) -> tuple[Node, ...]:
        if isinstance(node, ox.NamedNode):
            for part in _PARTS:
                head, found, _ = node.value.partition(part)
                if found:
                    return (_N(head), *self._owners(_N(head)))
            head, found, _ = node.value.rpartition("/intent/")
            if found and "/agent/" in head:
                return (_N(head),)
        for link in _PART_LINKS:
            for owner in self._candidate.subjects(link, node):
                if terms.INTENT not in self._candidate.types(node) or isinstance(node, ox.BlankNode):
                    return (owner,)
        return ()


def _path_of(graph: str) -> str:
    _, found, path = graph.partition("/source/")
    return unquote(path) if found else ""
