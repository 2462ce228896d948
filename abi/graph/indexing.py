"""Files to graph: what an index would change, checked as a whole, and then done in one atomic update.

All or nothing: a fault in any file leaves the graph as it was, and a process that dies leaves it old or new. What the
graph held of a file is replaced by what the file holds now; a graph that was edited since is left, unless `restore`.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.findings import Finding, has_errors
from abi.graph.catalog import KIND_CLASSES, Catalog, Entry
from abi.graph.change import Change, Net
from abi.graph.foreign_templates import adopted_graph
from abi.graph.gate import Gate
from abi.graph.loading import SHIPPED, Loaded, Loader, Look, shipped_sources
from abi.graph.mapping import provenance_quads
from abi.graph.names import Names, source_graph
from abi.graph.oxigraph import OxigraphStore
from abi.graph.query_terms import unknown_query_terms
from abi.records.commits import last_commits
from abi.records.document import marks
from abi.records.record import Source
from abi.records.scan import RDF_SUFFIXES, ScanResult, SourceFile, scan
from abi.settings import Settings

__all__ = ["CheckReport", "IndexReport", "Indexer", "Progress", "check_files", "files_behind"]

SETTINGS_FILE = "abi.yaml"

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and of how much."""


@dataclass(slots=True)
class IndexReport:
    """`added`, `changed`, `removed` and `unchanged` count records; `files` counts source files the same way."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    edited: list[str] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    records: int = 0
    triples: int = 0
    version: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    written: bool = False
    subjects: set[str] = field(default_factory=set)
    """IRIs whose triples changed, for whoever keeps something derived from them."""

    def document(self) -> dict[str, Any]:
        return {
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "edited": self.edited,
            "files": self.files,
            "records": self.records,
            "triples": self.triples,
            "version": self.version,
            "seconds": round(self.seconds, 3),
            "findings": [f.document() for f in self.findings],
        }


@dataclass(slots=True)
class CheckReport:
    """`loaded` is what each file of the workspace holds, those that come with abi among them."""

    conforms: bool
    records: list[Entry]
    findings: list[Finding]
    loaded: list[Loaded] = field(default_factory=list, repr=False)

    def document(self) -> dict[str, Any]:
        return {
            "conforms": self.conforms,
            "records": [{"name": e.name, "kind": e.kind, "iri": e.iri, "source": e.source} for e in self.records],
            "findings": [f.document() for f in self.findings],
        }


def _no_progress(step: str, done: int, of: int) -> None:
    """Nobody watches."""


@dataclass(slots=True)
class _Plan:
    loaded: list[Loaded]
    gone: list[str]
    """Graphs of files that are no longer there."""
    edited: list[str]
    unchanged: list[str]
    known: dict[str, tuple[str, str, bool]]
    findings: list[Finding]


class Indexer:
    """`locate` of the gate and the lines of findings come from the files that this run reads."""

    def __init__(
        self, root: Path, settings: Settings, store: OxigraphStore, shapes: Sequence[Path], look: Look | None = None
    ) -> None:
        self.root = root
        self.settings = settings
        self.store = store
        self.names = Names(settings.base_iri, store)
        self.loader = Loader(settings, self.names, look)
        self.lines: dict[str, tuple[str, int]] = {}
        self.gate = Gate(store, shapes, self.locate, base=settings.base_iri)
        self.beside: list[OxigraphStore] = []
        """Other stores whose terms are known, too."""

    def index(
        self,
        paths: Sequence[Path] = (),
        *,
        dry_run: bool = False,
        restore: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Bring the graph up to date with the files at or under `paths` (default: all sources).

        The report's `findings` has every fault of every file; where one of them is an error nothing was written.
        Raises StoreError where the store fails; the graph is then as it was.
        """
        started = time.perf_counter()
        tell = progress or _no_progress
        plan = self._plan(
            scan(self.root, self.settings.sources, list(paths) or None, self.settings), paths, restore, tell
        )
        change = self._change(plan)
        report = self._count(plan, change)
        # Once for both, the check and the write: nobody else writes meanwhile.
        net = self.gate.net(change)
        self._count_adopted(report, net)
        report.findings = self._check(plan, net, tell)
        if not has_errors(report.findings) and not dry_run and change:
            tell("write", 0, 1)
            self.gate.commit(net)
            tell("write", 1, 1)
            report.written = True
        report.records = sum(Catalog(self.store).counts().values())
        report.triples = len(self.store)
        report.version = self.store.version()
        report.seconds = time.perf_counter() - started
        return report

    def locate(self, iri: str) -> tuple[str, int] | None:
        """Where a subject stands: its own line, or that of the record that it is a part of."""
        while True:
            if iri in self.lines:
                return self.lines[iri]
            head, slash, _ = iri.rpartition("/")
            if not slash or head.endswith(":/"):
                return None
            iri = head

    def _plan(self, scanned: ScanResult, paths: Sequence[Path], restore: bool, tell: Progress) -> _Plan:
        known = Catalog(self.store).sources()
        sources = [*_settings_file(self.root), *shipped_sources(), *scanned.files]
        plan = _Plan([], [], [], [], known, list(scanned.findings))
        # A prefix or the base may mean something else now; then every file does.
        anew = any(f.path == SETTINGS_FILE and _changed(f, known) for f in sources)
        stale = self._stale(asked=bool(paths))
        wanted = []
        for file in sources:
            graph, _, edited = known.get(file.path, ("", "", False))
            if edited and not restore and not (_changed(file, known) and self._says_the_same(file, graph)):
                plan.edited.append(file.path)
            elif edited or anew or graph in stale or _changed(file, known):
                wanted.append(file)
                if graph and graph != source_graph(self.settings.base_iri, file.path):
                    plan.gone.append(graph)
            else:
                plan.unchanged.append(file.path)
        for n, file in enumerate(wanted):
            tell("read", n, len(wanted))
            if file.path == SETTINGS_FILE:
                graph = source_graph(self.settings.base_iri, file.path)
                plan.loaded.append(Loaded(file, graph, findings=marks(file.data, file.path)))
            else:
                plan.loaded.append(self.loader.read(file))
        tell("read", len(wanted), len(wanted))
        there = {file.path for file in sources}
        # A file that could not be read is a fault, not a removal.
        faulty = {f.path for f in plan.findings}
        for path, (graph, _, edited) in known.items():
            if path in there or path in faulty or not _under(path, self.root, paths):
                continue
            if edited and not restore:
                plan.edited.append(path)
                plan.findings.append(_gone_but_edited(path))
            else:
                plan.gone.append(graph)
        for loaded in plan.loaded:
            self.loader.finish(loaded)
            plan.findings += loaded.findings
            self.lines |= {iri: (loaded.file.path, line) for iri, line in loaded.lines.items()}
        return plan

    def _stale(self, asked: bool) -> set[str]:
        """Graphs of records whose specification, a file of its own, is no longer the one that was read.

        One at a URL is fetched again only where its record's file is `asked` for by its path.
        """
        rows = self.store.query(
            "SELECT DISTINCT ?graph ?path ?hash WHERE { GRAPH ?graph { "
            f"?record <{terms.SPECIFICATION_SOURCE}> ?path ; <{terms.SPECIFICATION_HASH}> ?hash " + "}}"
        )
        stale = set()
        for row in rows:
            place = row["path"].value
            if asked and place.startswith(("http://", "https://")):
                stale.add(row["graph"].value)
                continue
            path = self.root / place
            try:
                if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != row["hash"].value:
                    stale.add(row["graph"].value)
            except OSError:
                continue  # what was read of it still stands
        return stale

    def _says_the_same(self, file: SourceFile, graph: str) -> bool:
        """Whether a file holds just what its edited graph does: the graph was written back to it."""
        loader = Loader(self.settings, Names(self.settings.base_iri, self.store))
        loaded = loader.read(file)
        loader.finish(loaded)
        return set(loaded.quads) == set(self.store.quads(graph))

    def _change(self, plan: _Plan) -> Change:
        """The files' graphs, and the provenance of just these files, in one change."""
        base = self.settings.base_iri
        commits = last_commits(
            self.root, [one.file.path for one in plan.loaded if not one.file.path.startswith(SHIPPED)]
        )
        replace = {loaded.graph: loaded.quads for loaded in plan.loaded}
        add: list[ox.Quad] = []
        for loaded in plan.loaded:
            path = loaded.file.path
            source = Source(path=path, content_hash=loaded.file.content_hash, commit=commits.get(path))
            add += provenance_quads(loaded.records, source, base)
        remove: list[ox.Quad] = []
        for graph in [*replace, *plan.gone]:
            remove += self._provenance(graph)
        return Change(replace=replace, drop=set(plan.gone), add=add, remove=remove)

    def _provenance(self, source: str) -> Iterable[ox.Quad]:
        node = ox.NamedNode(source)
        # In whatever provenance graph it stands: the workspace's base may have been another.
        for about in list(self.store.match(node, _PATH)):
            graph = about.graph_name
            yield from self.store.match(node, None, None, graph)
            for defined in list(self.store.match(None, _DEFINED_IN, node, graph)):
                yield defined
                if isinstance(defined.subject, ox.NamedNode):
                    yield from self.store.match(defined.subject, _LINE, None, graph)

    def _check(self, plan: _Plan, net: Net, tell: Progress) -> list[Finding]:
        findings = list(plan.findings)
        # The gate would only repeat what is wrong with a file that was not read whole.
        if net:
            tell("validate", 0, 1)
            unread = _Unread(plan, self.settings)
            self.gate.expected = unread.may_hold
            found = _of_duplicates(self.gate.check(net), plan.loaded)
            tell("validate", 1, 1)
            seen = {(f.path, f.line, f.code) for f in findings}
            findings += [f for f in found if (f.path, f.line, f.code) not in seen]
            stores = [self.store, *self.beside]
            found = unknown_query_terms(plan.loaded, net, stores, self.settings.all_prefixes())
            # A term may be declared by what could not be read.
            findings += [] if unread.has_rdf else found
        return sorted(set(findings))

    def _count(self, plan: _Plan, change: Change) -> IndexReport:
        """Records by what happens to them; one that only moved to another file is unchanged."""
        report = IndexReport(edited=sorted(plan.edited))
        gone = set(plan.gone)
        new_files = [one for one in plan.loaded if one.file.path not in plan.known]
        report.files = {
            "added": len(new_files),
            "changed": len(plan.loaded) - len(new_files),
            "removed": len(gone),
            "unchanged": len(plan.unchanged),
        }
        old: dict[str, set[tuple[str, str, str]]] = {}
        for graph in [*gone, *(one.graph for one in plan.loaded if one.file.path in plan.known)]:
            old |= _by_record(self.store.quads(graph))
        new: dict[str, set[tuple[str, str, str]]] = {}
        for loaded in plan.loaded:
            new |= _by_record(loaded.quads)
        report.added = len(new.keys() - old.keys())
        report.removed = len(old.keys() - new.keys())
        report.changed = sum(1 for iri in new.keys() & old.keys() if new[iri] != old[iri])
        report.unchanged = max(0, sum(Catalog(self.store).counts().values()) - report.removed - report.changed)
        for graph in [*gone, *(one.graph for one in plan.loaded)]:
            report.subjects |= _subjects(self.store.quads(graph))
        for loaded in plan.loaded:
            report.subjects |= _subjects(loaded.quads)
        return report

    def _count_adopted(self, report: IndexReport, net: Net) -> None:
        """Tools that are made of others' templates stand in a graph of their own, and count like any other."""
        graph = ox.NamedNode(adopted_graph(self.settings.base_iri))
        added, removed = ([q for q in quads if q.graph_name == graph] for quads in (net.added, net.removed))
        new, gone = ({q.subject for q in quads if q.predicate == _TYPE} for quads in (added, removed))
        tools = {s for s in (q.subject for q in (*added, *removed)) if "/parameter/" not in getattr(s, "value", "")}
        new, gone = new & tools, gone & tools
        changed = tools - new - gone
        report.added += len(new - gone)
        report.removed += len(gone - new)
        report.changed += len(changed)
        report.unchanged = max(0, report.unchanged - len(gone - new) - len(changed))
        report.subjects |= _subjects(added) | _subjects(removed)


