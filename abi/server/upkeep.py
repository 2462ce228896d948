"""The rest of the verbs over HTTP: what the graph holds, and what is made from it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from abi.server.access import client_of, require
from abi.server.documents import answered
from abi.server.service import service_of

__all__ = ["router"]

router = APIRouter(tags=["operation"])


class Status(BaseModel):
    model_config = ConfigDict(extra="allow")

    records: dict[str, int] = Field(description="How many of each kind.")
    triples: int
    version: int
    edited: list[str] = Field(description="Source files whose graph was edited since.")


class Deriving(BaseModel):
    model_config = ConfigDict(extra="forbid")

    graph: str | None = Field(None, max_length=2_000, description="Only from what this named graph holds.")


class Filling(BaseModel):
    model_config = ConfigDict(extra="forbid")

    names: list[str] = Field([], max_length=1_000, description="Semantic searches; none: all.")


@router.get("/status", summary="What the graph holds", responses={200: {"model": Status}})
async def status(request: Request) -> Response:
    """Counts, versions, edited graphs."""
    service = service_of(request)
    return answered((await service.work(service.workspace.status)).document())


@router.post("/intents/derive", summary="Derive intents and tools")
async def derive(request: Request, wanted: Deriving) -> dict[str, Any]:
    """From what the graph holds, into a graph of their own. For writers."""
    require(request, "writer")
    service = service_of(request)
    report = await service.work(lambda: service.workspace.derive(wanted.graph))
    service.wrote(client_of(request))
    return {**report.document(), "written": report.written}


@router.post("/vectors/build", summary="Fill vectors")
async def vectors(request: Request, wanted: Filling) -> dict[str, Any]:
    """The vectors that semantic searches look through. For writers."""
    require(request, "writer")
    service = service_of(request)
    return (await service.work(lambda: service.workspace.vectors_build(wanted.names))).document()
