"""The graph in Oxigraph: in memory, or on disk with one writer and any number of read-only snapshots.

Facts of Oxigraph that shape this file: it lets one process write and says so with an OSError; a read-only store shows
what was there when it was opened; a write is on disk against a crash of the process at once, but against a power cut
only after `flush`; one `update` or one `extend` is one transaction.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyoxigraph as ox

from abi.errors import QueryRefused, QuerySyntaxError, StoreError, StoreLocked, StoreMissing, Unsupported
from abi.graph.lock_holder import lock_holder
from abi.graph.migrations import migrate
from abi.graph.results import rows_of, term_of
from abi.graph.rows import Rows
from abi.graph.store import BOOKKEEPING, BUMP_VERSION, GRAPH_VERSION, SCHEMA_VERSION, GraphStore
from abi.settings import PREFIXES, Settings

if TYPE_CHECKING:
    from rdflib import Dataset

__all__ = ["OxigraphStore", "has_dataset_clause", "insert_data", "term_of"]

_STORE = ox.NamedNode(BOOKKEEPING)
_GRAPH_VERSION = ox.NamedNode(GRAPH_VERSION)
_SCHEMA_VERSION = ox.NamedNode(SCHEMA_VERSION)
_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
_BULK = 500
"""From so many quads on, additions go by `extend`: half the time of an update text."""
_TICK = 2_000_000_000
"""Nanoseconds that a file system's clock may stand still; those of most do for a few million."""


