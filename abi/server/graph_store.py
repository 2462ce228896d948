"""The SPARQL 1.1 Graph Store Protocol at `/store`: whole graphs read, replaced, added to and dropped.

`/store?graph=IRI` is any graph, `/store/PATH` the one named `{base}PATH`, `/store?default` the one named
`{base}default`: triples live in named graphs here, and that one stands for the store's own default graph. A graph is
there as long as it holds a triple.
"""

from __future__ import annotations

import secrets
from email import policy
from email.parser import BytesParser
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from abi.errors import NotFound, UsageError, WrongMedia, WrongMethod
from abi.graph.named_graphs import Part, checked_iri, graph_tag
from abi.graph.pool import Cancel
from abi.server.access import client_of, require
from abi.server.negotiate import GRAPHS, Media, choose
from abi.server.service import Service, service_of
from abi.server.sparql import document_response

if TYPE_CHECKING:
    from abi.graph.named_graphs import GraphWritten

__all__ = ["routes"]

_METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"]
_MULTIPART = "multipart/form-data"
_EVERY_ROW = 2**40
_PARTS = 100


async def store(request: Request) -> Response:
    """One request on one graph."""
    if request.method not in _METHODS:
        raise WrongMethod("A graph takes no such request.", details={"allow": _METHODS})
    service = service_of(request)
    graph = _graph(request, service)
    if request.method in ("GET", "HEAD"):
        if graph is None:
            raise UsageError("Which graph?", hint="Ask /store?graph=IRI, /store?default or /store/PATH.")
        return await _read(request, service, graph)
    require(request, "writer")
    if request.method == "DELETE":
        if graph is None:
            raise UsageError("Which graph?", hint="Name it: /store?graph=IRI.")
        work = partial(service.workspace.drop_graph, graph, wanted=_condition(request))
        return _told(request, service, await service.run(request, work))
    if graph is None:
        if request.method == "PUT":
            raise UsageError("Which graph?", hint="Name it: /store?graph=IRI. POST makes a new one.")
        graph = f"{service.settings.base_iri}graph/{secrets.token_hex(8)}"
    parts = _parts(request.headers.get("content-type", ""), await request.body())
    work = partial(service.workspace.put_graph, graph, parts, add=request.method == "POST", wanted=_condition(request))
    return _told(request, service, await service.run(request, work))


def routes() -> list[Route]:
    every = [*_METHODS, "PATCH"]
    return [Route("/store", store, methods=every), Route("/store/{path:path}", store, methods=every)]


def _graph(request: Request, service: Service) -> str | None:
    """The graph's IRI. None where the request names none."""
    query: str = request.scope["query_string"].decode("latin-1")
    try:
        # A `+` in an IRI is a plus, as it is in the rest of an address.
        given = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except (UnicodeDecodeError, ValueError):
        raise UsageError("The parameters are not percent-encoded UTF-8.") from None
    named = [value for name, value in given if name == "graph"]
    defaults = [name for name, _ in given if name == "default"]
    path: str = request.path_params.get("path", "")
    if len(named) + len(defaults) + bool(path) > 1:
        raise UsageError("The request names more than one graph.")
    if defaults:
        return service.default_graph
    if named:
        return named[0]
    return service.settings.base_iri + quote(path, safe="/:@!$&'()*+,;=~") if path else None


async def _read(request: Request, service: Service, graph: str) -> Response:
    media = choose(request.headers.get("accept"), GRAPHS)
    checked_iri(graph)
    held = service.workspace.store
    tag = graph_tag(held, graph)
    if tag is None and graph != service.default_graph:
        raise NotFound(f"There is no graph <{graph}>.")
    shown = f'"{tag or 0}.{media.format}"'
    if request.headers.get("if-none-match") in ("*", shown):
        return Response(status_code=304, headers={"ETag": shown, "Vary": "Accept"})
    cancel = Cancel()
    work = partial(
        service.workspace.pool.document,
        "CONSTRUCT WHERE { ?s ?p ?o }",
        media.format,
        default_graphs=[graph],
        named_graphs=[],
        seconds=service.settings.query_seconds_cap,
        rows=_EVERY_ROW,
        bytes=8 * service.settings.max_rdf_bytes,
        since=float("inf"),  # the tag is of now, so what it stands for must be
        cancel=cancel,
    )
    return document_response(await service.run(request, work, cancel), media, {"ETag": shown})


def _condition(request: Request) -> partial[bool] | None:
    match, none = request.headers.get("if-match"), request.headers.get("if-none-match")
    return partial(_is_wanted, match, none) if match is not None or none is not None else None


def _is_wanted(match: str | None, none: str | None, tag: str | None) -> bool:
    return (match is None or _has(match, tag)) and (none is None or not _has(none, tag))


def _has(header: str, tag: str | None) -> bool:
    """Whether one of the header's tags is this one, in whatever format it was got."""
    if tag is None:
        return False
    tags = [word.strip().removeprefix("W/").strip('"').partition(".")[0] for word in header.split(",")]
    return header.strip() == "*" or tag in tags


def _told(request: Request, service: Service, written: GraphWritten) -> Response:
    service.wrote(client_of(request))
    headers = {}
    if written.tag is not None:
        headers["ETag"] = f'"{written.tag}"'
    if written.created and written.tag is not None:
        headers["Location"] = written.graph
        return Response(status_code=201, headers=headers)
    return Response(status_code=204, headers=headers)


def _parts(content_type: str, body: bytes) -> list[Part]:
    media, _, parameters = content_type.partition(";")
    media = media.strip().lower()
    if media != _MULTIPART:
        return [Part(body, _format(media, parameters))]
    # Only the header's own line goes before the body, so nothing in the type can add another.
    head = b"Content-Type: " + content_type.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace")
    message = BytesParser(policy=policy.HTTP).parsebytes(head + b"\r\n\r\n" + body)
    found = list(message.iter_parts()) if message.is_multipart() else []
    if not found or len(found) > _PARTS:
        raise UsageError(f"The form has no parts that can be told apart, or more than {_PARTS}.")
    parts = []
    for part in found:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            raise UsageError("A part of the form holds parts itself.")
        inner = str(part.get("content-type", ""))
        parts.append(Part(data, _format(inner.partition(";")[0].strip().lower(), inner.partition(";")[2])))
    return parts


def _format(media: str, parameters: str) -> str:
    for offer in GRAPHS:
        if media == offer.type or (media in offer.aliases and media != "application/json"):
            _refuse_charset(offer, parameters)
            return offer.format
    known = ", ".join(offer.type for offer in GRAPHS)
    raise WrongMedia(f"A graph cannot be read as {media[:80] or 'nothing'}.", hint=f"Send it as one of {known}.")


def _refuse_charset(offer: Media, parameters: str) -> None:
    for word in parameters.split(";"):
        name, _, value = word.partition("=")
        if name.strip().lower() == "charset" and value.strip(" \"'").lower() not in ("utf-8", "utf8", "us-ascii"):
            raise WrongMedia(f"{offer.type} is taken in UTF-8 only.")
