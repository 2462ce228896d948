"""The SPARQL 1.1 Protocol: `/sparql` for queries, `/update` for updates, which `/sparql` takes as well by POST.

The default graph of a query is the union of all graphs, unless the request or the query names others. What an update
inserts without a graph goes where its subject is described, or else to `{base}default`.
"""

from __future__ import annotations

import re
import select
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from abi.errors import AbiError, UsageError, WrongMedia, WrongMethod
from abi.graph.guard import check_query
from abi.graph.pool import Cancel
from abi.graph.worker import finish
from abi.server.access import client_of, require
from abi.server.negotiate import GRAPHS, RESULTS, Media, choose
from abi.server.problems import problem
from abi.server.service import Gone, Service, service_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from abi.graph.worker import Document

__all__ = [
    "Direct",
    "body_text",
    "document_response",
    "posted",
    "routes",
    "seconds_of",
    "single",
    "url_parameters",
]

_FORM = "application/x-www-form-urlencoded"
_QUERY = "application/sparql-query"
_UPDATE = "application/sparql-update"
_RDFLIB_DEFAULT = "urn:x-rdflib:default"
"""How rdflib's SPARQLStore calls the default graph; it names it in each query of a Dataset."""
_CHUNK = 128 * 1024
_MAY_SEARCH = re.compile("search|similarity", re.IGNORECASE)
"""Where neither word is, there is nothing for `Workspace.with_searches` to replace."""
_AT_ONCE = 1
"""Milliseconds that everybody else may wait for one small answer."""

Parameters = dict[str, list[str]]


async def sparql(request: Request) -> Response:
    """Query by GET, by form and direct; update by POST; without a query, what this service is."""
    parameters = url_parameters(request)
    if request.method in ("GET", "HEAD"):
        if "update" in parameters:
            raise UsageError("An update is sent by POST.", hint="Send it to /update.")
        if "query" not in parameters:
            return await _description(request)
        return await _query(request, single(parameters, "query"), parameters)
    if request.method != "POST":
        raise WrongMethod("Queries go by GET or POST.", details={"allow": ["GET", "HEAD", "POST"]})
    kind, text = await posted(request, parameters)
    return await (_query if kind == "query" else _update)(request, text, parameters)


async def update(request: Request) -> Response:
    """Update by form and direct."""
    if request.method != "POST":
        raise WrongMethod("Updates go by POST.", details={"allow": ["POST"]})
    parameters = url_parameters(request)
    kind, text = await posted(request, parameters)
    if kind == "query":
        raise UsageError("This is a query.", hint="Send it to /sparql.")
    return await _update(request, text, parameters)


