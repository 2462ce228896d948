"""Runs a SPARQL template: arguments are checked, names are resolved, terms are bound, rows come back with citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from abi.findings import Finding
from abi.graph.query_terms import whole_query
from abi.graph.template import Template, check_template, compile_template
from abi.graph.tokens import tokenize
from abi.records.record import Parameter, SparqlQuery
from abi.settings import Settings
from abi.tools.answer import check_answer
from abi.tools.linked_arguments import linked_arguments
from abi.tools.query_result import query_result
from abi.tools.runner import RunContext, ToolResult

__all__ = ["check", "columns", "run"]


def check(
    record: SparqlQuery, settings: Settings, *, path: str = "", query_line: int = 1, answer_line: int = 1
) -> list[Finding]:
    """All that is wrong with the record's query and answer template, each at its line of the file."""
    prefixes = settings.all_prefixes()
    findings = check_template(record.query, record.parameters, prefixes, settings, path=path, first_line=query_line)
    if record.answer is not None:
        names = [p.name for p in record.parameters]
        findings += check_answer(record.answer, names, columns(record.query), path=path, line=answer_line)
    return findings


def columns(query: str) -> list[str] | None:
    """What a SELECT gives, with all its optional lines; None for `SELECT *` and for other forms."""
    tokens = [t for t in tokenize(whole_query(query)) if t.kind != "comment"]
    at = next((i for i, t in enumerate(tokens) if t.upper in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")), None)
    if at is None or tokens[at].upper != "SELECT":
        return None
    found: list[str] = []
    depth, last = 0, ""
    for token in tokens[at + 1 :]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.text == ")":
            found.append(last)
        elif token.kind == "var":
            last = token.name
            if depth == 0:
                found.append(last)
        elif depth == 0 and token.text == "*":
            return None
        elif depth == 0 and (token.text == "{" or token.upper in ("WHERE", "FROM")):
            break
    return found


def run(record: SparqlQuery, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Raises ArgumentError with all faults of the arguments (names that mean nothing or several things among them),
    Invalid where the template is not sound, and what a query can raise."""
    arguments, terms = linked_arguments(record, raw_arguments, context)
    template = _template(record, context.settings)
    query = template.bind(terms)
    return query_result(record, query, arguments, terms, context)


def _template(record: SparqlQuery, settings: Settings) -> Template:
    parameters = tuple(p.model_dump_json() for p in record.parameters)
    prefixes = tuple(settings.all_prefixes().items())
    return _compiled(record.query, parameters, prefixes, settings.model_dump_json())


@lru_cache(maxsize=1024)
def _compiled(query: str, parameters: Sequence[str], prefixes: Sequence[tuple[str, str]], settings: str) -> Template:
    read = [Parameter.model_validate_json(p) for p in parameters]
    return compile_template(query, read, dict(prefixes), Settings.model_validate_json(settings))
