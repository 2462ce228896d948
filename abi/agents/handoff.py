"""Agents that use agents: tools that hand a conversation over, and the way back."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from abi.agents.cards import ToolCard
from abi.records.agent import agent_name

__all__ = ["REQUEST_HELP", "TRANSFER", "HandoffTool", "HelpTool", "mention_of"]

TRANSFER = "transfer_to_"
REQUEST_HELP = "request_help"
_MENTION = re.compile(r"^\s*@([A-Za-z0-9_\-]+)[,:;.!]?(?:\s+|$)")


def mention_of(message: str) -> tuple[str, str] | None:
    """The name after a leading `@`, and the message without it: `@Beta, hi` gives ("Beta", "hi"). None without one."""
    match = _MENTION.match(message)
    return (match.group(1), message[match.end() :].strip()) if match else None


class _Nothing(BaseModel):
    pass


class _Reason(BaseModel):
    reason: str = Field(default="", description="What is asked for that you cannot do.")


class HandoffTool(BaseTool):
    """Gives the conversation to a sub-agent. `leaves` are the tools under it, for a model that looks that far.

    `drafts`: an agent there proposes changes of the ontology.
    """

    target: str
    leaves: tuple[ToolCard, ...] = ()
    drafts: bool = False
    args_schema: Any = _Nothing

    def _run(self, **_: Any) -> str:
        return f"Handed over to {self.target}."


class HelpTool(BaseTool):
    """Gives the conversation back to the agent that handed it over."""

    name: str = REQUEST_HELP
    description: str = "Give the request back to your supervisor when none of your tools can answer it."
    args_schema: Any = _Reason

    def _run(self, reason: str = "") -> str:
        return reason


def handoff_tool(name: str, description: str, leaves: tuple[ToolCard, ...], drafts: bool = False) -> HandoffTool:
    """The tool `transfer_to_<name>`, described as the agent it leads to."""
    return HandoffTool(
        name=TRANSFER + agent_name(name),
        description=description or f"Ask {name}.",
        target=name,
        leaves=leaves,
        drafts=drafts,
    )
