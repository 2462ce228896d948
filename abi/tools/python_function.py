"""Runs a `python_function`: from its file, in a trusted workspace only."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from abi.errors import AbiError, ArgumentError, ToolFailed, Untrusted
from abi.graph.rows import Rows, Term
from abi.records.parameters import JSON, XSD
from abi.records.python_marks import marked_functions
from abi.records.record import PythonFunction
from abi.tools.answer import render_answer
from abi.tools.graph import IRI, Graph
from abi.tools.linked_arguments import cited, linked_arguments
from abi.tools.python_module import beside, load_module
from abi.tools.runner import RunContext, ToolResult, jsonable

__all__ = ["call", "rows_of", "run"]

_MAX_ITEMS = 10_000
"""Items that are taken from a generator at most."""


def run(record: PythonFunction, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Check the arguments, call the function, and give its result also as rows, so that an agent can answer from it.

    Raises ArgumentError with all faults of the arguments, and as `call` does.
    """
    if not context.trusted:
        raise _untrusted(record)
    arguments, terms = linked_arguments(record, raw_arguments, context)
    iris = {p.name for p in record.parameters if p.value_class is not None}
    given = {name: IRI(value) if name in iris else value for name, value in arguments.items()}
    graph = Graph(context.query, context.settings)
    result = call(record, given, root=context.root, trusted=context.trusted, graph=graph)
    rows = rows_of(result)
    citations = cited(context, terms.values(), rows)
    answer = None
    if record.answer is not None:
        names = [p.name for p in record.parameters]
        answer = render_answer(record.answer, rows, terms, dict(citations), names=names, result=result)
    return ToolResult(
        tool=record.name,
        arguments=arguments,
        rows=rows,
        result=result,
        row_count=len(rows),
        truncated=rows.truncated,
        citations=citations,
        answer=answer,
    )


def call(
    record: PythonFunction, arguments: Mapping[str, Any], *, root: Path, trusted: bool, graph: Graph | None = None
) -> Any:
    """What the function gives back, as JSON values. `graph` is given to its parameters of type Graph.

    Arguments are JSON values; parameters that are pydantic models, dataclasses or dates are built from them. What the
    function prints goes to stderr. Raises Untrusted, ArgumentError, and ToolFailed with the line where it failed.
    """
    if not trusted:
        raise _untrusted(record)
    path, data = _file(record, root.resolve())
    if record.function not in marked_functions(data):
        message = f"{_where(record)} has no function {record.function!r} marked with @tool."
        raise ToolFailed(f"The tool {record.name} cannot run: {message}", hint="Run `abi index`.")
    with _stdout_to_stderr():
        try:
            function = getattr(load_module(path, root.resolve(), data), record.function)
        except (Exception, SystemExit) as error:
            raise _failed(record, error, path, "could not be loaded") from error
        with beside(path):
            bound = _bind(record, function, arguments, graph)
        try:
            result = _finish(function(*bound.args, **bound.kwargs))
            return jsonable(to_jsonable_python(result, fallback=str, bytes_mode="base64"))
        except AbiError as error:
            # A query that the function asked: its own words say what is wrong.
            error.details.setdefault("tool", record.name)
            raise
        except (Exception, SystemExit) as error:
            raise _failed(record, error, path, "failed") from error


def rows_of(result: Any) -> Rows:
    """A JSON value as rows: a list gives one row an item, a mapping one column a key, anything else is `result`."""
    items = [] if result is None else result if isinstance(result, list) else [result]
    rows = [
        {str(k): _cell(v) for k, v in (i.items() if isinstance(i, dict) else [("result", i)]) if v is not None}
        for i in items
    ]
    variables = list(dict.fromkeys(name for row in rows for name in row))
    return Rows("select", variables=variables, rows=rows)


def _cell(value: Any) -> Term:
    if isinstance(value, str):
        return Term("literal", value)
    if isinstance(value, bool):
        return Term("literal", "true" if value else "false", XSD + "boolean")
    if isinstance(value, int):
        return Term("literal", str(value), XSD + "integer")
    if isinstance(value, float):
        return Term("literal", repr(value), XSD + "double")
    return Term("literal", json.dumps(value, ensure_ascii=False), JSON)


def _untrusted(record: PythonFunction) -> Untrusted:
    message = f"The tool {record.name} is Python, and the Python of this workspace is not trusted."
    return Untrusted(message, hint="Read its files; if you trust them, run `abi trust`.")


def _where(record: PythonFunction) -> str:
    return record.source.path if record.source else "its file"


