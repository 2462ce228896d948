"""Who calls, and what they may do: Bearer keys with roles, an answer of 401 or 403 to everyone else.

Without any key only this machine can call (`abi serve` sees to that), and may read and chat. As soon as there is a key,
everything but what is public needs one. Changes always need one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from abi.errors import AbiError, Denied, TooMany, Unauthenticated
from abi.keys import Keys, Principal, Role
from abi.server.problems import problem

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Access", "Rate", "caller", "client_of", "require"]

_PUBLIC = ("/health", "/favicon.ico")
_PUBLIC_PAGES = ("/", "/openapi.json", "/docs")
"""Pages without data of the workspace: they ask for the key themselves."""
_TOKEN_ROUTES = ("/agents",)
_FAILURES = 30
"""Keys that one address may try in a minute."""


class Rate:
    """Up to `per_minute` at once, filled up again evenly. One bucket for each name."""

    def __init__(self, per_minute: int) -> None:
        self._most = float(per_minute)
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> bool:
        """Count one more; False where it is too many."""
        if self._most <= 0:
            return True
        now = time.monotonic()
        left, then = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - then) * self._most / 60)
        if len(self._left) > 10_000:
            self._left.clear()
        self._left[name] = (max(0.0, left - 1), now)
        return left >= 1


class Access:
    """Puts the Principal of each request into `scope["principal"]`, and lets nobody in without one."""

    def __init__(self, app: ASGIApp, keys: Keys, rate: int) -> None:
        self._app = app
        self._keys = keys
        self._rate = Rate(rate)
        self._failures = Rate(_FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope["principal"] = self._admit(scope)
        except AbiError as error:
            await problem(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> Principal:
        address = (scope.get("client") or ("unknown", 0))[0]
        path = scope["path"]
        key = _key(scope)
        if key is None:
            if self._keys.exist() and not path.startswith(_PUBLIC) and path not in _PUBLIC_PAGES:
                raise Unauthenticated(
                    "This needs a key.", hint="Send it as `Authorization: Bearer KEY`; `abi key create` makes one."
                )
            principal = Principal("anonymous", "reader", anonymous=True)
            name = address
        else:
            found = self._keys.principal(key)
            if found is None:
                if not self._failures.take(address):
                    raise TooMany("Too many wrong keys.", details={"retry_after": 60})
                raise Unauthenticated("This key is none, or was revoked.", hint="`abi key list` shows which there are.")
            principal, name = found, found.name
        if not path.startswith(_PUBLIC) and not self._rate.take(name):
            raise TooMany("Too many requests.", hint="The limit is server_rate.", details={"retry_after": 1})
        return principal


def caller(request: Request) -> Principal:
    principal = request.scope["principal"]
    assert isinstance(principal, Principal)
    return principal


def client_of(request: Request) -> str:
    """What tells one client from another: its key, or its address."""
    principal = caller(request)
    address = request.scope.get("client") or ("unknown", 0)
    return f"address {address[0]}" if principal.anonymous else principal.name


def require(request: Request, role: Role) -> Principal:
    """The caller, who has at least this role. Raises Unauthenticated, Denied."""
    principal = caller(request)
    if principal.anonymous and role != "reader":
        raise Unauthenticated(
            "Changes need a key.", hint="Send it as `Authorization: Bearer KEY`; `abi key create` makes one."
        )
    if not principal.may(role):
        raise Denied(f"This needs the role {role}; the key {principal.name!r} has the role {principal.role}.")
    return principal


def _key(scope: Scope) -> str | None:
    path: str = scope["path"]
    given: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if given:
        scheme, _, key = given[0].decode("latin-1").partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer" or not key.strip():
            raise Unauthenticated("The Authorization header is not `Bearer KEY`.")
        return key.strip()
    if b"token=" in scope["query_string"] and (path in _TOKEN_ROUTES or path.startswith(f"{_TOKEN_ROUTES[0]}/")):
        query: str = scope["query_string"].decode("latin-1")
        for name, value in parse_qsl(query):
            if name == "token":
                return value
    return None
