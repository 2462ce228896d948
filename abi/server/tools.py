"""Tools and prompts over HTTP: each tool has an address of its own and takes what its own schema says.

Which there are is read from the graph with each request, so a tool that was indexed a moment ago is there; what each
takes stands in the OpenAPI document (`abi.server.openapi`).
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from abi.errors import NotFound, UsageError, WrongMedia
from abi.graph.pool import Cancel
from abi.server.access import caller
from abi.server.documents import answered
from abi.server.service import service_of

__all__ = ["router"]

router = APIRouter()


@router.post("/tools/{name}", include_in_schema=False)
async def tool(request: Request, name: str) -> Response:
    """Call a tool. Its queries end with the connection."""
    return await _called(request, name, "tool")


@router.post("/prompts/{name}", include_in_schema=False)
async def prompt(request: Request, name: str) -> Response:
    """Render a prompt."""
    return await _called(request, name, "prompt")


async def _called(request: Request, name: str, family: str) -> Response:
    service, principal = service_of(request), caller(request)
    arguments = await _arguments(request)

    cancel = Cancel()

    def work() -> dict[str, Any]:
        try:
            return service.call(principal, f"{family}s/{name}", arguments, cancel).document()
        except NotFound:
            offer = service.catalog.now()
            # Where it is there, something else was not found.
            offer.tool(name) if family == "tool" else offer.prompt(name)
            raise

    return answered(await service.run(request, work, cancel))


async def _arguments(request: Request) -> dict[str, Any]:
    """The body: one JSON object, none where there are no arguments. Raises UsageError, WrongMedia."""
    body = await request.body()
    if not body:
        return {}
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise WrongMedia("Arguments are sent as JSON.", hint="Set Content-Type: application/json.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The body is no JSON: {str(error)[:200]}.") from None
    if not isinstance(given, dict):
        raise UsageError("The body has to be a JSON object, argument names to values.")
    return given
