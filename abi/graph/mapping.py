"""Records to triples and back, by the table in `abi.graph.record_table`.

Both ways give the same: a record that was read from triples makes those triples again. Plain lists (phrases, examples,
allowed values, secrets, an agent's tools) are sets in a graph and come back sorted; parts (parameters, intents,
selectors) keep their order by abi:position. Triples that people write may leave out what has a default, may use other
number types and any IRIs; what does not fit is told in findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox
from pydantic import ValidationError

from abi import terms
from abi.errors import Invalid, NotFound
from abi.findings import Finding
from abi.graph.names import Names, encode, intent_iri, is_iri, provenance_graph, record_iri, source_graph
from abi.graph.record_reader import RecordReader, kind_of
from abi.graph.record_table import RECORDS, Parts, Table
from abi.graph.store import GraphStore
from abi.records.record import AgentSpecification, Intent, Record, Source

__all__ = [
    "Names",
    "edited_quads",
    "iri_of",
    "provenance_quads",
    "read_quads",
    "read_record",
    "read_records",
    "record_quads",
]

Node = ox.NamedNode | ox.BlankNode
_N = ox.NamedNode
_TYPE, _LABEL, _NAME, _INDIVIDUAL = (
    _N(terms.RDF_TYPE),
    _N(terms.RDFS_LABEL),
    _N(terms.NAME),
    _N(terms.OWL_NAMED_INDIVIDUAL),
)
_ANNOTATION, _HAS_ANNOTATION = _N(terms.ANNOTATION), _N(terms.HAS_ANNOTATION)
_KEY, _VALUE, _POSITION = _N(terms.KEY), _N(terms.VALUE), _N(terms.POSITION)
_DEFINED_IN, _LINE, _SOURCE_FILE = _N(terms.DEFINED_IN), _N(terms.LINE), _N(terms.SOURCE_FILE)
_EDITED, _PATH, _HASH, _COMMIT = _N(terms.EDITED), _N(terms.PATH), _N(terms.CONTENT_HASH), _N(terms.COMMIT)
_TRUE = ox.Literal("true", datatype=_N(terms.XSD_BOOLEAN))


def iri_of(record: Record, base: str) -> str:
    """The IRI that abi mints: `{base}tool/NAME`; for an agent's own intent `{base}agent/AGENT/intent/NAME`."""
    if isinstance(record, Intent) and record.agent is not None:
        agent = record.agent if is_iri(record.agent) else record_iri(base, "agent", record.agent)
        return intent_iri(agent, record.name)
    return record_iri(base, record.family, record.name)


def record_quads(record: Record, graph: str, names: Names, iri: str | None = None) -> list[ox.Quad]:
    """The triples of a record, in `graph`; without provenance and without blank nodes.

    Raises Invalid where two parts have one name, or a text cannot be stored.
    """
    table = RECORDS[getattr(record, "kind", "")]
    subject = iri or iri_of(record, names.base)
    try:
        return list(_individual(record, table, subject, _N(graph), names))
    except (UnicodeEncodeError, ValueError) as error:
        # pyoxigraph takes neither lone surrogates nor IRIs with spaces.
        raise Invalid(
            f"{record.name} cannot be written to the graph",
            [_finding(record.source, "", "value-unstorable", f"a value of {record.name} cannot be stored: {error}")],
        ) from error


def _individual(model: Any, table: Table, iri: str, graph: ox.NamedNode, names: Names) -> Iterator[ox.Quad]:
    subject = _N(iri)

    def quad(predicate: ox.NamedNode, value: ox.NamedNode | ox.Literal) -> ox.Quad:
        return ox.Quad(subject, predicate, value, graph)

    yield quad(_TYPE, _N(table.class_iri))
    yield quad(_TYPE, _INDIVIDUAL)
    if table.key is not None:
        yield quad(_NAME, ox.Literal(model.name))
        yield quad(_LABEL, ox.Literal(model.name))
    for column in table.columns:
        if column.when is not None and getattr(model, column.when[0]) != column.when[1]:
            continue
        value = _get(model, column.field)
        if value is None or value == "" or value == {}:
            continue
        for one in dict.fromkeys(value) if column.type.text and column.many else value if column.many else (value,):
            yield quad(_N(column.property), column.type.write(one, names))
    if table.annotated:
        for key, value in model.annotations.items():
            node = _N(f"{iri}/annotation/{encode(key)}")
            yield quad(_HAS_ANNOTATION, node)
            for predicate, term in (
                (_TYPE, _ANNOTATION),
                (_TYPE, _INDIVIDUAL),
                (_LABEL, ox.Literal(key)),
                (_KEY, ox.Literal(key)),
                (_VALUE, ox.Literal(value)),
            ):
                yield ox.Quad(node, predicate, term, graph)
    for parts in table.parts:
        yield from _part_quads(model, parts, iri, graph, names)


