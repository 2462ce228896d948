"""The steps of a turn around a write: the change is proposed, the conversation waits, and the answer decides.

The wait is LangGraph's interrupt: the thread can be taken up by another process, a day later.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from pydantic import ValidationError

from abi.agents.crew import TurnContext
from abi.agents.langchain_tools import wrong_arguments
from abi.agents.turn import TurnState
from abi.agents.update_graph import UpdateGraphTool, agreement, writing
from abi.errors import AbiError

__all__ = ["approve", "propose", "undecided"]

Step = Command[str]


def undecided(message: AIMessage, turn: dict[str, Any], changes: Collection[str]) -> dict[str, Any] | None:
    """The first call of a tool that `changes` that the model called and nobody has decided on."""
    decisions = turn.get("decisions", {})
    return next((dict(c) for c in message.tool_calls if c["name"] in changes and c["id"] not in decisions), None)


def propose(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Work the change out and ask for approval; where it cannot be made, the model is told at once."""
    turn, path = dict(state["turn"]), state["path"]
    message = state["messages"][-1]
    assert isinstance(message, AIMessage)
    tools = runtime.context.crew.member(path[-1]).tools
    call = undecided(message, turn, writing(tools))
    assert call is not None
    tool = tools.get(call["name"])
    assert isinstance(tool, UpdateGraphTool)
    try:
        proposal = tool.propose(call["args"])
    except ValidationError as error:
        return _decided(turn, call["id"], {"refused": wrong_arguments(error)})
    except AbiError as error:
        return _decided(turn, call["id"], {"refused": f"{error.message} {error.hint}".strip()})
    turn["needs"] = {
        "kind": "approval",
        "tool": call["name"],
        "call": call["id"],
        "approval": proposal.document(),
        "exact": proposal.exact,
    }
    turn["answers"] = [*turn["answers"], proposal.question()]
    turn["grounded"] = None
    runtime.stream_writer({"type": "ai_message", "agent": path[-1], "data": proposal.question()})
    return Command(update={"turn": turn, "count": state.get("count", 0) + 1}, goto="approve")


def approve(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Wait for the answer. Only a plain yes, of somebody who may write, is an approval; anything else is told to the
    model as it was said."""
    needs = state["turn"]["needs"]
    said = str(interrupt(needs["approval"]))
    turn = dict(state["turn"])
    turn |= {"needs": None, "answers": [], "calls": [], "citations": [], "candidates": [], "trail": ["tool"]}
    turn |= {"steps": 0, "tokens": 0, "chosen": needs["tool"]}
    turn["why"] = [f"The message answers whether {needs['tool']} may change the graph."]
    verdict = agreement(said)
    if verdict and not runtime.context.may_write:
        return _decided(turn, needs["call"], {"refused": "The person may not change the graph."})
    if verdict:
        return _decided(turn, needs["call"], {"exact": needs["exact"]})
    answer = "" if verdict is False else f" They said: {said}"
    return _decided(turn, needs["call"], {"refused": f"The person did not approve the change.{answer}"})


def _decided(turn: dict[str, Any], call: str, decision: dict[str, str]) -> Step:
    turn["decisions"] = {**turn.get("decisions", {}), call: decision}
    return Command(update={"turn": turn}, goto="call_tools")