def _of_duplicates(found: list[Finding], loaded: Sequence[Loaded]) -> list[Finding]:
    """Of a record that two files define only that, at its line in each: its triples are mixed, and the rest follows."""
    files: dict[str, list[tuple[Loaded, str]]] = {}
    for one in loaded:
        for iri, record in one.records:
            files.setdefault(iri, []).append((one, record.name))
    lines: dict[str, set[int]] = {}
    at: dict[tuple[str, str], int] = {}
    for iri, places in files.items():
        if len(places) < 2:
            continue
        mixed = {n for one, _ in places for part, n in one.lines.items() if part == iri or part.startswith(f"{iri}/")}
        for one, name in places:
            lines.setdefault(one.file.path, set()).update(mixed)
            at[one.file.path, f"{name} is defined in "] = one.lines.get(iri, 1)
    if not lines:
        return found
    kept = []
    for finding in found:
        if finding.code == "name-duplicate":
            line = next((n for (p, t), n in at.items() if p == finding.path and finding.message.startswith(t)), None)
            kept.append(finding if line is None else replace(finding, line=line))
        elif finding.line not in lines.get(finding.path, ()):
            kept.append(finding)
    return kept


class _Unread:
    """Files with faults. What is missing may stand in one: that is told, and not what follows from it."""

    def __init__(self, plan: _Plan, settings: Settings) -> None:
        faulty = {f.path for f in plan.findings if f.severity == "error"}
        files = [one.file for one in plan.loaded if one.file.path in faulty]
        self._texts = {file.path: _text(file, settings.max_rdf_bytes) for file in files}
        # Nobody knows what is in a folder that cannot be opened.
        self._unseen = bool(faulty - self._texts.keys())
        self.has_rdf = self._unseen or any(PurePosixPath(p).suffix.lower() in RDF_SUFFIXES for p in self._texts)

    def may_hold(self, name: str, path: str) -> bool:
        local = name.strip("<>").replace("#", "/").rsplit("/", 1)[-1]
        word = re.compile(rf"(?<!\w){re.escape(local)}(?!\w)")
        others = [text for other, text in self._texts.items() if other != path]
        return self._unseen or any(text is None or word.search(text) for text in others)


