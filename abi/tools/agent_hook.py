"""Calls a method of the Python class that an agent was read from: apart and in time, in a trusted workspace only."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from typing import Any

from abi.errors import ToolFailed, Untrusted
from abi.records.agent_class import agent_classes
from abi.records.python_marks import ModuleReader
from abi.records.record import AgentHook, AgentSpecification
from abi.tools.python_function import python_file
from abi.tools.python_process import PythonJob, call_apart
from abi.tools.runner import RunContext

__all__ = ["call_hook"]


def call_hook(record: AgentSpecification, hook: AgentHook, arguments: tuple[str, ...], context: RunContext) -> Any:
    """What the method gives back, as JSON values; an object of the class is made by its `New()` and kept for the next
    call of the same process.

    Raises Untrusted; ToolFailed where the file has no such agent class any more, or where the method fails or takes
    too long.
    """
    if not context.trusted:
        message = f"{hook} of the agent {record.name} is Python, and the Python of this workspace is not trusted."
        raise Untrusted(message, hint="Read its files; if you trust them, run `abi trust`.")
    root = context.root.resolve()
    source, data = python_file(record, root)
    if record.class_name is None or record.class_name not in _classes(data):
        message = f"{hook} of the agent {record.name} cannot run: {source} has no agent class {record.class_name!r}."
        raise ToolFailed(message, hint="Run `abi index`.")
    method = f"{record.class_name}.{hook}"
    job = PythonJob(root=root, name=f"{record.name}.{hook}", path=source, function=method, data=data)
    named = {str(n): argument for n, argument in enumerate(arguments)}
    return call_apart(job, named, seconds=context.settings.python_seconds, size=context.settings.python_bytes)


@lru_cache(maxsize=64)
def _classes(data: bytes) -> frozenset[str]:
    reader = ModuleReader()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.body(ast.parse(data).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(agent_classes(reader.module))
