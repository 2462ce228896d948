"""Queries from outside, in a process of their own that can be ended: Oxigraph has no time limit and no cancel.

The process opens the store read-only (a store in memory is handed over as a file), answers one query after another,
looks again when the store has moved, is killed when a query goes over its time, and is started again with the next one.
Starting costs about a tenth of a second, a small query about a millisecond.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from abi.errors import AbiError, QuerySyntaxError, QueryTimeout, StoreError
from abi.graph import worker_process
from abi.graph.oxigraph import has_dataset_clause
from abi.graph.rows import Row, Rows, Term
from abi.graph.store import GraphStore
from abi.settings import PREFIXES, Settings

__all__ = ["QueryWorker"]

_AT = re.compile(r"error at (\d+):(\d+): ")
_START_SECONDS = 60.0
"""A machine under load may take long to start a process; nothing waits for less."""


MEMORY_BYTES = 3 * 1024**3
"""Address space of the process, of which an idle one takes 1 GiB (30 MB of it real). Memory past it ends the query."""


class QueryWorker:
    """Answers queries over a snapshot of `store`, one at a time; safe to use from several threads.

    Each query sees everything that was committed before it: where `store.signature()` has moved since the last one, the
    process looks at the store again first. Text is taken as it is: `abi.graph.guard` comes before.
    """

    def __init__(
        self, store: GraphStore, *, prefixes: Mapping[str, str] | None = None, memory: int = MEMORY_BYTES
    ) -> None:
        self._store = store
        self._prefixes = dict(PREFIXES if prefixes is None else prefixes)
        self._memory = memory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._seen: object = None

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
        seconds: float | None = None,
        rows: int | None = None,
        bytes: int | None = None,
    ) -> Rows:
        """Evaluate a query within its limits; those not given are the settings' defaults.

        Over `rows` or `bytes` the result is cut and `truncated`. Raises QueryTimeout over `seconds` (waiting for a
        query before this one counts), QuerySyntaxError with `line` and `column` in details, and StoreError where the
        store cannot be read or the query took the process down.
        """
        limit = Settings.default_of("query_seconds") if seconds is None else seconds
        started = time.monotonic()
        if not self._lock.acquire(timeout=limit):
            raise QueryTimeout(
                f"Other queries took all of the {limit:g} seconds that this one had.", hint="Try again later."
            )
        try:
            self._ready()
            request = {
                "text": text,
                "union": default_graphs is None and not has_dataset_clause(text),
                "default_graphs": None if default_graphs is None else list(default_graphs),
                "named_graphs": None if named_graphs is None else list(named_graphs),
                "seconds": limit,
                "rows": Settings.default_of("query_rows") if rows is None else rows,
                "bytes": Settings.default_of("query_result_bytes") if bytes is None else bytes,
            }
            reply = self._ask(request, max(0.05, limit - (time.monotonic() - started)), limit)
        finally:
            self._lock.release()
        result = _rows(reply)
        result.seconds = time.monotonic() - started
        return result

    def refresh(self) -> None:
        """Look at the store again with the next query, also where its signature has not moved."""
        with self._lock:
            self._seen = None

    def close(self) -> None:
        """End the process; a query after this starts another."""
        with self._lock:
            self._end()

    def __enter__(self) -> QueryWorker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # All below is called with the lock held.

    def _ready(self) -> None:
        signature = self._store.signature()
        alive = self._process is not None and self._process.poll() is None
        if alive and self._seen is not None and self._seen == signature:
            return
        path: Path | None = getattr(self._store, "path", None)
        if path is not None:
            self._open({"path": str(path)}, alive=alive)
        else:
            with tempfile.TemporaryDirectory(prefix="abi-") as folder:
                dump = Path(folder, "graph.nq")
                _dump(self._store, dump)
                self._open({"dump": str(dump)}, alive=alive)
        self._seen = signature

    def _open(self, request: dict[str, Any], *, alive: bool) -> None:
        request |= {"prefixes": self._prefixes, "memory": self._memory}
        if not alive:
            self._end()
            self._start()
        try:
            self._ask(request, _START_SECONDS, _START_SECONDS)
        except AbiError as error:
            self._end()
            raise StoreError(f"The query process cannot open the graph: {error.message}") from error

    def _start(self) -> None:
        import pyoxigraph

        library = Path(pyoxigraph.__file__).parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(worker_process.__file__)), str(library)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # Rust's last words on a panic; the exit code says enough
            env={"LC_ALL": "C.UTF-8"},
        )

    def _ask(self, request: dict[str, Any], seconds: float, said: float) -> dict[str, Any]:
        """Send a request and wait for its reply; past `seconds` the process is killed. `said`: the limit to name."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            process.kill()

        # The process keeps to the time itself while it makes rows; the kill is for when it makes none.
        timer = threading.Timer(seconds + 0.1, kill)
        timer.daemon = True
        timer.start()
        try:
            worker_process.send(process.stdin, request)
            reply = worker_process.receive(process.stdout)
        except (OSError, ValueError):
            reply = None
        except BaseException:
            self._end()  # an interrupt between question and answer: the next answer would be this one's
            raise
        finally:
            timer.cancel()
        if reply is None:
            self._end()
            if late.is_set():
                reply = {"error": "timeout", "message": ""}
            else:
                code = process.returncode
                reply = {"error": "ended", "message": f"signal {-code}" if code and code < 0 else f"exit code {code}"}
        if reply.get("error"):
            raise _error(reply["error"], reply["message"], said)
        assert isinstance(reply, dict)
        return reply

    def _end(self) -> None:
        process, self._process, self._seen = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was still to be written has no reader any more
                    stream.close()


def _dump(store: GraphStore, path: Path) -> None:
    from pyoxigraph import RdfFormat, serialize

    serialize(store.quads(), str(path), format=RdfFormat.N_QUADS)


def _error(kind: str, message: str, seconds: float) -> AbiError:
    if kind == "timeout":
        return QueryTimeout(
            f"The query was ended: it took longer than {seconds:g} seconds.",
            hint="Ask for less: bind more terms, add LIMIT, avoid patterns that share no variable.",
        )
    if kind == "syntax":
        at = _AT.search(message)
        details = {"line": int(at.group(1)), "column": int(at.group(2))} if at else {}
        return QuerySyntaxError(f"The query does not parse: {message}", details=details)
    if kind == "value":
        return QuerySyntaxError(f"The query cannot be evaluated: {message}")
    if kind == "ended":
        return StoreError(
            f"The query needed more memory than a query may have, and its process ended ({message}).",
            hint="Ask for less; other queries are not affected.",
        )
    return StoreError(message)


def _rows(reply: dict[str, Any]) -> Rows:
    if reply["form"] == "ask":
        return Rows("ask", boolean=reply["boolean"])
    variables: list[str] = reply["variables"]
    rows: list[Row] = []
    for values in reply["rows"]:
        rows.append({v: Term(*value) for v, value in zip(variables, values, strict=True) if value is not None})
    return Rows(reply["form"], variables=variables, rows=rows, truncated=reply["truncated"])
