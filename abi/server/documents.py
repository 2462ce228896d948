"""The shapes of what is sent and answered, for the OpenAPI document and for checking what comes in.

Answers are written by the verbs themselves (`.document()`); a test compares them with these.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

__all__ = [
    "AgentBrief",
    "AgentList",
    "ChatDocument",
    "ErrorDocument",
    "FindRequest",
    "FindingDocument",
    "Found",
    "Page",
    "RecordBrief",
    "RecordList",
    "ThreadBrief",
    "ThreadList",
    "answered",
    "page_of",
]


class _Shown(BaseModel):
    """A key may be added at any time; none is renamed."""

    model_config = ConfigDict(extra="allow")


class ErrorBody(BaseModel):
    code: str = Field(description="Stable; meant for programs.", examples=["not_found"])
    message: str = Field(description="What, and where.")
    details: dict[str, Any] = Field(description="More for programs: findings, faults of arguments, a place.")
    hint: str = Field(description="What to do about it.")


class ErrorDocument(BaseModel):
    error: ErrorBody


class RecordBrief(_Shown):
    name: str
    kind: str
    iri: str
    description: str = ""
    source: str = Field("", description="`path:line` of the file that it was read from.")


class Page(_Shown):
    total: int = Field(description="How many there are, on all pages.")
    next: str | None = Field(description="The address of the next page; null on the last one.")


class RecordList(Page):
    records: list[RecordBrief]


class FindRequest(BaseModel):
    """A search by words and by meaning. Everything is optional: without a query the filters alone choose."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"kind": "tools", "query": "flights between two airports", "limit": 3}]},
    )

    kind: Literal["tools", "prompts", "agents", "intents", "records", "entities"] | None = None
    query: str | None = Field(None, max_length=4_000)
    name: str | None = Field(None, max_length=1_000, description="The record of exactly this name.")
    annotations: str | None = Field(None, max_length=4_000, description='A predicate: key = "value" AND NOT a = "b".')
    where: str | None = Field(None, max_length=16_000, description="A SPARQL pattern that ?record has to meet.")
    limit: int = Field(5, ge=1, le=1_000)
    min_score: float | None = Field(None, ge=0, le=1)
    closest: bool = Field(False, description="Only results that are clearly closer than the rest.")


class Hit(RecordBrief):
    score: float = Field(description="Calibrated similarity, 0 to 1; 1 for `name`.")
    annotations: dict[str, Any] = {}


class Found(_Shown):
    results: list[Hit]


class AgentBrief(_Shown):
    name: str
    iri: str
    description: str
    model: str | None = Field(description="null: that of the settings.")
    tools: list[str]
    agents: list[str] = Field(description="Those to which it can hand the conversation.")
    may_write: bool = Field(description="Whether it can propose changes of the graph, to writers.")


class AgentList(_Shown):
    agents: list[AgentBrief]


class ChatDocument(_Shown):
    """One turn: the answer, and all that it rests on."""

    thread_id: str
    turn: str = Field(description="The IRI of the turn's trace.")
    agent: str = Field(description="Who answered.")
    answer: str
    grounded: bool | None = Field(description="Whether every statement comes from rows of this turn.")
    needs: dict[str, Any] | None = Field(
        description="What is asked for: the missing `argument`, `choices`, or an `approval` of a change."
    )
    tool_calls: list[dict[str, Any]]
    citations: list[dict[str, str]]
    routing: dict[str, Any]


class ThreadBrief(_Shown):
    thread_id: str
    principal: str | None
    agent: str
    turns: int
    updated: str
    title: str


class ThreadList(Page):
    threads: list[ThreadBrief]


class FindingDocument(_Shown):
    path: str
    line: int
    field: str
    severity: Literal["error", "warning"]
    code: str
    message: str
    fix: str


def answered(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A document of a verb as the answer."""
    body = json.dumps(document, ensure_ascii=False, default=_plain).encode("utf-8", "backslashreplace")
    return Response(body, status, headers, media_type="application/json")


def page_of(path: str, offset: int, limit: int, total: int, **parameters: str) -> dict[str, Any]:
    """The part of a list's document that leads to its other pages."""
    from urllib.parse import urlencode

    more = offset + limit < total
    query = urlencode({**parameters, "limit": limit, "offset": offset + limit})
    return {"total": total, "next": f"{path}?{query}" if more else None}


def _plain(value: object) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
