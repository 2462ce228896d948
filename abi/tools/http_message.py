"""A request of an OpenAPI operation, written out: each argument in its place, style by style; and the body."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from abi.records.openapi import Argument, Body, is_json

__all__ = ["Message", "written"]

_RESERVED = ":/?#[]@!$&'()*+,;="
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "simple": ","}


class Message:
    """What goes to the service: the path with its query, headers, and the body's bytes."""

    def __init__(self, target: str, headers: list[tuple[str, str]], content: bytes | None) -> None:
        self.target = target
        self.headers = headers
        self.content = content


def written(path: str, arguments: Iterable[Argument], body: Body | None, values: Mapping[str, Any]) -> Message:
    """Raises ValueError, with the argument's name first, for a value that cannot stand where it belongs."""
    query: list[str] = []
    cookies: list[str] = []
    headers: list[tuple[str, str]] = []
    fields: dict[str, Any] = {}
    whole: list[Any] = []
    for argument in arguments:
        if argument.name not in values:
            continue
        value = values[argument.name]
        if argument.place == "path":
            text = _path(argument, value)
            if text in ("", ".", "..", "%2E", "%2E%2E"):
                raise ValueError(f"{argument.name}: {value!r} cannot stand in a path")
            path = path.replace(f"{{{argument.wire}}}", text)
        elif argument.place == "query":
            query += _pairs(argument, value)
        elif argument.place == "cookie":
            cookies += _pairs(argument, value)
        elif argument.place == "header":
            headers.append((argument.wire, _header(argument, value)))
        elif body is not None and body.whole:
            whole.append(value)
        else:
            fields[argument.wire] = value
    if cookies:
        headers.append(("Cookie", "; ".join(cookies)))
    content = None
    if body is not None and (whole or fields or body.required):
        kind, content = _content(body, whole[0] if whole else fields)
        headers.append(("Content-Type", kind))
    return Message(path + ("?" + "&".join(query) if query else ""), headers, content)


def _text(value: Any) -> str:
    """How a value that is no list and no object is written."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _escaped(value: Any, reserved: bool = False) -> str:
    return quote(_text(value), safe=_RESERVED if reserved else "")


def _path(argument: Argument, value: Any) -> str:
    """simple, label and matrix."""
    if argument.media_type:
        return _escaped(_in_media(value))
    prefix, delimiter = {"label": (".", "."), "matrix": (";", ";")}.get(argument.style, ("", ","))
    name = _escaped(argument.wire)
    matrix = argument.style == "matrix"
    if isinstance(value, dict):
        if argument.explode:
            return prefix + delimiter.join(f"{_escaped(k)}={_escaped(v)}" for k, v in value.items())
        flat = ",".join(f"{_escaped(k)},{_escaped(v)}" for k, v in value.items())
        return f"{prefix}{name}={flat}" if matrix else prefix + flat
    if isinstance(value, list):
        if matrix and argument.explode:
            return "".join(f";{name}={_escaped(v)}" for v in value)
        joined = (delimiter if argument.explode and not matrix else ",").join(_escaped(v) for v in value)
        return f"{prefix}{name}={joined}" if matrix else prefix + joined
    return f"{prefix}{name}={_escaped(value)}" if matrix else prefix + _escaped(value)


def _pairs(argument: Argument, value: Any) -> list[str]:
    """form, spaceDelimited, pipeDelimited and deepObject, as `name=value` pairs."""
    name, reserved = _escaped(argument.wire), argument.reserved
    if argument.media_type:
        return [f"{name}={_escaped(_in_media(value))}"]
    if isinstance(value, dict):
        if argument.style == "deepObject":
            return [f"{name}%5B{_escaped(k)}%5D={_escaped(v, reserved)}" for k, v in value.items()]
        if argument.explode:
            return [f"{_escaped(k)}={_escaped(v, reserved)}" for k, v in value.items()]
        parts = [_escaped(p, reserved) for pair in value.items() for p in pair]
        return [f"{name}={_DELIMITERS.get(argument.style, ',').join(parts)}"]
    if isinstance(value, list):
        if argument.explode or argument.style == "deepObject":
            return [f"{name}={_escaped(v, reserved)}" for v in value]
        return [f"{name}={_DELIMITERS.get(argument.style, ',').join(_escaped(v, reserved) for v in value)}"]
    return [f"{name}={_escaped(value, reserved)}"]


def _header(argument: Argument, value: Any) -> str:
    if argument.media_type:
        text = _in_media(value)
    elif isinstance(value, dict):
        between = "=" if argument.explode else ","
        text = ",".join(f"{k}{between}{_text(v)}" for k, v in value.items())
    elif isinstance(value, list):
        text = ",".join(_text(v) for v in value)
    else:
        text = _text(value)
    if any(ord(c) < 32 or ord(c) == 127 for c in text) or not text.isascii():
        raise ValueError(f"{argument.name}: a header takes printable ASCII characters only")
    return text


def _in_media(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _content(body: Body, value: Any) -> tuple[str, bytes]:
    bare = body.media_type.partition(";")[0].strip().lower()
    if is_json(body.media_type):
        return body.media_type, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    if bare == "application/x-www-form-urlencoded" and isinstance(value, dict):
        return body.media_type, urlencode(list(_form(body, value))).encode("ascii")
    if bare == "multipart/form-data" and isinstance(value, dict):
        return _multipart(value)
    return body.media_type.replace("*/*", "text/plain"), _text(value).encode("utf-8")


def _form(body: Body, fields: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, value in fields.items():
        encoding = body.encoding.get(key, {})
        style = encoding.get("style", "form")
        explode = encoding.get("explode", style == "form")
        if isinstance(value, list) and explode:
            yield from ((key, _text(v)) for v in value)
        elif isinstance(value, list):
            delimiter = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style, ",")
            yield key, delimiter.join(_text(v) for v in value)
        elif isinstance(value, dict) and style == "deepObject":
            yield from ((f"{key}[{k}]", _text(v)) for k, v in value.items())
        else:
            yield key, _text(value)


def _multipart(fields: Mapping[str, Any]) -> tuple[str, bytes]:
    boundary = uuid4().hex
    parts = []
    for key, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            name = key.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
            kind = "Content-Type: application/json\r\n" if isinstance(one, (dict, list)) else ""
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n{kind}\r\n'
            parts.append(head.encode("utf-8") + _text(one).encode("utf-8") + b"\r\n")
    return f"multipart/form-data; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode("ascii")
