"""An OpenAPI document cut down to chosen operations and all that they refer to: what a record keeps of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urljoin

from abi.records.openapi import Operation, server_url
from abi.records.openapi_references import OperationFault, pointer, references, resolved

__all__ = ["narrowed"]

_MAX_REFERENCES = 100_000


def narrowed(
    document: Mapping[str, Any],
    operations: Iterable[tuple[str, str]],
    *,
    location: str = "",
    variables: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The document with these (path, method) only, and all that they refer to; a document of OpenAPI of its own.

    Servers are resolved: variables filled in, relative addresses taken from `location`, where the document lies.
    Raises OperationFault for a reference that leaves the document or leads nowhere.
    """
    info = _mapping(document.get("info"))
    out: dict[str, Any] = {
        "openapi": document.get("openapi", ""),
        "info": {"title": info.get("title", ""), "version": info.get("version", "")},
        "paths": {},
    }
    used: set[str] = set()
    for path, method in operations:
        operation = Operation(document, path, method)
        item = out["paths"].setdefault(path, {})
        for key in ("parameters", "summary"):
            if key in operation.item:
                item[key] = operation.item[key]
        kept = {k: v for k, v in operation.operation.items() if k not in ("callbacks", "externalDocs")}
        kept["servers"] = [{"url": url} for url in _servers(operation, location, variables or {})]
        if "security" not in kept and "security" in document:
            kept["security"] = document["security"]
        item[operation.method] = kept
        for way in _list(kept.get("security")):
            used |= set(_mapping(way))
    schemes = _mapping(_mapping(document.get("components")).get("securitySchemes"))
    for name in sorted(used & schemes.keys()):
        out.setdefault("components", {}).setdefault("securitySchemes", {})[name] = schemes[name]
    todo, seen = list(references(out)), set()
    while todo:
        ref = todo.pop()
        if ref in seen:
            continue
        seen.add(ref)
        target = resolved(document, ref)
        _place(out, document, ref)
        todo += references(target)
        if len(seen) > _MAX_REFERENCES:
            raise OperationFault(f"The specification has more than {_MAX_REFERENCES:,} references.")
    return out


def _servers(operation: Operation, location: str, variables: Mapping[str, str]) -> list[str]:
    listed: list[Mapping[str, Any]] = []
    for holder in (operation.operation, operation.item, operation.document):
        listed = [s for s in _list(holder.get("servers")) if isinstance(s, Mapping)]
        if listed:
            break
    urls = [server_url(server, variables) for server in listed] or ["/"]
    # As Agent Catalog has it: a file that names no host is that of a service on this machine.
    try:
        return [urljoin(location or "http://localhost/", url) for url in urls]
    except ValueError as error:
        raise OperationFault(f"A server of the specification has no proper address: {error}.") from error


def _place(out: dict[str, Any], document: Mapping[str, Any], ref: str) -> None:
    """Copy what a reference points at to the same place; a path's item as a whole, for its parts have positions."""
    parts = pointer(ref)
    depth = {"components": 3, "paths": 2}.get(parts[0], 1)
    if len(parts) < depth:
        raise OperationFault(f"The reference {ref!r} is to no part of the specification that can be referred to.")
    here: Any = document
    there: Any = out
    for part in parts[: depth - 1]:
        here = here[part]
        there = there.setdefault(part, {})
    key = parts[depth - 1]
    if parts[0] == "paths" and key in there:
        there[key] = {**here[key], **there[key]}
    else:
        there.setdefault(key, here[key])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
