"""Published versions over HTTP: the list, a new one, and what differs between two."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from abi.server.access import client_of, require
from abi.server.catalog import Limit, Offset
from abi.server.documents import Page, answered, page_of
from abi.server.service import service_of

__all__ = ["router"]

router = APIRouter(tags=["versions"])


class Publishing(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"message": "routes by state"}]})

    message: str = Field("", max_length=2_000, description="What is new in it.")
    allow_dirty: bool = Field(False, description="Also where files differ from their commit or from the graph.")


class VersionBrief(BaseModel):
    model_config = ConfigDict(extra="allow")

    version: str
    records: int
    triples: int
    commit: str | None
    dirty: bool | None
    time: str
    message: str


class VersionList(Page):
    versions: list[VersionBrief]


class Differing(BaseModel):
    model_config = ConfigDict(extra="allow")

    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[dict[str, Any]]


@router.get("/versions", summary="Published versions", responses={200: {"model": VersionList}})
async def versions(request: Request, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The newest first."""
    service = service_of(request)
    found = (await service.long_work(service.workspace.versions))[::-1]
    page = page_of("/versions", offset, limit, len(found))
    return answered({"versions": [v.document() for v in found[offset : offset + limit]], **page})


@router.post("/versions", summary="Publish", responses={200: {"model": VersionBrief}})
async def publish(request: Request, wanted: Annotated[Publishing, Body(default_factory=Publishing)]) -> Response:
    """Writes what the graph holds as an immutable version. For writers."""
    require(request, "writer")
    service = service_of(request)
    report = await service.long_work(lambda: service.workspace.publish(wanted.message, allow_dirty=wanted.allow_dirty))
    service.wrote(client_of(request))
    return answered(report.document())


@router.get("/versions/{version}/diff", summary="What differs", responses={200: {"model": Differing}})
async def diff(
    request: Request,
    version: str,
    to: Annotated[str | None, Query(max_length=200, description="Another version; else the graph as it is.")] = None,
) -> Response:
    """By record, then by field. A version is `latest`, or digits of its name or of its commit."""
    service = service_of(request)
    return answered((await service.long_work(lambda: service.workspace.diff(version, to))).document())
