"""Which columns an answer template asks of its rows, wherever it does: in loops, filters, slices and single rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["columns_used"]

_SAME_ROWS = frozenset("sort reverse list unique select reject selectattr rejectattr".split())
"""Filters that give rows again."""
_ONE_ROW = frozenset("first last min max".split())
_FIRST_IS_COLUMN = frozenset("selectattr rejectattr groupby".split())
_BY_ATTRIBUTE = frozenset("map sort unique min max sum groupby join".split())


def columns_used(tree: Any) -> list[tuple[int, str]]:
    """(Line, column) of each, as they come. `tree` is a template that Jinja has parsed."""
    return sorted(set(_walk(tree, {"rows": "rows"})))


def _walk(node: Any, scope: dict[str, str]) -> Iterator[tuple[int, str]]:
    from jinja2 import nodes

    if isinstance(node, nodes.For):
        yield from _walk(node.iter, scope)
        inside = {**scope, **_bound(node, scope)}
        for part in (*node.body, node.test):
            if part is not None:
                yield from _walk(part, inside)
        for part in node.else_:
            yield from _walk(part, scope)
        return
    if isinstance(node, nodes.Getattr) and _kind(node.node, scope) == "row":
        yield node.lineno, node.attr
    if isinstance(node, nodes.Getitem) and _kind(node.node, scope) == "row" and isinstance(node.arg, nodes.Const):
        yield node.lineno, str(node.arg.value)
    if isinstance(node, nodes.Filter) and node.node is not None and _kind(node.node, scope) == "rows":
        given = [k.value for k in node.kwargs if k.key == "attribute"] if node.name in _BY_ATTRIBUTE else []
        if node.name in _FIRST_IS_COLUMN:
            given += node.args[:1]
        for value in given:
            if isinstance(value, nodes.Const) and isinstance(value.value, str):
                yield from ((node.lineno, part.strip().partition(".")[0]) for part in value.value.split(","))
    for child in node.iter_child_nodes():
        yield from _walk(child, scope)


def _bound(loop: Any, scope: dict[str, str]) -> dict[str, str]:
    """What a loop's own names stand for; a name that hides `rows` hides it."""
    from jinja2 import nodes

    names = [n.name for n in loop.target.find_all(nodes.Name)] if not isinstance(loop.target, nodes.Name) else []
    found = dict.fromkeys(names, "")
    source = loop.iter
    if isinstance(loop.target, nodes.Name):
        return {loop.target.name: "row" if _kind(source, scope) == "rows" else ""}
    if isinstance(source, nodes.Filter) and source.name == "groupby" and _kind(source.node, scope) == "rows":
        found |= {names[-1]: "rows"} if len(names) == 2 else {}
    return found


def _kind(node: Any, scope: dict[str, str]) -> str:
    """`rows`, `row`, or nothing that is known."""
    from jinja2 import nodes

    if isinstance(node, nodes.Name):
        return scope.get(node.name, "")
    if isinstance(node, nodes.Getitem) and _kind(node.node, scope) == "rows":
        return "rows" if isinstance(node.arg, nodes.Slice) else "row"
    if isinstance(node, nodes.Filter) and node.node is not None and _kind(node.node, scope) == "rows":
        return "rows" if node.name in _SAME_ROWS else "row" if node.name in _ONE_ROW else ""
    return ""
