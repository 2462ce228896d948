"""Conversations over HTTP: those of the caller. Admins see those of others, where they say whose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from abi.errors import Denied
from abi.server.access import caller
from abi.server.catalog import Limit, Offset
from abi.server.documents import ThreadBrief, ThreadList, answered, page_of
from abi.server.negotiate import Media, choose
from abi.server.service import service_of
from abi.server.turns import owner_of

if TYPE_CHECKING:
    from abi.agents.threads import Threads

__all__ = ["TURN", "router"]

router = APIRouter(tags=["threads"])
_LISTS = (Media("json", "application/json"), Media("ndjson", "application/x-ndjson"))
TURN = (Media("json", "application/json"), Media("turtle", "text/turtle"))
Owner = Annotated[
    str | None, Query(max_length=200, description="For admins: whose; `*` is all, `-` who had no key. Else one's own.")
]


class Prune(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"days": 30}]})

    days: float = Field(ge=0, le=100_000, description="Delete what was silent for so many days.")
    owner: str | None = Field(None, max_length=200, description="For admins: whose; `*` is all.")


def _owner(request: Request, owner: str | None) -> str | None:
    """Whose threads are meant. Raises Denied for those of others, but for admins."""
    principal = caller(request)
    own = owner_of(principal)
    if owner is None or owner == own:
        return own
    if not principal.may("admin"):
        raise Denied("Conversations of others are seen by admins only.")
    return None if owner == "-" else owner


@router.get(
    "/threads",
    summary="Conversations",
    responses={200: {"model": ThreadList, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def threads(request: Request, owner: Owner = None, limit: Limit = 50, offset: Offset = 0) -> Response:
    """The caller's conversations, the newest first. As application/x-ndjson all of them whole, one a line."""
    service = service_of(request)
    whose = _owner(request, owner)
    kept: Threads = await service.work(lambda: service.workspace.threads)
    if choose(request.headers.get("accept"), _LISTS).format == "ndjson":
        return StreamingResponse(_lines(kept.export(whose)), media_type="application/x-ndjson")
    found, total = await service.work(lambda: (kept.list(whose, limit=limit, offset=offset), kept.count(whose)))
    parameters = {} if owner is None else {"owner": owner}
    page = page_of("/threads", offset, limit, total, **parameters)
    return answered({"threads": [info.document() for info in found], **page})


@router.post("/threads/prune", summary="Delete old conversations")
async def prune(request: Request, wanted: Prune) -> dict[str, list[str]]:
    """Deletes the caller's conversations in which nothing was said for so many days; gives their ids."""
    service = service_of(request)
    whose = _owner(request, wanted.owner)
    return {"deleted": await service.long_work(lambda: service.workspace.threads.prune(wanted.days, whose))}


@router.get("/threads/{thread_id:path}/turns/{number}", summary="One turn, by its trace")
async def turn(request: Request, thread_id: str, number: int, owner: Owner = None) -> Response:
    """What was asked and answered, by which tools and queries; as Turtle the trace itself."""
    from abi.agents.threads import thread_key

    service = service_of(request)
    media = choose(request.headers.get("accept"), TURN)
    key = thread_key(_owner(request, owner), thread_id)
    iri = f"{service.settings.base_iri}thread/{quote(key, safe='')}/turn/{number}"
    report = await service.work(lambda: service.workspace.show(iri))
    if media.format == "turtle":
        return Response(await service.work(report.turtle), media_type=media.header, headers={"Vary": "Accept"})
    return answered(report.document(), headers={"Vary": "Accept"})


@router.get("/threads/{thread_id:path}", summary="One conversation", responses={200: {"model": ThreadBrief}})
async def thread(request: Request, thread_id: str, owner: Owner = None) -> Response:
    """A conversation with its messages."""
    service = service_of(request)
    whose = _owner(request, owner)
    return answered(await service.work(lambda: service.workspace.threads.show(thread_id, whose)))


@router.delete("/threads/{thread_id:path}", summary="Delete a conversation", status_code=204)
async def delete(request: Request, thread_id: str, owner: Owner = None) -> Response:
    """Its traces are kept apart, for trace_days."""
    service = service_of(request)
    whose = _owner(request, owner)
    await service.work(lambda: service.workspace.threads.delete(thread_id, whose))
    return Response(status_code=204)


def _lines(documents: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    for document in documents:
        yield json.dumps(document, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace") + b"\n"
