"""Agents over HTTP: which there are, one turn as a document, and one as it happens.

A thread belongs to the caller that began it. Callers without a key, on a server without keys, share theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from abi.errors import Denied, UsageError
from abi.server.access import caller, require
from abi.server.documents import AgentBrief, AgentList, ChatDocument, answered
from abi.server.event_stream import EventStream
from abi.server.negotiate import Media, choose
from abi.server.service import Service, service_of
from abi.server.turns import owner_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from abi.agents.definition import AgentDefinition
    from abi.agents.turn import Event, TurnResult
    from abi.keys import Principal

__all__ = ["router"]

router = APIRouter(tags=["agents"])
_ANSWERS = (Media("json", "application/json"), Media("text", "text/plain"))


class Message(BaseModel):
    """A message, or the answer to a proposed change. Without `thread_id` a new thread begins."""

    model_config = ConfigDict(extra="forbid")

    prompt: str | None = Field(None, max_length=32_000, description="What is said to the agent.")
    thread_id: str | int | None = Field(None, description="The conversation to go on with.")
    model: str | None = Field(
        None, max_length=200, description="`provider:model`; a setting else. Only admins may name one that is not set."
    )
    write: bool = Field(False, description="Agents that may write can propose changes. Needs the role writer.")
    approve: bool | None = Field(
        None, description="Instead of a prompt: yes or no to the change that the thread's last answer proposes."
    )


_EXAMPLES: dict[str, Any] = {
    "question": {
        "summary": "A question",
        "value": {"prompt": "Which airports can I reach directly from Boise?", "thread_id": "t1"},
    },
    "approval": {"summary": "Yes to a proposed change", "value": {"thread_id": "t1", "approve": True}},
}
Said = Annotated[Message, Body(openapi_examples=_EXAMPLES)]


@router.get("/agents", summary="The agents", responses={200: {"model": AgentList}})
async def agents(request: Request) -> Response:
    """All agents of the graph as it is now, the root agent first."""
    service = service_of(request)
    offer = await service.work(lambda: service.catalog.now().agents)
    return answered({"agents": [_brief(definition) for definition in offer.values()]})


@router.get("/agents/{name}", summary="One agent", responses={200: {"model": AgentBrief}})
async def agent(request: Request, name: str) -> Response:
    """What one agent is: its description, tools, sub-agents and the phrases that lead to it."""
    service = service_of(request)

    def found() -> AgentDefinition:
        return service.workspace.agent(name).definition

    definition = await service.work(found)
    intents = [
        {"phrases": list(i.phrases), "type": i.type, "target": i.target, "scope": i.scope} for i in definition.intents
    ]
    return answered({**_brief(definition), "intents": intents})


@router.post(
    "/agents/{name}/completion",
    summary="One turn",
    responses={200: {"model": ChatDocument, "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def completion(request: Request, name: str, message: Said) -> Response:
    """One turn with an agent, as a document; with `Accept: text/plain` only its answer. It ends with the connection."""
    service = service_of(request)
    media = choose(request.headers.get("accept"), _ANSWERS)
    arguments = await _arguments(request, service, name, message)
    result = await service.while_heard(request, service.turns.answer(**arguments))
    if message.write or message.approve:
        service.wrote(arguments["principal"].name)
    return answered(result.document()) if media.format == "json" else PlainTextResponse(result.answer)


@router.post(
    "/agents/{name}/stream-completion",
    summary="One turn, as it happens",
    responses={
        200: {
            "description": "Events: call_model, tool_usage, tool_response, ai_message, agent_routing, token, message, "
            "result (the chat document), error, done.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    },
    response_class=Response,
)
async def stream_completion(request: Request, name: str, message: Said) -> Response:
    """One turn as server-sent events. Whoever closes the connection ends the turn: its model and its tools stop."""
    service = service_of(request)
    arguments = await _arguments(request, service, name, message)
    items: AsyncIterator[Event | TurnResult] = service.turns.stream(**arguments)
    stream = await service.while_heard(request, EventStream.begun(items))
    if message.write or message.approve:
        service.wrote(arguments["principal"].name)
    return stream


async def _arguments(request: Request, service: Service, name: str, message: Message) -> dict[str, Any]:
    """What `Turns.stream` takes, of what was sent. Raises UsageError, Denied, Unauthenticated, NotFound."""
    principal = require(request, "writer") if message.write or message.approve is not None else caller(request)
    thread_id = None if message.thread_id is None else str(message.thread_id)
    text, write = message.prompt, message.write
    if (text is None) == (message.approve is None):
        raise UsageError("A message has a `prompt`, or `approve`.")
    if message.approve is not None:
        if thread_id is None:
            raise UsageError("Which conversation?", hint="Give the thread_id of the answer that proposed the change.")
        waits = await service.work(lambda: service.workspace.awaits_approval(thread_id, owner_of(principal)))
        if not waits:
            raise UsageError(f"The thread {thread_id!r} waits for no approval.")
        text, write = ("yes" if message.approve else "no"), True
    _may_use(principal, message.model, service)
    return {
        "principal": principal,
        "agent": name,
        "text": text,
        "thread_id": thread_id,
        "model": message.model,
        "write": write,
    }


def _may_use(principal: Principal, model: str | None, service: Service) -> None:
    """Models cost money: callers choose among those that the operator has set."""
    settings = service.settings
    if model is None or principal.may("admin"):
        return
    known = {settings.model, *settings.models, *settings.model_fallback}
    if model not in known:
        raise Denied(f"The model {model!r} is not set here.", hint=f"There are {', '.join(sorted(known))}.")


def _brief(definition: AgentDefinition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "iri": definition.iri,
        "description": definition.description,
        "model": definition.model,
        "tools": [tool.name for tool in definition.tools],
        "agents": list(definition.agents),
        "may_write": definition.may_write,
    }
