"""Python tools run in processes of their own: one that hangs is ended, and whatever it started with it.

A process is kept for the next call of the same workspace, with the modules that it has loaded; it sees the environment
and the working directory as they are at each call. What a tool prints goes to stderr. What it asks of the graph is
answered here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abi import errors
from abi.errors import AbiError, ToolFailed
from abi.graph.rows import Term
from abi.graph.worker_process import receive, send
from abi.tools.descendants import is_guarded
from abi.tools.graph import IRI, Ask

__all__ = ["PythonJob", "PythonProcess", "call_apart", "end_processes"]

_IDLE = 4
"""Processes that are kept for a next call."""
_START_SECONDS = 60.0
"""A machine under load may take long to start a process; the time of a call does not count yet."""
_LOOK = 0.5
"""Seconds between two looks at whether a silent process still lives: what it has started may hold its output open."""
_GUARD_SECONDS = 10.0
"""What the one that guards a process may take to end it; on a machine under load that is no short time."""
_CHILD = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from abi.tools.python_child import main; main()"


@dataclass(frozen=True, slots=True)
class PythonJob:
    """A function of a file, and what its call has to know of the tool.

    `path` is relative to `root`, a real path; `data` is what the file holds; `optional` are parameters that may be left
    out and have no default that JSON could hold.
    """

    root: Path
    name: str
    path: str
    function: str
    data: bytes
    optional: tuple[str, ...] = ()


class _Trace(Exception):
    """Where it failed in the other process, as the cause of the error here."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class PythonProcess:
    """One process. Answers one call at a time."""

    def __init__(self, root: Path) -> None:
        import json

        self.root = root
        self._told: dict[str, Any] = {}
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # A session of its own: it can be ended with all that it has started.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name="abi-python-tool", daemon=True)
        self._reader.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def call(
        self, job: PythonJob, arguments: Mapping[str, Any], *, ask: Ask | None, seconds: float, size: int | None
    ) -> Any:
        """What the function gives back, as JSON. The process is gone after whatever this raises, unless it is an error
        that the process itself has told."""
        from pydantic_core import to_jsonable_python

        try:
            if not self._told:
                self._next(_START_SECONDS, job, _START_SECONDS)
            self._tell(
                {
                    **self._surroundings(),
                    "root": str(job.root),
                    "job": {"name": job.name, "path": job.path, "function": job.function, "optional": job.optional},
                    "data": job.data.decode("latin-1"),
                    "arguments": to_jsonable_python(dict(arguments)),
                    "size": size,
                    "iris": [name for name, value in arguments.items() if isinstance(value, IRI)],
                },
                job,
            )
            until = time.monotonic() + seconds
            asked: list[AbiError] = []
            while True:
                reply = self._next(until - time.monotonic(), job, seconds)
                if "ask" not in reply:
                    break
                self._tell(_answered(reply, ask, asked), job)
        except BaseException:
            self.end()
            raise
        if "error" in reply:
            raise _error(reply["error"], asked)
        return reply["result"]

    def end(self) -> None:
        """End it, and all that it has started."""
        if is_guarded():
            # Who guards it is asked first: after its death nobody knows what has left the session.
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GUARD_SECONDS)
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        # The reader ends with what still holds the other end of its pipe, and that may be a daemon of the tool's.
        self._reader.join(_LOOK)

    def _surroundings(self) -> dict[str, Any]:
        """What has changed since the last call in what a process has around it."""
        now: dict[str, Any] = {"environment": dict(os.environ), "folder": _folder(), "sys_path": list(sys.path)}
        changed = {key: value for key, value in now.items() if self._told.get(key) != value}
        self._told = now
        return changed

    def _tell(self, message: Any, job: PythonJob) -> None:
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, message)
        except OSError as error:
            raise self._ended(job) from error

    def _next(self, wait: float, job: PythonJob, seconds: float) -> Any:
        until = time.monotonic() + wait
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise ToolFailed(
                    f"The tool {job.name} took longer than {seconds:g} s and was ended.",
                    hint="Make it faster, or raise python_seconds.",
                    details={"tool": job.name, "path": job.path, "seconds": seconds},
                )
            try:
                message = self._messages.get(timeout=min(left, _LOOK))
            except queue.Empty:
                if self.alive:
                    continue
                message = self._messages.get(timeout=_LOOK) if not self._messages.empty() else None
            if message is None:
                raise self._ended(job)
            return message

    def _ended(self, job: PythonJob) -> ToolFailed:
        try:
            code: Any = self._process.wait(_LOOK)
        except subprocess.TimeoutExpired:
            code = "unknown"
        return ToolFailed(
            f"The tool {job.name} ended its process (exit code {code}).",
            hint="What it printed is on stderr.",
            details={"tool": job.name, "path": job.path},
        )

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout, contextlib.suppress(OSError, ValueError):
            while (message := receive(self._process.stdout)) is not None:
                self._messages.put(message)
        self._messages.put(None)


