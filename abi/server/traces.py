"""`/traces/sparql`: the SPARQL 1.1 Protocol over what happened in conversations, which are everybody's: for admins."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from abi.errors import Denied, Unauthenticated, UsageError, WrongMethod
from abi.graph.guard import check_query
from abi.graph.pool import Cancel
from abi.server.access import caller
from abi.server.negotiate import GRAPHS, RESULTS, choose
from abi.server.service import service_of
from abi.server.sparql import document_response, posted, seconds_of, single, url_parameters

__all__ = ["routes"]


def routes() -> list[Route]:
    return [Route("/traces/sparql", traces, methods=["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"])]


async def traces(request: Request) -> Response:
    """Query by GET, by form and direct; each conversation is a named graph, and the default graph is their union."""
    principal = caller(request)
    if principal.anonymous:
        raise Unauthenticated("Traces are shown to admins.", hint="`abi key create NAME --role admin` makes a key.")
    if not principal.may("admin"):
        raise Denied("Traces hold everybody's conversations; only admins see them.", hint="GET /threads has yours.")
    parameters = url_parameters(request)
    if request.method in ("GET", "HEAD"):
        if "query" not in parameters:
            raise UsageError("There is no query.", hint="Send it as ?query=...")
        text = single(parameters, "query")
    elif request.method == "POST":
        kind, text = await posted(request, parameters)
        if kind == "update":
            raise UsageError("Traces are not changed.", hint="DELETE /threads/ID deletes a conversation.")
    else:
        raise WrongMethod("Queries go by GET or POST.", details={"allow": ["GET", "HEAD", "POST"]})
    service, cancel = service_of(request), Cancel()
    verdict = check_query(text, service.settings, service.prefixes)
    media = choose(request.headers.get("accept"), RESULTS if verdict.form in ("select", "ask") else GRAPHS)
    default, named = parameters.get("default-graph-uri"), parameters.get("named-graph-uri")
    limits: dict[str, Any] = {"seconds": seconds_of(service, parameters), "cancel": cancel}
    if default or named:
        limits |= {"default_graphs": default or [], "named_graphs": named or []}
    work = partial(service.workspace.traces_document, text, media.format, **limits)
    return document_response(await service.run(request, work, cancel), media)