class OxigraphStore(GraphStore):
    """A GraphStore over one `pyoxigraph.Store`. Safe to use from several threads.

    `prefixes` are predeclared in `query` and `update`. `flush_seconds` is the longest time for which an acknowledged
    write may be lost to a power cut (0: each write is flushed); a crash of the process alone loses nothing.
    """

    def __init__(
        self,
        inner: ox.Store,
        path: Path | None = None,
        *,
        read_only: bool = False,
        flush_seconds: float | None = None,
        prefixes: Mapping[str, str] | None = None,
    ) -> None:
        self._store: ox.Store | None = inner
        self.path = path
        self.read_only = read_only
        self.prefixes = dict(PREFIXES if prefixes is None else prefixes)
        self.flush_seconds = Settings.default_of("flush_seconds") if flush_seconds is None else flush_seconds
        self.writing = threading.RLock()
        """Held by whoever checks a change and then applies it, so that no other write comes between."""
        self._timer: threading.Timer | None = None
        self._flush_failure: OSError | None = None
        self._writes = 0
        self._changed: dict[str, int] = {}
        self._changed_before = -1
        self._listed: tuple[int, tuple[Path, ...]] = (-1, ())
        self._opened_at = self.signature() if read_only else None

    @classmethod
    def memory(cls, *, prefixes: Mapping[str, str] | None = None) -> OxigraphStore:
        """An empty store that is gone with the process."""
        store = cls(ox.Store(), prefixes=prefixes)
        migrate(store)
        return store

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        create: bool = False,
        flush_seconds: float | None = None,
        prefixes: Mapping[str, str] | None = None,
    ) -> OxigraphStore:
        """Open the store in the folder `path`; `create` makes it where there is none.

        Raises StoreMissing (nothing there), StoreLocked (another process writes to it; read-only never does), and
        StoreError where the folder holds something else, cannot be read, or was made by a newer abi.
        """
        if not (path / "CURRENT").exists() and (read_only or not create):
            raise StoreMissing(f"there is no graph at {path} yet", hint="Run `abi index` to make it.")
        try:
            if read_only:
                inner = _open_snapshot(path)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                inner = ox.Store(str(path))
        except (OSError, RuntimeError) as error:  # RuntimeError: files of another make
            raise _explain(error, path) from error
        store = cls(inner, path, read_only=read_only, flush_seconds=flush_seconds, prefixes=prefixes)
        try:
            migrate(store)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def inner(self) -> ox.Store:
        """The pyoxigraph store; for this room only."""
        if self._store is None:
            raise StoreError("the graph store is closed")
        return self._store

    # Reading

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
        max_rows: int | None = None,
    ) -> Rows:
        started = time.perf_counter()
        try:
            result = self.inner.query(
                text,
                prefixes=self.prefixes,
                use_default_graph_as_union=default_graphs is None and not has_dataset_clause(text),
                default_graph=None if default_graphs is None else [ox.NamedNode(g) for g in default_graphs],
                named_graphs=None if named_graphs is None else [ox.NamedNode(g) for g in named_graphs],
            )
            rows = rows_of(result, max_rows)
        except SyntaxError as error:
            raise QuerySyntaxError(f"the query does not parse: {error}") from error
        except ValueError as error:
            raise QuerySyntaxError(f"a graph name is not an IRI: {error}") from error
        except OSError as error:
            raise _explain(error, self.path) from error
        rows.seconds = time.perf_counter() - started
        return rows

    def match(
        self,
        subject: ox.NamedNode | ox.BlankNode | None = None,
        predicate: ox.NamedNode | None = None,
        object: ox.NamedNode | ox.BlankNode | ox.Literal | None = None,
        graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph | None = None,
    ) -> Iterator[ox.Quad]:
        return self.inner.quads_for_pattern(subject, predicate, object, graph)

    def quads(self, graph: str | None = None) -> Iterator[ox.Quad]:
        return self.match(graph=None if graph is None else ox.NamedNode(graph))

    def subject_quads(self, subjects: Iterable[str]) -> Iterator[ox.Quad]:
        for subject in subjects:
            yield from self.match(ox.NamedNode(subject))

    def graphs(self) -> list[str]:
        names = [g for g in self.inner.named_graphs() if isinstance(g, ox.NamedNode)]
        return sorted(g.value for g in names if next(self.match(graph=g), None) is not None)

    def __len__(self) -> int:
        return len(self.inner)

    def version(self) -> int:
        counts = [_integer(q.object) for q in self.match(_STORE, _GRAPH_VERSION, None, _STORE)]
        return max(counts, default=0)

    def schema_version(self) -> int:
        """The layout of the triples that this store holds; 0 where nothing says it."""
        return max((_integer(q.object) for q in self.match(_STORE, _SCHEMA_VERSION, None, _STORE)), default=0)

    def signature(self) -> object:
        if self.path is None:
            return self.version()
        if not self.read_only:
            return self._writes  # nobody else can write
        try:
            return tuple([(path, (stat := path.stat()).st_size, stat.st_mtime_ns) for path in self._logs(self.path)])
        except FileNotFoundError:  # the writer took one away just now
            self._listed = (-1, ())
            return ()

    def _logs(self, folder: Path) -> tuple[Path, ...]:
        """The files that each write moves. The folder is listed anew where it has changed."""
        changed = folder.stat().st_mtime_ns
        if changed != self._listed[0]:
            with os.scandir(folder) as entries:
                # Writes grow the write-ahead log; a flush makes a new one and moves the manifest.
                paths = [
                    folder / entry.name
                    for entry in entries
                    if entry.name.endswith(".log") or entry.name.startswith(("MANIFEST", "CURRENT"))
                ]
            # A file that comes in the same tick of the clock would not move the folder's time again.
            settled = time.time_ns() - changed > _TICK
            self._listed = (changed if settled else -1, tuple(sorted(paths)))
        return self._listed[1]

    def changed_at(self, graph: str) -> int:
        """A version that was moved to after the last change of a graph: it differs whenever the graph does."""
        if self._changed_before < 0:
            self._changed_before = self.version()
        return self._changed.get(graph, self._changed_before)

    def refresh(self) -> None:
        if not self.read_only or self.path is None:
            return
        now = self.signature()
        if now == self._opened_at:
            return
        try:
            self._store = _open_snapshot(self.path)
        except (OSError, RuntimeError) as error:
            raise _explain(error, self.path) from error
        self._opened_at = now

    # Writing

    def update(self, text: str) -> None:
        self._writable()
        try:
            self.inner.update(text, prefixes=self.prefixes)
        except SyntaxError as error:
            raise QuerySyntaxError(f"the update does not parse: {error}") from error
        except (OSError, RuntimeError) as error:
            raise _explain(error, self.path) from error
        self._changed.clear()  # nobody has said which graphs
        self._changed_before = -1
        self._written()

    def apply(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad]) -> int:
        self._writable()
        with self.writing:
            version = self.version() + 1
            known, before = dict(self._changed), self._changed_before
            if len(added) >= _BULK and not removed:
                # `extend` cannot take the old counter away; `version` takes the highest, the next update tidies.
                counter = ox.Quad(_STORE, _GRAPH_VERSION, ox.Literal(version), _STORE)
                try:
                    self.inner.extend([*added, counter])
                except OSError as error:
                    raise _explain(error, self.path) from error
                self._written()
            else:
                self.update(self._update_text(removed, added, version))
            touched = {getattr(q.graph_name, "value", "") for q in (*removed, *added)}
            self._changed = {**known, **dict.fromkeys(touched, version)}
            self._changed_before = before if before >= 0 else version - 1
        return version

    def _update_text(self, removed: Sequence[ox.Quad], added: Sequence[ox.Quad], version: int) -> str:
        rewritten = {q.graph_name for q in removed if _has_blank(q)}
        # An added quad may speak of a blank node that its graph already holds: only a rewrite keeps them one node.
        rewritten |= {
            q.graph_name for q in added if _has_blank(q) and next(self.match(graph=q.graph_name), None) is not None
        }
        operations = [f"DROP SILENT {_graph_ref(g)}" for g in rewritten]
        plain = [q for q in removed if q.graph_name not in rewritten]
        if plain:
            operations.append("DELETE DATA " + _data_block(plain))
        gone = set(removed)
        content = dict.fromkeys(added)
        for graph in rewritten:
            content.update({q: None for q in self.match(graph=graph) if q not in gone})
        if content:
            operations.append("INSERT DATA " + _data_block(content))
        operations.append(BUMP_VERSION)
        return " ;\n".join(operations)

    def _writable(self) -> None:
        if self.read_only:
            raise Unsupported("this graph is open read-only", hint="Open the workspace without read_only=True.")
        if self._flush_failure is not None:
            failure, self._flush_failure = self._flush_failure, None
            raise _explain(failure, self.path) from failure

    def _written(self) -> None:
        self._writes += 1
        if self.path is None:
            return
        if self.flush_seconds == 0:
            self.flush()
            return
        with self.writing:
            if self._timer is None:
                self._timer = threading.Timer(self.flush_seconds, self._flush_later)
                self._timer.daemon = True
                self._timer.start()

    def _flush_later(self) -> None:
        try:
            self.flush()
        except StoreError as error:
            # Nobody waits for this thread: the next write says it.
            self._flush_failure = cast(OSError, error.__cause__)

    def flush(self) -> None:
        with self.writing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self.path is None or self.read_only or self._store is None:
                return
            try:
                self._store.flush()
            except OSError as error:
                raise _explain(error, self.path, made=True) from error

    def close(self) -> None:
        if self._store is None:
            return
        try:
            self.flush()
        finally:
            self._store = None

    def __enter__(self) -> OxigraphStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def dataset(self) -> Dataset:
        """A read-only rdflib Dataset over this very store; see `abi.graph.rdflib_view` for one that writes."""
        from abi.graph.rdflib_view import dataset

        return dataset(self)