def _folder() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return None


def call_apart(
    job: PythonJob, arguments: Mapping[str, Any], *, ask: Ask | None = None, seconds: float, size: int | None = None
) -> Any:
    """What the function gives back, as JSON values; `ask` answers what it asks of the graph.

    Raises ArgumentError; ToolFailed, which tells the line where it failed, that it was ended after `seconds`, or that
    its result is larger than `size` bytes; and what `ask` raises. After a tool that was ended the next call starts a
    new process.
    """
    process = _pool.take(job.root)
    try:
        return process.call(job, arguments, ask=ask, seconds=seconds, size=size)
    finally:
        _pool.give_back(process)


class _Pool:
    """Idle processes, the last used one at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[PythonProcess] = []
        self._owner = os.getpid()

    def take(self, root: Path) -> PythonProcess:
        with self._lock:
            if self._owner != os.getpid():  # after a fork they are the parent's
                self._idle, self._owner = [], os.getpid()
            for n in range(len(self._idle) - 1, -1, -1):
                if self._idle[n].root == root:
                    process = self._idle.pop(n)
                    if process.alive:
                        return process
        return PythonProcess(root)

    def give_back(self, process: PythonProcess) -> None:
        with self._lock:
            if process.alive:
                self._idle.append(process)
            surplus = self._idle[:-_IDLE]
            del self._idle[:-_IDLE]
        for one in surplus:
            one.end()

    def end(self, root: Path | None) -> None:
        with self._lock:
            if self._owner != os.getpid():
                return
            gone = [p for p in self._idle if root is None or p.root == root]
            self._idle = [p for p in self._idle if p not in gone]
        for process in gone:
            process.end()


_pool = _Pool()


def end_processes(root: Path | None = None) -> None:
    """End the idle processes of a workspace, or all."""
    _pool.end(root)


atexit.register(end_processes)


def _answered(reply: Mapping[str, Any], ask: Ask | None, asked: list[AbiError]) -> dict[str, Any]:
    """The answer to a query of the tool. An error is kept: the tool may let it through, and then it is raised here."""
    try:
        if ask is None:
            raise ToolFailed("There is no graph here to ask.")
        rows = ask(reply["ask"], {name: Term(*term) for name, term in reply["terms"].items()})
    except AbiError as error:
        asked.append(error)
        told = {"class": type(error).__name__, "message": error.message, "hint": error.hint}
        return {"error": {**told, "number": len(asked) - 1}}
    listed = [{name: [t.kind, t.value, t.datatype, t.language] for name, t in row.items()} for row in rows.rows]
    return {"form": rows.form, "boolean": rows.boolean, "variables": list(rows.variables), "rows": listed}


def _error(told: Mapping[str, Any], asked: list[AbiError]) -> AbiError:
    number = told.get("number")
    if isinstance(number, int) and 0 <= number < len(asked):
        asked[number].details.update(told["details"])
        return asked[number]
    kind = getattr(errors, str(told["class"]), ToolFailed)
    error: AbiError = kind.__new__(kind)
    AbiError.__init__(error, told["message"], hint=told["hint"], details=told["details"])
    if isinstance(error, errors.Invalid):
        error.findings = []
    if told.get("trace"):
        error.__cause__ = _Trace(told["trace"])
    return error
