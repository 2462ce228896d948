"""Queries from outside, in a process of their own that can be ended: Oxigraph has no time limit and no cancel.

The process opens the store read-only (a store in memory is handed over as a file), answers one query after another,
looks again when the store has moved, is killed when a query goes over its time, and is started again with the next one.
Starting costs about a tenth of a second, a small query about a millisecond.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from abi.errors import AbiError, NotAcceptable, QuerySyntaxError, QueryTimeout, StoreError
from abi.graph import worker_process
from abi.graph.nursery import Child, Nursery
from abi.graph.oxigraph import has_dataset_clause
from abi.graph.rows import Row, Rows, Term
from abi.graph.store import GraphStore
from abi.settings import PREFIXES, Settings

__all__ = ["Document", "QueryWorker", "Steps", "finish"]

_AT = re.compile(r"error at (\d+):(\d+): ")
_START_SECONDS = 60.0
"""A machine under load may take long to start a process; nothing waits for less."""


MEMORY_BYTES = 3 * 1024**3
"""Address space of the process, of which an idle one takes 1 GiB (30 MB of it real). Memory past it ends the query."""


@dataclass(frozen=True, slots=True)
class Document:
    """A result in one of its formats. `data` holds it, or where it is large `file`, which the receiver takes away."""

    size: int
    truncated: bool
    data: bytes = b""
    file: Path | None = None


Steps = Generator[int, None, Document]
"""First a file's number, then the document."""