def _file(record: PythonFunction, root: Path) -> tuple[Path, bytes]:
    source = record.source.path if record.source else ""
    hint = "Run `abi index`."
    if not source.endswith(".py"):
        message = f"The tool {record.name} was read from {source or 'no file'}, which is no Python file."
        raise ToolFailed(message, hint="A python_function lives in a .py file of the workspace.")
    try:
        path = (root / source).resolve(strict=True)
        if not path.is_relative_to(root):
            raise ToolFailed(f"The file of the tool {record.name}, {source}, is outside the workspace.", hint=hint)
        return path, path.read_bytes()
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ToolFailed(f"The file of the tool {record.name}, {source}, cannot be read: {why}.", hint=hint) from None


def _bind(
    record: PythonFunction, function: Callable[..., Any], arguments: Mapping[str, Any], graph: Graph | None
) -> inspect.BoundArguments:
    """The arguments in the types that the function's annotations ask for."""
    signature = inspect.signature(function)
    try:
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception:  # a name that only a type checker sees
        hints = {}
    values: dict[str, Any] = {}
    faults: list[dict[str, str]] = []
    optional = {p.name for p in record.parameters if not p.required and p.default is None}
    for name, parameter in signature.parameters.items():
        default = parameter.default
        if hints.get(name) is Graph:
            values[name] = graph
            continue
        if name not in arguments or (arguments[name] is None and name in optional):
            # The function's own default counts where the record has none that JSON could hold.
            if isinstance(default, FieldInfo) and not default.is_required():
                values[name] = default.get_default(call_default_factory=True, validated_data={})
            elif default is inspect.Parameter.empty and parameter.kind not in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                faults.append({"argument": name, "message": "it is missing"})
            elif default is not inspect.Parameter.empty:
                values[name] = default
            continue
        try:
            values[name] = _convert(hints.get(name, Any), arguments[name])
        except ValidationError as error:
            for fault in error.errors():
                argument = ".".join(str(part) for part in (name, *fault["loc"]))
                faults.append({"argument": argument, "message": fault["msg"]})
    unknown = arguments.keys() - signature.parameters.keys()
    faults += [{"argument": name, "message": "there is no such argument"} for name in sorted(unknown)]
    if faults:
        told = "; ".join(f"{fault['argument']}: {fault['message']}" for fault in faults)
        raise ArgumentError(f"The tool {record.name} cannot take these arguments: {told}.", details={"faults": faults})
    return inspect.BoundArguments(signature, values)


def _convert(hint: Any, value: Any) -> Any:
    if isinstance(value, IRI):
        return value
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
    except (PydanticUserError, NameError):  # a class that pydantic knows nothing of
        return value
    return adapter.validate_python(value)


def _finish(result: Any) -> Any:
    if inspect.isawaitable(result):
        result = _await(result)
    if inspect.isgenerator(result):
        return list(itertools.islice(result, _MAX_ITEMS))
    return result


def _await(awaitable: Any) -> Any:
    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # A loop cannot be entered twice by one thread.
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.extend((True, asyncio.run(wait())))
        except BaseException as error:
            outcome.extend((False, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if not outcome[0]:
        raise outcome[1]
    return outcome[1]


def _failed(record: PythonFunction, error: BaseException, path: Path, what: str) -> ToolFailed:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else None
    line = line or (lines[-1] if lines else None)
    where = f"{_where(record)}:{line}" if line else _where(record)
    message = f"The tool {record.name} {what} at {where}: {type(error).__name__}: {error}".rstrip(": ")
    hint = ""
    if isinstance(error, ImportError):
        beside_it = error.name is not None and path.with_name(f"{error.name.partition('.')[0]}.py").exists()
        hint = "Import modules of its folder at the top of the file." if beside_it else "Install what it imports."
    details = {"tool": record.name, "path": _where(record), "line": line, "error": type(error).__name__}
    return ToolFailed(message, hint=hint, details=details)


class _Redirect:
    """Counts who needs it, so that calls at the same time do not put back each other's stdout."""

    lock = threading.Lock()
    depth = 0
    saved: Any = None


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    with _Redirect.lock:
        if _Redirect.depth == 0:
            _Redirect.saved, sys.stdout = sys.stdout, sys.stderr
        _Redirect.depth += 1
    try:
        yield
    finally:
        with _Redirect.lock:
            _Redirect.depth -= 1
            if _Redirect.depth == 0:
                sys.stdout = _Redirect.saved