def _text(file: SourceFile, most: int) -> str | None:
    """With the file's name, which may be all that is left of it. None where it is not to be had."""
    try:
        return f"{PurePosixPath(file.path).stem} {file.data.decode('utf-8-sig')}" if file.size <= most else None
    except (OSError, UnicodeDecodeError):
        return None


_DEFINED_IN = ox.NamedNode(terms.DEFINED_IN)
_LINE = ox.NamedNode(terms.LINE)
_PATH = ox.NamedNode(terms.PATH)
_TYPE = ox.NamedNode(terms.RDF_TYPE)
_RECORD_CLASSES = set(KIND_CLASSES.values())


def _gone_but_edited(path: str) -> Finding:
    message = "The file is gone, but its graph was edited since, so what it held is kept."
    return Finding(path, 0, "", "warning", "edited-gone", message, "`abi index --restore` removes it.")


def _settings_file(root: Path) -> list[SourceFile]:
    path = root / SETTINGS_FILE
    return [SourceFile(SETTINGS_FILE, path, path.stat().st_size, path.stat().st_mtime_ns)] if path.is_file() else []


def _changed(file: SourceFile, known: Mapping[str, tuple[str, str, bool]]) -> bool:
    try:
        return file.path not in known or known[file.path][1] != file.content_hash
    except OSError:
        return True  # the reader will say what is wrong


