"""Waiting for the files of a workspace to change."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["changes"]

_SECONDS_BETWEEN_LOOKS = 0.5
_NOT_SOURCES = {".abi", ".git", "__pycache__", "node_modules", ".venv"}

Snapshot = dict[str, tuple[int, int]]


def snapshot(root: Path) -> Snapshot:
    """Time and size of every file that could be a source."""
    found: Snapshot = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_SOURCES]
        for name in files:
            path = os.path.join(folder, name)  # noqa: PTH118 (a Path for each file costs more than the look itself)
            try:
                state = os.stat(path)  # noqa: PTH116
            except OSError:  # gone between the two looks
                continue
            found[path] = (state.st_mtime_ns, state.st_size)
    return found


def changes(root: Path, seconds: float = _SECONDS_BETWEEN_LOOKS) -> Iterator[None]:
    """Yield once at the beginning, then each time that the files have changed and come to rest; never ends."""
    seen = snapshot(root)
    yield
    while True:
        time.sleep(seconds)
        now = snapshot(root)
        if now == seen:
            continue
        while True:  # a save of several files, or a checkout, is one change
            time.sleep(seconds / 2)
            later = snapshot(root)
            if later == now:
                break
            now = later
        seen = now
        yield
