"""What a class says of itself in its syntax: its attributes, and what an object of it is made with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from abi.records.python_types import NO_VALUE, Module, dotted, literal

if TYPE_CHECKING:
    from abi.records.python_marks import Function

__all__ = ["ClassSyntax", "Unread", "bases_of"]

_MOST_PARTS = 10_000
"""Lists that one list may be put together of."""

_FIX = "Write it out where it stands, or leave the class to Python."


class Unread(Exception):
    """An expression whose value is only known when it runs."""

    def __init__(self, node: ast.expr | ast.stmt, field: str, message: str, fix: str = _FIX) -> None:
        super().__init__(message)
        self.line, self.field, self.message, self.fix = node.lineno, field, message, fix


@dataclass
class ClassSyntax:
    """One class, with what it inherits from others of its file. `unread` tells what is only known when it runs."""

    name: str
    module: Module
    known: dict[str, ast.ClassDef]
    unread: list[Unread] = field(default_factory=list)
    _local: dict[str, ast.expr] = field(default_factory=dict)

    # What the class body says

    def lineage(self) -> Iterator[ast.ClassDef]:
        """The class and those of the file that it inherits from, nearest first."""
        seen: list[str] = []
        waiting = [self.name]
        while waiting:
            name = waiting.pop(0)
            if name not in seen and name in self.known:
                seen.append(name)
                yield self.known[name]
                waiting += bases_of(self.known[name])

    def functions(self) -> Iterator[Function]:
        for cls in self.lineage():
            yield from (n for n in cls.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))

    def attribute(self, name: str) -> ast.expr | None:
        """What the class, or the nearest one that it inherits from, assigns to a name."""
        for cls in self.lineage():
            for node in cls.body:
                if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    return node.value
        return None

    def text(self, name: str) -> str:
        return self.text_of(self.attribute(name), name)

    # What it is made with

    def arguments(self, positional: Sequence[str]) -> dict[str, ast.expr]:
        """The arguments of `cls(...)` in `New` and of `super().__init__(...)` in `__init__`, by name.

        `positional`: the names of those that may be given by their place.
        """
        found: dict[str, ast.expr] = {}
        makers = {node.name: node for node in reversed(list(self.functions())) if node.name in ("New", "__init__")}
        for node in makers.values():
            call = self._made(node)
            if call is None:
                what = "return cls(...)" if node.name == "New" else "super().__init__(...)"
                fix = f"Write {what} there, with every part by its name."
                self.left(Unread(node, node.name, f"its {node.name} cannot be read.", fix))
                return {}
            placed = [a for a in call.args if not isinstance(a, ast.Starred)]
            given = dict(zip(positional, placed, strict=False))
            for starred in (a for a in call.args if isinstance(a, ast.Starred)):
                if node.args.vararg is None or dotted(starred.value) != node.args.vararg.arg:
                    self.left(Unread(starred, node.name, "* arguments are only known when it runs."))
            for keyword in call.keywords:
                handed_on = node.args.kwarg is not None and dotted(keyword.value) == node.args.kwarg.arg
                if keyword.arg is None and not handed_on:
                    self.left(Unread(keyword.value, node.name, "** arguments are only known when it runs."))
                elif keyword.arg is not None:
                    given[keyword.arg] = keyword.value
            # What a caller may hand over is not of the class: only what stands where nobody does.
            own = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)} - self._local.keys()
            by_caller = {k for k, v in given.items() if isinstance(v, ast.Name) and v.id in own}
            found |= {k: v for k, v in given.items() if k not in by_caller and not _is_none(v)}
        return found

    def _made(self, function: Function) -> ast.Call | None:
        """The call that makes the agent. What stands before it may only give names to values."""
        parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
        for node in function.body:
            match node:
                case ast.Return(value=ast.Call(func=ast.Name(id=made)) as call) if made in ("cls", self.name):
                    return call
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call())) as call):
                    return call
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._local[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._local[name] = value
                case ast.If(orelse=[]) if _asks_for(node.test) in parameters:
                    # `if agent_configuration is None: agent_configuration = ...`: so it is where nobody gave another.
                    for inner in node.body:
                        if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                            self._local[inner.targets[0].id] = inner.value
                case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                    pass
                case _:
                    return None
        return None

    # Values

    def left(self, fault: Unread) -> None:
        self.unread.append(fault)

    def named(self, node: ast.expr) -> ast.expr:
        """What a name stands for: a value of the method, of the class or of the module."""
        for _ in range(10):
            if isinstance(node, ast.Name):
                found = self._local.get(node.id) or self.module.values.get(node.id)
            elif isinstance(node, ast.Attribute) and dotted(node.value) in ("cls", "self", self.name):
                found = self.attribute(node.attr)
            else:
                return node
            if found is None or found is node:
                return node
            node = found
        return node

    def value(self, node: ast.expr | None, field: str) -> Any:
        """The literal that an expression is; NO_VALUE, and a fault, for what is only known when it runs."""
        if node is None:
            return NO_VALUE
        value = _folded(self.named(node), lambda n: literal(self.module, self.named(n)))
        if value is NO_VALUE:
            self.left(Unread(node, field, f"its {field} is only known when it runs."))
        return value

    def text_of(self, node: ast.expr | None, field: str) -> str:
        value = self.value(node, field)
        if value is not NO_VALUE and value is not None and not isinstance(value, str):
            assert node is not None
            self.left(Unread(node, field, f"its {field} must be a text.", "Write a text there."))
        return value if isinstance(value, str) else ""

    def number(self, node: ast.expr | None, field: str) -> float | None:
        value = self.value(node, field)
        if value is NO_VALUE:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        assert node is not None
        self.left(Unread(node, field, f"its {field} must be a number.", "Write a number there."))
        return None

    def flag(self, name: str) -> bool:
        """An attribute that is True or False; False where it is not there."""
        node = self.attribute(name)
        value = self.value(node, name)
        if node is not None and value is not NO_VALUE and not isinstance(value, bool):
            self.left(Unread(node, name, f"its {name} must be True or False.", "Write True or False there."))
        return value is True

    def items(self, node: ast.expr | None, field: str) -> list[ast.expr]:
        """The items of a list that is written out, or put together of such."""
        found: list[ast.expr] = []
        waiting: list[ast.expr] = [] if node is None else [node]
        for _ in range(_MOST_PARTS):
            if not waiting:
                return found
            match part := self.named(waiting.pop()):
                case ast.List() | ast.Tuple() if any(isinstance(item, ast.Starred) for item in part.elts):
                    waiting += reversed(_parts(part.elts))
                case ast.List() | ast.Tuple():
                    found += part.elts
                case ast.BinOp(op=ast.Add()):
                    waiting += (part.right, part.left)
                case _:
                    self.left(Unread(part, field, f"its {field} are only known when it runs."))
        # A list that is made of itself, or doubled again and again: what its name stood for in between is not known.
        assert node is not None
        self.left(Unread(node, field, f"its {field} are only known when it runs."))
        return []


def _parts(items: Sequence[ast.expr]) -> list[ast.expr]:
    """Items of a list as lists that can be joined: each plain one as a list of its own."""
    return [i.value if isinstance(i, ast.Starred) else ast.copy_location(ast.List([i], ast.Load()), i) for i in items]


def bases_of(node: ast.ClassDef) -> list[str]:
    return [dotted(base) for base in node.bases]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _asks_for(test: ast.expr) -> str:
    """The name in `name is None` or `not name`; an empty text for any other test."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return name
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name
    return ""


def _folded(node: ast.expr, value: Callable[[ast.expr], Any]) -> Any:
    """A literal; texts may be added up, stripped or dedented."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_folded(left, value), _folded(right, value)]
            return parts[0] + parts[1] if all(isinstance(p, str) for p in parts) else NO_VALUE
        case ast.Call(func=ast.Attribute(attr="strip", value=inner), args=[], keywords=[]):
            text = _folded(inner, value)
            return text.strip() if isinstance(text, str) else NO_VALUE
        case ast.Call(func=func, args=[inner], keywords=[]) if dotted(func) in ("textwrap.dedent", "dedent"):
            import textwrap

            text = _folded(inner, value)
            return textwrap.dedent(text) if isinstance(text, str) else NO_VALUE
    return value(node)
