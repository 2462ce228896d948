"""What differs between two states of a catalog: by record, then by field; and how many other triples of each graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from abi.graph.mapping import Names, read_records
from abi.graph.names import provenance_graph
from abi.graph.oxigraph import OxigraphStore
from abi.graph.store import BOOKKEEPING
from abi.records.record import PythonFunction, Record

__all__ = ["ChangedRecord", "Difference", "compare"]

_ABSENT = None


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """A record of both states. `fields` are dotted (`parameters.origin.required`), each with before and after."""

    name: str
    kind: str
    iri: str
    fields: dict[str, tuple[Any, Any]]

    def document(self) -> dict[str, Any]:
        fields = {field: {"before": before, "after": after} for field, (before, after) in self.fields.items()}
        return {"name": self.name, "kind": self.kind, "iri": self.iri, "fields": fields}


@dataclass(frozen=True, slots=True)
class Difference:
    """`graphs` counts triples that are in no record: graph to (added, removed)."""

    added: list[tuple[str, Record]]
    removed: list[tuple[str, Record]]
    changed: list[ChangedRecord]
    graphs: dict[str, tuple[int, int]]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.graphs)

    def document(self) -> dict[str, Any]:
        def named(records: list[tuple[str, Record]]) -> list[dict[str, str]]:
            return [{"name": r.name, "kind": _kind(r), "iri": iri} for iri, r in records]

        return {
            "added": named(self.added),
            "removed": named(self.removed),
            "changed": [c.document() for c in self.changed],
            "graphs": [{"graph": g, "added": a, "removed": r} for g, (a, r) in self.graphs.items()],
        }


def compare(before: OxigraphStore, after: OxigraphStore, base: str) -> Difference:
    """From one state to the other. A record is the same where its IRI is; where it stands does not matter."""
    old, new = _records(before, base), _records(after, base)
    changed = []
    for iri in sorted(old.keys() & new.keys()):
        fields = _fields_that_differ(old[iri], new[iri])
        if fields:
            changed.append(ChangedRecord(new[iri].name, _kind(new[iri]), iri, fields))
    return Difference(
        added=sorted(((i, new[i]) for i in new.keys() - old.keys()), key=_order),
        removed=sorted(((i, old[i]) for i in old.keys() - new.keys()), key=_order),
        changed=sorted(changed, key=lambda c: (c.kind, c.name, c.iri)),
        graphs=_other_triples(before, after, base, old.keys() | new.keys()),
    )


def _records(store: OxigraphStore, base: str) -> dict[str, Record]:
    return dict(read_records(store, names=Names(base, store)))


def _kind(record: Record) -> str:
    return str(getattr(record, "kind", ""))


def _order(entry: tuple[str, Record]) -> tuple[str, str, str]:
    return _kind(entry[1]), entry[1].name, entry[0]


def _fields_that_differ(old: Record, new: Record) -> dict[str, tuple[Any, Any]]:
    before, after = _flat(_plain(old)), _flat(_plain(new))
    fields = {
        field: (before.get(field, _ABSENT), after.get(field, _ABSENT))
        for field in dict.fromkeys([*before, *after])
        if before.get(field, _ABSENT) != after.get(field, _ABSENT)
    }
    if isinstance(old, PythonFunction) and isinstance(new, PythonFunction) and old.source and new.source:
        # What a function does is in no field. Its file's hash may differ for another function's sake, too.
        hashes = (old.source.content_hash, new.source.content_hash)
        if hashes[0] != hashes[1]:
            fields["source.content_hash"] = hashes
    return fields


def _plain(record: Record) -> dict[str, Any]:
    # An agent's own intents are records themselves.
    return record.model_dump(mode="json", exclude={"source", "intents"})


def _flat(value: Any, field: str = "") -> dict[str, Any]:
    """Leaves by their dotted place; the items of a list that have names (parameters) by these."""
    if isinstance(value, list) and value and all(isinstance(i, dict) and isinstance(i.get("name"), str) for i in value):
        value = {item["name"]: {k: v for k, v in item.items() if k != "name"} for item in value}
    if not isinstance(value, Mapping) or not value:
        # An empty list and an empty text say no more than a missing one.
        return {} if value in (None, "", [], {}) else {field: value}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{field}.{key}" if field else str(key))
    return flat


def _other_triples(
    before: OxigraphStore, after: OxigraphStore, base: str, records: set[str]
) -> dict[str, tuple[int, int]]:
    own = {BOOKKEEPING, provenance_graph(base), f"{base}versions"}
    graphs: dict[str, tuple[int, int]] = {}
    for graph in sorted({*before.graphs(), *after.graphs()} - own):
        old, new = set(before.quads(graph)), set(after.quads(graph))
        gone, come = _counted(old - new, records), _counted(new - old, records)
        added, removed = (come - gone).total(), (gone - come).total()
        if added or removed:
            graphs[graph] = (added, removed)
    return graphs


def _counted(quads: set[ox.Quad], records: set[str]) -> Counter[str]:
    """Triples outside records. All blank nodes look alike here: their names change with each reading of a file."""
    return Counter(
        f"{_alike(q.subject)} {q.predicate} {_alike(q.object)}" for q in quads if not _owned(q.subject, records)
    )


def _owned(subject: Any, records: set[str]) -> bool:
    """Whether a subject is a record or a part of one, whose IRI begins with the record's."""
    if not isinstance(subject, ox.NamedNode):
        return False
    iri = subject.value
    while iri not in records:
        iri, slash, _ = iri.rpartition("/")
        if not slash or iri.endswith(":/"):
            return False
    return True


def _alike(term: Any) -> str:
    return "[]" if isinstance(term, ox.BlankNode) else str(term)
