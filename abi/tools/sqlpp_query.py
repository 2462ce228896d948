"""Runs a `sqlpp_query`: on Couchbase, or on the embedded engine where the connection string is `duckdb:PATH`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from abi.errors import AbiError, ToolFailed
from abi.findings import Finding, Severity
from abi.patterns import bounded
from abi.records.record import SqlppQuery
from abi.records.sqlpp_tokens import SqlppFault, tokenize
from abi.tools.answer import render_answer
from abi.tools.arguments import argument_model
from abi.tools.embedded_database import PREFIX, embedded_rows, plain
from abi.tools.json_values import rows_of
from abi.tools.runner import RunContext, ToolResult
from abi.tools.schema_model import schema_values
from abi.tools.sqlpp_duckdb import translate
from abi.tools.sqlpp_words import refusals
from abi.tools.tool_secrets import ToolSecrets
from abi.tools.whole_value import whole_validator

__all__ = ["check", "fits_output", "run"]


def check(record: SqlppQuery, *, path: str, line: int, place: str | None) -> list[Finding]:
    """What the embedded engine does not know of the query, which begins on that line.

    `place` is the connection string, as far as it is known. An error where it is the embedded engine's; a warning where
    nothing is known; nothing to say where the query is another database's.
    """
    if place is not None and not place.startswith(PREFIX):
        return []
    faults = refusals(record.query)
    if not faults:
        try:
            translate(record.query)
        except SqlppFault as fault:
            faults = [fault]
        except AbiError:  # without the extra nothing more can be said
            return []
    severity: Severity = "warning" if place is None else "error"
    return [Finding(path, line + f.line - 1, "query", severity, f.code, f.message, f.fix) for f in faults]


def run(record: SqlppQuery, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Raises ArgumentError with all faults of the arguments, and ToolFailed that names the tool and what it asked."""
    arguments = schema_values(argument_model(record), raw_arguments, record.name)
    secrets = ToolSecrets(record.name, context)
    if record.couchbase.conn_string is None:
        raise ToolFailed(f"The tool {record.name} does not say where its database is.", hint="Name it under secrets.")
    place = secrets[record.couchbase.conn_string]
    # Every parameter of the query is bound; what was not given is null.
    used = {token.value for token in tokenize(record.query) if token.kind == "parameter"}
    values = {name: arguments.get(name) for name in sorted(used)}
    limit = context.settings.tool_rows
    if place.startswith(PREFIX):
        result, truncated = _embedded(record, place, values, context, secrets)
    else:
        from abi.tools.couchbase import Cluster

        with Cluster(record.name, record.couchbase, secrets, seconds=context.settings.query_seconds) as cluster:
            result, truncated = cluster.query(record.query, values, limit)
    fits_output(record.name, record.output_schema, result)
    rows = rows_of(result)
    answer = None
    if record.answer is not None:
        given = rows_of(dict(arguments)).rows
        names = [p.name for p in record.parameters]
        answer = render_answer(record.answer, rows, given[0] if given else {}, {}, names=names, result=result)
    return ToolResult(
        tool=record.name,
        arguments=arguments,
        rows=rows,
        result=result,
        query=record.query,
        row_count=len(result),
        truncated=truncated,
        answer=answer,
    )


def _embedded(
    record: SqlppQuery, place: str, values: Mapping[str, Any], context: RunContext, secrets: ToolSecrets
) -> tuple[list[Any], bool]:
    try:
        made = translate(record.query)
        found, truncated = embedded_rows(
            place.removeprefix(PREFIX),
            made.collections,
            made.sql,
            {name: values[name] for name in made.parameters},
            root=context.root,
            rows=context.settings.tool_rows,
            seconds=context.settings.query_seconds,
        )
    except SqlppFault as fault:
        where = f" (line {fault.line} of its query)"
        raise ToolFailed(f"The tool {record.name} cannot run{where}: {fault.message}", hint=fault.fix) from fault
    except ToolFailed as error:
        message = f"The tool {record.name} failed on the embedded engine: {secrets.hidden(error.message)}"
        raise ToolFailed(message, hint=error.hint, details={"tool": record.name, "remote": "duckdb"}) from error
    rows = [plain(row) for row in found]
    return ([next(iter(row.values()), None) for row in rows] if made.raw else rows), truncated


def fits_output(tool: str, schema: Mapping[str, Any] | None, result: Any) -> None:
    """Raises ToolFailed where a result is not as the record's `output` says."""
    if schema is None:
        return
    with bounded():
        error = next(iter(whole_validator(schema).iter_errors(result)), None)
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path)
        shown = error.message if len(error.message) < 300 else error.message[:300] + "..."
        message = f"The result of {tool} is not as its output says{f', at {where}' if where else ''}: {shown}."
        raise ToolFailed(message, hint="Correct the query or the output.", details={"tool": tool, "at": where})
