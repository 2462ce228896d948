"""`/mcp` of the server: Streamable HTTP, behind the doorway and the keys that everything else is behind.

The package and the sessions' task are loaded with the first client, so a server that has none pays nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from abi.errors import Unsupported
from abi.mcp.routes import Caller, InProcess

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from abi.keys import Principal
    from abi.mcp.routes import Asgi

__all__ = ["MISSING", "Mounted"]

MISSING = 'MCP is an extra. Install it: pip install "abi-graph[mcp]"'
_SESSIONS = 1_000
_IDLE = 3_600.0
"""Seconds after which a session without any request is forgotten."""


class Mounted:
    """An ASGI application. `app`: the whole server, of which everything is asked in the caller's own name."""

    def __init__(
        self, app: Asgi, name: str, prefixes: Mapping[str, str], version: Callable[[], Awaitable[int]], body: int
    ) -> None:
        self._name = name
        self._prefixes = prefixes
        self._routes = InProcess(app, version)
        self._body = body
        self._lock = asyncio.Lock()
        self._manager: Any = None
        self._task: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lock:
            if self._manager is None:
                await self._begin()
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        # A session goes on only for whoever began it.
        principal: Principal = scope["principal"]
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.name, scopes=[principal.role]))
        await self._manager.handle_request(scope, receive, send)

    async def _begin(self) -> None:
        try:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

            from abi.mcp.server import McpServer
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise Unsupported("This server does not speak MCP.", hint=MISSING) from None
        made = McpServer(self._name, self._routes, self._prefixes, _caller_of)
        manager = StreamableHTTPSessionManager(
            made.server, max_sessions=_SESSIONS, session_idle_timeout=_IDLE, max_request_body_size=self._body
        )
        begun = asyncio.Event()

        async def run() -> None:
            # Whoever opens the manager's task group has to close it.
            async with manager.run(), made.watching():
                begun.set()
                await self._end.wait()

        self._task = asyncio.create_task(run())
        waiting = asyncio.create_task(begun.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            self._task.result()
        self._manager = manager

    async def close(self) -> None:
        self._end.set()
        if self._task is not None:
            with contextlib.suppress(Exception):
                await self._task


def _caller_of(context: Any) -> Caller:
    from abi.mcp.server import session_name

    request = context.request
    principal: Principal = request.scope["principal"]
    session = request.headers.get("mcp-session-id")
    return Caller(
        principal.role,
        request.headers.get("authorization"),
        host=request.headers.get("host", ""),
        client=tuple(request.scope.get("client") or ("unknown", 0)),
        scheme=request.scope.get("scheme", "http"),
        session=None if session is None else session_name(session),
    )
