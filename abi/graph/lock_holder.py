"""Who holds the lock of a store, for the message of StoreLocked."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

__all__ = ["lock_holder"]


def lock_holder(path: Path) -> str | None:
    """The process that holds a POSIX lock on `path`, as `process 4711 (abi serve)`; None where nobody can tell.

    Never call it in the process that holds the lock itself: closing the file would let go of it.
    """
    if not sys.platform.startswith("linux"):
        return None
    import fcntl

    layout = "@hhqqi"  # struct flock of 64-bit Linux: type, whence, start, length, pid
    question = struct.pack(layout, fcntl.F_WRLCK, 0, 0, 0, 0)
    try:
        with path.open("r+b") as file:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, question)
    except OSError:
        return None
    kind, _, _, _, pid = struct.unpack(layout, answer)
    if kind == fcntl.F_UNLCK or pid <= 0:
        return None
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return f"process {pid}"
    shown = [
        Path(w.decode(errors="replace")).name if i < 2 else w.decode(errors="replace") for i, w in enumerate(words)
    ]
    return f"process {pid} ({' '.join(w for w in shown[:4] if w)[:60]})"
