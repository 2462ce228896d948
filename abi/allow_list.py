"""What `net_allow` in `abi.yaml` lists, and which addresses a request may reach by it; `abi.net` has its words."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

__all__ = ["PORTS", "AllowList", "address_of", "origin_of"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PORTS = {"http": 80, "https": 443}
_NEVER: tuple[Network, ...] = tuple(
    ipaddress.ip_network(n)
    for n in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32", "192.0.0.192/32", "0.0.0.0/8")
)
"""Link-local, the metadata services of clouds, and "this host"."""


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
        itself = address_of(host) is not None or host == "localhost"
        return itself and any(self._listed(scheme, host, port) for scheme in PORTS)


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def address_of(host: str) -> Address | None:
    """The address that `host` is, where it is no name."""
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
    if parts.scheme not in PORTS:
        raise ValueError(f"the scheme must be http or https, not {parts.scheme or 'none'}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a user name in a URL is not allowed")
    host = (parts.hostname or "").rstrip(".").lower()
    if not host or any(c.isspace() or c in "\\%" for c in host):
        raise ValueError("there is no host in it")
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    return parts.scheme, host, parts.port or PORTS[parts.scheme]
