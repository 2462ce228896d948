"""Reads a `jinja_query`: a `.rq` file with a YAML header in its leading comment and a Jinja template of a query below.

Templates in ABI's vocabulary, which are triples, become records of this kind in `abi.graph.foreign_templates`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from abi.records.record import JinjaQuery
from abi.records.sparql_query import read_query

if TYPE_CHECKING:
    from jinja2 import nodes

    from abi.records.document import Document
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["TemplateVariables", "read", "template_variables"]


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds the record, if it is whole, and all findings to `result`."""
    read_query(document, context, result, JinjaQuery)


@dataclass(slots=True)
class TemplateVariables:
    """The free variables of a template: all that it names, and those without which it has nothing to put in a place."""

    names: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    local: frozenset[str] = frozenset({"loop"})
    """What the template itself sets."""


def template_variables(text: str) -> TemplateVariables | None:
    """What a template takes, found without evaluating it; None where it does not parse.

    A variable is not needed where it is only asked about, put in where it was found to be given (`{% if x %}{{ x }}`),
    or has a default.
    """
    import jinja2
    from jinja2 import nodes

    found = TemplateVariables()
    try:
        tree = jinja2.Environment(autoescape=False).parse(text)  # noqa: S701 - parsed only; a query is no HTML
        found.local |= {n.name for n in tree.find_all(nodes.Name) if n.ctx != "load"}
        _walk(tree.body, found.local, found)
    except (jinja2.TemplateSyntaxError, RecursionError):
        return None
    return found


def _walk(body: list[nodes.Node], given: frozenset[str], found: TemplateVariables) -> None:
    from jinja2 import nodes

    for node in body:
        if isinstance(node, nodes.If):
            _note(node.test, frozenset(_loaded(node.test)) | given, found)
            _walk(node.body, given | _implied(node.test, True), found)
            otherwise = given | _implied(node.test, False)
            for other in node.elif_:
                _note(other.test, frozenset(_loaded(other.test)) | given, found)
                _walk(other.body, otherwise | _implied(other.test, True), found)
                otherwise |= _implied(other.test, False)
            _walk(node.else_, otherwise, found)
        elif isinstance(node, nodes.For):
            _note(node.iter, given, found)
            _walk([*node.body, *node.else_], given, found)
        elif isinstance(node, nodes.Output):
            for part in node.nodes:
                _note(part, given, found)
        else:
            _note(node, given, found)


def _note(node: nodes.Node, given: frozenset[str], found: TemplateVariables) -> None:
    names = _loaded(node)
    found.names |= names - found.local
    found.needed |= names - given - _with_default(node)


def _loaded(node: nodes.Node) -> set[str]:
    from jinja2 import nodes

    own = {node.name} if isinstance(node, nodes.Name) else set()
    return own | {n.name for n in node.find_all(nodes.Name)}


def _with_default(node: nodes.Node) -> set[str]:
    from jinja2 import nodes

    filters = [*([node] if isinstance(node, nodes.Filter) else []), *node.find_all(nodes.Filter)]
    return {f.node.name for f in filters if f.name in ("default", "d") and isinstance(f.node, nodes.Name)}


def _implied(test: nodes.Node, outcome: bool) -> frozenset[str]:
    """The variables that are there where a test comes out so."""
    from jinja2 import nodes

    if isinstance(test, nodes.Not):
        return _implied(test.node, not outcome)
    if isinstance(test, (nodes.And, nodes.Or)):
        both = isinstance(test, nodes.And) is outcome
        left, right = _implied(test.left, outcome), _implied(test.right, outcome)
        return left | right if both else left & right
    if isinstance(test, nodes.Test) and isinstance(test.node, nodes.Name) and test.name in ("defined", "undefined"):
        return frozenset({test.node.name}) if (test.name == "defined") is outcome else frozenset()
    if isinstance(test, nodes.Name):
        return frozenset({test.name}) if outcome else frozenset()
    return frozenset()
