"""Reads the functions that a `.py` file marks with `@tool`, from its syntax tree. The file is never run."""

from __future__ import annotations

import ast
import keyword
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from abi.records.docstring import read_docstring
from abi.records.document import Document
from abi.records.header import MAX_DESCRIPTION_WORDS, identifier_fix, near
from abi.records.python_types import CLASS_KEY, NO_VALUE, Module, Types, literal
from abi.records.record import Parameter, PythonFunction

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["TOOL_MODULES", "marked_functions", "read"]

TOOL_MODULES = ("abi", "agentc", "agentc.catalog", "agentc_core.tool")
"""Modules from which `tool` may be imported."""
_TOOLS = {f"{module}.tool" for module in TOOL_MODULES} | {
    "abi.records.decorator.tool",
    "agentc_core.tool.decorator.tool",
    "agentc_core.catalog.tool",
}
_GRAPH = ("abi.Graph", "abi.tools.graph.Graph")
_KEYWORDS = ("name", "description", "annotations", "answer")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds a PythonFunction for each whole tool of the file, and all findings, to `result`."""
    tree = _parse(document, result)
    if tree is None:
        return
    reader = _ModuleReader()
    reader.body(tree.body)
    # A tool that is no top-level function cannot be found in the module when it is called.
    nested = _nested(tree, {id(mark.function) for mark in reader.marks}, reader)
    for function in nested:
        message = f"The tool {function.name} is not at the top level of its module."
        result.fault(function.lineno, function.name, "tool-nested", message, "Move it to the top level.")
    for mark in reader.marks:
        _tool(mark, reader.module, context, result)


def marked_functions(data: bytes) -> set[str]:
    """Names of the top-level functions that a file marks with `@tool`; none where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    reader = _ModuleReader()
    reader.body(tree.body)
    return {mark.function.name for mark in reader.marks}


def _parse(document: Document, result: ReadResult) -> ast.Module | None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(document.text, document.path)
    except SyntaxError as error:
        message = f"This is no Python {version}: {error.msg} (column {error.offset or 1})."
        result.fault(error.lineno or 1, "", "python-syntax", message, "Correct this line, or the one before it.")
    except (ValueError, RecursionError, MemoryError) as error:
        message = f"This is no Python {version} that can be read: {error or type(error).__name__}."
        result.fault(1, "", "python-syntax", message, "Make its expressions simpler.")
    return None


@dataclass(slots=True)
class _Mark:
    function: Function
    decorator: ast.expr


@dataclass(slots=True)
class _ModuleReader:
    """Follows the statements of a module's top level in order, as running it would bind names."""

    module: Module = field(default_factory=Module)
    marks: list[_Mark] = field(default_factory=list)

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
                    self.marks.append(_Mark(node, mark))
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


def _nested(tree: ast.Module, top: set[int], reader: _ModuleReader) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and id(node) not in top:
            names = [d for d in node.decorator_list if reader.is_tool(d)]
            if names:
                yield node


