"""A Python file beside another one: what the other imports from there."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from pathlib import Path

from abi.records.python_marks import Mark, tools_of
from abi.records.python_types import Module, literal

__all__ = ["PythonBeside", "beside"]

_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class PythonBeside:
    """A file of the same folder: what it binds, and the names of its tools by where they are found in it."""

    module: Module
    tools: dict[str, str]
    path: Path


def beside(origin: str, folder: Path) -> tuple[PythonBeside, str] | None:
    """The file of `folder` that `module.name` is imported from, and the name; None where there is none to be read."""
    *parts, name = origin.split(".")
    if not parts:
        return None
    path = folder.joinpath(*parts).with_suffix(".py")
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = tools_of(ast.parse(path.read_bytes()))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    tools = {mark.path: _name(mark, reader.module) for mark in reader.marks}
    return PythonBeside(reader.module, tools, path), name


def _name(mark: Mark, module: Module) -> str:
    keywords = mark.decorator.keywords if isinstance(mark.decorator, ast.Call) else []
    given = next((literal(module, k.value) for k in keywords if k.arg == "name"), None)
    return given if isinstance(given, str) else mark.name or mark.function.name
