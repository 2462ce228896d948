"""The other side of `abi.graph.worker`: a process that answers queries over a read-only store until its input ends.

It is run by path with `python -I -S`, so it imports nothing of abi and sees no environment; that, and no
multiprocessing, is what makes it start in a tenth of a second. Requests and replies are JSON behind their length in
four bytes; a document follows its reply, or stands in a file where it is large. RDF from outside is read here, too:
what takes the parser down takes this process down and no other. The work is done in a thread with a large stack (the
parsers recurse), while the main thread reads on: when the parent is gone, its end of the pipe is closed and the process
ends in the middle of any query.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

__all__ = ["main"]

worker_output: Any

_STACK = 256 * 1024 * 1024
"""Address space, not memory: pages that no recursion reaches are never there."""
_OPEN_WAITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_CLOCK_EVERY = 64
"""Rows between two looks at the clock."""
_IN_PIPE = 256 * 1024
"""Documents up to this size go through the pipe, larger ones by a file, which a slow reader may take its time with."""


def send(stream: IO[bytes], message: Any, body: bytes = b"") -> None:
    payload = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    stream.write(len(payload).to_bytes(4, "big") + payload + body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message; None where the other side is gone."""
    size = stream.read(4)
    if len(size) < 4:
        return None
    payload = stream.read(int.from_bytes(size, "big"))
    return json.loads(payload.decode("utf-8", "surrogatepass"))


