"""One call of a chat model within a turn: its fallbacks, its limits, its pieces as they come, its reply made sound."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.utils.json import parse_partial_json

from abi.agents.grounded import GroundedChatModel
from abi.agents.model_loop import OutOfTime, Stopped
from abi.agents.models import GROUNDED
from abi.agents.phrasing import is_settled, without_tools
from abi.agents.spoken_calls import spoken_calls
from abi.agents.thoughts import ThoughtFilter, without_thoughts
from abi.agents.turn import text_of
from abi.errors import AbiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.language_models import BaseChatModel

    from abi.agents.crew import Member, TurnContext

__all__ = ["ModelsFailed", "ask_model", "is_offline", "short"]

_log = logging.getLogger("abi")
_CHARACTERS_A_TOKEN = 3.5
_REPLY_TOKENS = 1_024
"""Left free in a model's context for its reply, where its entry does not say how long that may be."""


class ModelsFailed(Exception):
    """None of the models gave a reply; the text says why, for the person."""


def is_offline(model: BaseChatModel) -> bool:
    """Whether a model computes in this process: it neither streams nor can it be waited for."""
    return isinstance(model, GroundedChatModel)


def ask_model(
    context: TurnContext,
    member: Member,
    name: str,
    messages: list[AnyMessage],
    withheld: Callable[[BaseChatModel], frozenset[str]],
    tell: Callable[[str, str], None],
) -> tuple[AIMessage, str]:
    """The reply and the name of the model that gave it: `name`, or the first of its fallbacks that does not fail.

    `tell` is given events: `call_model` with the model's name, `token` with a piece of text. Raises ModelsFailed,
    Stopped and OutOfTime.
    """
    failures: list[str] = []
    try:
        chain = context.models.chain(name)
    except AbiError:
        chain = [name]  # what is wrong with it is said below
    for one in chain:
        tell("call_model", one)
        try:
            model = context.models.get(one)
            entry = context.models.entry(one)
            if is_offline(model):
                return _sound(member.bound(model, withheld(model)).invoke(messages), messages), one
            if not entry.tools:
                return _phrased(context, member, model, messages, entry.context_window, withheld, tell), one
            bound = member.bound(model, withheld(model))
            reply = _sound(_streamed(context, bound, _within(messages, entry.context_window), tell), messages)
            if not reply.tool_calls and isinstance(reply.content, str):
                reply.content, reply.tool_calls = spoken_calls(reply.content, member.tools)  # type: ignore[assignment]
                reply = _sound(reply, messages)
            return reply, one
        except (Stopped, OutOfTime):
            raise
        except AbiError as error:
            failures.append(f"The model {one} cannot be used: {error.message} {error.hint}".strip())
        except Exception as error:  # any provider's own errors; the thread has to stay usable
            _log.warning("The model %s failed: %s", one, short(error))
            failures.append(f"The model {one} failed: {short(error)}")
    raise ModelsFailed(" ".join(failures))


def _phrased(
    context: TurnContext,
    member: Member,
    model: BaseChatModel,
    messages: list[AnyMessage],
    window: int | None,
    withheld: Callable[[BaseChatModel], frozenset[str]],
    tell: Callable[[str, str], None],
) -> AIMessage:
    """The turn of a model that calls no tools: the offline model finds the rows, this one says what they tell."""
    offline = context.models.get(GROUNDED)
    found = _sound(member.bound(offline, withheld(offline)).invoke(messages), messages)
    if is_settled(found):
        return found
    reply = _sound(_streamed(context, model, _within(without_tools(messages), window), tell), messages)
    if found.additional_kwargs.get("grounded") is False:
        reply.additional_kwargs["grounded"] = False
    return reply


def _streamed(context: TurnContext, bound: Any, messages: list[AnyMessage], tell: Callable[[str, str], None]) -> Any:
    thoughts = ThoughtFilter()

    def said(piece: str) -> None:
        text = thoughts(piece)
        if text:
            tell("token", text)

    reply = context.models.loop.stream(bound, messages, stopped=context.stopped, until=context.until, said=said)
    rest = thoughts.rest()
    if rest:
        tell("token", rest)
    assert isinstance(reply, AIMessage)
    return reply


def _sound(reply: Any, messages: Sequence[AnyMessage]) -> AIMessage:
    """The reply as an AIMessage without its thoughts, whose tool calls all have JSON objects for arguments.

    Arguments that are none stay as `_malformed`, by which the tools' step tells the model. `messages` are those that it
    replies to: no two calls of a conversation have the same id.
    """
    if not isinstance(reply, AIMessage):
        reply = AIMessage(content=text_of(reply) if isinstance(reply, BaseMessage) else str(reply))
    if isinstance(reply.content, str):
        reply.content = without_thoughts(reply.content)
    calls = [*reply.tool_calls]
    for wrong in reply.invalid_tool_calls:
        given = wrong.get("args") or ""
        repaired = _repaired(given)
        arguments = {"_malformed": given} if repaired is None else repaired
        calls.append({"name": wrong.get("name") or "", "args": arguments, "id": wrong.get("id"), "type": "tool_call"})
    known = {str(c["id"]) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    for number, call in enumerate(calls):
        if not call["id"] or call["id"] in known:  # some services number calls anew in every reply, or not at all
            call["id"] = f"call-{number}-{time.monotonic_ns()}"
        known.add(str(call["id"]))
    reply.tool_calls = calls
    reply.invalid_tool_calls = []
    # What a stream leaves of the raw calls would be sent to the provider in place of those that were made sound.
    reply.additional_kwargs = {k: v for k, v in reply.additional_kwargs.items() if k != "tool_calls"}
    assert isinstance(reply, AIMessage)
    return reply


def _repaired(text: str) -> dict[str, Any] | None:
    """Arguments that are nearly JSON: cut off at the end, or a JSON text within a JSON text."""
    try:
        value = parse_partial_json(text)
        if isinstance(value, str):
            value = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _within(messages: list[AnyMessage], window: int | None) -> list[AnyMessage]:
    """The messages without the oldest turns where they would not fit into the model's context."""
    if window is None:
        return messages
    room = max(window - _REPLY_TOKENS, window // 2) * _CHARACTERS_A_TOKEN
    sizes = [len(text_of(m)) + sum(len(str(c["args"])) for c in getattr(m, "tool_calls", ())) + 16 for m in messages]
    starts = [i for i, m in enumerate(messages) if isinstance(m, HumanMessage)]
    head = [m for m in messages[:1] if isinstance(m, SystemMessage)]
    left = room - sum(sizes[: len(head)])
    for start in starts:
        if sum(sizes[start:]) <= left or start == starts[-1]:
            return [*head, *messages[start:]] if start > len(head) else messages
    return messages


def short(error: Exception) -> str:
    """An error in one line of at most 300 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + "..."
