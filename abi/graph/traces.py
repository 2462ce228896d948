"""What happened in conversations, as triples: one named graph a thread, in a store of its own beside the graph.

A turn is written in the background, so that its answer does not wait: the write lock of the store is taken for the
moment of a turn, and let go. Where another process holds it for more than five seconds, a warning says that this turn
left no trace; its answer stays.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi import terms
from abi.errors import NotFound, StoreError, StoreLocked, StoreMissing
from abi.graph.oxigraph import OxigraphStore
from abi.graph.trace_triples import TracedTurn, term_of, turn_document, turn_quads

if TYPE_CHECKING:
    from abi.graph.rows import Rows
    from abi.settings import Settings

__all__ = ["TraceStore", "prune"]

_log = logging.getLogger("abi")
_WAIT_SECONDS = 5.0
_HOLD_SECONDS = 1.0
"""So long the lock is kept at most while turns keep coming; then others get their chance."""
_LINGER_SECONDS = 0.2


class TraceStore:
    """The traces of a workspace. `path` is the store's folder; None keeps them in memory."""

    def __init__(self, path: Path | None, settings: Settings, *, wait_seconds: float = _WAIT_SECONDS) -> None:
        self.path = path
        self._settings = settings
        self._wait = wait_seconds
        self.memory = OxigraphStore.memory(prefixes=settings.all_prefixes()) if path is None else None
        self._waiting: queue.Queue[list[ox.Quad] | None] = queue.Queue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()
        self._pruned = 0.0
        self._closed = False

    def write(self, turn: TracedTurn, owner: str | None = None) -> None:
        """Keep a turn. Returns at once; the writing follows, and a failure of it is a warning in the log."""
        quads = turn_quads(turn, self._settings.base_iri, owner)
        if self.memory is not None:
            self.memory.apply([], quads)
            return
        with self._lock:
            if self._closed:
                raise StoreError("the trace store is closed")
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="abi-traces", daemon=True)
                self._worker.start()
                atexit.register(self.close)
            self._waiting.put(quads)

    def flush(self) -> None:
        """Wait until all turns so far are written, or given up."""
        if self._worker is not None:
            self._waiting.join()

    def close(self) -> None:
        """Write what waits, and let go of the store."""
        with self._lock:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is not None:
            self._waiting.put(None)
            worker.join()
            atexit.unregister(self.close)

    def query(self, text: str, **limits: Any) -> Rows:
        """Ask the traces. The text is trusted: what comes from outside goes through the guard first."""
        with self._reading() as store:
            return store.query(text, **limits)

    def turn(self, iri: str) -> dict[str, Any]:
        """A turn whole, from its triples: the chat document, the message and the times. Raises NotFound.

        `iri` may be short: `thread/ID/turn/N`.
        """
        if ":" not in iri.split("/")[0]:
            iri = self._settings.base_iri + iri
        try:
            node = ox.NamedNode(iri)
        except ValueError:
            raise NotFound(f"There is no turn {iri!r}.", hint="Turns are named like thread/ID/turn/1.") from None
        with self._reading() as store:
            about = list(store.match(node))
            graphs = {q.graph_name for q in about if q.predicate.value == terms.IN_CONVERSATION}
            if not graphs:
                raise NotFound(f"There is no turn <{iri}>.", hint="Turns are named like thread/ID/turn/1.")
            (graph,) = list(graphs)[:1]
            assert isinstance(graph, ox.NamedNode)
            return turn_document(iri, store.quads(graph.value))

    def quads(self, iri: str) -> list[ox.Quad]:
        """All triples of a turn or of a thread's turns: what stands in the graph under this IRI, and cited labels."""
        with self._reading() as store:
            return [q for q in store.quads(iri.split("/turn/")[0]) if f"{_iri(q)}/".startswith(f"{iri}/")]

    @contextmanager
    def _reading(self) -> Iterator[OxigraphStore]:
        if self.memory is not None:
            yield self.memory
            return
        self.flush()
        assert self.path is not None
        try:
            store = OxigraphStore.open(self.path, read_only=True, prefixes=self._settings.all_prefixes())
        except StoreMissing:
            store = OxigraphStore.memory(prefixes=self._settings.all_prefixes())
        try:
            yield store
        finally:
            store.close()

    def _work(self) -> None:
        """Write turns as they come: open, write all that wait, close."""
        ended = False
        while not ended:
            taken = [self._waiting.get()]
            try:
                ended = self._write_all(taken)
            except StoreError as error:
                lost = sum(t is not None for t in taken)
                ended = None in taken
                _log.warning("%d turn(s) left no trace: %s %s", lost, error.message, error.hint)
            except Exception:  # a thread that dies would keep every later turn waiting
                ended = None in taken
                _log.exception("A turn left no trace.")
            for _ in taken:
                self._waiting.task_done()

    def _write_all(self, taken: list[list[ox.Quad] | None]) -> bool:
        """Write `taken` and what comes while the store is open, adding it to `taken`. True when told to end."""
        if taken[0] is None:
            return True
        store = self._open()
        try:
            until = time.monotonic() + _HOLD_SECONDS
            item: list[ox.Quad] | None = taken[0]
            while item is not None:
                store.apply([], item)
                if time.monotonic() > until:
                    return False
                try:
                    item = self._waiting.get(timeout=_LINGER_SECONDS)
                except queue.Empty:
                    self._prune(store)
                    return False
                taken.append(item)
            return True
        finally:
            store.close()

    def _open(self) -> OxigraphStore:
        assert self.path is not None
        until = time.monotonic() + self._wait
        while True:
            try:
                return OxigraphStore.open(self.path, create=True, prefixes=self._settings.all_prefixes())
            except StoreLocked:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def _prune(self, store: OxigraphStore) -> None:
        """Let go of turns older than `trace_days`, once a day."""
        if time.monotonic() - self._pruned < 86_400 and self._pruned:
            return
        self._pruned = time.monotonic()
        prune(store, datetime.now(UTC) - timedelta(days=self._settings.trace_days))


def prune(store: OxigraphStore, before: datetime) -> int:
    """Remove the turns that ended before a time, and conversations that are left without any. Gives how many turns."""
    cutoff = term_of(before, False)
    old = store.query(
        f"SELECT ?t ?g {{ GRAPH ?g {{ ?t a <{terms.TURN}> ; <{terms.ENDED_AT}> ?e . FILTER(?e < {cutoff}) }} }}"
    )
    removed: list[ox.Quad] = []
    gone: dict[str, set[str]] = {}
    for row in old:
        gone.setdefault(row["g"].value, set()).add(row["t"].value)
    for graph, turns in gone.items():
        every = list(store.quads(graph))
        left = {_iri(q) for q in every if q.object == ox.NamedNode(terms.TURN)} - turns
        if not left:
            removed += every
            continue
        removed += [q for q in every if _turn_of(_iri(q)) in turns]
    if removed:
        store.apply(removed, [])
    return len(old)


def _iri(quad: ox.Quad) -> str:
    return str(getattr(quad.subject, "value", ""))


def _turn_of(iri: str) -> str:
    head, found, rest = iri.partition("/turn/")
    return f"{head}{found}{rest.split('/')[0]}" if found else ""
