"""Any IRI under the workspace's base at `/id/...`: what the graph says of it, as RDF, as JSON, or as a page.

The page is for people who follow a link: what the thing is, what it points at and what points at it. Everything in it
is data of the graph, so it is escaped, nothing in it runs, and only http addresses become links.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from abi.errors import Denied, NotFound, UsageError
from abi.graph.catalog import iri_term
from abi.graph.pool import Cancel
from abi.server.access import caller, client_of
from abi.server.documents import answered
from abi.server.html_page import html_page, link, text
from abi.server.negotiate import GRAPHS, Media, choose
from abi.server.service import Service, service_of
from abi.server.sparql import document_response
from abi.server.turns import owner_of

if TYPE_CHECKING:
    from abi.graph.rows import Row, Term
    from abi.reports import ShowReport

__all__ = ["router"]

router = APIRouter(tags=["graph"])
_RDF = tuple(Media(m.format, m.type, tuple(a for a in m.aliases if a != "application/json")) for m in GRAPHS)
_OFFERS = (*_RDF, Media("json", "application/json"), Media("html", "text/html", ("application/xhtml+xml",)))
_OUT, _IN = 500, 100
_VARY = {"Vary": "Accept"}
_LABEL = "OPTIONAL { %s rdfs:label ?label }"


@router.head("/id/{path:path}", include_in_schema=False)
@router.get("/id/{path:path}", summary="What the graph says of an IRI", response_class=Response)
async def dereference(request: Request, path: str) -> Response:
    """`/id/PATH` is the IRI `{base}PATH`: its triples in any RDF syntax; JSON and HTML have what points at it too."""
    service = service_of(request)
    iri = _iri(request, service)
    media = choose(request.headers.get("accept"), _OFFERS)
    if iri.startswith(f"{service.settings.base_iri}thread/"):
        return await _turn(request, service, iri, media)
    node = iri_term(iri).n3()
    ask = f"ASK {{ {{ {node} ?p ?o }} UNION {{ ?s ?p {node} }} }}"
    if not (await _rows(request, service, ask)).boolean:
        raise NotFound(f"The graph says nothing of <{iri}>.", hint="POST /catalog/find searches it.")
    if media.format not in ("json", "html"):
        return await _triples(request, service, node, media)
    out = await _rows(
        request, service, f"SELECT DISTINCT ?p ?o ?label {{ {node} ?p ?o {_LABEL % '?o'} }} ORDER BY ?p ?o LIMIT {_OUT}"
    )
    into = await _rows(
        request, service, f"SELECT DISTINCT ?s ?p ?label {{ ?s ?p {node} {_LABEL % '?s'} }} ORDER BY ?p ?s LIMIT {_IN}"
    )
    if media.format == "json":
        rows = [{"property": r["p"].value, "value": r["o"].json()} for r in _once(out.rows, "p", "o")]
        users = [{"property": r["p"].value, "subject": r["s"].json()} for r in _once(into.rows, "p", "s")]
        return answered({"iri": iri, "properties": rows, "used_by": users}, headers=_VARY)
    return _page(service, iri, _once(out.rows, "p", "o"), _once(into.rows, "p", "s"))


def _iri(request: Request, service: Service) -> str:
    """As it was sent: a percent-encoded part of an IRI stays so."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    path = raw.partition(b"?")[0].decode("latin-1").removeprefix("/id/")
    if any(ord(c) > 126 for c in path):
        raise UsageError("The address is not percent-encoded.")
    return service.settings.base_iri + path


async def _rows(request: Request, service: Service, query: str) -> Any:
    cancel = Cancel()
    work = partial(service.workspace.sparql, query, cancel=cancel)
    return await service.run(request, work, cancel)


async def _triples(request: Request, service: Service, node: str, media: Media) -> Response:
    settings, cancel = service.settings, Cancel()
    work = partial(
        service.workspace.pool.document,
        f"CONSTRUCT WHERE {{ {node} ?p ?o }}",
        media.format,
        seconds=settings.query_seconds,
        rows=settings.query_rows,
        bytes=settings.query_result_bytes,
        since=service.since(client_of(request)),
        cancel=cancel,
    )
    return document_response(await service.run(request, work, cancel), media, _VARY)


async def _turn(request: Request, service: Service, iri: str, media: Media) -> Response:
    """What happened in a turn: its owner's, and admins', to see."""
    from abi.agents.threads import split_key

    principal = caller(request)
    key = unquote(iri.removeprefix(f"{service.settings.base_iri}thread/").partition("/")[0])
    if split_key(key)[0] != owner_of(principal) and not principal.may("admin"):
        raise Denied("Conversations of others are seen by admins only.")
    report: ShowReport = await service.work(lambda: service.workspace.show(iri))
    if media.format == "json":
        return answered(report.document(), headers=_VARY)
    if media.format == "html":
        body = f"<pre>{text(await service.work(report.turtle))}</pre>"
        return html_page(iri, body, _VARY)
    data = await service.work(partial(_serialized, report, media.format))
    return Response(data, media_type=media.header, headers=_VARY)


def _serialized(report: ShowReport, format: str) -> bytes:
    from abi.graph.formats import serialize

    return serialize(report.quads, format, report.prefixes)


def _once(rows: list[Row], *names: str) -> list[Row]:
    """A thing with several labels is one row."""
    found: dict[tuple[Term, ...], Row] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), row)
    return list(found.values())


def _page(service: Service, iri: str, out: list[Row], into: list[Row]) -> Response:
    base, prefixes = service.settings.base_iri, service.prefixes

    def shown(term: Term, label: Term | None = None) -> str:
        if term.kind == "iri":
            name = link(term.value, base, prefixes)
            return f"{name} <small>{text(label.value)}</small>" if label is not None else name
        more = f"@{term.language}" if term.language else ""
        return f"<span>{text(term.value)}</span><small>{text(more)}</small>"

    label = next((r["o"].value for r in out if r["p"].value.endswith("#label")), iri)
    rows = "".join(f"<tr><th>{shown(r['p'])}</th><td>{shown(r['o'], r.get('label'))}</td></tr>" for r in out)
    users = "".join(f"<tr><td>{shown(r['s'], r.get('label'))}</td><th>{shown(r['p'])}</th></tr>" for r in into)
    body = f"<h1>{text(label)}</h1><p><code>{text(iri)}</code></p><table>{rows}</table>"
    if users:
        body += f"<h2>Used by</h2><table>{users}</table>"
    return html_page(label, body, _VARY)
