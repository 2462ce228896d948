"""An operation of an OpenAPI 3.0 or 3.1 document: its parts, and the JSON Schemas of what goes in and out.

Only references inside the document (`#/`) are followed.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from abi.records.openapi_references import OperationFault, resolved

__all__ = [
    "METHODS",
    "Argument",
    "Body",
    "Operation",
    "OperationFault",
    "is_json",
    "operation_name",
    "server_url",
]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
_MAX_PARTS = 100_000
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the operation's tool. `name` is an identifier; `wire` is what the service calls it.

    `place` is query, path, header, cookie or body. `media_type` is set where a parameter is written in one.
    """

    name: str
    wire: str
    place: str
    schema: Any
    required: bool = False
    description: str = ""
    style: str = "form"
    explode: bool = True
    reserved: bool = False
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """How the body is written. `whole`: one argument is the body; else each body argument is a property of it."""

    media_type: str
    required: bool
    whole: bool
    schema: Any
    encoding: Mapping[str, Any]


class Operation:
    """One operation of a document. Raises OperationFault, on construction or first use of a part, for what is amiss."""

    def __init__(self, document: Mapping[str, Any], path: str, method: str) -> None:
        self.document = document
        self.path = path
        self.method = method.lower()
        paths = document.get("paths")
        item = paths.get(path) if isinstance(paths, Mapping) else None
        self.item: Mapping[str, Any] = _mapping(self.follow(item))
        found = self.item.get(self.method)
        if not isinstance(found, Mapping):
            raise OperationFault(f"The operation {self.method.upper()} {path} does not exist in the specification.")
        self.operation = found

    def follow(self, value: Any) -> Any:
        """The thing itself where `value` is a reference to it."""
        seen: set[str] = set()
        while isinstance(value, Mapping) and isinstance(value.get("$ref"), str):
            ref = value["$ref"]
            if ref in seen:
                raise OperationFault(f"The reference {ref!r} leads to itself.")
            seen.add(ref)
            value = resolved(self.document, ref)
        return value

    @property
    def new(self) -> bool:
        """Whether the document is of OpenAPI 3.1, whose schemas are JSON Schema as they are."""
        return not str(self.document.get("openapi", "")).startswith("3.0")

    @property
    def description(self) -> str:
        return _text(self.operation.get("description"))

    @property
    def summary(self) -> str:
        return _text(self.operation.get("summary")) or _text(self.item.get("summary"))

    @property
    def operation_id(self) -> str:
        return _text(self.operation.get("operationId"))

    @cached_property
    def servers(self) -> list[str]:
        """URLs of the operation's, the path's or the document's servers, with the defaults of their variables."""
        for holder in (self.operation, self.item, self.document):
            listed = [s for s in _list(holder.get("servers")) if isinstance(s, Mapping)]
            if listed:
                return [server_url(server, {}) for server in listed]
        return []

    @cached_property
    def arguments(self) -> list[Argument]:
        """Parameters, then those of the body; each name is there once."""
        found: list[Argument] = []
        for parameter in self._parameters().values():
            found.append(self._argument(parameter, found))
        body = self.body
        if body is None:
            return found
        taken = {a.name for a in found}
        if body.whole:
            name = _free("body", taken, "request")
            return [*found, Argument(name, "", "body", body.schema, body.required, self._body_text())]
        required = body.schema.get("required", [])
        for key, schema in body.schema["properties"].items():
            if isinstance(schema, Mapping) and schema.get("readOnly"):
                continue
            name = _free(_identifier(key), taken, "body")
            taken.add(name)
            needed = body.required and key in required
            text = _text(schema.get("description")) if isinstance(schema, Mapping) else ""
            found.append(Argument(name, key, "body", schema, needed, text))
        return found

    @cached_property
    def body(self) -> Body | None:
        body = self.follow(self.operation.get("requestBody"))
        content = _mapping(body).get("content") if isinstance(body, Mapping) else None
        if not isinstance(content, Mapping) or not content:
            return None
        media_type = min(content, key=_preference)
        media = _mapping(content[media_type])
        schema = media.get("schema", True)
        shape = self.follow(schema)
        flat = isinstance(shape, Mapping) and isinstance(shape.get("properties"), Mapping) and bool(shape["properties"])
        flat = flat and not (shape.keys() & {"allOf", "anyOf", "oneOf", "not", "if", "discriminator"})
        flat = flat and shape.get("additionalProperties", False) in (False, True)
        flat = flat and (is_json(media_type) or media_type in _FORMS)
        flat = flat and shape.get("type", "object") in ("object", ["object"])
        required = bool(body.get("required", False))
        return Body(media_type, required, not flat, shape if flat else schema, _mapping(media.get("encoding")))

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the arguments: an object with one property for each."""
        schemas = _Schemas(self)
        properties: dict[str, Any] = {}
        for argument in self.arguments:
            schema = schemas.upgraded(argument.schema)
            if argument.description and not (isinstance(schema, dict) and schema.get("description")):
                schema = {**schema, "description": argument.description} if isinstance(schema, dict) else schema
                schema = {"description": argument.description} if schema is True else schema
            properties[argument.name] = schema
        out: dict[str, Any] = {"type": "object", "properties": properties}
        required = [a.name for a in self.arguments if a.required]
        if required:
            out["required"] = required
        together = self._needed_together()
        if together:
            out["dependentRequired"] = together
        out["additionalProperties"] = False
        return out | ({"$defs": schemas.definitions} if schemas.definitions else {})

    def _needed_together(self) -> dict[str, list[str]]:
        """A body that may be absent, but if it is there needs some of its properties."""
        body = self.body
        if body is None or body.required or body.whole:
            return {}
        needed = set(body.schema.get("required", []))
        own = [a for a in self.arguments if a.place == "body"]
        names = [a.name for a in own if a.wire in needed]
        return {a.name: [n for n in names if n != a.name] for a in own if any(n != a.name for n in names)}

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of the first 2xx answer that has one in JSON; None where no answer has."""
        responses = _mapping(self.operation.get("responses"))
        for status in sorted(responses):
            if not re.match(r"2(\d\d|XX)\Z", str(status)):
                continue
            content = _mapping(_mapping(self.follow(responses[status])).get("content"))
            for media_type, media in content.items():
                if is_json(media_type) and isinstance(media, Mapping) and "schema" in media:
                    schemas = _Schemas(self)
                    schema = schemas.upgraded(media["schema"])
                    if not isinstance(schema, dict):
                        return None
                    return schema | ({"$defs": schemas.definitions} if schemas.definitions else {})
        return None

    @cached_property
    def security(self) -> list[dict[str, Mapping[str, Any]]]:
        """Ways to be let in, each a mapping of scheme name to scheme; an empty way needs nothing."""
        wanted = self.operation.get("security", self.document.get("security"))
        known = _mapping(_mapping(self.document.get("components")).get("securitySchemes"))
        ways = []
        for way in _list(wanted):
            ways.append({name: _mapping(self.follow(known.get(name))) for name in _mapping(way)})
        return ways

    def _parameters(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Of the path item and of the operation; the operation's stand before the path item's of the same name."""
        merged: dict[tuple[str, str], Mapping[str, Any]] = {}
        for holder in (self.item, self.operation):
            for one in _list(holder.get("parameters")):
                parameter = _mapping(self.follow(one))
                place, name = str(parameter.get("in", "")), str(parameter.get("name", ""))
                # OpenAPI: these three are said by `content` and `security`, and parameters of their names ignored.
                if place == "header" and name.lower() in ("accept", "content-type", "authorization"):
                    continue
                if place in _STYLES and name:
                    merged[place, name] = parameter
        return merged

    def _argument(self, parameter: Mapping[str, Any], before: Iterable[Argument]) -> Argument:
        wire, place = str(parameter["name"]), str(parameter["in"])
        style = str(parameter.get("style") or _STYLES[place])
        content = _mapping(parameter.get("content"))
        media_type = next(iter(content), None)
        schema = _mapping(content[media_type]).get("schema", True) if media_type else parameter.get("schema", True)
        return Argument(
            name=_free(_identifier(wire), {a.name for a in before}, place),
            wire=wire,
            place=place,
            schema=schema,
            required=bool(parameter.get("required", False)) or place == "path",
            description=_text(parameter.get("description")),
            style=style,
            explode=bool(parameter.get("explode", style == "form")),
            reserved=bool(parameter.get("allowReserved", False)),
            media_type=media_type,
        )

    def _body_text(self) -> str:
        return (
            _text(_mapping(self.follow(self.operation.get("requestBody"))).get("description")) or "The request's body."
        )


def server_url(server: Mapping[str, Any], values: Mapping[str, str]) -> str:
    """A server's URL with its variables filled in. Raises OperationFault for a value that a variable does not take."""
    url = str(server.get("url", "/"))
    variables = _mapping(server.get("variables"))
    for name in re.findall(r"\{([^{}]+)\}", url):
        variable = _mapping(variables.get(name))
        value = values.get(name, variable.get("default"))
        allowed = variable.get("enum")
        if value is None:
            raise OperationFault(f"The variable {name!r} of the server {url} has no default and no value.")
        if isinstance(allowed, list) and value not in allowed:
            raise OperationFault(f"The variable {name!r} of the server {url} is one of {', '.join(map(str, allowed))}.")
        url = url.replace(f"{{{name}}}", str(value))
    return url


class _Schemas:
    """Schemas of an OpenAPI document as JSON Schema 2020-12, with the referred-to ones in `definitions`."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self.definitions: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._count = 0

    def upgraded(self, schema: Any) -> Any:
        self._count += 1
        if self._count > _MAX_PARTS:
            raise OperationFault(f"The schemas of the operation have more than {_MAX_PARTS:,} parts.")
        if isinstance(schema, bool) or not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else True
        out: dict[str, Any] = {}
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                out[key] = f"#/$defs/{self._define(value)}"
            elif key in ("properties", "patternProperties", "$defs", "dependentSchemas") and isinstance(value, Mapping):
                out[key] = {str(name): self.upgraded(inner) for name, inner in value.items()}
            elif key in ("allOf", "anyOf", "oneOf", "prefixItems") and isinstance(value, list):
                out[key] = [self.upgraded(inner) for inner in value]
            elif key in _SUBSCHEMAS and isinstance(value, (Mapping, bool)):
                out[key] = self.upgraded(value)
            elif key not in ("xml", "externalDocs", "discriminator", "$schema", "$id"):
                out[key] = value
        return out if self._operation.new else _from_3_0(out)

    def _define(self, ref: str) -> str:
        if ref in self._names:
            return self._names[ref]
        base = re.sub(r"\W", "_", ref.rpartition("/")[2]) or "Schema"
        name, n = base, 1
        while name in self.definitions:
            n += 1
            name = f"{base}{n}"
        self._names[ref] = name
        self.definitions[name] = True  # taken, while the schema may refer to itself
        self.definitions[name] = self.upgraded(resolved(self._operation.document, ref))
        return name


_SUBSCHEMAS = frozenset(
    "items additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties".split()
)


def _from_3_0(schema: dict[str, Any]) -> dict[str, Any]:
    """What OpenAPI 3.0 says in its own words, in those of JSON Schema 2020-12."""
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # in 3.0, what stands beside a reference is ignored
    nullable = schema.pop("nullable", False) is True
    if nullable and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    elif nullable and "allOf" in schema:
        described: dict[str, Any] = {k: schema.pop(k) for k in ("description", "title", "default") if k in schema}
        schema = {**described, "anyOf": [schema, {"type": "null"}]}
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and limit in schema:
            schema[exclusive] = schema.pop(limit)
    return schema


def operation_name(operation: Operation) -> tuple[str, str]:
    """An identifier for the operation, and what was wrong with its own: empty, `missing` or `invalid`."""
    own = operation.operation_id
    if own.isidentifier() and not keyword.iskeyword(own):
        return own, ""
    made = own or f"{operation.method}_{operation.path}"
    return _identifier(re.sub(r"_+", "_", re.sub(r"\W", "_", made)).strip("_")), "invalid" if own else "missing"


def _identifier(name: str) -> str:
    made = re.sub(r"\W", "_", name).strip("_") if not name.isidentifier() else name.lstrip("_")
    if not made or not made.isidentifier():
        made = f"_{made}" if made.isalnum() else "argument"
        made = made if made.isidentifier() and not made.startswith("_") else f"argument{made}"
    return f"{made}_" if keyword.iskeyword(made) else made


def _free(name: str, taken: Iterable[str], place: str) -> str:
    taken = set(taken)
    wanted, n = name if name not in taken else f"{place}_{name}", 1
    while wanted in taken:
        n += 1
        wanted = f"{place}_{name}{n}"
    return wanted


def is_json(media_type: str) -> bool:
    bare = media_type.partition(";")[0].strip().lower()
    return bare == "application/json" or bare.endswith("+json")


def _preference(media_type: str) -> int:
    if media_type.partition(";")[0].strip().lower() == "application/json":
        return 0
    return 1 if is_json(media_type) else 2 + _FORMS.index(media_type) if media_type in _FORMS else 9


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
