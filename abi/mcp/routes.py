"""The server's HTTP routes as MCP asks them: of the application in this process, or of a server that runs already.

A request ends with its context: whoever leaves it early has closed the connection, and what was at work there stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import anyio

from abi.errors import NetworkError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from abi.keys import Role
    from abi.running import RunningServer

    Asgi = Callable[
        [MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
    ]

__all__ = ["Caller", "InProcess", "Refused", "Remote", "Reply", "Routes", "document"]

_PATIENCE = 5.0
"""Seconds that work which was given up has for ending in good order."""


@dataclass(frozen=True, slots=True)
class Caller:
    """In whose name requests are made. `session` tells one conversation of a client from another."""

    role: Role
    authorization: str | None
    host: str = "127.0.0.1"
    client: tuple[str, int] = ("127.0.0.1", 0)
    scheme: str = "http"
    session: str | None = None

    @property
    def may_write(self) -> bool:
        return self.role != "reader"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    """By name in lower case."""
    chunks: AsyncIterator[bytes]

    async def body(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks])


class Refused(Exception):
    """A route's answer of 400 and above, with the document that all errors have."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.code: str = error.get("code", "error")
        self.message: str = error.get("message", "")
        self.hint: str = error.get("hint", "")
        self.details: dict[str, Any] = error.get("details", {})
        super().__init__(self.message)


class Routes(Protocol):
    """`request` raises NetworkError where nobody answers."""

    def request(
        self, caller: Caller, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> contextlib.AbstractAsyncContextManager[Reply]: ...

    async def version(self) -> int:
        """The graph's version as it is now."""


async def document(
    routes: Routes,
    caller: Caller,
    method: str,
    path: str,
    sent: Any = None,
    *,
    accept: str = "application/json",
    media: str = "application/json",
    **parameters: Any,
) -> Any:
    """What a route answers: of JSON the value, of anything else the text. Raises Refused, NetworkError."""
    async with opened(routes, caller, method, path, sent, accept=accept, media=media, **parameters) as reply:
        body = await reply.body()
        return json.loads(body) if "json" in reply.headers.get("content-type", "") else body.decode()


@contextlib.asynccontextmanager
async def opened(
    routes: Routes,
    caller: Caller,
    method: str,
    path: str,
    sent: Any = None,
    *,
    accept: str = "application/json",
    media: str = "application/json",
    **parameters: Any,
) -> AsyncIterator[Reply]:
    """A route's answer while it comes. Raises Refused, NetworkError."""
    given = {name: value for name, value in parameters.items() if value is not None}
    body = b"" if sent is None else sent.encode() if isinstance(sent, str) else json.dumps(sent).encode()
    headers = {"accept": accept, **({"content-type": media} if body else {})}
    async with routes.request(caller, method, f"{path}?{urlencode(given)}" if given else path, headers, body) as reply:
        if reply.status >= 400:
            raise Refused(_error(await reply.body(), reply.status))
        yield reply


def _error(body: bytes, status: int) -> dict[str, Any]:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        error: dict[str, Any] = json.loads(body)["error"]
        return error
    return {"code": "error", "message": f"The server answered {status}.", "hint": "Its log may tell more."}


class InProcess:
    """The application itself, called without a connection."""

    def __init__(self, app: Asgi, version: Callable[[], Awaitable[int]]) -> None:
        self._app = app
        self._version = version

    async def version(self) -> int:
        return await self._version()

    @contextlib.asynccontextmanager
    async def request(
        self, caller: Caller, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> AsyncIterator[Reply]:
        path, _, query = target.partition("?")
        sent: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(64)
        left = asyncio.Event()
        taken = False

        async def receive() -> dict[str, Any]:
            nonlocal taken
            if not taken:
                taken = True
                return {"type": "http.request", "body": body, "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if not left.is_set():
                await sent.put(message)

        async def work() -> None:
            # What it raises is in the log of the outermost layer; here it is an answer that ends.
            with contextlib.suppress(Exception):
                await self._app(_scope(caller, method, path, query, headers), receive, send)
            if not left.is_set():
                await sent.put(None)

        task = asyncio.create_task(work())
        try:
            start = await sent.get() or {"status": 500, "headers": []}
            told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
            yield Reply(start["status"], told, _chunks(sent))
        finally:
            left.set()
            while not sent.empty():
                sent.get_nowait()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task}, timeout=_PATIENCE)
                task.cancel()


async def _chunks(sent: asyncio.Queue[dict[str, Any] | None]) -> AsyncIterator[bytes]:
    while (message := await sent.get()) is not None:
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body", False):
            return


def _scope(caller: Caller, method: str, path: str, query: str, headers: dict[str, str]) -> dict[str, Any]:
    from urllib.parse import unquote

    named = {"host": caller.host, **headers}
    if caller.authorization:
        named["authorization"] = caller.authorization
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": caller.scheme,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in named.items()],
        "client": caller.client,
        "server": ("127.0.0.1", 0),
        "state": {},
    }


class Remote:
    """A server that holds the workspace, with the key that it left for programs of the same user."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server

    async def version(self) -> int:
        caller = Caller("reader", None)
        told = await document(self, caller, "GET", "/health/ready")
        version: int = told["version"]
        return version

    @contextlib.asynccontextmanager
    async def request(
        self, caller: Caller, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> AsyncIterator[Reply]:
        import httpx

        if caller.authorization:
            headers = {**headers, "authorization": caller.authorization}
        verify: Any = True
        if self._server.certificate:
            import ssl

            verify = ssl.create_default_context(cafile=self._server.certificate)
            verify.check_hostname = False  # it is this very certificate, whatever name stands in it
        timeout = httpx.Timeout(10, read=None)
        try:
            async with (
                httpx.AsyncClient(base_url=self._server.url, verify=verify, timeout=timeout, trust_env=False) as client,
                client.stream(method, target, headers=headers, content=body) as answer,
            ):
                yield Reply(answer.status_code, dict(answer.headers), answer.aiter_bytes())
        except httpx.HTTPError as error:
            raise NetworkError(
                f"The server of this workspace does not answer: {error}", hint="Start `abi serve` anew, or this."
            ) from error
