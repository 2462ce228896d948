"""Which functions of a Python file are marked with `@tool`, under whatever name it was imported."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from abi.records.python_types import Module
from abi.records.record import CallableForm

__all__ = ["TOOL_MODULES", "Function", "Mark", "ModuleReader", "marked_functions", "tools_of"]

TOOL_MODULES = ("abi", "agentc", "agentc.catalog", "agentc_core.tool")
"""Modules from which `tool` may be imported."""
_TOOLS = {f"{module}.tool" for module in TOOL_MODULES} | {
    "abi.records.decorator.tool",
    "agentc_core.tool.decorator.tool",
    "agentc_core.catalog.tool",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Mark:
    """A function that is a tool, and the decorator that marks it.

    Of a method: the class that `owner` names and what that is. `name` and `description` are those of the class, where
    it is the tool as a whole.
    """

    function: Function
    decorator: ast.expr | None
    owner: str = ""
    form: CallableForm | None = None
    name: str = ""
    description: str = ""

    @property
    def path(self) -> str:
        """Where the function is found in its module."""
        return f"{self.owner}.{self.function.name}" if self.owner else self.function.name


@dataclass(slots=True)
class ModuleReader:
    """Follows the statements of a module's top level in order, as running it would bind names."""

    module: Module = field(default_factory=Module)
    marks: list[Mark] = field(default_factory=list)

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    self.module.imports[alias.asname or top] = alias.name if alias.asname else top
            case ast.ImportFrom():
                self._import_from(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                mark = next((d for d in node.decorator_list if self.is_tool(d)), None)
                if mark is not None:
                    self.marks.append(Mark(node, mark))
                self._bind(node.name)
            case ast.ClassDef():
                self._bind(node.name)
                self.module.classes[node.name] = node
            case ast.Assign() | ast.AnnAssign():
                self._assign(node)
            case ast.If() | ast.For() | ast.While():
                self.body(node.body)
                self.body(node.orelse)
            case ast.With():
                self.body(node.body)
            case ast.Try():
                self.body(node.body)
                for handler in node.handlers:
                    # What the handler binds stands in for what could not be had: the names stay the same.
                    known = dict(self.module.imports)
                    self.body(handler.body)
                    self.module.imports.update(known)
                self.body(node.orelse)
                self.body(node.finalbody)
            case _:
                pass

    def _bind(self, name: str) -> None:
        self.module.imports.pop(name, None)
        self.module.values.pop(name, None)
        self.module.classes.pop(name, None)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        for alias in node.names:
            if alias.name == "*":
                if node.module in TOOL_MODULES:
                    self.module.imports["tool"] = f"{node.module}.tool"
                continue
            self._bind(alias.asname or alias.name)
            self.module.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if not isinstance(target, ast.Name) or node.value is None:
                continue
            origin = self.module.origin(node.value)
            self._bind(target.id)
            if origin in _TOOLS:
                self.module.imports[target.id] = origin
            else:
                self.module.values[target.id] = node.value

    def is_tool(self, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self.module.origin(called) in _TOOLS

    def nested(self, tree: ast.Module) -> Iterator[Function]:
        """Marked functions that are not at the top level, where nobody could find them in the module."""
        # Of a method stands a copy there: its decorator is the same.
        top = {id(mark.decorator) for mark in self.marks}
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if any(self.is_tool(decorator) and id(decorator) not in top for decorator in node.decorator_list):
                yield node


def marked_functions(data: bytes) -> set[str]:
    """Where the tools of a file are found in it (`Mark.path`); none where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
        return {mark.path for mark in tools_of(tree).marks}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def tools_of(tree: ast.Module) -> ModuleReader:
    """A module with all its tools: marked functions, and those of its classes. Raises RecursionError."""
    from abi.records.workflow_class import class_tools

    reader = ModuleReader()
    reader.body(tree.body)
    reader.marks += class_tools(reader.module, reader.is_tool)
    return reader
