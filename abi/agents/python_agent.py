"""Agents as Python classes. They need no workspace, and run on the machine that runs the agents of the graph."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from uuid import uuid4

from abi.agents.hooks import told
from abi.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from abi.agents.agent import AgentRuntime, Patcher
    from abi.agents.chat_model import ChatModel
    from abi.agents.turn import Event, TurnResult

__all__ = ["Agent", "AgentConfiguration", "AgentSharedState", "Intent", "IntentAgent", "IntentScope", "IntentType"]


class IntentType(StrEnum):
    """What an intent leads to: an agent, a tool, or straight to a reply."""

    AGENT = "agent"
    TOOL = "tool"
    RAW = "raw"


class IntentScope(StrEnum):
    """Whether the agents above meet an intent too (`ALL`), or only the agent that has it."""

    ALL = "all"
    DIRECT = "direct"


@dataclass(frozen=True)
class Intent:
    """A phrase and where it leads. Intents of type agent and tool are always `DIRECT`."""

    intent_value: str
    intent_type: IntentType
    intent_target: str
    intent_scope: IntentScope = IntentScope.ALL

    def __post_init__(self) -> None:
        object.__setattr__(self, "intent_type", IntentType(self.intent_type))
        direct = self.intent_type is not IntentType.RAW
        object.__setattr__(self, "intent_scope", IntentScope.DIRECT if direct else IntentScope(self.intent_scope))


@dataclass
class AgentSharedState:
    """The conversation of an agent, and the agent above it. Without `thread_id` each agent begins one of its own."""

    thread_id: str | None = None
    supervisor_agent: str | None = None


def _nothing(*_: Any) -> None:
    pass


@dataclass
class AgentConfiguration:
    """A system prompt in place of the class's own, and what is called as a turn goes on."""

    system_prompt: str | None = None
    on_tool_usage: Callable[[str], Any] = _nothing
    """Given the tool's name."""
    on_tool_response: Callable[[str], Any] = _nothing
    """Given the text that the model is told."""
    on_ai_message: Callable[[str, str], Any] = _nothing
    """Given the answer and the name of the agent that gives it."""
    on_agent_routing: Callable[[str], Any] = _nothing
    """Given the name of the agent that takes over."""