class QueryWorker:
    """Answers queries over a snapshot of `store`, one at a time; safe to use from several threads.

    Each query sees everything that was committed before it: where `store.signature()` has moved since the last one, the
    process looks at the store again first. Text is taken as it is: `abi.graph.guard` comes before.
    """

    def __init__(
        self,
        store: GraphStore,
        *,
        prefixes: Mapping[str, str] | None = None,
        memory: int = MEMORY_BYTES,
        nursery: Nursery | None = None,
        folder: Path | None = None,
    ) -> None:
        """`folder`: where large results are left; one of its own, which goes with it, where it is not given."""
        self._store = store
        self._nursery = nursery
        self._prefixes = dict(PREFIXES if prefixes is None else prefixes)
        self._memory = memory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | Child | None = None
        self._seen: object = None
        self._looked = 0.0
        self.working_since: float | None = None
        """When the query was handed over that is worked on now, by the monotonic clock."""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._given_folder = folder

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] | None = None,
        named_graphs: Sequence[str] | None = None,
        seconds: float | None = None,
        rows: int | None = None,
        bytes: int | None = None,
        prefixes: Mapping[str, str] | None = None,
        base: str | None = None,
    ) -> Rows:
        """Evaluate a query within its limits; those not given are the settings' defaults.

        `prefixes` are predeclared in place of the worker's own. Over `rows` or `bytes` the result is cut and
        `truncated`. Raises QueryTimeout over `seconds` (waiting for a query before this one counts), QuerySyntaxError
        with `line` and `column` in details, and StoreError where the store cannot be read or the query took the process
        down.
        """
        request = _request(text, default_graphs, named_graphs, rows, bytes)
        if prefixes is not None or base is not None:
            request |= {"prefixes": dict(prefixes or {}), "base": base}
        started = time.monotonic()
        reply, _ = self._work(request, seconds)
        result = _rows(reply)
        result.seconds = time.monotonic() - started
        return result

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
        staleness: float = 0.0,
        since: float = 0.0,
    ) -> Document:
        """The same as a document: json, xml, csv or tsv of a SELECT or ASK, or a syntax of `FORMATS` of triples.

        It may be that of a snapshot `staleness` seconds old, but not of one from before `since` (by the monotonic
        clock). Raises NotAcceptable where the format cannot hold the result.
        """
        request = self._document(text, format, default_graphs, named_graphs, rows, bytes, base)
        return _document(*self._work(request, seconds, staleness, since))

    def begin(
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
        staleness: float = 0.0,
        since: float = 0.0,
    ) -> Steps | None:
        """`document` in two steps: the first hands the query over and gives the file that its answer will be read from.

        Neither blocks where that file has something to be read. None where the first would have to wait: for another
        query, for the process to start or to look at the store again.
        """
        if not self._lock.acquire(blocking=False):
            return None
        if not self._is_ready(staleness, since):
            self._lock.release()
            return None
        request = self._document(text, format, default_graphs, named_graphs, rows, bytes, base)
        limit = Settings.default_of("query_seconds") if seconds is None else seconds
        return self._begun(request, limit)

    def _begun(self, request: dict[str, Any], limit: float) -> Steps:
        """The lock is held already, and let go of at the end: it may be another thread that comes there."""
        try:
            request["seconds"] = limit
            self.working_since = time.monotonic()
            return _document(*(yield from self._asking(request, limit, limit)))
        finally:
            self.working_since = None
            self._lock.release()

    def _document(
        self,
        text: str,
        format: str,
        default_graphs: Sequence[str] | None,
        named_graphs: Sequence[str] | None,
        rows: int | None,
        bytes: int | None,
        base: str | None,
    ) -> dict[str, Any]:
        request = _request(text, default_graphs, named_graphs, rows, bytes)
        return request | {"format": format, "file": self._file(), "base": base}

    def parse(self, data: bytes, syntax: str, *, base: str | None, seconds: float) -> tuple[bytes, dict[str, str]]:
        """RDF from outside as N-Quads, with new names for its blank nodes, and the prefixes that it declared.

        `syntax` as Oxigraph names it (TURTLE). Raises SyntaxError with `lineno` and `offset`, QueryTimeout, StoreError.
        """
        source, out = Path(self._file()), Path(self._file())
        try:
            source.write_bytes(data)
            request = {"rdf": str(source), "syntax": syntax, "base": base, "out": str(out)}
            reply, _ = self._work(request, seconds)
            return out.read_bytes(), reply["prefixes"]
        finally:
            source.unlink(missing_ok=True)
            out.unlink(missing_ok=True)

    def cancel(self) -> None:
        """End what is being worked on; whoever waits for it gets a StoreError. From any thread."""
        process = self._process
        if process is not None:
            process.kill()

    def cpu_seconds(self) -> float:
        """What the process has had of the processor, to a hundredth of a second; where nothing tells, wall time."""
        process = self._process
        try:
            words = Path(f"/proc/{process.pid if process else 0}/stat").read_text().rpartition(")")[2].split()
            return (int(words[11]) + int(words[12])) / 100
        except (OSError, ValueError, IndexError):
            return time.monotonic()

    def yield_to_others(self) -> None:
        """What is being worked on gets the processor only where nobody else wants it. Cannot be taken back."""
        process = self._process
        if process is None or sys.platform == "win32":
            return
        import os

        tasks = Path(f"/proc/{process.pid}/task")
        with contextlib.suppress(OSError):
            # On Linux each thread has a priority of its own.
            numbers = [int(t.name) for t in tasks.iterdir()] if tasks.exists() else [process.pid]
            for number in numbers:
                os.setpriority(os.PRIO_PROCESS, number, 15)

    def refresh(self) -> None:
        """Look at the store again with the next query, also where its signature has not moved."""
        with self._lock:
            self._seen = None

    def close(self) -> None:
        """End the process; a query after this starts another."""
        with self._lock:
            self._end()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def start(self) -> None:
        """Start the process and have it open the store, so that the first query need not wait for that."""
        with self._lock:
            self._ready()

    def __enter__(self) -> QueryWorker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _file(self) -> str:
        """A path of its own for something large."""
        if self._given_folder is None and self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="abi-")
        return str((self._given_folder or Path(self._folder.name if self._folder else "")) / secrets.token_hex(12))

    def _work(
        self, request: dict[str, Any], seconds: float | None, staleness: float = 0.0, since: float = 0.0
    ) -> tuple[dict[str, Any], bytes]:
        limit = Settings.default_of("query_seconds") if seconds is None else seconds
        started = time.monotonic()
        if not self._lock.acquire(timeout=limit):
            raise QueryTimeout(
                f"Other queries took all of the {limit:g} seconds that this one had.", hint="Try again later."
            )
        try:
            self._ready(staleness, since)
            request["seconds"] = limit
            self.working_since = now = time.monotonic()
            return self._ask(request, max(0.05, limit - (now - started)), limit)
        finally:
            self.working_since = None
            self._lock.release()

    # All below is called with the lock held.

    def _is_ready(self, staleness: float = 0.0, since: float = 0.0) -> bool:
        if self._process is None or self._process.poll() is not None or self._seen is None:
            return False
        now = time.monotonic()
        if since < self._looked and now - self._looked < staleness:
            return True
        if self._seen != self._store.signature():
            return False
        self._looked = now
        return True

    def _ready(self, staleness: float = 0.0, since: float = 0.0) -> None:
        if self._is_ready(staleness, since):
            return
        alive = self._process is not None and self._process.poll() is None
        now = time.monotonic()
        signature = self._store.signature()
        path: Path | None = getattr(self._store, "path", None)
        if path is not None:
            self._open({"path": str(path)}, alive=alive)
        else:
            with tempfile.TemporaryDirectory(prefix="abi-") as folder:
                dump = Path(folder, "graph.nq")
                _dump(self._store, dump)
                self._open({"dump": str(dump), "blank": b"_:" in dump.read_bytes()}, alive=alive)
        self._seen, self._looked = signature, now

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
        self._process = self._nursery.spawn() if self._nursery is not None else None
        if self._process is not None:
            return
        import pyoxigraph

        library = Path(pyoxigraph.__file__).parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(worker_process.__file__)), str(library)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # Rust's last words on a panic; the exit code says enough
            env={"LC_ALL": "C.UTF-8"},
        )

    def _ask(self, request: dict[str, Any], seconds: float, said: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for its reply; past `seconds` the process is killed. `said`: the limit to name."""
        return finish(self._asking(request, seconds, said))

    def _asking(
        self, request: dict[str, Any], seconds: float, said: float
    ) -> Generator[int, None, tuple[dict[str, Any], bytes]]:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        # The process keeps to the time itself while it makes rows; the kill is for when it makes none.
        due = _WATCH.over(time.monotonic() + seconds + 0.1, process.kill)
        body = b""
        try:
            worker_process.send(process.stdin, request)
            yield process.stdout.fileno()
            reply = worker_process.receive(process.stdout)
            if reply is not None and "size" in reply and "file" not in reply:
                body = process.stdout.read(reply["size"])
                reply = reply if len(body) == reply["size"] else None
        except (OSError, ValueError):
            reply = None
        except BaseException:
            self._end()  # an interrupt between question and answer: the next answer would be this one's
            raise
        finally:
            late = _WATCH.forget(due)
        if reply is None:
            self._end()
            if late:
                reply = {"error": "timeout", "message": ""}
            else:
                code = process.returncode
                reply = {"error": "ended", "message": f"signal {-code}" if code and code < 0 else f"exit code {code}"}
        if reply.get("error"):
            if reply["error"] == "syntax" and "rdf" in request:
                raise SyntaxError(reply["message"], (None, reply["line"], reply["column"], None))
            raise _error(reply["error"], reply["message"], said)
        assert isinstance(reply, dict)
        return reply, body

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


_T = TypeVar("_T")


def finish(steps: Generator[int, None, _T]) -> _T:
    """The rest of what was begun, waiting where it must be waited."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _T = end.value
            return result


def _document(reply: dict[str, Any], body: bytes) -> Document:
    file = reply.get("file")
    return Document(reply["size"], reply["truncated"], body, Path(file) if file else None)


class _Watch:
    """Ends what is over its time: one thread for all workers, which looks twenty times a second while any works."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: dict[int, tuple[float, Callable[[], None]]] = {}
        self._number = 0
        self._running = False

    def over(self, deadline: float, end: Callable[[], None]) -> int:
        with self._lock:
            self._number += 1
            self._due[self._number] = (deadline, end)
            if not self._running:
                self._running = True
                threading.Thread(target=self._look, name="abi-watch", daemon=True).start()
            return self._number

    def forget(self, number: int) -> bool:
        """Take it off the list. True where it was ended, and is none to be ended any more."""
        with self._lock:
            return self._due.pop(number, None) is None

    def _look(self) -> None:
        idle = 0
        while idle < 40:
            time.sleep(0.05)
            now = time.monotonic()
            with self._lock:
                idle = 0 if self._due else idle + 1
                for number, (deadline, end) in list(self._due.items()):
                    if now > deadline:
                        del self._due[number]
                        end()
                if idle >= 40:
                    self._running = False


_WATCH = _Watch()


def _request(
    text: str,
    default_graphs: Sequence[str] | None,
    named_graphs: Sequence[str] | None,
    rows: int | None,
    bytes: int | None,
) -> dict[str, Any]:
    return {
        "text": text,
        "union": default_graphs is None and not has_dataset_clause(text),
        "default_graphs": None if default_graphs is None else list(default_graphs),
        "named_graphs": None if named_graphs is None else list(named_graphs),
        "rows": Settings.default_of("query_rows") if rows is None else rows,
        "bytes": Settings.default_of("query_result_bytes") if bytes is None else bytes,
    }


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
    if kind == "format":
        return NotAcceptable(f"The result cannot be written so: {message}.", hint="Ask for another format.")
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
