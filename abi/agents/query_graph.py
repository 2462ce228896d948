"""`query_graph`: a tool by which a chat model writes SPARQL itself, guarded and with its faults explained."""

from __future__ import annotations

import time
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr

from abi.errors import AbiError, ArgumentError, QuerySyntaxError
from abi.graph.guard import check_query
from abi.graph.resolve import labels_of
from abi.graph.rows import Rows
from abi.graph.used_terms import UsedTerms, missing_prefixes, short, unknown_terms
from abi.tools.runner import ToolResult

__all__ = ["QUERY_GRAPH", "QUERY_TRIES", "QueryGraphTool"]

QUERY_GRAPH = "query_graph"
QUERY_TRIES = 3
"""A query and, where it is faulty, two more."""
_CITED = 50


class _Query(BaseModel):
    query: str = Field(description="One SPARQL SELECT, ASK, CONSTRUCT or DESCRIBE query.")


class QueryGraphTool(BaseTool):
    """Runs one query over the graph, read-only, within the limits of the settings.

    Prefixes of the workspace are declared already, common ones are added. A query that names what is nowhere in the
    graph is not run: its model is told of it, with the nearest terms that are there.
    """

    name: str = QUERY_GRAPH
    description: str = ""
    args_schema: Any = _Query
    services: Any
    _terms: UsedTerms | None = PrivateAttr(default=None)

    def describe(self) -> QueryGraphTool:
        """Fill the description from the graph, once; models that write no queries never need it."""
        if not self.description:
            prefixes = self.services.settings.all_prefixes()
            self.description = (
                "Ask the knowledge graph by a SPARQL query of your own, where no other tool fits. Select the labels "
                "(rdfs:label) beside what you ask for.\n" + self._used().text(prefixes)
            )
        return self

    def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Raises ArgumentError, QuerySyntaxError, QueryRefused and what else a query can raise, told for a model."""
        text = arguments.get("query")
        if not isinstance(text, str) or not text.strip() or len(arguments) > 1:
            raise ArgumentError(f"{QUERY_GRAPH} takes one argument: `query`, a SPARQL query.")
        settings, services = self.services.settings, self.services
        prefixes = settings.all_prefixes()
        started = time.monotonic()
        try:
            query, strange = missing_prefixes(_unfenced(text), prefixes)
            if strange:
                raise QuerySyntaxError(f"Nobody has declared the prefix {', '.join(f'{p}:' for p in strange)}.")
            check_query(query, settings, prefixes)
            self._require_known(query, prefixes)
            rows: Rows = services.query(query, rows=settings.tool_rows)
        except QuerySyntaxError as error:
            known = ", ".join(f"{p}: <{i}>" for p, i in prefixes.items())
            raise QuerySyntaxError(
                error.message, hint=f"{error.hint} Known prefixes: {known}.".strip(), details=error.details
            ) from None
        iris = list(dict.fromkeys(t.value for row in rows for t in row.values() if t.kind == "iri"))[:_CITED]
        labels = labels_of(services.query, iris)
        asked = rows.form == "ask"
        return ToolResult(
            tool=QUERY_GRAPH,
            arguments={"query": query},
            rows=rows,
            result=rows.boolean if asked else rows.python(),
            query=query,
            row_count=None if asked else len(rows),
            truncated=rows.truncated,
            seconds=time.monotonic() - started,
            citations=[(i, labels[i]) for i in iris if i in labels],
        )

    def _run(self, query: str) -> str:
        from abi.agents.langchain_tools import content_of

        try:
            return content_of(self.call({"query": query}).document())
        except AbiError as error:
            return f"{error.message} {error.hint}".strip()

    def _require_known(self, query: str, prefixes: dict[str, str]) -> None:
        faults = []
        for token, iri in unknown_terms(query, prefixes, self.services.query):
            near = ", ".join(short(n, prefixes) for n in self._used().near(iri))
            there = f"; near: {near}" if near else ""
            faults.append(f"line {token.line}, column {token.column}: {token.text} is not in the graph{there}")
        if faults:
            raise ArgumentError("; ".join(faults) + ".", hint="Use terms that the graph has.")

    def _used(self) -> UsedTerms:
        if self._terms is None:
            self._terms = UsedTerms.read(self.services.query)
        return self._terms


def _unfenced(text: str) -> str:
    """The query without the Markdown fence that models like to put around it."""
    text = text.strip()
    if text.startswith("```"):
        text = text.split("\n", 1)[-1].removesuffix("```")
    return text.strip()
