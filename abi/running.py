"""The server of a workspace, as other programs of the same user find it: `.abi/server.json`.

The file holds the address and a key that is good for as long as the server runs; only its owner can read it. The server
keeps a lock on it. So a file that a killed server left behind, or that came with the folder from elsewhere, is told
from one of a server that runs, and nothing is ever sent to an address that merely stands in a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from abi.errors import Denied

__all__ = ["RunningServer", "announced", "running_server"]

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 (it is looked up, not bound)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """`url` without a path; `certificate` is the file that it shows, None without TLS."""

    url: str
    key: str
    pid: int
    certificate: str | None = None


def _place(root: Path) -> Path:
    return root / ".abi" / "server.json"


@contextlib.contextmanager
def announced(root: Path, url: str, key: str, certificate: Path | None = None) -> Iterator[None]:
    """Tell other programs of this user of a server, until the end of the context."""
    place = _place(root)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    told = {
        "url": _reachable(url),
        "pid": os.getpid(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "key": key,
        "certificate": None if certificate is None else str(certificate.absolute()),
    }
    # Closing any other handle on this file in this process would let go of the lock.
    with os.fdopen(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        _lock(file.fileno())
        json.dump(told, file)
        file.flush()
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


def running_server(root: Path) -> RunningServer | None:
    """The server that holds this workspace; None where there is none, or one of another user.

    Not to be called by the server's own process. Raises Denied where others can read the server's key.
    """
    try:
        descriptor = os.open(_place(root), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not _is_locked(file.fileno()):
            return None
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid():
            return None
        if status.st_mode & 0o077:
            raise Denied(
                f"{_place(root)} can be read by others: the key in it is no secret.",
                hint="Start `abi serve` anew; it makes the file for you alone.",
            )
        try:
            told = json.load(file)
            return RunningServer(told["url"], told["key"], told["pid"], told["certificate"])
        except (ValueError, KeyError, TypeError):
            return None  # it is being written: the server has only begun


def _reachable(url: str) -> str:
    """Where it listens everywhere, the address that leads to it from here."""
    parts = urlsplit(url)
    host = _EVERYWHERE.get(parts.hostname or "")
    return url if host is None else f"{parts.scheme}://{host}:{parts.port}"


def _lock(descriptor: int) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.lockf(descriptor, fcntl.LOCK_EX)


def _is_locked(descriptor: int) -> bool:
    """Where files cannot be locked so, nobody is known to run."""
    if os.name != "posix":
        return False
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    return False
