"""Bounds of time and size for the language of answer templates, which is evaluated in this process.

Filters look at the clock and at the length of what they make; loops look at the clock with each turn; `+` and `~`
become filters. Since filters want the context, Jinja folds none of them while it compiles: it would in `abi check`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from abi.errors import ToolFailed

if TYPE_CHECKING:
    from jinja2 import Environment, nodes
    from jinja2.runtime import Context

__all__ = ["MAX_SECONDS", "MAX_TEXT", "bound_filters", "bounded", "deadline"]

MAX_TEXT = 100_000
"""Longest text, and most items of a list, on the way to an answer."""
MAX_SECONDS = 2.0
_MAX_DIGITS = 100
_DEADLINE = "/deadline"
"""No name of a template can hold a slash."""
_LOOP, _PLUS = "/loop", "/plus"


def deadline() -> dict[str, float]:
    """What a template's context needs besides its variables."""
    return {_DEADLINE: time.monotonic() + MAX_SECONDS}


def bound_filters(environment: Environment) -> None:
    """Put bounds on all filters of an environment."""
    from jinja2 import pass_context

    environment.filters = {name: _bound(name, function) for name, function in environment.filters.items()}
    environment.filters |= {"join": pass_context(_join), _LOOP: pass_context(_loop), _PLUS: pass_context(_plus)}


def bounded(tree: nodes.Template) -> nodes.Template:
    """The same template with bounds on its loops, sums and joined texts."""
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    def a_filter(node: nodes.Node, name: str, value: nodes.Expr, *arguments: nodes.Expr) -> nodes.Filter:
        return nodes.Filter(
            value, name, list(arguments), [], None, None, lineno=node.lineno, environment=node.environment
        )

    class Bounder(NodeTransformer):
        def visit_For(self, node: nodes.For) -> nodes.For:
            self.generic_visit(node)
            node.iter = a_filter(node, _LOOP, node.iter)  # type: ignore[arg-type]
            return node

        def visit_Add(self, node: nodes.Add) -> nodes.Filter:
            self.generic_visit(node)
            return a_filter(node, _PLUS, node.left, node.right)

        def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:
            self.generic_visit(node)
            return a_filter(node, "join", nodes.List(node.nodes, lineno=node.lineno))

    made: nodes.Template = Bounder().visit(tree)
    return made


def _bound(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    from jinja2 import pass_context

    wanted = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def call(context: Context, *arguments: Any, **named: Any) -> Any:
        _look(context)
        if name == "round":
            digits = named.get("precision", arguments[1] if len(arguments) > 1 else 0)
            if isinstance(digits, int) and abs(digits) > _MAX_DIGITS:
                raise _too_long()
        first: dict[str, Any] = {
            "context": context,
            "eval_context": context.eval_ctx,
            "environment": context.environment,
        }
        given = [first[wanted]] if wanted else []
        return _checked(function(*given, *arguments, **named))

    return call


def _join(context: Context, value: Iterable[Any], d: object = "", attribute: str | int | None = None) -> str:
    _look(context)
    if attribute is not None:
        value = context.environment.call_filter("map", value, kwargs={"attribute": attribute}, context=context)
    between, parts, size = str(d), [], 0
    for item in value:
        parts.append(str(item))
        size += len(parts[-1]) + len(between)
        if size > MAX_TEXT + len(between):
            raise _too_long()
    return between.join(parts)


def _loop(context: Context, value: Iterable[Any]) -> Iterator[Any]:
    for item in value:
        _look(context)
        yield item


def _plus(context: Context, left: Any, right: Any) -> Any:
    _look(context)
    return _checked(left + right)


def _look(context: Context) -> None:
    if time.monotonic() > context.resolve(_DEADLINE):
        raise ToolFailed("The answer template takes too long.", hint="Show fewer rows: rows[:20].")


def _checked(value: Any) -> Any:
    if isinstance(value, (str, list)) and len(value) > MAX_TEXT:
        raise _too_long()
    return value


def _too_long() -> ToolFailed:
    return ToolFailed("The answer template gives a text that is too long.", hint="Show fewer rows: rows[:20].")