def _tool(mark: _Mark, module: Module, context: ReadContext, result: ReadResult) -> None:
    function = mark.function
    before = sum(f.severity == "error" for f in result.findings)
    given = _decorator_values(mark, module, result)
    name = given.get("name") or function.name
    if not name.isidentifier() or keyword.iskeyword(name):
        message = f"The name {name!r} of the tool is not a valid identifier."
        result.fault(mark.decorator.lineno, "name", "name-invalid", message, identifier_fix(name))
    docstring, described = read_docstring(ast.get_docstring(function) or "")
    description = (given.get("description") or docstring).strip()
    if not description:
        message = f"Description must be specified for tool {name}!"
        fix = "Please give this tool a docstring."
        result.fault(function.lineno, "description", "description-missing", message, fix)
    words = len(description.split())
    if words > MAX_DESCRIPTION_WORDS:
        message = f"The description has {words} words; search reads the first {MAX_DESCRIPTION_WORDS} at most."
        fix = "Make it shorter."
        result.fault(function.lineno, "description", "description-long", message, fix, "warning")
    if not _fit(description):
        message = "The description holds half of a character."
        result.fault(function.lineno, "description", "description-character", message, "Remove it.")
    types = Types(module)
    parameters, properties = _parameters(function, types, described, context, result)
    schema = types.document(properties, [p.name for p in parameters if p.required])
    if sum(f.severity == "error" for f in result.findings) > before:
        return
    record = PythonFunction(
        name=name,
        description=description,
        annotations=given.get("annotations") or {},
        answer=given.get("answer"),
        function=function.name,
        is_async=isinstance(function, ast.AsyncFunctionDef),
        parameters=parameters,
        input_schema=schema,
        output_schema=_output(function, module),
        source=result.source(function.lineno),
    )
    lines = {f"parameters.{a.arg}": a.lineno for a in _arguments(function)}
    result.add(record, lines | {"answer": mark.decorator.lineno})


def _fit(text: str) -> bool:
    """Whether a text that a Python literal may have escaped together can be written anywhere."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return not any(c < " " and c not in "\t\n" for c in text)


def _decorator_values(mark: _Mark, module: Module, result: ReadResult) -> dict[str, Any]:
    """The decorator's arguments; a faulty one is absent."""
    given: dict[str, Any] = {}
    if not isinstance(mark.decorator, ast.Call):
        return given
    line = mark.decorator.lineno
    if mark.decorator.args:
        message = "@tool takes its arguments by name."
        result.fault(line, "", "decorator-argument", message, 'Write @tool(name="...", description="...").')
    for kw in mark.decorator.keywords:
        if kw.arg is None:
            fix = "Write them out: name=..., description=..., annotations=..."
            result.fault(kw.value.lineno, "", "decorator-argument", "@tool cannot read ** arguments.", fix)
            continue
        if kw.arg not in _KEYWORDS:
            message = f"@tool has no argument {kw.arg!r}."
            fix = near(kw.arg, _KEYWORDS) or f"It has {', '.join(_KEYWORDS)}."
            result.fault(kw.value.lineno, kw.arg, "key-unknown", message, fix, "warning")
            continue
        value = literal(module, kw.value)
        if value is None:
            continue
        if value is NO_VALUE:
            message = f"{kw.arg} of @tool cannot be read without running the file."
            result.fault(kw.value.lineno, kw.arg, "decorator-literal", message, "Write the value itself there.")
        elif kw.arg == "annotations":
            given[kw.arg] = _annotations(value, kw.value.lineno, result)
        elif not isinstance(value, str) or not _fit(value):
            message = f"{kw.arg} of @tool must be a text."
            result.fault(kw.value.lineno, kw.arg, "type-wrong", message, f'Write {kw.arg}="...".')
        else:
            given[kw.arg] = value
    return given


def _annotations(value: Any, line: int, result: ReadResult) -> dict[str, str]:
    if not isinstance(value, dict):
        message = "annotations of @tool must be a dict of texts."
        result.fault(line, "annotations", "type-wrong", message, 'Write annotations={"key": "value"}.')
        return {}
    for key, inner in value.items():
        if not isinstance(inner, str):
            message = f"The annotation {key!r} must be a text, not {inner!r}."
            fix = f'Write "{key}": "{str(inner).lower() if isinstance(inner, bool) else inner}".'
            result.fault(line, f"annotations.{key}", "annotation-type", message, fix)
    return {k: v for k, v in value.items() if isinstance(v, str) and _fit(k + v)}


