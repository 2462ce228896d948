"""A Jinja template of a query rendered into pieces: what its author wrote, and the values between.

Most templates only put variables in and ask whether they are there; those are read off their parsed form. Any other is
evaluated by Jinja, in a sandbox, in a process that can be ended.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from abi.errors import ArgumentError, QuerySyntaxError, ToolFailed
from abi.graph.value_places import Piece
from abi.settings import Settings
from abi.tools.rendering import rendered_apart

if TYPE_CHECKING:
    from jinja2 import nodes

__all__ = ["pieces_of"]


class _NotPlain(Exception):
    """The template does more than can be read off."""


def pieces_of(name: str, template: str, values: Mapping[str, str], settings: Settings) -> list[Piece]:
    """Raises QuerySyntaxError for a template that is none, with its line, ToolFailed where it cannot be rendered."""
    tree = _parsed(template)
    pieces: list[Piece] = []
    try:
        for node in tree.body:
            _read(node, values, pieces)
    except _NotPlain:
        pieces = _evaluated(name, template, values, settings)
    if sum(len(p.text or "") for p in pieces) > settings.render_bytes:
        raise ToolFailed(f"{name} came out longer than {settings.render_bytes} bytes.", hint="Give it less.")
    return pieces


@functools.lru_cache(maxsize=256)
def _parsed(template: str) -> nodes.Template:
    import jinja2
    from jinja2 import nodes

    try:
        tree = jinja2.Environment(autoescape=False).parse(template)  # noqa: S701 - parsed only; a query is no HTML
    except jinja2.TemplateSyntaxError as error:
        raise _fault(error.lineno, f"This is no Jinja template: {error.message}") from None
    except RecursionError:
        raise _fault(1, "The template is nested too deep.") from None
    # What puts texts together before they reach the query cannot be judged by where it lands.
    putting: tuple[type[nodes.Node], ...] = (
        *(nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block),
        *(nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock),
    )
    for node in tree.find_all(putting):
        raise _fault(node.lineno, "A query's template has no includes, blocks, macros or texts put together.")
    return tree


def _fault(line: int | None, message: str) -> QuerySyntaxError:
    line = line or 1
    hint = "Only put values in, with `if`, `for` and `set` around them."
    return QuerySyntaxError(f"line {line}: {message}", hint=hint, details={"line": line})


def _read(node: nodes.Node, values: Mapping[str, str], pieces: list[Piece]) -> None:
    from jinja2 import nodes

    if isinstance(node, nodes.Output):
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                pieces.append(Piece(part.data))
            elif isinstance(part, nodes.Name):
                pieces.append(Piece(values.get(part.name), (part.name,)))
            else:
                raise _NotPlain
    elif isinstance(node, nodes.If):
        for branch in (node, *node.elif_):
            if _truth(branch.test, values):
                body = branch.body
                break
        else:
            body = node.else_
        for inner in body:
            _read(inner, values, pieces)
    else:
        raise _NotPlain


def _truth(test: nodes.Node, values: Mapping[str, str]) -> bool:
    """The outcome of a test that is made of names, `not`, `and`, `or` and `is defined`."""
    from jinja2 import nodes

    if isinstance(test, nodes.Name):
        return bool(values.get(test.name))
    if isinstance(test, nodes.Not):
        return not _truth(test.node, values)
    if isinstance(test, nodes.And):
        return _truth(test.left, values) and _truth(test.right, values)
    if isinstance(test, nodes.Or):
        return _truth(test.left, values) or _truth(test.right, values)
    if isinstance(test, nodes.Test) and isinstance(test.node, nodes.Name) and test.name in ("defined", "undefined"):
        return (test.node.name in values) is (test.name == "defined")
    if isinstance(test, nodes.Compare) and len(test.ops) == 1 and test.ops[0].op in ("eq", "ne"):
        left, right = _value(test.expr, values), _value(test.ops[0].expr, values)
        return (left == right) is (test.ops[0].op == "eq")
    raise _NotPlain


def _value(node: nodes.Node, values: Mapping[str, str]) -> Any:
    from jinja2 import nodes

    if isinstance(node, nodes.Const):
        return node.value
    if isinstance(node, nodes.Name) and node.name in values:
        return values[node.name]
    if isinstance(node, nodes.Filter) and isinstance(node.node, nodes.Name) and node.name == "int" and not node.args:
        try:
            return int(values.get(node.node.name, ""))
        except ValueError:
            pass  # Jinja knows more forms of numbers
    raise _NotPlain


def _evaluated(name: str, template: str, values: Mapping[str, str], settings: Settings) -> list[Piece]:
    job = {"template": template, "variables": dict(values), "pieces": True}
    answer = rendered_apart(f"The query of {name}", job, settings)
    if "pieces" in answer:
        return [Piece(text, None if names is None else tuple(names)) for text, names in answer["pieces"]]
    if answer["fault"] == "undefined":
        raise ArgumentError(f"The query of {name} needs more than it was given: {answer['message']}.")
    if answer["fault"] == "long":
        raise ToolFailed(f"{name} came out longer than {settings.render_bytes} bytes.", hint="Give it less.")
    line = f" on line {answer['line']} of its text" if answer.get("line") else ""
    raise ToolFailed(f"The query of {name} could not be rendered{line}: {answer['message']}.")
