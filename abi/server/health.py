"""Whether the server lives and can answer, and its counts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from abi.errors import AbiError
from abi.server.service import service_of

if TYPE_CHECKING:
    from abi.server.observe import Metrics

__all__ = ["router"]

router = APIRouter(tags=["operation"])


@router.get("/health", summary="Lives and is ready", responses={503: {"description": "It lives and is not ready."}})
async def health(request: Request) -> Response:
    """200 where the graph can be read and a query process answers, else 503."""
    return await ready(request)


@router.get("/health/live", summary="Lives")
async def live() -> dict[str, str]:
    """200 as long as the server answers anything."""
    return {"status": "live"}


@router.get("/health/ready", summary="Is ready", responses={503: {"description": "It lives and is not ready."}})
async def ready(request: Request) -> Response:
    """200 where the graph can be read and a query process answers, else 503."""
    service = service_of(request)
    workspace = service.workspace
    try:
        counts = workspace.pool.counts()
        if counts["running"] < workspace.pool.size:  # where all are at work there is no need to ask one more
            await service.run(request, partial(workspace.pool.query, "ASK {}", seconds=5))
        version = workspace.version()
    except AbiError as error:
        return JSONResponse({"status": "not ready", "reason": error.code}, 503, {"Retry-After": "1"})
    return JSONResponse({"status": "ready", "version": version})


@router.get("/metrics", summary="Counts for Prometheus", response_class=Response)
async def metrics(request: Request) -> Response:
    """The exposition format of Prometheus, 0.0.4."""
    service = service_of(request)
    collected: Metrics = request.app.state.metrics
    counts = service.workspace.pool.counts()
    text = collected.text(
        {
            "graph_version": ("The counter that each change moves.", service.workspace.version()),
            "graph_triples": ("Triples in the graph.", len(service.workspace.store)),
            "queries_running": ("Queries at work.", counts["running"]),
            "queries_long": ("Queries at work that were set aside as long.", counts["long"]),
            "queries_waiting": ("Queries that wait for a process.", counts["waiting"]),
            "query_processes": ("Processes that answer queries.", counts["processes"]),
            "started_seconds": ("When the server began, in Unix time.", service.started),
        }
    )
    return Response(text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