def _part_quads(model: Any, parts: Parts, iri: str, graph: ox.NamedNode, names: Names) -> Iterator[ox.Quad]:
    items = getattr(model, parts.field)
    _refuse_same_names(model, parts, items)
    positions = [getattr(item, "position", index) for index, item in enumerate(items)]
    if positions != sorted(set(positions)):
        positions = list(range(len(items)))
    for index, (item, position) in enumerate(zip(items, positions, strict=True), start=1):
        part = f"{iri}/{parts.segment}/{encode(item.name) if parts.table.key else index}"
        node = _N(part)
        yield ox.Quad(_N(iri), _N(parts.property), node, graph)
        yield from _individual(item, parts.table, part, graph, names)
        yield ox.Quad(node, _POSITION, ox.Literal(position), graph)
        if parts.table.key is None:
            label = f"{model.name}: selected tool {index}"
            yield ox.Quad(node, _LABEL, ox.Literal(label), graph)


def _refuse_same_names(model: Any, parts: Parts, items: Sequence[Any]) -> None:
    if parts.table.key is None:
        return
    seen: set[str] = set()
    faults = []
    for item in items:
        if item.name in seen:
            source = getattr(item, "source", None) or getattr(model, "source", None)
            text = f"{model.name} has two {parts.segment}s with the name {item.name}"
            faults.append(_finding(source, f"{parts.field}.{item.name}", "name-duplicate", text, "Rename one of them."))
        seen.add(item.name)
    if faults:
        raise Invalid(f"{model.name} has parts of one name", faults)


def provenance_quads(
    records: Iterable[Record | tuple[str, Record]], source: Source, base: str, *, edited: bool = False
) -> list[ox.Quad]:
    """Where records came from, for the provenance graph: the source file, and a line for each record.

    A record whose IRI was not minted comes with it, as `(iri, record)`. Without records: the source file alone.
    """
    graph = _N(provenance_graph(base))
    file = _N(source_graph(base, source.path))
    quads = [
        ox.Quad(file, _TYPE, _SOURCE_FILE, graph),
        ox.Quad(file, _TYPE, _INDIVIDUAL, graph),
        ox.Quad(file, _LABEL, ox.Literal(source.path), graph),
        ox.Quad(file, _PATH, ox.Literal(source.path), graph),
    ]
    if source.content_hash:
        quads.append(ox.Quad(file, _HASH, ox.Literal(source.content_hash), graph))
    if source.commit:
        quads.append(ox.Quad(file, _COMMIT, ox.Literal(source.commit), graph))
    if edited:
        quads.append(ox.Quad(file, _EDITED, _TRUE, graph))
    for item in records:
        iri, record = item if isinstance(item, tuple) else (iri_of(item, base), item)
        own = [(iri, record)]
        if isinstance(record, AgentSpecification):
            own += [(intent_iri(iri, i.name), i) for i in record.intents]
        for subject, one in own:
            quads.append(ox.Quad(_N(subject), _DEFINED_IN, file, graph))
            line = (one.source or record.source or source).line
            quads.append(ox.Quad(_N(subject), _LINE, ox.Literal(line), graph))
    return quads


def edited_quads(paths: Iterable[str], base: str) -> list[ox.Quad]:
    """The marks that say which source graphs were edited since their files were read."""
    graph = _N(provenance_graph(base))
    return [ox.Quad(_N(source_graph(base, p)), _EDITED, _TRUE, graph) for p in paths]