class Agent:
    """A model, a system prompt, and tools; other agents among them are handed the conversation.

    `chat_model` is a LangChain model, a `ChatModel` or `provider:model`. `tools` are LangChain tools, functions or
    agents. `memory` is a LangGraph checkpointer; without one, PostgreSQL at `POSTGRES_URL`, else this process. Nothing
    that is given is changed. Raises UsageError for what cannot be an agent.
    """

    name: str = ""
    description: str = ""
    system_prompt: str = ""
    sequential_supervisor: ClassVar[bool] = False
    delegates_to_abi: ClassVar[bool] = False

    def __init__(
        self,
        name: str = "",
        description: str = "",
        chat_model: BaseChatModel | ChatModel | str = "offline:grounded",
        tools: Sequence[BaseTool | Callable[..., Any] | Agent] = (),
        agents: Sequence[Agent] = (),
        memory: BaseCheckpointSaver[Any] | None = None,
        state: AgentSharedState | None = None,
        configuration: AgentConfiguration | None = None,
    ) -> None:
        from abi.records.agent import agent_name

        self.name = agent_name(name or type(self).name or type(self).__name__)
        self.description = description or type(self).description
        self.chat_model = chat_model
        own = [t for t in tools if not isinstance(t, Agent)]
        given = [*(t for t in tools if isinstance(t, Agent)), *agents]
        self.tools: tuple[Any, ...] = tuple(_as_tool(t) for t in own)
        self.agents: tuple[Agent, ...] = tuple({a.name: a for a in reversed(given)}.values())[::-1]
        self.intents: tuple[Intent, ...] = ()
        self.memory = memory
        self.state = replace(state) if state else AgentSharedState()
        self.configuration = replace(configuration) if configuration else AgentConfiguration()
        self.system_prompt = self.configuration.system_prompt or type(self).system_prompt
        self._begin()

    def _begin(self) -> None:
        self.state.thread_id = self.state.thread_id or uuid4().hex
        self._runtime: AgentRuntime | None = None
        self._patcher: Patcher | None = None
        self._lock = threading.Lock()

    @classmethod
    def New(
        cls, agent_shared_state: AgentSharedState | None = None, agent_configuration: AgentConfiguration | None = None
    ) -> Self:
        """An agent of this class with a conversation of its own."""
        return cls(state=agent_shared_state, configuration=agent_configuration)

    def duplicate(self, agent_shared_state: AgentSharedState | None = None) -> Self:
        """The same agent with a conversation of its own; its class is kept."""
        return self._copy(agent_shared_state, {})

    def _copy(self, state: AgentSharedState | None, made: dict[int, Agent]) -> Self:
        other = copy.copy(self)
        other.state = replace(state) if state else AgentSharedState()
        other.configuration = replace(self.configuration)
        for child in self.agents:  # one that two agents have is one in the copy too
            if id(child) not in made:
                made[id(child)] = child._copy(replace(child.state, thread_id=None), made)
        other.agents = tuple(made[id(a)] for a in self.agents)
        other._begin()
        return other

    def build_graph(self, patcher: Patcher | None = None) -> None:
        """Build the machine of the turn anew; `patcher` is given LangGraph's builder before it is compiled."""
        with self._lock:
            if self._runtime is not None:
                self._runtime.close()
            self._runtime, self._patcher = None, patcher

    def as_tools(self) -> list[BaseTool]:
        """The tool `transfer_to_<name>`, described as this agent is."""
        from abi.agents.handoff import handoff_tool

        return [handoff_tool(self.name, self.description, ())]

    def invoke(self, text: str, thread_id: str | None = None) -> TurnResult:
        """Answer one message, in the agent's own conversation where no other is named."""
        from abi.agents.turn import TurnResult

        for item in self.stream(text, thread_id):
            if isinstance(item, TurnResult):
                return item
        raise AssertionError("a turn always gives a result")  # pragma: no cover

    def stream(self, text: str, thread_id: str | None = None) -> Iterator[Event | TurnResult]:
        """Events of a turn as they happen, then its TurnResult. Hooks and callbacks that fail do not end the turn."""
        from abi.agents.turn import Event

        team = {a.name: a for a in self.team()}
        told(self.on_human_message, text)
        turn = self._running().turn(self.name, text, thread_id or self.state.thread_id)
        with contextlib.closing(cast("Generator[Event | TurnResult]", turn)):  # who stops listening stops the turn
            for item in turn:
                if isinstance(item, Event):
                    _tell(team.get(item.agent, self), item)
                yield item

    def on_human_message(self, message: str) -> None:
        """Called with each message before it is answered; for subclasses."""

    def on_ai_message(self, message: str, agent_name: str) -> None:
        """Called with each answer; for subclasses."""

    @classmethod
    def retains_active_turn(cls, text: str) -> bool:
        """Whether this agent, while it holds the conversation, keeps it for the next message; for subclasses."""
        return True

    def team(self) -> list[Agent]:
        """This agent and all under it, each name once, nearest first. Raises UsageError for two of one name."""
        found: dict[str, Agent] = {self.name: self}
        waiting: list[Agent] = [self]
        while waiting:
            for child in waiting.pop(0).agents:
                if child.name not in found:
                    found[child.name] = child
                    waiting.append(child)
                elif found[child.name] is not child:
                    raise UsageError(f"Two agents are named {child.name!r}.", hint="Rename one of them.")
        return list(found.values())

    def close(self) -> None:
        """Let go of the connections of models and memory."""
        with self._lock:
            if self._runtime is not None:
                self._runtime.close()
            self._runtime = None

    def _running(self) -> AgentRuntime:
        from abi.agents.python_crew import PythonRuntime

        with self._lock:
            if self._runtime is None:
                self._runtime = PythonRuntime(self, self._patcher)
            return self._runtime


class IntentAgent(Agent):
    """An agent that compares each message with its intents first, by likeness, before its model is asked."""

    def __init__(
        self,
        name: str = "",
        description: str = "",
        chat_model: BaseChatModel | ChatModel | str = "offline:grounded",
        tools: Sequence[BaseTool | Callable[..., Any] | Agent] = (),
        agents: Sequence[Agent] = (),
        intents: Sequence[Intent] = (),
        memory: BaseCheckpointSaver[Any] | None = None,
        state: AgentSharedState | None = None,
        configuration: AgentConfiguration | None = None,
        threshold: float = 0.85,
        threshold_neighbor: float = 0.05,
        direct_intent_score: float = 0.90,
    ) -> None:
        super().__init__(name, description, chat_model, tools, agents, memory, state, configuration)
        self.intents = tuple(intents)
        self.threshold = threshold
        self.threshold_neighbor = threshold_neighbor
        self.direct_intent_score = direct_intent_score


def _as_tool(tool: Any) -> Any:
    from langchain_core.tools import BaseTool, StructuredTool

    if isinstance(tool, BaseTool):
        return tool
    if callable(tool):
        return StructuredTool.from_function(tool)
    raise UsageError(f"{tool!r} is no tool.", hint="Give a LangChain tool, a function with a docstring, or an agent.")


def _tell(agent: Agent, event: Event) -> None:
    own = agent.configuration
    if event.type == "tool_usage":
        told(own.on_tool_usage, event.data)
    elif event.type == "tool_response":
        told(own.on_tool_response, event.data)
    elif event.type == "agent_routing":
        told(own.on_agent_routing, event.data)
    elif event.type == "ai_message":
        told(agent.on_ai_message, event.data, agent.name)
        told(own.on_ai_message, event.data, agent.name)
