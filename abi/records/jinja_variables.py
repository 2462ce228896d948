"""What a Jinja template needs: its free variables, found without evaluating anything of it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from abi.records.parameters import JSON, XSD
from abi.records.record import Parameter

if TYPE_CHECKING:
    from jinja2 import nodes

__all__ = ["TemplateFault", "template_parameters"]


_LIST_FILTERS = set(
    "batch dictsort first groupby items join last list map max min random reject rejectattr select selectattr slice "
    "sort sum tojson unique xmlattr".split()
)


class TemplateFault(Exception):
    """The template does not parse or does what a prompt may not. `line` counts from 1 in the template."""

    def __init__(self, line: int, message: str, fix: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.fix = fix


def template_parameters(text: str) -> list[Parameter]:
    """The free variables as parameters, in the order in which they first occur. Raises TemplateFault.

    A variable that is looped over or looked into takes a structured value, any other a text. A variable that is only
    used behind `default(...)` or tested by `is defined` need not be given.
    """
    import jinja2
    from jinja2 import nodes
    from jinja2.sandbox import SandboxedEnvironment

    sandbox = SandboxedEnvironment()
    try:
        tree = sandbox.parse(text)
        free = _free_variables(tree)
    except jinja2.TemplateSyntaxError as error:
        message = error.message or ""
        if message.startswith(("No filter", "No test")):
            known = sandbox.filters if message.startswith("No filter") else sandbox.tests
            word = message.partition("'")[2].partition("'")[0]
            near = get_close_matches(word, known, 1)
            fix = f"Did you mean {near[0]!r}?" if near else "Write one that Jinja itself has."
        else:
            fix = "Close every {{, {% and {# that is opened, and end every block."
        raise TemplateFault(error.lineno or 1, f"This is no Jinja template: {error.message}", fix) from None
    except RecursionError:
        raise TemplateFault(1, "The template is nested too deep.", "Make it flatter.") from None
    foreign: tuple[type[nodes.Node], ...] = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    for other in tree.find_all(foreign):
        message = "A prompt cannot take in another file."
        raise TemplateFault(other.lineno, message, "Write the text out, or name the other prompt in the agent.")
    order: dict[str, int] = {}
    structured: set[str] = set()
    optional: set[str] = set()
    for name_node in tree.find_all(nodes.Name):
        order.setdefault(name_node.name, len(order))
    looked_into: tuple[type[nodes.Node], ...] = (nodes.For, nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Test)
    for node in tree.find_all(looked_into):
        _note(node, structured, optional)
    parameters: list[Parameter] = []
    for name in sorted(free, key=lambda n: (order.get(n, len(order)), n)):
        if not name.isidentifier():
            raise TemplateFault(1, f"The variable {name!r} is no valid name.", "Use letters, digits and underscores.")
        datatype = JSON if name in structured else XSD + "string"
        required = name not in optional
        parameters.append(Parameter(name=name, datatype=datatype, required=required, position=len(parameters)))
    return parameters


def _note(node: nodes.Node, structured: set[str], optional: set[str]) -> None:
    from jinja2 import nodes

    inner = node.iter if isinstance(node, nodes.For) else getattr(node, "node", None)
    if isinstance(node, nodes.For):
        while isinstance(inner, nodes.Filter) and inner.node is not None:
            inner = inner.node
    if not isinstance(inner, nodes.Name):
        return
    if not isinstance(node, (nodes.Filter, nodes.Test)):
        structured.add(inner.name)
    elif node.name in ("default", "d", "defined", "undefined"):
        optional.add(inner.name)
    elif node.name in _LIST_FILTERS:
        structured.add(inner.name)


def _free_variables(tree: nodes.Template) -> set[str]:
    """`jinja2.meta.find_undeclared_variables`, less its folding of constants: `{{ 10**10**9 }}` would never end."""
    from jinja2 import meta, pass_context

    @pass_context
    def keep(context: object, value: object) -> object:
        return value

    class Tracker(meta.TrackingCodeGenerator):
        optimizer = None

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, None if name == "optimizer" else value)

    # A finalizer that wants the context cannot run at compile time, so that no output is folded either.
    environment = tree.environment
    assert environment is not None
    environment.finalize = keep
    tracker = Tracker(environment)
    tracker.visit(tree)
    return tracker.undeclared_identifiers
