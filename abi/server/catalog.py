"""The catalog over HTTP: searched, listed by kind, and one record whole."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from abi.errors import NotFound
from abi.server.documents import FindRequest, Found, RecordBrief, RecordList, answered, page_of
from abi.server.negotiate import Media, choose
from abi.server.service import service_of

__all__ = ["Limit", "Offset", "router"]

router = APIRouter(tags=["catalog"])
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many, at most.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000, description="How many to leave out at the beginning.")]
_RECORD = (Media("json", "application/json"), Media("turtle", "text/turtle"))


@router.post("/catalog/find", summary="Search", responses={200: {"model": Found}})
async def find(request: Request, wanted: FindRequest) -> Response:
    """Records and entities by words and by meaning, the best first."""
    service = service_of(request)
    given = wanted.model_dump()
    kind, query = given.pop("kind"), given.pop("query")
    report = await service.work(lambda: service.workspace.find(kind, query, **given))
    return answered(report.document())


@router.get("/catalog/{kind}", summary="List", responses={200: {"model": RecordList}})
async def listed(request: Request, kind: str, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The records of one kind (tools, prompts, agents, intents, records, or a record kind), by kind and name."""
    service = service_of(request)
    documents: list[Any] = (await service.work(lambda: service.workspace.ls(kind))).document()["records"]
    page = page_of(f"/catalog/{kind}", offset, limit, len(documents))
    return answered({"records": documents[offset : offset + limit], **page})


@router.get(
    "/catalog/{kind}/{name:path}",
    summary="One record",
    responses={200: {"model": RecordBrief, "content": {"text/turtle": {"schema": {"type": "string"}}}}},
)
async def record(request: Request, kind: str, name: str) -> Response:
    """One record whole, with where it came from and who uses it; as Turtle its triples.

    NAME may be an IRI, percent-encoded.
    """
    service = service_of(request)
    media = choose(request.headers.get("accept"), _RECORD)
    if name.startswith(("thread/", f"{service.settings.base_iri}thread/")):
        raise NotFound("Turns are among the threads.", hint="GET /threads/ID/turns/N")
    wanted = name if kind == "records" or "://" in name or name.startswith("urn:") else f"{kind}/{name}"
    report = await service.work(lambda: service.workspace.describe(wanted))
    if media.format == "turtle":
        return Response(await service.work(report.turtle), media_type=media.header, headers={"Vary": "Accept"})
    return answered(report.document(), headers={"Vary": "Accept"})
