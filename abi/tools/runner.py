"""Runs a record: one runner for each kind, one shape of result for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from abi.errors import Unsupported
from abi.graph.rows import Rows
from abi.records.record import Record
from abi.settings import Settings
from abi.tools.json_values import jsonable

__all__ = ["RUNNERS", "QueryFunction", "RunContext", "Runner", "ToolResult", "run"]


class QueryFunction(Protocol):
    """Evaluates a query over the graph within limits, like `abi.graph.worker.QueryWorker.query`."""

    def __call__(self, text: str, *, rows: int | None = None) -> Rows: ...


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a runner may use. `principal` is the caller's identity, None where there is none; `secret` gives the value
    of a secret by its name."""

    query: QueryFunction
    settings: Settings
    root: Path
    trusted: bool = False
    principal: str | None = None
    secret: Callable[[str], str] | None = None
    find: Callable[..., Sequence[Any]] | None = None
    """The catalog's search: `find("tools", text, name=, annotations=, limit=)` gives hits with a `name`."""
    put_graph: Callable[[str, bytes], Any] | None = None
    """Replaces what a named graph holds by Turtle, through the gate; None where the caller may not write."""
    look_up: QueryFunction | None = None
    """Like `query`, in this process: for abi's own look-ups of names and labels, whose cost does not grow."""


@dataclass(slots=True)
class ToolResult:
    """What came of a call.

    `arguments` are the values that were used, with the IRI of each `class:` argument. `result` is what the tool gave:
    rows as plain dicts, the truth of an ASK, the return value of a function, a rendered prompt's `{text, tools}`.
    `answer` is the answer template's sentence, `citations` are the (IRI, label) of the entities in arguments and rows,
    `seconds` is the time of the whole call.
    """

    tool: str
    arguments: dict[str, Any]
    rows: Rows | None = None
    result: Any = None
    query: str | None = None
    row_count: int | None = None
    truncated: bool = False
    seconds: float = 0.0
    citations: list[tuple[str, str]] = field(default_factory=list)
    answer: str | None = None
    family: str = "tool"

    @property
    def labels(self) -> dict[str, str]:
        """Label of each cited IRI."""
        return dict(self.citations)

    def document(self) -> dict[str, Any]:
        """The result as JSON has it."""
        arguments = jsonable(self.arguments)
        if self.family == "prompt":
            rendered = self.result if isinstance(self.result, Mapping) else {"text": self.result, "tools": []}
            return {"prompt": self.tool, "arguments": arguments, **jsonable(rendered)}
        return {
            "tool": self.tool,
            "arguments": arguments,
            "result": jsonable(self.result),
            "query": self.query,
            "row_count": self.row_count,
            "truncated": self.truncated,
            "seconds": round(self.seconds, 6),
            "answer": self.answer,
            "citations": [{"iri": iri, "label": label} for iri, label in self.citations],
        }


Runner = Callable[[Any, Mapping[str, Any], RunContext], ToolResult]
"""Takes the record, its arguments as they came, and the context; checks the arguments itself."""


def run(record: Record, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """Call a tool or render a prompt. Raises ArgumentError with all faults of the arguments, ToolFailed, Untrusted,
    Unsupported (agents and intents are asked, not run), and what a query can raise."""
    started = time.monotonic()
    result = RUNNERS[record.kind](record, raw_arguments, context)  # type: ignore[attr-defined]
    result.family = record.family
    result.seconds = time.monotonic() - started
    return result


def _in(module: str) -> Runner:
    """The `run` of a module that is loaded with the first call."""

    def call(record: Any, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
        result = import_module(module).run(record, raw_arguments, context)
        assert isinstance(result, ToolResult)
        return result

    return call


def _asked(record: Any, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    raise Unsupported(
        f"{record.name} is an {record.family}, which is asked and not run.", hint=f"Try `abi chat {record.name}`."
    )


RUNNERS: dict[str, Runner] = {
    "python_function": _in("abi.tools.python_function"),
    "sqlpp_query": _in("abi.tools.sqlpp_query"),
    "sparql_query": _in("abi.tools.sparql_query"),
    "jinja_query": _in("abi.tools.jinja_query"),
    "semantic_search": _in("abi.tools.semantic_search"),
    "http_request": _in("abi.tools.http_request"),
    "raw_prompt": _in("abi.tools.prompt"),
    "jinja_prompt": _in("abi.tools.prompt"),
    "prompt": _in("abi.tools.prompt"),
    "agent": _asked,
    "intent": _asked,
}
