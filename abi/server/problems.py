"""Every fault as the one JSON document that all faces share, with the status and the headers that HTTP wants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from abi.errors import AbiError, NotFound, Unauthenticated, UsageError, WrongMethod

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["InternalFault", "handle_abi", "handle_gone", "handle_http", "handle_validation", "problem"]


class InternalFault(AbiError):
    """A fault of abi itself. What it was is in the log under the request's id, and not in the answer."""


def problem(error: AbiError) -> Response:
    headers: dict[str, str] = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if error.http_status in (429, 503):
        headers["Retry-After"] = str(error.details.get("retry_after", 1))
    if isinstance(error, WrongMethod):
        headers["Allow"] = ", ".join(error.details.get("allow", []))
    body = json.dumps(error.document(), ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, error.http_status, headers, media_type="application/json")


async def handle_abi(request: Request, error: Exception) -> Response:
    assert isinstance(error, AbiError)
    return problem(error)


async def handle_gone(request: Request, error: Exception) -> Response:
    """Nobody is there to be answered: the outermost layer counts it."""
    raise error


async def handle_http(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: no such route, no such method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return problem(NotFound("There is nothing at this address.", hint="GET /openapi.json lists what there is."))
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "").replace(" ", "").split(",")
        return problem(WrongMethod("This address takes no such request.", details={"allow": [a for a in allowed if a]}))
    fault = UsageError(str(error.detail))
    answer = problem(fault)
    answer.status_code = error.status_code
    return answer


async def handle_validation(request: Request, error: Exception) -> Response:
    """A body or a parameter that is not what the route declares: all of its faults, without the values."""
    faults: list[Any] = getattr(error, "errors", list)()
    told = [{"field": ".".join(str(p) for p in f.get("loc", ())), "message": f.get("msg", "")} for f in faults]
    fault = UsageError("The request is not what this address takes.", details={"faults": told})
    answer = problem(fault)
    answer.status_code = 422
    return answer