def _under(path: str, root: Path, paths: Sequence[Path]) -> bool:
    """Whether an indexed path is among what this run looks at; shipped files are there always."""
    if not paths:
        return True
    absolute = root / path
    return any(absolute == p or absolute.is_relative_to(p) for p in (Path(p).absolute() for p in paths))


def _subjects(quads: Iterable[ox.Quad]) -> set[str]:
    return {q.subject.value for q in quads if isinstance(q.subject, ox.NamedNode)}


def _by_record(quads: Iterable[ox.Quad]) -> dict[str, set[tuple[str, str, str]]]:
    """The triples of each record, with those of its parts."""
    triples: dict[str, list[tuple[str, str, str]]] = {}
    records = set()
    for q in quads:
        if not isinstance(q.subject, ox.NamedNode):
            continue
        subject = q.subject.value
        triples.setdefault(subject, []).append((subject, q.predicate.value, str(q.object)))
        if q.predicate == _TYPE and getattr(q.object, "value", "") in _RECORD_CLASSES:
            records.add(subject)
    owned: dict[str, set[tuple[str, str, str]]] = {r: set() for r in records}
    for subject, found in triples.items():
        owner = subject
        while owner not in records and "/" in owner:
            owner = owner.rpartition("/")[0]
        if owner in owned:
            owned[owner].update(found)
    return owned


