"""Reads a `sparql_query`: a `.rq` file with a YAML header in its leading comment and a query below it.

The query itself is parsed in `abi.graph`, which knows SPARQL; here it is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abi.records.document import Document
from abi.records.header import Header, common_fields
from abi.records.parameters import read_parameters
from abi.records.record import JinjaQuery, SparqlQuery

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["read", "read_query"]


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds the record, if it is whole, and all findings to `result`."""
    read_query(document, context, result, SparqlQuery)


def read_query(
    document: Document, context: ReadContext, result: ReadResult, kind: type[SparqlQuery] | type[JinjaQuery]
) -> None:
    """The same for any kind that is a header above a query."""
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    fields = common_fields(header)
    parameters = read_parameters(header, context)
    answer = header.text("answer")
    extras = header.extras()
    if not document.body.strip():
        result.fault(
            document.body_line, "query", "query-missing", "The file has a header and no query.", "Write it below."
        )
        return
    if "name" in fields and "description" in fields:
        record = kind(
            **fields,
            query=document.body,
            parameters=parameters,
            answer=answer,
            extras=extras,
            source=result.source(header.line("name")),
        )
        lines = {key: header.line(key) for key in ("name", "description", "answer", "parameters")}
        lines |= {f"parameters.{p.name}": header.line(f"parameters.{p.name}") for p in parameters}
        result.add(record, lines | {"query": document.body_line})
