"""What is looked at before anything else: by which name the server is called, from which page, and how much is sent.

A web page elsewhere can send requests to this machine, under its own name (Origin) or, by DNS rebinding, under a name
that leads here (Host); both are refused. There are no cookies, so nothing is done in the name of whoever looks at it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from abi.errors import AbiError, Busy, Denied, TooLarge, UsageError, WrongMedia
from abi.server.problems import problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Bounds", "Doorway"]

_SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_EXPOSED = b"ETag, Location, X-Abi-Truncated, X-Request-Id, Retry-After, Mcp-Session-Id"
_ALLOWED = (
    b"Authorization, Content-Type, Accept, If-Match, If-None-Match, "
    b"Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID"
)
_UNCOUNTED = ("/health", "/mcp")
"""What MCP does is counted with the requests that it makes; its own stay open for hours."""


class Doorway:
    """Hosts and origins. `hosts`: names without port, lower case; `origins`: as browsers send them, or `*`."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(o.rstrip("/").lower() for o in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = origin = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
        headers = list(_SAFE)
        try:
            self._check_host(host)
            if origin:
                headers = self._admit(origin, host, headers)
        except AbiError as error:
            await problem(error)(scope, receive, _with(send, headers))
            return
        if origin and scope["method"] == "OPTIONS":
            headers += [
                (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, DELETE"),
                (b"access-control-allow-headers", _ALLOWED),
                (b"access-control-max-age", b"600"),
            ]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, _with(send, headers))

    def _check_host(self, host: bytes) -> None:
        name = host.decode("latin-1").lower()
        if name.startswith("["):
            name = name.partition("]")[0] + "]"
        else:
            name = name.partition(":")[0]
        if name not in self._hosts:
            raise Denied(
                "This server does not go by the name in the Host header.", hint="Add the name to server_hosts."
            )

    def _admit(self, origin: bytes, host: bytes, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        name = origin.decode("latin-1").lower()
        if name in (f"http://{host.decode('latin-1').lower()}", f"https://{host.decode('latin-1').lower()}"):
            return headers
        if name not in self._origins and "*" not in self._origins:
            raise Denied(
                "Pages of this origin may not call this server.", hint="Add the origin to server_origins if they may."
            )
        return [
            *(h for h in headers if h[0] != b"cross-origin-resource-policy"),
            (b"access-control-allow-origin", b"*" if "*" in self._origins else origin),
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"Origin"),
        ]


def _with(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def extended(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return extended


class Bounds:
    """How many requests at one time, and how many bytes each may send, counted as they come.

    `sizes`: the limit for paths that begin so; `size` for all others.
    """

    def __init__(self, app: ASGIApp, requests: int, size: int, sizes: dict[str, int]) -> None:
        self._app = app
        self._most = requests
        self._running = 0
        self._size = size
        self._sizes = sizes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            limit = self._limit(scope["path"])
            self._check(scope, limit)
            counts = not scope["path"].startswith(_UNCOUNTED)
            if self._running >= self._most and counts:
                raise Busy("As many requests as may are being worked on.", details={"retry_after": 1})
        except AbiError as error:
            await problem(error)(scope, receive, send)
            return
        self._running += counts
        try:
            await self._count(scope, receive, send, limit)
        finally:
            self._running -= counts

    def _limit(self, path: str) -> int:
        for start, size in self._sizes.items():
            if path == start or path.startswith(start + "/"):
                return size
        return self._size

    def _check(self, scope: Scope, limit: int) -> None:
        for name, value in scope["headers"]:
            if name == b"content-encoding" and value.strip().lower() != b"identity":
                # A few kilobytes would unpack to gigabytes.
                raise WrongMedia("Compressed requests are not taken.", hint="Send it without Content-Encoding.")
            if name == b"content-length":
                if not value.isdigit():
                    raise UsageError("Content-Length is not a number.")
                if int(value) > limit:
                    raise _too_large(limit)

    async def _count(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        received = 0
        begun = False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except TooLarge as error:
            if begun:
                raise
            await problem(error)(scope, receive, send)


def _too_large(limit: int) -> TooLarge:
    details: dict[str, Any] = {"limit": limit}
    return TooLarge(f"The request's body is larger than {limit:,} bytes.", details=details)
