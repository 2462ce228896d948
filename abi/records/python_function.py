"""Reads the functions that a `.py` file marks with `@tool`, and its agent classes, from its syntax tree.

The file is never run.
"""

from __future__ import annotations

import ast
import keyword
import sys
import warnings
from typing import TYPE_CHECKING, Any

from abi.records.agent_class import read_agent_classes
from abi.records.docstring import read_docstring
from abi.records.document import Document
from abi.records.header import MAX_DESCRIPTION_WORDS, identifier_fix, near
from abi.records.python_marks import Function, Mark, tools_of
from abi.records.python_types import CLASS_KEY, NO_VALUE, Module, Types, literal, writable
from abi.records.record import Parameter, PythonFunction

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["read"]

_GRAPH = ("abi.Graph", "abi.tools.graph.Graph")
_KEYWORDS = ("name", "description", "annotations", "answer")


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds a PythonFunction for each whole tool of the file, and all findings, to `result`."""
    tree = _parse(document, result)
    if tree is None:
        return
    try:
        reader = tools_of(tree)
    except RecursionError:
        result.fault(1, "", "python-syntax", "The file is nested too deep to be read.", "Make its branches simpler.")
        return
    for function in reader.nested(tree):
        message = f"The tool {function.name} is not at the top level of its module."
        result.fault(function.lineno, function.name, "tool-nested", message, "Move it to the top level.")
    for mark in reader.marks:
        _tool(mark, reader.module, context, result)
    tools = {r.function: r.name for r in result.records if isinstance(r, PythonFunction)}
    read_agent_classes(reader.module, tools, result)


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
        message = f"This is no Python {version} that can be read: {str(error) or type(error).__name__}."
        result.fault(1, "", "python-syntax", message, "Make its expressions simpler.")
    return None


def _tool(mark: Mark, module: Module, context: ReadContext, result: ReadResult) -> None:
    function = mark.function
    line = (mark.decorator or function).lineno
    before = sum(f.severity == "error" for f in result.findings)
    given = _decorator_values(mark, module, result)
    name = given.get("name") or mark.name or function.name
    if not name.isidentifier() or keyword.iskeyword(name):
        message = f"The name {name!r} of the tool is not a valid identifier."
        result.fault(line, "name", "name-invalid", message, identifier_fix(name))
    docstring, described = read_docstring(ast.get_docstring(function) or "")
    described = {name: text for name, text in described.items() if writable(text)}
    description = (given.get("description") or mark.description or docstring).strip()
    if not description:
        message = f"Description must be specified for tool {name}!"
        fix = "Please give this tool a docstring."
        result.fault(function.lineno, "description", "description-missing", message, fix)
    words = len(description.split())
    if words > MAX_DESCRIPTION_WORDS:
        message = f"The description has {words} words; search reads the first {MAX_DESCRIPTION_WORDS} at most."
        fix = "Make it shorter."
        result.fault(function.lineno, "description", "description-long", message, fix, "warning")
    if not writable(description):
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
        function=mark.path,
        form=mark.form,
        is_async=isinstance(function, ast.AsyncFunctionDef),
        parameters=parameters,
        input_schema=schema,
        output_schema=_output(function, module),
        source=result.source(function.lineno),
    )
    lines = {f"parameters.{a.arg}": a.lineno for a in _arguments(function)}
    result.add(record, lines | {"answer": line})


def _decorator_values(mark: Mark, module: Module, result: ReadResult) -> dict[str, Any]:
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
        elif not isinstance(value, str):
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
    return {k: v for k, v in value.items() if isinstance(v, str)}


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