class Direct:
    """Takes this module's addresses past the framework's own layers, which would cost a short query a fifth."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ends = {"/sparql": sparql, "/update": update}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        end = self._ends.get(scope["path"]) if scope["type"] == "http" else None
        if end is None:
            await self._app(scope, receive, send)
            return
        try:
            answer = await end(Request(scope, receive, send))
        except Gone:
            raise
        except AbiError as error:
            answer = problem(error)
        await answer(scope, receive, send)


def routes() -> list[Route]:
    """The same, for whoever lists what there is."""
    every = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"]
    return [Route("/sparql", sparql, methods=every), Route("/update", update, methods=every)]


async def _query(request: Request, text: str, parameters: Parameters) -> Response:
    service = service_of(request)
    verdict = check_query(text, service.settings, service.prefixes)
    media = choose(request.headers.get("accept"), RESULTS if verdict.form in ("select", "ask") else GRAPHS)
    default, named = parameters.get("default-graph-uri"), parameters.get("named-graph-uri")
    if default and _RDFLIB_DEFAULT in default:
        default = [graph for graph in default if graph != _RDFLIB_DEFAULT] or None
    if default or named:
        # A dataset of a request is whole: what it does not name is not in it, nor is what FROM names.
        default, named = default or [], named or []
    cancel = Cancel()
    pool = service.workspace.pool
    limits: dict[str, Any] = {
        "default_graphs": default,
        "named_graphs": named,
        "seconds": seconds_of(service, parameters),
        "rows": service.settings.query_rows,
        "bytes": service.settings.query_result_bytes,
        "base": service.settings.base_iri,
        "since": service.since(client_of(request)),
        "cancel": cancel,
    }
    searches = _MAY_SEARCH.search(text) is not None
    begun = None if searches else pool.begin(text, media.format, **limits)

    def work() -> Document:
        if begun is not None:
            return finish(begun)
        # A search inside of the query takes no time from other requests either.
        return pool.document(service.workspace.with_searches(text) if searches else text, media.format, **limits)

    # Most answers are there before a thread would have taken the work over.
    if begun is not None and _is_there(next(begun)):
        return document_response(work(), media)
    return document_response(await service.run(request, work, cancel), media)


def _is_there(file: int) -> bool:
    """Whether an answer comes at once. (Not by `select.select`, which knows the first 1,024 open files only.)"""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(_AT_ONCE))


async def _update(request: Request, text: str, parameters: Parameters) -> Response:
    require(request, "writer")
    service = service_of(request)
    work = partial(
        service.workspace.update,
        text,
        using=parameters.get("using-graph-uri", []),
        using_named=parameters.get("using-named-graph-uri", []),
        default_graph=service.default_graph,
    )
    report = await service.run(request, work)
    service.wrote(client_of(request))
    return JSONResponse({**report.document(), "version": report.version})


def document_response(document: Document, media: Media, headers: dict[str, str] | None = None) -> Response:
    """A result as it came from its process. A large one is sent from its file, which is gone with the answer."""
    given = {"X-Abi-Truncated": "true" if document.truncated else "false", **(headers or {}), "Vary": "Accept"}
    given["Content-Type"] = media.header
    if document.file is None:
        return Response(document.data, headers=given)
    file = document.file.open("rb")
    document.file.unlink()

    async def chunks() -> AsyncIterator[bytes]:
        with file:
            while chunk := file.read(_CHUNK):
                yield chunk

    return StreamingResponse(chunks(), headers={**given, "Content-Length": str(document.size)})


async def _description(request: Request) -> Response:
    from abi.graph.service_description import describe

    service = service_of(request)
    media = choose(request.headers.get("accept"), GRAPHS)
    endpoint = str(request.url.replace(query="", fragment=""))
    work = partial(
        describe,
        endpoint,
        service.workspace.store,
        media.format,
        results=[m.type for m in (*RESULTS, *GRAPHS)],
    )
    return Response(await service.run(request, work), headers={"Content-Type": media.header, "Vary": "Accept"})


async def posted(request: Request, parameters: Parameters) -> tuple[str, str]:
    """What a POST holds: `query` or `update`, and its text. A form adds to `parameters`."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == _FORM:
        _add(parameters, await body_text(request))
        if ("query" in parameters) == ("update" in parameters):
            raise UsageError("The form has not exactly one of `query` and `update`.")
        kind = "query" if "query" in parameters else "update"
        return kind, single(parameters, kind)
    if media not in (_QUERY, _UPDATE):
        shown = f"not as {media[:80]}" if media else "with its Content-Type"
        raise WrongMedia(
            f"A query or update is sent as {_QUERY}, {_UPDATE} or as a form, {shown}.", hint="Set the Content-Type."
        )
    if "query" in parameters or "update" in parameters:
        raise UsageError("The request has a text in its body and another one in its address.")
    return ("query" if media == _QUERY else "update"), await body_text(request)


async def body_text(request: Request) -> str:
    """The body, which is UTF-8 and says nothing else."""
    for word in request.headers.get("content-type", "").split(";")[1:]:
        name, _, value = word.partition("=")
        if name.strip().lower() == "charset" and value.strip(" \"'").lower() not in ("utf-8", "utf8", "us-ascii"):
            raise WrongMedia("Only UTF-8 is taken.", hint="Send it as UTF-8, with charset=utf-8 or none.")
    try:
        return (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"The body is not UTF-8 at byte {error.start}.", details={"byte": error.start}) from None


def url_parameters(request: Request) -> Parameters:
    parameters: Parameters = {}
    _add(parameters, request.scope["query_string"].decode("latin-1"))
    return parameters


def _add(parameters: Parameters, encoded: str) -> None:
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, errors="strict", max_num_fields=2_000)
    except (UnicodeDecodeError, ValueError):
        raise UsageError("The parameters are not percent-encoded UTF-8, or are too many.") from None
    for name, value in pairs:
        parameters.setdefault(name, []).append(value)


def single(parameters: Parameters, name: str) -> str:
    values = parameters[name]
    if len(values) != 1:
        raise UsageError(f"`{name}` is given {len(values)} times; once is enough.")
    return values[0]


def seconds_of(service: Service, parameters: Parameters) -> float:
    if "timeout" not in parameters:
        return service.settings.query_seconds
    given: Any = single(parameters, "timeout")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise UsageError("`timeout` is a number of seconds.")
    return min(seconds, service.settings.query_seconds_cap)
