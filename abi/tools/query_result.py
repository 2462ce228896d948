"""The result of a tool whose work is a query: its rows, what they cite, and the answer made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from abi.errors import ToolFailed
from abi.graph.guard import check_query
from abi.graph.rows import Term
from abi.records.record import JinjaQuery, SparqlQuery
from abi.tools.answer import render_answer
from abi.tools.linked_arguments import cited
from abi.tools.runner import RunContext, ToolResult

__all__ = ["query_result"]


def query_result(
    record: SparqlQuery | JinjaQuery,
    query: str,
    arguments: dict[str, Any],
    terms: Mapping[str, Term],
    context: RunContext,
) -> ToolResult:
    """Ask `query`, which `terms` were put into already. Raises what a query can raise, and ToolFailed where the answer
    template cannot be rendered."""
    check_query(query, context.settings)
    rows = context.query(query, rows=context.settings.tool_rows)
    citations = cited(context, terms.values(), rows)
    answer = None
    if record.answer is not None:
        names = [p.name for p in record.parameters]
        try:
            answer = render_answer(record.answer, rows, terms, dict(citations), names=names)
        except ToolFailed as error:
            raise ToolFailed(f"{record.name}: {error.message}", hint=error.hint) from error
    return ToolResult(
        tool=record.name,
        arguments=arguments,
        rows=rows,
        result=rows.boolean if rows.form == "ask" else rows.python(),
        query=query,
        row_count=None if rows.form == "ask" else len(rows),
        truncated=rows.truncated,
        citations=citations,
        answer=answer,
    )
