"""The OpenAPI document: the fixed routes, and one operation for each tool and prompt of the graph as it is now."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from abi import __version__
from abi.server.access import caller
from abi.server.documents import ErrorDocument, answered
from abi.server.html_page import html_page, text
from abi.server.service import service_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from abi.records.record import Record
    from abi.server.served_catalog import Offer
    from abi.server.service import Service

__all__ = ["Documents", "router"]

router = APIRouter()
_ABOUT = (
    "Everything that a workspace can do, over HTTP. Reading and chatting need a key only where there are keys; changes "
    "always do. Every error has the one shape `Error`; its `code` is stable."
)
_ERROR = {"$ref": "#/components/schemas/Error"}
_WENT_WRONG = {
    "description": "What went wrong, and what to do about it.",
    "content": {"application/json": {"schema": _ERROR}},
}
_TAGS = [
    {"name": "agents", "description": "Conversations: whole, or as events while they happen."},
    {"name": "tools", "description": "Each tool of the graph, with the arguments that it takes."},
    {"name": "prompts", "description": "Each prompt of the graph, rendered."},
    {"name": "catalog", "description": "Search and look up records."},
    {"name": "graph", "description": "SPARQL, named graphs, and what the graph says of an IRI."},
    {"name": "files and graph", "description": "Index, check, load, export."},
    {"name": "versions", "description": "Immutable versions of the catalog."},
    {"name": "threads", "description": "The conversations of the caller."},
    {"name": "operation", "description": "Whether the server is well, and what it holds."},
]


class Documents:
    """The document of one application. Made anew when the graph has moved; what every caller may know apart."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._fixed: dict[str, Any] | None = None
        self._made: tuple[int, dict[str, Any]] | None = None

    def of(self, offer: Offer | None, title: str) -> dict[str, Any]:
        """`offer`: None leaves out what is in the graph."""
        with self._lock:
            if self._fixed is None:
                self._fixed = _fixed(self._app, title)
            if offer is None:
                return self._fixed
            if self._made is None or self._made[0] != offer.version:
                self._made = offer.version, _with_offer(self._fixed, offer, title)
            return self._made[1]


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """The document; without a key where there are keys, that of the fixed routes alone."""
    return answered(await _document(request))


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The same for people."""
    document = await _document(request)
    by_tag: dict[str, list[str]] = {tag["name"]: [] for tag in _TAGS}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            by_tag.setdefault((operation.get("tags") or ["operation"])[0], []).append(_entry(method, path, operation))
    sections = "".join(f"<h2>{text(tag)}</h2>{''.join(entries)}" for tag, entries in by_tag.items() if entries)
    schemas = "".join(
        f'<details id="{text(name)}"><summary><code>{text(name)}</code></summary><pre>{_json(schema)}</pre></details>'
        for name, schema in document["components"]["schemas"].items()
    )
    info = document["info"]
    body = (
        f"<h1>{text(info['title'])}</h1><p>{text(info['description'])}</p>"
        f'<p>The same for programs: <a href="/openapi.json">/openapi.json</a></p>{sections}<h2>Schemas</h2>{schemas}'
    )
    return html_page(str(info["title"]), body)


async def _document(request: Request) -> dict[str, Any]:
    service: Service = service_of(request)
    documents: Documents = request.app.state.documents
    hidden = caller(request).anonymous and service.keys.exist()

    def made() -> dict[str, Any]:
        return documents.of(None if hidden else service.catalog.now(), service.workspace.root.name)

    return await service.work(made)


def _entry(method: str, path: str, operation: dict[str, Any]) -> str:
    about = f"<p>{text(operation.get('description', ''))}</p>" if operation.get("description") else ""
    parts = [
        f"<tr><th><code>{text(p['name'])}</code> <small>{text(p['in'])}</small></th>"
        f"<td>{text(p.get('description', ''))} <small>{_json(p.get('schema', {}))}</small></td></tr>"
        for p in operation.get("parameters", [])
    ]
    takes = f"<table>{''.join(parts)}</table>" if parts else ""
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        takes += f"<p><small>{text(media)}</small></p><pre>{_json(body)}</pre>"
    return (
        f"<details><summary><code>{text(method.upper())} {text(path)}</code> {text(operation.get('summary', ''))}"
        f"</summary>{about}{takes}</details>"
    )


def _json(value: object) -> str:
    import json

    return text(json.dumps(value, ensure_ascii=False, indent=1))


def _fixed(app: FastAPI, title: str) -> dict[str, Any]:
    from abi.server.protocol_docs import PATHS

    document = get_openapi(
        title=f"{title} (abi)", version=__version__, description=_ABOUT, routes=app.routes, tags=_TAGS
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for ours in ("HTTPValidationError", "ValidationError"):
        schemas.pop(ours, None)
    error = ErrorDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(error.pop("$defs", {}))
    schemas["Error"] = error
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "A key of `abi key create`."}
    }
    document["security"] = [{}, {"key": []}]
    document["paths"].update(PATHS)
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.get("responses", {}).pop("422", None)
            operation.setdefault("responses", {})["default"] = _WENT_WRONG
    return document


def _with_offer(fixed: dict[str, Any], offer: Offer, title: str) -> dict[str, Any]:
    from abi.exchange.openapi import openapi_document

    tools = openapi_document(list(offer.tools.values()), title=title, version=str(offer.version))
    schemas = {**tools["components"]["schemas"], **fixed["components"]["schemas"]}
    paths = dict(fixed["paths"])
    for path, operations in tools["paths"].items():
        operation = {**operations["post"], "tags": ["tools"]}
        _exemplify(operation, offer.tools[path.removeprefix("/tools/")])
        operation["requestBody"] = {**operation["requestBody"], "required": _needs_something(operation, schemas)}
        paths[path] = {"post": operation}
    for name, record in offer.prompts.items():
        paths[f"/prompts/{name}"] = {"post": _prompt(name, record)}
    components = {**fixed["components"], "schemas": schemas}
    return {**fixed, "paths": paths, "components": components, "x-abi-graph-version": offer.version}


def _needs_something(operation: dict[str, Any], schemas: dict[str, Any]) -> bool:
    """Whether an empty call is a wrong one."""
    reference = operation["requestBody"]["content"]["application/json"]["schema"].get("$ref", "")
    return bool(schemas.get(reference.rpartition("/")[2], {}).get("required"))


def _prompt(name: str, record: Record) -> dict[str, Any]:
    from abi.exchange.tool_schemas import argument_schema

    schema = argument_schema(record)
    operation: dict[str, Any] = {
        "operationId": f"prompt_{name}",
        "tags": ["prompts"],
        "summary": name.replace("_", " "),
        "description": record.description,
        "requestBody": {
            "required": bool(schema.get("required")),
            "content": {"application/json": {"schema": schema}},
        },
        "responses": {
            "200": {
                "description": "The text, and the tools that belong to it.",
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "required": ["prompt", "arguments", "text", "tools"],
                            "properties": {
                                "prompt": {"type": "string"},
                                "arguments": {"type": "object"},
                                "text": {"type": "string"},
                                "tools": {"type": "array", "items": {"type": "string"}},
                            },
                        }
                    }
                },
            },
            "default": _WENT_WRONG,
        },
    }
    _exemplify(operation, record)
    return operation


def _exemplify(operation: dict[str, Any], record: Record) -> None:
    """An example call, where the record's own examples make a whole one."""
    example: dict[str, Any] = {}
    for parameter in getattr(record, "parameters", []):
        if parameter.filled_from is not None:
            continue
        if parameter.examples:
            example[parameter.name] = parameter.examples[0]
        elif parameter.required and parameter.default is None:
            return
    operation["requestBody"]["content"]["application/json"]["example"] = example
