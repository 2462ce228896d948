"""Reads `http_request`: operations of an OpenAPI document, each a tool of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from abi.allow_list import AllowList
from abi.errors import AbiError, Invalid
from abi.records.document import Document, decode
from abi.records.header import MAX_DESCRIPTION_WORDS, Header, near, shared_fields, type_name
from abi.records.openapi import METHODS, Operation, OperationFault, operation_name
from abi.records.openapi_snapshot import narrowed
from abi.records.record import HttpRequest
from abi.records.schema_parameters import schema_parameters
from abi.yaml_reader import load_yaml

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["read"]


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds an HttpRequest for each operation that is whole, and all findings, to `result`."""
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    shared = shared_fields(header)
    shared["credentials"] = _credentials(header)
    inner = header.child("open_api", header.mapping("open_api"))
    shared["extras"] = header.extras()
    if header.raw("open_api") is None:
        fix = "Add `open_api:` with `filename:` or `url:`, and `operations:`."
        header.fault("open_api", "open-api-missing", "The record names no OpenAPI specification.", fix)
        return
    source = _source(inner, context, result)
    wanted = _operations(inner)
    variables = {str(k): str(v) for k, v in inner.mapping("server_variables").items()}
    inner.extras()
    if source is None:
        return
    specification, name, digest, location = source
    sound = _sound(specification, wanted)
    for at, path, method in wanted:
        made = _record(inner, at, path, method, specification, location, variables, shared, context, sound)
        if made is not None:
            fields, line = made
            fields |= {"specification_source": name, "specification_hash": digest}
            lines = {"name": line, "operations": line}
            result.add(HttpRequest(**fields, source=result.source(line)), lines)


def _credentials(header: Header) -> dict[str, Any]:
    """`secrets: [{bearerAuth: NAME}, {basicAuth: {username: NAME, password: NAME}}]`, by security scheme."""
    value = header.raw("secrets")
    items = value if isinstance(value, list) else [value]
    found: dict[str, Any] = {}
    for item in items:
        for scheme, names in item.items() if isinstance(item, dict) else ():
            if isinstance(names, str):
                found[str(scheme)] = names
            elif isinstance(names, dict) and names and all(isinstance(v, str) for v in names.values()):
                found[str(scheme)] = next(iter(names.values())) if len(names) == 1 else dict(names)
    return found


def _operations(header: Header) -> list[tuple[str, str, str]]:
    """(Dotted place, path, method) of each operation that is named in full."""
    items = header.items("operations")
    if not items and not isinstance(header.value.get("operations"), (str, dict, int, float, bool)):
        fix = "Add `operations:` with a list of `path:` and `method:`."
        header.fault("operations", "operations-missing", "The record names no operation.", fix)
    found = []
    for n, item in enumerate(items):
        at = f"operations.{n}"
        if not isinstance(item, dict):
            message = f"An operation must be a mapping of path and method, not {type_name(item)}."
            header.fault(at, "type-wrong", message, "Write `- path: /things` and below it `method: get`.")
            continue
        inner = header.child(at, item)
        path, method = inner.text("path"), inner.text("method")
        for key, value in (("path", path), ("method", method)):
            if value is None and item.get(key) is None:
                inner.fault(key, f"{key}-missing", f"The operation has no {key}.", f"Add `{key}:`.")
        if method is not None and method.lower() not in METHODS:
            fix = near(method.lower(), METHODS) or f"Write one of {', '.join(METHODS)}."
            inner.fault("method", "method-invalid", f"{method!r} is no HTTP method.", fix)
            method = None
        inner.extras()
        if path is not None and method is not None:
            found.append((at, path, method.lower()))
    return found


def _source(header: Header, context: ReadContext, result: ReadResult) -> tuple[Mapping[str, Any], str, str, str] | None:
    """The specification, its name, its hash, and the URL that its relative addresses are taken from."""
    filename, url = header.text("filename"), header.text("url")
    if filename and url:
        message = "Both filename and url are given."
        header.fault("url", "specification-ambiguous", message, "Keep one of the two.")
        return None
    if filename:
        found = _file(header, filename, context, result)
        if found is None:
            return None
        path, data = found
        place, name = "filename", path
    elif url:
        place, name = "url", url
        try:
            if context.fetch is None:
                raise ValueError("here, no specification is fetched")
            data = context.fetch(url)
        except (AbiError, ValueError) as error:
            why, fix = (error.message, error.hint) if isinstance(error, AbiError) else (str(error), "")
            message = f"The specification cannot be had from its url: {why}"
            header.fault("url", "specification-unreachable", message, fix or "Check the address, or use a file.")
            return None
    else:
        if header.value.get("filename") is None and header.value.get("url") is None:
            message = "Neither filename nor url of a specification is given."
            header.fault("", "specification-missing", message, "Add `filename:` or `url:` below `open_api:`.")
        return None
    specification = _parsed(header, place, name, data)
    if specification is None:
        return None
    return specification, name, hashlib.sha256(data).hexdigest(), url or ""


