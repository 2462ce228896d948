"""One turn of a thread at a time, whichever process runs it.

A turn reads what the thread held and writes what it holds then: two at once would lose one of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from abi.errors import Busy

__all__ = ["FileLocks", "Locks", "ProcessLocks", "held"]

_LOOK = 0.02
"""Seconds between two tries for a lock that somebody else has."""


class Locks(Protocol):
    """Locks by the key of a thread. `take` tries once and gives what ends the hold, None where somebody has it."""

    def take(self, key: str) -> Callable[[], None] | None: ...


@contextlib.contextmanager
def held(locks: Locks, key: str, *, stopped: Callable[[], bool] = lambda: False, seconds: float) -> Iterator[bool]:
    """Hold a thread while the block runs. Gives False, and holds nothing, where `stopped()` came true before it was
    free. Raises Busy where it was not free in `seconds`."""
    until = time.monotonic() + seconds
    release = locks.take(key)
    while release is None:
        if stopped():
            yield False
            return
        if time.monotonic() > until:
            raise Busy(
                f"Another turn of this conversation has been running for {seconds:g} s.",
                hint="Wait for it, or begin a new conversation.",
            )
        time.sleep(_LOOK)
        release = locks.take(key)
    try:
        yield True
    finally:
        release()


class _Lock:
    """A lock that the map below forgets when nobody has it in hand."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class ProcessLocks:
    """Locks between the threads of this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: weakref.WeakValueDictionary[str, _Lock] = weakref.WeakValueDictionary()

    def take(self, key: str) -> Callable[[], None] | None:
        with self._guard:
            lock = self._locks.setdefault(key, _Lock())
        if not lock.lock.acquire(blocking=False):
            return None

        def release(lock: _Lock = lock) -> None:
            lock.lock.release()

        return release


class FileLocks:
    """Locks between processes on one machine: a file for each thread that has a turn now, in `folder`.

    The system lets go of the lock of a process that died. A file that is left over locks nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, key: str) -> Callable[[], None] | None:
        path = self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.lock"
        while True:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            except FileNotFoundError:  # the folder went in between
                continue
            if not _lock(number):
                os.close(number)
                return None
            if _same(number, path):
                return lambda: _end(number, path)
            os.close(number)  # who had it before has removed it: what was locked is no longer the file of that name


def _same(number: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    own = os.fstat(number)
    return (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)


def _end(number: int, path: Path) -> None:
    with contextlib.suppress(OSError):  # Windows removes no file that is open; it is used again then
        path.unlink()
    os.close(number)


_lock: Callable[[int], bool]
try:
    import fcntl
except ImportError:  # Windows
    msvcrt: Any = __import__("msvcrt")

    def _lock_bytes(number: int) -> bool:
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    _lock = _lock_bytes
else:

    def _lock_file(number: int) -> bool:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    _lock = _lock_file
