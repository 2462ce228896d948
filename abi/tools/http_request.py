"""Runs an `http_request`: checked arguments, one request through the guarded client, the answer as JSON values."""

from __future__ import annotations

import base64
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from abi.errors import Denied, NetworkError, ToolFailed
from abi.net import NetClient, Reply, net_client
from abi.records.openapi import Operation, OperationFault, is_json
from abi.records.record import HttpRequest
from abi.tools.arguments import argument_error
from abi.tools.http_message import Message, written
from abi.tools.json_values import rows_of
from abi.tools.runner import RunContext, ToolResult
from abi.tools.schema_model import schema_faults, schema_model, schema_values

__all__ = ["run"]

_SHOWN = 2_000
"""Characters of an error's body that are shown."""


def run(record: HttpRequest, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Any 2xx is a success; an empty body gives None, a body that is no JSON its text.

    Raises ArgumentError with all faults of the arguments, Denied for a host that is not allowed, NetworkError, NotFound
    for a secret without a value, and ToolFailed with the status and the beginning of the body, or where a declared
    result does not come.
    """
    prepared = _prepared(record)
    values = schema_values(prepared.model, raw_arguments, record.name)
    operation = prepared.operation
    try:
        message = written(operation.path, operation.arguments, operation.body, values)
    except ValueError as error:
        name, _, text = str(error).partition(": ")
        raise argument_error(record.name, [{"argument": name, "message": text}]) from None
    message.headers.append(("Accept", prepared.accept))
    _authorize(record, operation, message, context)
    client = net_client(context.settings)
    url = _url(record, operation, client, message.target)
    try:
        reply = client.request(record.method, url, headers=message.headers, content=message.content)
    except (Denied, NetworkError) as error:
        raise type(error)(f"{record.name}: {error.message}", hint=error.hint) from error
    result = _result(record, prepared, reply)
    rows = rows_of(result)
    return ToolResult(
        tool=record.name,
        arguments=values,
        rows=rows,
        result=result,
        row_count=len(rows),
        truncated=rows.truncated,
    )


class _Prepared:
    """What a record's calls have in common."""

    def __init__(self, record: HttpRequest) -> None:
        try:
            self.operation = Operation(record.specification, record.path, record.method)
            self.arguments = self.operation.arguments
        except OperationFault as error:
            raise ToolFailed(f"{record.name} cannot run: {error}", hint="Run `abi index`.") from error
        self.model: type[BaseModel] = schema_model(record.input_schema, record.name)
        self.output: type[BaseModel] | None = None
        if record.output_schema is not None:
            self.output = schema_model(_open(record.output_schema), f"{record.name}_result")
        self.accept = "application/json, */*;q=0.5"


_cache: OrderedDict[str, tuple[HttpRequest, _Prepared]] = OrderedDict()
_cache_lock = threading.Lock()


def _prepared(record: HttpRequest) -> _Prepared:
    """Made once for a record, and again when it is another one under the same name."""
    with _cache_lock:
        found = _cache.get(record.name)
        if found is not None and (found[0] is record or found[0] == record):
            _cache.move_to_end(record.name)
            return found[1]
    made = _Prepared(record)
    with _cache_lock:
        _cache[record.name] = (record, made)
        while len(_cache) > 256:
            _cache.popitem(last=False)
    return made


def _open(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A service may send more than it has declared."""
    if "properties" in schema and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": True}
    return dict(schema)


def _url(record: HttpRequest, operation: Operation, client: NetClient, target: str) -> str:
    """On the first server that may be reached."""
    try:
        urls = [url.rstrip("/") + target for url in operation.servers]
    except OperationFault as error:
        raise ToolFailed(f"{record.name} cannot run: {error}") from error
    if not urls:
        raise ToolFailed(f"{record.name} cannot run: its specification names no server.", hint="Run `abi index`.")
    return next((url for url in urls if client.allows(url)), urls[0])


def _authorize(record: HttpRequest, operation: Operation, message: Message, context: RunContext) -> None:
    """Put in the secrets of the first way to be let in for which the record names them all."""
    ways = operation.security
    way = next((w for w in ways if w and w.keys() <= record.credentials.keys()), None)
    if way is None:
        if ways and {} not in ways:
            needed = " and ".join(ways[0])
            hint = f"Name its secret under `secrets:` in the record's file: - {{{next(iter(ways[0]))}: NAME}}."
            raise ToolFailed(f"{record.name} cannot run: it needs {needed}, for which no secret is named.", hint=hint)
        return
    for name, scheme in way.items():
        _put(record, name, scheme, message, context)


def _put(record: HttpRequest, name: str, scheme: Mapping[str, Any], message: Message, context: RunContext) -> None:
    names = record.credentials[name]
    kind, sort = str(scheme.get("type", "")), str(scheme.get("scheme", "")).lower()
    if kind == "http" and sort == "basic":
        if not isinstance(names, dict) or not {"username", "password"} <= names.keys():
            hint = f"Write - {{{name}: {{username: NAME, password: NAME}}}} under `secrets:`."
            raise ToolFailed(f"{record.name} cannot run: {name} needs two secrets, username and password.", hint=hint)
        pair = f"{_secret(names['username'], context)}:{_secret(names['password'], context)}"
        message.headers.append(("Authorization", "Basic " + base64.b64encode(pair.encode()).decode()))
        return
    value = _secret(names if isinstance(names, str) else next(iter(names.values())), context)
    if any(ord(c) < 32 or ord(c) > 126 for c in value):
        raise ToolFailed(f"{record.name} cannot run: the secret of {name} has characters that no request can carry.")
    if kind == "apiKey":
        place, wire = scheme.get("in"), str(scheme.get("name", ""))
        if place == "query":
            message.target += (
                "&" if "?" in message.target else "?"
            ) + f"{quote(wire, safe='')}={quote(value, safe='')}"
        elif place == "cookie":
            old = [v for k, v in message.headers if k == "Cookie"]
            message.headers = [(k, v) for k, v in message.headers if k != "Cookie"]
            message.headers.append(("Cookie", "; ".join([*old, f"{wire}={quote(value, safe='')}"])))
        else:
            message.headers.append((wire, value))
    elif kind in ("oauth2", "openIdConnect") or (kind == "http" and sort == "bearer"):
        message.headers.append(("Authorization", f"Bearer {value}"))
    else:
        raise ToolFailed(f"{record.name} cannot run: {name} is of the type {kind} {sort}, which abi does not know.")


def _secret(name: str, context: RunContext) -> str:
    if context.secret is None:
        raise ToolFailed(f"The secret {name} cannot be looked up here.")
    return context.secret(name)


def _result(record: HttpRequest, prepared: _Prepared, reply: Reply) -> Any:
    called = f"{record.method} {record.path}"
    if not 200 <= reply.status < 300:
        body = reply.text.strip()
        cut = len(body) > _SHOWN or reply.truncated
        shown = body[:_SHOWN] + (" [cut]" if cut else "")
        raise ToolFailed(
            f"{record.name}: {called} answered with status {reply.status}" + (f": {shown}" if shown else "."),
            details={"tool": record.name, "status": reply.status, "body": shown},
        )
    if not reply.content:
        return None
    if not is_json(reply.media_type):
        if reply.media_type.startswith("text/") or reply.media_type in ("", "application/xml"):
            return reply.text
        return {"media_type": reply.media_type, "base64": base64.b64encode(reply.content).decode()}
    try:
        result = json.loads(reply.content)
    except (ValueError, RecursionError) as error:
        message = f"{record.name}: {called} sent {reply.media_type} that is none ({type(error).__name__}): "
        raise ToolFailed(message + reply.text[:200], details={"tool": record.name, "status": reply.status}) from None
    if prepared.output is not None:
        faults = schema_faults(prepared.output, result)[1]
        if faults:
            listed = "; ".join(f"{f['argument'] or 'the result'}: {f['message']}" for f in faults[:5])
            raise ToolFailed(
                f"{record.name}: {called} sent what its specification does not declare: {listed}",
                details={"tool": record.name, "status": reply.status, "faults": faults[:20]},
            )
    return result
