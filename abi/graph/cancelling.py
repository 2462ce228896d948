"""Ending the queries of work that nobody waits for any more, wherever in it they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abi.graph.pool import Cancel

__all__ = ["current_cancel", "ended_by"]

_CURRENT: ContextVar[Cancel | None] = ContextVar("abi_cancel", default=None)


@contextmanager
def ended_by(cancel: Cancel) -> Iterator[None]:
    """Within, and in threads that copy the context, queries of a workspace end when `cancel` is called."""
    token = _CURRENT.set(cancel)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_cancel() -> Cancel | None:
    return _CURRENT.get()
