"""The rest of the verbs over HTTP: what the graph holds, and what is made from it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from abi.errors import NotFound
from abi.graph.pool import Cancel
from abi.server.access import caller, client_of, require
from abi.server.documents import answered
from abi.server.negotiate import choose
from abi.server.service import service_of
from abi.server.threads import TURN

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


class Changing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    update: str = Field(description="SPARQL Update. What names no graph has to be claimed by one.")
    dry_run: bool = Field(False, description="Tell what would change; write nothing.")


class Running(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=2_000, description="A tool or a prompt: NAME, KIND/NAME or its IRI.")
    arguments: dict[str, Any] = {}


@router.post("/run", summary="Call a tool or render a prompt by name", tags=["tools"])
async def run(request: Request, wanted: Running) -> Response:
    """As /tools/NAME and /prompts/NAME; for programs that have only a name."""
    service, principal, cancel = service_of(request), caller(request), Cancel()

    def work() -> dict[str, Any]:
        return service.call(principal, wanted.name, wanted.arguments, cancel).document()

    return answered(await service.run(request, work, cancel))


@router.post("/change", summary="Change the graph, or see what would change", tags=["graph"])
async def change(request: Request, wanted: Changing) -> dict[str, Any]:
    """As /update, with a dry run. For writers."""
    require(request, "writer")
    service = service_of(request)
    report = await service.long_work(lambda: service.workspace.update(wanted.update, dry_run=wanted.dry_run))
    service.wrote(client_of(request))
    return {**report.document(), "version": report.version}


@router.get("/turn", summary="One turn, by its IRI", tags=["threads"])
async def turn(
    request: Request, name: Annotated[str, Query(max_length=2_000, description="thread/ID/turn/N, or its IRI.")]
) -> Response:
    """As /threads/ID/turns/N; for admins, who see everybody's."""
    require(request, "admin")
    service = service_of(request)
    media = choose(request.headers.get("accept"), TURN)
    if "thread/" not in name:
        raise NotFound(f"{name!r} is no turn.")
    report = await service.work(lambda: service.workspace.show(name))
    if media.format == "turtle":
        return Response(await service.work(report.turtle), media_type=media.header, headers={"Vary": "Accept"})
    return answered(report.document(), headers={"Vary": "Accept"})


@router.get("/status", summary="What the graph holds", responses={200: {"model": Status}})
async def status(request: Request) -> Response:
    """Counts, versions, edited graphs."""
    service = service_of(request)
    return answered((await service.work(service.workspace.status)).document())


@router.post("/intents/derive", summary="Derive intents and tools")
async def derive(request: Request, wanted: Annotated[Deriving, Body(default_factory=Deriving)]) -> dict[str, Any]:
    """From what the graph holds, into a graph of their own. For writers."""
    require(request, "writer")
    service = service_of(request)
    report = await service.long_work(lambda: service.workspace.derive(wanted.graph))
    service.wrote(client_of(request))
    return {**report.document(), "written": report.written}


@router.post("/vectors/build", summary="Fill vectors")
async def vectors(request: Request, wanted: Annotated[Filling, Body(default_factory=Filling)]) -> dict[str, Any]:
    """The vectors that semantic searches look through. For writers."""
    require(request, "writer")
    service = service_of(request)
    return (await service.long_work(lambda: service.workspace.vectors_build(wanted.names))).document()
