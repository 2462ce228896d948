"""Letting an exception leave the thread that it was raised in, without what its frames hold.

Some of Oxigraph's objects may be dropped only where they were made, and a traceback keeps the locals of each frame.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

__all__ = ["light"]

_T = TypeVar("_T")


def light(work: Callable[[], _T]) -> Callable[[], _T]:
    """The same work, whose exceptions keep the places they went through and nothing else."""

    def call() -> _T:
        try:
            return work()
        except BaseException as error:
            todo: list[BaseException | None] = [error]
            seen: set[int] = set()
            while todo:
                one = todo.pop()
                if one is not None and id(one) not in seen:
                    seen.add(id(one))
                    traceback.clear_frames(one.__traceback__)
                    todo += [one.__cause__, one.__context__]
            raise

    return call