def check_files(
    root: Path,
    settings: Settings,
    shapes: Sequence[Path],
    paths: Sequence[Path] = (),
    progress: Progress | None = None,
    look: Look | None = None,
    beside: OxigraphStore | None = None,
) -> CheckReport:
    """Read and validate all files, without the graph that was made of them; tell about those under `paths`.

    All files are read in any case: whether a name is taken or leads nowhere depends on the others. `beside`: the graph
    as it is, which may hold terms that no file has.
    """
    store = OxigraphStore.memory()
    indexer = Indexer(root, settings, store, shapes, look)
    indexer.beside += [beside] if beside is not None else []
    scanned = scan(root, settings.sources, None, settings)
    plan = indexer._plan(scanned, (), False, progress or _no_progress)
    change = indexer._change(plan)
    findings = indexer._check(plan, indexer.gate.net(change), progress or _no_progress)
    kinds = {c: k for k, c in KIND_CLASSES.items()}
    entries = []
    for loaded in plan.loaded:
        path = loaded.file.path
        if path.startswith(SHIPPED) or not _under(path, root, paths):
            continue
        for iri, record in [*loaded.records, *loaded.foreign]:
            kind = getattr(record, "kind", kinds.get(iri, ""))
            entries.append(Entry(record.name, kind, iri, record.description, f"{path}:{loaded.lines.get(iri, 1)}"))
    findings = [f for f in findings if not paths or _under(f.path, root, paths)]
    if paths:
        asked = scan(root, settings.sources, list(paths), settings)
        findings = sorted({*findings, *(f for f in asked.findings if f.code.startswith("path-"))})
    entries.sort(key=lambda e: (e.kind, e.name))
    return CheckReport(not has_errors(findings), entries, findings, plan.loaded)


def files_behind(root: Path, settings: Settings, store: OxigraphStore) -> list[str]:
    """Paths of the sources that are not, or no longer, what the graph was made of; gone ones among them."""
    known = Catalog(store).sources()
    sources = [*_settings_file(root), *shipped_sources(), *scan(root, settings.sources, None, settings).files]
    there = {file.path for file in sources}
    return sorted([*(f.path for f in sources if _changed(f, known)), *(known.keys() - there)])
