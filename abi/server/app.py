"""The HTTP face, put together: the layers around every request, and one module of routes for each noun."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection
from typing import TYPE_CHECKING, TextIO

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from abi import __version__
from abi.errors import AbiError
from abi.keys import Keys
from abi.mcp.mounted import Mounted
from abi.server import (
    agents,
    catalog,
    dereference,
    files,
    graph_store,
    health,
    openapi,
    sparql,
    threads,
    tools,
    traces,
    upkeep,
    versions,
    web_page,
)
from abi.server.access import Access
from abi.server.doorway import Bounds, Doorway
from abi.server.observe import Metrics, Observer
from abi.server.problems import handle_abi, handle_gone, handle_http, handle_validation
from abi.server.service import Gone, Service
from abi.server.telemetry import Spans, tracer_provider

if TYPE_CHECKING:
    from abi.workspace import Workspace

__all__ = ["create_app"]

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_FORM_GROWTH = 3
"""Percent-encoding makes three bytes of one."""
_LOADED_FILES = 8
"""The largest files that `/load` takes at once; many more where they are smaller."""


def create_app(
    workspace: Workspace,
    *,
    keys: Keys | None = None,
    hosts: Collection[str] = (),
    log: TextIO | None = None,
) -> FastAPI:
    """The application over an open workspace, which it does not close.

    `hosts`: further names by which it is called. `log`: gets a line of JSON for each request.
    """
    settings = workspace.settings
    service = Service(workspace, keys or Keys(workspace.root))
    metrics = Metrics()
    spans = tracer_provider()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await mcp.close()
        service.close()
        if spans is not None:
            spans.shutdown()  # sends what has not been sent

    app = FastAPI(title="abi", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service, app.state.metrics = service, metrics

    async def version() -> int:
        return await service.work(workspace.version)

    mcp = Mounted(app, workspace.root.name, service.prefixes, version, settings.max_body_bytes)
    app.router.routes += [*sparql.routes(), *graph_store.routes(), *traces.routes(), Route("/mcp", mcp)]
    for module in (health, agents, tools, catalog, threads, files, versions, upkeep, dereference, openapi, web_page):
        app.include_router(module.router)
    app.state.documents = openapi.Documents(app)
    app.add_exception_handler(Gone, handle_gone)
    app.add_exception_handler(AbiError, handle_abi)
    app.add_exception_handler(HTTPException, handle_http)
    app.add_exception_handler(RequestValidationError, handle_validation)
    # The last is the outermost.
    app.add_middleware(sparql.Direct)
    app.add_middleware(Access, keys=service.keys, rate=settings.server_rate)
    text = settings.max_query_bytes * _FORM_GROWTH + 16 * 1024
    sizes = {"/sparql": text, "/update": text, "/traces/sparql": text, "/store": settings.max_rdf_bytes}
    sizes["/load"] = _LOADED_FILES * settings.max_rdf_bytes
    app.add_middleware(Bounds, requests=settings.server_requests, size=settings.max_body_bytes, sizes=sizes)
    names = {*_LOCAL, *(h.lower() for h in (*settings.server_hosts, *hosts))}
    app.add_middleware(Doorway, hosts=names, origins=settings.server_origins)
    if spans is not None:
        app.add_middleware(Spans, provider=spans)
    app.add_middleware(Observer, metrics=metrics, log=log)
    return app