def _file(header: Header, filename: str, context: ReadContext, result: ReadResult) -> tuple[str, bytes] | None:
    """Beside the record, else from the workspace's root, else from the working directory; never outside of both."""
    file = result.file
    root = file.absolute.parents[len(PurePosixPath(file.path).parts) - 1].resolve()
    here = Path.cwd().resolve()
    outside = False
    for folder in (file.absolute.parent, root, here):
        try:
            path = (folder / filename).resolve()
            if not path.is_file():
                continue
            if not (path.is_relative_to(root) or path.is_relative_to(here)):
                outside = True
                continue
            if path.stat().st_size > context.settings.net_bytes:
                message = f"The specification {filename} has more than {context.settings.net_bytes:,} bytes."
                header.fault("filename", "specification-large", message, "Make it smaller, or raise net_bytes.")
                return None
            name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
            return name, path.read_bytes()
        except (OSError, RuntimeError, ValueError) as error:
            message = f"The specification {filename} cannot be read: {getattr(error, 'strerror', None) or error}."
            header.fault("filename", "specification-unreadable", message, "Check that you may read it.")
            return None
    if outside:
        message = f"The specification {filename} is outside the workspace."
        header.fault("filename", "path-outside", message, "Copy it into the workspace.")
        return None
    beside = [p.name for p in file.absolute.parent.iterdir() if p.suffix.lower() in (".json", ".yaml", ".yml")]
    fix = near(filename, set(beside) - {file.absolute.name}) or "Put it beside this file, or correct the name."
    header.fault("filename", "specification-missing", f"The specification {filename} does not exist.", fix)
    return None


def _parsed(header: Header, place: str, name: str, data: bytes) -> Mapping[str, Any] | None:
    value, code, message = _parse(data, name)
    version = value.get("openapi") if isinstance(value, Mapping) else None
    fix = "Correct it there."
    if not message and not (isinstance(version, str) and version.startswith(("3.0", "3.1"))):
        code = "specification-version"
        said = f"OpenAPI {version}" if version else "no OpenAPI of version 3"
        if isinstance(value, Mapping) and "swagger" in value:
            said = f"Swagger {value['swagger']}"
        message = f"{name} is {said}; 3.0 and 3.1 are read."
        fix = "Convert it to OpenAPI 3, or give another file."
    elif not message and isinstance(value, Mapping) and not value.get("paths"):
        code, message, fix = "specification-empty", f"{name} has no paths.", "Give a specification with operations."
    if message:
        header.fault(place, code, message, fix)
        return None
    assert isinstance(value, Mapping)
    return value


@lru_cache(maxsize=8)
def _parse(data: bytes, name: str) -> tuple[Any, str, str]:
    """The document, or a code and what is wrong with it. Several records often name one document."""
    text, findings = decode(data, name)
    if text is None:
        return None, "specification-encoding", f"{name}: {findings[-1].message}"
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text), "", ""
        except ValueError as error:
            if name.endswith(".json"):
                return None, "specification-syntax", f"{name} is no JSON: {error}."
        except RecursionError:
            return None, "specification-syntax", f"{name} is nested too deeply."
    try:
        located = load_yaml(text, name)
    except Invalid as error:
        first = error.findings[0]
        return None, "specification-syntax", f"{name}, line {first.line}: {first.message}"
    worst = [f for f in located.findings if f.severity == "error"]
    if worst:
        return None, "specification-syntax", f"{name}, line {worst[0].line}: {worst[0].message}"
    return located.value, "", ""


