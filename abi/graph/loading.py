"""One source file, read all the way to quads: records through their readers, RDF through its parser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath

import pyoxigraph as ox

from abi import terms
from abi.errors import Invalid
from abi.files import shipped
from abi.findings import Finding
from abi.graph.catalog import KIND_CLASSES
from abi.graph.foreign_templates import foreign_records
from abi.graph.mapping import iri_of, read_quads, record_quads
from abi.graph.names import Names, encode, source_graph
from abi.graph.rdf_source import ParsedRdf, parse_rdf, subject_lines
from abi.graph.template import check_template
from abi.net import net_client
from abi.records.reader import ReadContext, ReadResult, read_file
from abi.records.record import JinjaQuery, Record, Source, SparqlQuery
from abi.records.scan import RDF_SUFFIXES, SourceFile
from abi.settings import Settings

__all__ = ["Loaded", "Loader", "shipped_sources"]

_TYPE = ox.NamedNode(terms.RDF_TYPE)
_RECORD_CLASSES = set(KIND_CLASSES.values())
Look = Callable[[Record, str, Callable[[str], int]], list[Finding]]
"""A look at one record that needs what is above this room: given the record, its path and what tells a field's line."""
SHIPPED = "abi:"
"""Begins the path of a source that comes with abi, and not with the workspace."""


@dataclass(slots=True)
class Loaded:
    """What a file holds. `records` are (IRI, record); `quads` are in the file's graph, without provenance.

    `lines` has the line of each record, part or subject by IRI.
    """

    file: SourceFile
    graph: str
    quads: list[ox.Quad] = field(default_factory=list)
    records: list[tuple[str, Record]] = field(default_factory=list)
    foreign: list[tuple[str, JinjaQuery]] = field(default_factory=list)
    """Others' templates, by their own IRIs; the names that they get depend on what else there is."""
    lines: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def shipped_sources() -> list[SourceFile]:
    """What every workspace's graph holds: abi's ontology, and the tools and agents of `sparql/`."""
    files = [
        shipped("ontology", "abi.ttl"),
        shipped("ontology", "bfo.ttl"),
        *sorted(shipped("sparql", "tools").glob("*.rq")),
        *sorted(shipped("sparql", "agents").glob("*.yaml")),
    ]
    sources = []
    for path in files:
        status = path.stat()
        name = SHIPPED + path.relative_to(shipped()).as_posix()
        sources.append(SourceFile(name, path, status.st_size, status.st_mtime_ns))
    return sources


class Loader:
    """Reads the files of one run. First `read` each, then `finish` each, when the names of all are known."""

    def __init__(self, settings: Settings, names: Names, look: Look | None = None) -> None:
        self.settings = settings
        self.names = names
        self.look: Look = look or (lambda record, path, line_of: [])
        self.context = ReadContext.of(settings, net_client(settings).get)

    def read(self, file: SourceFile) -> Loaded:
        """The records or triples of a file, and what is wrong with it by itself. Raises nothing for what it holds."""
        loaded = Loaded(file, source_graph(self.settings.base_iri, file.path))
        if PurePosixPath(file.path).suffix.lower() in RDF_SUFFIXES:
            self._read_rdf(loaded)
        else:
            self._read_records(loaded)
        for iri, record in loaded.records:
            self.names.learn(record.family, record.name, iri)
        return loaded

    def finish(self, loaded: Loaded) -> None:
        """Make the quads of records: their references need the names of all files."""
        if not loaded.quads:
            for iri, record in loaded.records:
                try:
                    loaded.quads += record_quads(record, loaded.graph, self.names, iri)
                except Invalid as error:
                    loaded.findings += error.findings

    def _read_records(self, loaded: Loaded) -> None:
        result = read_file(loaded.file, self.context)
        loaded.findings += result.findings
        for record in result.records:
            iri = iri_of(record, self.settings.base_iri)
            loaded.records.append((iri, record))
            loaded.lines[iri] = result.line(record)
            for where, line in result.lines.get(record.name, {}).items():
                part, _, name = where.partition(".")
                if where == "query":
                    loaded.lines[f"{iri}/query"] = line
                elif name and part in ("parameters", "intents"):
                    loaded.lines[f"{iri}/{part[:-1]}/{encode(name)}"] = line
            loaded.findings += self._templates(record, loaded, result)
            loaded.findings += self.look(record, loaded.file.path, partial(result.line, record))

    def _read_rdf(self, loaded: Loaded) -> None:
        parsed = parse_rdf(loaded.file, loaded.graph, self.settings)
        loaded.findings += parsed.findings
        loaded.quads = parsed.quads
        self._foreign(loaded, parsed)
        if not any(q.predicate == _TYPE and getattr(q.object, "value", "") in _RECORD_CLASSES for q in parsed.quads):
            return
        records, findings = read_quads(parsed.quads, Names(self.settings.base_iri))
        subjects = {q.subject.value for q in parsed.quads if isinstance(q.subject, ox.NamedNode)}
        loaded.lines |= subject_lines(parsed.text, sorted(subjects), parsed.prefixes)
        path = loaded.file.path
        loaded.findings += [replace(f, path=path, line=f.line or loaded.lines.get(f.field, 1)) for f in findings]
        for iri, record in records:
            source = Source(path=path, line=loaded.lines.get(iri, 1), content_hash=loaded.file.content_hash)
            record = record.model_copy(update={"source": source})
            loaded.records.append((iri, record))
            loaded.findings += self._templates(record, loaded, None)
            loaded.findings += self.look(record, path, partial(_whole, source.line))

    def _foreign(self, loaded: Loaded, parsed: ParsedRdf) -> None:
        """Others' templates become tools when they are written; what is wrong with one keeps no file out."""
        templates = foreign_records(parsed.quads, self.settings.base_iri)
        if not templates:
            return
        found = subject_lines(parsed.text, [iri for iri, _ in templates], parsed.prefixes)
        loaded.lines |= found
        loaded.foreign += templates
        for iri, record in templates:
            told = self.look(record, loaded.file.path, partial(_whole, found.get(iri, 1)))
            loaded.findings += [replace(f, line=found.get(iri, 1), severity="warning") for f in told]

    def _templates(self, record: Record, loaded: Loaded, result: ReadResult | None) -> list[Finding]:
        """A query's syntax, and that it and its parameters fit; SPARQL is not the readers' business."""
        if not isinstance(record, SparqlQuery):
            return []
        line = result.line(record, "query") if result else record.source.line if record.source else 1
        found = check_template(
            record.query,
            record.parameters,
            self.context.prefixes,
            self.settings,
            path=loaded.file.path,
            first_line=line,
        )
        # In Turtle the query is inside one literal: its own lines mean nothing there.
        return found if result else [replace(f, line=line) for f in found]


def _whole(line: int, field: str) -> int:
    """In Turtle a record's fields have no lines of their own that are known."""
    return line
