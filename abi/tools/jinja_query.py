"""Runs a Jinja query: the template is rendered into pieces, each value is checked against the place where it lands, and
the query that comes of it goes the way of all queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from abi.errors import QueryRefused, QuerySyntaxError, ToolFailed
from abi.findings import Finding
from abi.graph.template import prefix_lines, syntax_fault
from abi.graph.tokens import tokenize
from abi.graph.value_places import Piece, fill, listed_keywords, samples
from abi.records.jinja_query import template_variables
from abi.records.record import JinjaQuery, Parameter
from abi.settings import Settings
from abi.tools.jinja_pieces import pieces_of
from abi.tools.linked_arguments import linked_arguments
from abi.tools.query_result import query_result
from abi.tools.runner import RunContext, ToolResult

__all__ = ["check", "run"]

_MEND = "Only put values in: in a string, in an IRI in <>, or on their own."


def run(record: JinjaQuery, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Raises ArgumentError with the name of the argument that cannot stand where the template puts it, QueryRefused
    where nothing can, ToolFailed where the template cannot be rendered, and what a query can raise."""
    arguments, terms = linked_arguments(record, raw_arguments, context)
    pieces = pieces_of(record.name, record.query, {n: t.value for n, t in terms.items()}, context.settings)
    query = _query(pieces, record, context.settings)
    return query_result(record, query, arguments, terms, context)


def check(record: JinjaQuery, settings: Settings, *, path: str = "", line: int = 1) -> list[Finding]:
    """All that is wrong with the record's template: with all arguments, with the needed ones only, and with each other
    one beside those."""
    findings: list[Finding] = []

    def report(at: int, code: str, message: str, fix: str = "", field: str = "query") -> None:
        finding = Finding(path, line + at - 1, field, "error", code, message, fix)
        if finding not in findings:
            findings.append(finding)

    declared = {p.name for p in record.parameters}
    variables = template_variables(record.query)
    if variables is not None:
        for name in sorted(variables.names - declared):
            report(
                1,
                "template-parameter-undeclared",
                f"The template uses {name}, which is not declared.",
                "Declare it under parameters.",
            )
        for name in sorted(declared - variables.names):
            message = f"The parameter {name} is declared, but the template does not use it."
            report(1, "template-parameter-unused", message, "Use it, or take it out.", f"parameters.{name}")
    needed = frozenset(p.name for p in record.parameters if p.required or p.default is not None)
    others = [name for name in declared if name not in needed]
    for given in dict.fromkeys([needed, frozenset(declared), *(needed | {name} for name in sorted(others))]):
        fault = _fault(record, given, settings)
        if fault is not None:
            report(*fault)
            break  # what is wrong with one is mostly wrong with all
    return findings


def _fault(record: JinjaQuery, given: frozenset[str], settings: Settings) -> tuple[int, str, str, str] | None:
    keywords = _keywords(record.parameters)
    try:
        # A number passes most tests that a template makes of its values.
        pieces = pieces_of(record.name, record.query, dict.fromkeys(given, "1"), settings)
        if any(p.names is not None and p.text is None for p in pieces):
            missing = next(p.argument for p in pieces if p.names is not None and p.text is None)
            message = f"The template has a place for {missing} also where it is not given."
            return 1, "template-position", message, "Put it between {% if " + missing + " %} and {% endif %}."
        query = _query(samples(pieces, keywords), record, settings)
    except (QuerySyntaxError, QueryRefused) as error:
        code = "template-refused" if isinstance(error, QueryRefused) else "template-syntax"
        return error.details.get("line", 1), code, error.message, error.hint or _MEND
    except ToolFailed as error:
        return 1, "template-failed", error.message, error.hint
    fault = syntax_fault(query, settings)
    if fault is None:
        return None
    at, code, message, fix = fault
    # Its lines are those of the rendered text, which differ from the template's where it has blocks.
    return (at if "{%" not in record.query else 1), code, message, fix


def _query(pieces: Sequence[Piece], record: JinjaQuery, settings: Settings) -> str:
    prefixes = settings.all_prefixes()
    text = fill(pieces, _keywords(record.parameters), prefixes)
    return prefix_lines(tokenize(text), prefixes)[0] + text


def _keywords(parameters: Sequence[Parameter]) -> dict[str, Sequence[str]]:
    """For each argument the words that it may be: those that it lists, or its pattern."""
    found = {p.name: [e for e in p.enum if isinstance(e, str)] or listed_keywords(p.pattern) for p in parameters}
    return {name: words for name, words in found.items() if words}
