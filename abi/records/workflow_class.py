"""Reads the tools of a `.py` file's workflows, pipelines and integrations, from its syntax tree."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from abi.records.class_syntax import ClassSyntax
from abi.records.python_marks import Function, Mark
from abi.records.python_types import Module, dotted
from abi.records.record import CallableForm

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["class_tools", "snake_case"]

_FORMS: dict[str, CallableForm] = {"Workflow": "workflow", "Pipeline": "pipeline", "Integration": "integration"}
_BASES = {f"{home}.{name}": form for home in ("abi", "abi.agents.workflow") for name, form in _FORMS.items()}
_MODELS = {f"{home}.{name}Parameters" for home in ("abi", "abi.agents.workflow") for name in ("Workflow", "Pipeline")}
_MODELS |= {"pydantic.BaseModel"}


def class_tools(module: Module, is_tool: Callable[[ast.expr], bool]) -> Iterator[Mark]:
    """`run` of each workflow and pipeline, and each marked method of an integration, as a function without `self`.

    A class without a `run`, and an integration that others are made of, is no tool itself.
    """
    bases = {dotted(base) for node in module.classes.values() for base in node.bases}
    found: dict[str, ast.ClassDef] = {}
    forms: dict[str, CallableForm] = {}
    for name, node in module.classes.items():
        form = next((f for b in node.bases if (f := _BASES.get(module.origin(b)) or forms.get(dotted(b)))), None)
        if form is None:
            continue
        found[name], forms[name] = node, form
        syntax = ClassSyntax(name, module, found)
        if form == "integration" and name not in bases:
            yield from _methods(syntax, is_tool)
        elif form == "integration":
            continue  # its tools are those of the classes that are made of it
        elif (run := next((f for f in syntax.functions() if f.name == "run"), None)) is not None:
            description = syntax.text("description") or (ast.get_docstring(node) or "")
            own = syntax.text("name") or snake_case(name)
            yield Mark(_spread(_without_self(run), module), None, name, form, own, description)


def _methods(syntax: ClassSyntax, is_tool: Callable[[ast.expr], bool]) -> Iterator[Mark]:
    seen: set[str] = set()
    for function in syntax.functions():
        decorator = next((d for d in function.decorator_list if is_tool(d)), None)
        if decorator is not None and function.name not in seen:
            yield Mark(_without_self(function), decorator, syntax.name, "integration")
        seen.add(function.name)


def _without_self(function: Function) -> Function:
    if any(dotted(d) == "staticmethod" for d in function.decorator_list):
        return function
    bound = copy.copy(function)
    bound.args = copy.copy(function.args)
    bound.args.posonlyargs = function.args.posonlyargs[1:]
    bound.args.args = function.args.args[0 if function.args.posonlyargs else 1 :]
    return bound


def _spread(function: Function, module: Module) -> Function:
    """`run(self, parameters: Parameters)` as if the fields of the model were its parameters."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if len(arguments) != 1 or arguments[0].annotation is None or function.args.vararg or function.args.kwarg:
        return function
    quoted = arguments[0].annotation
    name = str(quoted.value) if isinstance(quoted, ast.Constant) else dotted(quoted)
    fields = list(_fields(name, module, set()))
    if not _is_model(name, module, set()):
        return function
    spread = copy.copy(function)
    spread.args = ast.arguments(
        posonlyargs=[],
        args=[],
        kwonlyargs=[ast.copy_location(ast.arg(n, f.annotation), f) for n, f in fields],
        kw_defaults=[f.value for _, f in fields],
        defaults=[],
    )
    return spread


def _is_model(name: str, module: Module, seen: set[str]) -> bool:
    node = module.classes.get(name)
    if node is None or name in seen:
        return False
    return any(module.origin(b) in _MODELS or _is_model(dotted(b), module, seen | {name}) for b in node.bases)


def _fields(name: str, module: Module, seen: set[str]) -> Iterator[tuple[str, ast.AnnAssign]]:
    """Fields of a model and of those that it is made of, each once, in the order in which pydantic has them."""
    node = module.classes.get(name)
    if node is None or name in seen:
        return
    fields: dict[str, ast.AnnAssign] = {}
    for base in node.bases:
        fields |= dict(_fields(dotted(base), module, seen | {name}))
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            private = statement.target.id.startswith("_") or "ClassVar" in ast.dump(statement.annotation)
            if not private:
                fields[statement.target.id] = statement
    yield from fields.items()


def snake_case(name: str) -> str:
    """`CountFlights` as `count_flights`: the name of a tool whose class has no other."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
