"""The workspace: a folder of files, the graph made of them, and every verb on them.

    with Workspace.open("flights") as ws:
        ws.index()
        ws.run("find_direct_routes", origin="BOI").rows

Verbs that read look at a snapshot of the graph, which is opened again when another process has written. Verbs that
write hold the graph's lock for just as long as they write.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abi.errors import AbiError, Denied, Invalid, NotFound, StoreError
from abi.opened import OpenedWorkspace

if TYPE_CHECKING:
    from typing import Unpack

    from rdflib import Dataset

    from abi.agent_services import AgentServices
    from abi.agents.agent import Agent, AgentRuntime, TurnOptions
    from abi.agents.calibrate import CalibrationReport
    from abi.agents.definition import AgentDefinition
    from abi.agents.derive import DeriveReport
    from abi.agents.threads import Threads
    from abi.agents.turn import Event, TurnResult
    from abi.exchange.agentc_import import ImportReport
    from abi.exchange.formats import CatalogExport
    from abi.findings import Finding
    from abi.graph.difference import Difference
    from abi.graph.indexing import CheckReport, IndexReport, Progress
    from abi.graph.loads import LoadReport
    from abi.graph.named_graphs import Condition, GraphWritten, Part
    from abi.graph.rows import Rows
    from abi.graph.update import UpdateReport
    from abi.graph.version_file import CatalogVersion
    from abi.graph.versions import PublishReport
    from abi.graph.worker import Document
    from abi.records.record import Parameter, Record
    from abi.reports import (
        DemoReport,
        DoctorReport,
        FindReport,
        LsReport,
        ShowReport,
        StatusReport,
        VectorsReport,
    )
    from abi.scaffold import InitResult
    from abi.search.rewriting import Searches
    from abi.tools.runner import RunContext, ToolResult

__all__ = ["Workspace"]


class Workspace(OpenedWorkspace):
    """One workspace. Safe to use from several threads. Close it, or use it as a context manager."""

    # Opening and closing

    @classmethod
    def open(cls, path: str | Path = ".", *, read_only: bool = False, version: str | None = None) -> Workspace:
        """The workspace in the folder `path`, or the nearest one above it.

        `read_only` refuses every verb that writes. `version` shows a published version, read-only, in memory: `latest`,
        or digits of its name or of its commit. Raises NotFound where there is none of either, Invalid and Unreadable
        for a faulty `abi.yaml`.
        """
        return cls(cls.find_root(Path(path)), read_only=read_only, version=version)

    @staticmethod
    def find_root(start: str | Path) -> Path:
        """The nearest folder upward from `start` that holds `abi.yaml`. Raises NotFound."""
        here = Path(start).absolute()
        for folder in (here, *here.parents):
            if (folder / "abi.yaml").is_file():
                return folder
        raise NotFound(
            f"There is no workspace at {here} nor above it: no folder there holds abi.yaml.",
            hint="`abi init` makes a workspace here, `abi demo` the example.",
        )

    @classmethod
    def init(cls, path: str | Path, *, base_iri: str | None = None) -> InitResult:
        """Make an empty workspace and trust it. Raises UsageError where there is one."""
        from abi.scaffold import make_workspace
        from abi.tools.trust import trust

        result = make_workspace(Path(path), base_iri)
        trust(result.root)
        return result

    @classmethod
    def demo(cls, path: str | Path, *, progress: Progress | None = None) -> DemoReport:
        """Make the example workspace, trust it, index it and ask its questions. Raises UsageError, Invalid."""
        from abi.reports import DemoReport
        from abi.scaffold import example_questions, make_example
        from abi.tools.trust import trust

        root = make_example(Path(path)).root
        trust(root)
        with _undone_on_failure(root), cls(root) as workspace:
            report = workspace.index(progress=progress)
            if not report.written:
                raise Invalid("The example workspace does not conform.", report.findings)
            turns = []
            for n, (agent, question) in enumerate(example_questions(root)):
                if progress:
                    progress("ask", n, 5)
                turns.append((question, workspace.chat(question, agent=agent)))
            return DemoReport(str(path), report.records, report.triples, turns)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # The graph

    def dataset(self) -> Dataset:
        """An rdflib Dataset over the same store: its queries pass the guard, its updates the gate as `update` does."""
        from abi.graph.guard import check_query
        from abi.graph.rdflib_view import dataset

        write = None if self.read_only else self.update
        return dataset(self.store, write, lambda text, prefixes: check_query(text, self.settings, prefixes))

    # Files to graph

    def index(
        self,
        paths: Sequence[str | Path] = (),
        *,
        dry_run: bool = False,
        restore: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Bring the graph up to date with the files. Where any fault is found, nothing is written."""
        from abi.graph.indexing import Indexer

        given = [self._inside(p) for p in paths]
        with self._writing() as store:
            before = store.version()
            indexer = Indexer(self.root, self.settings, store, self.shapes, self._look)
            report = indexer.index(given, dry_run=dry_run, restore=restore, progress=progress)
            if report.written or self._index.version != report.version:
                if progress:
                    progress("search index", 0, 1)
                self._follow(store, report.subjects if report.written else (), before)
                if progress:
                    progress("search index", 1, 1)
        if report.written:
            self._renew_derived()
            report.findings = sorted({*report.findings, *self._vain_searches(report.subjects)})
        return report

    def _look(self, record: Record, path: str, line_of: Callable[[str], int]) -> list[Finding]:
        """What belongs to the tools' languages: answer templates, and queries for the embedded engine."""
        from abi.records.record import JinjaQuery, SparqlQuery, SqlppQuery

        found: list[Finding] = []
        answer = getattr(record, "answer", None)
        if answer:
            from abi.tools.answer import check_answer
            from abi.tools.sparql_query import columns

            names = [p.name for p in getattr(record, "parameters", [])]
            given = columns(record.query) if isinstance(record, SparqlQuery) else None
            found += check_answer(answer, names, given, path=path, line=line_of("answer"))
        if isinstance(record, JinjaQuery):
            from abi.tools import jinja_query

            found += jinja_query.check(record, self.settings, path=path, line=line_of("query"))
        if isinstance(record, SqlppQuery):
            from abi.tools import sqlpp_query

            place = self._known_secret(record.couchbase.conn_string)
            found += sqlpp_query.check(record, path=path, line=line_of("query"), place=place)
        return found

    def _known_secret(self, name: str | None) -> str | None:
        """A secret's value where it has one now."""
        try:
            return self._secret(name, ask_keyring=False) if name else None
        except (AbiError, OSError):
            return None

    def _vain_searches(self, subjects: Collection[str]) -> list[Finding]:
        """A warning for each changed prompt that selects tools by a search which finds none."""
        from abi.graph.mapping import Names, read_record
        from abi.search.selectors import searching_prompts, vain_searches

        names = Names(self.settings.base_iri, self.store)
        prompts = [read_record(self.store, p, names) for p in searching_prompts(self.store.query) if p in subjects]
        find = self.run_context.find
        return [fault for prompt in prompts for fault in vain_searches(prompt, find)] if find else []

    def check(self, paths: Sequence[str | Path] = (), *, progress: Progress | None = None) -> CheckReport:
        """Read and validate the files; write nothing."""
        from abi.graph.indexing import check_files

        given = [self._inside(p) for p in paths]
        try:
            live = self.store
        except StoreError:
            live = None  # nothing was indexed yet
        report = check_files(self.root, self.settings, self.shapes, given, progress, self._look, live)
        if report.conforms:
            report.findings = sorted({*report.findings, *self._vain_searches_of_files(report)})
        return report

    def _vain_searches_of_files(self, report: CheckReport) -> list[Finding]:
        from abi.search.selectors_of_files import searches, vain_searches_of_files

        looked_at = {e.iri for e in report.records}
        records = [(iri, r) for one in report.loaded for iri, r in one.records]
        prompts = [r for iri, r in records if iri in looked_at and searches(r)]
        tools = [q for one in report.loaded if any(r.family == "tool" for _, r in one.records) for q in one.quads]
        index = self.root / ".abi" / "search.sqlite"
        return vain_searches_of_files(prompts, tools, self.settings, lambda: self.embedder, index)

    def _inside(self, path: str | Path) -> Path:
        return path if isinstance(path, Path) and path.is_absolute() else Path(path).absolute()

    # Changing and exporting the graph

    def update(
        self,
        text: str,
        *,
        dry_run: bool = False,
        using: Sequence[str] = (),
        using_named: Sequence[str] = (),
        default_graph: str | None = None,
    ) -> UpdateReport:
        """Apply a SPARQL Update through the guard and the gate.

        `using` and `using_named`: the graphs that its WHERE sees. `default_graph`: where a triple goes that is inserted
        without a graph and that no graph claims. Raises QueryRefused, QuerySyntaxError, QueryTimeout, Invalid.
        """
        from abi.graph.update import Surroundings, apply_update

        with self._writing() as store:
            before = store.version()
            limit, base = self.settings.query_seconds_cap, self.settings.base_iri
            around = Surroundings(self.pool.query, limit, using, using_named, default_graph, base)
            report = apply_update(
                store, self._gate(store), text, settings=self.settings, dry_run=dry_run, around=around
            )
            if store.version() != before:
                self._follow(store, report.subjects, before)
            return report

    def put_graph(
        self, graph: str, parts: Sequence[Part], *, add: bool = False, wanted: Condition | None = None
    ) -> GraphWritten:
        """Replace what a named graph holds by RDF from outside, or add to it; see `abi.graph.named_graphs`."""
        from abi.graph.named_graphs import write_graph

        with self._writing() as store:
            before, gate = store.version(), self._gate(store)
            parser = partial(self.pool.parse, seconds=self.settings.query_seconds_cap)
            written = write_graph(store, gate, graph, parts, self.settings, add=add, wanted=wanted, parser=parser)
            if written.version != before:
                self._follow(store, written.subjects, before)
            return written

    def drop_graph(self, graph: str, *, wanted: Condition | None = None) -> GraphWritten:
        """Take all triples of a named graph away. Raises NotFound."""
        from abi.graph.named_graphs import drop_graph

        with self._writing() as store:
            before = store.version()
            written = drop_graph(store, self._gate(store), graph, self.settings, wanted=wanted)
            self._follow(store, written.subjects, before)
            return written

    def load(self, files: Sequence[str | Path], *, graph: str | None = None, apart: bool = False) -> LoadReport:
        """Load RDF files: added to `graph`; without it each file into a graph of its own, which is renewed.

        `apart`: files of others, parsed in a process that may end without this one.
        """
        from abi.graph.loads import load_files

        with self._writing() as store:
            before = store.version()
            parser = partial(self.pool.parse, seconds=self.settings.query_seconds_cap) if apart else None
            report = load_files(store, self._gate(store), [Path(f) for f in files], self.settings, graph, parser)
            if store.version() != before:
                self._follow(store, report.subjects, before)
        if report.triples:
            self._renew_derived()
        return report

    def derive(self, graph: str | None = None) -> DeriveReport:
        """Derive intents and tools from what one named graph holds, or from all; written where either has moved.

        Raises UsageError for a name that is no IRI, NotFound where there are no individuals.
        """
        from abi.agents.derive import derive
        from abi.graph.catalog import iri_term
        from abi.graph.guard import check_query

        if graph is not None:
            iri_term(graph)
        with self._writing() as store:
            before = store.version()

            def query(text: str, *, rows: int | None = None) -> Rows:
                check_query(text, self.settings, self.settings.all_prefixes())
                return store.query(text, max_rows=rows)

            report = derive(store, self._gate(store), query, self.settings.base_iri, graph)
            if store.version() != before:
                self._follow(store, report.subjects, before)
            return report

    def calibrate(
        self, dataset: Path | None = None, *, out_of_scope: Sequence[str] = (), progress: Progress | None = None
    ) -> CalibrationReport:
        """Fit the scale of intents' scores to all agents and keep it, or measure it on a data set.

        `out_of_scope`: messages that no agent is there for. Raises Unreadable for a data set that is none, UsageError
        where no target has two phrases, Denied.
        """
        from abi.agents.calibrate import calibrate

        if dataset is None:
            self._may_write()
        return calibrate(self._services, dataset, out_of_scope, progress)

    def _renew_derived(self) -> None:
        """What was derived before is derived again, where there is still something to derive it from."""
        from abi.agents.derive import derived_sources

        for source in derived_sources(self.store, self.settings.base_iri):
            with suppress(NotFound):
                self.derive(source)

    def export(self, *, graph: str | None = None, source: str | None = None, format: str | None = None) -> bytes:
        """The whole graph, one named graph, or that of a source file, in any RDF syntax (default: TriG, or Turtle)."""
        from abi.graph.loads import export

        return export(self.store, self.settings, graph=graph, source=source, format=format)

    def has_edits_to_write(self, source: str) -> bool:
        """Whether there is anything to write back to a source file. Raises Invalid where that would lose something."""
        from abi.graph.loads import has_edits_to_write

        return has_edits_to_write(self.store, self.root, source)

    def export_catalog(self, format: str, *, annotations: str | None = None) -> CatalogExport:
        """The catalog for other programs: agentc-tools, agentc-prompts, mcp, openai-tools or openapi.

        `annotations` is a predicate that chooses records. Raises UsageError for another format.
        """
        from abi.exchange.formats import Sources, export_catalog

        def chosen(kind: str) -> list[str]:
            if annotations is None:
                return [entry.iri for entry in self.ls(kind).entries]
            return [hit.iri for hit in self.find(kind, annotations=annotations, limit=0).hits]

        sources = Sources(
            store=self.store,
            settings=self.settings,
            root=self.root,
            version=self.catalog_version,
            chosen=chosen,
            embedder=self.embedder,
            vectors=lambda texts: self.search_index.vectors_of(texts, self.embedder),
        )
        return export_catalog(format, sources)

    def import_catalogs(self, files: Sequence[str | Path]) -> ImportReport:
        """The records of Agent Catalog's `tools.json` and `prompts.json` as files, to be indexed then."""
        from abi.exchange.agentc_import import import_catalogs

        if self.read_only:
            raise Denied("The workspace was opened read-only.", hint="Open it without read_only to write.")
        limit = self.settings.max_rdf_bytes
        return import_catalogs([Path(f) for f in files], self.root, self.settings.sources, limit)

    # Versions

    def publish(self, message: str = "", *, allow_dirty: bool = False) -> PublishReport:
        """Write what the graph holds as an immutable version. Raises Invalid where the files are not what it holds, or
        differ from their commit, unless `allow_dirty`."""
        from abi.graph.versions import publish

        with self._writing() as store:
            before = store.version()
            gate = self._gate(store)
            report = publish(store, gate, self.root, self.settings, message=message, allow_dirty=allow_dirty)
            if store.version() != before:
                self._follow(store, report.subjects, before)
            if report.published:
                self._index.keep_vectors()
            return report

    def versions(self) -> list[CatalogVersion]:
        """The published versions, oldest first."""
        return self._versions.all()

    def diff(self, before: str, after: str | None = None) -> Difference:
        """What differs between two versions, or between one and the graph as it is. Raises NotFound, UsageError."""
        from abi.graph.difference import compare

        prefixes, base = self.settings.all_prefixes(), self.settings.base_iri
        _, old = self._versions.open(before, prefixes)
        new = self.store if after is None else self._versions.open(after, prefixes)[1]
        return compare(old, new, base)

    # Looking

    def find(
        self,
        kind: str | None = None,
        query: str | None = None,
        *,
        name: str | None = None,
        annotations: str | None = None,
        where: str | None = None,
        limit: int = 5,
        min_score: float | None = None,
        closest: bool = False,
    ) -> FindReport:
        """Hybrid search; see `abi.search.find.find`."""
        from abi.reports import FindReport
        from abi.search.find import find

        hits = find(
            self.search_index,
            self.sparql,
            self.embedder,
            query,
            kind=kind,
            name=name,
            annotations=annotations,
            where=where,
            limit=limit,
            min_score=min_score,
            closest=closest,
        )
        return FindReport(hits)

    def ls(self, kind: str | None = None) -> LsReport:
        """The records of the graph, of one kind or all."""
        from abi.graph.catalog import Catalog
        from abi.reports import LsReport

        return LsReport(Catalog(self.store).entries(kind))

    def show(self, name: str) -> ShowReport:
        """A turn (`thread/ID/turn/N`), or what `describe` describes. Raises NotFound."""
        from abi.reports import show_turn

        if name.startswith(("thread/", f"{self.settings.base_iri}thread/")):
            return show_turn(self.traces, self.settings, name)
        return self.describe(name)

    def describe(self, name: str) -> ShowReport:
        """One record, or else anything of the graph by IRI or label; never a conversation, which has an owner.

        Raises NotFound.
        """
        from abi.reports import show_entity, show_record

        try:
            return show_record(self.store, self.settings, name)
        except NotFound as missing:
            try:
                return show_entity(self.store, self.settings, name)
            except NotFound as error:
                near_record = missing.hint.startswith("Did you mean")
                raise NotFound(error.message, hint=missing.hint if near_record else error.hint) from None

    def status(self) -> StatusReport:
        from abi.reports import status

        return status(self)

    def doctor(self) -> DoctorReport:
        """What is wrong with this workspace and how to mend it; never raises for what it finds."""
        from abi.doctor import examine

        return examine(self)

    # Asking

    def query(self, text: str, *, as_rdflib: bool = False) -> Any:
        """A guarded query in this process: a list of dicts, True or False, or an rdflib Graph for CONSTRUCT.

        Values are Python values, or rdflib terms with `as_rdflib`. Raises QueryRefused, QuerySyntaxError.
        """
        from abi.graph.guard import check_query
        from abi.graph.rdflib_view import rdflib_rows

        check_query(text, self.settings, self.settings.all_prefixes())
        rows = self.store.query(self.with_searches(text))
        if rows.form == "ask":
            return rows.boolean
        return rdflib_rows(rows) if as_rdflib or rows.form == "construct" else rows.python()

    def sparql(self, text: str, *, traces: bool = False, **limits: Any) -> Rows:
        """A query from outside: guarded, in a process that is ended when it takes too long, its result limited."""
        from abi.graph.cancelling import current_cancel
        from abi.graph.guard import check_query

        check_query(text, self.settings, self.settings.all_prefixes())
        text = self.with_searches(text)
        pool = self._tracing() if traces else self.pool
        given = self._limits()
        if (cancel := current_cancel()) is not None:
            given["cancel"] = cancel
        return pool.query(text, **{**given, **limits})

    def traces_document(self, text: str, format: str, **limits: Any) -> Document:
        """What a query from outside finds in the traces, in a format; guarded and limited as `sparql`."""
        from abi.graph.guard import check_query

        check_query(text, self.settings, self.settings.all_prefixes())
        return self._tracing().document(text, format, **{**self._limits(), **limits})

    def _limits(self) -> dict[str, Any]:
        return {
            "seconds": self.settings.query_seconds,
            "rows": self.settings.query_rows,
            "bytes": self.settings.query_result_bytes,
        }

    def with_searches(self, text: str) -> str:
        """A query whose `abi:search` and `abi:similarity` are replaced by what they find. Raises QuerySyntaxError."""
        from abi.search.rewriting import rewrite

        return rewrite(text, self.settings.all_prefixes(), self._searches)

    def _searches(self) -> Searches:
        from abi.search.in_queries import IndexSearches

        return IndexSearches(self.search_index, self.embedder)

    def run_report(
        self, name: str, arguments: dict[str, Any], *, principal: str | None = None, may_write: bool = True
    ) -> ToolResult:
        """Call a tool or render a prompt, for `principal`; a pipeline only where they may write.

        Raises NotFound, ArgumentError, ToolFailed, Untrusted, QueryTimeout.
        """
        from dataclasses import replace

        from abi.tools.runner import run

        record = self._runnable(name)
        if self.catalog_version is not None:
            self._require_published_code(record)
        context = replace(self.run_context, principal=principal)
        return run(record, arguments, context if may_write else replace(context, put_graph=None))

    def _runnable(self, name: str) -> Record:
        """The tool or prompt of that name; read once for each version of the graph."""
        from abi.errors import UsageError
        from abi.graph.catalog import Catalog, family_of
        from abi.graph.mapping import Names, read_record

        store = self.store
        # A store opened for reading is a snapshot: what it shows changes when another one is opened.
        seen = (store.inner, None if store.read_only else store.version())
        if self._runnables[0] != seen:
            self._runnables = (seen, {})
        known = self._runnables[1]
        if name not in known:
            entry = Catalog(store).one(name)
            if family_of(entry.kind) not in ("tool", "prompt"):
                raise UsageError(f"{entry.name!r} is an {entry.kind}; tools and prompts can be run.")
            known[name] = read_record(store, entry.iri, Names(self.settings.base_iri, store))
        return known[name]

    def _require_published_code(self, record: Record) -> None:
        """A version holds what a function is, but not its code: that may run only while it is what was published."""
        import hashlib

        from abi.errors import ToolFailed

        if record.source is None or getattr(record, "kind", "") not in ("python_function", "agent"):
            return
        file = self.root / record.source.path
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != record.source.content_hash:
            commit = self.catalog_version.commit if self.catalog_version else None
            raise ToolFailed(
                f"{record.name} cannot run as it was published: {record.source.path} has changed since.",
                hint=f"`git checkout {commit[:12]}` brings its code back." if commit else "Run it without a version.",
            )

    def run(self, name: str, /, **arguments: Any) -> ToolResult:
        """`run_report` with keyword arguments."""
        return self.run_report(name, arguments)

    def prompt(self, name: str, /, **arguments: Any) -> str:
        """The text of a prompt. Raises NotFound, ArgumentError."""
        result = self.run_report(f"prompts/{name}" if "/" not in name else name, arguments)
        return str(result.result["text"])

    def record(self, name: str) -> Record:
        """One record, by NAME, KIND/NAME or IRI. Raises NotFound, Invalid where its triples do not make one."""
        from abi.graph.catalog import Catalog
        from abi.graph.mapping import Names, read_record

        iri = Catalog(self.store).one(name).iri
        return read_record(self.store, iri, Names(self.settings.base_iri, self.store))

    def records(self, kind: str | None = None) -> list[Record]:
        """The records of one kind, or all, whole."""
        from abi.graph.mapping import Names, read_record

        store = self.store
        names = Names(self.settings.base_iri, store)
        return [read_record(store, entry.iri, names) for entry in self.ls(kind).entries]

    def parameters_of(self, name: str) -> list[Parameter]:
        """What a tool or prompt takes, in order. Raises NotFound."""
        from abi.graph.catalog import Catalog
        from abi.graph.mapping import Names, read_record

        entry = Catalog(self.store).one(name)
        record = read_record(self.store, entry.iri, Names(self.settings.base_iri, self.store))
        return list(getattr(record, "parameters", []))

    @property
    def run_context(self) -> RunContext:
        from abi.tools.runner import RunContext
        from abi.tools.trust import is_trusted

        return RunContext(
            query=self.sparql,
            settings=self.settings,
            root=self.root,
            trusted=is_trusted(self.root),
            principal=None,
            secret=self._secret,
            find=lambda kind=None, query=None, **options: self.find(kind, query, **options).hits,
            put_graph=None if self.read_only else self._put_turtle,
            look_up=lambda text, *, rows=None: self.store.query(text, max_rows=rows),
        )

    def _put_turtle(self, graph: str, turtle: bytes) -> GraphWritten:
        from abi.graph.named_graphs import Part

        return self.put_graph(graph, [Part(turtle, "turtle")])

    def vectors_build(self, names: Sequence[str] = ()) -> VectorsReport:
        """Fill the vectors of the semantic searches of those names, or of all; Couchbase makes its own.

        Raises NotFound, UsageError for another kind of record, Unsupported where a record's model cannot be had.
        """
        from abi.errors import UsageError
        from abi.graph.catalog import Catalog
        from abi.records.record import SemanticSearch
        from abi.reports import VectorsReport
        from abi.tools.semantic_search import build, is_built_elsewhere

        if self.read_only:
            raise Denied("The workspace was opened read-only.", hint="Open it without read_only to write.")
        entries = [Catalog(self.store).one(n) for n in names] or Catalog(self.store).entries("semantic_search")
        report = VectorsReport([])
        for entry in entries:
            record = self._runnable(entry.iri)
            if not isinstance(record, SemanticSearch):
                raise UsageError(f"{entry.name!r} is a {entry.kind}; only a semantic_search has vectors.")
            if not names and is_built_elsewhere(record, self.run_context):
                continue
            built = build(record, self.run_context)
            model = record.vector_search.embedding_model
            report.built.append({"name": record.name, "model": model, "texts": built.texts, "embedded": built.embedded})
        return report

    def trust(self) -> None:
        """Let this workspace's Python run."""
        from abi.tools.trust import trust

        trust(self.root)

    # Agents

    def chat(
        self, text: str, *, agent: str | None = None, thread_id: str | None = None, **options: Unpack[TurnOptions]
    ) -> TurnResult:
        """One turn with an agent (default: the root agent). Raises NotFound, UsageError.

        `options`: `model`, `principal` (who speaks; threads are apart by it), `may_write`, `stop` (an Event that ends
        the turn); see `abi.agents.agent.TurnOptions`.
        """
        return self.agent(agent).invoke(text, thread_id, **options)

    def chat_stream(
        self, text: str, *, agent: str | None = None, thread_id: str | None = None, **options: Unpack[TurnOptions]
    ) -> Iterator[Event | TurnResult]:
        """The same as events while it happens."""
        return self.agent(agent).stream(text, thread_id, **options)

    def awaits_approval(self, thread_id: str, principal: str | None = None) -> bool:
        """Whether a conversation waits for yes or no to a change that its last answer proposed."""
        return self._runtime.awaits_approval(thread_id, principal)

    @property
    def threads(self) -> Threads:
        """The conversations that are kept. Raises Denied for a verb that deletes, where the workspace is read-only."""
        from abi.agents.threads import Threads

        return Threads(self._runtime.memory, read_only=self.read_only)

    def agent(self, name: str | None = None) -> Agent:
        """An agent of the graph, ready to talk to. Raises NotFound."""
        return self._runtime.agent(name)

    def agents(self) -> list[AgentDefinition]:
        """What each agent of the graph is, by name; the root agent first."""
        return self._runtime.agents()

    def model(self, name: str) -> Any:
        """The LangChain chat model that `provider:model` names. Raises UsageError, Unsupported."""
        return self._runtime.models.get(name)

    def tools(self, query: str | None = None, *, limit: int = 5, **filters: Any) -> list[Any]:
        """LangChain tools with Pydantic argument models: those that a search finds, or all."""
        from abi.agents.langchain_tools import catalog_tool
        from abi.graph.mapping import Names, read_record

        names = Names(self.settings.base_iri, self.store)
        if query is None and not filters:
            iris = [e.iri for e in self.ls("tools").entries]
        else:
            iris = [h.iri for h in self.find("tools", query, limit=limit, **filters).hits]
        return [catalog_tool(read_record(self.store, iri, names), self.run) for iri in iris]

    # What is made when it is first needed

    @cached_property
    def _services(self) -> AgentServices:
        from abi.agent_services import AgentServices

        return AgentServices(self)

    @cached_property
    def _runtime(self) -> AgentRuntime:
        from abi.agents.agent import AgentRuntime

        return AgentRuntime(self._services)


@contextmanager
def _undone_on_failure(root: Path) -> Iterator[None]:
    """A folder that was just made goes again where what was to be done in it failed, so that it can be tried again."""
    try:
        yield
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
