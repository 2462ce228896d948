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
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from abi.errors import Denied, NetworkError

if TYPE_CHECKING:
    import httpx

    from abi.settings import Settings

__all__ = ["AllowList", "NetClient", "Reply", "close_clients", "net_client"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[str]]

_PORTS = {"http": 80, "https": 443}
_NEVER: tuple[Network, ...] = tuple(
    ipaddress.ip_network(n)
    for n in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32", "192.0.0.192/32", "0.0.0.0/8")
)
"""Link-local, the metadata services of clouds, and "this host"."""
_MAX_REDIRECTS = 5
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


class AllowList:
    """The entries of `net_allow`. Raises ValueError for one that is none."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._origins: set[tuple[str, str, int]] = set()
        self._networks: list[Network] = []
        for entry in entries:
            self._add(entry.strip())

    def _add(self, entry: str) -> None:
        if "://" not in entry and "/" in entry:
            try:
                self._networks.append(ipaddress.ip_network(entry))
            except ValueError as error:
                raise ValueError(f"{entry!r} is no network: {error}") from None
            return
        try:
            scheme, host, port = origin_of(entry if "://" in entry else f"https://{entry}")
        except ValueError as error:
            raise ValueError(f"{entry!r} is neither a host nor scheme://host:port: {error}") from None
        if urlsplit(entry).path.strip("/") and "://" in entry:
            raise ValueError(f"{entry!r} has a path; a host is allowed as a whole")
        if "*" in host.removeprefix("*."):
            raise ValueError(f"{entry!r}: a star stands for the first part of a name only, like *.example.org")
        self._origins.add((scheme, host, port))

    def allows(self, url: str) -> bool:
        """Whether scheme, host and port are listed; addresses are judged when the connection is made."""
        try:
            scheme, host, port = origin_of(url)
        except ValueError:
            return False
        return self._listed(scheme, host, port) or any(
            (scheme, f"*.{parent}", port) in self._origins for parent in _parents(host)
        )

    def _listed(self, scheme: str, host: str, port: int) -> bool:
        return (scheme, host, port) in self._origins

    def reaches(self, host: str, port: int, address: str) -> bool:
        """Whether a connection to `host` may go to this address."""
        found: Address = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(found, ipaddress.IPv6Address):
            # An IPv4 address in IPv6 clothes is the IPv4 address.
            found = found.ipv4_mapped or found.sixtofour or _nat64(found) or found
        if any(found in network for network in _NEVER):
            return False
        if found.is_global and not found.is_multicast:
            return True
        if any(found in network for network in self._networks):
            return True
        itself = _address(host) is not None or host == "localhost"
        return itself and any(self._listed(scheme, host, port) for scheme in _PORTS)


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _parents(host: str) -> list[str]:
    parts = host.split(".")
    return [".".join(parts[n:]) for n in range(1, len(parts))]


@lru_cache(maxsize=1024)
def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host (lower case, without a final dot) and port. Raises ValueError for what is no such URL."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError(f"the scheme must be http or https, not {parts.scheme or 'none'}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a user name in a URL is not allowed")
    host = (parts.hostname or "").rstrip(".").lower()
    if not host or any(c.isspace() or c in "\\%" for c in host):
        raise ValueError("there is no host in it")
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    return parts.scheme, host, parts.port or _PORTS[parts.scheme]


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
        self._limits = {"timeout": {"connect": seconds, "read": seconds, "write": seconds, "pool": seconds}}
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
        deadline = time.monotonic() + self.seconds
        try:
            # Straight to the transport: an httpx client would keep cookies, for whoever sends the next request.
            sent = list(headers.items() if isinstance(headers, Mapping) else headers or ())
            given = {name.lower() for name, _ in sent}
            sent += [(name, value) for name, value in _HEADERS if name not in given]
            request = httpx.Request(method, url, headers=sent, content=content, extensions=self._limits)
            if str(request.url) != url:
                self._check(str(request.url))  # as httpx reads it, which is where it goes
            for _ in range(_MAX_REDIRECTS + 1):
                reply, following = self._send(transport, request, deadline)
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
        entry = f"{scheme}://{host}" + ("" if port == _PORTS[scheme] else f":{port}")
        raise Denied(
            f"Requests to {entry} are not allowed.", hint=f"If you trust it, add {entry} to net_allow in abi.yaml."
        )

    def _same_host(self, url: str, following: str) -> None:
        self._check(following)
        before, after = origin_of(url), origin_of(following)
        if before[1] != after[1] or before[0] == "https" != after[0]:
            message = f"{_shown(url)} redirects to another host, {_shown(following)}."
            raise Denied(message, hint="Use the address that it redirects to, if you trust it.")

    def _send(
        self, transport: httpx.BaseTransport, request: httpx.Request, deadline: float
    ) -> tuple[Reply, httpx.Request | None]:
        _clock.deadline = deadline
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
            with self._lock:
                if self._transport is None:
                    self._transport = _transport(self.allow_list, self._resolver)
        return self._transport


_clock = threading.local()
"""Until when the request of this thread may take."""


def _remaining(timeout: float | None) -> float:
    left: float = getattr(_clock, "deadline", time.monotonic() + 30.0) - time.monotonic()
    return max(0.001, min(left, timeout if timeout is not None else left))


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


def _transport(allow: AllowList, resolver: Resolver) -> httpx.BaseTransport:
    """A connection pool whose connections go to judged addresses only."""
    import httpcore
    import httpx

    class Stream(httpcore.NetworkStream):
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
            return Stream(self._inner.start_tls(ssl_context, server_hostname, _remaining(timeout)))

        def get_extra_info(self, info: str) -> Any:
            return self._inner.get_extra_info(info)

    class Backend(httpcore.NetworkBackend):
        def __init__(self) -> None:
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
                addresses = [host.strip("[]")] if _address(host.strip("[]")) else resolver(host, port)
            except OSError as error:
                raise httpcore.ConnectError(f"the host {host} is not known ({error})") from error
            for address in addresses:
                if not allow.reaches(host, port, address):
                    raise Denied(
                        f"The host {host} has the address {address}, which is private: no request goes there.",
                        hint="Private addresses are reached only where net_allow in abi.yaml lists them.",
                    )
            failed: Exception = httpcore.ConnectError(f"the host {host} has no address")
            for address in addresses:
                try:
                    return Stream(
                        self._inner.connect_tcp(address, port, _remaining(timeout), local_address, socket_options)
                    )
                except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                    failed = error
            raise failed

    class Transport(httpx.BaseTransport):
        def __init__(self) -> None:
            self._pool = httpcore.ConnectionPool(
                ssl_context=httpx.create_ssl_context(trust_env=False),
                max_connections=50,
                max_keepalive_connections=20,
                keepalive_expiry=30.0,
                network_backend=Backend(),
            )

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            url = request.url
            target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
            inner = httpcore.Request(
                request.method,
                target,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
            with _translated(httpcore, httpx):
                response = self._pool.handle_request(inner)
            return httpx.Response(
                response.status, headers=response.headers, stream=Body(response.stream), extensions=response.extensions
            )

        def close(self) -> None:
            self._pool.close()

    class Body(httpx.SyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __iter__(self) -> Any:
            with _translated(httpcore, httpx):
                yield from self._inner

        def close(self) -> None:
            self._inner.close()

    return Transport()


class _translated:
    """httpcore's errors as httpx's."""

    def __init__(self, httpcore: Any, httpx: Any) -> None:
        self._httpcore, self._httpx = httpcore, httpx

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, self._httpcore.TimeoutException):
            raise self._httpx.ReadTimeout("it took too long") from error
        if isinstance(error, (self._httpcore.NetworkError, self._httpcore.ProtocolError)):
            raise self._httpx.NetworkError(str(error) or type(error).__name__) from error
        if isinstance(error, self._httpcore.UnsupportedProtocol):
            raise self._httpx.UnsupportedProtocol(str(error)) from error


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
