"""What an opened workspace has in its hands: the graph, query processes, the search index, the embedder, traces.

Each is made when it is first needed and let go of by `close`. The verbs are in `abi.workspace`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abi.errors import Denied, StoreMissing, Untrusted
from abi.settings import Settings

if TYPE_CHECKING:
    from abi.graph.gate import Gate
    from abi.graph.oxigraph import OxigraphStore
    from abi.graph.pool import WorkerPool
    from abi.graph.traces import TraceStore
    from abi.graph.version_file import CatalogVersion
    from abi.graph.versions import Versions
    from abi.records.record import Record
    from abi.search.embedder import Embedder
    from abi.search.index import SearchIndex

__all__ = ["OpenedWorkspace"]


class OpenedWorkspace:
    """The state of one workspace. Safe to use from several threads."""

    def __init__(self, root: Path, *, read_only: bool = False, version: str | None = None) -> None:
        self.root = root.absolute()
        self.read_only = read_only
        self.settings, self.setting_origins = Settings.load(self.root)
        self._lock = threading.RLock()
        self._write_lock = threading.RLock()
        self._writer: int | None = None
        self._held: OxigraphStore | None = None
        self._store: OxigraphStore | None = None
        self._runnables: tuple[Any, dict[str, Record]] = (None, {})
        self._traces_pool: WorkerPool | None = None
        self.given_secrets: dict[str, str] = {}
        """Values by name, looked up before anything else; never stored."""
        self.catalog_version: CatalogVersion | None = None
        """The published version that this workspace shows; None where it shows the live graph."""
        if version is not None:
            self._show_version(version)

    def close(self) -> None:
        """End the worker processes and let go of every file."""
        for name in ("_runtime", "pool", "_index", "traces"):
            made = self.__dict__.pop(name, None)
            if made is not None:
                made.close()
        python_tools = sys.modules.get("abi.tools.python_process")
        if python_tools is not None:
            python_tools.end_processes(self.root.resolve())
        close_embedder = getattr(self.__dict__.pop("embedder", None), "close", None)
        if close_embedder is not None:
            close_embedder()
        with self._lock:
            if self._traces_pool is not None:
                self._traces_pool.close()
            for store in (self._store, self._held):
                if store is not None:
                    store.close()
            self._store = self._traces_pool = self._held = None

    def hold(self) -> None:
        """Keep the graph open for writing until the workspace is closed, as a server does.

        No other process can write then, and a write costs no opening. Raises StoreLocked, Denied.
        """
        with self._write_lock, self._lock:
            if self.settings.store != "memory" and self._held is None:
                self._held = self._open_to_write()

    @property
    def store(self) -> OxigraphStore:
        """The graph as it is now, for reading. Raises StoreMissing before the first index."""
        from abi.graph.oxigraph import OxigraphStore

        if self._held is not None:
            return self._held
        with self._lock:
            if self._store is None:
                prefixes = self.settings.all_prefixes()
                if self.settings.store == "memory":
                    self._store = OxigraphStore.memory(prefixes=prefixes)
                else:
                    self._store = OxigraphStore.open(self._graph_path, read_only=True, prefixes=prefixes)
            else:
                self._store.refresh()
            return self._store

    @contextmanager
    def _writing(self) -> Iterator[OxigraphStore]:
        """The graph for writing. Raises Denied for a read-only workspace, StoreLocked."""
        with self._write_lock:
            before, self._writer = self._writer, threading.get_ident()
            try:
                if self.settings.store == "memory":
                    self._may_write()
                    yield self.store
                    return
                store = self._held or self._open_to_write()
                try:
                    yield store
                finally:
                    if store is not self._held:
                        store.close()
            finally:
                self._writer = before

    def _open_to_write(self) -> OxigraphStore:
        from abi.graph.oxigraph import OxigraphStore

        self._may_write()
        return OxigraphStore.open(
            self._graph_path,
            create=True,
            flush_seconds=self.settings.flush_seconds,
            prefixes=self.settings.all_prefixes(),
        )

    def _may_write(self) -> None:
        if self.read_only:
            raise Denied("The workspace was opened read-only.", hint="Open it without read_only to write.")

    def _show_version(self, version: str) -> None:
        self.catalog_version, self._store = self._versions.open(version, self.settings.all_prefixes())
        self.read_only = True
        # Nothing of a version is kept: neither its search index, nor traces and memory of conversations with it.
        self.settings = self.settings.model_copy(update={"store": "memory"})

    @property
    def _graph_path(self) -> Path:
        return self.root / ".abi" / "graph"

    @property
    def shapes(self) -> list[Path]:
        """Folders of SHACL files that every write must conform to: abi's and the workspace's own."""
        from abi.files import shipped

        return [shipped("shapes"), self.root / "shapes"]

    def version(self) -> int:
        """The counter that every change of the graph moves."""
        return self.store.version()

    def _follow(self, store: OxigraphStore, subjects: Any, since: int) -> None:
        """Bring the search index up to the graph's version, vectors included."""
        with self._lock:
            self._index.refresh(store.query, self.settings, store.version(), subjects, since)
            if self.catalog_version is not None:
                self._borrow_vectors()
            self._index.embed(self.embedder)

    def _borrow_vectors(self) -> None:
        """A published version is searched with the vectors that the workspace's own index has of the same texts."""
        from abi.search.index import SearchIndex

        path = self.root / ".abi" / "search.sqlite"
        if path.is_file():
            with SearchIndex(path) as own:
                self._index.borrow(own, self.embedder)

    def _gate(self, store: OxigraphStore) -> Gate:
        from abi.graph.gate import Gate

        return Gate(store, self.shapes, base=self.settings.base_iri)

    @cached_property
    def _versions(self) -> Versions:
        from abi.graph.versions import Versions

        return Versions(self.root / ".abi" / "versions")

    @cached_property
    def pool(self) -> WorkerPool:
        """The processes that answer queries from outside."""
        from abi.graph.pool import WorkerPool

        return WorkerPool.of(self.store, self.settings)

    def _tracing(self) -> WorkerPool:
        """The processes that answer queries about traces. Raises StoreMissing before the first turn."""
        from abi.graph.oxigraph import OxigraphStore
        from abi.graph.pool import WorkerPool

        if "traces" in self.__dict__:
            self.traces.flush()
        with self._lock:
            if self._traces_pool is None:
                try:
                    path = self.root / ".abi" / "traces"
                    store = self.traces.memory or OxigraphStore.open(path, read_only=True)
                except StoreMissing:
                    raise StoreMissing(
                        "There are no traces yet.", hint="The first turn of a chat makes them."
                    ) from None
                self._traces_pool = WorkerPool.of(store, self.settings)
            return self._traces_pool

    @cached_property
    def _index(self) -> SearchIndex:
        from abi.search.index import SearchIndex

        return SearchIndex(None if self.settings.store == "memory" else self.root / ".abi" / "search.sqlite")

    @property
    def search_index(self) -> SearchIndex:
        """The search index, brought up to the graph's version where another process has moved it.

        What a thread of this process is writing is not there yet: that thread knows what it changes, and all would be
        read again without that.
        """
        store = self.store
        with self._lock:
            # In this order: whoever has moved the graph since cannot have been done before this lock is let go of.
            if self._index.version != store.version() and self._writer in (None, threading.get_ident()):
                self._follow(store, (), -1)
        return self._index

    @property
    def search_version(self) -> int:
        """The graph version that the search index is of; it may lag behind until the next search."""
        return self._index.version

    def search_index_faults(self) -> list[str]:
        """What is wrong with the file of the search index; it reads all of it."""
        return self._index.faults()

    def mend_search_index(self) -> list[str]:
        """Make the search index anew from the graph where its file is damaged; what was wrong with it."""
        with self._lock:
            faults = self._index.faults()
            if faults:
                self._index.start_anew()
                self._follow(self.store, (), -1)
        return faults

    @cached_property
    def embedder(self) -> Embedder:
        from abi.search.embedder import get_embedder

        return get_embedder(self.settings.embedder, self.settings, self._secret)

    @cached_property
    def traces(self) -> TraceStore:
        from abi.graph.traces import TraceStore

        path = None if self.settings.store == "memory" else self.root / ".abi" / "traces"
        return TraceStore(path, self.settings)

    def _secret(self, name: str, *, ask_keyring: bool = True) -> str:
        """A secret's value. What a folder's `abi.yaml` asks for, any file among it, is kept from a workspace that
        nobody trusts: with its tools it could send that anywhere."""
        from abi.secrets import secret
        from abi.tools.trust import is_trusted

        given = self.given_secrets.get(name)
        if given is not None:
            return given
        value = secret(name, self.settings, self.root, ask_keyring=ask_keyring)
        if not is_trusted(self.root):
            raise Untrusted(
                f"The secret {name} is not given to this workspace, as it is not trusted.",
                hint="Read its abi.yaml and its tools; if you trust them, run `abi trust`.",
            )
        return value