def has_dataset_clause(text: str) -> bool:
    """Whether a query names its graphs by FROM: Oxigraph would override them where it is asked for the union."""
    if not _FROM.search(text):
        return False
    from abi.graph.tokens import tokenize

    try:
        return any(t.upper == "FROM" for t in tokenize(text))
    except (QueryRefused, QuerySyntaxError):
        return True  # it will not parse, or it is no text of ours: the narrower reading


def data_of(quads: Iterable[ox.Quad]) -> str:
    """`DATA { ... }` of an INSERT or a DELETE."""
    return "DATA " + _data_block(quads)


def insert_data(quads: Iterable[ox.Quad]) -> str:
    """One INSERT DATA operation; blank nodes of one call stay the same nodes."""
    return "INSERT " + data_of(quads)


def _integer(term: object) -> int:
    try:
        return int(term.value) if isinstance(term, ox.Literal) else 0
    except ValueError:
        return 0


def _has_blank(quad: ox.Quad) -> bool:
    return isinstance(quad.subject, ox.BlankNode) or isinstance(quad.object, ox.BlankNode)


def _graph_ref(graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph) -> str:
    return "DEFAULT" if isinstance(graph, ox.DefaultGraph) else f"GRAPH {graph}"


def _data_block(quads: Iterable[ox.Quad]) -> str:
    by_graph: dict[ox.NamedNode | ox.BlankNode | ox.DefaultGraph, list[str]] = {}
    for q in quads:
        by_graph.setdefault(q.graph_name, []).append(f"{q.subject} {q.predicate} {q.object} .")
    blocks = []
    for graph, lines in by_graph.items():
        body = "\n".join(lines)
        blocks.append(body if isinstance(graph, ox.DefaultGraph) else f"GRAPH {graph} {{\n{body}\n}}")
    return "{\n" + "\n".join(blocks) + "\n}"


def _open_snapshot(path: Path) -> ox.Store:
    # A writer that flushes at this very moment takes files away that were just listed: look again.
    for pause in (0.01, 0.05, 0.2):
        try:
            return ox.Store.read_only(str(path))
        except (OSError, RuntimeError):
            time.sleep(pause)
    return ox.Store.read_only(str(path))


def _explain(error: Exception, path: Path | None, *, made: bool = False) -> StoreError:
    """`made`: the change stands in the log, and only its place in the tables could not be written."""
    text = str(error)
    where = f"the graph at {path}" if path else "the graph in memory"
    if "LOCK" in text or "lock hold" in text:
        who = lock_holder(path / "LOCK") if path and "current process" not in text else "this process"
        return StoreLocked(
            f"{where} is being written to by {who or 'another process'}",
            hint="Wait until it is done or end it; reading works beside it. While `abi serve` runs, the commands go "
            "through it.",
            details={"holder": who},
        )
    if "No space left" in text or "File too large" in text or "Disk quota" in text:
        return StoreError(
            f"{where} could not be written: the disk is full ({text})",
            hint="All changes up to this one are kept, each whole, but a power cut could still take the last ones. "
            "Make room, then run it again."
            if made
            else "Nothing of this change was kept and all earlier ones are safe. Make room, then run it again.",
        )
    hint = "`abi doctor` says more."
    if path and any(sign in text for sign in ("Corruption", "not a directory", "File exists")):
        hint = f"Move {path} away. `abi index` makes the graph again from the files; what was in no file is not in it."
        if path.name == "traces":
            hint = f"Move {path} away: traces begin anew."
    return StoreError(f"{where} could not be used: {text}", hint=hint)
