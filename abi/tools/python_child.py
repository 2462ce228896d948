"""The other side of `abi.tools.python_process`: calls one function after another until its input ends.

The main thread calls, as signals and event loops want it. Another one reads: when the parent is gone, the process ends
in the middle of any call, with all that it has started. On Linux that holds for what has left its session, too: see
`abi.tools.descendants`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from abi import errors
from abi.errors import AbiError, ToolFailed
from abi.graph.rows import Rows, Term
from abi.graph.worker_process import receive, send
from abi.tools.descendants import guarded, is_guarded
from abi.tools.graph import IRI, Graph
from abi.tools.python_call import Job, call

__all__ = ["main"]


class _Parent:
    """The two pipes. Nothing that a tool starts or prints gets at them by their usual numbers."""

    def __init__(self) -> None:
        self._in: IO[bytes] = os.fdopen(os.dup(0), "rb")
        self._out: IO[bytes] = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="abi-parent", daemon=True).start()

    def tell(self, message: Any) -> None:
        send(self._out, message)

    def ask(self, text: str, terms: Mapping[str, Term]) -> Rows:
        """Asks a query of the parent. Raises what it raised there."""
        self.tell({"ask": text, "terms": {n: [t.kind, t.value, t.datatype, t.language] for n, t in terms.items()}})
        reply = self.messages.get()
        if "error" in reply:
            told = reply["error"]
            kind = getattr(errors, told["class"], ToolFailed)
            error: AbiError = kind.__new__(kind)
            AbiError.__init__(error, told["message"], hint=told["hint"])
            if isinstance(error, errors.Invalid):
                error.findings = []
            error.__dict__["number"] = told["number"]
            raise error
        rows = [{name: Term(*term) for name, term in row.items()} for row in reply["rows"]]
        return Rows(reply["form"], variables=reply["variables"], rows=rows, boolean=reply["boolean"])

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (message := receive(self._in)) is not None:
                self.messages.put(message)
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg") and not is_guarded():
                os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(0)


def main() -> None:
    guarded()
    parent = _Parent()
    graph = Graph(parent.ask)
    parent.tell({"ready": True})
    while True:
        message = parent.messages.get()
        _settle(message)
        reply = _reply(message, graph)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        parent.tell(reply)


def _settle(message: Mapping[str, Any]) -> None:
    """Have around the call what the parent has around it."""
    if "environment" in message:
        os.environ.clear()
        os.environ.update(message["environment"])
    if message.get("folder"):
        with contextlib.suppress(OSError):
            os.chdir(message["folder"])
    if "sys_path" in message:
        sys.path[:] = message["sys_path"]


def _reply(message: Mapping[str, Any], graph: Graph) -> dict[str, Any]:
    given = message["job"]
    job = Job(given["name"], given["path"], given["function"], tuple(given["optional"]))
    arguments = {k: IRI(v) if k in message["iris"] else v for k, v in message["arguments"].items()}
    data = message["data"].encode("latin-1")
    try:
        result = call(job, arguments, root=Path(message["root"]), data=data, graph=graph)
        _measure(result, message["size"], job)
        return {"result": result}
    except AbiError as error:
        told: dict[str, Any] = {
            "class": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "details": error.details,
            "number": error.__dict__.get("number"),
        }
        if error.__cause__ is not None:
            told["trace"] = "".join(traceback.format_exception(error.__cause__))
        return {"error": told}


def _measure(result: Any, limit: int | None, job: Job) -> None:
    """Raises ToolFailed where a result is too large to be handed on: whoever called may be a server."""
    if limit is None:
        return
    size = len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    if size > limit:
        raise ToolFailed(
            f"The tool {job.name} gave back {size:,} bytes, more than the {limit:,} that python_bytes allows.",
            hint="Give back less of it, or raise python_bytes.",
            details={"tool": job.name, "path": job.path, "bytes": size},
        )
