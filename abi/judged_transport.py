"""HTTP connections that go to judged addresses only, and whose every wait ends with the request's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

from abi.allow_list import AllowList, address_of
from abi.errors import Denied

__all__ = ["JudgedTransport", "Resolver"]

Resolver = Callable[[str, int], Sequence[str]]

_clock = threading.local()
"""Until when the request of this thread may take."""


class JudgedTransport(httpx.BaseTransport):
    """A pool of connections. A request has its end, by the monotonic clock, as the extension `deadline`.

    Raises httpx's errors, and Denied for a host that has an address which may not be reached.
    """

    def __init__(self, allow: AllowList, resolver: Resolver) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_connections=50,
            max_keepalive_connections=20,
            keepalive_expiry=30.0,
            network_backend=_Backend(allow, resolver),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        _clock.deadline = request.extensions["deadline"]
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        inner = httpcore.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _translated():
            response = self._pool.handle_request(inner)
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response.stream), extensions=response.extensions
        )

    def close(self) -> None:
        self._pool.close()


def _remaining(timeout: float | None) -> float:
    left: float = getattr(_clock, "deadline", time.monotonic() + 30.0) - time.monotonic()
    return max(0.001, min(left, timeout if timeout is not None else left))


class _Stream(httpcore.NetworkStream):
    """A connection on which every wait ends with the request's time, however slowly bytes come."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if time.monotonic() > getattr(_clock, "deadline", float("inf")):
            raise httpcore.ReadTimeout("timed out")
        return self._inner.read(max_bytes, _remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _remaining(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _remaining(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, allow: AllowList, resolver: Resolver) -> None:
        self._allow, self._resolve = allow, resolver
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        host = host.rstrip(".").lower()
        try:
            addresses = [host.strip("[]")] if address_of(host.strip("[]")) else self._resolve(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"the host {host} is not known ({error})") from error
        for address in addresses:
            if not self._allow.reaches(host, port, address):
                raise Denied(
                    f"The host {host} has the address {address}, which is private: no request goes there.",
                    hint="Private addresses are reached only where net_allow in abi.yaml lists them.",
                )
        failed: Exception = httpcore.ConnectError(f"the host {host} has no address")
        for address in addresses:
            try:
                return _Stream(
                    self._inner.connect_tcp(address, port, _remaining(timeout), local_address, socket_options)
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


class _Body(httpx.SyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __iter__(self) -> Any:
        with _translated():
            yield from self._inner

    def close(self) -> None:
        self._inner.close()


@contextmanager
def _translated() -> Iterator[None]:
    """httpcore's errors as httpx's."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise httpx.ReadTimeout("it took too long") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise httpx.NetworkError(str(error) or type(error).__name__) from error
    except httpcore.UnsupportedProtocol as error:
        raise httpx.UnsupportedProtocol(str(error)) from error
