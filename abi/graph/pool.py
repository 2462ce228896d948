"""Workers for many clients: short queries are answered at once also while long ones run.

`size` workers answer. A query that takes longer than a moment is let go on at the lowest priority, in one of the places
for long ones, and another worker takes its place; where all of those are taken it is ended, so that whatever is asked,
the others are answered. One that was long before begins there. A query waits for a worker in a queue of limited length,
and its waiting counts as its time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from abi.errors import Busy, QueryTimeout, StoreError
from abi.graph.nursery import Nursery
from abi.graph.worker import MEMORY_BYTES, Document, QueryWorker, Steps
from abi.settings import Settings

if TYPE_CHECKING:
    from abi.graph.rows import Rows
    from abi.graph.store import GraphStore

__all__ = ["Cancel", "WorkerPool"]

_MOMENT = 0.1
"""Seconds of the processor that a short query takes at most; less of it counts while others wait."""
_LONG = 1.0
"""Seconds after which it is long in any case."""
_LOOK = 0.025
_REMEMBERED = 256
_T = TypeVar("_T")


class Cancel:
    """Ends one query from outside, as when its client has left. From any thread, at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end: Callable[[], None] | None = None
        self.cancelled = False

    def __call__(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._end is not None:
                self._end()

    def begin(self, end: Callable[[], None]) -> None:
        with self._lock:
            if self.cancelled:
                raise StoreError("The client left before its query began.")
            self._end = end

    def done(self) -> None:
        with self._lock:
            self._end = None


class _Lease:
    __slots__ = ("busy", "cpu", "long", "lowered", "text", "worker")

    def __init__(self, worker: QueryWorker, text: str, long: bool) -> None:
        self.worker = worker
        self.text = text
        self.long = long
        self.lowered = False
        self.busy = False
        self.cpu: float | None = None
        """The worker's time of the processor when its query was first seen to run."""

    def outlasts(self, moment: float) -> bool:
        since = self.worker.working_since
        if since is None:
            return False  # it starts, or opens the store
        used = self.worker.cpu_seconds()
        if self.cpu is None:
            self.cpu = used
        return used - self.cpu >= moment or time.monotonic() - since > _LONG


class WorkerPool:
    """Answers queries over a snapshot of `store`, several at one time; safe to use from any thread.

    `size`: workers for short queries (default: four for each core). `long`: places for long ones (default: four times
    that). `queue`: queries that may wait. `staleness`: see `QueryWorker.document`.
    """

    def __init__(
        self,
        store: GraphStore,
        *,
        size: int = 0,
        long: int = 0,
        queue: int | None = None,
        prefixes: Mapping[str, str] | None = None,
        memory: int = MEMORY_BYTES,
        staleness: float = 0.0,
    ) -> None:
        # More than cores: the system shares them out evenly, and one that turns out long is not in everyone's way.
        self.size = size or 4 * (os.cpu_count() or 1)
        self.long = long or 4 * self.size
        self._queue = Settings.default_of("query_queue") if queue is None else queue
        self._staleness = staleness
        self._nursery = Nursery()
        # Not a worker's own: that of a long query is gone before its result is read.
        self._folder = tempfile.TemporaryDirectory(prefix="abi-")
        self._make: Callable[[], QueryWorker] = partial(
            QueryWorker,
            store,
            prefixes=prefixes,
            memory=memory,
            nursery=self._nursery,
            folder=Path(self._folder.name),
        )
        self._free = threading.Condition()
        self._idle: list[QueryWorker] = []
        self._leases: set[_Lease] = set()
        self._known_long: dict[str, None] = {}
        self._waiting = 0
        self._looking = False
        self._closed = False

    @classmethod
    def of(cls, store: GraphStore, settings: Settings) -> WorkerPool:
        """A pool with the limits of a workspace."""
        return cls(
            store,
            size=settings.query_workers,
            queue=settings.query_queue,
            prefixes=settings.all_prefixes(),
            staleness=settings.query_staleness,
        )

    def query(self, text: str, *, seconds: float | None = None, cancel: Cancel | None = None, **given: Any) -> Rows:
        """`QueryWorker.query` on a free worker. Raises Busy besides, where too many wait or too many long ones run."""
        return self._work(lambda worker, left: worker.query(text, seconds=left, **given), seconds, cancel, text)

    def document(
        self,
        text: str,
        format: str,
        *,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
        seconds: float | None = None,
        rows: int | None = None,
        bytes: int | None = None,
        base: str | None = None,
        since: float = 0.0,
        cancel: Cancel | None = None,
    ) -> Document:
        """`QueryWorker.document` on a free worker. Raises Busy besides."""
        return self._work(
            lambda worker, left: worker.document(
                text,
                format,
                default_graphs=default_graphs,
                named_graphs=named_graphs,
                seconds=left,
                rows=rows,
                bytes=bytes,
                base=base,
                staleness=self._staleness,
                since=since,
            ),
            seconds,
            cancel,
            text,
        )

    def begin(self, text: str, format: str, *, since: float = 0.0, cancel: Cancel, **given: Any) -> Steps | None:
        """`document` in two steps, as `QueryWorker.begin`; None where it must be asked for by `document`."""
        with self._free:
            free = not self._closed and not self._waiting and self._short() < self.size
            if not free or not self._idle or text in self._known_long:
                return None
            worker = self._idle[-1]
            steps = worker.begin(text, format, staleness=self._staleness, since=since, **given)
            if steps is None:
                return None
            lease = self._lent(self._idle.pop(), text, long=False)
        return self._begun(steps, lease, cancel)

    def _begun(self, steps: Steps, lease: _Lease, cancel: Cancel) -> Steps:
        with self._returned(lease), self._told(lease):
            cancel.begin(lease.worker.cancel)
            try:
                return (yield from steps)
            finally:
                cancel.done()

    def parse(
        self, data: bytes, syntax: str, *, base: str | None, seconds: float | None = None
    ) -> tuple[bytes, dict[str, str]]:
        """`QueryWorker.parse` on a free worker. Raises Busy besides."""
        return self._work(lambda worker, left: worker.parse(data, syntax, base=base, seconds=left), seconds, None)

    def counts(self) -> dict[str, int]:
        """How many queries run, how many of them are long, how many wait, and how many processes there are."""
        with self._free:
            running = len(self._leases)
            return {
                "running": running,
                "long": self._long(),
                "waiting": self._waiting,
                "processes": running + len(self._idle),
            }

    def start(self) -> None:
        """Have one worker ready, so that the first query need not wait for it."""
        with contextlib.suppress(StoreError), self._lease(60.0) as lease:  # whoever asks then is told
            lease.worker.start()

    def close(self) -> None:
        """End all processes, whatever they do. A query after this raises StoreError."""
        with self._free:
            self._closed = True
            idle, self._idle = self._idle, []
            running = [lease.worker for lease in self._leases]
            self._free.notify_all()
        for worker in running:
            worker.cancel()
        for worker in (*idle, *running):
            worker.close()
        self._nursery.close()
        self._folder.cleanup()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _work(
        self, ask: Callable[[QueryWorker, float], _T], seconds: float | None, cancel: Cancel | None, text: str = ""
    ) -> _T:
        limit = Settings.default_of("query_seconds") if seconds is None else seconds
        started = time.monotonic()
        with self._lease(limit, text) as lease:
            if cancel is not None:
                cancel.begin(lease.worker.cancel)
            try:
                with self._told(lease):
                    return ask(lease.worker, max(0.05, limit - (time.monotonic() - started)))
            finally:
                if cancel is not None:
                    cancel.done()

    @contextmanager
    def _told(self, lease: _Lease) -> Iterator[None]:
        """Where a query was ended for the sake of others, that is said."""
        try:
            yield
        except StoreError as error:
            if lease.busy and not isinstance(error, QueryTimeout):
                raise _busy("Too many long queries are running; this one was ended to let the others be.") from None
            raise

    @contextmanager
    def _lease(self, seconds: float, text: str = "") -> Iterator[_Lease]:
        lease = self._take(seconds, text)
        with self._returned(lease):
            yield lease

    @contextmanager
    def _returned(self, lease: _Lease) -> Iterator[None]:
        try:
            yield
        finally:
            with self._free:
                self._leases.discard(lease)
                if not lease.long and not self._closed:
                    self._idle.append(lease.worker)
                    self._free.notify()
            if lease.long or self._closed:
                lease.worker.close()  # its priority cannot be raised again

    def _take(self, seconds: float, text: str) -> _Lease:
        def free() -> bool:
            return self._closed or text in self._known_long or self._short() < self.size

        with self._free:
            if not free() and self._waiting >= self._queue:
                raise _busy(f"{self._waiting} queries are waiting already.")
            self._waiting += 1
            try:
                if not self._free.wait_for(free, seconds):
                    raise QueryTimeout(
                        f"Other queries took all of the {seconds:g} seconds that this one had.", hint="Try again later."
                    )
            finally:
                self._waiting -= 1
            if self._closed:
                raise StoreError("The workspace was closed.")
            long = text in self._known_long
            if long and self._long() >= self.long:
                raise _busy("Too many long queries are running, and this one was long before.")
            return self._lent(self._idle.pop() if self._idle else self._make(), text, long=long)

    def _lent(self, worker: QueryWorker, text: str, *, long: bool) -> _Lease:
        lease = _Lease(worker, text, long)
        self._leases.add(lease)
        if not self._looking:
            self._looking = True
            threading.Thread(target=self._look, name="abi-pool", daemon=True).start()
        return lease

    def _short(self) -> int:
        return len(self._leases) - self._long()

    def _long(self) -> int:
        return sum(lease.long for lease in self._leases)

    def _look(self) -> None:
        """Sort the long ones out, for as long as anything runs."""
        idle = 0
        while idle < 80:
            time.sleep(_LOOK)
            with self._free:
                idle = 0 if self._leases else idle + 1
                moment = _MOMENT / 4 if self._waiting else _MOMENT
                # One that is alone is in nobody's way.
                several = len(self._leases) > 1 or self._waiting > 0
                found = [a for a in self._leases if several and not a.lowered and a.outlasts(0.0 if a.long else moment)]
                for lease in found:
                    self._set_aside(lease)
                if idle >= 80:
                    self._looking = False
                alone = bool(found) and not self._idle and self._short() < self.size and not self._closed
            if alone:
                threading.Thread(target=self._prepare, name="abi-pool-spare", daemon=True).start()

    def _prepare(self) -> None:
        """Have a worker ready in place of one that was set aside: the next query need not wait for it to start."""
        worker = self._make()
        with contextlib.suppress(StoreError):  # whoever asks it then is told
            worker.start()
        with self._free:
            # Meanwhile a query may have made one of its own, and that be back.
            kept = not self._closed and len(self._idle) + self._short() < self.size
            if kept:
                self._idle.append(worker)
                self._free.notify()
        if not kept:
            worker.close()

    def _set_aside(self, lease: _Lease) -> None:
        if not lease.long and self._long() >= self.long:
            lease.busy = True
            lease.worker.cancel()
        else:
            lease.worker.yield_to_others()
        lease.long = lease.lowered = True
        if lease.text:
            self._known_long.pop(lease.text, None)
            self._known_long[lease.text] = None
        if len(self._known_long) > _REMEMBERED:
            del self._known_long[next(iter(self._known_long))]
        self._free.notify_all()


def _busy(message: str) -> Busy:
    return Busy(message, hint="Try again in a moment.", details={"retry_after": 1})
