"""A limit on the time of what cannot be stopped from inside: a regular expression, a library's loop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["time_limit"]


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Raises TimeoutError in the block once it has run so long; `what` is what takes so long.

    Rests on SIGALRM, which Python's regular expressions look at too: so it holds in the main thread of POSIX systems,
    which is where the command line reads files that nobody trusts yet, and lets everything pass elsewhere.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    armed = True

    def late(number: int, frame: FrameType | None) -> None:
        if armed:
            raise _Late

    started = time.monotonic()
    handler = signal.signal(signal.SIGALRM, late)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    except _Late:
        raise TimeoutError(f"{what} takes longer than {seconds:g} s") from None
    finally:
        while armed:
            with suppress(_Late):
                armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # somebody else's alarm goes on, where it stood
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 0.001), again)


class _Late(BaseException):
    """No Exception: libraries catch those, and go on."""


_AGAIN = 0.25
"""Seconds to the next alarm: where one comes in the middle of something, it may be lost."""
