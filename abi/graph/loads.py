"""RDF in and out of the graph as a whole: files loaded through the gate, graphs exported."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi.errors import Invalid, NotFound, Unreadable, Unsupported, UsageError
from abi.findings import Finding, has_errors
from abi.graph.catalog import Catalog, iri_term
from abi.graph.change import Change
from abi.graph.formats import format_of, serialize
from abi.graph.names import encode
from abi.graph.rdf_source import Parser, parse_rdf
from abi.graph.store import BOOKKEEPING
from abi.records.scan import RDF_SUFFIXES, SourceFile
from abi.settings import Settings

if TYPE_CHECKING:
    from abi.graph.gate import Gate
    from abi.graph.oxigraph import OxigraphStore

__all__ = ["LoadReport", "export", "has_edits_to_write", "load_files"]


@dataclass(slots=True)
class LoadReport:
    """`graph` is where the triples went, None where they went to several; `triples` counts those that are new."""

    graph: str | None
    triples: int = 0
    findings: list[Finding] = field(default_factory=list)
    subjects: set[str] = field(default_factory=set)

    def document(self) -> dict[str, Any]:
        return {"graph": self.graph, "triples": self.triples, "findings": [f.document() for f in self.findings]}


def load_files(
    store: OxigraphStore,
    gate: Gate,
    files: Sequence[Path],
    settings: Settings,
    graph: str | None = None,
    parser: Parser | None = None,
) -> LoadReport:
    """Load files in one atomic update, or nothing where any of them has a fault.

    With `graph` all triples are added to that graph. Without it each file has a graph of its own, `{base}graph/NAME`,
    which is replaced, so that loading a file again brings it up to date; a file that names its graphs (TriG, N-Quads)
    adds to those. `parser` parses in place of this process. Raises UsageError for a graph's name that is no IRI,
    Unreadable for a file that is not there.
    """
    if graph is not None:
        iri_term(graph)
        if graph == BOOKKEEPING:
            raise UsageError(f"{graph} is the store's own graph.", hint="Choose another name.")
    replace: dict[str, list[ox.Quad]] = {}
    add: list[ox.Quad] = []
    report = LoadReport(graph)
    for path in files:
        if not path.is_file():
            raise Unreadable(f"There is no file {path}.")
        status = path.stat()
        file = SourceFile(str(path), path, status.st_size, status.st_mtime_ns)
        parsed = parse_rdf(file, None, settings, parser) if format_of(path.name).graphs else None
        # JSON-LD may name graphs and seldom does.
        names_graphs = parsed is not None and any(isinstance(q.graph_name, ox.NamedNode) for q in parsed.quads)
        own = graph or (None if names_graphs else f"{settings.base_iri}graph/{encode(path.stem)}")
        if parsed is None:
            parsed = parse_rdf(file, own, settings, parser)
        elif own is not None:
            target = ox.NamedNode(own)
            parsed.quads = [ox.Quad(q.subject, q.predicate, q.object, target) for q in parsed.quads]
        report.findings += parsed.findings
        if any(q.graph_name == ox.NamedNode(BOOKKEEPING) for q in parsed.quads):
            message = f"It names the graph {BOOKKEEPING}, which is the store's own."
            report.findings.append(
                Finding(str(path), 0, "", "error", "graph-reserved", message, "Take it out of the file.")
            )
        if graph is None and own is not None:
            replace.setdefault(own, []).extend(parsed.quads)
            report.graph = own if len(files) == 1 else None
        else:
            add += parsed.quads
    if has_errors(report.findings):
        return report
    change = Change(replace=replace, add=add)
    net = gate.net(change)
    report.findings += gate.check(net)
    if has_errors(report.findings):
        return report
    report.triples = len(net.added)
    report.subjects = {q.subject.value for q in (*net.added, *net.removed) if isinstance(q.subject, ox.NamedNode)}
    gate.commit(net, mark_edited=gate.edited_graphs(net))
    return report


def has_edits_to_write(store: OxigraphStore, root: Path, source: str) -> bool:
    """Whether the graph of a source was edited since its file was read.

    Raises NotFound for no source, Invalid where the file was changed since, too: to write the graph would lose that.
    """
    known = Catalog(store).sources()
    if source not in known:
        raise _no_source(source)
    _, digest, edited = known[source]
    file = root / source
    if edited and file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        raise Invalid(
            f"Both {source} and its graph were changed since the file was read; writing would lose the file's changes.",
            hint="Compare with `abi export --source PATH -o OTHER`; `abi index --restore` drops the graph's changes.",
        )
    return edited


def _no_source(source: str) -> NotFound:
    return NotFound(f"{source} is no indexed source.", hint="Paths are relative to the workspace, as in `abi ls`.")


def export(
    store: OxigraphStore,
    settings: Settings,
    *,
    graph: str | None = None,
    source: str | None = None,
    format: str | None = None,
) -> bytes:
    """The whole graph, one named graph, or that of a source file. The default is Turtle for one graph, else TriG.

    A `source` whose file is no RDF can only be exported in a format that is asked for: its own cannot be written.
    Raises NotFound for a graph or source that the store does not have, Unsupported.
    """
    if source is not None:
        known = Catalog(store).sources()
        if source not in known:
            raise _no_source(source)
        graph = known[source][0]
        suffix = PurePosixPath(source).suffix.lower()
        if format is None and suffix in RDF_SUFFIXES:
            format = suffix
        elif format is not None and format.lstrip(".") == suffix.lstrip(".") and suffix not in RDF_SUFFIXES:
            raise Unsupported(
                f"A {suffix} file cannot be written from triples.",
                hint="Choose a format: --format turtle -o FILE; or edit the file by hand and `abi index --restore`.",
            )
    if graph is not None:
        quads = list(store.quads(iri_term(graph).value))
        if not quads and source is None:
            raise NotFound(f"The graph {graph} holds nothing.", hint="`abi status` lists the graphs.")
        return serialize(quads, format or "turtle", settings.all_prefixes())
    reserved = ox.NamedNode(BOOKKEEPING)
    return serialize((q for q in store.quads() if q.graph_name != reserved), format or "trig", settings.all_prefixes())
