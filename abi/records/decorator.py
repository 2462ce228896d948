"""`@tool`: marks a function of a workspace as a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar, overload

__all__ = ["tool"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    annotations: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    annotations: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> F | Callable[[F], F]:
    """Mark a function as a tool: `@tool`, `@tool()` or `@tool(name=..., description=..., annotations=..., answer=...)`.

    It gives the function back as it is. `abi index` reads the mark from the file's text, without running it; so the
    values must be written out where the decorator stands. Left out, the name is the function's and the description
    its docstring. `answer` is a sentence over `result` and the arguments, with which an agent may answer.
    """

    def mark(marked: F) -> F:
        with suppress(AttributeError):  # what is built in bears no marks
            marked.__dict__["__abi_tool__"] = True
        return marked

    return mark if function is None else mark(function)
