"""Calls a function of a Python file, in this process: the arguments in its types, its result as JSON.

pydantic is loaded where a value has to be made into something else than what JSON gave: most calls start without it.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from abi.errors import AbiError, ArgumentError, ToolFailed
from abi.tools.graph import IRI, Graph
from abi.tools.json_values import jsonable
from abi.tools.python_module import beside, load_module

__all__ = ["Job", "call"]

_MAX_ITEMS = 10_000
"""Items that are taken from a generator at most."""
_objects: WeakKeyDictionary[type, Any] = WeakKeyDictionary()
"""Agents by their class, kept as long as its module."""
_MAX_SAID = 2_000
"""Characters of an exception's own message that are told."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a call has to know of a tool: its name, its file relative to the workspace, and the function in it."""

    name: str
    path: str
    function: str
    optional: tuple[str, ...] = ()
    """Parameters that may be left out and have no default that JSON could hold."""


def call(job: Job, arguments: Mapping[str, Any], *, root: Path, data: bytes, graph: Graph | None = None) -> Any:
    """What the function gives back, as JSON values. `data` is the file's content, `root` the workspace's real path;
    `graph` is given to the function's parameters of type Graph.

    Arguments are JSON values; parameters that are pydantic models, dataclasses or dates are built from them. Raises
    ArgumentError, and ToolFailed with the line where it failed.
    """
    path = root / job.path
    try:
        function = _found(load_module(path, root, data), job.function)
    except (Exception, SystemExit) as error:
        raise _failed(job, error, path, "could not be loaded") from error
    if all(name.isdigit() for name in arguments) and arguments:  # a hook, which is given texts in its own order
        function, arguments = partial(function, *arguments.values()), {}
    with beside(path):
        if "." in job.function:
            arguments = _gathered(function, arguments, job)
        bound = _bind(job, function, arguments, graph)
    try:
        return _json(_finish(function(*bound.args, **bound.kwargs)))
    except AbiError as error:
        # A query that the function asked: its own words say what is wrong.
        error.details.setdefault("tool", job.name)
        raise
    except (Exception, SystemExit) as error:
        raise _failed(job, error, path, "failed") from error


def _found(module: ModuleType, name: str) -> Callable[..., Any]:
    """A function of a module, or a method of an object that a class of it makes of itself: `Agent.method`."""
    owner, _, method = name.partition(".")
    found = getattr(module, owner)
    if not method:
        return cast("Callable[..., Any]", found)
    if isinstance(inspect.getattr_static(found, method), classmethod | staticmethod):
        return cast("Callable[..., Any]", getattr(found, method))
    if found not in _objects:
        _objects[found] = found.New()
    return cast("Callable[..., Any]", getattr(_objects[found], method))


def _gathered(method: Callable[..., Any], arguments: Mapping[str, Any], job: Job) -> Mapping[str, Any]:
    """The arguments as the one model that a method takes, where it takes one."""
    parameters = list(inspect.signature(method).parameters)
    try:
        hints = get_type_hints(inspect.unwrap(getattr(method, "func", method)))
    except Exception:  # a name that only a type checker sees
        return arguments
    model = hints.get(parameters[0]) if len(parameters) == 1 else None
    fields = getattr(model, "model_fields", {})
    if not isinstance(model, type) or not fields.keys() >= arguments.keys():
        return arguments
    # The model's own default counts where the record has none that JSON could hold.
    return {parameters[0]: {n: v for n, v in arguments.items() if v is not None or n not in job.optional}}