class _Answerer:
    def __init__(self, request: dict[str, Any]) -> None:
        self.prefixes: dict[str, str] = request["prefixes"]
        self.open(request)

    def open(self, request: dict[str, Any]) -> None:
        from pyoxigraph import RdfFormat, Store, parse

        self.path: str | None = request.get("path")
        if self.path is not None:
            for wait in _OPEN_WAITS:
                try:
                    self.store = Store.read_only(self.path)
                    return
                except (OSError, RuntimeError):
                    # The writer removes files that it has merged; whoever opens at that moment misses one.
                    time.sleep(wait)
            self.store = Store.read_only(self.path)
        else:
            self.store = Store()
            if request["blank"]:  # loading would give blank nodes other names
                self.store.bulk_extend(parse(path=request["dump"], format=RdfFormat.N_QUADS))
            else:
                self.store.bulk_load(path=request["dump"], format=RdfFormat.N_QUADS)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        work = _parsed if "rdf" in request else self.document if "format" in request else self.evaluate
        try:
            try:
                return work(request)
            except (OSError, RuntimeError):
                if self.path is None or "rdf" in request:
                    raise
                # The writer may have removed a file that this snapshot still counted on: look again, once.
                self.open({"path": self.path})
                return work(request)
        except SyntaxError as error:
            return {"error": "syntax", "message": str(error), "line": error.lineno, "column": error.offset}
        except ValueError as error:
            return {"error": "value", "message": str(error)}
        except OSError as error:
            return {"error": "store", "message": str(error)}
        except Exception as error:
            return {"error": "store", "message": f"{type(error).__name__}: {error}"}

    def result(self, request: dict[str, Any]) -> Any:
        from pyoxigraph import NamedNode

        defaults, named = request["default_graphs"], request["named_graphs"]
        return self.store.query(
            request["text"],
            prefixes=request.get("prefixes", self.prefixes),
            base_iri=request.get("base"),
            use_default_graph_as_union=request["union"],
            default_graph=None if defaults is None else [NamedNode(g) for g in defaults],
            named_graphs=None if named is None else [NamedNode(g) for g in named],
        )

    def document(self, request: dict[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + request["seconds"]
        result = self.result(request)
        try:
            data, truncated = worker_output.document(
                result,
                request["format"],
                rows=request["rows"],
                limit=request["bytes"],
                deadline=deadline,
                prefixes=self.prefixes,
            )
        except worker_output.Late:
            return {"error": "timeout", "message": ""}
        except worker_output.Unwritable as error:
            return {"error": "format", "message": str(error)}
        if len(data) <= _IN_PIPE:
            return {"truncated": truncated, "body": data}
        Path(request["file"]).write_bytes(data)
        return {"truncated": truncated, "size": len(data), "file": request["file"]}

    def evaluate(self, request: dict[str, Any]) -> dict[str, Any]:
        from pyoxigraph import QueryBoolean, QueryTriples

        deadline = time.monotonic() + request["seconds"]
        result = self.result(request)
        if isinstance(result, QueryBoolean):
            return {"form": "ask", "boolean": bool(result)}
        if isinstance(result, QueryTriples):
            form, variables = "construct", ["subject", "predicate", "object"]
        else:
            form, variables = "select", [v.value for v in result.variables]
        max_rows, max_bytes = request["rows"], request["bytes"]
        rows: list[list[Any]] = []
        size = 0
        truncated = False
        for row in result:
            if len(rows) >= max_rows:
                truncated = True
                break
            if len(rows) % _CLOCK_EVERY == 0 and time.monotonic() > deadline:
                return {"error": "timeout", "message": ""}
            values = [_value(term) for term in row]
            size += sum(len(v[1]) + 16 for v in values if v)
            if size > max_bytes:
                truncated = True
                break
            rows.append(values)
        return {"form": form, "variables": variables, "rows": rows, "truncated": truncated}


def _parsed(request: dict[str, Any]) -> dict[str, Any]:
    """RDF from outside, read from the file `rdf` and written to the file `out` as N-Quads, which are harmless."""
    from pyoxigraph import RdfFormat, parse, serialize

    deadline = time.monotonic() + request["seconds"]
    found = parse(
        path=request["rdf"],
        format=getattr(RdfFormat, request["syntax"]),
        base_iri=request["base"],
        rename_blank_nodes=True,
    )

    def timed() -> Any:
        for number, quad in enumerate(found):
            if number % _CLOCK_EVERY == 0 and time.monotonic() > deadline:
                raise worker_output.Late
            yield quad

    try:
        serialize(timed(), request["out"], format=RdfFormat.N_QUADS)
    except worker_output.Late:
        return {"error": "timeout", "message": ""}
    return {"prefixes": dict(found.prefixes)}


def _value(term: Any) -> list[Any] | None:
    """A term as kind, value and, for a literal that has them, datatype and language."""
    from pyoxigraph import BlankNode, Literal, NamedNode

    if term is None:
        return None
    if isinstance(term, NamedNode):
        return ["iri", term.value]
    if isinstance(term, Literal):
        if term.language:
            return ["literal", term.value, None, term.language]
        datatype = term.datatype.value
        if datatype == "http://www.w3.org/2001/XMLSchema#string":
            return ["literal", term.value]
        return ["literal", term.value, datatype, None]
    if isinstance(term, BlankNode):
        return ["bnode", term.value]
    return ["literal", str(term)]  # a triple term


def _limit_itself(memory: int) -> None:
    """Bound the memory and, on Linux, give up sockets for good: what the guard refuses cannot be done here either."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass
    # For each machine: seccomp's name for it and the number of the system call `socket`.
    machines = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
    if sys.platform != "linux" or os.uname().machine not in machines:
        return
    import ctypes

    architecture, socket_call = machines[os.uname().machine]
    load, equal, give = 0x20, 0x15, 0x06
    allow, deny = 0x7FFF0000, 0x00050000 | 13  # EACCES
    program = [
        (load, 0, 0, 4),  # the machine
        (equal, 0, 3, architecture),
        (load, 0, 0, 0),  # the system call
        (equal, 0, 1, socket_call),
        (give, 0, 0, deny),
        (give, 0, 0, allow),
    ]
    raw = b"".join(
        code.to_bytes(2, sys.byteorder) + bytes((yes, no)) + value.to_bytes(4, sys.byteorder)
        for code, yes, no, value in program
    )
    instructions = ctypes.create_string_buffer(raw, len(raw))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    filter_ = Filter(len(program), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None)
    no_new_privileges, set_seccomp, mode_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0:
        libc.prctl(set_seccomp, mode_filter, ctypes.byref(filter_), 0, 0)


def _fork_on_demand(number: int) -> None:
    """Fork for each pair of pipes that comes through this socket, and answer with the new process's number.

    The fork begins to work as `main` does; this process has no thread and no store, so it may fork at any time.
    """
    import ctypes  # noqa: F401 (these two that the forks need not)
    import socket

    import pyoxigraph  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    control = socket.socket(fileno=number)
    while True:
        word, pipes, _, _ = socket.recv_fds(control, 1, 2)
        if not word:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor, standard in zip(pipes, (0, 1), strict=True):
                os.dup2(descriptor, standard)
                os.close(descriptor)
            main()
            os._exit(0)
        for descriptor in pipes:
            os.close(descriptor)
        control.sendall(str(pid).encode())


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which may want to go on
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    first = receive(requests)
    if first is None:
        return
    _limit_itself(first["memory"])
    pending: list[Any] = []
    ready = threading.Semaphore(0)

    def serve() -> None:
        try:
            answerer = _Answerer(first)
            send(replies, {})
            while True:
                ready.acquire()
                request = pending.pop(0)
                if "text" in request or "rdf" in request:
                    reply = answerer.answer(request)
                    body = reply.pop("body", None)
                    if body is not None:
                        reply["size"] = len(body)
                    send(replies, reply, body or b"")
                else:
                    answerer.open(request)
                    send(replies, {})
        except BrokenPipeError:
            os._exit(0)
        except BaseException as error:
            send(replies, {"error": "store", "message": f"{type(error).__name__}: {error}"})
            os._exit(1)

    threading.stack_size(_STACK)
    threading.Thread(target=serve, daemon=True).start()
    while (request := receive(requests)) is not None:
        pending.append(request)
        ready.release()
    os._exit(0)


def _beside(name: str) -> Any:
    """The module of that name in this folder; the folder itself must not come before the standard library."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.path.append(sys.argv[1])  # where pyoxigraph is installed: -S leaves site-packages out
    worker_output = _beside("worker_output")
    if len(sys.argv) > 2:
        _fork_on_demand(int(sys.argv[2]))
    else:
        main()
