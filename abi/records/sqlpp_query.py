"""Reads a `sqlpp_query`: a `.sqlpp` file with a YAML header in its first `/* */` and a SQL++ query below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abi.records.database_secrets import read_database_secrets
from abi.records.document import Document
from abi.records.header import Header, common_fields, near
from abi.records.json_schema import read_schema
from abi.records.record import SqlppQuery
from abi.records.schema_parameters import schema_parameters
from abi.records.sqlpp_tokens import SqlppFault, tokenize

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["read"]


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds the record, if it is whole, and all findings to `result`."""
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    fields = common_fields(header)
    couchbase, _ = read_database_secrets(header)
    schema = read_schema(header, "input", required=True)
    output = read_schema(header, "output")
    answer = header.text("answer")
    extras = header.extras()
    if not document.body.strip(" \n;"):
        message = "The file has a header and no query."
        result.fault(document.body_line, "query", "query-missing", message, "Write it below the `*/`.")
        return
    if not _is_object(header, schema) or not _parameters(document, header, schema, result):
        return
    if schema is not None and "name" in fields and "description" in fields:
        record = SqlppQuery(
            **fields,
            query=document.body,
            input_schema=schema,
            output_schema=output,
            parameters=schema_parameters(schema),
            couchbase=couchbase,
            answer=answer,
            extras=extras,
            source=result.source(header.line("name")),
        )
        lines = {key: header.line(key) for key in ("name", "description", "input", "output", "answer", "secrets")}
        result.add(record, lines | {"query": document.body_line})


def _is_object(header: Header, schema: dict[str, object] | None) -> bool:
    kind = schema.get("type", "object") if schema is not None else "object"
    if kind == "object":
        return True
    message = f"The input must describe an object, whose properties are the arguments, not {kind!r}."
    header.fault("input", "input-schema", message, 'Write "type": "object" and "properties".')
    return False


def _parameters(document: Document, header: Header, schema: dict[str, object] | None, result: ReadResult) -> bool:
    """Compare the `$parameters` of the query with the properties of the input."""
    try:
        tokens = tokenize(document.body)
    except SqlppFault as fault:
        line = document.body_line + fault.line - 1
        result.fault(line, "query", "query-syntax", fault.message, fault.fix)
        return False
    if schema is None:
        return True
    properties = schema.get("properties", {})
    known = list(properties) if isinstance(properties, dict) else []
    used: dict[str, int] = {}
    whole = True
    for token in tokens:
        line = document.body_line + token.line - 1
        if token.kind == "parameter":
            used.setdefault(token.value, line)
        elif token.kind == "positional":
            message = f"The query has the positional parameter {token.text}; arguments have names."
            result.fault(line, "query", "parameter-positional", message, "Write $NAME, as it is called in the input.")
            whole = False
    for name, line in used.items():
        if name not in known:
            fix = near(name, known) or f"Add {name!r} to the properties of the input."
            result.fault(line, "query", "parameter-undeclared", f"The input has no property for ${name}.", fix)
            whole = False
    for name in known:
        if name not in used:
            message = f"The property {name!r} does not occur in the query as ${name}."
            header.fault(f"input.properties.{name}", "parameter-unused", message, "Remove it, or use it.", "warning")
    return whole