def read_quads(
    quads: Iterable[ox.Quad], names: Names, kind: str | None = None
) -> tuple[list[tuple[str, Record]], list[Finding]]:
    """All records (of one kind) that the quads describe, with their IRIs, sorted by IRI; and what is wrong with others.

    A record with a fault is left out and has at least one finding of severity error. An agent's own intents come as
    records too, and inside their agent.
    """
    reader = RecordReader(quads, names)
    found: list[tuple[str, Record]] = []
    findings: list[Finding] = []
    for subject in reader.records(kind):
        try:
            found.append((subject.value, reader.read(subject)))
        except Invalid as error:
            findings += error.findings
        except ValidationError as error:
            findings += [_fault(reader, subject, e["loc"], e["msg"]) for e in error.errors()]
    return found, findings


def read_record(store: GraphStore, iri: str, names: Names | None = None) -> Record:
    """The record with this IRI. Raises NotFound where the graph has no record there, Invalid where it has faults."""
    quads = _description(store, [_N(iri)])
    if kind_of(quads, _N(iri)) is None:
        raise NotFound(f"no record has the IRI <{iri}>", hint="`abi ls` lists the records.")
    names = names or Names(_base_of(store, quads, iri))
    records, findings = read_quads(quads, names)
    for found, record in records:
        if found == iri:
            return record
    raise Invalid(f"the record <{iri}> cannot be read from the graph", findings)


def read_records(
    store: GraphStore, kind: str | None = None, *, names: Names, findings: list[Finding] | None = None
) -> list[tuple[str, Record]]:
    """All records of the store (of one kind), with their IRIs. Faults go to `findings`; their records are left out."""
    tables = RECORDS.values() if kind is None else [RECORDS[kind]]
    subjects = {q.subject: None for table in tables for q in store.match(None, _TYPE, _N(table.class_iri))}
    quads = _description(store, [s for s in subjects if not isinstance(s, ox.Triple)])
    records, faults = read_quads(quads, names, kind)
    if findings is not None:
        findings += faults
    return records


_FOLLOWED = {terms.HAS_PARAMETER, terms.HAS_ANNOTATION, terms.SELECTS_TOOL, terms.HAS_INTENT, terms.DEFINED_IN}


def _description(store: GraphStore, subjects: Sequence[Node]) -> list[ox.Quad]:
    """All quads about the subjects and, transitively, about their parts and sources."""
    quads: list[ox.Quad] = []
    seen = set(subjects)
    todo: list[Node] = list(subjects)
    while todo:
        subject = todo.pop()
        for quad in store.match(subject):
            quads.append(quad)
            value = quad.object
            if (
                quad.predicate.value in _FOLLOWED
                and isinstance(value, (ox.NamedNode, ox.BlankNode))
                and value not in seen
            ):
                seen.add(value)
                todo.append(value)
    return quads


def _base_of(store: GraphStore, quads: Iterable[ox.Quad], iri: str) -> str:
    """The base under which a store mints IRIs, as the provenance graph's name tells it; else what the IRI suggests."""
    for quad in quads:
        if quad.predicate == _DEFINED_IN and isinstance(quad.graph_name, ox.NamedNode):
            return quad.graph_name.value.removesuffix("provenance")
    for family in ("agent", "tool", "prompt", "intent"):
        head, found, _ = iri.partition(f"/{family}/")
        if found:
            return head + "/"
    return iri


def _get(model: Any, field: str) -> Any:
    for name in field.split("."):
        model = getattr(model, name)
    return model


def _finding(source: Source | None, field: str, code: str, message: str, fix: str = "") -> Finding:
    return Finding(source.path if source else "", source.line if source else 0, field, "error", code, message, fix)


def _fault(reader: RecordReader, subject: Node, loc: tuple[int | str, ...], message: str) -> Finding:
    field = ".".join(str(part) for part in loc)
    text = f"{reader.name_of(subject)}: {message[:1].lower()}{message[1:]}"
    return _finding(reader.source_of(subject), field, "value-invalid", text)
