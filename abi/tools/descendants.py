"""Ending all that a process has started, also what has made itself a daemon. Linux only.

A guard stands over the process: the kernel gives it every orphan below it instead of init (PR_SET_CHILD_SUBREAPER), so
that whoever forks twice and calls setsid stays within its reach. It waits for them, as init would.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["guarded", "is_guarded"]

_PR_SET_CHILD_SUBREAPER = 36


def is_guarded() -> bool:
    """Whether `guarded` does anything on this system."""
    return sys.platform == "linux" and Path("/proc/self/stat").exists()


def guarded() -> None:
    """Go on in a child; this process guards it, and ends with it or at SIGTERM, all descendants with it.

    To be called before the first thread starts.
    """
    if not is_guarded():
        return
    # Whoever ends the guard before it stands ends it all the same.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    worker = os.fork()
    if worker == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        return
    _guard(worker)


def _guard(worker: int) -> NoReturn:
    import ctypes

    status = 0
    try:
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # The pipes are the worker's: their other ends have to see that it is gone.
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        signal.signal(signal.SIGTERM, _ended)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        while (found := os.wait())[0] != worker:
            pass
        status = found[1]
    except (KeyboardInterrupt, OSError):
        pass
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    _end_children()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _ended(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def _end_children() -> None:
    """What they have started is ours after their death, and ended in the next round."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in _children():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            os.wait()


def _children() -> list[int]:
    me, found = str(os.getpid()), []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                # The name in brackets may hold anything.
                if (place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1] == me:
                    found.append(int(place.name))
    return found