def _arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _parameters(
    function: Function, types: Types, described: dict[str, str], context: ReadContext, result: ReadResult
) -> tuple[list[Parameter], dict[str, dict[str, Any]]]:
    arguments = function.args
    if arguments.vararg:
        message = f"A tool takes named arguments; *{arguments.vararg.arg} has no names."
        fix = f"Write {arguments.vararg.arg}: list[...] instead."
        result.fault(arguments.vararg.lineno, arguments.vararg.arg, "parameter-variadic", message, fix)
    if arguments.kwarg:
        message = f"What **{arguments.kwarg.arg} takes is not known, so no caller can give it."
        fix = "Write out the arguments that it stands for."
        result.fault(arguments.kwarg.lineno, arguments.kwarg.arg, "parameter-variadic", message, fix, "warning")
    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    parameters: list[Parameter] = []
    properties: dict[str, dict[str, Any]] = {}
    for argument, default in zip(_arguments(function), defaults, strict=True):
        if _is_graph(argument, types.module):
            continue
        parameter, schema = _parameter(argument, default, len(parameters), types, described, context, result)
        parameters.append(parameter)
        properties[argument.arg] = schema
    return parameters, properties


def _parameter(
    argument: ast.arg,
    default: ast.expr | None,
    position: int,
    types: Types,
    described: dict[str, str],
    context: ReadContext,
    result: ReadResult,
) -> tuple[Parameter, dict[str, Any]]:
    if argument.annotation is None:
        message = f"The parameter {argument.arg!r} has no type, so anything goes."
        fix = f"Write {argument.arg}: str, or another type."
        result.fault(argument.lineno, f"parameters.{argument.arg}", "parameter-untyped", message, fix, "warning")
    datatype, schema = types.read(argument.annotation)
    if default is not None:
        schema = {**schema, **types.notes(default)} if types.is_field(default) else schema
    has_default, value = types.default(default)
    if value is not NO_VALUE and has_default:
        schema = {**schema, "default": value}
    description = schema.get("description") or described.get(argument.arg, "")
    if description:
        schema = {**schema, "description": description}
    limits = next((arm for arm in schema.get("anyOf", []) if arm.get("type") != "null"), schema)
    enum = limits.get("enum", [])
    value_class = None
    if CLASS_KEY in limits:
        value_class = limits[CLASS_KEY] = _class(argument, str(limits[CLASS_KEY]), context, result)
    parameter = Parameter(
        name=argument.arg,
        description=description,
        datatype=None if value_class else datatype,
        value_class=value_class,
        required=not has_default,
        default=value if has_default and value is not NO_VALUE else None,
        enum=enum,
        minimum=_limit(limits, "minimum", "exclusiveMinimum", 1),
        maximum=_limit(limits, "maximum", "exclusiveMaximum", -1),
        pattern=limits.get("pattern") if isinstance(limits.get("pattern"), str) else None,
        examples=limits.get("examples") if isinstance(limits.get("examples"), list) else [],
        position=position,
    )
    return parameter, schema


def _is_graph(argument: ast.arg, module: Module) -> bool:
    """Whether an argument is the graph itself, which the runner gives and no caller."""
    annotation = argument.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return annotation is not None and module.origin(annotation) in _GRAPH


def _class(argument: ast.arg, word: str, context: ReadContext, result: ReadResult) -> str:
    try:
        return context.expand(word)
    except ValueError as error:
        fix = "Write it as prefix:Name or as a whole IRI."
        result.fault(argument.lineno, f"parameters.{argument.arg}", "iri-unknown", str(error), fix)
        return word


def _limit(schema: dict[str, Any], key: str, exclusive: str, step: int) -> int | float | None:
    """An inclusive limit. An exclusive one is made inclusive where the value is whole; for others it is a bound."""
    value = schema.get(key)
    if value is None and isinstance(schema.get(exclusive), int) and schema.get("type") == "integer":
        value = schema[exclusive] + step
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _output(function: Function, module: Module) -> dict[str, Any] | None:
    if function.returns is None:
        return None
    types = Types(module)
    _, schema = types.read(function.returns)
    return types.with_definitions(schema) if schema else None
