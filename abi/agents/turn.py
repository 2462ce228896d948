"""One turn of a conversation: its state while it runs, what it gives back, and the events it tells of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph.message import add_messages

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "Event",
    "EventType",
    "TurnResult",
    "TurnState",
    "is_question",
    "last_request",
    "new_turn",
    "text_of",
    "this_turn",
]

EventType = Literal[
    "call_model", "tool_usage", "tool_response", "ai_message", "agent_routing", "message", "token", "done"
]
_QUESTION_WORDS = frozenset("what which who where when how is are does do can list show find give tell".split())
Step = Literal[
    "mention",
    "active",
    "direct",
    "single",
    "filtered",
    "entity_check",
    "raw",
    "agent",
    "tool",
    "choice",
    "model",
    "none",
]


class TurnState(TypedDict, total=False):
    """What the checkpointer keeps of a thread: messages and plain values only, so that any version can read it.

    `path`: names from the agent that was asked down to the one that holds the conversation. `count`: turns so far.
    `turn`: the working values of the last turn (see `new_turn`); replaced whole.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    path: list[str]
    count: int
    turn: dict[str, Any]


def new_turn(request: str) -> dict[str, Any]:
    return {
        "request": request,  # what is to be answered: without its @mention; after a choice, the original request
        "trail": [],  # the steps of routing, in order
        "why": [],  # and their reasons, a sentence each
        "candidates": [],
        "kept": [],  # intents that are still in question
        "injected": [],  # intents that the model is told of
        "chosen": None,
        "calls": [],
        "citations": [],
        "answers": [],
        "needs": None,
        "grounded": None,
        "steps": 0,
        "moves": 0,  # hand-overs, both ways
        "helped": [],  # agents that gave the request back
        "queue": [],  # agents that get the request after the one that has it
        "asked": False,  # the message before asked for an argument
        "reason": "",
        "model": "",
    }


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a turn, under the names that ABI streams. `data` is text, or a document."""

    type: EventType
    agent: str
    data: Any = ""

    def document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The outcome of a turn. `turn` is the IRI under which its trace is kept."""

    thread_id: str
    turn: str
    number: int
    agent: str
    message: str
    answer: str
    grounded: bool | None
    needs: dict[str, Any] | None
    tool_calls: list[dict[str, Any]]
    citations: list[dict[str, str]]
    routing: dict[str, Any]
    started: datetime
    ended: datetime
    model: str = ""
    agent_iri: str = ""
    graph_version: int = 0
    stopped: bool = False
    """Whether the person broke it off."""
    details: dict[str, Any] = field(default_factory=dict)
    """For the trace: candidates with the IRIs of their intents, what was chosen, as an IRI."""

    def document(self) -> dict[str, Any]:
        """The chat document."""
        return {
            "thread_id": self.thread_id,
            "turn": self.turn,
            "agent": self.agent,
            "answer": self.answer,
            "grounded": self.grounded,
            "needs": self.needs,
            "tool_calls": self.tool_calls,
            "citations": self.citations,
            "routing": self.routing,
        }

    def __str__(self) -> str:
        return self.answer


def text_of(message: BaseMessage) -> str:
    """The text of a message; of a message in parts, its text parts joined."""
    if isinstance(message.content, str):
        return message.content
    parts = [p if isinstance(p, str) else str(p.get("text", "")) for p in message.content]
    return "".join(parts)


def last_request(messages: list[AnyMessage]) -> tuple[str, AIMessage | None]:
    """The text of the last message of a person, and the assistant's message before it, if there is one."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            before = messages[index - 1] if index else None
            return text_of(messages[index]), before if isinstance(before, AIMessage) else None
    return "", None


def this_turn(messages: list[AnyMessage]) -> list[AnyMessage]:
    """The messages after the last one of a person."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            return messages[index + 1 :]
    return list(messages)


def paired(messages: list[AnyMessage]) -> list[AnyMessage]:
    """The messages without tool calls that were never answered, which models refuse."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    kept: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage) and message.tool_calls:
            calls = [c for c in message.tool_calls if c["id"] in answered]
            if len(calls) < len(message.tool_calls):
                if not calls and not text_of(message):
                    continue
                message = message.model_copy(update={"tool_calls": calls})
        kept.append(message)
    return kept


def is_question(text: str) -> bool:
    """Whether a message asks for something of its own, rather than giving what it was asked for."""
    first = text.split()[0].casefold().strip("¿\"'") if text.split() else ""
    return text.rstrip().endswith("?") or first in _QUESTION_WORDS
