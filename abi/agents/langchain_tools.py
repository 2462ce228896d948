"""Tool records as LangChain tools, with the argument model that the record's parameters make."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel

from abi.errors import AbiError
from abi.records.record import Record

if TYPE_CHECKING:
    from abi.tools.arguments import HasParameters
    from abi.tools.runner import ToolResult

__all__ = ["CONTENT_CHARACTERS", "CatalogTool", "catalog_tool", "content_of", "wrong_arguments"]

CONTENT_CHARACTERS = 8000
"""Most characters of a result that a model is shown; the whole result is the message's artifact."""


class CatalogTool(StructuredTool):
    """A LangChain tool that knows its record and the phrases of the intents that lead to it."""

    record: Record
    phrases: tuple[str, ...] = ()
    runner: Callable[..., Any]

    def _parse_input(self, tool_input: str | dict[str, Any], tool_call_id: str | None) -> str | dict[str, Any]:
        # LangChain keeps what it finds under the names of the model's fields, and drops what came under an alias.
        if (
            isinstance(tool_input, dict)
            and isinstance(self.args_schema, type)
            and issubclass(self.args_schema, BaseModel)
        ):
            fields = {field.alias or key: key for key, field in self.args_schema.model_fields.items()}
            tool_input = {fields.get(key, key): value for key, value in tool_input.items()}
        return super()._parse_input(tool_input, tool_call_id)

    def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool as the workspace does. Raises the errors of `abi.errors`."""
        result: ToolResult = self.runner(self.record.name, **arguments)
        return result


def catalog_tool(record: Record, runner: Callable[..., ToolResult], phrases: Sequence[str] = ()) -> CatalogTool:
    """The LangChain tool of a record, which `runner` calls by name: content for the model, the ToolResult as artifact.

    The annotation `return_direct: true` makes what it gives the answer of a turn, unread by the model. Called through
    LangChain, a tool that fails gives a message with what went wrong instead of raising.
    """
    from abi.tools.arguments import argument_model

    def run(**arguments: Any) -> tuple[str, ToolResult]:
        try:
            result = runner(record.name, **{k: v for k, v in arguments.items() if v is not None})
        except AbiError as error:
            raise ToolException(f"{error.message} {error.hint}".strip()) from error
        return content_of(result.document()), result

    return CatalogTool(
        name=record.name,
        description=record.description or record.name,
        args_schema=argument_model(cast("HasParameters", record)),
        func=run,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=wrong_arguments,
        record=record,
        phrases=tuple(phrases),
        runner=runner,
        return_direct=record.annotations.get("return_direct", "").casefold() == "true",
    )


def wrong_arguments(error: Any) -> str:
    """What is wrong with the arguments, all of it, in words for the model."""
    faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    return f"The arguments do not fit: {faults}"


def content_of(document: dict[str, Any]) -> str:
    """A tool result as JSON text for a model, cut to `CONTENT_CHARACTERS` at a row's end where it is longer."""
    shown: dict[str, Any] = {}
    result = document.get("result")
    rows = document.get("rows") or (result if isinstance(result, list) else None)
    if rows is None:
        shown["result"] = document.get("result")
    else:
        shown["row_count"] = document.get("row_count", len(rows))
    if document.get("truncated"):
        shown["truncated"] = True
        shown["note"] = "There are more rows than a tool gives; ask more narrowly."
    if rows is None:
        text = json.dumps(shown, ensure_ascii=False, default=str)
        return text if len(text) <= CONTENT_CHARACTERS else text[:CONTENT_CHARACTERS] + " [cut]"
    kept: list[Any] = []
    left = CONTENT_CHARACTERS - 260
    for row in rows:
        left -= len(json.dumps(row, ensure_ascii=False, default=str)) + 2
        if left < 0:
            shown["shown_rows"] = len(kept)
            shown["note"] = f"Only {len(kept)} of {len(rows)} rows are shown here; ask more narrowly for the others."
            break
        kept.append(row)
    return json.dumps({**shown, "rows": kept}, ensure_ascii=False, default=str)
