"""Triples to records: the reading half of `abi.graph.mapping`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.errors import Invalid
from abi.findings import Finding
from abi.graph.names import Names
from abi.graph.record_table import RECORDS, Column, Parts, Table
from abi.records.record import KINDS, Record, Source

__all__ = ["RecordReader", "kind_of"]

Node = ox.NamedNode | ox.BlankNode
Properties = dict[str, dict[Any, None]]

_KIND_OF_CLASS = {table.class_iri: kind for kind, table in RECORDS.items()}


def kind_of(quads: Iterable[ox.Quad], subject: Node) -> str | None:
    """The kind of record that a subject is, by its class; None where it is none."""
    for quad in quads:
        if quad.subject == subject and quad.predicate.value == terms.RDF_TYPE:
            kind = _KIND_OF_CLASS.get(getattr(quad.object, "value", ""))
            if kind:
                return kind
    return None


class RecordReader:
    """Reads records from a description: quads about them, their parts and their sources, from any graphs."""

    def __init__(self, quads: Iterable[ox.Quad], names: Names) -> None:
        self.names = names
        self._of: dict[Node, Properties] = {}
        for quad in quads:
            subject = quad.subject
            if isinstance(subject, ox.Triple):
                continue
            self._of.setdefault(subject, {}).setdefault(quad.predicate.value, {})[quad.object] = None
        # An intent is an agent's own where it is under the agent's IRI; others are shared between agents.
        self._agents = {s.value for s in self._of if terms.AGENT_SPECIFICATION in self._types(s)}

    def records(self, kind: str | None = None) -> list[ox.NamedNode]:
        """The subjects that are records (of one kind), sorted."""
        wanted = {_c for _c, k in _KIND_OF_CLASS.items() if kind is None or k == kind}
        found = [s for s in self._of if isinstance(s, ox.NamedNode) and wanted & self._types(s)]
        return sorted(found, key=lambda s: s.value)

    def read(self, subject: ox.NamedNode) -> Record:
        """Raises Invalid with all faults that the triples have, ValidationError where a value breaks the model."""
        kinds = sorted({_KIND_OF_CLASS[t] for t in self._types(subject) if t in _KIND_OF_CLASS})
        faults: list[Finding] = []
        if len(kinds) > 1:
            self._fault(faults, subject, "kind", "kind-several", f"it is of several kinds: {', '.join(kinds)}")
        values = self._values(subject, RECORDS[kinds[0]], faults)
        if faults:
            raise Invalid(f"{self.name_of(subject)} cannot be read from the graph", faults)
        return KINDS[kinds[0]].model_validate(values)

    def name_of(self, subject: Node) -> str:
        """abi:name, else the label, else the last part of the IRI."""
        for predicate in (terms.NAME, terms.RDFS_LABEL):
            texts = self._texts(subject, predicate)
            if texts:
                return texts[0].value
        return subject.value.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]

    def source_of(self, subject: Node) -> Source | None:
        """Where the provenance graph says that a record came from; None where it says nothing."""
        files = [f for f in self._get(subject, terms.DEFINED_IN) if isinstance(f, (ox.NamedNode, ox.BlankNode))]
        for file in sorted(files, key=lambda f: f.value):
            paths = self._texts(file, terms.PATH)
            if not paths:
                continue
            lines = [int(t.value) for t in self._texts(subject, terms.LINE) if t.value.isdigit()]
            hashes = self._texts(file, terms.CONTENT_HASH)
            commits = self._texts(file, terms.COMMIT)
            return Source(
                path=paths[0].value,
                line=min(lines, default=1),
                content_hash=hashes[0].value if hashes else "",
                commit=commits[0].value if commits else None,
            )
        return None

    def _values(self, subject: Node, table: Table, faults: list[Finding], prefix: str = "") -> dict[str, Any]:
        values: dict[str, Any] = {}
        if table.key is not None:
            values["name"] = self.name_of(subject)
        for column in table.columns:
            if column.when is not None and values.get(column.when[0]) != column.when[1]:
                continue
            self._column(values, subject, column, faults, prefix)
        for parts in table.parts:
            values[parts.field] = self._parts(subject, parts, faults)
        if table.annotated:
            values["annotations"] = self._annotations(subject)
            source = self.source_of(subject)
            if source is not None:
                values["source"] = source
        if table.class_iri == terms.INTENT:
            agent = self._agent_of(subject)
            if agent is not None:
                values["agent"] = self.names.reference("agent", agent)
        return values

    def _column(
        self, values: dict[str, Any], subject: Node, column: Column, faults: list[Finding], prefix: str
    ) -> None:
        found: list[Any] = []
        given = list(self._get(subject, column.property))
        if column.property == terms.HAS_INTENT:
            given = [t for t in given if not self._is_own(subject, t)]
        if column.type.text and not column.many and len(given) > 1:
            given = _one_language(given)
        field = f"{prefix}{column.field}"
        for term in given:
            try:
                found.append(column.type.read(term, self.names))
            except ValueError as error:
                self._fault(faults, subject, field, "value-type", f"{column.field}: {error}")
        if column.many:
            target = sorted(found, key=column.type.order)
            if found or column.fallback is not None:
                _set(values, column.field, target)
            return
        if len(found) > 1:
            shown = ", ".join(sorted(repr(f) for f in found)[:3])
            self._fault(faults, subject, field, "value-several", f"{column.field} has {len(found)} values: {shown}")
        elif found:
            _set(values, column.field, found[0])
        elif column.fallback is not None and not given:
            _set(values, column.field, column.fallback)

    def _parts(self, subject: Node, parts: Parts, faults: list[Finding]) -> list[dict[str, Any]]:
        found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        for node in self._get(subject, parts.property):
            if not isinstance(node, (ox.NamedNode, ox.BlankNode)):
                text = f"{parts.field}: {node} is not a {parts.segment}"
                self._fault(faults, subject, parts.field, "value-type", text)
                continue
            if parts.field == "intents" and not self._is_own(subject, node):
                continue
            if node not in self._of:
                continue  # dangling: the gate reports it
            key = self.name_of(node) if parts.table.key else str(len(found))
            value = self._values(node, parts.table, faults, f"{parts.field}.{key}.")
            position = self._position(node)
            if "position" in parts.table.model.model_fields and position is not None:
                value["position"] = position
            order = (position is None, position or 0, len(node.value), node.value)
            found.append((order, value))
        return [value for _, value in sorted(found, key=lambda f: f[0])]

    def _annotations(self, subject: Node) -> dict[str, str]:
        found: dict[str, str] = {}
        for node in self._get(subject, terms.HAS_ANNOTATION):
            if isinstance(node, (ox.NamedNode, ox.BlankNode)):
                keys, texts = self._texts(node, terms.KEY), self._texts(node, terms.VALUE)
                if keys:
                    found[keys[0].value] = texts[0].value if texts else ""
        return dict(sorted(found.items()))

    def _is_own(self, agent: Node, intent: Any) -> bool:
        """Whether an intent is a part of the agent, and not one that stands free."""
        return isinstance(intent, ox.BlankNode) or intent.value.startswith(f"{agent.value}/intent/")

    def _agent_of(self, intent: Node) -> str | None:
        head, found, _ = intent.value.rpartition("/intent/")
        # Only what is under an agent's IRI is its own: `{base}intent/NAME` stands free.
        return head if found and (head in self._agents or head.startswith(f"{self.names.base}agent/")) else None

    def _position(self, node: Node) -> int | None:
        for term in self._texts(node, terms.POSITION):
            try:
                return int(term.value)
            except ValueError:
                continue
        return None

    def _types(self, subject: Node) -> set[str]:
        return {t.value for t in self._get(subject, terms.RDF_TYPE) if isinstance(t, ox.NamedNode)}

    def _get(self, subject: Node, predicate: str) -> Iterable[Any]:
        return self._of.get(subject, {}).get(predicate, ())

    def _texts(self, subject: Node, predicate: str) -> list[ox.Literal]:
        return _one_language_first([t for t in self._get(subject, predicate) if isinstance(t, ox.Literal)])

    def _fault(self, faults: list[Finding], subject: Node, field: str, code: str, message: str) -> None:
        source = self.source_of(subject)
        text = f"{self.name_of(subject)}: {message}"
        faults.append(Finding(source.path if source else "", source.line if source else 0, field, "error", code, text))


def _one_language_first(literals: list[ox.Literal]) -> list[ox.Literal]:
    """Without a language first, then English, then the others by their tag."""
    return sorted(literals, key=lambda t: (bool(t.language), not (t.language or "").startswith("en"), t.language or ""))


def _one_language(given: list[Any]) -> list[Any]:
    """Of texts in several languages the preferred one; all, where one language has several."""
    if not all(isinstance(t, ox.Literal) for t in given):
        return given
    ordered = _one_language_first(given)
    return [t for t in ordered if t.language == ordered[0].language]


def _set(values: dict[str, Any], field: str, value: Any) -> None:
    *path, last = field.split(".")
    for name in path:
        values = values.setdefault(name, {})
    values[last] = value
