"""The ways in which a turn ends before its agent has had the last word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.types import Command

from abi.agents.turn import text_of

if TYPE_CHECKING:
    from abi.agents.crew import TurnContext

__all__ = ["ended_by_tool", "out_of_time", "say_and_end", "stopped"]

Step = Command[str]


def say_and_end(
    text: str,
    turn: dict[str, Any],
    path: list[str],
    *,
    grounded: bool | None,
    before: Sequence[AnyMessage | RemoveMessage] = (),
) -> Step:
    """End the turn with a text, after the messages that belong before it."""
    turn["grounded"] = grounded
    message = AIMessage(content=text, name=path[-1], additional_kwargs={"grounded": grounded})
    return Command(update={"messages": [*before, message], "turn": turn, "path": path}, goto="finish")


def stopped(said: str, turn: dict[str, Any], path: list[str], before: Sequence[AnyMessage] = ()) -> Step:
    """The person has stopped the turn: what was said until then stays in the conversation."""
    turn["stopped"] = True
    return say_and_end(f"{said} [stopped]" if said else "Stopped.", turn, path, grounded=None, before=before)


def out_of_time(context: TurnContext, turn: dict[str, Any], path: list[str], before: Sequence[AnyMessage] = ()) -> Step:
    seconds = context.services.settings.agent_seconds
    return say_and_end(
        f"I stopped after {seconds:g} seconds without an answer.", turn, path, grounded=False, before=before
    )


def ended_by_tool(messages: Sequence[ToolMessage], turn: dict[str, Any], path: list[str]) -> Step:
    """All tools that were called return directly: what they gave is the answer, and no model is asked again."""
    parts = []
    for message in messages:
        artifact = message.artifact if isinstance(message.artifact, dict) else {}
        result = artifact.get("document", {}).get("result")
        parts.append(artifact.get("answer") or (result if isinstance(result, str) else text_of(message)))
    return say_and_end("\n\n".join(parts), turn, path, grounded=True, before=messages)