def _record(
    header: Header,
    at: str,
    path: str,
    method: str,
    specification: Mapping[str, Any],
    location: str,
    variables: Mapping[str, str],
    shared: Mapping[str, Any],
    context: ReadContext,
    sound: bool,
) -> tuple[dict[str, Any], int] | None:
    where = f"{at}.path"
    called = f"{method.upper()} {path}"
    paths = specification.get("paths")
    if not isinstance(paths, Mapping) or path not in paths:
        fix = near(path, [str(p) for p in paths or []]) or "Write the path as the specification has it."
        message = f"The specification has no path {path!r}."
        header.fault(where, "operation-missing", message, fix)
        return None
    item = paths[path]
    try:
        snapshot = narrowed(specification, [(path, method)], location=location, variables=variables)
        faults = [] if sound else list(_faults(snapshot))
        if faults:
            for fault_at, message in faults:
                text = f"The specification of {called} is not valid at {fault_at}: {message}"
                header.fault(where, "specification-invalid", text, "Correct the specification.")
            return None
        operation = Operation(snapshot, path, method)
        name, fault = operation_name(operation)
        schemas = {"input_schema": operation.input_schema, "output_schema": operation.output_schema}
    except OperationFault as error:
        known = [m for m in METHODS if isinstance(item, Mapping) and m in item]
        missing = method not in known and known
        fix = f"The path has: {', '.join(known)}." if missing else "Correct the specification."
        code = "operation-missing" if missing else "specification-invalid"
        header.fault(f"{at}.method" if missing else where, code, f"{called}: {error}", fix)
        return None
    if fault:
        own = operation.operation_id
        said = f"The operationId {own!r} is no identifier" if own else f"{called} has no operationId"
        message = f"{said}; the tool is called {name!r}."
        header.fault(where, f"operation-id-{fault}", message, f"Write `operationId: {name}`.", "warning")
    description = operation.description or operation.summary
    if not description:
        message = f"{called} has neither a description nor a summary."
        header.fault(where, "description-missing", message, "Add a description to the operation: agents choose by it.")
    elif not operation.description:
        message = f"{called} has no description; its summary is used."
        fix = "Add a description to the operation: what it does and when to use it."
        header.fault(where, "description-from-summary", message, fix, "warning")
    if len(description.split()) > MAX_DESCRIPTION_WORDS:
        message = f"The description of {called} has more than {MAX_DESCRIPTION_WORDS} words; search reads no more."
        header.fault(where, "description-long", message, "Make it shorter.", "warning")
    _reachable(header, at, called, operation.servers, context)
    _secrets(header, at, called, operation, shared["credentials"])
    if not description:
        return None
    parameters = schema_parameters(schemas["input_schema"] or {})
    fields = {**shared, **schemas, "name": name, "description": description, "method": method.upper(), "path": path}
    return {**fields, "specification": snapshot, "parameters": parameters}, header.line(at)


def _sound(specification: Mapping[str, Any], wanted: list[tuple[str, str, str]]) -> bool:
    """Whether all operations together are free of faults, which is much faster told than of each by itself."""
    try:
        return not list(_faults(narrowed(specification, [(path, method) for _, path, method in wanted])))
    except OperationFault:
        return False


def _faults(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and message of what OpenAPI's own rules say is wrong; at most five."""
    from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

    new = str(snapshot.get("openapi", "")).startswith("3.1")
    validator = (OpenAPIV31SpecValidator if new else OpenAPIV30SpecValidator)(dict(snapshot))
    n = 0
    try:
        for n, error in enumerate(validator.iter_errors(), start=1):
            yield "/".join(str(p) for p in error.absolute_path) or "its root", _brief(str(error.message))
            if n == 5:
                return
    except Exception as error:
        # The library goes on to the next check after one that failed, and may stumble over what that one found.
        if not n:
            yield "its root", f"it cannot be checked ({type(error).__name__}: {error})"


def _brief(message: str) -> str:
    """The library may append the rule and the value, on lines of their own."""
    return message.partition("\n")[0][:300]


def _reachable(header: Header, at: str, called: str, servers: list[str], context: ReadContext) -> None:
    allow = AllowList(context.settings.net_allow)
    if servers and not any(allow.allows(url) for url in servers):
        message = f"{called} goes to {servers[0]}, which net_allow does not list; the tool will not run."
        fix = "If you trust the host, add it to net_allow in abi.yaml."
        header.fault(f"{at}.path", "host-not-allowed", message, fix, "warning")


def _secrets(header: Header, at: str, called: str, operation: Operation, credentials: Mapping[str, Any]) -> None:
    ways = operation.security
    if ways and not any(way.keys() <= credentials.keys() for way in ways):
        scheme = next(iter(ways[0]))
        message = f"{called} needs {' and '.join(ways[0])}, for which no secret is named."
        fix = f"Add `secrets: [{{{scheme}: NAME_OF_THE_SECRET}}]`."
        if _is_basic(ways[0][scheme]):
            fix = f"Add `secrets: [{{{scheme}: {{username: NAME, password: NAME}}}}]`."
        header.fault(f"{at}.path", "secret-missing", message, fix, "warning")


def _is_basic(scheme: Mapping[str, Any]) -> bool:
    return scheme.get("type") == "http" and str(scheme.get("scheme", "")).lower() == "basic"
