"""Runs a `python_function`: from its file, in a trusted workspace only, in a process that can be ended."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from abi.errors import ToolFailed, Untrusted
from abi.records.python_marks import marked_functions
from abi.records.record import AgentSpecification, PythonFunction
from abi.tools.answer import render_answer
from abi.tools.graph import IRI, asking
from abi.tools.json_values import rows_of
from abi.tools.linked_arguments import cited, linked_arguments
from abi.tools.python_process import PythonJob, call_apart
from abi.tools.runner import RunContext, ToolResult

__all__ = ["job_of", "python_file", "returned", "run"]


def run(record: PythonFunction, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Check the arguments, call the function, and give its result also as rows, so that an agent can answer from it.

    Raises Untrusted, ArgumentError with all faults of the arguments, ToolFailed with the line where it failed, or where
    it took too long and was ended or gave back too much, and what a query that it asks can raise.
    """
    if not context.trusted:  # before names are looked up for nothing
        raise _untrusted(record)
    arguments, terms = linked_arguments(record, raw_arguments, context)
    if record.form == "pipeline":
        from abi.tools.pipeline import written

        result: Any = written(record, arguments, context)
    else:
        result = returned(record, arguments, context)
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


def returned(record: PythonFunction, arguments: Mapping[str, Any], context: RunContext) -> Any:
    """What the function gives back for checked arguments, as JSON values. Raises Untrusted, ToolFailed."""
    if not context.trusted:
        raise _untrusted(record)
    iris = {p.name for p in record.parameters if p.value_class is not None}
    given = {name: IRI(value) if name in iris else value for name, value in arguments.items()}
    ask = asking(context.query, context.settings)
    seconds, size = context.settings.python_seconds, context.settings.python_bytes
    return call_apart(job_of(record, context.root), given, ask=ask, seconds=seconds, size=size)


def job_of(record: PythonFunction, root: Path) -> PythonJob:
    """What to call. Raises ToolFailed where the file is not of the workspace or has no such tool any more."""
    source, data = python_file(record, root.resolve())
    if record.function not in _marked(data):
        message = f"{source} has no function or method {record.function!r} marked with @tool."
        raise ToolFailed(f"The tool {record.name} cannot run: {message}", hint="Run `abi index`.")
    return PythonJob(
        root=root.resolve(),
        name=record.name,
        path=source,
        function=record.function,
        data=data,
        optional=tuple(p.name for p in record.parameters if not p.required and p.default is None),
    )


@lru_cache(maxsize=64)
def _marked(data: bytes) -> frozenset[str]:
    return frozenset(marked_functions(data))


def python_file(record: PythonFunction | AgentSpecification, root: Path) -> tuple[str, bytes]:
    """The path in the workspace of a record's Python file, whatever links lead to it, and its content.

    Raises ToolFailed where it is none, is outside the workspace or cannot be read.
    """
    source = record.source.path if record.source else ""
    hint = "Run `abi index`."
    if not source.endswith(".py"):
        message = f"{_what(record)} was read from {source or 'no file'}, which is no Python file."
        raise ToolFailed(message, hint="Its Python lives in a .py file of the workspace.")
    try:
        path = (root / source).resolve(strict=True)
        if not path.is_relative_to(root):
            raise ToolFailed(f"The file of {_what(record, False)}, {source}, is outside the workspace.", hint=hint)
        return path.relative_to(root).as_posix(), path.read_bytes()
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ToolFailed(f"The file of {_what(record, False)}, {source}, cannot be read: {why}.", hint=hint) from None


def _what(record: PythonFunction | AgentSpecification, first: bool = True) -> str:
    return f"{'The' if first else 'the'} {'agent' if record.kind == 'agent' else 'tool'} {record.name}"


def _untrusted(record: PythonFunction) -> Untrusted:
    message = f"The tool {record.name} is Python, and the Python of this workspace is not trusted."
    return Untrusted(message, hint="Read its files; if you trust them, run `abi trust`.")
