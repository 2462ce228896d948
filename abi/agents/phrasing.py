"""Models that cannot call tools (`tools: false`): the offline model calls them, and the model says what they gave.

So an answer's rows are found as without a language model, and its words are the model's. Where no tool fits, the model
answers by itself, and the answer counts as not grounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from abi.agents.turn import text_of

__all__ = ["is_settled", "without_tools"]

_FROM_ROWS = (
    "The rows below were looked up in the knowledge graph for the question. Answer from them only, in plain words; "
    "say so if they do not answer it."
)
_NO_ROWS = (
    "Nothing was found in the knowledge graph for this message. If it asks for something that the graph would have to "
    "tell, say that the graph does not hold it; state nothing as coming from the graph."
)
_INTENTS = re.compile(r"\n*<intents_rules>.*?</intents_rules>", re.DOTALL)


def is_settled(reply: AIMessage) -> bool:
    """Whether there is nothing left to say in words: tools are called, something is asked, or what they gave failed."""
    said = reply.additional_kwargs
    return bool(reply.tool_calls) or said.get("needs") is not None or said.get("grounded", ...) is None


def without_tools(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The conversation for a model that knows no tools: what was said, and the rows beside the question."""
    at = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    found = [m for m in messages[at + 1 :] if isinstance(m, ToolMessage) and m.status != "error"]
    shown: list[AnyMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            text = _INTENTS.sub("", text_of(message))
            shown.append(SystemMessage(f"{text}\n\n{_FROM_ROWS if found else _NO_ROWS}"))
        elif index == at:
            rows = "\n\n".join(f"{m.name}: {text_of(m)}" for m in found)
            text = text_of(message)
            shown.append(HumanMessage(f"{text}\n\nRows:\n{rows}" if found else text))
        elif isinstance(message, HumanMessage):
            shown.append(HumanMessage(text_of(message)))
        elif isinstance(message, AIMessage) and text_of(message):
            shown.append(AIMessage(text_of(message)))
    return shown
