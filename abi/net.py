"""The one guarded HTTP client: for each request whose target comes from a record, a specification, the graph or a user.

A target is reached where `net_allow` in `abi.yaml` lists its scheme and host. The host is resolved once for each
connection, every address is judged, and the connection goes to the judged address: a name that resolves to a private
address, or that changes its address in between, leads nowhere. Redirects stay on their host; size and time are limited.

Entries of `net_allow`:

    api.example.org                https, port 443
    http://api.example.org:8080    this scheme, host and port
    https://*.example.org          any host below example.org
    http://127.0.0.1:9000          a private address or localhost: only where it is listed itself
    10.0.0.0/8                     listed names may resolve to addresses of this network

Link-local addresses, where clouds give out credentials, are never reached. Proxies of the environment are not used.
What the operator writes into `abi.yaml` as a target of its own (a local model server) is trusted, and not asked here.
"""

from __future__ import annotations

import atexit
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from abi.allow_list import PORTS, AllowList, origin_of
from abi.errors import Denied, NetworkError

if TYPE_CHECKING:
    import httpx

    from abi.judged_transport import Resolver
    from abi.settings import Settings

__all__ = ["NetClient", "Reply", "close_clients", "net_client"]

_MAX_REDIRECTS = 5
_WAITS = ("connect", "read", "write", "pool")
_HEADERS = (
    ("accept", "*/*"),
    ("accept-encoding", "gzip, deflate"),
    ("connection", "keep-alive"),
    ("user-agent", "abi"),
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `content` is decoded; `truncated` where an error's body was longer than the limit."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    url: str
    truncated: bool = False

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        charset = self.headers.get("content-type", "").partition("charset=")[2].partition(";")[0].strip(" \"'")
        try:
            return self.content.decode(charset or "utf-8", "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")


def resolve(host: str, port: int) -> list[str]:
    """Addresses of a host. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class NetClient:
    """A client with one allow list. Keeps connections open; safe to use from several threads."""

    def __init__(
        self,
        allow: Iterable[str] = (),
        *,
        seconds: float = 30.0,
        max_bytes: int = 10 * 1024 * 1024,
        resolver: Resolver = resolve,
    ) -> None:
        self.allow_list = AllowList(allow)
        self.seconds = seconds
        self.max_bytes = max_bytes
        self._resolver = resolver
        self._transport: httpx.BaseTransport | None = None
        self._lock = threading.Lock()

    def allows(self, url: str) -> bool:
        return self.allow_list.allows(url)

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
        content: bytes | None = None,
    ) -> Reply:
        """Send a request and read the whole answer, whatever its status.

        Raises Denied for a target that is not allowed, NetworkError for one that cannot be reached, that takes longer
        than `seconds` in all, or that sends more than `max_bytes`.
        """
        import httpx

        self._check(url)
        transport = self._open()
        limits = {"timeout": dict.fromkeys(_WAITS, self.seconds), "deadline": time.monotonic() + self.seconds}
        try:
            # Straight to the transport: an httpx client would keep cookies, for whoever sends the next request.
            sent = list(headers.items() if isinstance(headers, Mapping) else headers or ())
            given = {name.lower() for name, _ in sent}
            sent += [(name, value) for name, value in _HEADERS if name not in given]
            request = httpx.Request(method, url, headers=sent, content=content, extensions=limits)
            if str(request.url) != url:
                self._check(str(request.url))  # as httpx reads it, which is where it goes
            for _ in range(_MAX_REDIRECTS + 1):
                reply, following = self._send(transport, request)
                if following is None:
                    return reply
                request = following
        except httpx.HTTPError as error:
            raise NetworkError(f"{_shown(url)} cannot be reached: {error}.") from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise NetworkError(f"{_shown(url)} is no URL that can be reached: {error}.") from error
        raise NetworkError(f"{_shown(url)} redirects more than {_MAX_REDIRECTS} times.")

    def get(self, url: str) -> bytes:
        """The body at a URL. Raises as `request` does, and NetworkError for any status but 2xx."""
        reply = self.request("GET", url)
        if not 200 <= reply.status < 300:
            raise NetworkError(f"{_shown(url)} answered with status {reply.status}.")
        return reply.content

    def close(self) -> None:
        with self._lock:
            if self._transport is not None:
                self._transport.close()
            self._transport = None

    def _check(self, url: str) -> None:
        if self.allow_list.allows(url):
            return
        try:
            scheme, host, port = origin_of(url)
        except ValueError as error:
            raise Denied(f"{_shown(url)} is no target of a request: {error}.") from None
        entry = f"{scheme}://{host}" + ("" if port == PORTS[scheme] else f":{port}")
        raise Denied(
            f"Requests to {entry} are not allowed.", hint=f"If you trust it, add {entry} to net_allow in abi.yaml."
        )

    def _same_host(self, url: str, following: str) -> None:
        self._check(following)
        before, after = origin_of(url), origin_of(following)
        if before[1] != after[1] or before[0] == "https" != after[0]:
            message = f"{_shown(url)} redirects to another host, {_shown(following)}."
            raise Denied(message, hint="Use the address that it redirects to, if you trust it.")

    def _send(self, transport: httpx.BaseTransport, request: httpx.Request) -> tuple[Reply, httpx.Request | None]:
        response = transport.handle_request(request)
        try:
            following = None
            if response.has_redirect_location:
                target = request.url.join(response.headers["location"])
                self._same_host(str(request.url), str(target))
                following = _redirected(request, response.status_code, target)
            pieces: list[bytes] = []
            size = 0
            truncated = False
            for piece in response.iter_bytes():
                size += len(piece)
                if size > self.max_bytes:
                    if response.status_code < 400:
                        raise NetworkError(f"{_shown(str(request.url))} sends more than {self.max_bytes:,} bytes.")
                    truncated = True
                    pieces.append(piece[: len(piece) - (size - self.max_bytes)])
                    break
                pieces.append(piece)
        finally:
            response.close()
        headers = {key.lower(): value for key, value in response.headers.items()}
        return Reply(response.status_code, headers, b"".join(pieces), str(request.url), truncated), following

    def _open(self) -> httpx.BaseTransport:
        if self._transport is None:
            from abi.judged_transport import JudgedTransport

            with self._lock:
                if self._transport is None:
                    self._transport = JudgedTransport(self.allow_list, self._resolver)
        return self._transport


def _redirected(request: httpx.Request, status: int, url: httpx.URL) -> httpx.Request:
    """The request that a redirection to `url` asks for, as browsers understand it."""
    import httpx

    method, headers, content = request.method, request.headers.copy(), request.content
    to_get = status == 303 and method != "HEAD"
    if to_get or (status in (301, 302) and method == "POST"):
        method, content = "GET", b""
        for name in ("content-length", "content-type", "transfer-encoding"):
            headers.pop(name, None)
    headers.pop("host", None)  # another port is another host to name
    before, after = origin_of(str(request.url)), origin_of(str(url))
    if before != after and (before[0], after[0], before[2], after[2]) != ("http", "https", 80, 443):
        for name in ("authorization", "cookie"):
            headers.pop(name, None)
    return httpx.Request(method, url, headers=headers, content=content or None, extensions=request.extensions)


def _shown(url: str) -> str:
    """A URL without what may be secret in it: user, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "The address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else url.partition("?")[0]


_clients: dict[tuple[tuple[str, ...], float, int], NetClient] = {}


def net_client(settings: Settings) -> NetClient:
    """The client of a workspace's settings; equal settings share one, with its connections."""
    key = (tuple(settings.net_allow), settings.net_seconds, settings.net_bytes)
    found = _clients.get(key)
    return found or _clients.setdefault(key, NetClient(key[0], seconds=key[1], max_bytes=key[2]))


def close_clients() -> None:
    """Close the connections of all shared clients; the next request opens new ones."""
    for client in list(_clients.values()):
        client.close()


atexit.register(close_clients)