def _bind(
    job: Job, function: Callable[..., Any], arguments: Mapping[str, Any], graph: Graph | None
) -> inspect.BoundArguments:
    """The arguments in the types that the function's annotations ask for."""
    signature = inspect.signature(function)
    try:
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception:  # a name that only a type checker sees
        hints = {}
    values: dict[str, Any] = {}
    faults: list[dict[str, str]] = []
    for name, parameter in signature.parameters.items():
        default = parameter.default
        if hints.get(name) is Graph:
            values[name] = graph
            continue
        if name not in arguments or (arguments[name] is None and name in job.optional):
            # The function's own default counts where the record has none that JSON could hold.
            if _is_field(default) and not default.is_required():
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
        except ValueError as error:
            for fault in _errors(error):
                argument = ".".join(str(part) for part in (name, *fault["loc"]))
                faults.append({"argument": argument, "message": fault["msg"]})
    unknown = arguments.keys() - signature.parameters.keys()
    faults += [{"argument": name, "message": "there is no such argument"} for name in sorted(unknown)]
    if faults:
        told = "; ".join(f"{fault['argument']}: {fault['message']}" for fault in faults)
        raise ArgumentError(f"The tool {job.name} cannot take these arguments: {told}.", details={"faults": faults})
    return inspect.BoundArguments(signature, values)


def _is_field(default: Any) -> bool:
    pydantic = sys.modules.get("pydantic.fields")
    return pydantic is not None and isinstance(default, pydantic.FieldInfo)


def _errors(error: ValueError) -> list[Any]:
    """A validator may raise what it likes; pydantic's own error lists everything that is wrong."""
    listed = getattr(error, "errors", None)
    return list(listed()) if callable(listed) else [{"loc": (), "msg": str(error)}]


def _convert(hint: Any, value: Any) -> Any:
    if isinstance(value, IRI) or _is_already(hint, value):
        return value
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
    except (PydanticUserError, NameError):  # a class that pydantic knows nothing of
        return value
    return adapter.validate_python(value)


def _is_already(hint: Any, value: Any) -> bool:
    """Whether a JSON value needs no pydantic to be what a parameter's annotation asks for."""
    if hint is Any or hint is type(value) or (value is None and hint is None):
        return True
    origin = get_origin(hint)
    if origin is Union or origin is UnionType:
        return any(_is_already(one, value) for one in get_args(hint))
    if origin is list and type(value) is list:
        return all(_is_already(get_args(hint)[0], one) for one in value)
    if origin is dict and type(value) is dict:
        return get_args(hint)[0] is str and all(_is_already(get_args(hint)[1], one) for one in value.values())
    return False


def _json(value: Any) -> Any:
    if _is_json(value):
        return value
    if type(value).__module__.partition(".")[0] == "rdflib" and hasattr(value, "serialize"):
        return value.serialize(format="nt")
    from pydantic_core import to_jsonable_python

    return jsonable(to_jsonable_python(value, fallback=str, bytes_mode="base64"))


def _is_json(value: Any, depth: int = 0) -> bool:
    kind = type(value)
    if value is None or kind in (str, int, bool):
        return True
    if kind is float:
        return isfinite(value)
    if depth > 100:
        return False
    if kind is list:
        return all(_is_json(one, depth + 1) for one in value)
    return kind is dict and all(type(k) is str and _is_json(v, depth + 1) for k, v in value.items())


def _finish(result: Any) -> Any:
    if inspect.isawaitable(result):
        result = _await(result)
    if inspect.isgenerator(result):
        return list(itertools.islice(result, _MAX_ITEMS))
    return result


def _await(awaitable: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await awaitable

    return asyncio.run(wait())


def _failed(job: Job, error: BaseException, path: Path, what: str) -> ToolFailed:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else None
    line = line or (lines[-1] if lines else None)
    where = f"{job.path}:{line}" if line else job.path
    said = str(error)
    if len(said) > _MAX_SAID:
        said = f"{said[:_MAX_SAID]}..."
    message = f"The tool {job.name} {what} at {where}: {type(error).__name__}: {said}".rstrip(": ")
    hint = ""
    if isinstance(error, ImportError):
        beside_it = error.name is not None and path.with_name(f"{error.name.partition('.')[0]}.py").exists()
        hint = "Import modules of its folder at the top of the file." if beside_it else "Install what it imports."
    details = {"tool": job.name, "path": job.path, "line": line, "error": type(error).__name__}
    return ToolFailed(message, hint=hint, details=details)
